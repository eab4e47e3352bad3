//! A server in TLS 1.3 (RFC 9846, 2 and 4).
//!
//! ```text
//! ClientHello            -->
//!                        <--  HelloRetryRequest*     at most once; then a second ClientHello
//!                        <--  ServerHello
//!                             EncryptedExtensions    what is selected as cached stands here
//!                             CertificateRequest*    maybe as its fingerprint, or left out
//!                             Certificate            maybe as its fingerprint, or left out
//!                             CertificateVerify
//!                             Finished
//! EndOfEarlyData*        -->                         if the server takes early data
//! Certificate*                                       maybe reduced or left out, under a ticket
//! CertificateVerify*
//! Finished
//!                        <--  NewSessionTicket*
//! ```
//! With a pre-shared key or an identity Finished follows EncryptedExtensions.
//!
//! What must always hold: an object is left out only if the one that would be sent, or accepted, in this handshake has
//! the fingerprint that was offered; a client is believed because its chain was verified, now or before it entered the
//! cache, and because it signed this handshake; nothing is sent under the application's name, and nothing reaches the
//! cache, before the client's Finished was verified.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::config::ServerConfig;
use crate::crypto::Digest;
use crate::error::{ApiMisuse, Error, PeerMisbehaved};
use crate::handshake::server::{ExpectClientHello, ReceivedClientHello};
use crate::handshake::{Handshake, Message, Output, SignatureRequest, StateMachine, unboxed};
use crate::schedule::Transcript;
use crate::summary::EarlyDataStatus;
use crate::time::Now;
use crate::wire::{CipherSuite, ContentType, Cookie, Encoded, HandshakeType, ProtocolVersion, Transport};

mod agreement;
mod authenticate;
mod early_data;
mod flight;
mod negotiate;
mod psk;
mod retry;
mod tickets;

use authenticate::{ExpectCertificate, ExpectCertificateVerify, ExpectEndOfEarlyData, ExpectFinished};
use early_data::AcceptedEarlyData;
use flight::ExpectSignature;
use negotiate::{Negotiated, Offer};
use retry::RetryRequest;
pub(crate) use retry::{Requested, Retried};

/// The state of a server, named after what it waits for.
pub(crate) enum State {
    SecondClientHello(Box<ExpectSecondClientHello>),
    EndOfEarlyData(Box<ExpectEndOfEarlyData>),
    Certificate(Box<ExpectCertificate>),
    CertificateVerify(Box<ExpectCertificateVerify>),
    Finished(Box<ExpectFinished>),
    /// The server waits for the signature of its own CertificateVerify.
    Signature(Box<ExpectSignature>),
}

impl StateMachine for State {
    #[inline(never)]
    fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let state = match *self {
            Self::SecondClientHello(state) => state.handle(message, output)?,
            Self::EndOfEarlyData(state) => Self::Finished(state.end_of_early_data(message, output)?),
            Self::Certificate(state) if state.is_left_out(message.kind) => {
                Self::Finished(state.left_out_certificate(output)?.certificate_verify(message, output)?)
            }
            Self::Certificate(state) => state.certificate(message, output)?,
            Self::CertificateVerify(state) => Self::Finished(state.certificate_verify(message, output)?),
            Self::Finished(state) => return state.finished(message, output),
            Self::Signature(_) => return Err(message.unexpected()),
        };
        Ok(Box::new(state))
    }

    fn handle_client_hello<'a>(
        self: Box<Self>,
        received: &'a ReceivedClientHello<'a>,
        _: &mut Option<Chosen<'a>>,
        output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        match *self {
            Self::SecondClientHello(state) => Ok(Box::new(state.client_hello(received, output)?)),
            _ => Err(received.message.unexpected()),
        }
    }

    /// Of an identity-based handshake the first record takes the ticket, also if it is empty.
    fn early_data(&mut self, len: usize) -> Option<Result<(), Error>> {
        Some(match self {
            Self::EndOfEarlyData(state) => state.finished.early_data(len),
            Self::Finished(state) => state.early_data(len),
            _ => Err(PeerMisbehaved::UnexpectedRecord(ContentType::APPLICATION_DATA).into()),
        })
    }

    fn has_early_data(&self) -> bool {
        match self {
            Self::EndOfEarlyData(state) => state.finished.has_early_data(),
            Self::Finished(state) => state.has_early_data(),
            _ => false,
        }
    }

    fn signature_request(&self) -> Option<&SignatureRequest> {
        match self {
            Self::Signature(state) => Some(&state.request),
            _ => None,
        }
    }

    fn signed(self: Box<Self>, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
        match *self {
            Self::Signature(state) => state.signed(signature, output),
            _ => Err(ApiMisuse::NoSignatureDue.into()),
        }
    }

    fn awaits_last_finished(&self) -> bool {
        !matches!(self, Self::SecondClientHello(_))
    }

    fn ignores_change_cipher_spec(&self) -> bool {
        true
    }
}

