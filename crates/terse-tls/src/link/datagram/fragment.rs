//! Fragments of handshake messages: their header, and how messages are reassembled and ordered (RFC 6347, 4.2.2 and
//! 4.2.3; RFC 9147, 5.2 and 5.5).
//!
//! What must always hold: messages are delivered in the order of their numbers, none twice, and a byte that was
//! received is never overwritten; and the bodies that are buffered take at most twice `max_message`, half of it for the
//! next message, so that messages that come too early never keep it out.

use alloc::vec::Vec;
use core::ops::Range;

use crate::wire::HandshakeType;

#[cfg(test)]
mod tests;

/// The length of a fragment's header.
pub(crate) const HEADER_LEN: usize = 12;

/// The header of `Handshake` (RFC 6347, 4.2.2). Lengths are below 2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FragmentHeader {
    /// `msg_type`.
    pub(crate) kind: HandshakeType,
    /// The length of the whole message's body.
    pub(crate) length: usize,
    pub(crate) message_seq: u16,
    pub(crate) fragment_offset: usize,
    pub(crate) fragment_length: usize,
}

impl FragmentHeader {
    pub(crate) fn parse(bytes: &[u8; HEADER_LEN]) -> Self {
        let [kind, l0, l1, l2, s0, s1, o0, o1, o2, f0, f1, f2] = *bytes;
        let u24 = |a, b, c| u32::from_be_bytes([0, a, b, c]) as usize;
        Self {
            kind: HandshakeType(kind),
            length: u24(l0, l1, l2),
            message_seq: u16::from_be_bytes([s0, s1]),
            fragment_offset: u24(o0, o1, o2),
            fragment_length: u24(f0, f1, f2),
        }
    }

    pub(crate) fn bytes(self) -> [u8; HEADER_LEN] {
        let u24 = |value: usize| (value as u32).to_be_bytes();
        let [_, l0, l1, l2] = u24(self.length);
        let [s0, s1] = self.message_seq.to_be_bytes();
        let [_, o0, o1, o2] = u24(self.fragment_offset);
        let [_, f0, f1, f2] = u24(self.fragment_length);
        [self.kind.0, l0, l1, l2, s0, s1, o0, o1, o2, f0, f1, f2]
    }

    /// Returns the header of a message that is not fragmented.
    pub(crate) const fn whole(kind: HandshakeType, message_seq: u16, length: usize) -> Self {
        Self { kind, length, message_seq, fragment_offset: 0, fragment_length: length }
    }

    /// Returns which bytes of the body the fragment has.
    const fn range(&self) -> Range<usize> {
        self.fragment_offset..self.fragment_offset.saturating_add(self.fragment_length)
    }

    /// Whether the fragment has the last byte of the body, or is that of an empty body.
    fn is_last(&self) -> bool {
        self.range().end == self.length && (self.fragment_length != 0 || self.length == 0)
    }
}

/// What [`Reassembler::insert`] did with a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// The fragment belongs to the next message, or to a later one. Some or all of its bytes may have come before.
    Accepted,
    /// The fragment belongs to a message that was handled before: the peer retransmits its flight.
    Repeated {
        message_seq: u16,
        /// Whether the fragment has the last byte of the message, or the whole message.
        whole_or_last: bool,
    },
    /// The fragment was not kept.
    Dropped(DropCause),
}

/// Why a fragment was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropCause {
    /// The message is longer than the configured limit.
    TooLarge,
    /// The message is more than [`MAX_AHEAD`] after the next one.
    TooFarAhead,
    /// The fragment ends after its message, or contradicts earlier fragments about the message's type or length.
    Inconsistent,
    /// There is no memory for the message before it is the next one, or the message is in too many separate ranges.
    OverBudget,
}

/// Reassembles messages and orders them.
#[derive(Debug)]
pub(crate) struct Reassembler {
    max_message: usize,
    /// The number of the next message; 2^16 after the last possible one.
    next_seq: u32,
    /// The next message and later ones, in no order: [`MAX_AHEAD`] + 1 at most.
    partial: Vec<Partial>,
}

impl Reassembler {
    /// Creates a reassembler for messages whose body has at most `max_message` bytes, beginning with the one numbered
    /// `next_seq`.
    pub(crate) const fn new(max_message: usize, next_seq: u16) -> Self {
        Self { max_message, next_seq: next_seq as u32, partial: Vec::new() }
    }

    /// Inserts a fragment. Its `body` must have `fragment_length` bytes.
    pub(crate) fn insert(&mut self, header: FragmentHeader, body: &[u8]) -> Inserted {
        let message_seq = header.message_seq;
        if header.range().end > header.length || header.fragment_length != body.len() {
            return Inserted::Dropped(DropCause::Inconsistent);
        }
        if header.length > self.max_message {
            return Inserted::Dropped(DropCause::TooLarge);
        }
        // Numbers do not wrap around: once all are used, every fragment is a repetition.
        let Some(ahead) = u32::from(message_seq).checked_sub(self.next_seq) else {
            return Inserted::Repeated { message_seq, whole_or_last: header.is_last() };
        };
        if ahead > MAX_AHEAD {
            return Inserted::Dropped(DropCause::TooFarAhead);
        }
        match self.insert_fragment(header, body) {
            Ok(()) => Inserted::Accepted,
            Err(cause) => Inserted::Dropped(cause),
        }
    }

