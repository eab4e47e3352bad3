//! The maximum heap of a connection, so that a device can reserve it.
//!
//! What must always hold: whatever the peer sends, one connection takes at most [`Memory::heap`] (`tests/memory`
//! floods connections under a counting allocator). The size of [`crate::Connection`] itself, and what all connections
//! share (configuration, caches, stores), are not included.

use alloc::vec::Vec;

use crate::config::Common;
use crate::handshake::ConnectionIds;
use crate::link::datagram;
use crate::link::datagram::connection_ids::MAX_OWN_IDS;
use crate::record::{datagram12, stream};
use crate::wire::{HandshakeType, ProtocolVersion, Transport};

/// The parameters that bound the heap of one connection. All sizes are in bytes.
///
/// ```
/// use terse_tls::Memory;
///
/// const HEAP: usize = Memory::DEVICE.own_flight(1_200).heap();
/// const { assert!(HEAP < 25_000) };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// [`crate::ConfigBuilder::max_handshake_message`].
    pub max_handshake_message: usize,
    /// [`crate::ConfigBuilder::max_record`].
    pub max_record: usize,
    /// [`crate::ConfigBuilder::max_send_buffer`].
    pub max_send_buffer: usize,
    /// The longest flight that this side sends: its chain, a stapled OCSP response, and about 500 bytes more.
    pub own_flight: usize,
    /// Whether TLS 1.2 is enabled. Its CertificateVerify signs all handshake messages, not their hash, so they are kept
    /// until then.
    pub tls12: bool,
    /// Whether the connection runs over datagrams ([`Common::datagrams`]).
    pub datagrams: bool,
    /// Whether the peer is taken unverified ([`crate::Trust::unverified`]). What it has presented is kept as long as the
    /// connection.
    pub unverified: bool,
    /// The most heap that the crypto provider takes at once: [`Self::ELLIPTIC_CURVES`] or [`Self::RSA`].
    pub cryptography: usize,
}

impl Memory {
    /// Returns these settings with another [`max_handshake_message`](field@Self::max_handshake_message).
    #[must_use]
    pub const fn max_handshake_message(self, max_handshake_message: usize) -> Self {
        Self { max_handshake_message, ..self }
    }

    /// Returns these settings with another [`max_record`](field@Self::max_record).
    #[must_use]
    pub const fn max_record(self, max_record: usize) -> Self {
        Self { max_record, ..self }
    }

    /// Returns these settings with another [`max_send_buffer`](field@Self::max_send_buffer).
    #[must_use]
    pub const fn max_send_buffer(self, max_send_buffer: usize) -> Self {
        Self { max_send_buffer, ..self }
    }

    /// Returns these settings with another [`own_flight`](field@Self::own_flight).
    #[must_use]
    pub const fn own_flight(self, own_flight: usize) -> Self {
        Self { own_flight, ..self }
    }

    /// Returns these settings with another [`tls12`](field@Self::tls12).
    #[must_use]
    pub const fn tls12(self, tls12: bool) -> Self {
        Self { tls12, ..self }
    }

    /// Returns these settings with another [`datagrams`](field@Self::datagrams).
    #[must_use]
    pub const fn datagrams(self, datagrams: bool) -> Self {
        Self { datagrams, ..self }
    }

    /// Returns these settings with another [`unverified`](field@Self::unverified).
    #[must_use]
    pub const fn unverified(self, unverified: bool) -> Self {
        Self { unverified, ..self }
    }

    /// Returns these settings with another [`cryptography`](field@Self::cryptography).
    #[must_use]
    pub const fn cryptography(self, cryptography: usize) -> Self {
        Self { cryptography, ..self }
    }

    /// For [`Self::cryptography`], where keys and certificates are on elliptic curves.
    pub const ELLIPTIC_CURVES: usize = 4_096;

    /// The value of [`Self::cryptography`] if certificates may have RSA keys, of at most 8,192 bits.
    pub const RSA: usize = 24_576;

    /// The smallest useful parameters: TLS 1.3 with certificates on elliptic curves, records of 1 kB, messages of 2 kB.
    /// The configuration must have the same values, and `record_size_limit`, which tells peers.
    pub const DEVICE: Self = Self {
        max_handshake_message: 2_048,
        max_record: 1_024,
        max_send_buffer: 1_024,
        own_flight: 1_500,
        tls12: false,
        datagrams: false,
        unverified: false,
        cryptography: Self::ELLIPTIC_CURVES,
    };

    /// Returns the parameters of `common`, for a side whose longest flight has `own_flight` bytes, and which verifies its
    /// peers.
    pub fn of(common: &Common, own_flight: usize, cryptography: usize) -> Self {
        Self {
            max_handshake_message: common.max_handshake_message,
            max_record: common.max_record,
            max_send_buffer: common.max_send_buffer,
            own_flight,
            tls12: common.enables(ProtocolVersion::TLS_1_2),
            datagrams: common.datagrams.is_some(),
            unverified: false,
            cryptography,
        }
    }

    /// Returns the most heap that one connection takes at once. An allocator needs more, for rounding and for gaps between blocks: the
    /// crate `terse-arena` says how much.
    pub const fn heap(&self) -> usize {
        let message = self.max_handshake_message + Transport::Stream.message_header_len();
        let record = self.max_record + OVERHEAD;
        // A received record, the message before it, and the copy of both while they are joined.
        let received = 2 * (message + record);
        // Records that wait to be sent. A growing vector has up to twice the capacity that it needs, and is copied.
        let sent = 3 * (self.max_send_buffer + record) + 2 * self.own_flight;
        let kept = if self.tls12 { 2 * (MESSAGES_KEPT.len() * message + 2 * self.own_flight) } else { 0 };
        let datagrams = if self.datagrams { self.of_datagrams() } else { 0 };
        let presented = if self.unverified { message } else { 0 };
        received + sent + kept + datagrams + presented + self.cryptography + STATE
    }

    /// What datagrams take beyond that: a stream has one message at a time, and gives its flights away.
    const fn of_datagrams(&self) -> usize {
        // Messages that came too early, beside the one that is due.
        let early = self.max_handshake_message;
        // The flight is kept until it is answered. A record of application data waits in a buffer of its own.
        let flight = 2 * self.own_flight;
        let queue = 2 * (self.max_send_buffer / LEAST_RECORD + 1) * size_of::<Vec<u8>>();
        early + flight + queue + datagram::MAX_HEAP + IDS
    }
}

/// What a record has besides its content: a header, a type, and what an AEAD may add (RFC 9846, 5.2).
const OVERHEAD: usize = stream::HEADER_LEN + (stream::MAX_ENCRYPTED - stream::MAX_FRAGMENT);

/// The messages of the peer that are kept in TLS 1.2.
const MESSAGES_KEPT: [HandshakeType; 5] = [
    HandshakeType::SERVER_HELLO,
    HandshakeType::CERTIFICATE,
    HandshakeType::CERTIFICATE_STATUS,
    HandshakeType::SERVER_KEY_EXCHANGE,
    HandshakeType::CERTIFICATE_REQUEST,
];

/// Connection IDs as long as they may be, of this side and of the peer.
const IDS: usize = (MAX_OWN_IDS + ConnectionIds::MAX_SPARE) * (u8::MAX as usize + size_of::<Vec<u8>>());

/// The shortest record of application data in DTLS 1.2: a header, a byte, and a tag of 8 (RFC 6655, 4).
const LEAST_RECORD: usize = datagram12::HEADER_LEN + 1 + 8;

/// The states of a handshake with the data of the peer, and the summary.
const STATE: usize = 4_096;
