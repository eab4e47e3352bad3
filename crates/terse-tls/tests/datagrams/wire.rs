//! Opens what went over the wire in DTLS 1.3 with the secrets of the key log. It shows which parts of which messages were
//! in which records, and what was acknowledged.

use alloc::sync::Arc;
use core::ops::Range;

use terse_testkit::datagrams::{Datagram, DatagramPair};
use terse_testkit::forge::{DatagramForge, KeyLogLines};
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::crypto::Tls13Suite;
use terse_tls::{CipherSuite, ContentType, HandshakeType};

use super::modes::PROVIDER;

/// A record that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) from: Side,
    /// The number of its datagram.
    pub(crate) datagram: usize,
    /// When it was sent, in milliseconds.
    pub(crate) sent: u64,
    /// Its epoch and its number.
    pub(crate) number: (u64, u64),
    pub(crate) content_type: ContentType,
    pub(crate) content: Vec<u8>,
}

/// A part of a handshake message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    pub(crate) message_seq: u16,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: HandshakeType,
    /// The length of the whole message.
    pub(crate) length: usize,
    /// Where the part begins in the content of the record.
    pub(crate) at: usize,
}

impl Record {
    /// Returns the parts of messages in the record.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut rest = &self.content[..];
        while let (ContentType::HANDSHAKE, [kind, header @ ..]) = (self.content_type, rest) {
            let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
            let (length, start, len) = (number(&header[..3]), number(&header[5..8]), number(&header[8..11]));
            let (message_seq, end) = (number(&header[3..5]) as u16, start + len);
            let at = self.content.len() - rest.len() + 12;
            parts.push(Part { message_seq, start, end, kind: HandshakeType(*kind), length, at });
            rest = &header[11 + len..];
        }
        parts
    }

    /// Returns what the record acknowledges, if it is an ACK.
    pub(crate) fn acknowledges(&self) -> Option<Vec<(u64, u64)>> {
        (self.content_type == ContentType::ACK).then(|| {
            let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("eight bytes"));
            let (len, numbers) = self.content.split_at(2);
            assert_eq!(len, (numbers.len() as u16).to_be_bytes());
            numbers.chunks(16).map(|bytes| (number(&bytes[..8]), number(&bytes[8..]))).collect()
        })
    }
}

/// Has both sides log the secrets of one connection of this setup, and returns the log.
pub(crate) fn listen(setup: &mut Setup) -> Arc<KeyLogLines> {
    let log = Arc::<KeyLogLines>::default();
    for side in Side::BOTH {
        setup.common(side).set_key_log(log.clone());
    }
    log
}

/// Returns a forge with the keys of `sender` for the records of `epoch`, if `sender` got there.
pub(crate) fn forge(pair: &DatagramPair, log: &KeyLogLines, sender: Side, epoch: u64) -> Option<DatagramForge> {
    let secret = secret(log, sender, epoch)?;
    let summary = [&pair.server, &pair.client].map(|connection| connection.summary().cipher_suite);
    let suite = PROVIDER.tls13_suite(summary[0].or(summary[1])?)?;
    let first = DatagramForge::new(suite, &secret, epoch.min(3));
    Some((3..epoch).fold(first, |forge, _| forge.updated()))
}

/// Returns all records of a connection so far.
pub(crate) fn records(pair: &DatagramPair, log: &Arc<KeyLogLines>) -> Vec<Record> {
    let mut tap = Tap::new(log);
    pair.sent.iter().flat_map(|datagram| tap.open(datagram)).map(|(record, _)| record).collect()
}

/// Opens datagrams as they are sent.
pub(crate) struct Tap {
    log: Arc<KeyLogLines>,
    /// The suite in use. Before one is chosen, it is the preferred suite, which early data takes.
    suite: &'static Tls13Suite,
    forges: [Vec<DatagramForge>; 2],
}

/// Number, type, content, and the length of the record.
type Protected = ((u64, u64), ContentType, Vec<u8>, usize);

impl Tap {
    pub(crate) fn new(log: &Arc<KeyLogLines>) -> Self {
        Self { log: log.clone(), suite: PROVIDER.tls13_suites[0], forges: [Vec::new(), Vec::new()] }
    }

    /// Returns the records of a datagram, and where they are in it.
    pub(crate) fn open(&mut self, datagram: &Datagram) -> Vec<(Record, Range<usize>)> {
        let (from, sent) = (datagram.from, datagram.sent);
        let (mut records, mut at) = (Vec::new(), 0);
        while let rest @ [first, ..] = &datagram.bytes[at..] {
            let (number, content_type, content, len) = if first & 0b1110_0000 == 0b0010_0000 {
                self.protected(from, rest).unwrap_or_else(|| panic!("{} is of no epoch", datagram.number))
            } else {
                let len = 13 + usize::from(u16::from_be_bytes([rest[11], rest[12]]));
                let number = u64::from_be_bytes(rest[3..11].try_into().expect("eight bytes"));
                self.note_suite(&rest[13..len]);
                ((0, number), ContentType(*first), rest[13..len].to_vec(), len)
            };
            records
                .push((Record { from, datagram: datagram.number, sent, number, content_type, content }, at..at + len));
            at += len;
        }
        records
    }

    /// Returns the suite that a ServerHello chooses, in its first fragment.
    fn note_suite(&mut self, message: &[u8]) {
        let Some((&[kind, _, _, _, _, _, 0, 0, 0, ..], body)) = message.split_first_chunk::<12>() else { return };
        if HandshakeType(kind) == HandshakeType::SERVER_HELLO {
            let at = 2 + 32 + 1 + usize::from(body[2 + 32]);
            let id = CipherSuite(u16::from_be_bytes([body[at], body[at + 1]]));
            self.suite = PROVIDER.tls13_suite(id).unwrap_or(self.suite);
        }
    }

    /// Opens a protected record under the keys so far, or under those after them.
    fn protected(&mut self, from: Side, record: &[u8]) -> Option<Protected> {
        let forges = &mut self.forges[from as usize];
        for epoch in 1..=3 {
            if forges.iter().all(|forge| forge.epoch() != epoch)
                && let Some(secret) = secret(&self.log, from, epoch)
            {
                forges.push(DatagramForge::new(self.suite, &secret, epoch));
            }
        }
        let is_open = |forge: &mut DatagramForge| {
            let opened = forge.open(record)?;
            Some(((forge.epoch(), opened.number), opened.content_type, opened.content, opened.len))
        };
        if let Some(opened) = forges.iter_mut().rev().find_map(is_open) {
            return Some(opened);
        }
        let mut next = forges.iter().max_by_key(|forge| forge.epoch()).filter(|last| last.epoch() >= 3)?.updated();
        let opened = is_open(&mut next)?;
        forges.push(next);
        Some(opened)
    }
}

/// What `sender` derives the keys of an epoch up to the first of application data from, if it got there.
fn secret(log: &KeyLogLines, sender: Side, epoch: u64) -> Option<Vec<u8>> {
    let name = ["CLIENT", "SERVER"][sender as usize];
    let label = match epoch {
        1 => format!("{name}_EARLY_TRAFFIC_SECRET"),
        2 => format!("{name}_HANDSHAKE_TRAFFIC_SECRET"),
        _ => format!("{name}_TRAFFIC_SECRET_0"),
    };
    log.lines().into_iter().find(|line| line.label == label).map(|line| line.secret)
}
