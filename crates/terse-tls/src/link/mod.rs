//! The line between handshake and transport. A handshake is written once per version and speaks to a [`Link`]; it
//! never asks which one. The link hands it whole messages in order and carries whole flights away.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::config::{ClientConfig, Common, ServerConfig};
use crate::crypto::Rng;
use crate::error::Error;
use crate::record::datagram::RecordNumber;
use crate::schedule::EpochKeys;
use crate::summary::Dropped;
use crate::time::Instant;
use crate::wire::{Alert, AlertDescription, ContentType, Encode, HandshakeType, Protocol, ReturnRoutabilityCheck};
use datagram::connection_ids::OwnIds;

pub(crate) mod datagram;
mod plaintext;
pub(crate) mod stream;

/// The two halves of a client's link.
pub(crate) fn client(config: &ClientConfig, rng: &mut dyn Rng) -> Result<Halves, Error> {
    let common = &config.common;
    let Some(settings) = &common.datagrams else { return Ok(stream_halves(common, config.compatibility_mode)) };
    let cid = match settings.connection_id {
        Some(len) => {
            let mut cid = vec![0; len.into()];
            rng.fill(&mut cid)?;
            Some(cid.into_boxed_slice())
        }
        None => None,
    };
    Ok(datagram::halves(common, settings, cid))
}

/// The two halves of a server's link. It answers no connection ID: [`datagram::accept`] does.
pub(crate) fn server(config: &ServerConfig) -> Halves {
    match &config.common.datagrams {
        None => stream_halves(&config.common, false),
        Some(settings) => datagram::halves(&config.common, settings, None),
    }
}

/// What receives and what sends.
pub(crate) type Halves = (Box<dyn Incoming>, Box<dyn Outgoing>);

fn stream_halves(common: &Common, compatibility_mode: bool) -> Halves {
    let receiver = stream::Receiver::new(common.max_handshake_message, common.max_record);
    let sender = stream::Sender::new(compatibility_mode);
    #[cfg(feature = "testing")]
    let sender = sender.with_fault(common.fault.clone());
    (Box::new(receiver), Box::new(sender))
}

/// What a handshake asks of the link that carries its messages.
pub(crate) trait Link {
    /// Which protocol the messages belong to.
    fn protocol(&self) -> Protocol;

    /// The connection ID that this side wants in the records that it receives (RFC 9146, 3); `None`: neither offered
    /// nor answered.
    fn connection_id(&self) -> Option<&[u8]>;

    /// Whether checks of return routability are offered with it, and answered (RFC 9853).
    fn checks_routability(&self) -> bool {
        false
    }

    /// The peer's connection ID, for the protected records that are sent.
    fn use_connection_id(&mut self, cid: &[u8]);

    /// How many bytes wait to be sent.
    fn pending(&self) -> usize;

    /// Adds a message to the flight. Returns it with its header, as the transcript hashes it: of 4 bytes, or of the 12
    /// of DTLS, as if it were not fragmented (RFC 6347, 4.2.6).
    fn push(&mut self, kind: HandshakeType, body: &dyn Encode) -> Result<&[u8], Error>;

    /// What is pushed from here on goes under `keys`. In TLS 1.2 a ChangeCipherSpec goes before it.
    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error>;

    /// Early data goes on, but what is pushed from here on goes under `keys`, if the link can tell one from the other
    /// (RFC 9147, 6.1). On a stream it waits for [`Self::end_of_early_data`], and [`Self::new_keys`] after it.
    fn new_keys_beside_early_data(&mut self, keys: &EpochKeys) -> Result<(), Error>;

    /// What is pushed from here on is not protected any more: nobody reads the early data that was sent (RFC 9846,
    /// 4.3.10).
    fn abandon_early_data(&mut self);

    /// Early data ends here, and the peer takes it. Returns the message that says so, if this link has one (RFC 9846,
    /// 4.6; RFC 9147, 5.6).
    fn end_of_early_data(&mut self) -> Result<Option<&[u8]>, Error>;

