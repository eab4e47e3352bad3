//! The scoreboard of RFC 6675, 3 and 4, holds the segments that were sent and are not acknowledged.
//!
//! A segment is retransmitted with its first boundaries. Entries touch each other, in order, and end at SND.NXT. SACK
//! is advice: only a cumulative acknowledgement removes an entry.

use super::{SackBlock, SequenceNumber};
use crate::Time;
use std::collections::VecDeque;

/// A segment in flight. SYN and FIN take an octet each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) left: SequenceNumber,
    pub(super) right: SequenceNumber,
    /// The time when it was sent last.
    pub(super) at: Time,
    /// The number of its transmissions.
    pub(super) transmissions: u32,
    /// The expiry of its own timer, where each segment has one.
    pub(super) deadline: Option<Time>,
    /// Whether it was selectively acknowledged.
    pub(super) sacked: bool,
    /// Whether it is taken for lost.
    pub(super) lost: bool,
    /// Whether it was sent again since it was taken for lost.
    pub(super) repaired: bool,
}

/// The segments in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
}

/// The result of a cumulative acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledged {
    /// The time when the oldest of the segments was sent, if none of them was sent twice (Karn) or had been reported
    /// before.
    pub(super) sent_at: Option<Time>,
}

impl Scoreboard {
    pub(super) fn push(&mut self, left: SequenceNumber, right: SequenceNumber, at: Time, deadline: Option<Time>) {
        let (sacked, lost, repaired) = (false, false, false);
        self.segments.push_back(Sent { left, right, at, transmissions: 1, deadline, sacked, lost, repaired });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(super) fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Sent> {
        self.segments.get(index)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Sent> {
        self.segments.iter()
    }

    /// Removes everything up to `acknowledgement`.
    pub(super) fn acknowledge(&mut self, acknowledgement: SequenceNumber) -> Acknowledged {
        let mut sample = None;
        let mut ambiguous = false;
        while let Some(first) = self.segments.front_mut() {
            if !first.left.is_before(acknowledgement) {
                break;
            }
            ambiguous |= first.transmissions > 1;
            if !first.sacked {
                sample = sample.or(Some(first.at));
            }
            if first.right.is_after(acknowledgement) {
                first.left = acknowledgement;
                break;
            }
            self.segments.pop_front();
        }
        Acknowledged { sent_at: sample.filter(|_| !ambiguous) }
    }

    /// Marks the segments that `blocks` report: `Update` of RFC 6675, 4. Returns whether that is news.
    ///
    /// A report of octets that are not in flight is ignored, and so is one of the oldest octet: that would have been
    /// acknowledged.
    pub(super) fn select(&mut self, blocks: &[SackBlock]) -> bool {
        let (Some(first), Some(last)) = (self.segments.front(), self.segments.back()) else { return false };
        let (oldest, newest) = (first.left, last.right);
        let mut news = false;
        for block in blocks {
            let sane = block.left.is_before(block.right)
                && block.left.is_after(oldest)
                && !block.right.is_after(newest)
                && block.left.is_before(newest);
            if !sane {
                continue;
            }
            for segment in &mut self.segments {
                let covered = !segment.left.is_before(block.left) && !segment.right.is_after(block.right);
                if covered && !segment.sacked {
                    segment.sacked = true;
                    segment.deadline = None;
                    news = true;
                }
            }
        }
        news
    }

    /// Takes reported segments for lost: the peer has discarded them (RFC 2018, 8).
    pub(super) fn forget_reports(&mut self) {
        for segment in self.segments.iter_mut().filter(|segment| segment.sacked) {
            segment.sacked = false;
            segment.lost = true;
            segment.repaired = false;
        }
    }

    /// Marks segments as lost by `IsLost` of RFC 6675, 4: `threshold` separate pieces above one were reported, or more
    /// bytes than `threshold - 1` full segments have. Returns whether there is a new loss.
    pub(super) fn find_losses(&mut self, threshold: u32, segment_size: u32) -> bool {
        let enough = segment_size.saturating_mul(threshold.saturating_sub(1));
        let (mut pieces, mut bytes, mut above_is_reported) = (0_u32, 0_u32, false);
        let mut news = false;
        for segment in self.segments.iter_mut().rev() {
            if segment.sacked {
                bytes = bytes.saturating_add(segment.len());
                pieces += u32::from(!above_is_reported);
            } else if !segment.lost && (pieces >= threshold || bytes > enough) {
                segment.lost = true;
                segment.repaired = false;
                news = true;
            }
            above_is_reported = segment.sacked;
        }
        news
    }

    /// Takes the oldest segment for lost, unless it is being repaired.
    pub(super) fn lose_first(&mut self) {
        if let Some(first) = self.segments.front_mut()
            && !first.lost
        {
            first.lost = true;
            first.repaired = false;
        }
    }

    /// Takes the segment at `index` for lost, even if it was repaired.
    pub(super) fn lose(&mut self, index: usize) {
        if let Some(segment) = self.segments.get_mut(index) {
            segment.lost = true;
            segment.repaired = false;
            segment.deadline = None;
        }
    }

    /// Takes all segments for lost that were not reported, repairs included.
    pub(super) fn lose_all(&mut self) {
        for segment in self.segments.iter_mut().filter(|segment| !segment.sacked) {
            segment.lost = true;
            segment.repaired = false;
        }
    }

    /// Returns the bytes that are probably in the network: `SetPipe` of RFC 6675, 4.
    pub(super) fn pipe(&self) -> u32 {
        let present = |segment: &&Sent| !segment.sacked && (!segment.lost || segment.repaired);
        self.segments.iter().filter(present).map(Sent::len).sum()
    }

    /// Returns the number of bytes that were reported.
    pub(super) fn reported(&self) -> u32 {
        self.segments.iter().filter(|segment| segment.sacked).map(Sent::len).sum()
    }

    /// Returns the number of segments that were reported.
    pub(super) fn reported_segments(&self) -> usize {
        self.segments.iter().filter(|segment| segment.sacked).count()
    }

    /// Returns the oldest segment that is lost and not repaired (RFC 6675, 4, `NextSeg`, rule 1).
    pub(super) fn next_lost(&self) -> Option<usize> {
        self.segments.iter().position(|segment| segment.lost && !segment.repaired && !segment.sacked)
    }

    /// Returns the oldest segment that may be lost, because a later one was reported (RFC 6675, 4, `NextSeg`, condition
    /// 3).
    pub(super) fn next_suspect(&self) -> Option<usize> {
        let highest = self.segments.iter().rposition(|segment| segment.sacked)?;
        self.segments.iter().take(highest).position(|segment| !segment.sacked && !segment.lost)
    }

    /// Returns the newest segment that was not reported (RFC 6675, 4, `NextSeg`, rule 4; RFC 8985, 7.3).
    pub(super) fn newest(&self) -> Option<usize> {
        self.segments.iter().rposition(|segment| !segment.sacked)
    }

    /// Notes that the segment at `index` is sent again.
    pub(super) fn repair(&mut self, index: usize, at: Time, deadline: Option<Time>) {
        if let Some(segment) = self.segments.get_mut(index) {
            segment.at = at;
            segment.deadline = deadline;
            segment.transmissions = segment.transmissions.saturating_add(1);
            segment.repaired |= segment.lost;
        }
    }

    pub(super) fn clear(&mut self) {
        self.segments.clear();
    }
}

impl Sent {
    /// Returns the sequence space of the segment.
    pub(super) fn len(&self) -> u32 {
        self.right.since(self.left)
    }
}

#[cfg(test)]
mod tests;
