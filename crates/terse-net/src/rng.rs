//! The random bytes of the operating system.

use terse_tls::crypto::{CryptoError, Rng};

/// The operating system's source of random bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsRng;

impl Rng for OsRng {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        getrandom::fill(out).map_err(|_| CryptoError::RandomFailed)
    }
}
