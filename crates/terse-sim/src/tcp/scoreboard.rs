//! What has been sent and is not acknowledged, segment by segment: the scoreboard of RFC 6675, 3 and 4.
//!
//! A segment is retransmitted as it was first cut. Entries touch each other, in order, and end at SND.NXT. What the peer
//! reports is advice: it never removes an entry, only a cumulative acknowledgement does.

use super::{SackBlock, SequenceNumber};
use crate::Time;
use std::collections::VecDeque;

/// A segment under way. SYN and FIN take an octet each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) left: SequenceNumber,
    pub(super) right: SequenceNumber,
    /// When it was sent last.
    pub(super) at: Time,
    /// How often it was sent.
    pub(super) transmissions: u32,
    /// When its own timer expires, where each segment has one.
    pub(super) deadline: Option<Time>,
    /// Selectively acknowledged.
    pub(super) sacked: bool,
    /// Taken for lost.
    pub(super) lost: bool,
    /// Sent again since it was taken for lost.
    pub(super) repaired: bool,
}

/// The segments under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
}

/// What a cumulative acknowledgement said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledged {
    /// When the oldest of the segments was sent, if none of them was sent twice (Karn) or had been reported before.
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

    /// All up to `acknowledgement` has arrived.
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

    /// Marks what the `blocks` report: `Update` of RFC 6675, 4.
    ///
    /// True if they report something new. What does not lie between the oldest octet and the newest is not believed, nor
    /// that the oldest has arrived: it would have been acknowledged.
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

    /// Takes what was reported for lost: the peer has thrown away what it had (RFC 2018, 8).
    pub(super) fn forget_reports(&mut self) {
        for segment in self.segments.iter_mut().filter(|segment| segment.sacked) {
            segment.sacked = false;
            segment.lost = true;
            segment.repaired = false;
        }
    }

    /// Marks as lost what `IsLost` of RFC 6675, 4 says: above it, `threshold` separate pieces were reported, or more bytes
    /// than `threshold - 1` full segments have. True if there is something that was not lost before.
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

    /// Takes the segment at `index` for lost, also if it was repaired.
    pub(super) fn lose(&mut self, index: usize) {
        if let Some(segment) = self.segments.get_mut(index) {
            segment.lost = true;
            segment.repaired = false;
            segment.deadline = None;
        }
    }

    /// Takes all that was not reported for lost, repairs included.
    pub(super) fn lose_all(&mut self) {
        for segment in self.segments.iter_mut().filter(|segment| !segment.sacked) {
            segment.lost = true;
            segment.repaired = false;
        }
    }

    /// `SetPipe` of RFC 6675, 4: bytes that are thought to be in the network.
    pub(super) fn pipe(&self) -> u32 {
        let present = |segment: &&Sent| !segment.sacked && (!segment.lost || segment.repaired);
        self.segments.iter().filter(present).map(Sent::len).sum()
    }

    /// Bytes that were reported.
    pub(super) fn reported(&self) -> u32 {
        self.segments.iter().filter(|segment| segment.sacked).map(Sent::len).sum()
    }

    /// Segments that were reported.
    pub(super) fn reported_segments(&self) -> usize {
        self.segments.iter().filter(|segment| segment.sacked).count()
    }

    /// The oldest segment that is lost and not repaired (RFC 6675, 4, `NextSeg`, rule 1).
    pub(super) fn next_lost(&self) -> Option<usize> {
        self.segments.iter().position(|segment| segment.lost && !segment.repaired && !segment.sacked)
    }

    /// The oldest segment that may be lost, as something after it was reported (rule 3).
    pub(super) fn next_suspect(&self) -> Option<usize> {
        let highest = self.segments.iter().rposition(|segment| segment.sacked)?;
        self.segments.iter().take(highest).position(|segment| !segment.sacked && !segment.lost)
    }

    /// The newest segment that was not reported (rule 4; RFC 8985, 7.3).
    pub(super) fn newest(&self) -> Option<usize> {
        self.segments.iter().rposition(|segment| !segment.sacked)
    }

    /// The segment at `index` is sent again.
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
    /// What it takes of the sequence space.
    pub(super) fn len(&self) -> u32 {
        self.right.since(self.left)
    }
}

#[cfg(test)]
mod tests;
