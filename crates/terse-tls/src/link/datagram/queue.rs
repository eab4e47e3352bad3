//! A queue of records of application data and alerts that wait to be sent, each as a datagram of its own.

use alloc::vec::Vec;

use crate::link::empty;

/// Records in one buffer, the oldest first. Each is preceded by its length.
#[derive(Default)]
pub(super) struct Queue {
    bytes: Vec<u8>,
    /// The offset of the oldest record's length.
    start: usize,
    count: usize,
}

/// The type of a record's length in the buffer.
type Len = u32;

/// How many bytes a length takes in the buffer.
const PREFIX: usize = size_of::<Len>();

impl Queue {
    /// Returns how many bytes of records wait to be sent.
    pub(super) const fn len(&self) -> usize {
        self.bytes.len() - self.start - self.count * PREFIX
    }

    /// Adds a record: `head` bytes of space, `content`, and `tail` bytes of space, which `seal` protects in place. If
    /// it fails, nothing is added, since no plaintext may be sent.
    pub(super) fn push<E>(
        &mut self,
        (head, content, tail): (usize, &[u8], usize),
        seal: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let len = head + content.len() + tail;
        let before = self.bytes.len();
        let begin = before + PREFIX;
        self.bytes.reserve(PREFIX + len);
        self.bytes.extend_from_slice(&(len as Len).to_ne_bytes()); // no record is that long
        self.bytes.resize(begin + head, 0);
        self.bytes.extend_from_slice(content);
        self.bytes.resize(begin + len, 0);
        let sealed = seal(&mut self.bytes[begin..]);
        match &sealed {
            Ok(()) => self.count += 1,
            Err(_) => self.bytes.truncate(before),
        }
        sealed
    }

    /// Moves the oldest record to `out`, if it fits there. Returns its length, or 0.
    pub(super) fn pop(&mut self, out: &mut [u8]) -> usize {
        let Some((len, records)) = self.bytes[self.start..].split_first_chunk() else { return 0 };
        let len = Len::from_ne_bytes(*len) as usize;
        let (Some(place), Some(record)) = (out.get_mut(..len), records.get(..len)) else { return 0 };
        place.copy_from_slice(record);
        self.start += PREFIX + len;
        self.count -= 1;
        if self.count == 0 {
            empty(&mut self.bytes);
            self.start = 0;
        } else if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start); // otherwise it would accumulate
            self.start = 0;
        }
        place.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &mut Queue, content: &[u8]) {
        let seal = |record: &mut [u8]| {
            record[0] = record.len() as u8;
            Ok::<_, ()>(())
        };
        queue.push((1, content, 2), seal).unwrap();
    }

    #[test]
    fn records_leave_in_order_and_one_at_a_time() {
        let (mut queue, mut out) = (Queue::default(), [0xff; 300]);
        assert_eq!((queue.pop(&mut out), queue.len()), (0, 0));
        for round in 0..100 {
            push(&mut queue, &[round; 9]);
            push(&mut queue, &[round + 100; 99]);
            assert_eq!(queue.pop(&mut out), 12);
            assert_eq!(out[..12], [&[12][..], &[round; 9], &[0, 0]].concat());
            push(&mut queue, &[round; 4]);
            assert_eq!(queue.pop(&mut out[..50]), 0, "it waits for more room");
            assert_eq!(queue.pop(&mut out), 102);
            assert_eq!(queue.len(), 7);
            assert_eq!(queue.pop(&mut out), 7);
            assert!(queue.bytes.capacity() <= crate::link::KEPT_BUFFER);
        }
    }

    #[test]
    fn what_cannot_be_sealed_leaves_nothing() {
        let mut queue = Queue::default();
        push(&mut queue, &[1]);
        assert_eq!(queue.push((1, b"secret", 2), |_| Err(7)), Err(7));
        assert_eq!((queue.pop(&mut [0; 20]), queue.pop(&mut [0; 20]), queue.len()), (4, 0, 0));
    }
}
