//! Data that arrived out of order is kept in blocks that neither touch nor overlap; SACK blocks report them (RFC 2018,
//! 4).

use super::{SackBlock, SequenceNumber};

/// The queue of segments that arrived out of order.
///
/// It holds at most as many blocks as it was made for. The caller cuts data to the window, which bounds the bytes.
#[derive(Clone, Debug)]
pub(super) struct Reassembly {
    /// The blocks, in order of their sequence numbers.
    blocks: Vec<Block>,
    maximum: usize,
    /// A counter of insertions, by which blocks know which of them grew last.
    clock: u64,
}

#[derive(Clone, Debug)]
struct Block {
    left: SequenceNumber,
    bytes: Vec<u8>,
    touched: u64,
}

impl Reassembly {
    pub(super) const fn new(maximum: usize) -> Self {
        Self { blocks: Vec::new(), maximum, clock: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the number of bytes.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.bytes.len()).sum()
    }

    /// Returns the sequence number after the last octet.
    pub(super) fn end(&self) -> Option<SequenceNumber> {
        self.blocks.last().map(Block::right)
    }

    /// Keeps `data`, which begins at `left`. Data for which there is no room is dropped: it will be sent again.
    pub(super) fn insert(&mut self, left: SequenceNumber, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        self.clock += 1;
        let right = left + data.len() as u32;
        let first = self.blocks.partition_point(|block| block.right().is_before(left));
        let touching = self.blocks[first..].partition_point(|block| !block.left.is_after(right));
        if touching == 0 {
            if self.blocks.len() < self.maximum {
                self.blocks.insert(first, Block { left, bytes: data.to_vec(), touched: self.clock });
            }
            return;
        }
        // Where both have an octet, the one that is already here is kept.
        let mut merged = Block { left, bytes: Vec::new(), touched: self.clock };
        let mut rest = data;
        let mut at = left;
        for block in self.blocks.drain(first..first + touching) {
            let gap = (block.left.saturating_since(at) as usize).min(rest.len());
            merged.left = merged.left.earlier(block.left);
            merged.bytes.extend_from_slice(&rest[..gap]);
            merged.bytes.extend_from_slice(&block.bytes);
            let covered = (block.right().saturating_since(at) as usize).min(rest.len());
            rest = &rest[covered..];
            at = at.later(block.right());
        }
        merged.bytes.extend_from_slice(rest);
        self.blocks.insert(first, merged);
    }

    /// Removes and returns the data that continues at `next`. Data before it is dropped.
    pub(super) fn take(&mut self, next: SequenceNumber) -> Option<Vec<u8>> {
        while let Some(block) = self.blocks.first() {
            if block.left.is_after(next) {
                return None;
            }
            let known = next.since(block.left) as usize;
            let mut block = self.blocks.remove(0);
            if known < block.bytes.len() {
                return Some(block.bytes.split_off(known));
            }
        }
        None
    }

    /// Returns at most `maximum` blocks for an acknowledgement, the one that grew last first (RFC 2018, 4).
    pub(super) fn sack_blocks(&self, maximum: usize) -> Vec<SackBlock> {
        let mut blocks: Vec<&Block> = self.blocks.iter().collect();
        blocks.sort_by_key(|block| core::cmp::Reverse(block.touched));
        blocks.iter().take(maximum).map(|block| SackBlock { left: block.left, right: block.right() }).collect()
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
    }
}

impl Block {
    fn right(&self) -> SequenceNumber {
        self.left + self.bytes.len() as u32
    }
}

#[cfg(test)]
mod tests;
