//! The frames that a node has room for. Frames that wait to be sent and received fragments that wait for others share it.

use super::config::PoolOptions;

/// The occupancy of a node's frame buffers.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    options: PoolOptions,
    used: u8,
    peak: u8,
    refused: u64,
    /// The occupancy after each call of the allocator, if it is wanted.
    trace: Option<Vec<u8>>,
}

/// Who asks for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// The MAC, for a frame that arrives, or 6top, for a message.
    Mac,
    /// 6LoWPAN, for a frame to be sent.
    Upper,
}

impl Pool {
    pub(super) const fn new(options: PoolOptions) -> Self {
        Self { options, used: 0, peak: 0, refused: 0, trace: None }
    }

    /// Begins to note the occupancy after each call of [`Self::allocate`], up to [`LONGEST_TRACE`] of them.
    pub(super) fn begin_trace(&mut self) {
        self.trace.get_or_insert_default();
    }

    /// Returns the noted occupancies.
    pub(super) fn trace(&self) -> &[u8] {
        self.trace.as_deref().unwrap_or_default()
    }

    /// Returns the highest occupancy, and how many frames were refused.
    pub(super) const fn peak_and_refused(&self) -> (u8, u64) {
        (self.peak, self.refused)
    }

    /// Whether there is a frame for the MAC.
    pub(super) const fn has_room(&self) -> bool {
        self.used < self.options.frames
    }

    /// Takes a frame. Returns whether there was one.
    pub(super) fn allocate(&mut self, layer: Layer) -> bool {
        let limit = match layer {
            Layer::Mac => self.options.frames,
            Layer::Upper => self.options.upper_layers_fail_from,
        };
        let has_room = self.used < limit;
        if has_room {
            self.used += 1;
            self.peak = self.peak.max(self.used);
        } else {
            self.refused += 1;
        }
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.len() < LONGEST_TRACE) {
            trace.push(self.used);
        }
        has_room
    }

    /// Gives frames back.
    pub(super) const fn free(&mut self, frames: u8) {
        self.used = self.used.saturating_sub(frames);
    }

    /// Returns how many frames are in use.
    pub(super) const fn used(&self) -> u8 {
        self.used
    }
}

/// The most occupancies that are noted.
const LONGEST_TRACE: usize = 1 << 20;
