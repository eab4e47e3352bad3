//! The boundary between handshake and transport. A handshake is written once per version and speaks to a [`Link`]; it
//! never asks which one. The link delivers whole messages in order, and sends whole flights.

use alloc::vec::Vec;

use crate::error::Error;
use crate::record::datagram::RecordNumber;
use crate::record::stream::MAX_FRAGMENT;
use crate::schedule::EpochKeys;
use crate::time::Instant;
use crate::wire::{Alert, ContentType, Encode, HandshakeType, ReturnRoutabilityCheck, Transport};
pub(crate) use datagram_link::DatagramLink;
use plaintext::Plaintext;

pub(crate) mod datagram;
mod datagram_link;
pub(crate) mod make;
pub(crate) mod plaintext;
pub(crate) mod stream;

/// Both halves of a connection's link: one receives, the other one sends. A connection has them behind a vtable, which only the
/// function that makes them names, so that a firmware has those links alone that it uses.
pub(crate) trait Halves: Send + Sync {
    /// Returns the half that receives.
    fn receiver(&self) -> &dyn Incoming;

    /// Returns the half that receives.
    fn receiver_mut(&mut self) -> &mut dyn Incoming {
        self.both_mut().0
    }

    /// Returns the half that sends.
    fn sender(&self) -> &dyn Outgoing;

    /// Returns the half that sends.
    fn sender_mut(&mut self) -> &mut dyn Outgoing {
        self.both_mut().1
    }

    /// Returns the half that receives and the half that sends.
    fn both_mut(&mut self) -> (&mut dyn Incoming, &mut dyn Outgoing);

    /// Returns what only a link over datagrams does; `None` over a stream.
    fn datagrams(&self) -> Option<&dyn DatagramLink> {
        None
    }

    /// Returns what only a link over datagrams does; `None` over a stream.
    fn datagrams_mut(&mut self) -> Option<&mut dyn DatagramLink> {
        None
    }
}

/// The operations that a handshake needs from the link that carries its messages.
pub(crate) trait Link {
    /// Returns whether the messages belong to TLS or to DTLS.
    fn transport(&self) -> Transport;

    /// Returns the connection ID that this side wants in the records that it receives (RFC 9146, 3), and whether return
    /// routability checks are negotiated with it (RFC 9853). Returns `None` if no connection ID is negotiated.
    fn connection_id(&self) -> Option<(&[u8], bool)>;

    /// Puts the peer's connection ID into the protected records that are sent.
    fn use_connection_id(&mut self, cid: &[u8]);

    /// Returns how many bytes wait to be sent.
    fn pending(&self) -> usize;

    /// Adds a message to the flight. Returns it with its header of 4 bytes, or of 12 bytes in DTLS, as if it were not
    /// fragmented (RFC 6347, 4.2.6).
    fn push(&mut self, kind: HandshakeType, body: &dyn Encode) -> Result<&[u8], Error>;

    /// Protects the messages that are pushed from now on with `keys`. In TLS 1.2 a ChangeCipherSpec is sent before
    /// them.
    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error>;

    /// Protects the messages that are pushed from now on with `keys`, while early data keeps its own, if records carry
    /// their epoch (RFC 9147, 6.1). A stream does nothing here: it changes keys by [`Self::new_keys`] after
    /// [`Self::end_of_early_data`].
    fn new_keys_beside_early_data(&mut self, keys: &EpochKeys) -> Result<(), Error>;

    /// Stops protecting messages with the keys of early data, which the server has rejected (RFC 9846, 4.3.10).
    fn abandon_early_data(&mut self);

    /// Ends early data that the server has accepted. Returns the EndOfEarlyData message, which DTLS does not have (RFC
    /// 9846, 4.6; RFC 9147, 5.6).
    fn end_of_early_data(&mut self) -> Result<Option<&[u8]>, Error>;

    /// Returns the limits of the records that are sent from now on.
    fn limits(&mut self) -> &mut RecordLimits;

    /// Sends an alert that does not close the connection.
    fn alert(&mut self, alert: Alert) -> Result<(), Error>;

    /// Turns on compatibility mode, because the client uses it (RFC 9846, E.4).
    fn compatibility_mode(&mut self);

    /// Sends the ChangeCipherSpec of compatibility mode, unless it was sent before (RFC 9846, E.4).
    fn compatibility_point(&mut self) -> Result<(), Error>;

    /// Ends the flight: the peer answers before more is sent, so everything that was pushed must be sent now.
    fn end_of_flight(&mut self) -> Result<(), Error>;

    /// Whether a KeyUpdate may be sent. Over datagrams the one before it must be acknowledged (RFC 9147, 8), and no
    /// closing alert sent.
    fn can_update_keys(&self) -> bool;
}

/// The most bytes of content that one record may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordLimits {
    /// The limit of every record (RFC 6066, 4).
    any: usize,
    /// The limit of a protected record (RFC 8449, 4).
    protected: usize,
}

impl RecordLimits {
    /// The limits without negotiation: 16,384 bytes (RFC 9846, 5.1).
    pub(crate) const DEFAULT: Self = Self { any: MAX_FRAGMENT, protected: MAX_FRAGMENT };

    /// Limits every record to `bytes`.
    pub(crate) fn limit(&mut self, bytes: usize) {
        self.any = bytes.min(MAX_FRAGMENT);
    }

