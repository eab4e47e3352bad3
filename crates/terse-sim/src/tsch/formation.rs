//! The options of a network that forms itself.

use crate::rpl::RplOptions;
use crate::sixtop::{AutonomousHash, MsfOptions, PidOptions};
use crate::synchronization::{JoinOptions, KeepAliveOptions};

/// How nodes join, find their parents, and get their cells.
///
/// There are three slotframes of one length (RFC 9033, 2): one with the minimal cell, in slot 0 on channel offset 0, one with
/// autonomous cells, one with negotiated cells.
#[derive(Clone, Debug, PartialEq)]
pub struct FormationOptions {
    /// The scheduling function.
    pub function: Function,
    /// When nodes send Enhanced Beacons.
    pub beacons: BeaconOptions,
    /// How nodes choose their first time source.
    pub join: JoinOptions,
    /// How nodes stay synchronised.
    pub keep_alive: KeepAliveOptions,
    /// By how much clocks differ from the root's at most, in parts per million; each node's is drawn.
    pub greatest_drift_ppm: u16,
    /// Beacons and DIOs that are weaker than this, in dBm, are ignored; `None` if none are. Links whose strength is not known are
    /// strong.
    pub least_rssi: Option<f64>,
    /// RPL.
    pub rpl: RplOptions,
}

/// A scheduling function.
#[derive(Clone, Debug, PartialEq)]
pub enum Function {
    /// MSF (RFC 9033).
    Msf(MsfOptions),
    /// A PID controller for the number of cells to the parent.
    Pid(PidOptions),
}

/// When nodes send Enhanced Beacons: in one of so many minimal cells, by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeaconOptions {
    /// In one of so many at most. OpenWSN's EB_PORTION is 10.
    pub one_in: u16,
    /// In one of so many for the node itself and each neighbour that it knows. With 3, beacons take a third of the minimal
    /// cells, however many nodes there are: RFC 9033, 2, wants all broadcasts to take no more.
    pub one_in_per_node: u16,
}

impl FormationOptions {
    /// Returns the recommendations of RFC 9033 and RFC 8180, and clocks that are right.
    ///
    /// Trickle is the 6TiSCH Simulator's: RPL's defaults begin with intervals of 8 ms, for which a minimal cell every second has
    /// no room.
    pub const fn rfc_9033() -> Self {
        Self {
            function: Function::Msf(MsfOptions::RFC_9033),
            beacons: BeaconOptions { one_in: 10, one_in_per_node: 3 },
            join: JoinOptions::RFC_8180,
            keep_alive: KeepAliveOptions::OPENWSN,
            greatest_drift_ppm: 0,
            least_rssi: Some(OPENWSN_LEAST_RSSI),
            rpl: RplOptions::SIXTISCH,
        }
    }

    /// Returns MSF's options, which every scheduling function has.
    pub const fn msf(&self) -> &MsfOptions {
        match &self.function {
            Function::Msf(msf) => msf,
            Function::Pid(pid) => &pid.msf,
        }
    }

    pub(super) const fn hash(&self) -> AutonomousHash {
        self.msf().hash
    }
}

impl BeaconOptions {
    /// Returns in one of how many minimal cells a node with so many neighbours sends a beacon.
    pub(super) fn one_in(&self, neighbours: usize) -> u16 {
        let nodes = u16::try_from(neighbours).unwrap_or(u16::MAX).saturating_add(1);
        self.one_in.max(self.one_in_per_node.saturating_mul(nodes))
    }
}

/// GOODNEIGHBORMINRSSI of an OpenWSN (neighbors.h; others have -80): a neighbour that is weaker is no parent.
const OPENWSN_LEAST_RSSI: f64 = -90.0;

/// The handle of the slotframe with the minimal cell, in a network that forms itself (RFC 9033, 2).
pub const MINIMAL: u8 = 0;
/// The handle of the slotframe with autonomous cells.
pub const AUTONOMOUS: u8 = 1;
/// The handle of the slotframe with negotiated cells.
pub const NEGOTIATED: u8 = 2;
