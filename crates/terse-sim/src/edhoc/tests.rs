//! EDHOC over links that lose, double and delay: both sides have the same secret, or neither has one.

mod messages;
mod requests;

use alloc::sync::Arc;
use core::time::Duration;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::{Client, Identity, PORT, Peer, Server, Transfer};
use crate::computing::{Device, Devices};
use crate::host::Host;
use crate::link::{Direction, Link};
use crate::network::{LinkId, Network, NodeId};
use crate::script::Outcome;
use crate::{Random, Time};

/// A client and a server on a link.
struct World {
    network: Network<Host<Peer>>,
    client: NodeId,
    server: NodeId,
    link: LinkId,
}

/// What a world is made of.
#[derive(Clone)]
struct Setting {
    transfer: Transfer,
    link: Link,
    seed: u64,
    /// The devices of client and server.
    devices: [Option<Arc<Device>>; 2],
    /// Whether the server knows the client.
    is_known: bool,
}

impl Setting {
    fn new(transfer: Transfer, link: Link, seed: u64) -> Self {
        Self { transfer, link, seed, devices: [None, None], is_known: true }
    }

    fn world(&self) -> World {
        let random = |stream| Random::new(self.seed, stream);
        // The subjects and kids of RFC 9529.
        let own = Identity::generate("42-50-31-FF-EF-37-32-39", &[0x2B], random(10)).expect("it fits");
        let server = Identity::generate("example.edu", &[0x32], random(11)).expect("it fits");
        let stranger = Identity::generate("42-50-31-FF-EF-37-32-39", &[0x2B], random(12)).expect("it fits");
        let known = if self.is_known { &own } else { &stranger };
        let [client_device, server_device] = self.devices.clone();
        let remote = SocketAddr::new(address(2), PORT);
        let client = Client::new(own.clone(), &server, self.transfer, remote, random(20), client_device);
        let server = Server::new(server, [known], self.transfer, PORT, random(21), server_device);
        let mut network = Network::new(self.seed);
        let client = Host::new(address(1), Peer::Client(Box::new(client)), random(100));
        let server = Host::new(address(2), Peer::Server(Box::new(server)), random(101));
        let (client, server) = (network.add(client), network.add(server));
        let link = network.connect(client, server, self.link.clone());
        network.ledger_mut(link).keep_records(true);
        World { network, client, server, link }
    }
}

impl World {
    /// Runs until the client's exchange is over.
    fn run(&mut self) {
        let client = self.client;
        self.network.run_while(Time::from_millis(600_000), |network| {
            !network.node(client).application.outcome().is_some_and(Outcome::is_over)
        });
        assert!(self.network.conservation().holds(), "{}", self.network.conservation());
    }

    fn client(&self) -> &Client {
        match &self.network.node(self.client).application {
            Peer::Client(client) => client,
            Peer::Server(_) => panic!("the first node is the client"),
        }
    }

    fn server(&mut self) -> &mut Server {
        let id = self.server;
        match &mut self.network.node_mut(id).application {
            Peer::Server(server) => server,
            Peer::Client(_) => panic!("the second node is the server"),
        }
    }

    /// Asserts that both sides have the same secret, and returns when the client was connected.
    fn connected(&mut self, context: &str) -> Time {
        assert_eq!(self.client().outcome().failure, None, "{context}");
        let own = self.client().secret().unwrap_or_else(|| panic!("{context}: the client has no secret"));
        let peer = self.server().outcomes().next().expect("a client").peer;
        assert!(self.server().secret(peer) == Some(own), "{context}: the secrets differ");
        assert_ne!(own.master_secret, [0; 16]);
        self.client().outcome().connected.expect("it has the secret")
    }

    /// Returns how many datagrams were sent on the link.
    fn sent(&self, direction: Direction) -> u64 {
        self.network.ledger(self.link).total_towards(direction).packets
    }
}

fn address(last: u16) -> IpAddr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, last).into()
}

fn slow() -> Link {
    Link::lossless().with_paths(|path| path.delay = Duration::from_millis(50))
}

fn device(name: &str) -> Option<Arc<Device>> {
    Some(Devices::built_in().find(name).expect("it is built in").clone())
}
