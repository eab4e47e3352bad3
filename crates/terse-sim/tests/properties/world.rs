//! Random links carry random traffic: two hosts send each other datagrams at times that were chosen before.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use proptest::prelude::*;
use terse_sim::capture::View;
use terse_sim::host::{Application, Host, SocketEvent, SocketId, Sockets};
use terse_sim::link::{Direction, Framing, Ieee802154, Link, PROFILES};
use terse_sim::network::{LinkId, Network, NodeId};
use terse_sim::{Random, Time};

/// A program that sends datagrams at their times, and keeps those that arrive.
#[derive(Debug)]
pub(crate) struct Program {
    peer: SocketAddr,
    to_send: VecDeque<(Time, Vec<u8>)>,
    pub(crate) sent: Vec<Vec<u8>>,
    pub(crate) received: Vec<Vec<u8>>,
    socket: Option<SocketId>,
}

impl Application for Program {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        self.socket = sockets.bind(PORT);
    }

    fn handle_event(&mut self, _now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        let SocketEvent::Readable(socket) = event else { return };
        while let Some((remote, datagram)) = sockets.recv_from(socket) {
            assert_eq!(remote, self.peer);
            self.received.push(datagram);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.to_send.front().map(|(at, _)| *at)
    }

    fn handle_timeout(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        let Some((_, datagram)) = self.to_send.pop_front() else { return };
        let socket = self.socket.expect("it was started");
        if sockets.send_to(socket, self.peer, &datagram).is_ok() {
            self.sent.push(datagram);
        }
    }
}

/// A link, and for each host the milliseconds between its datagrams and their lengths.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) link: Link,
    pub(crate) traffic: [Vec<(u64, usize)>; 2],
    pub(crate) seed: u64,
}

/// A run.
pub(crate) struct World {
    pub(crate) network: Network<Host<Program>>,
    pub(crate) nodes: [NodeId; 2],
    pub(crate) link: LinkId,
}

impl Scenario {
    pub(crate) fn begin(&self) -> World {
        let mut network = Network::new(self.seed);
        let ipv6 = !matches!(self.link.framing, Framing::Ethernet);
        let address = |last: u8| -> IpAddr {
            if ipv6 {
                Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last.into()).into()
            } else {
                Ipv4Addr::new(10, 0, 0, last).into()
            }
        };
        let mut add = |own: u8, peer: u8, traffic: &[(u64, usize)]| {
            let mut at = Time::ZERO;
            let datagram = |(number, (pause, len)): (usize, &(u64, usize))| {
                at += Duration::from_millis(*pause);
                // No two datagrams are equal, so that none can be taken for another.
                let mut content = vec![own; *len];
                content.extend((number as u32).to_be_bytes());
                (at, content)
            };
            let to_send = traffic.iter().enumerate().map(datagram).collect();
            let peer = SocketAddr::new(address(peer), PORT);
            let program = Program { peer, to_send, sent: Vec::new(), received: Vec::new(), socket: None };
            network.add(Host::new(address(own), program, Random::new(self.seed, own.into())))
        };
        let nodes = [add(1, 2, &self.traffic[0]), add(2, 1, &self.traffic[1])];
        let link = network.connect(nodes[0], nodes[1], self.link.clone());
        network.capture(link, View::Frames);
        World { network, nodes, link }
    }

    /// Makes a whole run; at every second step the balances are checked.
    pub(crate) fn run(&self) -> World {
        let mut world = self.begin();
        let mut steps = 0_u32;
        while world.network.step() {
            steps += 1;
            if steps.is_multiple_of(2) {
                let books = world.network.conservation();
                assert!(books.holds(), "after {steps} steps: {books}");
            }
        }
        let books = world.network.conservation();
        assert!(books.holds(), "{books}");
        assert_eq!((books.packets.queued.number, books.frames.queued.number), (0, 0), "nothing is left: {books}");
        world
    }
}

/// Returns links of every profile that lose, double and reorder.
pub(crate) fn links() -> impl Strategy<Value = Link> {
    let chance = || prop_oneof![3 => Just(0.0), 1 => 0.0..0.4];
    let half = (chance(), chance(), chance(), 1_usize..30, any::<bool>());
    (0..PROFILES.len(), half.clone(), half, any::<bool>(), any::<bool>()).prop_map(
        |(profile, up, down, acknowledged, half_duplex)| {
            let mut link: Link = PROFILES[profile].parse().expect("a profile");
            for (direction, (loss, duplication, reordering, queue, marks)) in
                Direction::BOTH.into_iter().zip([up, down])
            {
                let path = match direction {
                    Direction::Up => &mut link.up,
                    Direction::Down => &mut link.down,
                };
                path.loss = loss;
                path.duplication = duplication;
                path.reordering = reordering;
                path.late_by = Duration::from_millis(200);
                path.queue = queue;
                path.mark_at = marks.then_some(0.75);
            }
            if let Framing::Ieee802154(options) = &mut link.framing {
                *options = Ieee802154 { retries: acknowledged.then_some(2), ..Ieee802154::DEFAULT };
            }
            link.half_duplex = half_duplex;
            link
        },
    )
}

pub(crate) fn scenarios() -> impl Strategy<Value = Scenario> {
    let traffic = || proptest::collection::vec((0_u64..400, 0_usize..700), 0..12);
    (links(), traffic(), traffic(), any::<u64>()).prop_map(|(link, up, down, seed)| Scenario {
        link,
        traffic: [up, down],
        seed,
    })
}

const PORT: u16 = 5684;
