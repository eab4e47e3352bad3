//! Just enough cryptography for the unit tests of this crate: TLS_AES_128_GCM_SHA256. They cannot use a provider's
//! crate, which is built on the crate without its tests, with types of its own.

use alloc::boxed::Box;

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes128Gcm, Tag};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};

use crate::CipherSuite;
use crate::crypto::{
    Aead, AeadKey, CryptoError, Digest, Hash, HashContext, NONCE_LEN, Secret, SharedSecret, Tls13Suite,
};
use crate::schedule::tls13::{EarlySecret, TrafficSecret};

pub(crate) static SHA256: &dyn Hash = &TestHash;

pub(crate) static SUITE: Tls13Suite = suite(1 << 24);

/// A suite whose keys are worn once half of `limit` records were protected.
pub(crate) const fn suite(limit: u64) -> Tls13Suite {
    Tls13Suite {
        id: CipherSuite::TLS_AES_128_GCM_SHA256,
        hash: &TestHash,
        aead: &TestAead,
        confidentiality_limit: limit,
    }
}

/// A traffic secret; each `seed` gives another one.
pub(crate) fn traffic_secret(suite: &'static Tls13Suite, seed: u8) -> TrafficSecret {
    let shared_secret = SharedSecret::new([seed; 32].into());
    let handshake = EarlySecret::new(suite.hash, b"tls13 ", None)
        .handshake_secret(suite, &shared_secret)
        .expect("the test suite does not fail");
    handshake.client_traffic(&Digest::new(&[0; 32])).expect("the test suite does not fail")
}

struct TestHash;

impl Hash for TestHash {
    fn output_len(&self) -> usize {
        32
    }

    fn start(&self) -> Box<dyn HashContext> {
        Box::new(TestContext(Sha256::new()))
    }

    fn hmac(&self, key: &[u8], parts: &[&[u8]]) -> Digest {
        let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
        parts.iter().for_each(|part| hmac.update(part));
        Digest::new(&hmac.finalize().into_bytes())
    }

    fn hkdf_extract(&self, salt: &[u8], input_key_material: &[u8]) -> Secret {
        Secret::new(&Hkdf::<Sha256>::extract(Some(salt), input_key_material).0)
    }

    fn hkdf_expand(&self, pseudorandom_key: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), CryptoError> {
        let hkdf = Hkdf::<Sha256>::from_prk(pseudorandom_key).map_err(|_| CryptoError::InvalidLength)?;
        hkdf.expand_multi_info(info, out).map_err(|_| CryptoError::InvalidLength)
    }
}

struct TestContext(Sha256);

impl HashContext for TestContext {
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

struct TestAead;

const TAG_LEN: usize = 16;

impl Aead for TestAead {
    fn key_len(&self) -> usize {
        16
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    fn key(&self, key: &[u8]) -> Result<Box<dyn AeadKey>, CryptoError> {
        let key = Aes128Gcm::new_from_slice(key).map_err(|_| CryptoError::InvalidLength)?;
        Ok(Box::new(TestKey(key)))
    }
}

struct TestKey(Aes128Gcm);

impl AeadKey for TestKey {
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8], tag: &mut [u8]) -> Result<(), CryptoError> {
        let computed = self.0.encrypt_inout_detached(nonce.into(), aad, data.into());
        tag.copy_from_slice(&computed.map_err(|_| CryptoError::InvalidLength)?);
        Ok(())
    }

    fn open(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<usize, CryptoError> {
        let len = data.len().checked_sub(TAG_LEN).ok_or(CryptoError::DecryptFailed)?;
        let (ciphertext, tag) = data.split_at_mut(len);
        let tag = Tag::try_from(&*tag).map_err(|_| CryptoError::DecryptFailed)?;
        let opened = self.0.decrypt_inout_detached(nonce.into(), aad, ciphertext.into(), &tag);
        opened.map(|()| len).map_err(|_| CryptoError::DecryptFailed)
    }
}
