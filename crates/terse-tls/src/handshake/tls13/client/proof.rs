//! What proves to a client who its server is, which is chosen apart from how they agree on keys.

use alloc::sync::Arc;

use crate::cert::VerifiedPeer;
use crate::handshake::client::PskSource;
use crate::handshake::signature::ProvenPeer;
use crate::handshake::{Output, sessions};
use crate::resume::{SessionOrigin, SessionSaver};

/// What proves who the server is.
pub(super) enum Proof {
    /// Its Certificate, sent or cached, and its signature.
    Certificate(ProvenPeer),
    /// A pre-shared key, which its Finished shows that it has.
    Psk(PskSource),
}

impl Proof {
    /// The server's Certificate, if that is what proves it.
    pub(super) const fn certificate(&self) -> Option<&ProvenPeer> {
        match self {
            Self::Certificate(server) => Some(server),
            Self::Psk(_) => None,
        }
    }

    /// The server's chain or raw public key, if that is what proves it.
    pub(super) fn peer(&self) -> Option<&Arc<VerifiedPeer>> {
        self.certificate().map(|server| &server.peer)
    }

    /// The server's Finished was verified: what it proves counts now.
    pub(super) fn report(&self, output: &mut Output<'_>) {
        match self {
            Self::Certificate(_) => {}
            Self::Psk(PskSource::Session(session)) => sessions::resumed_server(&session.origin, output),
            Self::Psk(PskSource::External(identity)) => sessions::psk_peer(identity, output),
        }
    }

    /// How sessions of this connection were authenticated. `None`: none are kept.
    pub(super) fn origin_of_sessions(&self, saver: &SessionSaver, output: &Output<'_>) -> Option<SessionOrigin> {
        let application_protocol = output.agreed.application_protocol.as_deref();
        match self {
            Self::Certificate(server) => saver.origin(&server.peer, application_protocol, output.now),
            Self::Psk(PskSource::Session(session)) => Some(SessionOrigin {
                application_protocol: application_protocol.map(Into::into),
                ..session.origin.clone()
            }),
            Self::Psk(PskSource::External(_)) => None, // the key would serve as well
        }
    }
}
