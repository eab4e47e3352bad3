//! Handshake messages in fragments: their header, and how they are put together and in order again (RFC 6347, 4.2.2 and
//! 4.2.3; RFC 9147, 5.2 and 5.5).
//!
//! What must always hold: messages are handed out in the order of their numbers, none twice, each byte as it came
//! first; and the bodies that are kept take at most twice `max_message`, half of it for the message that is due, so
//! that those which come too early never keep that one out.

use alloc::vec::Vec;
use core::ops::Range;

use crate::wire::HandshakeType;

#[cfg(test)]
mod tests;

/// Length of a fragment's header.
pub(crate) const HEADER_LEN: usize = 12;

/// The header of `Handshake` (RFC 6347, 4.2.2). Lengths are below 2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FragmentHeader {
    /// `msg_type`.
    pub(crate) kind: HandshakeType,
    /// Of the message's body.
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

    /// Of a message in one piece.
    pub(crate) const fn whole(kind: HandshakeType, message_seq: u16, length: usize) -> Self {
        Self { kind, length, message_seq, fragment_offset: 0, fragment_length: length }
    }

    /// Which bytes of the body the fragment brings.
    const fn range(&self) -> Range<usize> {
        self.fragment_offset..self.fragment_offset.saturating_add(self.fragment_length)
    }

    /// Whether the fragment brings the last byte of the body, or all of an empty one.
    fn is_last(&self) -> bool {
        self.range().end == self.length && (self.fragment_length != 0 || self.length == 0)
    }
}

/// What became of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// It is of the message that is due, or of a later one. Some of its bytes may have come before, or all.
    Accepted,
    /// It is of a message that was handed out already: the peer sends its flight again.
    Repeated {
        message_seq: u16,
        /// It brings the last byte of the message, or the whole message.
        whole_or_last: bool,
    },
    /// It was not kept.
    Dropped(DropCause),
}

/// Why a fragment was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropCause {
    /// Its message is longer than is accepted.
    TooLarge,
    /// Its message is more than [`MAX_AHEAD`] after the one that is due.
    TooFarAhead,
    /// It goes past the end of its message, or other fragments say that the message has another type or length.
    Inconsistent,
    /// There is no room for its message before that is due, or the message is in too many pieces.
    OverBudget,
}

/// Puts messages together and in order.
#[derive(Debug)]
pub(crate) struct Reassembler {
    max_message: usize,
    /// Of the message that is due; one more than a number has bits for after the last one.
    next_seq: u32,
    /// The message that is due and later ones, in no order, [`MAX_AHEAD`] + 1 at most.
    partial: Vec<Partial>,
}

impl Reassembler {
    /// For messages whose body has at most `max_message` bytes, of which the one numbered `next_seq` is due.
    pub(crate) const fn new(max_message: usize, next_seq: u16) -> Self {
        Self { max_message, next_seq: next_seq as u32, partial: Vec::new() }
    }

    /// Takes the fragment with this header, whose `body` has `fragment_length` bytes.
    pub(crate) fn insert(&mut self, header: FragmentHeader, body: &[u8]) -> Inserted {
        let message_seq = header.message_seq;
        if header.range().end > header.length || header.fragment_length != body.len() {
            return Inserted::Dropped(DropCause::Inconsistent);
        }
        if header.length > self.max_message {
            return Inserted::Dropped(DropCause::TooLarge);
        }
        // Numbers do not start again at 0: once all are used, whatever comes was there before.
        let Some(ahead) = u32::from(message_seq).checked_sub(self.next_seq) else {
            return Inserted::Repeated { message_seq, whole_or_last: header.is_last() };
        };
        if ahead > MAX_AHEAD {
            return Inserted::Dropped(DropCause::TooFarAhead);
        }
        match self.place(header, body) {
            Ok(()) => Inserted::Accepted,
            Err(cause) => Inserted::Dropped(cause),
        }
    }

    /// The message that is due, if it is whole: a header as if it had come in one piece, and the body.
    pub(crate) fn message(&self) -> Option<&[u8]> {
        self.partial.iter().find(|partial| self.is_due(partial) && partial.is_whole()).map(|partial| &partial.bytes[..])
    }

    /// The message that is due was handled; the one after it is due. Nothing happens unless it was whole.
    pub(crate) fn consume(&mut self) {
        if self.message().is_some() {
            self.forget_before(self.next_seq + 1); // at most 2^16: no fragment has a higher number
        }
    }

