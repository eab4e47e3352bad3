//! The two forms of vouchers and voucher requests: JSON with CMS (RFC 8995), and CBOR with COSE (constrained BRSKI,
//! draft-ietf-anima-constrained-voucher-31).
//!
//! Registrar and MASA decide the same about both. What must always hold: an artefact is read in the form that its media type
//! says, and in no other; the answer to a request has the form of the request.

use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoProvider, Rng, SigningKey};

use crate::digest::{Sha256, public_key_sha256, sha256};
use crate::http::{Acceptance, Posted, VOUCHER_CMS_JSON, VOUCHER_COSE, VOUCHER_COSE_CBOR, acceptance, is};
use crate::voucher::{Voucher, VoucherRequest};
use crate::{Malformed, SignatureRefused, cms, cose};

/// A form of vouchers and voucher requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON, signed with CMS: `application/voucher-cms+json`.
    CmsJson,
    /// CBOR, signed with COSE: `application/voucher+cose`, of which `application/voucher-cose+cbor` is an older name.
    CoseCbor,
}

impl Format {
    /// Every form.
    pub const ALL: [Self; 2] = [Self::CmsJson, Self::CoseCbor];

    /// Returns the media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::CmsJson => VOUCHER_CMS_JSON,
            Self::CoseCbor => VOUCHER_COSE,
        }
    }

    /// Returns the form of a Content-Type, by its name or an older one.
    pub fn of_media_type(content_type: Option<&str>) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.names().iter().any(|name| is(content_type, name)))
    }

    /// Returns the form of an artefact that is well-formed: one in COSE begins with the tag of a COSE_Sign1, and one in CMS
    /// with a SEQUENCE.
    pub fn of_artefact(artefact: &[u8]) -> Self {
        if artefact.first() == Some(&COSE_SIGN1) { Self::CoseCbor } else { Self::CmsJson }
    }

    /// Reads what the Accept of a request of this form says about a voucher of the same form. Returns the name of the type that
    /// the voucher has then: that of the request if the client accepts it, else another one that it accepts.
    pub(crate) fn acceptance(self, posted: &Posted<'_>) -> (Acceptance, &'static str) {
        let of_request = self.names().iter().filter(|name| is(posted.content_type, name));
        let others = self.names().iter().filter(|name| !is(posted.content_type, name));
        let mut best = (Acceptance::NotUnderstood, self.media_type());
        for name in of_request.chain(others) {
            match acceptance(posted.accept, name) {
                Acceptance::Accepted => return (Acceptance::Accepted, name),
                Acceptance::NotAcceptable => best.0 = Acceptance::NotAcceptable,
                Acceptance::NotUnderstood => {}
            }
        }
        best
    }

    /// Encodes the fields of a voucher request, to be signed.
    pub fn encode_request(self, request: &VoucherRequest) -> Vec<u8> {
        match self {
            Self::CmsJson => request.to_json(),
            Self::CoseCbor => request.to_cbor(),
        }
    }

    /// Encodes the fields of a voucher, to be signed.
    pub fn encode_voucher(self, voucher: &Voucher) -> Vec<u8> {
        match self {
            Self::CmsJson => voucher.to_json(),
            Self::CoseCbor => voucher.to_cbor(),
        }
    }

    pub(crate) fn read_request(self, content: &[u8]) -> Result<VoucherRequest, Malformed> {
        match self {
            Self::CmsJson => VoucherRequest::from_json(content),
            Self::CoseCbor => VoucherRequest::from_cbor(content),
        }
    }

    pub(crate) fn read_voucher(self, content: &[u8]) -> Result<Voucher, Malformed> {
        match self {
            Self::CmsJson => Voucher::from_json(content),
            Self::CoseCbor => Voucher::from_cbor(content),
        }
    }

    /// Verifies the signature of an artefact, by one of `signers` or by a certificate that came with it.
    pub(crate) fn verify(
        self,
        provider: &CryptoProvider,
        artefact: &[u8],
        signers: &[CertificateDer<'_>],
    ) -> Result<Signed, SignatureRefused> {
        Ok(match self {
            Self::CmsJson => cms::Signed::verify_ber(provider, artefact, signers)?.into(),
            Self::CoseCbor => cose::Signed::verify(provider, artefact, signers)?.into(),
        })
    }

    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::CmsJson => &[VOUCHER_CMS_JSON],
            Self::CoseCbor => &[VOUCHER_COSE, VOUCHER_COSE_CBOR],
        }
    }
}

