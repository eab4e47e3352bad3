//! A client in TLS 1.2, from the ServerHello on (RFC 5246, 7.3 and 7.4).
//!
//! ```text
//!                        <--  Certificate            maybe as its fingerprint, or left out; not with a pre-shared key
//!                             CertificateStatus*     if it was asked for
//!                             ServerKeyExchange
//!                             CertificateRequest*    maybe as its fingerprint, or left out
//!                             ServerHelloDone
//! Certificate*           -->                         maybe empty or left out, under a ticket
//! ClientKeyExchange
//! CertificateVerify*
//! [ChangeCipherSpec]
//! Finished
//!                        <--  NewSessionTicket*
//!                             [ChangeCipherSpec]
//!                             Finished
//! ```
//! If a session is resumed (`resume.rs`), the server sends ServerHello, NewSessionTicket*, [ChangeCipherSpec] and
//! Finished, and then the client sends [ChangeCipherSpec] and Finished.
//!
//! What must always hold: the server is authenticated by a chain that was verified, in this handshake or before it
//! entered the cache, and by its signature of this handshake's parameters; nothing is cached before the server's
//! Finished was verified.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::cache::{self, FallbackReason, Selection};
use crate::config::{ClientConfig, ServerAddress};
use crate::crypto::Tls12Suite;
use crate::error::{ApiMisuse, Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::caching::Request;
use crate::handshake::certificate_types::CertificateTypes;
use crate::handshake::signature::ProvenPeer;
use crate::handshake::{Handshake, Message, Output, SignatureRequest, StateMachine, caching, negotiated};
use crate::resume::{SessionSaver, StoredSession};
use crate::schedule::tls12::Randoms;
use crate::schedule::{Pending, Transcript};
use crate::wire::{
    EcPointFormats, ExtendedMasterSecret, ExtensionMessage, ExtensionType, HandshakeType, HelloRequest,
    ProtocolVersion, Random, RenegotiationInfo, ServerHello, SessionTicket, StatusRequested,
};

mod authenticate;
mod finish;
mod flight;
mod resume;

use authenticate::{ExpectCertificate, ExpectServerKeyExchange};
use finish::ExpectFinished;
use flight::{ExpectServerHelloDone, ExpectSignature};
use resume::{ExpectResumedFinished, Resumed};

/// The values of the sent ClientHello.
pub(crate) struct SentClientHello {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) server: ServerAddress,
    pub(crate) random: Random,
    pub(crate) offered: Vec<ExtensionType>,
    pub(crate) session_id: Vec<u8>,
    /// The session of TLS 1.2 that was offered.
    pub(crate) session: Option<StoredSession>,
    /// Where the session of this handshake is kept.
    pub(crate) saver: Option<SessionSaver>,
    pub(crate) client_hello: Pending,
    /// The number of HelloVerifyRequests, which cost a round trip each.
    pub(crate) verify_requests: u8,
}

/// The state of a client, named after the message that it expects next.
pub(crate) enum State {
    Certificate(Box<ExpectCertificate>),
    ServerKeyExchange(Box<ExpectServerKeyExchange>),
    /// ServerHelloDone or CertificateRequest; with a pre-shared key ServerKeyExchange as well.
    ServerHelloDone(Box<ExpectServerHelloDone>),
    /// The signature of the client's own CertificateVerify.
    Signature(Box<ExpectSignature>),
    NewSessionTicket(Box<ExpectFinished>),
    Finished(Box<ExpectFinished>),
    /// The NewSessionTicket of a session that is resumed.
    ResumedNewSessionTicket(Box<ExpectResumedFinished>),
    ResumedFinished(Box<ExpectResumedFinished>),
}

/// The values that were negotiated in the hellos.
pub(super) struct Agreed {
    config: Arc<ClientConfig>,
    server: ServerAddress,
    suite: &'static Tls12Suite,
    randoms: Randoms,
    transcript: Transcript,
    extended_master_secret: bool,
    /// The session ID of the server; empty if there is none.
    session_id: Box<[u8]>,
    ticket_follows: bool,
    /// Whether CertificateStatus may follow.
    status_follows: bool,
    saver: Option<SessionSaver>,
    types: CertificateTypes,
    selection: Selection,
}

/// The objects of the server, full or cached.
#[derive(Default)]
pub(super) struct Learned {
    /// The authenticated server; `None` with a pre-shared key.
    server: Option<ProvenPeer>,
    request: Option<Request>,
}

impl StateMachine for State {
    #[inline(never)]
    fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        if message.kind == HandshakeType::HELLO_REQUEST {
            let HelloRequest = message.expect(HandshakeType::HELLO_REQUEST)?;
            return Ok(self); // RFC 5246, 7.4.1.1: ignored during a handshake
        }
        Ok(Box::new(match *self {
            Self::Certificate(state) if state.is_left_out(message.kind) => {
                let state = Self::ServerKeyExchange(state.left_out_certificate(output)?);
                return Box::new(state).handle(message, output);
            }
            Self::Certificate(state) => Self::ServerKeyExchange(state.certificate(message, output)?),
            Self::ServerKeyExchange(state) if message.kind == HandshakeType::CERTIFICATE_STATUS => {
                Self::ServerKeyExchange(state.certificate_status(message, output)?)
            }
            Self::ServerKeyExchange(state) => Self::ServerHelloDone(state.server_key_exchange(message, output)?),
            Self::ServerHelloDone(state) if message.kind == HandshakeType::CERTIFICATE_REQUEST => {
                Self::ServerHelloDone(state.certificate_request(message, output)?)
            }
            Self::ServerHelloDone(state) if message.kind == HandshakeType::SERVER_KEY_EXCHANGE => {
                Self::ServerHelloDone(state.server_key_exchange(message, output)?)
            }
            Self::ServerHelloDone(state) => state.server_hello_done(message, output)?,
            Self::NewSessionTicket(state) => Self::Finished(state.new_session_ticket(message, output)?),
            Self::Finished(state) => return state.finished(message, output),
            Self::ResumedNewSessionTicket(state) => Self::ResumedFinished(state.new_session_ticket(message, output)?),
            Self::ResumedFinished(state) => return state.finished(message, output),
            Self::Signature(_) => return Err(message.unexpected()),
        }))
    }

    fn signature_request(&self) -> Option<&SignatureRequest> {
        match self {
            Self::Signature(state) => Some(&state.request),
            _ => None,
        }
    }

    fn signed(self: Box<Self>, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
        match *self {
            Self::Signature(state) => Ok(Box::new(state.signed(signature, output)?)),
            _ => Err(ApiMisuse::NoSignatureDue.into()),
        }
    }
}