    /// Returns the next message, if it is complete: its body after the header that it would have without fragmentation.
    pub(crate) fn message(&self) -> Option<&[u8]> {
        self.partial.iter().find(|partial| self.is_due(partial) && partial.is_whole()).map(|partial| &partial.bytes[..])
    }

    /// Drops the next message, which was handled, so that the one after it is the next. Does nothing unless the message
    /// was complete.
    pub(crate) fn consume(&mut self) {
        if self.message().is_some() {
            self.forget_before(self.next_seq + 1); // at most 2^16, as no fragment has a higher number
        }
    }

    /// Returns the number of the next message.
    pub(crate) fn next_seq(&self) -> u16 {
        self.next_seq.try_into().unwrap_or(u16::MAX)
    }

    /// Makes the message with this number the next one: a server accepts the first ClientHello with any number. Earlier
    /// messages are forgotten; if the number goes back, all are.
    pub(crate) fn set_next_seq(&mut self, next_seq: u16) {
        if u32::from(next_seq) < self.next_seq {
            self.partial = Vec::new();
        }
        self.forget_before(next_seq.into());
    }

    /// Whether something is missing before this fragment.
    pub(crate) fn is_ahead(&self, header: &FragmentHeader) -> bool {
        (u32::from(header.message_seq), header.fragment_offset) > self.frontier()
    }

    /// Whether something is missing before a part of what is kept.
    pub(crate) fn has_gap(&self) -> bool {
        let (seq, _) = self.frontier();
        let is_later = |partial: &Partial| u32::from(partial.header.message_seq) > seq;
        self.partial.iter().any(|partial| is_later(partial) || partial.has_gap())
    }

    /// Whether all messages that are kept are complete, and none before them is missing.
    pub(crate) fn is_whole(&self) -> bool {
        !self.has_gap() && self.partial.iter().all(Partial::is_whole)
    }

    /// Returns up to where everything was received: the number of a message, and an offset in its body.
    fn frontier(&self) -> (u32, usize) {
        let mut seq = self.next_seq;
        loop {
            match self.partial.iter().find(|partial| u32::from(partial.header.message_seq) == seq) {
                Some(partial) if partial.is_whole() => seq += 1, // there are few
                Some(partial) => return (seq, partial.beginning()),
                None => return (seq, 0),
            }
        }
    }

    /// Whether the beginning of the next message was received.
    pub(crate) fn has_begun(&self) -> bool {
        self.frontier() != (self.next_seq, 0)
    }

    /// Returns how many bytes of message bodies are kept.
    pub(crate) fn body_bytes(&self) -> usize {
        self.partial.iter().map(|partial| partial.count).sum()
    }

    /// Whether nothing is kept.
    pub(crate) const fn is_empty(&self) -> bool {
        self.partial.is_empty()
    }

    /// Returns how many bytes of heap the messages take.
    #[cfg(any(test, terse_testing))]
    pub(crate) fn buffered(&self) -> usize {
        let heap = |partial: &Partial| partial.bytes.capacity() + partial.came.capacity() * size_of::<Range<usize>>();
        self.partial.capacity() * size_of::<Partial>() + self.partial.iter().map(heap).sum::<usize>()
    }

    fn insert_fragment(&mut self, header: FragmentHeader, body: &[u8]) -> Result<(), DropCause> {
        let budget = self.budget(header.message_seq);
        let known = self.partial.iter_mut().find(|partial| partial.header.message_seq == header.message_seq);
        if let Some(partial) = known {
            return partial.insert(header, body, budget);
        }
        if body.is_empty() && header.length != 0 {
            return Ok(()); // not worth remembering
        }
        let mut partial = Partial::new(header, budget)?;
        partial.insert(header, body, budget)?;
        self.partial.reserve_exact(1);
        self.partial.push(partial);
        Ok(())
    }

    /// Returns how many bytes of body may be kept for the message with this number.
    fn budget(&self, message_seq: u16) -> usize {
        if u32::from(message_seq) == self.next_seq {
            return self.max_message;
        }
        let others = |partial: &&Partial| !self.is_due(partial) && partial.header.message_seq != message_seq;
        self.max_message.saturating_sub(self.partial.iter().filter(others).map(Partial::room).sum())
    }

    fn is_due(&self, partial: &Partial) -> bool {
        u32::from(partial.header.message_seq) == self.next_seq
    }

