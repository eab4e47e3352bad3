//! Records as bytes, one behind the other in the order of use: what was used last is at the end.
//!
//! A record that is used, or goes, leaves a hole. A sweep closes the holes: step by step it moves what it finds towards the
//! beginning, and with it a gap, which is free once it reaches the end.
//!
//! ```text
//!   records, swept         gap              records and holes
//! ├──────────────────┤··············├──────────────────────────────┤
//! 0                  to             from                           end
//! ```
//!
//! The bytes are in chunks, so that a log that grows is never copied, and no record is in two of them.
//!
//! What must always hold: a record begins with its length in two bytes, whose first bit says that it is a hole; the order
//! of the records is that of their use.

use alloc::vec;
use alloc::vec::Vec;

use super::super::shared::length_of;

/// Records as bytes.
#[derive(Debug)]
pub(super) struct Log {
    chunks: Vec<Vec<u8>>,
    /// The chunk that is written to. Those behind it are empty.
    last: usize,
    max_bytes: usize,
    /// Bytes of records, and of holes that no sweep has passed.
    live: usize,
    holes: usize,
    /// Before this there is no record.
    start: u32,
    sweep: Option<Sweep>,
}

#[derive(Clone, Copy, Debug)]
struct Sweep {
    to: u32,
    from: u32,
}

/// A record or a hole.
struct Found {
    place: u32,
    len: usize,
    is_hole: bool,
}

/// A record was moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Bytes of a chunk. What a device keeps is in one of them, and its end is seldom filled up.
const CHUNK: usize = 0x2_0000;
const HOLE: u8 = 0x80;
const HOLE_LEN: u16 = 0x8000;

impl Log {
    /// The longest record.
    pub(super) const MAX_RECORD: usize = 0x7fff;

