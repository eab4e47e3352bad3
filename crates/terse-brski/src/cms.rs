//! Signed data of CMS (RFC 5652, 5) around vouchers and voucher requests: one signer, signed attributes always.
//!
//! What must always hold: content is returned only together with the signer whose key has verified its signature; which
//! signer that may be is decided with the chain, by the caller. What is hostile is bounded by
//! [`MAX_LEN`](crate::voucher::MAX_LEN) before it is parsed, and has at most 16 certificates.

use alloc::vec::Vec;

use der::EncodingRules;
use pki_types::{CertificateDer, UnixTime};
use terse_tls::crypto::CryptoProvider;

use crate::SignatureRefused;

mod algorithm;
mod oid;
mod parse;
mod sign;
mod verify;

#[cfg(feature = "services")]
pub(crate) use algorithm::DigestAlgorithm;
pub use sign::sign;

/// Signed data before its signature is there, for a key that may answer later, such as that of a secure element.
///
/// It holds the result so far, with room for the rest, and nothing else: the content and the certificates are copied once.
pub struct Unsigned {
    /// The fields of SignedData before its signerInfos, then those of the SignerInfo through the signed attributes. The headers
    /// in front of either are missing, whose lengths depend on the signature's.
    signed_data: Vec<u8>,
    /// Where the fields of the SignerInfo begin.
    signer_info: usize,
    /// Where the signed attributes begin, a SET OF, which are the last.
    message: usize,
    algorithm: &'static algorithm::SigningAlgorithm,
}

/// Content whose signature was verified with the key of the first certificate of [`Self::chain`], and nothing more: whether
/// that certificate is valid, and good for this purpose, is not known.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The content.
    pub content: Vec<u8>,
    /// The signer's certificate, then the others that came with it in the order in which they came.
    pub chain: Vec<CertificateDer<'static>>,
    /// signingTime, if it is there.
    pub signing_time: Option<UnixTime>,
}

impl Signed {
    /// Verifies DER, as a pledge does: strict and small. The signer's certificate is in the structure, or it is one of
    /// `signers`.
    ///
    /// The content is of type id-ct-animaJSONVoucher, or of type id-data, as in PKCS #7 (RFC 8366, 5.4). Its digest is that
    /// of SHA-256 or SHA-384, and the signature is ECDSA or RSA with PKCS #1 v1.5; or the digest is that of SHA-512, and the
    /// signature is Ed25519 (RFC 8419); as far as the provider has them.
    /// CRLs, attributes that have no meaning here, and unsigned attributes are ignored.
    pub fn verify(
        provider: &CryptoProvider,
        der: &[u8],
        signers: &[CertificateDer<'_>],
    ) -> Result<Self, SignatureRefused> {
        Self::verify_encoding(provider, der, EncodingRules::Der, signers)
    }

    /// Verifies BER or DER, as services do: lengths may be indefinite, and the content may consist of segments. The
    /// certificates and the signed attributes are DER all the same (RFC 5652, 5.3).
    #[cfg(feature = "services")]
    pub fn verify_ber(
        provider: &CryptoProvider,
        ber: &[u8],
        signers: &[CertificateDer<'_>],
    ) -> Result<Self, SignatureRefused> {
        Self::verify_encoding(provider, ber, EncodingRules::Ber, signers)
    }
}

/// The most certificates in a structure.
const MAX_CERTIFICATES: usize = 16;

#[cfg(test)]
mod tests;