    fn forget_before(&mut self, next_seq: u32) {
        self.next_seq = next_seq;
        self.partial.retain(|partial| u32::from(partial.header.message_seq) >= next_seq);
        if self.partial.is_empty() {
            self.partial = Vec::new();
        }
    }
}

/// A message of which at least one fragment came.
#[derive(Debug)]
struct Partial {
    /// The header that the message would have without fragmentation.
    header: FragmentHeader,
    /// The header and the body up to the last byte that was received, with zeros where bytes are missing.
    bytes: Vec<u8>,
    /// How many bytes of the body were received.
    count: usize,
    /// The ranges of the body that were received, in order and with gaps between them; empty once the body is complete.
    came: Vec<Range<usize>>,
}

impl Partial {
    /// Creates a message with exactly the capacity that `fragment` needs.
    fn new(fragment: FragmentHeader, budget: usize) -> Result<Self, DropCause> {
        let header = FragmentHeader::whole(fragment.kind, fragment.message_seq, fragment.length);
        let end = fragment.range().end;
        if end > budget {
            return Err(DropCause::OverBudget);
        }
        let mut bytes = Vec::with_capacity(HEADER_LEN + end);
        bytes.extend_from_slice(&header.bytes());
        Ok(Self { header, bytes, count: 0, came: Vec::new() })
    }

    const fn is_whole(&self) -> bool {
        self.count == self.header.length
    }

    /// Whether bytes are missing before bytes that were received.
    fn has_gap(&self) -> bool {
        match &self.came[..] {
            [] => false,
            [range] => range.start > 0,
            _ => true,
        }
    }

    /// Returns how many bytes were received without a gap from the beginning of the body.
    fn beginning(&self) -> usize {
        self.came.first().filter(|range| range.start == 0).map_or(0, |range| range.end)
    }

    /// Returns how many bytes of body fit without reallocating.
    const fn room(&self) -> usize {
        self.bytes.capacity().saturating_sub(HEADER_LEN)
    }

    /// Inserts the bytes that are new. At most `budget` bytes of body may be kept.
    fn insert(&mut self, fragment: FragmentHeader, body: &[u8], budget: usize) -> Result<(), DropCause> {
        if (fragment.kind, fragment.length) != (self.header.kind, self.header.length) {
            return Err(DropCause::Inconsistent);
        }
        let new = fragment.range();
        if self.is_whole() || new.is_empty() {
            return Ok(());
        }
        // Ranges that overlap the new one or touch it are merged with it.
        let first = self.came.partition_point(|range| range.end < new.start);
        let last = self.came.partition_point(|range| range.start <= new.end);
        if first == last && self.came.len() == MAX_RANGES {
            return Err(DropCause::OverBudget);
        }
        self.grow(new.end, budget)?;
        let (mut merged, mut at) = (new.clone(), new.start);
        for known in self.came[first..last].iter().chain([&(new.end..new.end)]) {
            // No range in `first..last` starts after the end of the new one.
            if at < known.start {
                let missing = &body[at - new.start..known.start - new.start];
                self.bytes[HEADER_LEN..][at..known.start].copy_from_slice(missing);
                self.count += missing.len();
            }
            at = known.end;
            merged = merged.start.min(known.start)..merged.end.max(known.end);
        }
        if self.is_whole() {
            self.came = Vec::new();
        } else {
            self.came.splice(first..last, [merged]);
        }
        Ok(())
    }

    /// Grows the buffer up to `end`. It reserves twice what is needed, but never more than the message has, so that
    /// many small fragments do not each move all earlier bytes.
    fn grow(&mut self, end: usize, budget: usize) -> Result<(), DropCause> {
        if end > self.room() {
            if end > budget {
                return Err(DropCause::OverBudget);
            }
            let room = end.saturating_mul(2).min(self.header.length).min(budget);
            self.bytes.reserve_exact(HEADER_LEN + room - self.bytes.len());
        }
        if self.bytes.len() < HEADER_LEN + end {
            self.bytes.resize(HEADER_LEN + end, 0);
        }
        Ok(())
    }
}

/// How many messages after the next one are kept: a flight has six at most.
const MAX_AHEAD: u32 = 8;

/// The most separate ranges that a message may have while it is reassembled.
const MAX_RANGES: usize = 64;

/// What is known of a message, and its header, in bytes of heap.
const MESSAGE_STATE: usize = 128;

/// Which bytes of a message came, in bytes of heap.
const RANGES: usize = MAX_RANGES * size_of::<Range<usize>>();

/// How many bytes of heap messages take beside their bodies, all in as many pieces as they may be; and once more the
/// pieces of one, while room is made for the last of them.
pub(super) const MAX_HEAP_BESIDE_BODIES: usize = (MAX_AHEAD as usize + 1) * (MESSAGE_STATE + RANGES) + RANGES;

const _: () = assert!(size_of::<Partial>() + HEADER_LEN <= MESSAGE_STATE);