    /// How many bytes of content go into one protected record at most.
    fn record_limit(&self) -> usize;

    /// Sends a warning alert.
    fn warn(&mut self, description: AlertDescription) -> Result<(), Error>;

    /// From here on at most `bytes` of content go into one record (RFC 6066, 4).
    fn limit_records(&mut self, bytes: usize);

    /// From here on at most `bytes` of content go into one record that is protected (RFC 8449, 4).
    fn limit_protected_records(&mut self, bytes: usize);

    /// The client speaks to middleboxes as TLS 1.2 does, so its server must as well (RFC 9846, E.4).
    fn compatibility_mode(&mut self);

    /// A middlebox that takes this for TLS 1.2 expects a ChangeCipherSpec here, the first time that this is called
    /// (RFC 9846, E.4).
    fn compatibility_point(&mut self) -> Result<(), Error>;

    /// The peer answers before more is sent: everything pushed must leave now.
    fn end_of_flight(&mut self) -> Result<(), Error>;

    /// Whether a KeyUpdate may be sent: over datagrams, not before the one before it was acknowledged (RFC 9147, 8),
    /// and not after the last alert.
    fn can_update_keys(&self) -> bool {
        true
    }
}

/// What a record brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing to act on: a part of a record, or one that is ignored.
    Nothing,
    /// Handshake bytes: see [`Incoming::message`].
    Handshake,
    /// Application data: see [`Incoming::read`].
    ApplicationData,
    /// An alert.
    Alert(Alert),
    /// Datagrams: a check whether a path is good.
    ReturnRoutabilityCheck(ReturnRoutabilityCheck),
    /// Datagrams: the end of a flight that was handled before. The peer sends it again because it did not get the
    /// answer.
    Repeated,
    /// Datagrams: the peer has these records (RFC 9147, 7).
    Ack {
        /// None: it has something that it cannot read.
        numbers: Vec<RecordNumber>,
        /// Only the peer can have sent it.
        is_protected: bool,
    },
}

/// Datagrams: records of handshake messages that came, of which the peer may be told (RFC 9147, 7.1).
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    /// Those whose messages are kept, or were handled.
    pub(crate) numbers: Vec<RecordNumber>,
    /// Something before them is missing.
    pub(crate) has_gap: bool,
    /// Every message that anything came of is whole, or the last one came again.
    pub(crate) is_whole: bool,
    /// There are others, of an epoch whose keys are not there.
    pub(crate) lacks_keys: bool,
}

/// The receiving half of a link.
pub(crate) trait Incoming: Send + Sync {
    /// Takes bytes of the stream, or of one datagram, up to the end of one record. Returns how many, and what the
    /// record brought. Takes none while application data waits to be read.
    fn receive(&mut self, now: Instant, input: &mut [u8]) -> Result<(usize, Received), Error>;

    /// Whether a record was put aside that [`Self::receive`] can open now.
    fn has_waiting(&self) -> bool {
        false
    }

    /// The next whole handshake message, header included.
    fn message(&self) -> Result<Option<&[u8]>, Error>;

    /// Drops the message of `len` bytes that [`Self::message`] gave.
    fn consume(&mut self, len: usize);

    /// Datagrams: a flight is complete that answers what was consumed so far.
    fn answered(&mut self) {}

    /// Datagrams: what came since the last call, if the peer may have to be told of it.
    fn arrived(&mut self) -> Option<Arrived> {
        None
    }

    /// From here on messages come under `keys`.
    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error>;

    /// From here on early data comes under `keys`. Returns whether messages do as well: on a stream, until
    /// EndOfEarlyData.
    fn early_data_keys(&mut self, keys: &EpochKeys) -> Result<bool, Error> {
        self.new_keys(keys)?;
        Ok(true)
    }

    /// Datagrams: the peer has this side's last flight, so it will not send its own again.
    fn last_flight_arrived(&mut self) {}

