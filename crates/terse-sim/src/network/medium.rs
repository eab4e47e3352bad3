//! A medium connects nodes: a wire with two ends, or a mesh with as many as it has nodes.

use super::carrier::{Carrier, LinkEvent};
use super::{Conservation, End, MeshEvent, Schedule};
use crate::Time;
use crate::capture::Capture;
use crate::direction::Direction;
use crate::ledger::Ledger;
use crate::packet::Packet;
use crate::tsch::Mesh;
use crate::verdict::Verdict;

/// A medium and everything on it.
#[derive(Debug)]
pub(super) enum Medium {
    Wire(Box<Carrier>),
    Mesh { mesh: Box<Mesh>, ends: Vec<Option<End>> },
}

/// An event on a medium.
#[derive(Clone, Copy, Debug)]
pub(super) enum MediumEvent {
    Wire(LinkEvent),
    Mesh(MeshEvent),
}

/// A packet that arrived at an end of a medium.
#[derive(Debug)]
pub(super) struct Arrived {
    /// The end, unless no node is attached there.
    pub(super) end: Option<End>,
    /// The number by which its fate is reported.
    pub(super) number: u64,
    pub(super) packet: Packet,
}

impl Medium {
    /// Takes a packet from the node at an end.
    pub(super) fn send(&mut self, now: Time, end: usize, packet: Packet, schedule: &mut Schedule<'_>) {
        match self {
            Self::Wire(carrier) => {
                let direction = if end == 0 { Direction::Up } else { Direction::Down };
                carrier.send(now, direction, packet, schedule);
            }
            Self::Mesh { mesh, .. } => {
                mesh.send(now, end as u16, &packet); // a mesh has no more ends
                schedule.take(mesh);
            }
        }
    }

    /// Handles an event. A wire returns the packet that arrives; the packets that arrive on a mesh wait in
    /// [`Self::poll_arrival`].
    pub(super) fn handle(&mut self, now: Time, event: MediumEvent, schedule: &mut Schedule<'_>) -> Option<Arrived> {
        match (self, event) {
            (Self::Wire(carrier), MediumEvent::Wire(event)) => {
                let (direction, number, packet) = carrier.handle(now, event, schedule)?;
                Some(Arrived { end: Some(carrier.end(direction.opposite())), number, packet })
            }
            (Self::Mesh { mesh, .. }, MediumEvent::Mesh(event)) => {
                mesh.handle(now, event);
                schedule.take(mesh);
                None
            }
            _ => None,
        }
    }

    /// Returns the next packet that has arrived on a mesh.
    pub(super) fn poll_arrival(&mut self) -> Option<Arrived> {
        let Self::Mesh { mesh, ends } = self else { return None };
        let arrival = mesh.poll_arrival()?;
        let end = ends.get(usize::from(arrival.end)).copied().flatten();
        Some(Arrived { end, number: arrival.number, packet: arrival.packet })
    }

    /// Takes the verdict of a node on a packet that arrived there.
    pub(super) fn arrived(&mut self, number: u64, verdict: Verdict) {
        match self {
            Self::Wire(carrier) => carrier.arrived(number, verdict),
            Self::Mesh { mesh, .. } => mesh.arrived(number, verdict),
        }
    }

    pub(super) fn conservation(&self) -> Conservation {
        match self {
            Self::Wire(carrier) => carrier.conservation(),
            Self::Mesh { mesh, .. } => mesh.conservation(),
        }
    }

    pub(super) fn captures(&self) -> Vec<Capture> {
        match self {
            Self::Wire(carrier) => carrier.captures().collect(),
            Self::Mesh { mesh, .. } => mesh.captures().collect(),
        }
    }

    pub(super) fn ledger(&self) -> &Ledger {
        match self {
            Self::Wire(carrier) => &carrier.ledger,
            Self::Mesh { mesh, .. } => &mesh.ledger,
        }
    }

    pub(super) fn ledger_mut(&mut self) -> &mut Ledger {
        match self {
            Self::Wire(carrier) => &mut carrier.ledger,
            Self::Mesh { mesh, .. } => &mut mesh.ledger,
        }
    }
}
