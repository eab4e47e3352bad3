//! The handshake messages that come in: their fragments are reassembled, and their records remembered for an ACK.

use super::drops::Drops;
use crate::error::PeerMisbehaved;
use crate::link::Received;
use crate::link::datagram::ack::Arrived;
use crate::link::datagram::fragment::{DropCause, FragmentHeader, HEADER_LEN, Inserted, Reassembler};
use crate::record::datagram::{ReadEpoch, RecordNumber};
use crate::schedule::tls13::epoch::APPLICATION;

pub(super) struct Messages {
    reassembler: Reassembler,
    max_message: usize,
    /// The message_seq after that of the last message that this side has answered.
    answered: Option<u16>,
    /// The records that this side may have to acknowledge.
    arrived: Arrived,
    saw_too_large: bool,
}

impl Messages {
    /// For messages of at most this many bytes.
    pub(super) fn new(max_message: usize) -> Self {
        Self {
            reassembler: Reassembler::new(max_message, 0),
            max_message,
            answered: None,
            arrived: Arrived::default(),
            saw_too_large: false,
        }
    }

    /// Begins with a message that was received before.
    pub(super) fn begin_with(&mut self, header: FragmentHeader, body: &[u8]) {
        self.reassembler.set_next_seq(header.message_seq);
        self.reassembler.insert(header, body);
    }

    /// Handles the fragments in a record with this number. `is_due` says that messages may come in its epoch now, while
    /// `in_force` is the epoch in force.
    pub(super) fn insert(
        &mut self,
        content: &[u8],
        number: RecordNumber,
        is_due: bool,
        in_force: &ReadEpoch,
        dropped: &mut Drops,
    ) -> Result<Received, PeerMisbehaved> {
        let mut received = Received::Nothing;
        // A record is acknowledged only if its messages were handled or are kept, and no flight of this side answers
        // them (RFC 9147, 7 and 7.1).
        let (mut is_kept, mut is_answered, mut is_whole) = (true, true, false);
        let (mut is_ahead, mut is_later) = (false, false);
        for fragment in fragments(content) {
            let Some((header, body)) = fragment else {
                dropped.count(|dropped| &mut dropped.malformed);
                is_kept = false;
                break;
            };
            is_answered &= self.answered.is_some_and(|answered| header.message_seq < answered);
            if !is_due && header.message_seq >= self.reassembler.next_seq() {
                return Err(PeerMisbehaved::MessageCrossesKeyChange); // RFC 9846, 5.1
            }
            is_ahead |= self.reassembler.is_ahead(&header);
            is_later |= header.message_seq > self.reassembler.next_seq();
            match self.reassembler.insert(header, body) {
                Inserted::Accepted => {
                    received = Received::Handshake;
                    is_whole = self.reassembler.is_whole();
                }
                Inserted::Repeated { message_seq, whole_or_last } => {
                    let next_seq = self.reassembler.next_seq();
                    is_whole = whole_or_last && message_seq.wrapping_add(1) == next_seq && self.reassembler.is_whole();
                    if whole_or_last && self.is_answered(message_seq) && received == Received::Nothing {
                        received = Received::Repeated;
                    }
                }
                Inserted::Dropped(cause) => {
                    is_kept = false;
                    self.saw_too_large |= cause == DropCause::TooLarge;
                    dropped.count(|dropped| &mut dropped.bad_fragment);
                }
            }
        }
        let is_dtls12 = in_force.is_protected() && !in_force.is_dtls13();
        // A KeyUpdate that waits for an earlier message has not changed the keys yet: an ACK would let its sender use
        // the new ones.
        let must_wait = is_later && in_force.epoch() >= APPLICATION && self.reassembler.has_gap();
        if is_kept && !must_wait && !is_answered && !is_dtls12 {
            self.arrived.numbers.push(number);
            self.arrived.has_gap |= is_ahead;
            self.arrived.is_whole = is_whole;
        }
        Ok(received)
    }

    /// Whether the message with this number ends a flight that was answered, and no message was handled since. If the
    /// peer retransmits it, the peer did not receive the answer; a retransmission of a later message means that another
    /// message was lost.
    fn is_answered(&self, message_seq: u16) -> bool {
        let next = Some(message_seq.wrapping_add(1));
        next == self.answered && next == Some(self.reassembler.next_seq())
    }

    /// Whether a record retransmits the end of a flight that was answered.
    pub(super) fn repeats_answered(&self, content: &[u8]) -> bool {
        let is_end = |header: &FragmentHeader| header.fragment_offset + header.fragment_length == header.length;
        fragments(content).flatten().any(|(header, _)| is_end(&header) && self.is_answered(header.message_seq))
    }

    /// Notes that a flight of this side answers all messages that were handled so far.
    pub(super) fn answered(&mut self) {
        self.answered = Some(self.reassembler.next_seq());
        self.arrived = Arrived::default();
    }

    /// Forgets the messages that were not handled yet.
    pub(super) fn forget_ahead(&mut self) {
        self.reassembler = Reassembler::new(self.max_message, self.reassembler.next_seq());
    }

    /// Notes that a record came whose keys are not known yet.
    pub(super) const fn lack_keys(&mut self) {
        self.arrived.lacks_keys = true;
    }

    /// Returns the records that came since the last call and may have to be acknowledged.
    pub(super) fn take_arrived(&mut self) -> Option<Arrived> {
        let is_new = self.arrived.lacks_keys || !self.arrived.numbers.is_empty();
        is_new.then(|| core::mem::take(&mut self.arrived))
    }

    /// Whether a message came that is longer than this side takes. It was dropped, so the peer retransmits it.
    pub(super) const fn saw_too_large(&self) -> bool {
        self.saw_too_large
    }

    /// Whether no message is kept, nor a part of one.
    pub(super) const fn is_empty(&self) -> bool {
        self.reassembler.is_empty()
    }

    /// Returns the next message, if all of it is there.
    pub(super) fn message(&self) -> Option<&[u8]> {
        self.reassembler.message()
    }

    /// Removes the next message.
    pub(super) fn consume(&mut self) {
        self.reassembler.consume();
    }
}

/// Returns the fragments of handshake messages in a record; the last one is `None` if it is malformed.
fn fragments(mut content: &[u8]) -> impl Iterator<Item = Option<(FragmentHeader, &[u8])>> {
    core::iter::from_fn(move || {
        if content.is_empty() {
            return None;
        }
        let split = content.split_first_chunk::<HEADER_LEN>().and_then(|(header, rest)| {
            let header = FragmentHeader::parse(header);
            let (body, rest) = rest.split_at_checked(header.fragment_length)?;
            Some((header, body, rest))
        });
        content = split.map_or(&[], |(_, _, rest)| rest);
        Some(split.map(|(header, body, _)| (header, body)))
    })
}
