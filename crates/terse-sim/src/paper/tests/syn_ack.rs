//! The SYN-ACK that is dropped in the server.

use core::time::Duration;
use std::net::{Ipv6Addr, SocketAddr};

use crate::host::Host;
use crate::ledger::Kind;
use crate::link::{Direction, Link};
use crate::network::{LinkId, Network, Node, NodeId};
use crate::paper::{DropFirstSynAck, Peers};
use crate::script::Peer;
use crate::tcp::{Config, Nagle};
use crate::{Random, Time};

struct World<N> {
    network: Network<N>,
    client: NodeId,
    server: NodeId,
    link: LinkId,
}

impl<N: Node> World<N> {
    fn new(wrap: impl Fn(Host<Peer>) -> N) -> Self {
        let peers = Peers::of_paper();
        let address = |last| Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last);
        let remote = SocketAddr::new(address(2).into(), 4433);
        let client = Config { nagle: Nagle::Off, rto_initial: Duration::from_secs(3), ..Config::constrained() };
        let server = Config { nagle: Nagle::Off, loss_probe: false, ..Config::linux() };
        let client = Peer::client(&peers.tls, remote, &client, peers.dtls_client);
        let server = Peer::server(&peers.tls, 4433, &server, peers.dtls_server);
        let mut network = Network::new(1);
        let client = network.add(wrap(Host::new(address(1).into(), client, Random::new(1, 1))));
        let server = network.add(wrap(Host::new(address(2).into(), server, Random::new(1, 2))));
        let path = |path: &mut crate::link::Path| path.delay = Duration::from_millis(40);
        let link = network.connect(client, server, Link::lossless().with_paths(path));
        network.ledger_mut(link).keep_records(true);
        Self { network, client, server, link }
    }

    /// Runs for a minute, and returns when the SYN and SYN-ACK were sent, and what was sent again.
    fn run(&mut self) -> (Vec<(u64, Direction)>, u64) {
        self.network.run_for(Duration::from_secs(60));
        let ledger = self.network.ledger(self.link);
        let syns = ledger.records().iter().filter(|record| record.kind == Kind::Syn);
        let syns = syns.map(|record| (record.at.as_millis(), record.direction)).collect();
        (syns, ledger.total_for(Kind::Retransmission).packets)
    }
}

/// The handshake takes a second longer, and nothing of the SYN-ACK that was lost is on the link. The connection begins with
/// a timeout of 3 s, so that a flight that is acknowledged late is not sent again.
#[test]
fn it_costs_a_second_and_no_bytes() {
    let mut plain = World::new(|host| host);
    let mut dropping = World::new(DropFirstSynAck::new);
    assert_eq!(plain.run(), (vec![(0, Direction::Up), (40, Direction::Down)], 0));
    assert_eq!(dropping.run(), (vec![(0, Direction::Up), (1040, Direction::Down)], 0));
    assert!(dropping.network.node(dropping.server).has_dropped());
    assert!(!dropping.network.node(dropping.client).has_dropped());

    let plain_at = plain.network.node(plain.client).application.connected();
    let dropping_at = dropping.network.node(dropping.client).node.application.connected();
    assert_eq!(dropping_at, plain_at.map(|at| at + Duration::from_secs(1)));
    assert_eq!(dropping_at, Some(Time::from_millis(1000 + 6 * 40 + 2100)));
    let bytes = |ledger: &crate::ledger::Ledger| ledger.total().bytes();
    assert_eq!(bytes(dropping.network.ledger(dropping.link)), bytes(plain.network.ledger(plain.link)));
    assert!(dropping.network.conservation().holds());
}

/// A second connection is not touched.
#[test]
fn it_happens_once() {
    let mut dropping = World::new(DropFirstSynAck::new);
    dropping.run();
    let client = dropping.network.node(dropping.client).node.address().expect("it has one");
    let again = Peer::client(
        &Peers::of_paper().tls,
        SocketAddr::new(dropping.network.node(dropping.server).address().expect("it has one"), 4433),
        &Config::constrained(),
        Peers::of_paper().dtls_client,
    );
    let now = dropping.network.now();
    let id = dropping.client;
    let node = dropping.network.node_mut(id);
    node.node = Host::starting_at(client, again, Random::new(2, 1), now);
    node.attach(0, 1500);
    let (syns, _) = dropping.run();
    assert_eq!(syns[2..], [(60_000, Direction::Up), (60_040, Direction::Down)]);
}
