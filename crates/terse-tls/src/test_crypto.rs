//! Just enough cryptography for the unit tests of this crate. They cannot use a provider's crate, which is built on the
//! crate without its tests, with types of its own.

use alloc::boxed::Box;
use core::marker::PhantomData;

use aes_gcm::aead::consts::{U8, U12};
use aes_gcm::aead::{AeadCore, AeadInOut, KeyInit, KeySizeUser, Tag, common::typenum::Unsigned};
use aes_gcm::aes::cipher::BlockCipherEncrypt;
use aes_gcm::{Aes128Gcm, Aes256Gcm, aes::Aes128};
use ccm::Ccm;
use chacha20poly1305::ChaCha20Poly1305;
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::{Digest as _, Sha256, Sha384};

use crate::CipherSuite;
use crate::crypto::{
    Aead, AeadKey, CryptoError, Digest, Hash, HashContext, MASK_SAMPLE_LEN, NONCE_LEN, RecordNumberCipher,
    RecordNumberKey, Secret, SharedSecret, Tls12KeyExchange, Tls12Nonce, Tls12Suite, Tls13Suite,
};
use crate::schedule::tls12::{KeyBlock, MasterSecret, Randoms};
use crate::schedule::tls13::{EarlySecret, TrafficSecret};

pub(crate) static SHA256: &dyn Hash = &TestSha256;

pub(crate) static SUITE: Tls13Suite = suite(1 << 24);

/// A suite whose keys are worn once half of `limit` records were protected.
pub(crate) const fn suite(limit: u64) -> Tls13Suite {
    Tls13Suite {
        id: CipherSuite::TLS_AES_128_GCM_SHA256,
        hash: &TestSha256,
        aead: &TestAead::<Aes128Gcm>(PhantomData),
        record_numbers: &TestRecordNumbers,
        confidentiality_limit: limit,
        integrity_limit: 1 << 36,
    }
}

/// A tag of 8 bytes, which can be guessed.
pub(crate) static CCM_8: Tls13Suite = Tls13Suite {
    id: CipherSuite::TLS_AES_128_CCM_8_SHA256,
    aead: &TestAead::<Ccm<Aes128, U8, U12>>(PhantomData),
    integrity_limit: 1 << 7,
    ..suite(1 << 24)
};

struct TestRecordNumbers;

impl RecordNumberCipher for TestRecordNumbers {
    fn key(&self, sn_key: &[u8]) -> Result<Box<dyn RecordNumberKey>, CryptoError> {
        let key = Aes128::new_from_slice(sn_key).map_err(|_| CryptoError::InvalidLength)?;
        Ok(Box::new(TestRecordNumberKey(key)))
    }
}

struct TestRecordNumberKey(Aes128);

