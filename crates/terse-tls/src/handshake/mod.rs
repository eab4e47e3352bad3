//! Handshakes as state machines. A state is an enum variant that boxes exactly that state's data; each takes itself,
//! a message and the [`Output`], and gives the next state. No state asks which link it runs on.
//!
//! What handles a message is never inlined, so that the stack of a device holds what one message needs, not the sum of
//! what all of them do.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::cache::{AddressId, ClientSession, Learned, StoreRequest};
use crate::config::{Trace, TraceEvent};
use crate::crypto::Rng;
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::link::Link;
use crate::schedule::{EpochKeys, Transcript};
use crate::summary::{CachedObject, Summary};
use crate::time::Now;
use crate::wire::{
    ClientHello, ConnectionIdUsage, Encode, HandshakeType, Parse, ProtocolVersion, ServerHello, Transport,
};

pub(crate) mod caching;
mod certificate_types;
pub(crate) mod client;
pub(crate) mod credentials;
mod negotiated;
pub(crate) mod server;
pub(crate) mod sessions;
mod signature;
mod stapling;
mod store;
pub(crate) mod tls12;
pub(crate) mod tls13;

use server::ReceivedClientHello;
pub use signature::SignatureRequest;
pub(crate) use store::{ExpectStore, LookUp};
use tls13::server::Chosen;

/// A whole handshake message.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) kind: HandshakeType,
    /// Without the header.
    pub(crate) body: &'a [u8],
    /// With the header, as the transcript hashes it.
    pub(crate) bytes: &'a [u8],
    /// What the link speaks.
    pub(crate) transport: Transport,
}

impl<'a> Message<'a> {
    /// From a message with its header.
    pub(crate) fn new(bytes: &'a [u8], transport: Transport) -> Result<Self, InvalidMessage> {
        let body = bytes.get(transport.message_header_len()..).ok_or(InvalidMessage::Truncated)?;
        let kind = bytes.first().ok_or(InvalidMessage::Truncated)?;
        Ok(Self { kind: HandshakeType(*kind), body, bytes, transport })
    }

    /// The body as the message that is due now.
    pub(crate) fn expect<M: Parse<'a>>(&self, kind: HandshakeType) -> Result<M, Error> {
        if self.kind != kind {
            return Err(self.unexpected());
        }
        Ok(M::parse_all(self.body)?)
    }

    /// The ClientHello that is due now.
    pub(crate) fn client_hello(&self) -> Result<ClientHello<'a>, Error> {
        if self.kind != HandshakeType::CLIENT_HELLO {
            return Err(self.unexpected());
        }
        Ok(ClientHello::read(self.body, self.transport)?)
    }

    /// The ServerHello that is due now.
    pub(crate) fn server_hello(&self) -> Result<ServerHello<'a>, Error> {
        if self.kind != HandshakeType::SERVER_HELLO {
            return Err(self.unexpected());
        }
        Ok(ServerHello::read(self.body, self.transport)?)
    }

    pub(crate) fn unexpected(&self) -> Error {
        PeerMisbehaved::UnexpectedHandshakeMessage(self.kind).into()
    }
}

/// Takes a state out of its box, and gives the box back to the heap at once: after `*state` it would go at the end of the
/// function, which may be when the heap is fullest.
#[allow(clippy::boxed_local)] // the box is what this is about
pub(crate) fn unboxed<T>(state: Box<T>) -> T {
    *state
}

/// What a handshake can do to the world while it handles a message.
pub(crate) struct Output<'a> {
    pub(crate) link: &'a mut dyn Link,
    pub(crate) rng: &'a mut dyn Rng,
    pub(crate) now: Now,
    pub(crate) summary: &'a mut Summary,
    /// A client's dealings with its cache.
    pub(crate) cache: Option<&'a mut ClientSession>,
    pub(crate) agreed: &'a mut Agreed,
    /// Where an endpoint's client is.
    pub(crate) client_address: Option<AddressId>,
    pub(crate) trace: Option<&'a dyn Trace>,
    /// What a client's cache is to keep, once the message and the state that handled it are gone: the heap is fullest
    /// before.
    pub(crate) learned: Option<Learned>,
    /// Tickets that were looked up for this ClientHello already, or that wait for the store.
    pub(crate) look_up: Option<Box<LookUp>>,
    /// What the link is to change once the message is handled.
    pub(crate) receive: Receive,
}

/// What a message needs to be sent, and told of.
pub(crate) struct Sending<'a> {
    pub(crate) link: &'a mut dyn Link,
    pub(crate) summary: &'a mut Summary,
    pub(crate) trace: Option<&'a dyn Trace>,
}

impl<'a> Sending<'a> {
    /// Sends a message that no transcript covers, or not yet.
    pub(crate) fn push(self, kind: HandshakeType, body: &dyn Encode) -> Result<&'a [u8], Error> {
        let message = self.link.push(kind, body)?;
        self.summary.sent.count_message(kind, message.len());
        if let Some(trace) = self.trace {
            trace.event(TraceEvent::Sent(kind, message.len()));
        }
        Ok(message)
    }
}

