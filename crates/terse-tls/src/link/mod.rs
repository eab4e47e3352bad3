//! The line between handshake and transport. A handshake is written once per version and speaks to a [`Link`]; it
//! never asks which one. The link hands it whole messages in order and carries whole flights away.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::config::{ClientConfig, Common, ServerConfig};
use crate::crypto::Rng;
use crate::error::Error;
use crate::record::datagram::RecordNumber;
use crate::record::stream::MAX_FRAGMENT;
use crate::schedule::EpochKeys;
use crate::time::Instant;
use crate::wire::{Alert, ContentType, Encode, HandshakeType, ReturnRoutabilityCheck, Transport};
use plaintext::Plaintext;

pub(crate) mod datagram;
pub(crate) mod plaintext;
pub(crate) mod stream;

/// The link of a connection: one half receives, the other one sends.
pub(crate) enum Halves {
    /// Over a stream.
    Stream(Box<(stream::Receiver, stream::Sender)>),
    /// Over datagrams, which need more than the core that all links have.
    Datagrams(Box<datagram::Driver>),
}

impl Halves {
    /// Those of a client.
    pub(crate) fn client(config: &ClientConfig, rng: &mut dyn Rng) -> Result<Self, Error> {
        let common = &config.common;
        let Some(settings) = &common.datagrams else { return Ok(Self::over_stream(common, config.compatibility_mode)) };
        let cid = match settings.connection_id {
            Some(len) => {
                let mut cid = vec![0; len.into()];
                rng.fill(&mut cid)?;
                Some(cid.into_boxed_slice())
            }
            None => None,
        };
        Ok(Self::Datagrams(Box::new(datagram::Driver::new(common, settings, cid))))
    }

    /// Those of a server. It answers no connection ID: [`Self::accept`] does.
    pub(crate) fn server(config: &ServerConfig) -> Self {
        match &config.common.datagrams {
            None => Self::over_stream(&config.common, false),
            Some(settings) => Self::Datagrams(Box::new(datagram::Driver::new(&config.common, settings, None))),
        }
    }

    /// Those of a server over datagrams to which a ClientHello came. Its own records begin with `number`.
    pub(crate) fn accept(
        config: &ServerConfig,
        cid: Option<Box<[u8]>>,
        hello: &datagram::FirstMessage,
        number: u64,
    ) -> Self {
        let settings = config.common.datagrams.unwrap_or_default(); // there are some: a ClientHello came in them
        Self::Datagrams(Box::new(datagram::Driver::accept(&config.common, &settings, cid, hello, number)))
    }

    fn over_stream(common: &Common, compatibility_mode: bool) -> Self {
        let receiver = stream::Receiver::new(common.max_handshake_message, common.max_record);
        let sender = stream::Sender::new(compatibility_mode);
        #[cfg(terse_testing)]
        let sender = sender.with_fault(common.fault.clone());
        Self::Stream(Box::new((receiver, sender)))
    }

    /// The half that receives.
    pub(crate) fn receiver(&self) -> &dyn Incoming {
        match self {
            Self::Stream(halves) => &halves.0,
            Self::Datagrams(driver) => &driver.receiver,
        }
    }

    /// As [`Self::receiver`].
    pub(crate) fn receiver_mut(&mut self) -> &mut dyn Incoming {
        self.both_mut().0
    }

    /// The half that sends.
    pub(crate) fn sender(&self) -> &dyn Outgoing {
        match self {
            Self::Stream(halves) => &halves.1,
            Self::Datagrams(driver) => &driver.sender,
        }
    }

    /// As [`Self::sender`].
    pub(crate) fn sender_mut(&mut self) -> &mut dyn Outgoing {
        self.both_mut().1
    }

    /// What receives, and what sends.
    pub(crate) fn both_mut(&mut self) -> (&mut dyn Incoming, &mut dyn Outgoing) {
        match self {
            Self::Stream(halves) => (&mut halves.0, &mut halves.1),
            Self::Datagrams(driver) => (&mut driver.receiver, &mut driver.sender),
        }
    }

    /// What there is over datagrams alone.
    pub(crate) fn datagrams(&self) -> Option<&datagram::Driver> {
        match self {
            Self::Stream(_) => None,
            Self::Datagrams(driver) => Some(driver),
        }
    }

    /// As [`Self::datagrams`].
    pub(crate) fn datagrams_mut(&mut self) -> Option<&mut datagram::Driver> {
        match self {
            Self::Stream(_) => None,
            Self::Datagrams(driver) => Some(driver),
        }
    }
}

/// What a handshake asks of the link that carries its messages.
pub(crate) trait Link {
    /// Which protocol the messages belong to.
    fn transport(&self) -> Transport;

    /// The connection ID that this side wants in the records that it receives (RFC 9146, 3), and whether checks of return
    /// routability are offered with it, and answered (RFC 9853). `None`: neither offered nor answered.
    fn connection_id(&self) -> Option<(&[u8], bool)>;

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

    /// How long records may be from here on.
    fn limits(&mut self) -> &mut RecordLimits;

    /// Sends an alert after which more follows.
    fn alert(&mut self, alert: Alert) -> Result<(), Error>;