/// Handles the ServerHello of TLS 1.2 (RFC 5246, 7.4.1.3).
#[inline(never)]
pub(crate) fn server_hello(
    ours: SentClientHello,
    hello: &ServerHello<'_>,
    message: Message<'_>,
    output: &mut Output<'_>,
) -> Result<Handshake, Error> {
    let SentClientHello { config, server, random, offered, session_id, session, saver, client_hello, verify_requests } =
        ours;
    let common = &config.common;
    // The server resumes if it echoes the session ID (RFC 5246, 7.4.1.3), which the client chose if it offers a ticket
    // (RFC 5077, 3.4).
    let resumes = !session_id.is_empty() && hello.legacy_session_id_echo == session_id;
    if hello.legacy_compression_method != 0 || (resumes && session.is_none()) {
        return Err(PeerMisbehaved::IllegalLegacyField.into());
    }
    let suite = config.offered_suites().find(|id| *id == hello.cipher_suite);
    let suite = suite.and_then(|id| common.provider.tls12_suite(id)).ok_or(PeerMisbehaved::SelectedUnofferedSuite)?;
    let extensions = hello.extensions;
    // pion/dtls and old servers send `ec_point_formats` unasked. It changes nothing: points are uncompressed anyway.
    let may_answer = [&offered[..], &[ExtensionType::EC_POINT_FORMATS]].concat();
    extensions.check_response(ExtensionMessage::ServerHello12, &may_answer)?;
    match extensions.get()? {
        Some(RenegotiationInfo([])) => {}
        Some(_) => return Err(PeerMisbehaved::IllegalRenegotiationInfo.into()), // RFC 5746, 3.4
        None => return Err(PeerIncompatible::NoSecureRenegotiation.into()),
    }
    extensions.get::<EcPointFormats<'_>>()?; // RFC 8422, 5.1.2: must have uncompressed points
    let extended_master_secret = extensions.get::<ExtendedMasterSecret>()?.is_some();
    if !extended_master_secret && common.require_extended_master_secret {
        return Err(PeerIncompatible::NoExtendedMasterSecret.into()); // RFC 7627, 5.2
    }
    negotiated::read(&config, extensions, ProtocolVersion::TLS_1_2, output)?;
    output.summary.round_trips = verify_requests.into();
    let certificates = suite.key_exchange.has_certificates() && !resumes;
    let may_cache = common.defences().may_cache(extended_master_secret);
    if !(may_cache && certificates) && cache::is_answered(extensions, common.caching_code_points()) {
        return Err(PeerMisbehaved::IllegalCachingReply.into()); // docs/caching.md, 4.6
    }
    output.summary.version = Some(ProtocolVersion::TLS_1_2);
    output.summary.cipher_suite = Some(suite.id);
    let ticket_follows = extensions.get::<SessionTicket<'_>>()?.is_some();
    let status_follows = extensions.get::<StatusRequested>()?.is_some();
    let randoms = Randoms { client: random, server: hello.random };
    if session.is_some() && !resumes {
        output.summary.fallback = Some(FallbackReason::SessionIgnored);
    }
    if let Some(session) = session.filter(|_| resumes) {
        if session.suite != suite.id || !extended_master_secret {
            return Err(PeerMisbehaved::ChangedSession.into()); // RFC 5246, 7.4.1.3; RFC 7627, 5.3
        }
        let mut transcript = client_hello.start(suite.hash);
        transcript.add(message.bytes);
        let resumed = Resumed { suite, randoms, transcript, session, saver };
        return Ok(Box::new(resumed.start(&config, ticket_follows, output)?));
    }
    let types = CertificateTypes::read(&config, extensions)?;
    let selection = caching::selected(extensions, &config, types, ProtocolVersion::TLS_1_2, output)?;

    let mut transcript = match &config.credentials[..] {
        [] => client_hello.start(suite.hash),
        _ => client_hello.start_keeping(suite.hash), // a CertificateVerify signs all messages
    };
    transcript.add(message.bytes);
    output.summary.round_trips += 2;
    let agreed = Agreed {
        config,
        server,
        suite,
        randoms,
        transcript,
        extended_master_secret,
        session_id: hello.legacy_session_id_echo.into(),
        ticket_follows,
        status_follows,
        saver,
        types,
        selection,
    };
    Ok(Box::new(if suite.key_exchange.has_certificates() {
        State::Certificate(Box::new(ExpectCertificate { agreed }))
    } else {
        State::ServerHelloDone(Box::new(ExpectServerHelloDone::psk(agreed)))
    }))
}
