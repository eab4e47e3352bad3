//! A device, a gateway and a server, joined by two links.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use crate::capture::View;
use crate::gateway::{Gateway, ProxyConfig};
use crate::host::{Application, Host, SocketEvent, SocketId, Sockets};
use crate::link::Link;
use crate::network::{LinkId, Network, Node, NodeId, is_node_within};
use crate::tcp::{Config, Failure};
use crate::{Random, Time};

/// A program that connects and sends, or listens and echoes. It closes its side when it has sent everything, as a server
/// when the peer has finished too.
pub(super) struct Program {
    pub(super) config: Config,
    pub(super) connects: Vec<SocketAddr>,
    pub(super) to_send: Vec<u8>,
    /// Whether the program never reads.
    pub(super) is_deaf: bool,
    /// Whether the program leaves its side open.
    pub(super) stays: bool,
    pub(super) connections: BTreeMap<SocketId, Stream>,
    /// The addresses of those who connected.
    pub(super) peers: Vec<SocketAddr>,
}

/// One connection of a program.
#[derive(Default)]
pub(super) struct Stream {
    to_send: Vec<u8>,
    pub(super) received: Vec<u8>,
    pub(super) connected: Option<Time>,
    pub(super) peer_finished: Option<Time>,
    pub(super) closed: Option<Time>,
    pub(super) failed: Option<(Time, Failure)>,
}

impl Program {
    pub(super) fn server(config: Config) -> Self {
        let (connects, to_send, peers) = (Vec::new(), Vec::new(), Vec::new());
        Self { config, connects, to_send, is_deaf: false, stays: false, connections: BTreeMap::new(), peers }
    }

    pub(super) fn client(config: Config, connects: Vec<SocketAddr>, to_send: Vec<u8>) -> Self {
        Self { connects, to_send, ..Self::server(config) }
    }

    /// Returns the only connection.
    pub(super) fn only(&self) -> &Stream {
        assert_eq!(self.connections.len(), 1);
        self.connections.values().next().expect("there is one")
    }

    fn push(&mut self, socket: SocketId, sockets: &mut Sockets<'_>) {
        let Some(stream) = self.connections.get_mut(&socket) else { return };
        let taken = sockets.send(socket, &stream.to_send);
        stream.to_send.drain(..taken);
        let may_close = !self.connects.is_empty() || stream.peer_finished.is_some();
        if stream.to_send.is_empty() && may_close && !self.stays {
            sockets.close(socket);
        }
    }
}

impl Application for Program {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        for remote in &self.connects {
            let socket = sockets.connect(*remote, self.config.clone()).expect("one family");
            let stream = Stream { to_send: self.to_send.clone(), ..Stream::default() };
            self.connections.insert(socket, stream);
        }
        if self.connects.is_empty() {
            sockets.listen(PORT, self.config.clone()).expect("the port is free");
        }
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        match event {
            SocketEvent::Accepted { socket, remote, .. } => {
                self.peers.push(remote);
                let stream = Stream { connected: Some(now), to_send: self.to_send.clone(), ..Stream::default() };
                self.connections.insert(socket, stream);
                self.push(socket, sockets);
            }
            SocketEvent::Connected(socket) => {
                self.connections.entry(socket).or_default().connected = Some(now);
                self.push(socket, sockets);
            }
            SocketEvent::Readable(socket) if !self.is_deaf => {
                let mut buffer = vec![0; sockets.readable(socket)];
                sockets.recv(socket, &mut buffer);
                let stream = self.connections.entry(socket).or_default();
                stream.received.extend(&buffer);
                if self.connects.is_empty() {
                    stream.to_send.extend(&buffer);
                }
                self.push(socket, sockets);
            }
            SocketEvent::Readable(_) => {}
            SocketEvent::Writable(socket) => self.push(socket, sockets),
            SocketEvent::PeerFinished(socket) => {
                self.connections.entry(socket).or_default().peer_finished = Some(now);
                self.push(socket, sockets);
            }
            SocketEvent::Closed(socket) => self.connections.entry(socket).or_default().closed = Some(now),
            SocketEvent::Failed(socket, failure) => {
                self.connections.entry(socket).or_default().failed = Some((now, failure));
            }
        }
    }
}

