//! A client in TLS 1.2, from the ServerHello on (RFC 5246, 7.3 and 7.4).
//!
//! ```text
//!                        <--  Certificate            maybe as its fingerprint; not with a pre-shared key
//!                             ServerKeyExchange
//!                             CertificateRequest*    maybe as its fingerprint
//!                             ServerHelloDone
//! Certificate*           -->                         maybe empty, under a ticket
//! ClientKeyExchange
//! CertificateVerify*
//! [ChangeCipherSpec]
//! Finished
//!                        <--  NewSessionTicket*
//!                             [ChangeCipherSpec]
//!                             Finished
//! ```
//!
//! What must always hold: the server's key is believed because its chain was verified, now or before it entered the
//! cache, and because it signed this handshake's parameters; nothing reaches the cache before the server's Finished was
//! verified.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::cache::{PeerEntry, RequestEntry, Selection};
use crate::cert::VerifiedPeer;
use crate::config::{ClientConfig, ServerAddress};
use crate::crypto::{Tls12KeyExchange, Tls12Suite};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::{Handshake, Message, Output, SignatureRequest, agreement, caching};
use crate::schedule::tls12::Randoms;
use crate::schedule::{Pending, Transcript};
use crate::wire::{
    ExtendedMasterSecret, ExtensionType, HandshakeType, HelloRequest, Place, ProtocolVersion, Random,
    RenegotiationInfo, ServerHello, SignatureScheme,
};

mod authenticate;
mod finish;
mod flight;

use authenticate::{ExpectCertificate, ExpectServerKeyExchange};
use finish::ExpectFinished;
use flight::{ExpectServerHelloDone, ExpectSignature};

/// What the ClientHello said.
pub(crate) struct Hello {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) server: ServerAddress,
    pub(crate) random: Random,
    pub(crate) offered: Vec<ExtensionType>,
    pub(crate) session_id: Vec<u8>,
    pub(crate) client_hello: Pending,
}

/// What a client expects next.
pub(crate) enum State {
    Certificate(Box<ExpectCertificate>),
    ServerKeyExchange(Box<ExpectServerKeyExchange>),
    /// Or CertificateRequest; with a pre-shared key ServerKeyExchange, too.
    ServerHelloDone(Box<ExpectServerHelloDone>),
    /// Of the client's own CertificateVerify.
    Signature(Box<ExpectSignature>),
    NewSessionTicket(Box<ExpectFinished>),
    Finished(Box<ExpectFinished>),
}

/// What was agreed on in the hellos.
pub(super) struct Agreed {
    config: Arc<ClientConfig>,
    server: ServerAddress,
    suite: &'static Tls12Suite,
    randoms: Randoms,
    transcript: Transcript,
    extended_master_secret: bool,
    selection: Selection,
    /// The server answered `client_cached_info`: this handshake makes a ticket.
    makes_ticket: bool,
}

/// What is kept, if the handshake succeeds, of what came in full.
#[derive(Default)]
pub(super) struct Learned {
    server_certificate: Option<PeerEntry>,
    certificate_request: Option<RequestEntry>,
}

/// The server's CertificateRequest, in full or cached.
pub(super) struct Request {
    signature_algorithms: Vec<SignatureScheme>,
}

/// Whose chain was verified, now or earlier.
pub(super) type Peer = VerifiedPeer;

impl State {
    pub(crate) fn handle(self, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        if message.kind == HandshakeType::HELLO_REQUEST {
            let HelloRequest = message.expect(HandshakeType::HELLO_REQUEST)?;
            return Ok(Handshake::Tls12Client(self)); // RFC 5246, 7.4.1.1: ignored during a handshake
        }
        Ok(Handshake::Tls12Client(match self {
            Self::Certificate(state) => Self::ServerKeyExchange(state.certificate(message, output)?),
            Self::ServerKeyExchange(state) => Self::ServerHelloDone(state.server_key_exchange(message, output)?),
            Self::ServerHelloDone(state) if message.kind == HandshakeType::CERTIFICATE_REQUEST => {
                Self::ServerHelloDone(state.certificate_request(message, output)?)
            }
            Self::ServerHelloDone(state) => state.server_hello_done(message, output)?,
            Self::NewSessionTicket(state) => Self::Finished(state.new_session_ticket(message, output)?),
            Self::Finished(state) => return state.finished(message, output),
            Self::Signature(_) => return Err(message.unexpected()),
        }))
    }

    pub(crate) fn signature_request(&self) -> Option<&SignatureRequest> {
        match self {
            Self::Signature(state) => Some(&state.request),
            _ => None,
        }
    }

    pub(crate) fn signed(self, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
        match self {
            Self::Signature(state) => state.signed(signature, output).map(Handshake::Tls12Client),
            state => Ok(Handshake::Tls12Client(state)),
        }
    }
}

/// RFC 5246, 7.4.1.3
pub(crate) fn server_hello(
    ours: Hello,
    hello: &ServerHello<'_>,
    message: Message<'_>,
    output: &mut Output<'_>,
) -> Result<Handshake, Error> {
    let Hello { config, server, random, offered, session_id, client_hello } = ours;
    let common = &config.common;
    if hello.legacy_compression_method != 0 || (!session_id.is_empty() && hello.legacy_session_id_echo == session_id) {
        return Err(PeerMisbehaved::IllegalLegacyField.into()); // no session of this id was offered
    }
    let suite = common.enabled_suites().find(|id| *id == hello.cipher_suite);
    let suite = suite.and_then(|id| common.provider.tls12_suite(id)).ok_or(PeerMisbehaved::SelectedUnofferedSuite)?;
    let extensions = hello.extensions;
    extensions.check_response(Place::ServerHello12, &offered)?;
    match extensions.get()? {
        Some(RenegotiationInfo([])) => {}
        Some(_) => return Err(PeerMisbehaved::IllegalRenegotiationInfo.into()), // RFC 5746, 3.4
        None => return Err(PeerIncompatible::NoSecureRenegotiation.into()),
    }
    let extended_master_secret = extensions.get::<ExtendedMasterSecret>()?.is_some();
    if !extended_master_secret && common.require_extended_master_secret {
        return Err(PeerIncompatible::NoExtendedMasterSecret.into()); // RFC 7627, 5.2
    }
    agreement::read(&config, extensions, ProtocolVersion::TLS_1_2, output)?;
    let certificates = matches!(suite.key_exchange, Tls12KeyExchange::EcdheEcdsa | Tls12KeyExchange::EcdheRsa);
    let client_cached_info = common.client_cached_info;
    if (!extended_master_secret || !certificates) && caching::is_answered(extensions, client_cached_info) {
        return Err(PeerMisbehaved::IllegalCachingReply.into()); // `caching`, rule 6
    }
    let (selection, makes_ticket) = caching::selected(extensions, client_cached_info, output)?;

    let mut transcript = match config.credential {
        Some(_) => client_hello.start_keeping(suite.hash), // a CertificateVerify signs it all
        None => client_hello.start(suite.hash),
    };
    transcript.add(message.bytes);
    output.summary.version = Some(ProtocolVersion::TLS_1_2);
    output.summary.cipher_suite = Some(suite.id);
    output.summary.round_trips = 2;
    let randoms = Randoms { client: random, server: hello.random };
    let agreed = Agreed { config, server, suite, randoms, transcript, extended_master_secret, selection, makes_ticket };
    Ok(Handshake::Tls12Client(State::Certificate(Box::new(ExpectCertificate { agreed }))))
}
