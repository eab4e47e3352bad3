//! COSE_Sign1 (RFC 9052, 4.2) around vouchers and voucher requests in CBOR (draft-ietf-anima-constrained-voucher-31, "Signing
//! Voucher and Voucher Request Artifacts with COSE").
//!
//! One verifier serves pledges and services. The structure has tag 18, as it always has in the draft; without the tag it is
//! refused. The algorithm is in the protected header: ES256 or ES384, each with the curve that is as strong, or EdDSA with
//! Ed25519. Certificates are in `x5bag` and `x5chain` (RFC 9360), in either header.
//!
//! What must always hold: content is returned only together with the signer whose key has verified its signature; which
//! signer that may be is decided with the chain, by the caller. No header parameter is there twice, be it once protected and
//! once not (RFC 9052, 3), but for `x5bag` and `x5chain`, whose certificates are only candidates; and none that is critical is
//! unknown. What is hostile is bounded by [`MAX_LEN`](crate::voucher::MAX_LEN) before it is parsed, and has at most 16 header
//! parameters and 16 certificates.

use alloc::vec::Vec;

use pki_types::CertificateDer;

mod algorithm;
mod header;
mod parse;
mod sign;
#[cfg(feature = "services")]
mod strip;
mod verify;

#[cfg(feature = "services")]
pub use strip::without_certificates;

/// A COSE_Sign1 before its signature is there, for a key that may answer later, such as that of a secure element.
///
/// It holds the result so far, with exactly the room for the rest, and nothing else: the content and the certificates are
/// copied once.
pub struct Unsigned {
    /// The COSE_Sign1 up to its payload, then the Sig_structure up to its payload, then that payload: what is signed ends as
    /// the result goes on.
    encoded: Vec<u8>,
    /// Where the Sig_structure begins.
    message: usize,
    /// Where the payload begins, with its head.
    payload: usize,
    algorithm: algorithm::Algorithm,
}

/// Content whose signature was verified with the key of the first certificate of [`Self::chain`], and nothing more: whether
/// that certificate is valid, and good for this purpose, is not known.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The content.
    pub content: Vec<u8>,
    /// A certificate of the key that has signed, then the others that came with it: those of x5chain, then those of x5bag, in the
    /// order in which they came, those that are protected first, and each once.
    ///
    /// Every member with the key of the first is a possible certificate of the signer, and the order says nothing about which:
    /// a stranger can put another certificate of that key before the right one. [`Self::signers`] returns them all.
    pub chain: Vec<CertificateDer<'static>>,
}

/// The most certificates in a structure.
const MAX_CERTIFICATES: usize = 16;

/// The tag of a COSE_Sign1 (RFC 9052, 2).
const COSE_SIGN1: u64 = 18;

/// The context of the signature of a COSE_Sign1 (RFC 9052, 4.4).
const CONTEXT: &str = "Signature1";

#[cfg(test)]
mod tests;
