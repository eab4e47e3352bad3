//! Counting AEADs, and the ciphers of record numbers.

use terse_tls::CipherSuite;
use terse_tls::crypto::{Aead, AeadKey, CryptoError, MASK_SAMPLE_LEN, NONCE_LEN, RecordNumberCipher, RecordNumberKey};

use super::leaked;
use crate::computing::Operation;
use crate::computing::counter::note;

/// Wraps the AEAD of a suite.
pub(super) fn counting(suite: CipherSuite, inner: &'static dyn Aead) -> &'static dyn Aead {
    leaked(CountingAead { inner, operation: operation(suite) })
}

/// Wraps the cipher of a suite's record numbers.
pub(super) fn counting_record_numbers(
    suite: CipherSuite,
    inner: &'static dyn RecordNumberCipher,
) -> &'static dyn RecordNumberCipher {
    leaked(CountingRecordNumberCipher { inner, operation: operation(suite) })
}

const fn operation(suite: CipherSuite) -> Operation {
    match suite {
        CipherSuite::TLS_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => Operation::Aes128Gcm,
        CipherSuite::TLS_AES_256_GCM_SHA384
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
        | CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => Operation::Aes256Gcm,
        CipherSuite::TLS_CHACHA20_POLY1305_SHA256
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
        | CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => Operation::ChaCha20Poly1305,
        CipherSuite::TLS_AES_128_CCM_SHA256
        | CipherSuite::TLS_AES_128_CCM_8_SHA256
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8
        | CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256
        | CipherSuite::TLS_PSK_WITH_AES_128_CCM_8 => Operation::Aes128Ccm,
        _ => Operation::Unknown("AEAD"),
    }
}

struct CountingAead {
    inner: &'static dyn Aead,
    operation: Operation,
}

impl Aead for CountingAead {
    fn key_len(&self) -> usize {
        self.inner.key_len()
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn key(&self, key: &[u8]) -> Result<Box<dyn AeadKey>, CryptoError> {
        let inner = self.inner.key(key)?;
        Ok(Box::new(CountingAeadKey { inner, operation: self.operation, tag_len: self.tag_len() }))
    }
}

struct CountingAeadKey {
    inner: Box<dyn AeadKey>,
    operation: Operation,
    tag_len: usize,
}

impl AeadKey for CountingAeadKey {
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8], tag: &mut [u8]) -> Result<(), CryptoError> {
        note(self.operation, data.len() as u64);
        self.inner.seal(nonce, aad, data, tag)
    }

    fn open(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<usize, CryptoError> {
        note(self.operation, data.len().saturating_sub(self.tag_len) as u64);
        self.inner.open(nonce, aad, data)
    }
}

struct CountingRecordNumberCipher {
    inner: &'static dyn RecordNumberCipher,
    operation: Operation,
}

impl RecordNumberCipher for CountingRecordNumberCipher {
    fn key(&self, sn_key: &[u8]) -> Result<Box<dyn RecordNumberKey>, CryptoError> {
        Ok(Box::new(CountingRecordNumberKey { inner: self.inner.key(sn_key)?, operation: self.operation }))
    }
}

struct CountingRecordNumberKey {
    inner: Box<dyn RecordNumberKey>,
    operation: Operation,
}

impl RecordNumberKey for CountingRecordNumberKey {
    fn mask(&self, ciphertext: &[u8; MASK_SAMPLE_LEN]) -> [u8; 2] {
        let block_len = if self.operation == Operation::ChaCha20Poly1305 { CHACHA20_BLOCK_LEN } else { AES_BLOCK_LEN };
        note(self.operation, block_len);
        self.inner.mask(ciphertext)
    }
}

const AES_BLOCK_LEN: u64 = 16;
const CHACHA20_BLOCK_LEN: u64 = 64;