/// A node of these networks.
pub(super) enum Member<A> {
    Host(Box<Host<A>>),
    Gateway(Box<Gateway>),
}

impl<A: Application> Member<A> {
    fn node(&self) -> &dyn Node {
        match self {
            Self::Host(host) => &**host,
            Self::Gateway(gateway) => &**gateway,
        }
    }

    fn node_mut(&mut self) -> &mut dyn Node {
        match self {
            Self::Host(host) => &mut **host,
            Self::Gateway(gateway) => &mut **gateway,
        }
    }
}

is_node_within!([A: Application] Member<A>);

/// A network of a device, a gateway and a server.
pub(super) struct World {
    pub(super) network: Network<Member<Program>>,
    pub(super) device: NodeId,
    pub(super) gateway: NodeId,
    pub(super) server: NodeId,
    pub(super) mesh: LinkId,
    pub(super) internet: LinkId,
}

impl World {
    /// Joins the programs by two links, through a gateway that splits connections if there is a `proxy`.
    pub(super) fn new(links: [Link; 2], programs: [Program; 2], proxy: Option<ProxyConfig>, seed: u64) -> Self {
        Self::through(gateway(proxy, seed), links, programs, seed)
    }

    /// Joins the programs by two links, through this gateway.
    pub(super) fn through(
        gateway: Gateway,
        [mesh, internet]: [Link; 2],
        [device, server]: [Program; 2],
        seed: u64,
    ) -> Self {
        let mut network = Network::new(seed);
        let host = |address, program, stream| Host::new(ip(address), program, Random::new(seed, stream));
        let device = network.add(Member::Host(Box::new(host("bbbb::2", device, 100))));
        let gateway = network.add(Member::Gateway(Box::new(gateway)));
        let server = network.add(Member::Host(Box::new(host("bbbb::1", server, 101))));
        let mesh = network.connect(device, gateway, mesh);
        let internet = network.connect(gateway, server, internet);
        network.capture(mesh, View::Packets);
        network.capture(internet, View::Packets);
        Self { network, device, gateway, server, mesh, internet }
    }

    /// Runs until `deadline`, and checks the balances after every step.
    pub(super) fn run_until(&mut self, deadline: Time) {
        while self.network.next_time().is_some_and(|at| at <= deadline) {
            self.network.step();
            let books = self.network.conservation();
            assert!(books.holds(), "{books}");
        }
        self.network.run_until(deadline);
    }

    pub(super) fn program(&self, node: NodeId) -> &Program {
        match self.network.node(node) {
            Member::Host(host) => &host.application,
            Member::Gateway(_) => panic!("a gateway"),
        }
    }

    /// Lets the caller act as a host's program does.
    pub(super) fn act(&mut self, node: NodeId, action: impl FnOnce(&mut Program, &mut Sockets<'_>)) {
        let now = self.network.now();
        match self.network.node_mut(node) {
            Member::Host(host) => host.act(now, action),
            Member::Gateway(_) => panic!("a gateway"),
        }
    }

    pub(super) fn proxy(&self) -> &super::Proxy {
        match self.network.node(self.gateway) {
            Member::Gateway(gateway) => gateway.proxy().expect("there is one"),
            Member::Host(_) => panic!("a host"),
        }
    }
}

/// The gateway of these networks: the server has an address of the mesh's prefix, as in the paper.
pub(super) fn gateway(proxy: Option<ProxyConfig>, seed: u64) -> Gateway {
    let gateway = Gateway::new(ip("bbbb::9"), "bbbb::/64".parse().expect("a prefix"))
        .with_route("bbbb::1".parse().expect("an address"), super::INTERNET);
    match proxy {
        Some(proxy) => gateway.with_proxy(proxy, Random::new(seed, 102)),
        None => gateway,
    }
}

pub(super) fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// The server's address and port.
pub(super) fn server() -> SocketAddr {
    SocketAddr::new(ip("bbbb::1"), PORT)
}

pub(super) fn content(len: usize) -> Vec<u8> {
    (0..len).map(|number| (number * 7 + number / 251) as u8).collect()
}

/// The port of servers.
pub(super) const PORT: u16 = 443;
