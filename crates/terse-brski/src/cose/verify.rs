//! The signature is verified (RFC 9052, 4.4).
//!
//! A COSE_Sign1 does not say who signed it: whoever may have, by the kind of the key, is tried. What must always hold: the
//! signature is verified over the protected header and the payload before anything is returned, and at most
//! [`MAX_CERTIFICATES`](super::MAX_CERTIFICATES) keys of a stranger are tried.

use alloc::vec;
use alloc::vec::Vec;

use pki_types::CertificateDer;
use terse_tls::crypto::CryptoProvider;

use super::algorithm::Algorithm;
use super::header::Headers;
use super::parse::Sign1;
use super::{CONTEXT, Signed};
use crate::SignatureRefused;
use crate::cbor::{Writer, encoded_len};
use crate::certificate::{Fields, algorithm_and_key_of};

impl Signed {
    /// Verifies a COSE_Sign1. The signer's certificate is one of `signers`, or else one that came with it: the first of an x5chain,
    /// or any of x5bag. Of several certificates of the key that has signed, the first is the first of [`Self::chain`].
    pub fn verify(
        provider: &CryptoProvider,
        cose: &[u8],
        signers: &[CertificateDer<'_>],
    ) -> Result<Self, SignatureRefused> {
        let sign1 = Sign1::read(cose)?;
        let headers = Headers::read(&sign1)?;
        let candidates = signers.iter().map(AsRef::as_ref).chain(headers.signers());
        let (content, signer) = verify(provider, &sign1, headers.algorithm()?, candidates)?;
        let mut chain = vec![signer];
        for certificate in headers.certificates() {
            if !chain.contains(&certificate) {
                chain.push(certificate);
            }
        }
        let owned = |certificate| CertificateDer::from(certificate).into_owned();
        Ok(Self { content, chain: chain.into_iter().map(owned).collect() })
    }

    /// Verifies a COSE_Sign1 by one of `signers`. The certificates that came with it are ignored, as a registrar must ignore those
    /// of a pledge's request: the signer's certificate is all that there is in [`Self::chain`]. [`Self::verify`] refuses the same
    /// as malformed.
    pub fn verify_by(
        provider: &CryptoProvider,
        cose: &[u8],
        signers: &[CertificateDer<'_>],
    ) -> Result<Self, SignatureRefused> {
        let sign1 = Sign1::read(cose)?;
        let algorithm = Headers::read(&sign1)?.algorithm()?;
        let (content, signer) = verify(provider, &sign1, algorithm, signers.iter().map(AsRef::as_ref))?;
        Ok(Self { content, chain: vec![CertificateDer::from(signer).into_owned()] })
    }

    /// Returns the members of [`Self::chain`] that can be the signer's certificate: those with the key that has signed. None of
    /// them is preferred, and there is at least one.
    pub fn signers(&self) -> impl Iterator<Item = &CertificateDer<'static>> {
        let signer = self.chain.first().and_then(|first| key(first));
        self.chain.iter().filter(move |other| signer.is_some() && key(other) == signer)
    }
}

/// Returns the SubjectPublicKeyInfo of a certificate, if it can be read.
fn key(certificate: &[u8]) -> Option<&[u8]> {
    Fields::read(certificate).ok().map(|fields| fields.public_key)
}

/// Returns the content, and the first certificate whose key has signed it.
fn verify<'c>(
    provider: &CryptoProvider,
    sign1: &Sign1<'_>,
    algorithm: Algorithm,
    candidates: impl Iterator<Item = &'c [u8]>,
) -> Result<(Vec<u8>, &'c [u8]), SignatureRefused> {
    let verification = algorithm.verification(provider)?;
    let signature = algorithm.engine_signature(&sign1.signature)?;
    let mut message = sig_structure(sign1);
    // The reason is that of the candidate that came closest.
    let mut refused = SignatureRefused::NoSigner;
    for certificate in candidates {
        let (key_algorithm, key) = match Fields::read(certificate).and_then(|it| algorithm_and_key_of(it.public_key)) {
            Ok(key) => key,
            Err(malformed) if refused == SignatureRefused::NoSigner => {
                refused = malformed.into();
                continue;
            }
            Err(_) => continue,
        };
        if *key_algorithm != *verification.public_key_alg_id() {
            if refused != SignatureRefused::Signature {
                refused = SignatureRefused::Algorithm;
            }
            continue;
        }
        if verification.verify_signature(key, &message, &signature).is_ok() {
            message.drain(..message.len() - sign1.payload.len());
            return Ok((message, certificate));
        }
        refused = SignatureRefused::Signature;
    }
    Err(refused)
}

/// Returns the Sig_structure, which ends with the payload.
fn sig_structure(sign1: &Sign1<'_>) -> Vec<u8> {
    let protected = &sign1.protected; // never empty: the algorithm is there
    let len = 1 + encoded_len(CONTEXT.len()) + encoded_len(protected.len()) + 1 + encoded_len(sign1.payload.len());
    let mut writer = Writer::with_capacity(len);
    writer.array(4);
    writer.text(CONTEXT);
    writer.bytes(protected);
    writer.bytes(&[]); // external_aad
    writer.bytes(&sign1.payload);
    writer.into_vec()
}
