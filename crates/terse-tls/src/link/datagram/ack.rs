//! What this side acknowledges, and when (RFC 9147, 7.1).
//!
//! ```text
//! struct { uint64 epoch; uint64 sequence_number; } RecordNumber;
//! struct { RecordNumber record_numbers<0..2^16-1>; } ACK;
//! ```
//!
//! During the handshake the peer's flight is acknowledged by the answer. An ACK goes out when something is missing: at
//! once when a part came too early, but not more often than a quarter of the timer; and when a quarter of the timer has
//! passed since anything came. After the handshake every record of handshake messages is acknowledged, and at once when
//! the last one of a message came.
//!
//! What must always hold: only records are acknowledged whose messages were handled or are kept; what is kept is
//! bounded; when the time has come, there is something to say.

use alloc::vec::Vec;

use crate::record::datagram::RecordNumber;
use crate::time::Instant;

#[cfg(test)]
mod tests;

/// Records of handshake messages that came, of which the peer may be told (RFC 9147, 7.1).
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    /// Those whose messages are kept, or were handled.
    pub(crate) numbers: Vec<RecordNumber>,
    /// Something before them is missing.
    pub(crate) has_gap: bool,
    /// Every message that anything came of is whole, or the last one came again.
    pub(crate) is_whole: bool,
    /// There are others, of an epoch whose keys are not there.
    pub(crate) lacks_keys: bool,
}

/// Records that are to be acknowledged.
#[derive(Debug, Default)]
pub(super) struct Acks {
    numbers: Vec<RecordNumber>,
    /// The peer's next keys are missing here: if need be, an empty ACK says that something arrived.
    lacks_keys: bool,
    deadline: Option<Instant>,
    is_due: bool,
    last_sent: Option<Instant>,
}

/// How many records are remembered.
const MAX_NUMBERS: usize = 128;

/// Length of a `RecordNumber` in bytes.
const NUMBER_LEN: usize = 16;

/// How many bytes of heap all of them take, while room is made for the last ones.
pub(super) const MAX_HEAP: usize = MAX_NUMBERS * size_of::<RecordNumber>() * 3 / 2;

/// The longest ACK that is taken without protection: no more than a ServerHello was sent without.
pub(super) const MAX_UNPROTECTED: usize = 2 + MAX_NUMBERS * NUMBER_LEN;

impl Acks {
    /// Something of a flight came. `quarter` of the timer, in milliseconds, if ACKs are made of a part of a flight;
    /// `is_after` the handshake: nothing else answers it.
    pub(super) fn note(&mut self, now: Instant, arrived: Arrived, quarter: Option<u64>, is_after: bool) {
        for number in arrived.numbers {
            if let Err(place) = self.numbers.binary_search(&number) {
                let is_full = self.numbers.len() == MAX_NUMBERS;
                if is_full {
                    self.numbers.remove(0); // the peer will send it again
                }
                self.numbers.insert(place.saturating_sub(is_full.into()), number);
            }
        }
        self.lacks_keys |= arrived.lacks_keys;
        if is_after && arrived.is_whole {
            return self.finish();
        }
        let Some(quarter) = quarter else { return };
        let is_early = self.last_sent.is_some_and(|sent| now.since(sent) < quarter);
        if !self.peer_has_acks() {
            return; // no timer wakes a device for nothing
        }
        if arrived.has_gap && !is_early {
            self.is_due = true;
        } else {
            self.deadline = Some(Instant(now.0.saturating_add(quarter)));
        }
    }

    /// The answer says that everything came.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// Nothing else answers what came.
    pub(super) fn finish(&mut self) {
        (self.deadline, self.lacks_keys) = (None, false);
        self.is_due = !self.numbers.is_empty();
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Looks whether the time has come.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            (self.deadline, self.is_due) = (None, true);
        }
    }

    pub(super) const fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether something came under keys of DTLS 1.3, which is to be acknowledged or could not be read.
    fn peer_has_acks(&self) -> bool {
        self.lacks_keys || self.numbers.iter().any(|number| number.epoch > 0)
    }

    /// Writes an ACK of what fits, and forgets that. Returns its length; 0 if nothing fits.
    pub(super) fn fill(&mut self, now: Instant, room: &mut [u8]) -> usize {
        let count = max_numbers(room.len()).min(self.numbers.len());
        let len = count * NUMBER_LEN;
        if room.len() < 2 || (count == 0 && !self.numbers.is_empty()) {
            return 0;
        }
        room[..2].copy_from_slice(&(len as u16).to_be_bytes()); // of at most MAX_NUMBERS
        for (place, number) in room[2..].chunks_exact_mut(NUMBER_LEN).zip(self.numbers.drain(..count)) {
            place[..8].copy_from_slice(&number.epoch.to_be_bytes());
            place[8..].copy_from_slice(&number.sequence_number.to_be_bytes());
        }
        self.lacks_keys = false;
        self.is_due = !self.numbers.is_empty();
        self.last_sent = Some(now);
        if !self.is_due {
            (self.numbers, self.deadline) = (Vec::new(), None);
        }
        2 + len
    }
}

/// How many numbers an ACK of so many bytes has at most.
pub(super) const fn max_numbers(len: usize) -> usize {
    len.saturating_sub(2) / NUMBER_LEN
}

/// The record numbers of an ACK. `None`: it is malformed.
pub(super) fn parse(content: &[u8]) -> Option<Vec<RecordNumber>> {
    let (len, numbers) = content.split_first_chunk::<2>()?;
    let (numbers, rest) = numbers.as_chunks::<NUMBER_LEN>();
    if usize::from(u16::from_be_bytes(*len)) != numbers.len() * NUMBER_LEN || !rest.is_empty() {
        return None;
    }
    let number = |bytes: &[u8; NUMBER_LEN]| {
        let number = u128::from_be_bytes(*bytes);
        RecordNumber { epoch: (number >> 64) as u64, sequence_number: number as u64 }
    };
    Some(numbers.iter().map(number).collect())
}
