//! The engine's source of randomness is adapted to the RustCrypto crates.

use rand_core::{TryCryptoRng, TryRng};
use terse_tls::crypto::{CryptoError, Rng};

/// An [`Rng`] that may be drawn from a bounded number of times, so that rejection sampling on a broken source ends.
pub(crate) struct BoundedRng<'a> {
    rng: &'a mut dyn Rng,
    draws: u32,
}

/// The most draws. One candidate for an RSA-4096 blinding factor takes 64 draws, and at least every second candidate is
/// usable: a good source fails with a probability below 2^-60.
const MAX_DRAWS: u32 = 4_096;

impl<'a> BoundedRng<'a> {
    pub(crate) fn new(rng: &'a mut dyn Rng) -> Self {
        Self { rng, draws: MAX_DRAWS }
    }

    fn draw<const N: usize>(&mut self) -> Result<[u8; N], CryptoError> {
        let mut out = [0; N];
        self.try_fill_bytes(&mut out)?;
        Ok(out)
    }
}

impl TryRng for BoundedRng<'_> {
    type Error = CryptoError;

    fn try_next_u32(&mut self) -> Result<u32, CryptoError> {
        self.draw().map(u32::from_le_bytes)
    }

    fn try_next_u64(&mut self) -> Result<u64, CryptoError> {
        self.draw().map(u64::from_le_bytes)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        self.draws = self.draws.checked_sub(1).ok_or(CryptoError::RandomFailed)?;
        self.rng.fill(out).map_err(|_| CryptoError::RandomFailed)
    }
}

impl TryCryptoRng for BoundedRng<'_> {}
