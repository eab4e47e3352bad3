//! The nodes of a scenario's network.

use super::peer::Peer;
use crate::gateway::Gateway;
use crate::host::Host;
use crate::network::{Node, is_node_within};
use crate::paper::DropFirstSynAck;

/// A node of the network.
pub(super) enum Station<'w, 'a> {
    /// A host with a peer.
    Host(Box<Host<Peer<'w, 'a>>>),
    /// A server whose first SYN and ACK is dropped.
    LosesSynAck(Box<DropFirstSynAck<Host<Peer<'w, 'a>>>>),
    /// The gateway.
    Gateway(Box<Gateway>),
}

impl<'w, 'a> Station<'w, 'a> {
    /// Returns the peer of a host.
    pub(super) fn peer(&self) -> Option<&Peer<'w, 'a>> {
        match self {
            Self::Host(host) => Some(&host.application),
            Self::LosesSynAck(node) => Some(&node.node.application),
            Self::Gateway(_) => None,
        }
    }

    /// Returns the peer of a host, for changes.
    pub(super) fn peer_mut(&mut self) -> Option<&mut Peer<'w, 'a>> {
        match self {
            Self::Host(host) => Some(&mut host.application),
            Self::LosesSynAck(node) => Some(&mut node.node.application),
            Self::Gateway(_) => None,
        }
    }

    fn node(&self) -> &dyn Node {
        match self {
            Self::Host(host) => &**host,
            Self::LosesSynAck(node) => &**node,
            Self::Gateway(gateway) => &**gateway,
        }
    }

    fn node_mut(&mut self) -> &mut dyn Node {
        match self {
            Self::Host(host) => &mut **host,
            Self::LosesSynAck(node) => &mut **node,
            Self::Gateway(gateway) => &mut **gateway,
        }
    }
}

is_node_within!(['w, 'a] Station<'w, 'a>);
