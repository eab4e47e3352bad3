//! Records that wait to be sent, each as a datagram of its own: application data and alerts.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::link::empty;

/// Records, in one buffer, the oldest first.
#[derive(Default)]
pub(super) struct Queue {
    bytes: Vec<u8>,
    /// Where the oldest begins.
    start: usize,
    lens: VecDeque<usize>,
}

impl Queue {
    /// Bytes that wait.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Adds a record that `seal` makes of room for `head` bytes, `content`, and room for `tail` bytes. If it fails,
    /// nothing is added: no plaintext may leave.
    pub(super) fn push<E>(
        &mut self,
        (head, content, tail): (usize, &[u8], usize),
        seal: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = self.bytes.len();
        let len = head + content.len() + tail;
        self.bytes.reserve(len);
        self.bytes.resize(begin + head, 0);
        self.bytes.extend_from_slice(content);
        self.bytes.resize(begin + len, 0);
        let sealed = seal(&mut self.bytes[begin..]);
        match &sealed {
            Ok(()) => self.lens.push_back(len),
            Err(_) => self.bytes.truncate(begin),
        }
        sealed
    }

    /// Moves the oldest record to `out`, if it fits there. Returns its length, or 0.
    pub(super) fn pop(&mut self, out: &mut [u8]) -> usize {
        let Some(place) = self.lens.front().and_then(|len| out.get_mut(..*len)) else { return 0 };
        let end = self.start + place.len();
        place.copy_from_slice(&self.bytes[self.start..end]);
        self.start = end;
        self.lens.pop_front();
        if self.lens.is_empty() {
            empty(&mut self.bytes);
            (self.start, self.lens) = (0, VecDeque::new());
        } else if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start); // or it would add up while more comes than goes
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
