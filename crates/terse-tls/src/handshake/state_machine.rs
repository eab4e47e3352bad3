//! The state that a handshake is in.
//!
//! A connection calls its state by a vtable, which only the code that makes such a state names. The linker of a firmware drops the
//! states that it never makes: a client has no states of servers, and with TLS 1.3 alone none of TLS 1.2.

use alloc::boxed::Box;

use super::server::ReceivedClientHello;
use super::tls13::server::Chosen;
use super::{Message, Output, Sending, SignatureRequest};
use crate::cache::{StoreAnswer, StoreRequest};
use crate::error::{ApiMisuse, Error};
use crate::wire::NewSessionTicket;

/// A handshake, from its beginning to the end of the connection: the state that it is in.
pub(crate) type Handshake = Box<dyn StateMachine>;

/// A state of a handshake. What a state does not say, it does not do.
pub(crate) trait StateMachine: Send + Sync {
    /// Handles the next message.
    fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error>;

    /// Handles a ClientHello that was already parsed. `chosen` is the result of an earlier choice from it, if it was made for
    /// TLS 1.3, and is taken by a state that knows how to drop it: clients have no code for that.
    fn handle_client_hello<'a>(
        self: Box<Self>,
        received: &'a ReceivedClientHello<'a>,
        _chosen: &mut Option<Chosen<'a>>,
        _output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        Err(received.message.unexpected())
    }

    /// Returns the request of a state that waits for a signature by an external key.
    fn signature_request(&self) -> Option<&SignatureRequest> {
        None
    }

    /// Continues with the signature that [`Self::signature_request`] requests.
    fn signed(self: Box<Self>, _signature: &[u8], _output: &mut Output<'_>) -> Result<Handshake, Error> {
        Err(ApiMisuse::NoSignatureDue.into())
    }

    /// Returns the request of a state that waits for the answer of the store.
    fn store_request(&self) -> Option<&StoreRequest> {
        None
    }

    /// Continues with the answer of the store. `waiting` is the message that the link keeps. Also returns how many bytes of it
    /// were handled.
    fn answered(
        self: Box<Self>,
        _answer: StoreAnswer,
        _waiting: &[u8],
        _output: &mut Output<'_>,
    ) -> Result<(Handshake, usize), Error> {
        Err(ApiMisuse::NoStoreAnswerDue.into())
    }

    /// Returns whether this is a server that has sent its Finished, and waits for the client's.
    fn awaits_last_finished(&self) -> bool {
        false
    }

    /// Returns whether a ChangeCipherSpec of compatibility mode may come now (RFC 9846, 5): after the first ClientHello, before
    /// the peer's Finished.
    fn ignores_change_cipher_spec(&self) -> bool {
        false
    }

    /// Counts `len` bytes of application data that came before Finished. Returns `None` if none may come.
    fn early_data(&mut self, _len: usize) -> Option<Result<(), Error>> {
        None
    }

    /// Returns whether early data has come, which may be answered.
    fn has_early_data(&self) -> bool {
        false
    }

    /// Returns the state of a handshake that is complete, as far as this side knows.
    fn traffic(&self) -> Option<&dyn TrafficState> {
        None
    }

    /// Returns the state of a handshake that is complete, as far as this side knows.
    fn traffic_mut(&mut self) -> Option<&mut dyn TrafficState> {
        None
    }

    /// Returns whether the handshake is complete, as far as this side knows.
    fn is_finished(&self) -> bool {
        self.traffic().is_some()
    }
}

/// What can be done after the handshake.
pub(crate) trait TrafficState {
    /// Fills `out` with a secret that both sides share, for `label` and `context`.
    fn export(&self, label: &[u8], context: Option<&[u8]>, out: &mut [u8]) -> Result<(), Error>;

    /// Whether keys can be changed, as in TLS 1.3 (RFC 9846, 4.7.3).
    fn can_update_keys(&self) -> bool;

    /// Whether a KeyUpdate must be sent before the next application data.
    fn owes_update(&self) -> bool;

    /// Sends a KeyUpdate, and changes this side's key.
    fn update_keys(&mut self, update_requested: bool, sending: Sending<'_>) -> Result<(), Error>;

    /// Notes that application data came.
    fn received_data(&mut self);
}

/// What a client does with tickets: they become sessions, or are ephemeral secret tickets for the early data of the next connection.
pub(crate) trait Tickets: Send + Sync {
    /// Keeps a ticket. One that is of no use is ignored.
    fn receive(&mut self, ticket: &NewSessionTicket<'_>, output: &Output<'_>) -> Result<(), Error>;
}