    /// Datagrams: when [`Self::forget`] frees keys.
    fn forgets_at(&self) -> Option<Instant> {
        None
    }

    /// Datagrams: forgets the keys of records that cannot come any more.
    fn forget(&mut self, _: Instant) {}

    /// Datagrams: whether the peer should be asked for other keys, as there were too many forgeries. True once for
    /// each.
    fn key_is_worn(&mut self) -> bool {
        false
    }

    /// From here on protected records with more content than `bytes` are refused. TLS 1.3 counts the type as well
    /// (RFC 8449, 4).
    fn limit_records(&mut self, bytes: usize);

    /// The client may send so many bytes of early data, which are not wanted (RFC 9846, 4.3.10).
    fn skip_early_data(&mut self, bytes: usize);

    /// Whether ChangeCipherSpec is ignored from here on.
    fn ignore_change_cipher_spec(&mut self, ignore: bool);

    /// The peer puts this side's connection ID into its protected records.
    fn expect_connection_id(&mut self) {}

    /// Datagrams: this side's connection IDs.
    fn own_ids(&self) -> Option<&OwnIds> {
        None
    }

    /// As [`Self::own_ids`].
    fn own_ids_mut(&mut self) -> Option<&mut OwnIds> {
        None
    }

    /// How many bytes of application data wait to be read.
    fn plaintext_len(&self) -> usize;

    /// Whether any do.
    fn has_plaintext(&self) -> bool {
        self.plaintext_len() > 0
    }

    /// Moves application data to `out`.
    fn read(&mut self, out: &mut [u8]) -> usize;

    /// Application data of a whole record, without a copy if none of it was read.
    fn take(&mut self) -> Vec<u8>;

    /// Drops application data.
    fn discard(&mut self);

    /// Length of the record that came last, header included.
    fn last_record_len(&self) -> usize;

    /// Counts a record that brings nothing.
    fn ignored(&mut self) -> Result<(), Error>;

    /// A record of this type came whose time has not come. On a stream the peer is to blame; a datagram may have
    /// overtaken others.
    fn not_due(&mut self, content_type: ContentType) -> Result<(), Error>;

    /// Datagrams: a fatal alert that nobody vouches for came, and nothing since.
    fn unprotected_alert(&self) -> Option<AlertDescription> {
        None
    }

    /// Datagrams: a message came that is longer than this side takes. It was dropped, so the peer will send it again.
    fn saw_too_large(&self) -> bool {
        false
    }

    /// Datagrams: epoch and number of the newest authentic record that is protected.
    fn newest(&self) -> Option<(u64, u64)> {
        None
    }

    /// Datagrams: what was dropped so far.
    fn dropped(&self) -> Dropped {
        Dropped::default()
    }
}

/// The sending half of a link.
pub(crate) trait Outgoing: Link + Send + Sync {
    /// Moves records to `out`, or one datagram. Returns how many bytes; 0 when there are none.
    fn transmit(&mut self, now: Instant, out: &mut [u8]) -> usize;

    /// All bytes of records so far.
    fn produced(&self) -> u64;

    /// Datagrams: when [`Self::forget`] frees the last flight.
    fn forgets_at(&self) -> Option<Instant> {
        None
    }

    /// Datagrams: forgets the last flight, if the peer has no more use for it.
    fn forget(&mut self, _: Instant) {}

    /// Whether the key has protected nearly as much as it may.
    fn key_is_worn(&self) -> bool;

    /// Whether the key must protect no more application data: in TLS 1.2 it cannot be replaced.
    fn key_is_exhausted(&self) -> bool;

    /// The most content that fits into the next record.
    fn max_fragment(&self) -> usize;

    /// Makes one record, after what was pushed; none after the last alert (RFC 9846, 6.1).
    fn record(&mut self, content_type: ContentType, fragment: &[u8]) -> Result<(), Error>;

