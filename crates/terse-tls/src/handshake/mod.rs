//! Handshakes as state machines. A state is a [`StateMachine`] in a box, which holds no more than its data. It handles a message with the [`Output`], and returns the next
//! state. No state depends on the kind of link.
//!
//! Functions that handle a message are never inlined, so that the stack of a device has the space of one message, not
//! the sum of all.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::cache::{AddressId, CacheSession, Learned};
use crate::cert::PresentedPeer;
use crate::config::{Trace, TraceEvent};
use crate::crypto::Rng;
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::link::Link;
use crate::schedule::{EpochKeys, Transcript};
use crate::summary::{CachedObject, Summary};
use crate::time::Now;
use crate::wire::{
    ClientHello, ConnectionIdUsage, Encode, HandshakeType, NewSessionTicket, Parse, ServerHello, Transport,
};

pub(crate) mod caching;
mod certificate_types;
pub(crate) mod client;
pub(crate) mod credentials;
pub(crate) mod identity;
mod negotiated;
pub(crate) mod server;
pub(crate) mod sessions;
mod signature;
mod stapling;
mod state_machine;
mod store;
pub(crate) mod tls12;
pub(crate) mod tls13;

pub use signature::SignatureRequest;
pub(crate) use state_machine::{Handshake, StateMachine, Tickets, TrafficState};
pub(crate) use store::LookUp;

/// A whole handshake message.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) kind: HandshakeType,
    /// The body, without the header.
    pub(crate) body: &'a [u8],
    /// The whole message, with its header.
    pub(crate) bytes: &'a [u8],
    /// The transport of the message.
    pub(crate) transport: Transport,
}

impl<'a> Message<'a> {
    /// Splits a message into header and body.
    pub(crate) fn new(bytes: &'a [u8], transport: Transport) -> Result<Self, InvalidMessage> {
        let body = bytes.get(transport.message_header_len()..).ok_or(InvalidMessage::Truncated)?;
        let kind = bytes.first().ok_or(InvalidMessage::Truncated)?;
        Ok(Self { kind: HandshakeType(*kind), body, bytes, transport })
    }

    /// Parses the body as the message that is expected now.
    pub(crate) fn expect<M: Parse<'a>>(&self, kind: HandshakeType) -> Result<M, Error> {
        if self.kind != kind {
            return Err(self.unexpected());
        }
        Ok(M::parse_all(self.body)?)
    }

    /// Parses the ClientHello that is expected now.
    pub(crate) fn client_hello(&self) -> Result<ClientHello<'a>, Error> {
        if self.kind != HandshakeType::CLIENT_HELLO {
            return Err(self.unexpected());
        }
        Ok(ClientHello::read(self.body, self.transport)?)
    }

    /// Parses the ServerHello that is expected now.
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

/// Moves a state out of its box, and frees the box at once. After `*state` it would be freed at the end of the
/// function, which may be after the highest memory use.
#[allow(clippy::boxed_local)] // the box is freed here
pub(crate) fn unboxed<T>(state: Box<T>) -> T {
    *state
}

/// The effects that a handshake may have while it handles a message.
pub(crate) struct Output<'a> {
    pub(crate) link: &'a mut dyn Link,
    pub(crate) rng: &'a mut dyn Rng,
    pub(crate) now: Now,
    pub(crate) summary: &'a mut Summary,
    /// The session of a client with its cache.
    pub(crate) cache: Option<&'a mut (dyn CacheSession + 'static)>,
    pub(crate) agreed: &'a mut Agreed,
    /// The address of an endpoint's client.
    pub(crate) client_address: Option<AddressId>,
    pub(crate) trace: Option<&'a dyn Trace>,
    /// The objects that a client's cache will keep. They are stored after the message and its state are freed, since
    /// memory use is highest before.
    pub(crate) learned: Option<Box<Learned>>,
    /// The tickets of this ClientHello that were already looked up, or wait for the store.
    pub(crate) look_up: Option<Box<LookUp>>,
    /// The changes to the receiving half once the message is handled.
    pub(crate) receive: Receive,
}

/// The part of [`Output`] that is needed to send a message.
pub(crate) struct Sending<'a> {
    pub(crate) link: &'a mut dyn Link,
    pub(crate) summary: &'a mut Summary,
    pub(crate) trace: Option<&'a dyn Trace>,
}

impl<'a> Sending<'a> {
    /// Sends a message without adding it to the transcript.
    pub(crate) fn push(self, kind: HandshakeType, body: &dyn Encode) -> Result<&'a [u8], Error> {
        let message = self.link.push(kind, body)?;
        self.summary.sent.count_message(kind, message.len());
        if let Some(trace) = self.trace {
            trace.event(TraceEvent::Sent(kind, message.len()));
        }
        Ok(message)
    }
}