/// Content whose signature was verified with the key of the first certificate of `chain`, and nothing more.
#[derive(Debug)]
pub(crate) struct Signed {
    pub(crate) content: Vec<u8>,
    pub(crate) chain: Vec<CertificateDer<'static>>,
}

impl Signed {
    /// Returns what identifies a request: the SHA-256 of its form, of the key that has signed it, and of the content. Anybody can
    /// change the rest and the signature stays good: certificates and their order, how lengths are encoded, unsigned attributes,
    /// and an ECDSA signature itself. None of this makes another request.
    pub(crate) fn identity(&self, provider: &CryptoProvider, format: Format) -> Result<Sha256, Malformed> {
        let signer = self.chain.first().ok_or(Malformed::Invalid("the signer's certificate"))?; // it is always there
        let mut identified = Vec::with_capacity(1 + 32 + self.content.len());
        identified.push(match format {
            Format::CmsJson => 0,
            Format::CoseCbor => 1,
        });
        identified.extend_from_slice(&public_key_sha256(provider, signer)?);
        identified.extend_from_slice(&self.content);
        Ok(sha256(provider, &identified))
    }
}

impl From<cms::Signed> for Signed {
    fn from(signed: cms::Signed) -> Self {
        Self { content: signed.content, chain: signed.chain }
    }
}

impl From<cose::Signed> for Signed {
    fn from(signed: cose::Signed) -> Self {
        Self { content: signed.content, chain: signed.chain }
    }
}

/// An artefact of either form before its signature is there, for a key that may answer later.
#[non_exhaustive]
pub enum Unsigned {
    /// In CMS.
    Cms(cms::Unsigned),
    /// In COSE.
    Cose(cose::Unsigned),
}

impl Unsigned {
    /// Prepares the signature of `content` by the key of `chain`'s leaf, under `scheme`, which the form must have: COSE has no
    /// RSA. All of `chain` goes along, at most 16 certificates: in COSE they are the x5bag of the unprotected header.
    pub fn new(
        format: Format,
        provider: &CryptoProvider,
        content: &[u8],
        chain: &[CertificateDer<'_>],
        scheme: SignatureScheme,
        time: UnixTime,
    ) -> Result<Self, SignatureRefused> {
        Ok(match format {
            Format::CmsJson => Self::Cms(cms::Unsigned::new(provider, content, chain, scheme, Some(time))?),
            Format::CoseCbor => {
                let signer = chain.first().ok_or(SignatureRefused::NoSigner)?;
                Self::Cose(cose::Unsigned::new(content, signer, chain, scheme)?)
            }
        })
    }

    /// Returns the bytes that the key must sign, not their hash.
    pub fn message(&self) -> &[u8] {
        match self {
            Self::Cms(unsigned) => unsigned.message(),
            Self::Cose(unsigned) => unsigned.message(),
        }
    }

    /// Returns the artefact with this signature, in the form that [`SigningKey`] returns.
    pub fn signed(self, signature: &[u8]) -> Result<Vec<u8>, SignatureRefused> {
        match self {
            Self::Cms(unsigned) => Ok(unsigned.signed(signature)),
            Self::Cose(unsigned) => unsigned.signed(signature),
        }
    }

    /// Signs with a key that answers at once.
    pub fn sign(self, key: &dyn SigningKey, rng: &mut dyn Rng) -> Result<Vec<u8>, SignatureRefused> {
        match self {
            Self::Cms(unsigned) => unsigned.sign(key, rng),
            Self::Cose(unsigned) => unsigned.sign(key, rng),
        }
    }
}

/// The first byte of a COSE_Sign1: tag 18 (RFC 9052, 2).
const COSE_SIGN1: u8 = 0xd2;

#[cfg(test)]
mod tests;
