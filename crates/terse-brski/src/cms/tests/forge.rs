//! Signed data that is put together by hand, to be wrong in one place.

use std::vec::Vec;

use der::asn1::ObjectIdentifier;

use super::*;
use crate::asn1::{CONTEXT_0, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, SET, encode};
use crate::certificate::Fields;

/// The parts of signed data, each of them DER. What [`Forgery::new`] returns is right.
#[derive(Clone)]
pub(super) struct Forgery {
    pub(super) content_type: ObjectIdentifier,
    pub(super) version: u8,
    pub(super) digest_algorithms: Vec<Vec<u8>>,
    pub(super) econtent_type: ObjectIdentifier,
    /// `[0]` with an OCTET STRING.
    pub(super) econtent: Vec<u8>,
    pub(super) certificates: Vec<Vec<u8>>,
    /// crls, with its tag.
    pub(super) crls: Vec<u8>,
    pub(super) signers: Vec<SignerForgery>,
}

/// The parts of a SignerInfo.
#[derive(Clone)]
pub(super) struct SignerForgery {
    pub(super) version: u8,
    pub(super) sid: Vec<u8>,
    pub(super) digest_algorithm: Vec<u8>,
    /// Without any there is no field for them.
    pub(super) signed_attrs: Vec<Vec<u8>>,
    pub(super) signature_algorithm: Vec<u8>,
    pub(super) signature: Signature,
    /// unsignedAttrs, with its tag.
    pub(super) unsigned_attrs: Vec<u8>,
}

/// What is signed.
#[derive(Clone)]
pub(super) enum Signature {
    /// The signed attributes, as they must be.
    Attributes,
    /// These bytes.
    Of(Vec<u8>),
    /// It is this signature.
    Ready(Vec<u8>),
}

impl Forgery {
    pub(super) fn new() -> Self {
        let hash = PROVIDER.sha256.hash(&[CONTENT]);
        let leaf = Fields::read(&P256.chain[0]).unwrap();
        let content_type = oid::ANIMA_JSON_VOUCHER;
        let signer = SignerForgery {
            version: 1,
            sid: encode(SEQUENCE, &[leaf.issuer.encoded, leaf.serial_number.encoded]),
            digest_algorithm: SHA256.to_vec(),
            signed_attrs: vec![
                attribute(oid::CONTENT_TYPE, &[object_identifier(content_type)]),
                attribute(oid::MESSAGE_DIGEST, &[encode(OCTET_STRING, &[hash.as_ref()])]),
            ],
            signature_algorithm: encode(SEQUENCE, &[ECDSA_WITH_SHA256]),
            signature: Signature::Attributes,
            unsigned_attrs: Vec::new(),
        };
        Self {
            content_type: oid::SIGNED_DATA,
            version: 3,
            digest_algorithms: vec![SHA256.to_vec()],
            econtent_type: content_type,
            econtent: encode(CONTEXT_0, &[&encode(OCTET_STRING, &[CONTENT])]),
            certificates: P256.chain.iter().map(|certificate| certificate.to_vec()).collect(),
            crls: Vec::new(),
            signers: vec![signer],
        }
    }

    /// Returns the forgery after `change`.
    pub(super) fn with(change: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut forgery = Self::new();
        change(&mut forgery);
        forgery.encode()
    }

    /// Returns the forgery after `change` of its signer.
    pub(super) fn with_signer(change: impl FnOnce(&mut SignerForgery)) -> Vec<u8> {
        Self::with(|forgery| change(&mut forgery.signers[0]))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let certificates = concat(&self.certificates);
        let signed_data = encode(
            SEQUENCE,
            &[
                &[2, 1, self.version],
                &encode(SET, &[&concat(&self.digest_algorithms)]),
                &encode(SEQUENCE, &[&object_identifier(self.econtent_type), &self.econtent]),
                &if certificates.is_empty() { Vec::new() } else { encode(CONTEXT_0, &[&certificates]) },
                &self.crls,
                &encode(SET, &[&self.signers.iter().flat_map(SignerForgery::encode).collect::<Vec<_>>()]),
            ],
        );
        encode(SEQUENCE, &[&object_identifier(self.content_type), &encode(CONTEXT_0, &[&signed_data])])
    }
}

impl SignerForgery {
    fn encode(&self) -> Vec<u8> {
        let attributes = concat(&self.signed_attrs);
        let signed = match &self.signature {
            Signature::Attributes => encode(SET, &[&attributes]),
            Signature::Of(bytes) => bytes.clone(),
            Signature::Ready(_) => Vec::new(),
        };
        let signature = match &self.signature {
            Signature::Ready(signature) => signature.clone(),
            _ => sign_as(&P256, &signed),
        };
        let signed_attrs = if attributes.is_empty() { Vec::new() } else { encode(CONTEXT_0, &[&attributes]) };
        encode(
            SEQUENCE,
            &[
                &[2, 1, self.version],
                &self.sid,
                &self.digest_algorithm,
                &signed_attrs,
                &self.signature_algorithm,
                &encode(OCTET_STRING, &[&signature]),
                &self.unsigned_attrs,
            ],
        )
    }
}

/// Returns the signature of a signer.
pub(super) fn sign_as(signer: &Signer, message: &[u8]) -> Vec<u8> {
    match signer.key.sign(signer.scheme, message, &mut SeededRng::new(1)).unwrap() {
        terse_tls::crypto::Signing::Done(signature) => signature,
        terse_tls::crypto::Signing::Pending => unreachable!("the key is in memory"),
    }
}

pub(super) fn object_identifier(oid: ObjectIdentifier) -> Vec<u8> {
    encode(OBJECT_IDENTIFIER, &[oid.as_bytes()])
}

pub(super) fn attribute(attr_type: ObjectIdentifier, values: &[Vec<u8>]) -> Vec<u8> {
    encode(SEQUENCE, &[&object_identifier(attr_type), &encode(SET, &[&concat(values)])])
}

fn concat(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.concat()
}

pub(super) const SHA256: &[u8] = &[0x30, 0x0b, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];

/// The contents of the AlgorithmIdentifier.
pub(super) const ECDSA_WITH_SHA256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
