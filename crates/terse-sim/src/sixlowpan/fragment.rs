//! Fragments are reassembled (RFC 4944, 5.3), with bounds in number and in time.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use crate::Time;
use crate::cause::Cause;
use crate::decoded::Decoded;
use crate::packet::Packet;

/// The incomplete datagrams of one sender, the oldest first.
#[derive(Debug)]
pub(super) struct Reassembly {
    partial: VecDeque<Partial>,
    buffers: usize,
    abandoned: Vec<(u64, Cause)>,
}

#[derive(Debug)]
struct Partial {
    /// `datagram_tag` and `datagram_size`.
    key: (u16, usize),
    /// The number of the packet, for its balance.
    id: u64,
    began: Time,
    bytes: Vec<u8>,
    /// The offset and the length of each fragment that arrived.
    came: BTreeMap<usize, usize>,
}

impl Reassembly {
    pub(super) const fn new(buffers: usize) -> Self {
        Self { partial: VecDeque::new(), buffers, abandoned: Vec::new() }
    }

    /// Takes the content of a fragment.
    pub(super) fn add(&mut self, now: Time, key: (u16, usize), id: u64, offset: usize, content: &[u8]) -> Decoded {
        self.expire(now);
        let (_, size) = key;
        let end = offset + content.len();
        // Only the last fragment may end anywhere (RFC 4944, 5.3).
        if content.is_empty() || end > size || (end < size && !end.is_multiple_of(8)) {
            return Decoded::Dropped(Cause::Malformed);
        }
        let position = self.partial.iter().position(|partial| partial.key == key);
        let position = position.unwrap_or_else(|| {
            if self.partial.len() >= self.buffers.max(1)
                && let Some(oldest) = self.partial.pop_front()
            {
                self.abandoned.push((oldest.id, Cause::ReassemblyFull));
            }
            self.partial.push_back(Partial { key, id, began: now, bytes: vec![0; size], came: BTreeMap::new() });
            self.partial.len() - 1
        });
        let partial = &mut self.partial[position];
        match partial.put(offset, content) {
            Put::Partial => Decoded::Partial,
            Put::Repeated => Decoded::Repeated,
            Put::Whole => match self.partial.remove(position).map(|whole| (Packet::parse(whole.bytes), whole.id)) {
                Some((Ok(packet), id)) => Decoded::Packet(packet, id),
                _ => Decoded::Dropped(Cause::Malformed),
            },
            Put::Overlaps => {
                // Fragments that overlap differently are discarded, and reassembly begins anew.
                self.abandoned.push((partial.id, Cause::Incomplete));
                *partial = Partial { key, id, began: now, bytes: vec![0; size], came: BTreeMap::new() };
                partial.put(offset, content);
                Decoded::Partial
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.partial.front().map(|oldest| oldest.began + TIMEOUT)
    }

    /// Returns the packets that were given up since the last call.
    pub(super) fn abandoned(&mut self, now: Time) -> Vec<(u64, Cause)> {
        self.expire(now);
        core::mem::take(&mut self.abandoned)
    }

    pub(super) fn held(&self) -> Vec<u64> {
        self.partial.iter().map(|partial| partial.id).collect()
    }

    fn expire(&mut self, now: Time) {
        self.partial.retain(|partial| {
            let alive = now < partial.began + TIMEOUT;
            if !alive {
                self.abandoned.push((partial.id, Cause::ReassemblyTimedOut));
            }
            alive
        });
    }
}

enum Put {
    Partial,
    Whole,
    Repeated,
    Overlaps,
}

impl Partial {
    fn put(&mut self, offset: usize, content: &[u8]) -> Put {
        let end = offset + content.len();
        if self.came.get(&offset) == Some(&content.len()) {
            return Put::Repeated;
        }
        if self.came.iter().any(|(start, len)| *start < end && offset < start + len) {
            return Put::Overlaps;
        }
        self.bytes[offset..end].copy_from_slice(content);
        self.came.insert(offset, content.len());
        if self.came.values().sum::<usize>() == self.bytes.len() { Put::Whole } else { Put::Partial }
    }
}

/// The timeout "MUST be set to a maximum of 60 seconds" (RFC 4944, 5.3).
const TIMEOUT: Duration = Duration::from_secs(60);