/// Changes to the receiving half, in effect after the message that is being handled.
#[derive(Default)]
pub(crate) struct Receive {
    /// What comes next, in TLS 1.2 after a ChangeCipherSpec, is protected under these.
    pub(crate) keys: Option<EpochKeys>,
    /// Early data comes under these, before what comes under `keys` or, over datagrams, beside it.
    pub(crate) early_data_keys: Option<EpochKeys>,
    /// Longest content of a protected record, in TLS 1.3 with its type.
    pub(crate) max_inner: Option<usize>,
    /// So many bytes of unwanted early data may follow.
    pub(crate) skip_early_data: Option<usize>,
    /// The peer puts this side's connection ID into its protected records (RFC 9146, 3).
    pub(crate) connection_id: bool,
    /// What the peer says of connection IDs later (RFC 9147, 9).
    pub(crate) connection_ids: Option<ConnectionIds>,
}

/// What a peer says of connection IDs after the handshake. Of those that it provides, more than a few are not kept.
pub(crate) enum ConnectionIds {
    /// It asks for so many.
    Requested(u8),
    /// It provides these.
    New(Vec<Box<[u8]>>, ConnectionIdUsage),
}

impl ConnectionIds {
    /// How many new ones are of use: one at once, and some to spare.
    pub(crate) const MAX_NEW: usize = 1 + Self::MAX_SPARE;

    /// How many wait to be used.
    pub(crate) const MAX_SPARE: usize = 4;
}

/// What a handshake agreed on for the application.
#[derive(Default)]
pub(crate) struct Agreed {
    /// ALPN (RFC 7301).
    pub(crate) application_protocol: Option<Vec<u8>>,
    /// The name that a client asked for (RFC 6066, 3).
    pub(crate) server_name: Option<Box<str>>,
    /// Connection IDs (RFC 9146).
    pub(crate) connection_ids: bool,
    /// Checks whether the peer is where its records come from (RFC 9853).
    pub(crate) return_routability_check: bool,
    /// How many bytes of early data a client may still send.
    pub(crate) early_data: u32,
}

/// A handshake, from its beginning to the end of the connection.
pub(crate) enum Handshake {
    /// A client whose ServerHello will tell the version.
    Client(Box<client::ExpectServerHello>),
    /// A server whose ClientHello will tell the version.
    Server(server::ExpectClientHello),
    /// A client in TLS 1.2.
    Tls12Client(tls12::client::State),
    /// A server in TLS 1.2.
    Tls12Server(tls12::server::State),
    /// Finished, in TLS 1.2.
    Tls12Traffic(Box<tls12::traffic::Traffic>),
    /// A client in TLS 1.3.
    Tls13Client(tls13::client::State),
    /// A server in TLS 1.3.
    Tls13Server(tls13::server::State),
    /// Finished, in TLS 1.3.
    Tls13Traffic(Box<tls13::traffic::Traffic>),
    /// A server whose store takes its time, in either version.
    Store(Box<ExpectStore>),
}

impl Handshake {
    /// Handles the next message.
    pub(crate) fn handle(self, message: Message<'_>, output: &mut Output<'_>) -> Result<Self, Error> {
        match self {
            Self::Client(state) => state.handle(message, output),
            Self::Server(state) => state.handle(message, output),
            Self::Tls12Client(state) => state.handle(message, output),
            Self::Tls12Server(state) => state.handle(message, output),
            Self::Tls12Traffic(state) => state.handle(message, output).map(Self::Tls12Traffic),
            Self::Tls13Client(state) => state.handle(message, output),
            Self::Tls13Server(state) => state.handle(message, output),
            Self::Tls13Traffic(state) => state.handle(message, output).map(Self::Tls13Traffic),
            Self::Store(_) => Err(message.unexpected()),
        }
    }

