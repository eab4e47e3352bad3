//! The indexes of a host equal what a look at all its sockets gives, and idle sockets cost nothing.

use core::time::Duration;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use proptest::prelude::*;

use super::*;
use crate::host::{Application, Host, Sockets};
use crate::link::Link;
use crate::network::{Network, NodeId};

/// A program that reads, and closes when its peer has. A server echoes.
#[derive(Default)]
struct Program {
    connections: Vec<SocketId>,
    serves: bool,
    listener: Option<SocketId>,
    work: Duration,
}

impl Application for Program {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        if self.serves {
            self.listener = sockets.listen(PORT, Config::linux());
        }
    }

    fn handle_event(&mut self, _now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        match event {
            SocketEvent::Accepted { socket, .. } | SocketEvent::Connected(socket) => self.connections.push(socket),
            SocketEvent::Readable(socket) => {
                let mut buffer = vec![0; sockets.readable(socket)];
                sockets.recv(socket, &mut buffer);
                sockets.busy(self.work);
                if self.serves {
                    sockets.send(socket, &buffer);
                }
            }
            SocketEvent::PeerFinished(socket) => sockets.close(socket),
            SocketEvent::Closed(socket) | SocketEvent::Failed(socket, _) => {
                self.connections.retain(|connection| *connection != socket);
            }
            SocketEvent::Writable(_) => {}
        }
    }
}

fn world(link: Link, work: Duration, seed: u64) -> (Network<Host<Program>>, [NodeId; 2]) {
    let mut network = Network::new(seed);
    let host = |last, stream| {
        let address = IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last));
        Host::new(address, Program { work, serves: last == 2, ..Program::default() }, Random::new(seed, stream))
    };
    let nodes = [network.add(host(1, 100)), network.add(host(2, 101))];
    network.connect(nodes[0], nodes[1], link);
    network.run_until(Time::ZERO);
    (network, nodes)
}

fn server() -> SocketAddr {
    SocketAddr::new(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2).into(), PORT)
}

/// Checks the indexes of a host against all its sockets.
fn check(stack: &Stack) -> Result<(), TestCaseError> {
    let mut timers = Deadlines::default();
    let mut half_open = BTreeMap::new();
    for (id, socket) in &stack.sockets {
        if let Socket::Tcp(tcp) = socket {
            timers.set(*id, tcp.poll_timeout());
            if let Some(listener) = tcp.half_open_at() {
                *half_open.entry(listener).or_insert(0) += 1;
            }
        }
    }
    let later = Time::from_millis(u64::MAX);
    prop_assert_eq!((stack.timers.next(), stack.timers.due(later)), (timers.next(), timers.due(later)));
    for (id, socket) in &stack.sockets {
        if let Socket::Listener(listener) = socket {
            prop_assert_eq!(listener.half_open, half_open.get(id).copied().unwrap_or(0));
        }
    }
    Ok(())
}

/// What a user does at a random time.
#[derive(Clone, Debug)]
enum Act {
    Connect { closed_port: bool },
    Send { connection: usize, len: usize },
    Close { connection: usize },
    Abort { connection: usize },
    CloseListener,
}

fn acts() -> impl Strategy<Value = Vec<(u64, usize, Act)>> {
    let act = prop_oneof![
        4 => any::<bool>().prop_map(|closed_port| Act::Connect { closed_port }),
        4 => (0_usize..8, 1_usize..5000).prop_map(|(connection, len)| Act::Send { connection, len }),
        2 => (0_usize..8).prop_map(|connection| Act::Close { connection }),
        2 => (0_usize..8).prop_map(|connection| Act::Abort { connection }),
        1 => Just(Act::CloseListener),
    ];
    proptest::collection::vec((0_u64..3000, 0_usize..2, act), 1..20)
}

fn perform(program: &mut Program, act: &Act, sockets: &mut Sockets<'_>) {
    let connection = |index: usize| program.connections.get(index % program.connections.len().max(1)).copied();
    match act {
        Act::Connect { closed_port } => {
            let port = if *closed_port { PORT + 1 } else { PORT };
            sockets.connect(SocketAddr::new(server().ip(), port), Config::linux());
        }
        Act::Send { connection: index, len } => {
            if let Some(socket) = connection(*index) {
                sockets.send(socket, &vec![1; *len]);
            }
        }
        Act::Close { connection: index } => {
            if let Some(socket) = connection(*index) {
                sockets.close(socket);
            }
        }
        Act::Abort { connection: index } => {
            if let Some(socket) = connection(*index) {
                sockets.abort(socket);
            }
        }
        Act::CloseListener => {
            if let Some(listener) = program.listener.take() {
                sockets.close(listener);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_indexes_equal_a_look_at_all_sockets(
        acts in acts(), loss in prop_oneof![Just(0.0), 0.0..0.4], work in 0_u64..200, seed in any::<u64>(),
    ) {
        let link = Link::ethernet(576).with_paths(|path| path.loss = loss);
        let (mut network, nodes) = world(link, Duration::from_millis(work), seed);
        for (pause, node, act) in acts {
            let until = network.now() + Duration::from_millis(pause);
            while network.next_time().is_some_and(|at| at <= until) {
                network.step();
                for id in nodes {
                    check(&network.node(id).stack)?;
                }
            }
            network.run_until(until);
            network.node_mut(nodes[node]).act(until, |program, sockets| perform(program, &act, sockets));
            check(&network.node(nodes[node]).stack)?;
        }
        // Two hours are longer than any timer takes to give up.
        let end = network.now() + Duration::from_secs(7200);
        while network.next_time().is_some_and(|at| at <= end) {
            network.step();
            for id in nodes {
                check(&network.node(id).stack)?;
            }
        }
        for id in nodes {
            prop_assert_eq!(network.node(id).stack.timers.next(), None);
        }
    }
}

#[test]
fn idle_connections_cost_nothing() {
    let (mut network, [client, server_node]) = world(Link::ethernet(1500), Duration::ZERO, 1);
    for _ in 0..10 {
        let now = network.now();
        network.node_mut(client).act(now, |_, sockets| {
            for _ in 0..100 {
                assert!(sockets.connect(server(), Config::constrained()).is_some());
            }
        });
        network.run_for(Duration::from_secs(10));
    }
    let timed_out =
        |network: &Network<Host<Program>>| [client, server_node].map(|node| network.node(node).stack.timed_out);
    for node in [client, server_node] {
        assert_eq!(network.node(node).application.connections.len(), 1000);
        assert_eq!(network.node(node).stack.timers.next(), None, "nothing waits for a timer");
    }
    let before = timed_out(&network);
    for _ in 0..100 {
        let now = network.now();
        network.node_mut(client).act(now, |program, sockets| sockets.send(program.connections[500], &[1; 10]));
        network.run_for(Duration::from_secs(10));
        assert_eq!(network.node(client).stack.timers.next(), None);
    }
    // The client delays the acknowledgement of each answer: one timer for each, with 1000 connections as with one.
    let [at_client, at_server] = timed_out(&network);
    assert_eq!((at_client - before[0], at_server - before[1]), (100, 0));
}

const PORT: u16 = 443;