/// The first ClientHello of a client, and the parameters that were chosen from it.
pub(crate) struct FirstClientHello<'a> {
    message: Message<'a>,
    offer: Offer<'a>,
    negotiated: Negotiated<'a>,
}

/// The result of choosing from a first ClientHello.
pub(crate) type Chosen<'a> = Result<Box<FirstClientHello<'a>>, Error>;

impl<'a> FirstClientHello<'a> {
    pub(crate) fn new(config: &ServerConfig, received: &'a ReceivedClientHello<'a>, now: Now) -> Result<Self, Error> {
        let message = received.message;
        let offer = Offer::parse(config, &received.hello, message.transport)?;
        let negotiated = Negotiated::new(config, &offer, None, now, message.transport)?;
        Ok(Self { message, offer, negotiated })
    }
}

/// Answers the first ClientHello with the server's flight or a HelloRetryRequest. `chosen` is the result of an earlier
/// choice from it, if there was one.
#[inline(never)]
pub(crate) fn client_hello<'a>(
    config: Arc<ServerConfig>,
    received: &'a ReceivedClientHello<'a>,
    chosen: Option<Chosen<'a>>,
    output: &mut Output<'_>,
) -> Result<Handshake, Error> {
    let FirstClientHello { message, offer, negotiated } = match chosen {
        Some(chosen) => unboxed(chosen?),
        None => FirstClientHello::new(&config, received, output.now)?,
    };
    let mut transcript = Transcript::new13(negotiated.suite.hash, message.transport);
    let messages = transcript.current_with(offer.truncated(message.bytes));
    transcript.add(message.bytes);
    if !offer.hello.legacy_session_id.is_empty() {
        output.link.compatibility_mode();
    }
    output.summary.round_trips = 1;
    if let Some(request) = negotiated.agreement.retry() {
        skip_early_data(&config, &offer, output);
        let suite = negotiated.suite.id;
        return Ok(Box::new(hello_retry_request(config, &offer, (suite, request), transcript, output)?));
    }
    let mut negotiated = negotiated.prove(&config, &offer, &messages)?;
    let early_data = AcceptedEarlyData::new(&config, &offer, &mut negotiated, &transcript.current(), output)?;
    if early_data.is_none() {
        skip_early_data(&config, &offer, output);
    }
    let Some(negotiated) = negotiated.look_up(&config, &offer, output) else {
        return Ok(Box::new(ExpectClientHello::new(config)));
    };
    let state = flight::send(config, &offer, negotiated, early_data, transcript, output)?;
    Ok(Box::new(state.complete_flight(output)?))
}

/// Skips the early data of a client that does not know yet that it is rejected (RFC 9846, 4.3.10).
fn skip_early_data(config: &ServerConfig, offer: &Offer<'_>, output: &mut Output<'_>) {
    if !offer.early_data {
        return;
    }
    let promised = config.early_data.map_or(0, |early_data| early_data.max_size);
    output.receive.skip_early_data = Some(MAX_SKIPPED_EARLY_DATA.max(promised as usize));
    output.summary.early_data = EarlyDataStatus::Rejected;
}

/// The least number of bytes of rejected early data to skip. Tickets of other servers usually allow 16 KiB, if they
/// allow any.
const MAX_SKIPPED_EARLY_DATA: usize = 0x8000;

/// The state of a server that has sent a HelloRetryRequest.
pub(crate) struct ExpectSecondClientHello {
    config: Arc<ServerConfig>,
    transcript: Transcript,
    suite: CipherSuite,
    /// What the second ClientHello must have; `None` if a cookie alone was requested.
    requested: Option<Requested>,
    cookie: Vec<u8>,
    /// The hash of what the second ClientHello must repeat, if it is known.
    first: Option<Digest>,
}