    /// One of at most `max_bytes`, which takes memory as it is filled.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { chunks: vec![Vec::new()], last: 0, max_bytes, live: 0, holes: 0, start: 0, sweep: None }
    }

    /// Takes all memory that the log will ever need.
    pub(super) fn reserve(&mut self) {
        let lens = (0..self.max_bytes).step_by(CHUNK).map(|begin| (self.max_bytes - begin).min(CHUNK));
        self.chunks = lens.map(Vec::with_capacity).collect();
    }

    /// Returns the bytes of records, without holes.
    pub(super) const fn live(&self) -> usize {
        self.live
    }

    /// Returns the bytes of holes that no sweep has passed.
    pub(super) const fn holes(&self) -> usize {
        self.holes
    }

    /// Bytes up to the end, with holes and gap.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.end() as usize
    }

    /// Bytes that it has memory for.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.chunks.iter().map(Vec::capacity).sum()
    }

    /// Returns whether there is no hole, and no gap.
    pub(super) const fn is_tidy(&self) -> bool {
        self.holes == 0 && self.sweep.is_none()
    }

    /// Returns whether there is a gap.
    pub(super) const fn is_swept(&self) -> bool {
        self.sweep.is_some()
    }

    /// Returns whether a record of `len` bytes has room at the end.
    pub(super) fn has_room(&self, len: usize) -> bool {
        let used = self.used();
        let begin = if used + len <= CHUNK { used } else { CHUNK };
        self.last * CHUNK + begin + len <= self.max_bytes
    }

    /// Bytes of the chunk that is written to.
    fn used(&self) -> usize {
        self.chunks.get(self.last).map_or(0, Vec::len)
    }

    fn end(&self) -> u32 {
        place_of(self.last, self.used())
    }

    /// Returns the record at `place`.
    pub(super) fn bytes(&self, place: u32) -> &[u8] {
        let (chunk, offset) = parts_of(place);
        let bytes = self.chunks.get(chunk).and_then(|chunk| chunk.get(offset..)).unwrap_or_default();
        bytes.get(..length_of(bytes)).unwrap_or_default()
    }

    /// Returns the places of all records, the least recently used first.
    pub(super) fn places(&self) -> impl Iterator<Item = u32> {
        let mut next = self.start;
        let all = core::iter::from_fn(move || {
            let found = self.at(next)?;
            next = found.place + found.len as u32; // at most a chunk's end
            Some(found)
        });
        all.filter(|found| !found.is_hole).map(|found| found.place)
    }

    /// Returns the least recently used record.
    pub(super) fn oldest(&mut self) -> Option<u32> {
        let oldest = self.places().next()?;
        self.start = oldest;
        Some(oldest)
    }

    /// Adds a record, for which there is room.
    pub(super) fn push(&mut self, record: &[u8]) -> u32 {
        if self.used() + record.len() > CHUNK {
            self.last += 1;
            if self.chunks.len() == self.last {
                self.chunks.push(Vec::new());
            }
        }
        let place = self.end();
        if let Some(chunk) = self.chunks.get_mut(self.last) {
            make_room(chunk, record.len());
            chunk.extend_from_slice(record);
            self.live += record.len();
        }
        place
    }

    /// Puts a record in the place of another one that is not shorter. False: it would leave a hole without a length.
    pub(super) fn replace(&mut self, place: u32, record: &[u8]) -> bool {
        let old = self.bytes(place).len();
        let Some(rest) = old.checked_sub(record.len()).filter(|rest| *rest != 1) else { return false };
        let (chunk, offset) = parts_of(place);
        let bytes = self.chunks.get_mut(chunk).and_then(|chunk| chunk.get_mut(offset..offset + old));
        let Some((new, hole)) = bytes.and_then(|bytes| bytes.split_at_mut_checked(record.len())) else { return false };
        new.copy_from_slice(record);
        if let Some(len) = hole.first_chunk_mut() {
            *len = (rest as u16 | HOLE_LEN).to_be_bytes(); // at most MAX_RECORD
            self.live -= rest;
            self.holes += rest;
        }
        true
    }

    /// Makes a hole of the record there. Returns its length.
    pub(super) fn remove(&mut self, place: u32) -> usize {
        let len = self.bytes(place).len();
        let is_swept = self.sweep.is_none_or(|sweep| sweep.from <= place);
        let is_last = is_swept && place + len as u32 == self.end();
        let (chunk, offset) = parts_of(place);
        let Some(chunk) = self.chunks.get_mut(chunk) else { return 0 };
        if is_last {
            chunk.truncate(offset);
        } else if let Some(first) = chunk.get_mut(offset) {
            *first |= HOLE;
            self.holes += len;
        }
        self.live -= len;
        len
    }

    /// Goes on with a sweep, or begins one, over at most `budget` bytes or a little more, until a record is moved: then it
    /// must be called again. `None`: it has reached the end, or the budget is spent.
    pub(super) fn sweep(&mut self, budget: &mut usize) -> Option<Moved> {
        while *budget > 0 {
            let Sweep { to, from } = *self.sweep.get_or_insert(Sweep { to: 0, from: 0 });
            let Some(Found { place, len, is_hole }) = self.at(from) else {
                self.finish(to);
                return None;
            };
            *budget = budget.saturating_sub(len);
            let next = place + len as u32;
            if is_hole {
                self.holes -= len;
                self.start = if self.start == place { next } else { self.start };
                self.sweep = Some(Sweep { to, from: next });
                continue;
            }
            let to = self.move_down(place, len, to);
            self.start = if self.start == place { to } else { self.start };
            self.sweep = Some(Sweep { to: to + len as u32, from: next });
            if to != place {
                return Some(Moved { from: place, to });
            }
        }
        None
    }

    /// Moves a record into the gap, which begins at `to`. Returns where it is.
    fn move_down(&mut self, from: u32, len: usize, to: u32) -> u32 {
        let (mut chunk, mut offset) = parts_of(to);
        if offset + len > CHUNK {
            self.chunks.get_mut(chunk).into_iter().for_each(|chunk| chunk.truncate(offset));
            (chunk, offset) = (chunk + 1, 0);
        }
        let to = place_of(chunk, offset);
        let (source, begin) = parts_of(from);
        match self.chunks.get_disjoint_mut([chunk, source]) {
            Ok([chunk, source]) => {
                if chunk.len() < offset + len {
                    make_room(chunk, offset + len - chunk.len());
                    chunk.resize(offset + len, 0);
                }
                if let (Some(new), Some(old)) = (chunk.get_mut(offset..offset + len), source.get(begin..begin + len)) {
                    new.copy_from_slice(old);
                }
            }
            // It is one chunk.
            Err(_) => self.chunks.get_mut(source).into_iter().for_each(|chunk| {
                chunk.copy_within(begin..begin + len, offset);
            }),
        }
        to
    }

    /// A sweep has reached the end: what is behind `to` is free.
    fn finish(&mut self, to: u32) {
        self.sweep = None;
        self.start = self.start.min(to);
        let (chunk, offset) = parts_of(to);
        for (number, bytes) in self.chunks.iter_mut().enumerate().take(self.last + 1).skip(chunk) {
            bytes.truncate(if number == chunk { offset } else { 0 });
        }
        self.last = chunk.min(self.chunks.len() - 1); // there is one
    }

    /// The record or hole at `place`, or the next one.
    fn at(&self, mut place: u32) -> Option<Found> {
        loop {
            if let Some(sweep) = self.sweep.filter(|sweep| sweep.to == place) {
                place = sweep.from;
            }
            let (chunk, offset) = parts_of(place);
            let bytes = self.chunks.get(chunk).filter(|_| chunk <= self.last)?.get(offset..).unwrap_or_default();
            match bytes.first_chunk() {
                Some([first, second]) => {
                    let len = u16::from_be_bytes([first & !HOLE, *second]).into();
                    return Some(Found { place, len, is_hole: first & HOLE != 0 });
                }
                None => place = place_of(chunk + 1, 0),
            }
        }
    }
}

fn parts_of(place: u32) -> (usize, usize) {
    (place as usize / CHUNK, place as usize % CHUNK)
}

/// The end of a chunk is the beginning of the next one.
fn place_of(chunk: usize, offset: usize) -> u32 {
    (chunk * CHUNK + offset) as u32 // a log has less than 4 GiB
}

/// Growing in small steps costs little, and leaves little over.
fn make_room(bytes: &mut Vec<u8>, additional: usize) {
    if bytes.capacity() - bytes.len() < additional {
        bytes.reserve_exact(additional.max(bytes.len() / 64));
    }
}
