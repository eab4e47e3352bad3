//! Remembers which parts of messages were sent in which records, and which of those are acknowledged (RFC 9147, 7.2).
//!
//! What must always hold: a part that a protected ACK acknowledges is never retransmitted; a part that only an
//! unprotected ACK acknowledges counts as lost at the next timeout; the memory is bounded.

use alloc::collections::{BinaryHeap, VecDeque};
use core::ops::Range;

use crate::record::datagram::RecordNumber;
use crate::time::Instant;

#[cfg(test)]
mod tests;

/// A part of a message's body. The fields are as small as possible: a flight of many messages has many parts at the
/// time of the highest memory use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The index of the piece in its flight, which has fewer than 2^16 pieces.
    piece: u16,
    /// The start of the part in the body, which has less than 2^24 bytes.
    start: u32,
    end: u32,
    /// Whether the part was sent before.
    pub(super) is_again: bool,
}

impl Part {
    /// Returns the part with these bytes of a piece's body.
    pub(super) const fn new(piece: usize, Range { start, end }: Range<usize>, is_again: bool) -> Self {
        Self { piece: piece as u16, start: start as u32, end: end as u32, is_again }
    }

    /// Returns the part that is the whole body of `len` bytes.
    pub(super) const fn whole(piece: usize, len: usize) -> Self {
        Self::new(piece, 0..len, false)
    }

    /// Returns the index of the piece in its flight.
    pub(super) const fn piece(self) -> usize {
        self.piece as usize
    }

    /// Returns which bytes of the body the part has.
    pub(super) const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Splits the part at an offset of the body.
    pub(super) const fn split_at(self, place: usize) -> (Self, Self) {
        (Self { end: place as u32, ..self }, Self { start: place as u32, ..self })
    }
}

/// The position of a record among all that were sent. The order of sending differs from the order of record numbers:
/// records of an earlier epoch may be retransmitted after those of a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The index in the order of sending.
    pub(super) place: usize,
    pub(super) number: RecordNumber,
    /// When the record was sent.
    pub(super) sent: Instant,
}

impl Position {
    /// Whether this record was sent before `other`, and has a lower record number.
    pub(super) fn precedes(self, other: Self) -> bool {
        self.place < other.place && self.number < other.number
    }

    /// Returns the later of two positions, by order of sending and by record number.
    fn or_later(self, other: Self) -> Self {
        let last = if self.place > other.place { self } else { other };
        Self { number: self.number.max(other.number), ..last }
    }
}

/// The parts that were sent, in the order of sending.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    entries: VecDeque<Entry>,
    /// The last piece of which a part was sent.
    last_piece: Option<usize>,
}

#[derive(Debug)]
struct Entry {
    record: RecordNumber,
    sent: Instant,
    piece: u16,
    start: u32,
    end: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sent,
    /// The record is acknowledged by an unprotected ACK, which anybody may have sent.
    Claimed,
    Acknowledged,
}

/// The most parts that are remembered: twice those of a long certificate chain in datagrams for IEEE 802.15.4. ACKs of
/// forgotten parts are ignored; acknowledged parts are forgotten last.
const MAX_ENTRIES: usize = 256;

/// The most bytes of heap that the entries take, while the buffer grows.
pub(super) const MAX_HEAP: usize = MAX_ENTRIES * size_of::<Entry>() * 3 / 2;

impl Outstanding {
    /// Notes that these parts were sent in a record.
    pub(super) fn sent(&mut self, record: RecordNumber, parts: &[Part], now: Instant) {
        for part in parts {
            if self.entries.len() == MAX_ENTRIES {
                let oldest = self.entries.iter().position(|entry| entry.state != State::Acknowledged);
                self.entries.remove(oldest.unwrap_or(0));
            }
            let Part { piece, start, end, .. } = *part;
            let entry = Entry { record, sent: now, piece, start, end, state: State::Sent };
            self.entries.push_back(entry);
        }
    }

    /// Notes that a part of this piece was sent, and of all pieces before it.
    pub(super) const fn note_piece(&mut self, piece: usize) {
        self.last_piece = Some(match self.last_piece {
            Some(last) if last > piece => last,
            _ => piece,
        });
    }

    /// Returns the last piece of which a part was sent.
    pub(super) const fn last_piece(&self) -> Option<usize> {
        self.last_piece
    }

    /// Notes that an ACK, protected or not, acknowledges these records. Returns the latest position of them.
    pub(super) fn acknowledge(
        &mut self,
        numbers: impl Iterator<Item = RecordNumber>,
        is_protected: bool,
    ) -> Option<Position> {
        let mut latest: Option<Position> = None;
        for number in numbers {
            for (place, entry) in self.entries.iter_mut().enumerate().filter(|(_, entry)| entry.record == number) {
                if is_protected {
                    entry.state = State::Acknowledged;
                } else if entry.state == State::Sent {
                    entry.state = State::Claimed;
                }
                let position = Position { place, number, sent: entry.sent };
                latest = Some(latest.map_or(position, |latest| latest.or_later(position)));
            }
        }
        latest
    }

    /// Forgets unprotected ACKs: no answer came, so the records may be lost after all.
    pub(super) fn forget_claims(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.state == State::Claimed) {
            entry.state = State::Sent;
        }
    }

    /// Whether the whole body of a piece is acknowledged.
    pub(super) fn is_acknowledged(&self, piece: usize, len: usize) -> bool {
        let mut is_missing = false;
        self.gaps(piece, len, |_, entry| entry.state == State::Acknowledged, |_| is_missing = true);
        !is_missing
    }

    /// Whether a protected ACK has acknowledged anything.
    pub(super) fn has_acknowledged(&self) -> bool {
        self.entries.iter().any(|entry| entry.state == State::Acknowledged)
    }

    /// Calls `give` with the parts of a piece that are neither acknowledged nor on their way. `is_on_its_way` tells by
    /// the position of a record whether it may still arrive.
    pub(super) fn missing(
        &self,
        piece: usize,
        len: usize,
        is_on_its_way: impl Fn(Position) -> bool,
        mut give: impl FnMut(Part),
    ) {
        let is_safe = |place, entry: &Entry| match entry.state {
            State::Sent => is_on_its_way(Position { place, number: entry.record, sent: entry.sent }),
            State::Claimed | State::Acknowledged => true,
        };
        let is_again = self.last_piece.is_some_and(|last| piece <= last);
        self.gaps(piece, len, is_safe, |gap| give(Part::new(piece, gap, is_again)));
    }

    /// Calls `gap` with each range of a piece's body that no entry covers for which `counts` holds.
    fn gaps(
        &self,
        piece: usize,
        len: usize,
        counts: impl Fn(usize, &Entry) -> bool,
        mut gap: impl FnMut(Range<usize>),
    ) {
        let of_piece = |(place, entry): &(usize, &Entry)| usize::from(entry.piece) == piece && counts(*place, entry);
        let covered: BinaryHeap<_> = self
            .entries
            .iter()
            .enumerate()
            .filter(of_piece)
            .map(|(_, entry)| (entry.start as usize, entry.end as usize))
            .collect();
        let covered = covered.into_sorted_vec(); // `sort_unstable` takes 2 kB of code
        if len == 0 {
            if covered.is_empty() {
                gap(0..0);
            }
            return;
        }
        let mut at = 0;
        for (start, end) in covered {
            if start > at {
                gap(at..start);
            }
            at = at.max(end);
        }
        if at < len {
            gap(at..len);
        }
    }
}
