//! Randomness of a device whose hardware has none: the computer that runs QEMU gives a new seed at each start.

use sha2::{Digest as _, Sha256};
use terse_tls::crypto::{CryptoError, Rng};
use zeroize::Zeroize as _;

/// The length of a seed in bytes.
pub const SEED_LEN: usize = 32;

/// A generator that hashes its state with a number for each block of output. The seed decides about everything that it gives, so
/// that a run can be repeated; it is for QEMU, and a device has a hardware generator in its place.
pub struct SeededRng {
    seed: [u8; SEED_LEN],
    block: u64,
}

impl SeededRng {
    /// Returns a generator with this seed.
    pub const fn new(seed: [u8; SEED_LEN]) -> Self {
        Self { seed, block: 0 }
    }
}

impl Rng for SeededRng {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        for chunk in out.chunks_mut(SEED_LEN) {
            self.block = self.block.checked_add(1).ok_or(CryptoError::RandomFailed)?;
            let block = Sha256::new().chain_update(self.seed).chain_update(self.block.to_be_bytes()).finalize();
            chunk.iter_mut().zip(block).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }
}

impl Drop for SeededRng {
    fn drop(&mut self) {
        self.seed.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_again_and_another_seed_something_else() {
        let draw = |seed| {
            let mut rng = SeededRng::new([seed; SEED_LEN]);
            let (mut first, mut second) = ([0; 70], [0; 70]);
            rng.fill(&mut first).unwrap();
            rng.fill(&mut second).unwrap();
            (first, second)
        };
        let (first, second) = draw(1);
        assert_eq!(draw(1), (first, second));
        assert_ne!(draw(2).0, first);
        assert_ne!(first, second);
        assert_ne!(first[..32], first[32..64]);
    }
}
