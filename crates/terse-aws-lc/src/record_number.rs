//! Record numbers are encrypted (RFC 9147, 4.2.3) like QUIC's packet numbers (RFC 9001, 5.4.3 and 5.4.4).
//!
//! AES comes from RustCrypto: a key of AWS-LC's header protection takes 504 bytes, whatever the cipher, and one of
//! AES-128 here 176. A connection has three. RustCrypto is not slower (4 ns a record instead of 7).

use aws_lc_rs::aead::quic;
use terse_tls::crypto::{CryptoError, MASK_SAMPLE_LEN, RecordNumberCipher, RecordNumberKey};

pub use terse_rustcrypto::record_number::{AES_128, AES_256};

/// The cipher for suites with ChaCha20.
pub static CHACHA20: &dyn RecordNumberCipher = &Cipher(&quic::CHACHA20);

struct Cipher(&'static quic::Algorithm);

impl RecordNumberCipher for Cipher {
    fn key(&self, sn_key: &[u8]) -> Result<Box<dyn RecordNumberKey>, CryptoError> {
        let key = quic::HeaderProtectionKey::new(self.0, sn_key).map_err(|_| CryptoError::InvalidLength)?;
        Ok(Box::new(Key(key)))
    }
}

struct Key(quic::HeaderProtectionKey);

impl RecordNumberKey for Key {
    fn mask(&self, ciphertext: &[u8; MASK_SAMPLE_LEN]) -> [u8; 2] {
        // This fails only on a sample of another length.
        self.0.new_mask(ciphertext).map_or([0; 2], |[first, second, ..]| [first, second])
    }
}
