//! Certificates in a certs-only CMS (RFC 5272, 4.1): a SignedData (RFC 5652, 5.1) that signs nothing.
//!
//! ```text
//! ContentInfo ::= SEQUENCE { contentType id-signedData, content [0] EXPLICIT SignedData }
//! SignedData ::= SEQUENCE { version, digestAlgorithms SET, encapContentInfo, certificates [0] IMPLICIT SET,
//!                           crls [1] IMPLICIT SET OPTIONAL, signerInfos SET }
//! ```
//!
//! What must always hold: a structure with a signature is refused, since nobody verifies it here.

use alloc::vec::Vec;

use der::asn1::ObjectIdentifier;
use der::{EncodingRules, Tag};
use pki_types::CertificateDer;

use super::limit;
use crate::Malformed;
use crate::asn1::{Element, OBJECT_IDENTIFIER, SEQUENCE, SET, context, encode};

/// The most certificates that are read of a certs-only CMS.
pub const MAX_CERTIFICATES: usize = 16;

/// Encodes certificates as a certs-only CMS (RFC 5272, 4.1: a degenerate SignedData).
pub fn encode_certs_only(certificates: &[CertificateDer<'_>]) -> Vec<u8> {
    let mut certificates: Vec<&[u8]> = certificates.iter().map(AsRef::as_ref).collect();
    certificates.sort_unstable(); // X.690, 11.6: the order of a SET OF
    let data = encode(SEQUENCE, &[&encode(OBJECT_IDENTIFIER, &[DATA.as_bytes()])]);
    let signed_data = encode(SEQUENCE, &[&VERSION, &[SET, 0], &data, &encode(0xa0, &certificates), &[SET, 0]]);
    let content_type = encode(OBJECT_IDENTIFIER, &[SIGNED_DATA.as_bytes()]);
    encode(SEQUENCE, &[&content_type, &encode(0xa0, &[&signed_data])])
}

/// Decodes a certs-only CMS in DER, of at most [`MAX_CERTIFICATES`] certificates. Order means nothing in it (a SET), and
/// CRLs are ignored.
pub fn decode_certs_only(der: &[u8]) -> Result<Vec<CertificateDer<'static>>, Malformed> {
    decode(der, EncodingRules::Der)
}

/// Decodes a certs-only CMS as [`decode_certs_only`] does, in BER too: some servers send indefinite lengths. The certificates
/// themselves are in DER.
#[cfg(feature = "services")]
pub fn decode_certs_only_ber(ber: &[u8]) -> Result<Vec<CertificateDer<'static>>, Malformed> {
    decode(ber, EncodingRules::Ber)
}

fn decode(encoding: &[u8], rules: EncodingRules) -> Result<Vec<CertificateDer<'static>>, Malformed> {
    limit(encoding)?;
    let mut content_info = Element::from_encoding(encoding, rules, CERTS_ONLY)?.sequence(CERTS_ONLY)?;
    if !content_info.expect(Tag::ObjectIdentifier)?.is(SIGNED_DATA) {
        return Err(Malformed::Der(CERTS_ONLY));
    }
    let mut content = content_info.expect(context(0))?.elements(CERTS_ONLY)?;
    content_info.finish()?;
    let mut signed_data = content.read()?.sequence(CERTS_ONLY)?;
    content.finish()?;
    signed_data.expect(Tag::Integer)?; // version
    signed_data.expect(Tag::Set)?; // digestAlgorithms
    signed_data.expect(Tag::Sequence)?; // encapContentInfo
    let certificates = signed_data.optional(context(0))?.ok_or(Malformed::Missing("certificates"))?;
    signed_data.optional(context(1))?; // crls
    if !signed_data.expect(Tag::Set)?.contents.is_empty() {
        return Err(Malformed::Invalid("signerInfos"));
    }
    signed_data.finish()?;
    let mut found = Vec::new();
    for certificate in certificates.elements(CERTS_ONLY)? {
        // RFC 7030, 4.1.3 and 4.2.3: X.509 certificates, and no other kind.
        let certificate = certificate?.expect(Tag::Sequence, CERTS_ONLY)?;
        if found.len() == MAX_CERTIFICATES {
            return Err(Malformed::TooMany("certificates"));
        }
        found.push(CertificateDer::from(certificate.encoded).into_owned());
    }
    if found.is_empty() { Err(Malformed::Missing("certificates")) } else { Ok(found) }
}

/// The DER of the version of a SignedData with nothing but certificates in it (RFC 5652, 5.1): 1.
const VERSION: [u8; 3] = [2, 1, 1];

/// id-signedData (RFC 5652, 5.1).
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");

/// id-data (RFC 5652, 4).
const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");

const CERTS_ONLY: &str = "certs-only CMS";

#[cfg(test)]
mod tests;