/// The changes to the receiving half that take effect after the current message.
#[derive(Default)]
pub(crate) struct Receive {
    /// The keys of the next records, in TLS 1.2 after a ChangeCipherSpec.
    pub(crate) keys: Option<Box<EpochKeys>>,
    /// The keys of early data, which comes before the records under `keys` or, over datagrams, beside them.
    pub(crate) early_data_keys: Option<Box<EpochKeys>>,
    /// The longest content of a protected record, in TLS 1.3 with its type.
    pub(crate) max_inner: Option<usize>,
    /// How many bytes of rejected early data may follow.
    pub(crate) skip_early_data: Option<usize>,
    /// Whether the peer puts this side's connection ID into its protected records (RFC 9146, 3).
    pub(crate) connection_id: bool,
    /// The peer's message about connection IDs after the handshake (RFC 9147, 9).
    pub(crate) connection_ids: Option<ConnectionIds>,
}

/// A peer's message about connection IDs after the handshake. Only a few of the provided IDs are kept.
pub(crate) enum ConnectionIds {
    /// The peer requests so many IDs.
    Requested(u8),
    /// The peer provides these IDs.
    New(Vec<Box<[u8]>>, ConnectionIdUsage),
}

impl ConnectionIds {
    /// The most new IDs that are kept: one for immediate use, and some spare ones.
    pub(crate) const MAX_NEW: usize = 1 + Self::MAX_SPARE;

    /// The most spare IDs.
    pub(crate) const MAX_SPARE: usize = 4;
}

/// The results of a handshake's negotiation for the connection.
#[derive(Default)]
pub(crate) struct Agreed {
    /// ALPN (RFC 7301).
    pub(crate) application_protocol: Option<Vec<u8>>,
    /// The name that a client asked for (RFC 6066, 3).
    pub(crate) server_name: Option<Box<str>>,
    /// Whether connection IDs were negotiated (RFC 9146).
    pub(crate) connection_ids: bool,
    /// Whether return routability checks were negotiated (RFC 9853).
    pub(crate) return_routability_check: bool,
    /// How many bytes of early data a client may still send.
    pub(crate) early_data: u32,
    /// The chain or raw public key of a peer that is taken unverified, once it has signed the handshake.
    pub(crate) presented: Option<Box<PresentedPeer>>,
    /// The identity that a client has offered to a server that uses certificates, until the server's Finished.
    pub(crate) declined_identity: Option<Box<dyn identity::offer::DeclinedIdentity>>,
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

    /// Sends a message, adds it to the transcript, and returns its length, which the caller counts.
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

    /// Sends a message without adding it to the transcript.
    pub(crate) fn push(&mut self, kind: HandshakeType, body: &dyn Encode) -> Result<&[u8], Error> {
        self.sending().push(kind, body)
    }

    /// Returns the part that is needed to send a message.
    pub(crate) fn sending(&mut self) -> Sending<'_> {
        Sending { link: self.link, summary: self.summary, trace: self.trace }
    }

    /// Sends a ticket after the handshake, in a flight of its own.
    pub(crate) fn push_ticket(&mut self, ticket: &NewSessionTicket<'_>) -> Result<(), Error> {
        let before = self.link.pending();
        let len = self.push(HandshakeType::NEW_SESSION_TICKET, ticket)?.len();
        self.link.end_of_flight()?;
        // A flight that waited to be sent again is dropped now, since the client has answered it, so `pending` may have
        // become less.
        let added = self.link.pending().saturating_sub(before).max(len);
        self.summary.sent.post_handshake_bytes += added as u64;
        Ok(())
    }

    /// Sends EndOfEarlyData, if the link has this message.
    pub(crate) fn end_of_early_data(&mut self, transcript: &mut Transcript) -> Result<(), Error> {
        let Some(message) = self.link.end_of_early_data()? else { return Ok(()) };
        transcript.add(message);
        self.summary.sent.count_message(HandshakeType::END_OF_EARLY_DATA, message.len());
        if let Some(trace) = self.trace {
            trace.event(TraceEvent::Sent(HandshakeType::END_OF_EARLY_DATA, message.len()));
        }
        Ok(())
    }

    /// Counts a message that came during a handshake, and adds it to the trace.
    pub(crate) fn note_received(&mut self, message: Message<'_>, handshake: &dyn StateMachine) {
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

    /// Adds a note to the trace.
    pub(crate) fn note(&self, note: &str) {
        if let Some(trace) = self.trace {
            trace.event(TraceEvent::Note(note));
        }
    }
}
