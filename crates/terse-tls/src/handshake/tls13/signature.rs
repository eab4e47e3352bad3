//! CertificateVerify (RFC 9846, 4.5.2): what is signed, by whom, with which scheme.

use alloc::vec::Vec;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm};

use crate::cert::{Credential, split_public_key};
use crate::config::Common;
use crate::crypto::{CryptoError, Digest, Rng, Signing};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::wire::{Certificate, CertificateVerify, SignatureScheme};

/// Who signs.
#[derive(Clone, Copy)]
pub(super) enum Signer {
    Client,
    Server,
}

/// The content that is signed: 64 spaces, the context string, a zero, the transcript hash.
fn content(signer: Signer, messages: &Digest) -> Vec<u8> {
    let context: &[u8] = match signer {
        Signer::Client => b"TLS 1.3, client CertificateVerify\0",
        Signer::Server => b"TLS 1.3, server CertificateVerify\0",
    };
    [&[0x20; 64], context, messages.as_ref()].concat()
}

/// The first scheme of `credential`'s key that the peer accepts.
pub(super) fn choose(credential: &Credential, accepts: impl Fn(SignatureScheme) -> bool) -> Option<SignatureScheme> {
    let mut ours = credential.key().schemes().iter().copied();
    ours.find(|scheme| scheme.signs_tls13_handshakes() && accepts(*scheme))
}

pub(super) fn sign(
    credential: &Credential,
    scheme: SignatureScheme,
    signer: Signer,
    messages: &Digest,
    rng: &mut dyn Rng,
) -> Result<Vec<u8>, Error> {
    match credential.key().sign(scheme, &content(signer, messages), rng)? {
        Signing::Done(signature) => Ok(signature),
        Signing::Pending => Err(CryptoError::SigningFailed.into()),
    }
}

/// Checks the peer's signature with the key of its certificate, which was sent or is cached.
pub(super) fn verify(
    common: &Common,
    public_key: &[u8],
    signer: Signer,
    verify: &CertificateVerify<'_>,
    messages: &Digest,
) -> Result<(), Error> {
    let CertificateVerify { algorithm, signature } = *verify;
    if !algorithm.signs_tls13_handshakes() || !common.signature_schemes.contains(&algorithm) {
        return Err(PeerMisbehaved::IllegalSignatureScheme.into());
    }
    let (key_algorithm, key) = split_public_key(public_key)?;
    let algorithm = verification_algorithms(common, algorithm)
        .find(|candidate| candidate.public_key_alg_id().as_ref() == key_algorithm)
        .ok_or(PeerMisbehaved::IllegalSignatureScheme)?;
    (algorithm.verify_signature(key, &content(signer, messages), signature))
        .map_err(|_| PeerMisbehaved::BadSignature.into())
}

/// The algorithms that are accepted in chains: those of the schemes that this side offers, on any curve. A scheme fixes
/// the curve in CertificateVerify (RFC 9846, 4.3.3), but a P-384 CA that signs with SHA-256 is what OpenSSL makes.
pub(super) fn chain_algorithms(common: &Common) -> Vec<&'static dyn SignatureVerificationAlgorithm> {
    let is_offered = |algorithm: &dyn SignatureVerificationAlgorithm| {
        let mut offered = common.signature_schemes.iter().flat_map(|scheme| verification_algorithms(common, *scheme));
        offered.any(|offered| offered.signature_alg_id() == algorithm.signature_alg_id())
    };
    common.provider.signatures.all.iter().copied().filter(|algorithm| is_offered(*algorithm)).collect()
}

fn verification_algorithms(
    common: &Common,
    scheme: SignatureScheme,
) -> impl Iterator<Item = &'static dyn SignatureVerificationAlgorithm> {
    let mut known = common.provider.signatures.by_scheme.iter();
    known.find(move |(known, _)| *known == scheme).into_iter().flat_map(|(_, algorithms)| algorithms.iter().copied())
}

/// The chain in a full Certificate. Extensions answer requests (RFC 9846, 4.5.1), and none was made.
pub(super) fn chain<'a>(certificate: &Certificate<'a>) -> Result<Vec<CertificateDer<'a>>, Error> {
    let mut chain = Vec::new();
    for entry in certificate.certificate_list.iter() {
        entry.extensions.check_response(crate::wire::Place::Certificate, &[])?;
        if entry.cert_data.is_empty() {
            return Err(InvalidMessage::IllegalLength.into()); // `cert_data<1..2^24-1>`
        }
        chain.push(CertificateDer::from(entry.cert_data));
    }
    Ok(chain)
}