    /// Limits protected records to `bytes`.
    pub(crate) fn limit_protected(&mut self, bytes: usize) {
        self.protected = bytes.min(MAX_FRAGMENT);
    }

    /// Returns the limit of protected records, or of unprotected ones.
    pub(crate) fn of(self, is_protected: bool) -> usize {
        if is_protected { self.any.min(self.protected) } else { self.any }
    }
}

/// The result of [`Incoming::receive`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// How many bytes of the input were consumed: none if the record had been put aside earlier.
    pub(crate) taken: usize,
    /// What the record contained.
    pub(crate) received: Received,
    /// The length of the whole record, header included; 0 if there was none.
    pub(crate) len: usize,
    /// Datagrams only: whether a part of the record was dropped, as if it had been lost.
    pub(crate) is_dropped: bool,
    /// Datagrams only: set if the record is authentic, and newer than all before it.
    pub(crate) newest: Option<Newest>,
}

/// A record that is authentic, and newer than all records before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    /// Whether the record has a newer connection ID than all before it (RFC 9147, 9).
    pub(crate) has_new_id: bool,
}

/// The content of a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// There is nothing to act on: a part of a record arrived, or one that is ignored.
    Nothing,
    /// Handshake bytes, which [`Incoming::message`] returns.
    Handshake,
    /// Application data, which [`Incoming::plaintext`] holds.
    ApplicationData,
    /// An alert.
    Alert(Alert),
    /// Datagrams only: a return routability check message (RFC 9853).
    ReturnRoutabilityCheck(ReturnRoutabilityCheck),
    /// Datagrams only: the end of a flight that was handled before. The peer retransmits it because it did not receive
    /// the answer.
    Repeated,
    /// Datagrams only: the peer acknowledges records (RFC 9147, 7).
    Ack {
        /// The acknowledged records. If there are none, the peer has received records that it cannot decrypt.
        numbers: Vec<RecordNumber>,
        /// Whether the ACK was protected, so that only the peer can have sent it.
        is_protected: bool,
    },
}

/// The receiving half of a link.
pub(crate) trait Incoming: Send + Sync {
    /// Consumes bytes of the stream, or of one datagram, up to the end of one record. Consumes none while application
    /// data waits to be read.
    fn receive(&mut self, now: Instant, input: &mut [u8]) -> Result<Record, Error>;

    /// Whether a record was put aside that [`Self::receive`] can open now.
    fn has_waiting(&self) -> bool;

    /// Returns the next whole handshake message, header included.
    fn message(&self) -> Result<Option<&[u8]>, Error>;

    /// Drops the message of `len` bytes that [`Self::message`] returned.
    fn consume(&mut self, len: usize);

    /// Expects messages under `keys` from now on.
    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error>;

    /// Expects early data under `keys` from now on. Returns whether messages come under them as well: on a stream they
    /// do, until EndOfEarlyData.
    fn early_data_keys(&mut self, keys: &EpochKeys) -> Result<bool, Error>;

    /// Refuses protected records with more content than `bytes` from now on. TLS 1.3 counts the content type as well
    /// (RFC 8449, 4).
    fn limit_records(&mut self, bytes: usize);

    /// Skips up to `bytes` of early data, which the server has rejected (RFC 9846, 4.3.10).
    fn skip_early_data(&mut self, bytes: usize);

    /// Sets whether ChangeCipherSpec is ignored from now on.
    fn ignore_change_cipher_spec(&mut self, ignore: bool);

    /// Returns the application data that waits to be read.
    fn plaintext(&self) -> &Plaintext;

    /// Returns the application data that waits to be read.
    fn plaintext_mut(&mut self) -> &mut Plaintext;

    /// Counts a record without content. On a stream, too many of them in a row are an error.
    fn ignored(&mut self) -> Result<(), Error>;

    /// Handles a record of a type that is not allowed yet. On a stream this is an error of the peer; over datagrams it
    /// may be reordered, and is dropped.
    fn not_due(&mut self, content_type: ContentType) -> Result<(), Error>;
}

/// The sending half of a link.
pub(crate) trait Outgoing: Link + Send + Sync {
    /// Moves records, or one datagram, to `out`. Returns the number of bytes.
    fn transmit(&mut self, now: Instant, out: &mut [u8]) -> usize;

    /// Returns how many bytes of records were made so far.
    fn produced(&self) -> u64;

    /// Whether the key is close to its usage limit (RFC 9846, 5.5).
    fn key_nears_limit(&self) -> bool;

    /// Whether the key must not protect more application data: in TLS 1.2 it cannot be replaced.
    fn key_is_exhausted(&self) -> bool;

    /// Returns the most bytes of content that fit into the next record.
    fn max_fragment(&self) -> usize;

    /// Makes one record, after the messages that were pushed. Makes none after a closing alert (RFC 9846, 6.1).
    fn record(&mut self, content_type: ContentType, fragment: &[u8]) -> Result<(), Error>;

    /// Sends a closing alert, after complete flights and instead of an incomplete one.
    fn last_alert(&mut self, alert: Alert) -> Result<(), Error>;
}

/// Buffers up to this size in bytes are kept for the next record: allocating takes half as long as decrypting a small
/// record. Larger ones are freed at once, since the next record may come much later.
const KEPT_BUFFER: usize = 256;

/// Empties a buffer, and frees it if it is large.
fn empty(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BUFFER {
        *buffer = Vec::new();
    } else {
        buffer.clear();
    }
}