    /// Datagrams: the peer's connection ID, which may be empty.
    fn peer_id(&self) -> &[u8] {
        &[]
    }

    /// Datagrams: another one takes its place, unless it leaves no room for content.
    fn change_peer_id(&mut self, _: Box<[u8]>) -> Result<(), Error> {
        Ok(())
    }

    /// Datagrams: whether a message of this kind was sent after the handshake and is not acknowledged.
    fn is_under_way(&self, _: HandshakeType) -> bool {
        false
    }

    /// Makes one record at once, in `out`, to be sent apart from everything else. Returns its length; `None` if it does
    /// not fit, or if nothing more is sent. Only datagrams can go apart.
    fn record_apart(&mut self, _: ContentType, _: &[u8], _out: &mut [u8]) -> Option<usize> {
        None
    }

    /// Sends an alert after which more follows.
    fn alert(&mut self, alert: Alert) -> Result<(), Error>;

    /// Sends the last alert, after what is complete and instead of what is not.
    fn last_alert(&mut self, alert: Alert) -> Result<(), Error>;

    /// What only datagrams need: nothing on a stream.
    fn flights(&mut self) -> Option<&mut dyn Flights> {
        None
    }

    /// As [`Self::flights`].
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// As [`Self::flights`]: how long an answer is waited for, in milliseconds.
    fn patience(&self) -> u64 {
        0
    }

    /// As [`Self::flights`]: when the flight was last sent that waits for an answer.
    fn last_sent(&self) -> Option<Instant> {
        None
    }
}

/// Flights over datagrams: sent again until they are answered.
pub(crate) trait Flights {
    /// Something authentic came.
    fn peer_is_there(&mut self);

    /// A part of the answer came.
    fn heard(&mut self, now: Instant);

    /// Records came of which the peer may have to be told.
    fn arrived(&mut self, now: Instant, arrived: Arrived);

    /// DTLS 1.2 was chosen, which has no ACKs: none is due any more for what came before the choice.
    fn peer_has_no_acks(&mut self);

    /// The peer has these records.
    fn acknowledged(&mut self, now: Instant, numbers: &[RecordNumber], is_protected: bool) -> Acknowledged;

    /// A message was handled; with `finished` it was the last one of the handshake. Returns whether there is an answer.
    fn handled(&mut self, now: Instant, finished: bool) -> bool;

    /// The peer did not get the answer to its last flight.
    fn repeat(&mut self, now: Instant);

    /// Whether [`Self::expired`] would send the flight again, or give up.
    fn retransmission_is_due(&self, now: Instant) -> bool;

    /// Time has passed: the flight is sent again if that is due, and the peer told of what came. `true`: the flight was
    /// sent often enough.
    fn expired(&mut self, now: Instant) -> bool;

    /// What was sent of flights since the last call.
    fn take_sent(&mut self) -> Sent;
}

/// What an ACK brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledged {
    /// Nothing.
    Nothing,
    /// Something of what was sent arrived.
    Something,
    /// All of the last flight of the handshake did: the peer has verified this side's Finished.
    LastFlight,
}

/// What a link sent of flights.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Bytes of handshake messages beyond those that were pushed: sent again, or further headers of fragments.
    pub(crate) more: Vec<(HandshakeType, usize)>,
    /// Bytes of datagrams, but for tickets, which count apart.
    pub(crate) record_bytes: u64,
    /// The same of those after the handshake.
    pub(crate) post_handshake_bytes: u64,
    /// Datagrams.
    pub(crate) datagrams: u32,
    /// Those of them that were sent again.
    pub(crate) retransmissions: u32,
}

/// Buffers up to this size in bytes are kept for the next record: allocating costs a small record as much as half of
/// its decryption. Larger ones are given back at once, since the next record may be long in coming.
const KEPT_BUFFER: usize = 256;

/// Empties a buffer.
fn empty(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BUFFER {
        *buffer = Vec::new();
    } else {
        buffer.clear();
    }
}
