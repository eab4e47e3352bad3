//! The signature is verified (RFC 5652, 5.4 to 5.6).
//!
//! What must always hold: the digest is compared with the signed one, and the signature is verified over all signed
//! attributes, before anything is returned.

use alloc::vec::Vec;

use der::EncodingRules;
use pki_types::CertificateDer;
use terse_tls::crypto::CryptoProvider;

use super::algorithm::{self, DigestAlgorithm};
use super::parse::{SignedAttributes, SignedData, SignerInfo};
use super::{Signed, oid};
use crate::asn1::SET;
use crate::certificate::{Fields, algorithm_and_key_of};
use crate::voucher::MAX_LEN;
use crate::{Malformed, SignatureRefused};

impl Signed {
    pub(super) fn verify_encoding(
        provider: &CryptoProvider,
        encoded: &[u8],
        rules: EncodingRules,
        signers: &[CertificateDer<'_>],
    ) -> Result<Self, SignatureRefused> {
        if encoded.len() > MAX_LEN {
            return Err(Malformed::TooLong(MAX_LEN).into());
        }
        let SignedData { content_type, content, certificates, signer } = SignedData::read(encoded, rules)?;
        if !content_type.is(oid::ANIMA_JSON_VOUCHER) && !content_type.is(oid::DATA) {
            return Err(Malformed::Invalid("eContentType").into());
        }
        let attributes = SignedAttributes::read(signer.signed_attrs)?;
        // RFC 5652, 11.1: "The attribute value MUST match".
        if attributes.content_type.encoded != content_type.encoded {
            return Err(SignatureRefused::SignedAttributes("contentType"));
        }
        let digest_algorithm = DigestAlgorithm::read(signer.digest_algorithm)?;
        if digest_algorithm.digest(provider, &content)?.as_ref() != attributes.message_digest {
            return Err(SignatureRefused::Digest);
        }

        let is_signer = |certificate: &[u8]| Fields::read(certificate).is_ok_and(|fields| signer.sid.is(&fields));
        let place = certificates.iter().position(|certificate| is_signer(certificate));
        let leaf = match place.and_then(|place| certificates.get(place)) {
            Some(leaf) => leaf,
            None => {
                signers.iter().find(|certificate| is_signer(certificate)).ok_or(SignatureRefused::NoSigner)?.as_ref()
            }
        };
        verify_signature(provider, &signer, digest_algorithm, leaf)?;

        let others = certificates.iter().enumerate().filter(|(index, _)| Some(*index) != place);
        let chain = core::iter::once(leaf).chain(others.map(|(_, certificate)| *certificate));
        Ok(Self {
            content: content.into_owned(),
            chain: chain.map(|certificate| CertificateDer::from(certificate).into_owned()).collect(),
            signing_time: attributes.signing_time,
        })
    }
}

/// Verifies the signature with the key of the signer's certificate.
fn verify_signature(
    provider: &CryptoProvider,
    signer: &SignerInfo<'_>,
    digest_algorithm: DigestAlgorithm,
    certificate: &[u8],
) -> Result<(), SignatureRefused> {
    let (key_algorithm, key) = algorithm_and_key_of(Fields::read(certificate)?.public_key)?;
    let algorithm = algorithm::verification(provider, digest_algorithm, signer.signature_algorithm, key_algorithm)?;

    // RFC 5652, 5.4: what is signed has the tag of a SET OF, rather than the [0] that stands there.
    let (_, length_and_contents) = signer.signed_attrs.split_first().ok_or(Malformed::Der("signedAttrs"))?;
    let mut message = Vec::with_capacity(signer.signed_attrs.len());
    message.push(SET);
    message.extend_from_slice(length_and_contents);
    algorithm.verify_signature(key, &message, signer.signature).map_err(|_| SignatureRefused::Signature)
}
