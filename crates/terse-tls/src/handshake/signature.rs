//! The signatures of a handshake: the choice of a scheme, the verification, and keys that answer later.
//!
//! What must always hold: a peer's signature is accepted only with a scheme that this side offers and that fits the
//! peer's key.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::SignatureVerificationAlgorithm;

use super::Output;
use crate::cache::Fingerprint;
use crate::cert::{Credential, PresentedPeer, VerifiedPeer, split_public_key};
use crate::config::Common;
use crate::crypto::{CryptoError, Rng, Signing};
use crate::error::{Error, PeerMisbehaved};
use crate::wire::{CertificateVerify, ProtocolVersion, SignatureScheme};

/// A request to a private key for a signature.
#[derive(Clone)]
pub struct SignatureRequest {
    credential: Credential,
    scheme: SignatureScheme,
    message: Vec<u8>,
}

impl SignatureRequest {
    /// Returns the request for a signature of `message`, not its hash, by the key of `credential`. Connections make their own;
    /// this is for programs that ask the same signer for other signatures, too.
    pub const fn new(credential: Credential, scheme: SignatureScheme, message: Vec<u8>) -> Self {
        Self { credential, scheme, message }
    }

    /// Returns the scheme to sign with.
    pub const fn scheme(&self) -> SignatureScheme {
        self.scheme
    }

    /// Returns the message to sign, not its hash.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// Returns the credential whose key must sign.
    pub const fn credential(&self) -> &Credential {
        &self.credential
    }

    /// Returns the credential, and drops the message, which is not needed after signing.
    pub(crate) fn into_credential(self) -> Credential {
        self.credential
    }

    /// Asks the key for the signature.
    pub(crate) fn sign(&self, rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        self.credential.key().sign(self.scheme, &self.message, rng)
    }
}

impl fmt::Debug for SignatureRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignatureRequest")
            .field("scheme", &self.scheme)
            .field("message", &self.message.len())
            .finish_non_exhaustive()
    }
}

impl SignatureScheme {
    /// Returns whether the scheme may sign a handshake of `version`.
    pub(crate) const fn signs_handshakes_of(self, version: ProtocolVersion) -> bool {
        match version {
            ProtocolVersion::TLS_1_3 => self.signs_tls13_handshakes(),
            _ => true, // all known schemes have SHA-256 or a newer hash
        }
    }
}

/// Returns the first scheme of `credential`'s key that the peer accepts in a handshake of `version`.
pub(crate) fn choose(
    credential: &Credential,
    version: ProtocolVersion,
    accepts: impl Fn(SignatureScheme) -> bool,
) -> Option<SignatureScheme> {
    let mut ours = credential.key().schemes().iter().copied();
    ours.find(|scheme| scheme.signs_handshakes_of(version) && accepts(*scheme))
}

/// The proof that the peer's signature of this handshake was verified. Only [`verify`] makes one; a state with an
/// authenticated peer cannot be made without it.
#[derive(Debug)]
pub(crate) struct HandshakeSignatureValid(());

/// The peer of a Certificate message, which has not signed the handshake yet.
pub(crate) enum ClaimedPeer {
    /// The chain or raw public key was verified, in this handshake or before it entered the cache.
    Verified(Arc<VerifiedPeer>),
    /// The chain or raw public key is taken unverified.
    Presented(Box<PresentedPeer>),
}

impl ClaimedPeer {
    /// Returns the public key that must verify the signature: a DER SubjectPublicKeyInfo.
    pub(crate) fn public_key(&self) -> &[u8] {
        match self {
            Self::Verified(peer) => peer.public_key(),
            Self::Presented(peer) => peer.public_key_der(),
        }
    }

    /// Takes the proof that the peer has signed the handshake. A peer that is taken unverified is kept for the
    /// application, and is nobody to the rest of the handshake: what is cached and resumed needs a [`ProvenPeer`].
    pub(crate) fn proven(
        self,
        fingerprint: Option<Fingerprint>,
        HandshakeSignatureValid(()): HandshakeSignatureValid,
        output: &mut Output<'_>,
    ) -> Option<ProvenPeer> {
        match self {
            Self::Verified(peer) => Some(ProvenPeer { peer, fingerprint }),
            Self::Presented(peer) => {
                output.agreed.presented = Some(peer);
                None
            }
        }
    }
}

