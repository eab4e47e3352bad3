//! What a device keeps for its next start, in two slots.
//!
//! What must always hold: a reset at any time, also in the middle of a write, leaves the content before or the content after. A
//! slot counts if its hash is right; of two that count, the later one. The other one is written next.

use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

/// Two pages of flash, or whatever keeps bytes. A slot that was never written has any content.
pub trait Slots {
    /// Returns the content of slot 0 or 1, with what may follow it.
    fn read(&mut self, slot: usize) -> Vec<u8>;

    /// Replaces the content of slot 0 or 1. Returns whether it is written.
    fn write(&mut self, slot: usize, content: &[u8]) -> bool;
}

/// The storage of a device.
pub struct Storage<S> {
    slots: S,
    /// The number of the content that counts; 0 if none does.
    number: u32,
    content: Vec<u8>,
}

impl<S: Slots> Storage<S> {
    /// Reads what was kept last.
    pub fn open(mut slots: S) -> Self {
        let (mut number, mut content) = (0, Vec::new());
        for slot in 0..2 {
            let bytes = slots.read(slot);
            if let Some((later, found)) = parse(&bytes).filter(|(found, _)| *found > number) {
                (number, content) = (later, found.to_vec());
            }
        }
        Self { slots, number, content }
    }

    /// Returns what was kept last; empty if nothing was.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Keeps `content`, unless it is kept already. Returns whether it is kept.
    pub fn keep(&mut self, content: Vec<u8>) -> bool {
        if content == self.content {
            return true;
        }
        let number = self.number.saturating_add(1);
        let is_written = self.slots.write(number as usize % 2, &encode(number, &content));
        if is_written {
            (self.number, self.content) = (number, content);
        }
        is_written
    }
}

/// A slot: a number, the length of the content, both in four bytes, the content, and the SHA-256 of all that.
fn encode(number: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_LEN + content.len() + HASH_LEN);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend_from_slice(&(content.len() as u32).to_be_bytes());
    bytes.extend_from_slice(content);
    let hash = Sha256::digest(&bytes);
    bytes.extend_from_slice(&hash);
    bytes
}

fn parse(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    let (len, _) = rest.split_first_chunk()?;
    let end = HEADER_LEN.checked_add(u32::from_be_bytes(*len) as usize)?;
    let (signed, rest) = bytes.split_at_checked(end)?;
    let hash = rest.get(..HASH_LEN)?;
    (Sha256::digest(signed)[..] == *hash).then(|| (u32::from_be_bytes(*number), &signed[HEADER_LEN..]))
}

const HEADER_LEN: usize = 8;
const HASH_LEN: usize = 32;

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// Slots in memory, whose power fails after so many more bytes are written.
    #[derive(Default)]
    struct Memory {
        slots: [Vec<u8>; 2],
        power: Option<usize>,
    }

    impl Slots for &mut Memory {
        fn read(&mut self, slot: usize) -> Vec<u8> {
            self.slots[slot].clone()
        }

        fn write(&mut self, slot: usize, content: &[u8]) -> bool {
            let len = self.power.map_or(content.len(), |power| power.min(content.len()));
            self.slots[slot] = content[..len].to_vec();
            len == content.len()
        }
    }

    #[test]
    fn what_is_kept_is_there_after_a_reset() {
        let mut memory = Memory::default();
        for content in [b"one".to_vec(), b"another".to_vec(), Vec::new(), vec![7; 5_000]] {
            assert!(Storage::open(&mut memory).keep(content.clone()));
            assert_eq!(Storage::open(&mut memory).content(), content);
        }
    }

    #[test]
    fn a_reset_in_the_middle_of_a_write_leaves_what_was_kept_before() {
        let mut memory = Memory::default();
        for round in 0..3_u8 {
            assert!(Storage::open(&mut memory).keep(vec![round; 100]));
            for power in 0..HEADER_LEN + 100 + HASH_LEN {
                memory.power = Some(power);
                assert!(!Storage::open(&mut memory).keep(vec![0xff; 100]));
                memory.power = None;
                assert_eq!(Storage::open(&mut memory).content(), vec![round; 100], "{power}");
            }
        }
    }

    #[test]
    fn damaged_slots_do_not_count() {
        let mut memory = Memory::default();
        assert!(Storage::open(&mut memory).keep(b"before".to_vec()));
        assert!(Storage::open(&mut memory).keep(b"after".to_vec()));
        let (written, whole) = (memory.slots[0].clone(), memory.slots[1].clone());
        for byte in 0..written.len() {
            memory.slots[0] = written.clone();
            memory.slots[0][byte] ^= 1;
            assert_eq!(Storage::open(&mut memory).content(), b"before", "{byte}");
        }
        memory.slots = [written, whole];
        assert_eq!(Storage::open(&mut memory).content(), b"after");
    }

    #[test]
    fn the_same_is_not_written_again() {
        let mut memory = Memory::default();
        let mut storage = Storage::open(&mut memory);
        assert!(storage.keep(b"same".to_vec()));
        storage.slots.power = Some(0);
        assert!(storage.keep(b"same".to_vec()));
        assert!(!storage.keep(b"other".to_vec()));
    }
}
