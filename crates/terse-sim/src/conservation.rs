//! Conservation: everything that was sent was delivered, was dropped for a cause, or is still under way.

use core::fmt;
use core::ops::AddAssign;
use std::collections::BTreeMap;

use crate::cause::Cause;

/// A number of packets or frames, and of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of packets or frames.
    pub number: u64,
    /// The sum of their lengths.
    pub bytes: u64,
}

impl Count {
    /// Counts one packet or frame of this length.
    pub(crate) fn add(&mut self, len: usize) {
        self.number += 1;
        self.bytes += len as u64;
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.number += other.number;
        self.bytes += other.bytes;
    }
}

/// The balance of the packets, or of the frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Sent by nodes (packets) or by link layers (frames, each transmission).
    pub sent: Count,
    /// Copies made by links that duplicate, or that repeat what had arrived.
    pub duplicated: Count,
    /// Taken by the node that is the destination (packets), or by a link layer (frames).
    pub delivered: Count,
    /// Taken by a node that forwards: sent again, or dropped there.
    pub forwarded: Count,
    /// Not delivered, by cause.
    pub dropped: BTreeMap<Cause, Count>,
    /// Still under way: counted where they are, not inferred.
    pub queued: Count,
}

impl Balance {
    /// Whether everything that was sent is accounted for.
    pub fn holds(&self) -> bool {
        let mut sources = self.sent;
        sources += self.duplicated;
        let mut sinks = self.delivered;
        sinks += self.forwarded;
        sinks += self.queued;
        sinks += self.dropped_in_all();
        sources == sinks
    }

    /// Returns the sum of all that was dropped.
    pub fn dropped_in_all(&self) -> Count {
        self.dropped.values().fold(Count::default(), |mut all, count| {
            all += *count;
            all
        })
    }

    /// Returns how many were dropped for this cause.
    pub fn dropped_for(&self, cause: Cause) -> u64 {
        self.dropped.get(&cause).map_or(0, |count| count.number)
    }

    pub(crate) fn drop_one(&mut self, cause: Cause, len: usize) {
        self.dropped.entry(cause).or_default().add(len);
    }
}

impl AddAssign<&Self> for Balance {
    fn add_assign(&mut self, other: &Self) {
        self.sent += other.sent;
        self.duplicated += other.duplicated;
        self.delivered += other.delivered;
        self.forwarded += other.forwarded;
        self.queued += other.queued;
        for (cause, count) in &other.dropped {
            *self.dropped.entry(*cause).or_default() += *count;
        }
    }
}

/// The balances of a network, or of one of its links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// IP packets, from a node to its neighbour.
    pub packets: Balance,
    /// Frames, counted at each transmission, with acknowledgements of the link layer.
    pub frames: Balance,
}

impl Conservation {
    /// Whether both balances hold.
    pub fn holds(&self) -> bool {
        self.packets.holds() && self.frames.holds()
    }
}

impl fmt::Display for Conservation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, balance) in [("packets", &self.packets), ("frames", &self.frames)] {
            writeln!(
                out,
                "{name}: {} sent + {} duplicated = {} delivered + {} forwarded + {} under way + {} dropped {:?}",
                balance.sent.number,
                balance.duplicated.number,
                balance.delivered.number,
                balance.forwarded.number,
                balance.queued.number,
                balance.dropped_in_all().number,
                balance.dropped
            )?;
        }
        Ok(())
    }
}