    /// The client speaks to middleboxes as TLS 1.2 does, so its server must as well (RFC 9846, E.4).
    fn compatibility_mode(&mut self);

    /// A middlebox that takes this for TLS 1.2 expects a ChangeCipherSpec here, the first time that this is called
    /// (RFC 9846, E.4).
    fn compatibility_point(&mut self) -> Result<(), Error>;

    /// The peer answers before more is sent: everything pushed must leave now.
    fn end_of_flight(&mut self) -> Result<(), Error>;

    /// Whether a KeyUpdate may be sent: over datagrams, not before the one before it was acknowledged (RFC 9147, 8),
    /// and not after the last alert.
    fn can_update_keys(&self) -> bool;
}

/// How many bytes of content go into one record at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordLimits {
    /// Into any (RFC 6066, 4).
    any: usize,
    /// Into one that is protected (RFC 8449, 4).
    protected: usize,
}

impl RecordLimits {
    /// As RFC 9846, 5.1, has them: 16,384 bytes.
    pub(crate) const DEFAULT: Self = Self { any: MAX_FRAGMENT, protected: MAX_FRAGMENT };

    /// No record has more than `bytes`.
    pub(crate) fn limit(&mut self, bytes: usize) {
        self.any = bytes.min(MAX_FRAGMENT);
    }

    /// No record that is protected has more than `bytes`.
    pub(crate) fn limit_protected(&mut self, bytes: usize) {
        self.protected = bytes.min(MAX_FRAGMENT);
    }

    /// The limit of those that are protected, or of those that are not.
    pub(crate) fn of(self, is_protected: bool) -> usize {
        if is_protected { self.any.min(self.protected) } else { self.any }
    }
}

/// What came of a call of [`Incoming::receive`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// How many bytes of the input were taken: none if the record was kept before.
    pub(crate) taken: usize,
    /// What the record brought.
    pub(crate) received: Received,
    /// Length of the whole record, header included; 0 if there was none.
    pub(crate) len: usize,
    /// Over datagrams: something of it was dropped, as if it had been lost.
    pub(crate) is_dropped: bool,
    /// Over datagrams: only the peer can have made it, and after all that came before.
    pub(crate) newest: Option<Newest>,
}

/// Of a record that is authentic, and newer than all before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    /// It has another connection ID than those before (RFC 9147, 9).
    pub(crate) has_new_id: bool,
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

/// The receiving half of a link.
pub(crate) trait Incoming: Send + Sync {
    /// Takes bytes of the stream, or of one datagram, up to the end of one record. Takes none while application data
    /// waits to be read.
    fn receive(&mut self, now: Instant, input: &mut [u8]) -> Result<Record, Error>;

    /// Whether a record was put aside that [`Self::receive`] can open now.
    fn has_waiting(&self) -> bool;

    /// The next whole handshake message, header included.
    fn message(&self) -> Result<Option<&[u8]>, Error>;

    /// Drops the message of `len` bytes that [`Self::message`] gave.
    fn consume(&mut self, len: usize);

    /// From here on messages come under `keys`.
    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error>;

    /// From here on early data comes under `keys`. Returns whether messages do as well: on a stream, until
    /// EndOfEarlyData.
    fn early_data_keys(&mut self, keys: &EpochKeys) -> Result<bool, Error>;

    /// From here on protected records with more content than `bytes` are refused. TLS 1.3 counts the type as well
    /// (RFC 8449, 4).
    fn limit_records(&mut self, bytes: usize);

    /// The client may send so many bytes of early data, which are not wanted (RFC 9846, 4.3.10).
    fn skip_early_data(&mut self, bytes: usize);

    /// Whether ChangeCipherSpec is ignored from here on.
    fn ignore_change_cipher_spec(&mut self, ignore: bool);

    /// Application data that waits to be read.
    fn plaintext(&self) -> &Plaintext;

    /// As [`Self::plaintext`].
    fn plaintext_mut(&mut self) -> &mut Plaintext;

    /// Counts a record that brings nothing.
    fn ignored(&mut self) -> Result<(), Error>;

    /// A record of this type came whose time has not come. On a stream the peer is to blame; a datagram may have
    /// overtaken others, and is dropped.
    fn not_due(&mut self, content_type: ContentType) -> Result<(), Error>;
}

/// The sending half of a link.
pub(crate) trait Outgoing: Link + Send + Sync {
    /// Moves records to `out`, or one datagram. Returns how many bytes; 0 when there are none.
    fn transmit(&mut self, now: Instant, out: &mut [u8]) -> usize;

    /// All bytes of records so far.
    fn produced(&self) -> u64;

    /// Whether the key has protected nearly as much as it may.
    fn key_nears_limit(&self) -> bool;

    /// Whether the key must protect no more application data: in TLS 1.2 it cannot be replaced.
    fn key_is_exhausted(&self) -> bool;

    /// The most content that fits into the next record.
    fn max_fragment(&self) -> usize;

    /// Makes one record, after what was pushed; none after the last alert (RFC 9846, 6.1).
    fn record(&mut self, content_type: ContentType, fragment: &[u8]) -> Result<(), Error>;

    /// Sends the last alert, after what is complete and instead of what is not.
    fn last_alert(&mut self, alert: Alert) -> Result<(), Error>;
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
