//! Randomness can be replayed: the same seed gives the same bytes. It must never be used for keys that protect
//! anything.

use core::ops::Range;

use terse_tls::crypto::{CryptoError, Rng};

/// A generator seeded with a number (SplitMix64, Steele et al., 2014).
#[derive(Clone, Debug)]
pub struct SeededRng(u64);

impl SeededRng {
    /// Creates the generator of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next_u64() % limit as u64) as usize
    }
}

impl Rng for SeededRng {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_be_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// The seeds of a test that is run under several. A test that fails under one of them says which: see [`seeds`].
#[derive(Debug)]
pub struct Seeds {
    left: Range<u64>,
    current: Option<u64>,
}

/// Returns so many seeds: 0, 1 and so on, or from the number on that the variable `TERSE_SOAK_SEED` names. So the check has the
/// same seeds in every run, and a soak has others.
pub fn seeds(count: u64) -> Seeds {
    let first = std::env::var("TERSE_SOAK_SEED");
    let first: u64 = first.map_or(0, |first| first.parse().expect("TERSE_SOAK_SEED is a number"));
    let end = first.checked_add(count).expect("TERSE_SOAK_SEED leaves room for all seeds");
    Seeds { left: first..end, current: None }
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.current = self.left.next();
        self.current
    }
}

impl Drop for Seeds {
    fn drop(&mut self) {
        if let Some(seed) = self.current.filter(|_| std::thread::panicking()) {
            eprintln!("the seed is {seed}; with TERSE_SOAK_SEED={seed} it is the first one");
        }
    }
}