    /// As [`Self::handle`], of a ClientHello that was read, and from which all was chosen in TLS 1.3, or nothing.
    pub(crate) fn client_hello<'a>(
        self,
        received: &'a ReceivedClientHello<'a>,
        chosen: Option<Chosen<'a>>,
        output: &mut Output<'_>,
    ) -> Result<Self, Error> {
        match self {
            Self::Server(state) => state.client_hello(received, chosen, output),
            Self::Tls13Server(state) => state.client_hello(received, output).map(Self::Tls13Server),
            _ => Err(received.message.unexpected()),
        }
    }

    /// What the state waits for a key outside to sign.
    pub(crate) fn signature_request(&self) -> Option<&SignatureRequest> {
        match self {
            Self::Tls12Client(state) => state.signature_request(),
            Self::Tls12Server(state) => state.signature_request(),
            Self::Tls13Client(state) => state.signature_request(),
            Self::Tls13Server(state) => state.signature_request(),
            Self::Client(_) | Self::Server(_) | Self::Tls12Traffic(_) | Self::Tls13Traffic(_) | Self::Store(_) => None,
        }
    }

    /// Goes on with the signature that [`Self::signature_request`] asks for.
    pub(crate) fn signed(self, signature: &[u8], output: &mut Output<'_>) -> Result<Self, Error> {
        match self {
            Self::Tls12Client(state) => state.signed(signature, output),
            Self::Tls12Server(state) => state.signed(signature, output),
            Self::Tls13Client(state) => state.signed(signature, output),
            Self::Tls13Server(state) => state.signed(signature, output),
            state @ (Self::Client(_)
            | Self::Server(_)
            | Self::Tls12Traffic(_)
            | Self::Tls13Traffic(_)
            | Self::Store(_)) => Ok(state),
        }
    }

    /// What the state waits for the application to ask the store.
    pub(crate) const fn store_request(&self) -> Option<&StoreRequest> {
        match self {
            Self::Store(state) => Some(&state.request),
            _ => None,
        }
    }

    /// Whether the handshake is complete, as far as this side knows.
    pub(crate) const fn is_finished(&self) -> bool {
        matches!(self, Self::Tls12Traffic(_) | Self::Tls13Traffic(_))
    }

    /// Whether this is a server that has sent its Finished, and waits for the client's.
    pub(crate) const fn awaits_last_finished(&self) -> bool {
        match self {
            Self::Tls12Server(state) => matches!(state, tls12::server::State::ResumedFinished(_)),
            Self::Tls13Server(state) => !matches!(state, tls13::server::State::SecondClientHello(_)),
            _ => false,
        }
    }

    /// Whether a ChangeCipherSpec of compatibility mode may come now (RFC 9846, 5): after the first ClientHello, before
    /// the peer's Finished.
    pub(crate) fn ignores_change_cipher_spec(&self) -> bool {
        match self {
            Self::Client(state) => state.offers(ProtocolVersion::TLS_1_3),
            Self::Tls13Client(_) | Self::Tls13Server(_) => true,
            Self::Server(_)
            | Self::Tls12Client(_)
            | Self::Tls12Server(_)
            | Self::Tls12Traffic(_)
            | Self::Tls13Traffic(_)
            | Self::Store(_) => false, // which takes no records
        }
    }
}

impl Output<'_> {
    /// Sends a message and adds it to the transcript.
    pub(crate) fn send(
        &mut self,
        kind: HandshakeType,
        body: &dyn Encode,
        transcript: &mut Transcript,
    ) -> Result<(), Error> {
        transcript.add(self.push(kind, body)?);
        Ok(())
    }

    /// Sends a message and adds it to the transcript, and leaves its length to be counted elsewhere.
    pub(crate) fn send_uncounted(
        &mut self,
        kind: HandshakeType,
        body: &dyn Encode,
        transcript: &mut Transcript,
    ) -> Result<usize, Error> {
        let message = self.push(kind, body)?;
        transcript.add(message);
        Ok(message.len())
    }

    /// Sends a message that no transcript covers, or not yet.
    pub(crate) fn push(&mut self, kind: HandshakeType, body: &dyn Encode) -> Result<&[u8], Error> {
        self.sending().push(kind, body)
    }

    /// As much of this as a message needs.
    pub(crate) fn sending(&mut self) -> Sending<'_> {
        Sending { link: self.link, summary: self.summary, trace: self.trace }
    }

    /// Says that early data ends, if the link has a message for that.
    pub(crate) fn end_of_early_data(&mut self, transcript: &mut Transcript) -> Result<(), Error> {
        let Some(message) = self.link.end_of_early_data()? else { return Ok(()) };
        transcript.add(message);
        self.summary.sent.count_message(HandshakeType::END_OF_EARLY_DATA, message.len());
        if let Some(trace) = self.trace {
            trace.event(TraceEvent::Sent(HandshakeType::END_OF_EARLY_DATA, message.len()));
        }
        Ok(())
    }

    /// Counts a message that came for a handshake, and tells of it.
    pub(crate) fn note_received(&mut self, message: Message<'_>, handshake: &Handshake) {
        if !handshake.is_finished() {
            self.summary.received.count_message(message.kind, message.bytes.len());
        }
        if let Some(trace) = self.trace {
            trace.event(TraceEvent::Received(message.kind, message.bytes.len()));
        }
    }

    /// Notes an object that was cached.
    pub(crate) fn left_out(&mut self, object: CachedObject) {
        self.summary.cached.push(object);
        if let Some(trace) = self.trace {
            trace.event(TraceEvent::LeftOut(object));
        }
    }

    /// Says in the trace what the messages alone do not show.
    pub(crate) fn note(&self, note: &str) {
        if let Some(trace) = self.trace {
            trace.event(TraceEvent::Note(note));
        }
    }
}