impl RecordNumberKey for TestRecordNumberKey {
    fn mask(&self, ciphertext: &[u8; MASK_SAMPLE_LEN]) -> [u8; 2] {
        let mut block = (*ciphertext).into();
        self.0.encrypt_block(&mut block);
        [block[0], block[1]]
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

/// TLS 1.2 with an explicit nonce and a tag of 16 bytes.
pub(crate) static AES_128_GCM: Tls12Suite = suite12(1 << 24);

/// As [`AES_128_GCM`], with keys for `limit` records.
pub(crate) const fn suite12(limit: u64) -> Tls12Suite {
    Tls12Suite {
        id: CipherSuite(0x00a8),
        key_exchange: Tls12KeyExchange::Psk,
        hash: &TestSha256,
        aead: &TestAead::<Aes128Gcm>(PhantomData),
        nonce: Tls12Nonce::Explicit,
        confidentiality_limit: limit,
    }
}

/// The hash of the PRF is SHA-384.
pub(crate) static AES_256_GCM: Tls12Suite = Tls12Suite {
    id: CipherSuite(0x00a9),
    hash: &TestSha384,
    aead: &TestAead::<Aes256Gcm>(PhantomData),
    ..suite12(1 << 24)
};

/// An explicit nonce and a tag of 8 bytes.
pub(crate) static AES_128_CCM_8: Tls12Suite =
    Tls12Suite { id: CipherSuite(0xc0a8), aead: &TestAead::<Ccm<Aes128, U8, U12>>(PhantomData), ..suite12(1 << 24) };

/// An implicit nonce.
pub(crate) static CHACHA20_POLY1305: Tls12Suite = Tls12Suite {
    id: CipherSuite(0xccab),
    aead: &TestAead::<ChaCha20Poly1305>(PhantomData),
    nonce: Tls12Nonce::Implicit,
    ..suite12(1 << 24)
};

/// Keys of TLS 1.2; each `seed` gives others.
pub(crate) fn key_block(suite: &'static Tls12Suite, seed: u8) -> KeyBlock {
    MasterSecret::resumed(suite, &[seed; 48]).key_block(&Randoms { client: [1; 32], server: [2; 32] })
}

macro_rules! test_hash {
    ($hash:ident, $context:ident, $digest:ty, $len:literal) => {
        struct $hash;

        impl Hash for $hash {
            fn output_len(&self) -> usize {
                $len
            }

            fn start(&self) -> Box<dyn HashContext> {
                Box::new($context(<$digest>::new()))
            }

            fn hmac(&self, key: &[u8], parts: &[&[u8]]) -> Digest {
                let mut hmac = Hmac::<$digest>::new_from_slice(key).expect("HMAC takes a key of any length");
                parts.iter().for_each(|part| hmac.update(part));
                Digest::new(&hmac.finalize().into_bytes())
            }

            fn hkdf_extract(&self, salt: &[u8], input_key_material: &[u8]) -> Secret {
                Secret::new(&Hkdf::<$digest>::extract(Some(salt), input_key_material).0)
            }

            fn hkdf_expand(&self, key: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), CryptoError> {
                let hkdf = Hkdf::<$digest>::from_prk(key).map_err(|_| CryptoError::InvalidLength)?;
                hkdf.expand_multi_info(info, out).map_err(|_| CryptoError::InvalidLength)
            }
        }

        struct $context($digest);

        impl HashContext for $context {
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
    };
}

test_hash!(TestSha256, TestSha256Context, Sha256, 32);
test_hash!(TestSha384, TestSha384Context, Sha384, 48);

struct TestAead<A>(PhantomData<fn() -> A>);

impl<A: AeadInOut + AeadCore<NonceSize = U12> + KeyInit + Send + Sync + 'static> Aead for TestAead<A> {
    fn key_len(&self) -> usize {
        <A as KeySizeUser>::KeySize::USIZE
    }

    fn tag_len(&self) -> usize {
        A::TagSize::USIZE
    }

    fn key(&self, key: &[u8]) -> Result<Box<dyn AeadKey>, CryptoError> {
        Ok(Box::new(TestKey(A::new_from_slice(key).map_err(|_| CryptoError::InvalidLength)?)))
    }
}

struct TestKey<A>(A);

impl<A: AeadInOut + AeadCore<NonceSize = U12> + Send + Sync> AeadKey for TestKey<A> {
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8], tag: &mut [u8]) -> Result<(), CryptoError> {
        let computed = self.0.encrypt_inout_detached(nonce.into(), aad, data.into());
        tag.copy_from_slice(&computed.map_err(|_| CryptoError::InvalidLength)?);
        Ok(())
    }

    fn open(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<usize, CryptoError> {
        let len = data.len().checked_sub(A::TagSize::USIZE).ok_or(CryptoError::DecryptFailed)?;
        let (ciphertext, tag) = data.split_at_mut(len);
        let tag = Tag::<A>::try_from(&*tag).map_err(|_| CryptoError::DecryptFailed)?;
        let opened = self.0.decrypt_inout_detached(nonce.into(), aad, ciphertext.into(), &tag);
        opened.map(|()| len).map_err(|_| CryptoError::DecryptFailed)
    }
}
