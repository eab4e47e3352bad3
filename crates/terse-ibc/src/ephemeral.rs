//! The randomness of ephemeral keys, into which the private key of the identity is mixed (RFC 8937): a generator that is
//! weak, or fails after some time, does not give the ephemeral keys away by itself.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha512;
use terse_tls::crypto::{CryptoError, Rng};
use zeroize::Zeroizing;

/// Returns 64 bytes for a scalar.
pub(crate) fn wide(private_key: &[u8], rng: &mut dyn Rng) -> Result<Zeroizing<[u8; 64]>, CryptoError> {
    let mut fresh = Zeroizing::new([0; 64]);
    rng.fill(&mut fresh[..])?;
    let mut mac = Hmac::<Sha512>::new_from_slice(private_key).map_err(|_| CryptoError::InvalidLength)?;
    mac.update(b"TERSE-ID3DH-V01-EPHEMERAL");
    mac.update(&fresh[..]);
    let mut output = mac.finalize().into_bytes();
    let mut wide = Zeroizing::new([0; 64]);
    wide.copy_from_slice(&output);
    zeroize::Zeroize::zeroize(&mut output[..]);
    Ok(wide)
}
