//! Record numbers are encrypted (RFC 9147, 4.2.3) with AES in ECB mode, or ChaCha20 (RFC 8439, 2.3).

use alloc::boxed::Box;
use core::marker::PhantomData;

use aes::cipher::{BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher, StreamCipherSeek, consts::U16};
use terse_tls::crypto::{CryptoError, MASK_SAMPLE_LEN, RecordNumberCipher, RecordNumberKey, Secret};

/// The cipher for suites with AES-128.
pub static AES_128: &dyn RecordNumberCipher = &Aes::<aes::Aes128Enc>(PhantomData);

/// The cipher for suites with AES-256.
pub static AES_256: &dyn RecordNumberCipher = &Aes::<aes::Aes256Enc>(PhantomData);

/// The cipher for suites with ChaCha20.
pub static CHACHA20: &dyn RecordNumberCipher = &ChaCha20;

struct Aes<A>(PhantomData<fn() -> A>);

impl<A> RecordNumberCipher for Aes<A>
where
    A: BlockCipherEncrypt<BlockSize = U16> + KeyInit + Send + Sync + 'static,
{
    fn key(&self, sn_key: &[u8]) -> Result<Box<dyn RecordNumberKey>, CryptoError> {
        let key = A::new_from_slice(sn_key).map_err(|_| CryptoError::InvalidLength)?;
        Ok(Box::new(AesKey(key)))
    }
}

/// A key of AES, which wipes its key schedule on drop: the crate's feature `zeroize` is on.
struct AesKey<A>(A);

impl<A: BlockCipherEncrypt<BlockSize = U16> + Send + Sync> RecordNumberKey for AesKey<A> {
    fn mask(&self, ciphertext: &[u8; MASK_SAMPLE_LEN]) -> [u8; 2] {
        let mut block = (*ciphertext).into();
        self.0.encrypt_block(&mut block);
        [block[0], block[1]]
    }
}

struct ChaCha20;

impl RecordNumberCipher for ChaCha20 {
    fn key(&self, sn_key: &[u8]) -> Result<Box<dyn RecordNumberKey>, CryptoError> {
        if sn_key.len() != 32 {
            return Err(CryptoError::InvalidLength);
        }
        Ok(Box::new(ChaCha20Key(Secret::new(sn_key))))
    }
}

struct ChaCha20Key(Secret);

impl RecordNumberKey for ChaCha20Key {
    fn mask(&self, ciphertext: &[u8; MASK_SAMPLE_LEN]) -> [u8; 2] {
        let [a, b, c, d, nonce @ ..] = ciphertext;
        let mut mask = [0; 2];
        if let Ok(mut cipher) = chacha20::ChaCha20::new_from_slices(self.0.as_ref(), nonce) {
            cipher.seek(u64::from(u32::from_le_bytes([*a, *b, *c, *d])) * 64); // blocks have 64 bytes
            cipher.apply_keystream(&mut mask);
        }
        mask
    }
}
