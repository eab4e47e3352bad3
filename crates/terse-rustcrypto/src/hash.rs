//! SHA-256 and SHA-384 (FIPS 180-4), with HMAC (RFC 2104) and HKDF (RFC 5869); and SHA-1, for names in OCSP responses, and
//! SHA-512, for signatures in CMS.

use alloc::boxed::Box;
use core::marker::PhantomData;

use hkdf::Hkdf;
use hmac::digest::OutputSizeUser;
use hmac::{EagerHash, Hmac, KeyInit, Mac};
use terse_tls::crypto::{CryptoError, Digest, Hash, HashContext, Secret};
use zeroize::Zeroize;

/// SHA-256.
pub static SHA256: &dyn Hash = &Sha2::<sha2::Sha256>(PhantomData);

/// SHA-384.
pub static SHA384: &dyn Hash = &Sha2::<sha2::Sha384>(PhantomData);

/// SHA-1, which no signature and no secret depends on here: see [`terse_tls::crypto::CryptoProvider::sha1`].
pub fn sha1(data: &[u8]) -> [u8; 20] {
    <sha1::Sha1 as hmac::digest::Digest>::digest(data).into()
}

/// SHA-512, for CMS with Ed25519: see [`terse_tls::crypto::CryptoProvider::sha512`].
pub fn sha512(data: &[u8]) -> [u8; 64] {
    <sha2::Sha512 as hmac::digest::Digest>::digest(data).into()
}

struct Sha2<D>(PhantomData<fn() -> D>);

impl<D> Hash for Sha2<D>
where
    D: EagerHash<Core: Send + Sync> + Clone + Send + Sync + 'static,
{
    fn output_len(&self) -> usize {
        <D as OutputSizeUser>::output_size()
    }

    fn start(&self) -> Box<dyn HashContext> {
        Box::new(Context(D::new()))
    }

    fn hmac(&self, key: &[u8], parts: &[&[u8]]) -> Digest {
        let mut hmac = Hmac::<D>::new_from_slice(key).expect("HMAC takes a key of any length");
        for part in parts {
            hmac.update(part);
        }
        Digest::new(&hmac.finalize().into_bytes())
    }

    fn hkdf_extract(&self, salt: &[u8], input_key_material: &[u8]) -> Secret {
        let (mut pseudorandom_key, _) = Hkdf::<D>::extract(Some(salt), input_key_material);
        let secret = Secret::new(&pseudorandom_key);
        pseudorandom_key.zeroize();
        secret
    }

    fn hkdf_expand(&self, pseudorandom_key: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), CryptoError> {
        if pseudorandom_key.len() != self.output_len() {
            return Err(CryptoError::InvalidLength);
        }
        let hkdf = Hkdf::<D>::from_prk(pseudorandom_key).map_err(|_| CryptoError::InvalidLength)?;
        hkdf.expand_multi_info(info, out).map_err(|_| CryptoError::InvalidLength)
    }
}

struct Context<D>(D);

impl<D> HashContext for Context<D>
where
    D: hmac::digest::Digest + Clone + Send + Sync + 'static,
{
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn fork(&self) -> Box<dyn HashContext> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Digest {
        Digest::new(&self.0.finalize())
    }
}
