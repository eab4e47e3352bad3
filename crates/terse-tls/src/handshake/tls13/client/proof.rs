//! The proof of the server's identity on a client. It is negotiated independently of the key agreement.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::cert::VerifiedPeer;
use crate::handshake::client::PskSource;
use crate::handshake::identity::offer::AgreedIdentity;
use crate::handshake::signature::ProvenPeer;
use crate::handshake::{Output, sessions};
use crate::proof::FinishedProof;
use crate::resume::{SessionOrigin, SessionSaver};

/// How the server proves its identity.
pub(crate) enum Proof {
    /// The server's Certificate, sent or cached, and its signature.
    Certificate(ProvenPeer),
    /// The signature of a server whose Certificate is not verified: there is no proof of its identity.
    Presented,
    /// A pre-shared key, which the server's Finished proves that it has.
    Psk(PskSource),
    /// An identity key, which the server's Finished proves that it has.
    Identity(Box<dyn AgreedIdentity>),
}

impl Proof {
    /// Returns the server's Certificate, if it has proven its identity with one.
    pub(super) const fn certificate(&self) -> Option<&ProvenPeer> {
        match self {
            Self::Certificate(server) => Some(server),
            Self::Presented | Self::Psk(_) | Self::Identity(_) => None,
        }
    }

    /// Returns the server's chain or raw public key, if it has proven its identity with one.
    pub(super) fn peer(&self) -> Option<&Arc<VerifiedPeer>> {
        self.certificate().map(|server| &server.peer)
    }

    /// Reports the server's identity, after its Finished was verified.
    pub(super) fn report(&self, proof: &FinishedProof, output: &mut Output<'_>) {
        match self {
            Self::Certificate(_) | Self::Presented => {}
            Self::Psk(PskSource::Session(session)) => sessions::resumed_server(&session.origin, output),
            Self::Psk(PskSource::External(identity)) => sessions::psk_peer(identity, output),
            Self::Identity(identity) => identity.prove(proof, output),
        }
    }

    /// Returns how the sessions of this connection were authenticated, or `None` if none are kept.
    pub(super) fn origin_of_sessions(&self, saver: &SessionSaver, output: &Output<'_>) -> Option<SessionOrigin> {
        let application_protocol = output.agreed.application_protocol.as_deref();
        match self {
            Self::Certificate(server) => saver.origin(&server.peer, application_protocol, output.now),
            Self::Psk(PskSource::Session(session)) => Some(SessionOrigin {
                application_protocol: application_protocol.map(Into::into),
                ..session.origin.clone()
            }),
            // An external key does what a session would, and a handshake with identities costs little more.
            Self::Psk(PskSource::External(_)) | Self::Identity(_) | Self::Presented => None,
        }
    }
}