/// An authenticated peer: its chain or raw public key was verified, and it has signed this handshake with that key. Only
/// [`ClaimedPeer::proven`] makes one.
pub(crate) struct ProvenPeer {
    pub(crate) peer: Arc<VerifiedPeer>,
    /// The fingerprint of the peer's Certificate, if there is a cache.
    pub(crate) fingerprint: Option<Fingerprint>,
}

/// Verifies the peer's signature of `content` with the key of its certificate, which was sent or is cached.
#[inline(never)]
pub(crate) fn verify(
    common: &Common,
    version: ProtocolVersion,
    public_key: &[u8],
    verify: &CertificateVerify<'_>,
    content: &[u8],
    output: &mut Output<'_>,
) -> Result<HandshakeSignatureValid, Error> {
    let CertificateVerify { algorithm: scheme, signature } = *verify;
    if !scheme.signs_handshakes_of(version) || !common.signature_schemes.contains(&scheme) {
        return Err(PeerMisbehaved::IllegalSignatureScheme.into());
    }
    let (key_algorithm, key) = split_public_key(public_key)?;
    let fits =
        |algorithm: &&dyn SignatureVerificationAlgorithm| algorithm.public_key_alg_id().as_ref() == key_algorithm;
    let algorithm = match version {
        ProtocolVersion::TLS_1_3 => verification_algorithms(common, scheme).find(fits),
        // An ECDSA scheme of TLS 1.2 determines only the hash (RFC 9846, 4.3.3: only TLS 1.3 pairs it with a curve).
        _ => algorithms_on_any_curve(common, scheme).find(fits),
    };
    let algorithm = algorithm.ok_or(PeerMisbehaved::IllegalSignatureScheme)?;
    let is_good = algorithm.verify_signature(key, content, signature).is_ok();
    if !common.defences().take_signature(is_good) {
        return Err(PeerMisbehaved::BadSignature.into());
    }
    output.summary.peer.signature_scheme = Some(scheme);
    Ok(HandshakeSignatureValid(()))
}

/// Returns the algorithms that are accepted in chains: those of the schemes that this side offers for them, on any
/// curve. A scheme determines the curve in CertificateVerify (RFC 9846, 4.3.3), but OpenSSL makes P-384 CAs that sign
/// with SHA-256.
pub(crate) fn chain_algorithms(common: &Common) -> Vec<&'static dyn SignatureVerificationAlgorithm> {
    algorithms(common, common.chain_signature_schemes())
}

/// Returns the algorithms of any of `schemes`, on any curve.
pub(super) fn algorithms(
    common: &Common,
    schemes: &[SignatureScheme],
) -> Vec<&'static dyn SignatureVerificationAlgorithm> {
    let is_named = |algorithm: &dyn SignatureVerificationAlgorithm| {
        let mut subject = schemes.iter().flat_map(|scheme| verification_algorithms(common, *scheme));
        subject.any(|subject| subject.signature_alg_id() == algorithm.signature_alg_id())
    };
    common.provider.signatures.all.iter().copied().filter(|algorithm| is_named(*algorithm)).collect()
}

/// Returns the algorithms of `scheme`, and those with the same hash and keys on other curves.
fn algorithms_on_any_curve(
    common: &Common,
    scheme: SignatureScheme,
) -> impl Iterator<Item = &'static dyn SignatureVerificationAlgorithm> {
    common.provider.signatures.all.iter().copied().filter(move |algorithm| {
        verification_algorithms(common, scheme).any(|known| known.signature_alg_id() == algorithm.signature_alg_id())
    })
}

fn verification_algorithms(
    common: &Common,
    scheme: SignatureScheme,
) -> impl Iterator<Item = &'static dyn SignatureVerificationAlgorithm> {
    let mut known = common.provider.signatures.by_scheme.iter();
    known.find(move |(known, _)| *known == scheme).into_iter().flat_map(|(_, algorithms)| algorithms.iter().copied())
}
