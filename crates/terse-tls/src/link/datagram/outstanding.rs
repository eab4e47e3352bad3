//! Which parts of messages went into which records, and which of those the peer has (RFC 9147, 7.2).
//!
//! What must always hold: what is acknowledged under keys is never sent again; what anybody may have acknowledged,
//! without keys, is taken for lost at the next timeout; what is kept is bounded.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use crate::record::datagram::RecordNumber;
use crate::time::Instant;

#[cfg(test)]
mod tests;

/// A part of the body of a message. Numbers are as short as they can be: a flight of many messages has many parts, when
/// the heap is fullest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// A flight has fewer than 2^16.
    piece: u16,
    /// A message has less than 2^24 bytes.
    start: u32,
    end: u32,
    /// It was sent before.
    pub(super) is_again: bool,
}

impl Part {
    /// These bytes of the body of a piece of the flight.
    pub(super) const fn new(piece: usize, Range { start, end }: Range<usize>, is_again: bool) -> Self {
        Self { piece: piece as u16, start: start as u32, end: end as u32, is_again }
    }

    /// A whole message with a body of so many bytes.
    pub(super) const fn whole(piece: usize, len: usize) -> Self {
        Self::new(piece, 0..len, false)
    }

    /// Which piece of the flight.
    pub(super) const fn piece(self) -> usize {
        self.piece as usize
    }

    /// Which bytes of its body.
    pub(super) const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// What of it comes before a place in the body, and what after it.
    pub(super) const fn split_at(self, place: usize) -> (Self, Self) {
        (Self { end: place as u32, ..self }, Self { start: place as u32, ..self })
    }
}

/// Where a record is among those that were sent. The numbers of an ACK go up, through one epoch after the other; of an
/// earlier epoch something may be sent again after all of a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// In the order of sending.
    pub(super) place: usize,
    pub(super) number: RecordNumber,
    /// When.
    pub(super) sent: Instant,
}

impl Position {
    /// Whether this record was sent before `other`, and comes before it in ACKs.
    pub(super) fn precedes(self, other: Self) -> bool {
        self.place < other.place && self.number < other.number
    }

    /// Up to where both are known of.
    fn or_later(self, other: Self) -> Self {
        let last = if self.place > other.place { self } else { other };
        Self { number: self.number.max(other.number), ..last }
    }
}

/// What was sent, in the order of sending.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    entries: VecDeque<Entry>,
    /// The last piece of which something was sent.
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
    /// By somebody without keys.
    Claimed,
    Acknowledged,
}

/// How many parts are remembered: two times those of a long chain in datagrams for IEEE 802.15.4. Of older ones an
/// acknowledgement is not understood; what is acknowledged goes last.
const MAX_ENTRIES: usize = 256;

/// How many bytes of heap all of them take, while room is made for the last ones.
pub(super) const MAX_HEAP: usize = MAX_ENTRIES * size_of::<Entry>() * 3 / 2;

impl Outstanding {
    /// These parts went into a record.
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

    /// Something of this piece was sent, and of all before it.
    pub(super) const fn note_piece(&mut self, piece: usize) {
        self.last_piece = Some(match self.last_piece {
            Some(last) if last > piece => last,
            _ => piece,
        });
    }

    /// The last piece of which something was sent.
    pub(super) const fn last_piece(&self) -> Option<usize> {
        self.last_piece
    }

    /// These records arrived, as somebody says who has keys or not. Returns up to where they are known to have.
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

    /// Nobody went on: what was claimed without keys may not have arrived.
    pub(super) fn forget_claims(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.state == State::Claimed) {
            entry.state = State::Sent;
        }
    }

    /// Whether all of the body of a piece is acknowledged.
    pub(super) fn is_acknowledged(&self, piece: usize, len: usize) -> bool {
        let mut is_missing = false;
        self.gaps(piece, len, |_, entry| entry.state == State::Acknowledged, |_| is_missing = true);
        !is_missing
    }

    /// Whether anything is acknowledged, under keys.
    pub(super) fn has_acknowledged(&self) -> bool {
        self.entries.iter().any(|entry| entry.state == State::Acknowledged)
    }

    /// Gives the parts of a piece that are not acknowledged, nor on their way: asked for with where and when they were
    /// sent.
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

    /// What of the body of a piece no entry covers for which `counts` holds.
    fn gaps(
        &self,
        piece: usize,
        len: usize,
        counts: impl Fn(usize, &Entry) -> bool,
        mut gap: impl FnMut(Range<usize>),
    ) {
        let of_piece = |(place, entry): &(usize, &Entry)| usize::from(entry.piece) == piece && counts(*place, entry);
        let mut covered: Vec<_> = self
            .entries
            .iter()
            .enumerate()
            .filter(of_piece)
            .map(|(_, entry)| (entry.start as usize, entry.end as usize))
            .collect();
        covered.sort_unstable();
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