/// Sends a HelloRetryRequest (RFC 9846, 4.2.4).
fn hello_retry_request(
    config: Arc<ServerConfig>,
    offer: &Offer<'_>,
    (suite, requested): (CipherSuite, Requested),
    transcript: Transcript,
    output: &mut Output<'_>,
) -> Result<State, Error> {
    // Over datagrams the cookie shows that the client receives at its address (RFC 9147, 5.1).
    let transport = output.link.transport();
    let has_cookie = config.hello_retry_cookie || transport == Transport::Datagram;
    let mut cookie = Vec::from(if has_cookie { &[0; COOKIE_LEN][..] } else { &[] });
    output.rng.fill(&mut cookie)?;
    let legacy_session_id_echo = transport.legacy_session_id_echo(offer.hello.legacy_session_id);
    let request =
        RetryRequest { suite, requested: Some(requested), cookie: &cookie, legacy_session_id_echo, transport };
    let mut transcript = transcript.replace_by_hash();
    output.send(HandshakeType::SERVER_HELLO, &Encoded(&request.to_vec()?), &mut transcript)?;
    output.link.compatibility_point()?;
    output.link.end_of_flight()?;
    output.summary.round_trips = 2;
    output.note(match requested {
        Requested::KeyShare(_) => "the client sent no key share that fits: HelloRetryRequest",
        Requested::PublicPart => "the public part of the client's identity key is not known: HelloRetryRequest",
    });
    let first = Some(offer.fixed_part(config.common.provider.sha256));
    let requested = Some(requested);
    let second = ExpectSecondClientHello { config, transcript, suite, requested, cookie, first };
    Ok(State::SecondClientHello(Box::new(second)))
}

impl ExpectSecondClientHello {
    #[inline(never)] // what it parses would take stack in `State::handle`, below which certificates are verified
    fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<State, Error> {
        let received = ReceivedClientHello::read(&self.config.common, message)?;
        self.client_hello(&received, output)
    }

    #[inline(never)]
    fn client_hello(
        self: Box<Self>,
        received: &ReceivedClientHello<'_>,
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let Self { config, transcript, suite, requested, cookie, first } = &*self;
        let ReceivedClientHello { message, hello, .. } = received;
        if received.checked_version()? != ProtocolVersion::TLS_1_3 {
            return Err(PeerMisbehaved::ChangedClientHello.into());
        }
        let offer = Offer::parse(config, hello, message.transport)?;
        if offer.early_data {
            return Err(PeerMisbehaved::ChangedClientHello.into()); // RFC 9846, 4.2.2
        }
        output.receive.skip_early_data = Some(0);
        let echoed = hello.extensions.get::<Cookie<'_>>()?.map_or(&[][..], |Cookie(echoed)| echoed);
        let is_changed = first.as_ref().is_some_and(|first| offer.fixed_part(config.common.provider.sha256) != *first);
        if echoed != cookie || is_changed {
            return Err(PeerMisbehaved::ChangedClientHello.into());
        }
        let negotiated = Negotiated::new(config, &offer, Some(*suite), output.now, output.link.transport())?;
        if negotiated.agreement.retry().is_some() {
            return Err(PeerMisbehaved::IllegalKeyShare.into());
        }
        let is_as_requested = match requested {
            Some(Requested::KeyShare(group)) => {
                negotiated.agreement.key_share_group() == Some(*group) && offer.key_shares().count() == 1
            }
            Some(Requested::PublicPart) => negotiated.agreement.identity().is_some(),
            None => true,
        };
        if !is_as_requested {
            return Err(PeerMisbehaved::ChangedClientHello.into());
        }
        let messages = transcript.current_with(offer.truncated(message.bytes));
        let negotiated = negotiated.prove(config, &offer, &messages)?;
        let Some(negotiated) = negotiated.look_up(config, &offer, output) else {
            return Ok(State::SecondClientHello(self));
        };
        let Self { config, mut transcript, .. } = *self;
        transcript.add(message.bytes);
        flight::send(config, &offer, negotiated, None, transcript, output)?.complete_flight(output)
    }
}

/// The length of the cookie in bytes. On a stream, where the cookie proves nothing, any length would do.
const COOKIE_LEN: usize = 16;
