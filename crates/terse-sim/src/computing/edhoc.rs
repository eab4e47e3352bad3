//! Counting cryptography for lakers, the implementation of EDHOC (RFC 9528).

use lakers::{
    AES_CCM_TAG_LEN, BufferCiphertext3, BufferPlaintext3, BytesCcmIvLen, BytesCcmKeyLen, BytesHashLen, BytesMaxBuffer,
    BytesMaxInfoBuffer, BytesP256ElemLen, CryptoTrait, EDHOCError, SHA256_DIGEST_LEN,
};
use terse_tls::NamedGroup;

use super::Operation;
use super::counter::note;
use super::provider::hash::Blocks;

/// Cryptography that notes each operation before it is carried out.
///
/// An agreement gets the x coordinate of a point. That its y coordinate has to be found first is not counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountingEdhoc<C>(pub(crate) C);

impl<C: CryptoTrait> CryptoTrait for CountingEdhoc<C> {
    fn sha256_digest(&mut self, message: &BytesMaxBuffer, message_len: usize) -> BytesHashLen {
        Blocks::SHA256.note_hash(message_len);
        self.0.sha256_digest(message, message_len)
    }

    fn hkdf_expand(
        &mut self,
        prk: &BytesHashLen,
        info: &BytesMaxInfoBuffer,
        info_len: usize,
        length: usize,
    ) -> BytesMaxBuffer {
        Blocks::SHA256.note_hkdf_expand(prk.len(), info_len, length, SHA256_DIGEST_LEN);
        self.0.hkdf_expand(prk, info, info_len, length)
    }

    fn hkdf_extract(&mut self, salt: &BytesHashLen, ikm: &BytesP256ElemLen) -> BytesHashLen {
        Blocks::SHA256.note_hmac(salt.len(), ikm.len(), SHA256_DIGEST_LEN);
        self.0.hkdf_extract(salt, ikm)
    }

    fn aes_ccm_encrypt_tag_8(
        &mut self,
        key: &BytesCcmKeyLen,
        iv: &BytesCcmIvLen,
        ad: &[u8],
        plaintext: &BufferPlaintext3,
    ) -> BufferCiphertext3 {
        note(Operation::Aes128Ccm, plaintext.len as u64);
        self.0.aes_ccm_encrypt_tag_8(key, iv, ad, plaintext)
    }

    fn aes_ccm_decrypt_tag_8(
        &mut self,
        key: &BytesCcmKeyLen,
        iv: &BytesCcmIvLen,
        ad: &[u8],
        ciphertext: &BufferCiphertext3,
    ) -> Result<BufferPlaintext3, EDHOCError> {
        // lakers expects a tag.
        let len = ciphertext.len.checked_sub(AES_CCM_TAG_LEN).ok_or(EDHOCError::MacVerificationFailed)?;
        note(Operation::Aes128Ccm, len as u64);
        self.0.aes_ccm_decrypt_tag_8(key, iv, ad, ciphertext)
    }

    fn p256_ecdh(&mut self, private_key: &BytesP256ElemLen, public_key: &BytesP256ElemLen) -> BytesP256ElemLen {
        note(Operation::Agree(NamedGroup::SECP256R1), 1);
        self.0.p256_ecdh(private_key, public_key)
    }

    fn get_random_byte(&mut self) -> u8 {
        self.0.get_random_byte()
    }

    fn p256_generate_key_pair(&mut self) -> (BytesP256ElemLen, BytesP256ElemLen) {
        note(Operation::Generate(NamedGroup::SECP256R1), 1);
        self.0.p256_generate_key_pair()
    }
}
