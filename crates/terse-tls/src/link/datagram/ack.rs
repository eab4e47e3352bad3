//! The ACKs that this side sends (RFC 9147, 7.1).
//!
//! ```text
//! struct { uint64 epoch; uint64 sequence_number; } RecordNumber;
//! struct { RecordNumber record_numbers<0..2^16-1>; } ACK;
//! ```
//!
//! During the handshake the peer's flight is acknowledged by the answer. An ACK is sent when something is missing: at
//! once when a fragment came out of order, but at most once per quarter of the retransmission timer; and when a quarter
//! of the timer has passed since the last fragment came. After the handshake every record of handshake messages is
//! acknowledged, at once when a message is complete.
//!
//! What must always hold: a record is acknowledged only if its messages were handled or are buffered; the memory is
//! bounded; when an ACK is due, there is something to acknowledge.

use alloc::vec::Vec;

use crate::record::datagram::RecordNumber;
use crate::time::Instant;

#[cfg(test)]
mod tests;

/// Records of handshake messages that were received and may be acknowledged (RFC 9147, 7.1).
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    /// The records whose messages are buffered or were handled.
    pub(crate) numbers: Vec<RecordNumber>,
    /// Whether something before them is missing.
    pub(crate) has_gap: bool,
    /// Whether every message of which a fragment came is complete, or the last one was retransmitted.
    pub(crate) is_whole: bool,
    /// Whether records came of an epoch whose keys are not known yet.
    pub(crate) lacks_keys: bool,
}

/// The records that are to be acknowledged, and when.
#[derive(Debug, Default)]
pub(super) struct Acks {
    numbers: Vec<RecordNumber>,
    /// Whether the keys of received records are not known yet: if nothing else can be acknowledged, an empty ACK is
    /// sent.
    lacks_keys: bool,
    deadline: Option<Instant>,
    is_due: bool,
    last_sent: Option<Instant>,
}

/// The most records that are remembered.
const MAX_NUMBERS: usize = 128;

/// The length of a `RecordNumber` in bytes.
const NUMBER_LEN: usize = 16;

/// The most bytes of heap that the numbers take, while the buffer grows.
pub(super) const MAX_HEAP: usize = MAX_NUMBERS * size_of::<RecordNumber>() * 3 / 2;

/// The longest ACK that is accepted without protection.
pub(super) const MAX_UNPROTECTED: usize = 2 + MAX_NUMBERS * NUMBER_LEN;

impl Acks {
    /// Notes that a part of a flight arrived. `quarter` is a quarter of the timer in milliseconds, if a part of a
    /// flight is acknowledged; `is_after` says that the handshake is over, so that only an ACK answers it.
    pub(super) fn note(&mut self, now: Instant, arrived: Arrived, quarter: Option<u64>, is_after: bool) {
        for number in arrived.numbers {
            if let Err(place) = self.numbers.binary_search(&number) {
                let is_full = self.numbers.len() == MAX_NUMBERS;
                if is_full {
                    self.numbers.remove(0); // the peer will retransmit it
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
            return; // no timer that would wake a device in vain
        }
        if arrived.has_gap && !is_early {
            self.is_due = true;
        } else {
            self.deadline = Some(Instant(now.0.saturating_add(quarter)));
        }
    }

    /// Forgets all records: the answer acknowledges them.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// Makes an ACK due at once: no other message answers the records.
    pub(super) fn finish(&mut self) {
        (self.deadline, self.lacks_keys) = (None, false);
        self.is_due = !self.numbers.is_empty();
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Makes an ACK due if its deadline has passed.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            (self.deadline, self.is_due) = (None, true);
        }
    }

    pub(super) const fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether protected records of DTLS 1.3 came, so that the peer understands ACKs.
    fn peer_has_acks(&self) -> bool {
        self.lacks_keys || self.numbers.iter().any(|number| number.epoch > 0)
    }

    /// Writes an ACK of as many records as fit, and forgets those. Returns its length; 0 if nothing fits.
    pub(super) fn fill(&mut self, now: Instant, room: &mut [u8]) -> usize {
        let count = max_numbers(room.len()).min(self.numbers.len());
        let len = count * NUMBER_LEN;
        if room.len() < 2 || (count == 0 && !self.numbers.is_empty()) {
            return 0;
        }
        room[..2].copy_from_slice(&(len as u16).to_be_bytes()); // at most MAX_NUMBERS
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

/// Returns the most record numbers that an ACK of `len` bytes has.
pub(super) const fn max_numbers(len: usize) -> usize {
    len.saturating_sub(2) / NUMBER_LEN
}

/// Returns the record numbers of an ACK; `None` if it is malformed.
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