    /// The number of the message that is due.
    pub(crate) fn next_seq(&self) -> u16 {
        self.next_seq.try_into().unwrap_or(u16::MAX)
    }

    /// The message with this number is due: a server takes the first ClientHello with whatever number it has. What came
    /// before it is forgotten; if it was there before, all is.
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

    /// Whether nothing is missing of what is kept.
    pub(crate) fn is_whole(&self) -> bool {
        !self.has_gap() && self.partial.iter().all(Partial::is_whole)
    }

    /// Up to where everything came: the number of a message, and a place in its body.
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

    /// Whether the beginning of the message that is due is there.
    pub(crate) fn has_begun(&self) -> bool {
        self.frontier() != (self.next_seq, 0)
    }

    /// How many bytes of message bodies came, and are kept.
    pub(crate) fn body_bytes(&self) -> usize {
        self.partial.iter().map(|partial| partial.count).sum()
    }

    /// Whether nothing is kept.
    pub(crate) const fn is_empty(&self) -> bool {
        self.partial.is_empty()
    }

    /// How many bytes of heap this takes.
    #[cfg(any(test, terse_testing))]
    pub(crate) fn buffered(&self) -> usize {
        let heap = |partial: &Partial| partial.bytes.capacity() + partial.came.capacity() * size_of::<Range<usize>>();
        self.partial.capacity() * size_of::<Partial>() + self.partial.iter().map(heap).sum::<usize>()
    }

    fn place(&mut self, header: FragmentHeader, body: &[u8]) -> Result<(), DropCause> {
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

    /// How many bytes of body may be kept of the message with this number.
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

/// A message of which something came.
#[derive(Debug)]
struct Partial {
    /// As if it had come in one piece.
    header: FragmentHeader,
    /// The header and the body, up to the last byte that came; zeros where bytes are missing.
    bytes: Vec<u8>,
    /// How many bytes of the body came.
    count: usize,
    /// Which: in order, with gaps between them. Nothing any more once all came.
    came: Vec<Range<usize>>,
}

impl Partial {
    /// With exactly the room that `fragment` needs.
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

    /// Whether what came is not the beginning of the body.
    fn has_gap(&self) -> bool {
        match &self.came[..] {
            [] => false,
            [range] => range.start > 0,
            _ => true,
        }
    }

    /// How many bytes came from the beginning on.
    fn beginning(&self) -> usize {
        self.came.first().filter(|range| range.start == 0).map_or(0, |range| range.end)
    }

    /// How many bytes of body there is room for.
    const fn room(&self) -> usize {
        self.bytes.capacity().saturating_sub(HEADER_LEN)
    }

    /// Adds what is new. At most `budget` bytes of body may be kept.
    fn insert(&mut self, fragment: FragmentHeader, body: &[u8], budget: usize) -> Result<(), DropCause> {
        if (fragment.kind, fragment.length) != (self.header.kind, self.header.length) {
            return Err(DropCause::Inconsistent);
        }
        let new = fragment.range();
        if self.is_whole() || new.is_empty() {
            return Ok(());
        }
        // Those that overlap with the new one or touch it become one with it.
        let first = self.came.partition_point(|range| range.end < new.start);
        let last = self.came.partition_point(|range| range.start <= new.end);
        if first == last && self.came.len() == MAX_RANGES {
            return Err(DropCause::OverBudget);
        }
        self.grow(new.end, budget)?;
        let (mut merged, mut at) = (new.clone(), new.start);
        for known in self.came[first..last].iter().chain([&(new.end..new.end)]) {
            // Nothing in between starts after the end of the new one.
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

    /// Makes room up to `end`. Many small fragments must not each move what came before, so twice what is needed is set
    /// aside, but never more than the message has.
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

/// How many messages after the one that is due are kept: a flight has six at most.
const MAX_AHEAD: u32 = 8;

/// In how many separate pieces a message may be while it is put together.
const MAX_RANGES: usize = 64;

/// What is known of a message, and its header, in bytes of heap.
const MESSAGE_STATE: usize = 128;

/// Which bytes of a message came, in bytes of heap.
const RANGES: usize = MAX_RANGES * size_of::<Range<usize>>();

/// How many bytes of heap messages take beside their bodies, all in as many pieces as they may be; and once more the
/// pieces of one, while room is made for the last of them.
pub(super) const MAX_HEAP_BESIDE_BODIES: usize = (MAX_AHEAD as usize + 1) * (MESSAGE_STATE + RANGES) + RANGES;

const _: () = assert!(size_of::<Partial>() + HEADER_LEN <= MESSAGE_STATE);
