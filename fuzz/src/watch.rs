//! A watch sees the input and output of a connection over datagrams with the keys of [`crate::provider::transparent`].
//!
//! What must always hold: a datagram is made of whole records; under one key no number is used twice; only received
//! records are acknowledged, and in DTLS 1.2 none, unless one like a record of DTLS 1.3 came before the version was
//! known.

use std::collections::{BTreeMap, BTreeSet};

use terse_tls::{ContentType, ProtocolVersion};

use crate::datagrams::{ACK, Protection, Record, closest, epoch_near, records};
use crate::provider::WORN_DATAGRAMS;

/// The observations of one connection.
#[derive(Debug, Default)]
pub struct Watch {
    /// The low bits of the epochs and numbers that were received.
    came: BTreeSet<(u64, u64)>,
    /// The numbers that were sent in each protected epoch.
    sent: BTreeMap<u64, BTreeSet<u64>>,
    /// The sent records with messages that the peer did not acknowledge.
    unacknowledged: BTreeSet<(u64, u64)>,
    epoch: u64,
    /// Whether a message was received that is not acknowledged.
    owes_ack: bool,
    /// Whether the peer may have acknowledged a record in a protected record.
    pub was_acknowledged: bool,
    /// Whether the peer may have answered in a protected record.
    pub was_answered: bool,
    /// Whether one like a record of DTLS 1.3 came before the version was known.
    was_early: bool,
    /// Whether DTLS 1.3 may be negotiated.
    pub has_dtls13: bool,
    /// Whether sent records may have connection IDs of any length, so that they are not examined.
    pub is_blind: bool,
}

impl Watch {
    /// Creates a watch on a side that may negotiate DTLS 1.3, or not.
    pub fn new(has_dtls13: bool) -> Self {
        Self { has_dtls13, ..Self::default() }
    }

    /// Notes a datagram that arrives at a side whose connection ID has `cid_len` bytes.
    pub fn came(&mut self, datagram: &[u8], cid_len: usize, protection: &Protection) {
        for record in records(datagram, cid_len).0 {
            self.was_early |= record.content_type.is_none() && !protection.is_known();
            self.came.insert(low(record.epoch, record.number));
            if record.content_type.is_none() {
                let kind = protection.open(&record).map(|(kind, _)| kind);
                self.was_acknowledged |= !protection.is_known() || kind == Some(ACK);
                self.was_answered |= !protection.is_known() || kind == Some(ContentType::HANDSHAKE);
                self.owes_ack |= kind == Some(ContentType::HANDSHAKE);
            }
        }
    }

    /// Notes a datagram of which nothing was dropped.
    pub fn taken(&mut self, datagram: &[u8], cid_len: usize, protection: &Protection) {
        for record in records(datagram, cid_len).0.iter().filter(|record| record.content_type.is_none()) {
            if let Some((ACK, content)) = protection.open(record) {
                let numbers = numbers(content).unwrap_or_default();
                self.unacknowledged.retain(|number| !numbers.contains(number));
            }
        }
    }

    /// Notes a datagram that was sent by a side that has negotiated `version`, or none yet.
    pub fn sent(&mut self, datagram: &[u8], protection: &Protection, version: Option<ProtocolVersion>) {
        if self.is_blind {
            return;
        }
        let has_acks = self.has_dtls13 && version.is_none_or(|version| version == ProtocolVersion::TLS_1_3);
        let (records, rest) = records(datagram, 0);
        assert!(rest.is_empty(), "a part of a record is sent: {datagram:02x?}");
        for record in records {
            if (record.content_type, record.epoch) == (Some(ACK), 0) {
                self.acknowledges(record.body, has_acks);
            } else if record.epoch > 0 || record.content_type.is_none() {
                self.protected(&record, protection, has_acks);
            }
        }
    }

    /// Whether a protected record with a message was sent or received and is not acknowledged.
    pub fn lacks_ack(&self) -> bool {
        self.owes_ack || !self.unacknowledged.is_empty()
    }

    /// Returns the last epoch of DTLS 1.3 in which a record was sent.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether a key with a limit may be too worn to protect another datagram. A datagram of which one record cannot be
    /// protected is not sent, and the numbers of its other records are used up.
    pub fn is_worn(&self) -> bool {
        self.sent.values().flatten().any(|number| number + MAX_RECORDS >= WORN_DATAGRAMS)
    }

    fn protected(&mut self, record: &Record<'_>, protection: &Protection, has_acks: bool) {
        let (mut epoch, mut number) = (record.epoch, record.number);
        if record.content_type.is_none() {
            epoch = epoch_near(self.epoch.max(2), record.epoch); // an ACK precedes the last flight
            assert!(epoch > 0, "an epoch was left out");
            self.epoch = self.epoch.max(epoch);
            let newest = self.sent.get(&epoch).and_then(|numbers| numbers.last());
            number = closest(newest.map_or(0, |newest| newest + 1), record.number, record.number_bits);
        }
        assert!(self.sent.entry(epoch).or_default().insert(number), "number {number} of epoch {epoch} is used twice");
        match protection.open(record) {
            Some((ACK, content)) => {
                self.acknowledges(content, has_acks);
                self.owes_ack = false;
            }
            Some((ContentType::HANDSHAKE, _)) if record.content_type.is_none() => {
                self.unacknowledged.insert((epoch, number));
            }
            _ => {}
        }
    }

    fn acknowledges(&self, content: &[u8], has_acks: bool) {
        let is_empty = self.has_dtls13 && self.was_early && content == [0, 0];
        assert!(has_acks || is_empty, "an ACK in DTLS 1.2");
        for (epoch, number) in numbers(content).expect("a well-formed ACK") {
            assert!(self.came.contains(&low(epoch, number)), "number {number} of epoch {epoch} never came");
        }
    }
}

/// The most protected records in a datagram: an ACK, and the messages of a flight.
const MAX_RECORDS: u64 = 8;

/// Returns the bits of an epoch and a number that even a short header has.
const fn low(epoch: u64, number: u64) -> (u64, u64) {
    (epoch % 4, number % 256)
}

/// Returns the epochs and numbers in an ACK, or `None` if it is malformed.
fn numbers(content: &[u8]) -> Option<Vec<(u64, u64)>> {
    let (len, numbers) = content.split_first_chunk()?;
    let (numbers, rest) = numbers.as_chunks::<16>();
    if usize::from(u16::from_be_bytes(*len)) != 16 * numbers.len() || !rest.is_empty() {
        return None;
    }
    let both = |number: &[u8; 16]| {
        let number = u128::from_be_bytes(*number);
        ((number >> 64) as u64, number as u64)
    };
    Some(numbers.iter().map(both).collect())
}
