//! What a link over datagrams does beyond what all links do: flights are sent again, records acknowledged, connection IDs changed.
//!
//! A connection reaches it by a vtable, so that a firmware with streams alone has none of it.

use alloc::boxed::Box;

use super::Received;
use super::datagram::connection_ids::OwnIds;
use super::datagram::{Acknowledged, Sent};
use crate::error::Error;
use crate::record::datagram::RecordNumber;
use crate::summary::Dropped;
use crate::time::Instant;
use crate::wire::{AlertDescription, ContentType, HandshakeType};

/// A link over datagrams.
pub(crate) trait DatagramLink {
    /// Handles the arrival of a record with this content. `has_acks` says that the connection is DTLS 1.3, or may still
    /// become so, and records may be acknowledged.
    fn came(&mut self, now: Instant, received: &Received, has_acks: bool);

    /// Notes that the record that came is ignored, so that it is not acknowledged.
    fn ignored(&mut self);

    /// Notes that handshake messages came: the peer has something to say.
    fn heard(&mut self, now: Instant);

    /// Notes that a message was handled; with `is_finished` it was the last one of the handshake. `has_acks` is as in
    /// [`Self::came`].
    fn handled(&mut self, now: Instant, is_finished: bool, has_acks: bool);

    /// Handles an ACK of these records.
    fn acknowledged(&mut self, now: Instant, numbers: &[RecordNumber], is_protected: bool) -> Acknowledged;

    /// Sends the last flight again, because the peer repeats the one before it.
    fn repeat(&mut self, now: Instant);

    /// Returns when [`Self::forget`] frees something.
    fn forgets_at(&self) -> Option<Instant>;

    /// Forgets the last flight, and the keys of earlier epochs, once they are not needed any more.
    fn forget(&mut self, now: Instant);

    /// Counts what was sent since the last call.
    fn take_sent(&mut self) -> Option<Sent>;

    /// Returns the records that were dropped, by cause.
    fn dropped(&self) -> Dropped;

    /// Returns when a timer expires.
    fn deadline(&self) -> Option<Instant>;

    /// Whether the timer that has expired is that of a retransmission.
    fn retransmission_is_due(&self, now: Instant) -> bool;

    /// Handles a timer that has expired. Returns whether the flight was sent often enough.
    fn expired(&mut self, now: Instant) -> bool;

    /// Returns when the flight was sent last.
    fn last_sent(&self) -> Option<Instant>;

    /// Returns how long an answer is waited for, in milliseconds.
    fn answer_timeout(&self) -> u64;

    /// Returns an alert that came unprotected, which anybody can send.
    fn unprotected_alert(&self) -> Option<AlertDescription>;

    /// Whether a handshake message came that is too large.
    fn saw_too_large(&self) -> bool;

    /// Whether so many records failed authentication under one key that it should be replaced (RFC 9147, 4.5.3).
    fn key_has_many_forgeries(&mut self) -> bool;

    /// Expects this side's connection ID in protected records (RFC 9146, 3).
    fn expect_connection_id(&mut self);

    /// Returns the connection IDs of this side.
    fn own_ids(&self) -> &OwnIds;

    /// Returns the connection IDs of this side.
    fn own_ids_mut(&mut self) -> &mut OwnIds;

    /// Returns the connection ID of the peer; empty if it has none.
    fn peer_id(&self) -> &[u8];

    /// Sends with another connection ID of the peer.
    fn change_peer_id(&mut self, id: Box<[u8]>) -> Result<(), Error>;

    /// Whether a message of this kind was sent, and is not acknowledged.
    fn is_under_way(&self, kind: HandshakeType) -> bool;

    /// Makes a record in `out`, apart from all that waits to be sent. Returns its length; `None` if it does not fit.
    fn record_apart(&mut self, content_type: ContentType, content: &[u8], out: &mut [u8]) -> Option<usize>;
}
