//! A COSE_Sign1 that is put together by hand, to be wrong in one place.

use terse_tls::crypto::Signing;

use super::*;

/// The parts of a COSE_Sign1. What [`Forgery::new`] returns is right: P-256, with the signer's chain.
#[derive(Clone)]
pub(super) struct Forgery {
    /// What is before the fields.
    pub(super) head: Vec<u8>,
    /// The map in the protected header.
    pub(super) protected: Vec<u8>,
    pub(super) unprotected: Vec<u8>,
    /// The payload, encoded.
    pub(super) payload: Vec<u8>,
    /// The bytes that are signed as the payload.
    pub(super) content: Vec<u8>,
    pub(super) external_aad: Vec<u8>,
    pub(super) context: &'static str,
    /// What follows the signature.
    pub(super) tail: Vec<u8>,
}

impl Forgery {
    pub(super) fn new() -> Self {
        Self {
            head: vec![0xd2, 0x84],
            protected: vec![0xa1, 0x01, 0x26],
            unprotected: x5bag(&P256.chain),
            payload: bytes(CONTENT),
            content: CONTENT.to_vec(),
            external_aad: Vec::new(),
            context: "Signature1",
            tail: Vec::new(),
        }
    }

    pub(super) fn with(change: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut forgery = Self::new();
        change(&mut forgery);
        forgery.encode()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let message = encode(|writer| {
            writer.array(4);
            writer.text(self.context);
            writer.bytes(&self.protected);
            writer.bytes(&self.external_aad);
            writer.bytes(&self.content);
        });
        let Signing::Done(der) = P256.key.sign(P256.scheme, &message, &mut SeededRng::new(1)).unwrap() else {
            unreachable!("the key is in memory")
        };
        let mut signature = Vec::new();
        algorithm::Algorithm::Es256.push_signature(&der, &mut signature).unwrap();
        let fields = [&bytes(&self.protected), &self.unprotected, &self.payload, &bytes(&signature), &self.tail];
        [&self.head[..], &fields.map(Vec::as_slice).concat()].concat()
    }
}

pub(super) fn bytes(bytes: &[u8]) -> Vec<u8> {
    encode(|writer| writer.bytes(bytes))
}

/// An array of certificates.
pub(super) fn certificates(chain: &[CertificateDer<'_>]) -> Vec<u8> {
    encode(|writer| {
        writer.array(chain.len());
        chain.iter().for_each(|certificate| writer.bytes(certificate));
    })
}

/// A header with these certificates.
pub(super) fn x5bag(chain: &[CertificateDer<'_>]) -> Vec<u8> {
    header(&[(32, &certificates(chain))])
}

/// A header with these labels and values.
pub(super) fn header(parameters: &[(i64, &[u8])]) -> Vec<u8> {
    encode(|writer| {
        writer.map(parameters.len());
        for (label, value) in parameters {
            writer.integer(*label);
            writer.encoded(value);
        }
    })
}
