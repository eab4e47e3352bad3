//! Randomness that can be replayed: a seed gives the same run on every machine.
//!
//! Each thing that is decided by chance (the losses of a direction, a host's sequence numbers, an engine's keys) has a
//! stream of its own, so that one more draw in one of them does not change the others.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};
use terse_tls::crypto::{CryptoError, Rng};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Returns the stream numbered `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Self(generator)
    }

    /// Returns the next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Decides whether something that has this `probability` (0 to 1) happens now.
    pub fn happens(&mut self, probability: f64) -> bool {
        // A float of this size has 53 bits of precision.
        let draw = (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        draw < probability
    }
}

impl Rng for Random {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        self.0.fill_bytes(out);
        Ok(())
    }
}
