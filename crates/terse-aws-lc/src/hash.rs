//! SHA-256 and SHA-384 (FIPS 180-4), with HMAC (RFC 2104) and HKDF (RFC 5869); and SHA-1, for names in OCSP responses, and
//! SHA-512, for signatures in CMS.

use aws_lc_rs::{digest, hkdf, hmac};
use terse_tls::crypto::{CryptoError, Digest, Hash, HashContext, Secret};

/// SHA-256.
pub static SHA256: &dyn Hash = &Sha2 { digest: &digest::SHA256, hmac: hmac::HMAC_SHA256, hkdf: hkdf::HKDF_SHA256 };

/// SHA-384.
pub static SHA384: &dyn Hash = &Sha2 { digest: &digest::SHA384, hmac: hmac::HMAC_SHA384, hkdf: hkdf::HKDF_SHA384 };

/// SHA-1, which no signature and no secret depends on here: see [`terse_tls::crypto::CryptoProvider::sha1`].
pub fn sha1(data: &[u8]) -> [u8; 20] {
    let mut hash = [0; 20];
    hash.copy_from_slice(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, data).as_ref()); // it has 20 bytes
    hash
}

/// SHA-512, for CMS with Ed25519: see [`terse_tls::crypto::CryptoProvider::sha512`].
pub fn sha512(data: &[u8]) -> [u8; 64] {
    let mut hash = [0; 64];
    hash.copy_from_slice(digest::digest(&digest::SHA512, data).as_ref()); // it has 64 bytes
    hash
}

struct Sha2 {
    digest: &'static digest::Algorithm,
    hmac: hmac::Algorithm,
    hkdf: hkdf::Algorithm,
}

impl Sha2 {
    fn tag(&self, key: &[u8], parts: &[&[u8]]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&hmac::Key::new(self.hmac, key));
        for part in parts {
            context.update(part);
        }
        context.sign()
    }
}

impl Hash for Sha2 {
    fn output_len(&self) -> usize {
        self.digest.output_len()
    }

    fn start(&self) -> Box<dyn HashContext> {
        Box::new(Context(digest::Context::new(self.digest)))
    }

    fn hmac(&self, key: &[u8], parts: &[&[u8]]) -> Digest {
        Digest::new(self.tag(key, parts).as_ref())
    }

    /// Computes HMAC as in RFC 5869, 2.2, because `hkdf::Prk` does not reveal its bytes.
    fn hkdf_extract(&self, salt: &[u8], input_key_material: &[u8]) -> Secret {
        Secret::new(self.tag(salt, &[input_key_material]).as_ref())
    }

    fn hkdf_expand(&self, pseudorandom_key: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), CryptoError> {
        if pseudorandom_key.len() != self.output_len() {
            return Err(CryptoError::InvalidLength);
        }
        hkdf::Prk::new_less_safe(self.hkdf, pseudorandom_key)
            .expand(info, OutputLen(out.len()))
            .and_then(|okm| okm.fill(out))
            .map_err(|_| CryptoError::InvalidLength)
    }
}

struct OutputLen(usize);

impl hkdf::KeyType for OutputLen {
    fn len(&self) -> usize {
        self.0
    }
}

struct Context(digest::Context);

impl HashContext for Context {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn fork(&self) -> Box<dyn HashContext> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Digest {
        Digest::new(self.0.finish().as_ref())
    }
}
