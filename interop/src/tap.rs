//! A tap reads the headers of the records that cross a wire (RFC 9846, 5.1).
//!
//! What must always hold: every byte is counted once, in the record that it belongs to.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};

use terse_tls::ContentType;

/// The records of one direction.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// The number of all bytes.
    pub bytes: u64,
    /// The type, and the length with the header, of each record that has begun.
    pub seen: Vec<(ContentType, usize)>,
    header: Vec<u8>,
    /// The number of bytes left of the current record.
    left: usize,
}

const HEADER_LEN: usize = 5;

impl Records {
    /// Counts a stretch of the stream.
    pub fn add(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let skipped = self.left.min(bytes.len());
            self.left -= skipped;
            bytes = &bytes[skipped..];
            let taken = if self.left == 0 { (HEADER_LEN - self.header.len()).min(bytes.len()) } else { 0 };
            self.header.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if let [kind, _, _, high, low] = self.header[..] {
                self.left = usize::from(u16::from_be_bytes([high, low]));
                self.seen.push((ContentType(kind), HEADER_LEN + self.left));
                self.header.clear();
            }
        }
    }

    /// Returns the number of records of this type.
    pub fn count(&self, kind: ContentType) -> usize {
        self.seen.iter().filter(|(seen, _)| *seen == kind).count()
    }

    /// Returns the length of the longest record from this index on, header included.
    pub fn longest(&self, from: usize) -> usize {
        self.seen.iter().skip(from).map(|(_, len)| *len).max().unwrap_or(0)
    }
}

/// The records of both directions.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The records that the wire's owner wrote.
    pub sent: Records,
    /// The records that the wire's owner read.
    pub received: Records,
}

/// A ledger that is being written.
#[derive(Clone, Debug, Default)]
pub struct SharedLedger(Arc<Mutex<Ledger>>);

impl SharedLedger {
    /// Locks the ledger, to read or write it.
    pub fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A carrier of bytes.
pub trait Wire: Read + Write {
    /// Ends the writing direction, and ignores further input.
    fn end(&mut self);
}

/// A wire whose records are counted, and that can be told to carry a few bytes at a time.
pub struct Tap {
    wire: Box<dyn Wire>,
    stretch: usize,
    ledger: SharedLedger,
}

impl Tap {
    /// Creates a tap on `wire`, which moves at most `stretch` bytes a call.
    pub fn new(wire: Box<dyn Wire>, stretch: usize, ledger: SharedLedger) -> Self {
        Self { wire, stretch, ledger }
    }

    /// Ends the wire, as [`Wire::end`] does.
    pub fn end(&mut self) {
        self.wire.end();
    }
}

impl Read for Tap {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let room = out.len().min(self.stretch);
        let len = self.wire.read(&mut out[..room])?;
        self.ledger.lock().received.add(&out[..len]);
        Ok(len)
    }
}

impl Write for Tap {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let len = self.wire.write(&data[..data.len().min(self.stretch)])?;
        self.ledger.lock().sent.add(&data[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wire.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_counted_however_they_arrive() {
        let stream = [&[22, 3, 1, 0, 2, 9, 9][..], &[20, 3, 3, 0, 1, 1], &[23, 3, 3, 0, 0], &[23, 3, 3, 1]].concat();
        let expected = [(ContentType(22), 7), (ContentType(20), 6), (ContentType(23), 5)];
        for stretch in 1..=stream.len() {
            let mut records = Records::default();
            stream.chunks(stretch).for_each(|part| records.add(part));
            assert_eq!((&records.seen[..], records.bytes), (&expected[..], 22), "stretch {stretch}");
        }
    }
}
