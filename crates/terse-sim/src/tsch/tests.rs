//! Packets over one hop and several: bytes and times as computed by hand, every chance of loss, and the same results whether slots
//! are passed over or stepped through.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use proptest::prelude::*;

use super::*;
use crate::cause::Cause;
use crate::ledger::{Fate, Kind, Record};
use crate::network::{LinkId, Network, Node, NodeId};
use crate::radio::Connectivity;

mod captured;
mod drift;
mod forming;
mod hops;
mod power;
mod same;
mod timing;

const PREFIX: [u8; 8] = [0xBB, 0xBB, 0, 0, 0, 0, 0, 0];

/// A node that sends what it is given, and keeps what it gets.
#[derive(Debug, Default)]
struct Script {
    to_send: VecDeque<(Time, Packet)>,
    got: Vec<(Time, Packet)>,
}

impl Node for Script {
    fn handle_packet(&mut self, now: Time, _: usize, packet: Packet) -> Verdict {
        self.got.push((now, packet));
        Verdict::Delivered
    }

    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)> {
        self.to_send.pop_front_if(|(at, _)| *at <= now).map(|(_, packet)| (0, packet))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.to_send.front().map(|(at, _)| *at)
    }

    fn handle_timeout(&mut self, _: Time) {}
}

/// The server of the paper: it lies within the prefix of the mesh, as the paper's does.
fn server() -> Ipv6Addr {
    Ipv6Addr::new(0xBBBB, 0, 0, 0, 0, 0, 0, 1)
}

/// Returns the schedule of the paper on a chain of so many hops: a shared cell, and for each hop one cell up and three down.
fn chain(hops: u16) -> MeshConfig {
    let mut config = MeshConfig::openwsn(PREFIX);
    config.slotframes = vec![1 + 4 * hops];
    for hop in 0..hops {
        let mote = config.add_mote(hop);
        let first = 1 + 4 * hop;
        config.add_cell(0, first, 1, mote, hop);
        for slot in first + 1..first + 4 {
            config.add_cell(0, slot, 2, hop, mote);
        }
        config.radio = core::mem::take(&mut config.radio).both_ways(hop, mote, 1.0);
    }
    config.add_shared_cell(0, 0, 0);
    config
}

/// Returns a datagram of so many bytes, and the ports of CoAPS: 4 bits each up, in full down.
fn datagram(config: &MeshConfig, node: u16, goes_up: bool, len: usize) -> Packet {
    let mote: IpAddr = config.motes[usize::from(node)].address.into();
    let (mote, server) = (SocketAddr::new(mote, 0xF0B1), SocketAddr::new(server().into(), 0xF0B2));
    let payload: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
    if goes_up { Packet::udp(mote, server, &payload) } else { Packet::udp(server, mote, &payload) }.expect("one family")
}

/// Returns a network with a gateway and a host for each node, the mesh, and the hosts.
fn world(config: MeshConfig, seed: u64) -> (Network<Script>, LinkId, Vec<NodeId>) {
    let mut network = Network::new(seed);
    let nodes: Vec<NodeId> = config.motes.iter().map(|_| network.add(Script::default())).collect();
    let hosts: Vec<(u16, NodeId)> = (0..).zip(nodes.iter().copied()).collect();
    let mesh = network.connect_mesh(&hosts, config).expect("a configuration");
    (network, mesh, nodes)
}

/// Returns the data frames in the ledger.
fn data(network: &Network<Script>, mesh: LinkId) -> Vec<Record> {
    let records = network.ledger(mesh).records().iter();
    records.filter(|record| record.kind != Kind::LinkAcknowledgement).copied().collect()
}
