//! A server and its clients run at addresses that a test chooses, or behind a proxy with headers that it chooses, and
//! nothing is lost except what the test takes away.

use alloc::sync::Arc;
use core::net::SocketAddr;

use terse_testkit::pair::at;
use terse_testkit::pki::server_address;
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::{
    Connection, ConnectionHandle, Datagrams, Endpoint, EndpointEvent, EndpointLimits, Instant, Now, Path,
    ProtocolVersion,
};

use super::modes::PROVIDER;

/// A server, and clients on their paths.
pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) endpoint: Endpoint,
    pub(crate) clients: Vec<Client>,
    pub(crate) now: Now,
    pub(crate) rng: SeededRng,
    pub(crate) events: Vec<(ConnectionHandle, EndpointEvent)>,
}

pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) path: Path,
    /// How many bytes came to the server on each path, and how many were sent there.
    pub(crate) traffic: [usize; 2],
    pub(crate) received: Vec<Vec<u8>>,
    /// All datagrams that the server sent.
    pub(crate) sent: Vec<Vec<u8>>,
}

pub(crate) fn address(last: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], port))
}

pub(crate) fn setup(connection_id: Option<u8>) -> Setup {
    sized(1232, connection_id)
}

pub(crate) fn sized(max_datagram: usize, connection_id: Option<u8>) -> Setup {
    setup_of(ProtocolVersion::TLS_1_2, Datagrams::default().max_datagram(max_datagram).connection_id(connection_id))
}

pub(crate) fn setup_of(version: ProtocolVersion, datagrams: Datagrams) -> Setup {
    Setup::mutual(PROVIDER, PROVIDER, "p256x3").over(version, datagrams)
}

impl World {
    pub(crate) fn new(setup: Setup, limits: EndpointLimits) -> Self {
        let mut rng = SeededRng::new(1);
        let endpoint = Endpoint::new(Arc::new(setup.server.build().unwrap()), limits, &mut rng).unwrap();
        Self { setup, endpoint, clients: Vec::new(), now: at(0), rng, events: Vec::new() }
    }

    /// Makes a new client. Its ClientHello waits to be sent.
    pub(crate) fn client(&mut self, path: impl Into<Path>) -> usize {
        let config = Arc::new(self.setup.client.build().unwrap());
        let connection = Connection::client(config, server_address(), self.now, &mut self.rng).unwrap();
        self.clients.push(Client {
            connection,
            path: path.into(),
            traffic: [0, 0],
            received: Vec::new(),
            sent: Vec::new(),
        });
        self.clients.len() - 1
    }

    /// Makes a client that is connected, and returns its handle at the server.
    pub(crate) fn connected(&mut self, path: impl Into<Path>) -> (usize, ConnectionHandle) {
        let client = self.client(path);
        self.run();
        assert!(self.clients[client].connection.is_connected());
        let mut connected = self.events.drain(..).filter(|(_, event)| *event == EndpointEvent::Connected);
        (client, connected.next_back().expect("a connection").0)
    }

    /// Returns the datagrams that `client` has to send.
    pub(crate) fn transmit(&mut self, client: usize) -> Vec<Vec<u8>> {
        let mut buffer = [0; 2048];
        let Client { connection, sent, .. } = &mut self.clients[client];
        let mut datagrams = Vec::new();
        while let Some(len) = connection.poll_transmit(self.now, &mut buffer) {
            datagrams.push(buffer[..len].to_vec());
        }
        sent.extend(datagrams.iter().cloned());
        datagrams
    }

    /// Hands a datagram to the server.
    pub(crate) fn hand_over(&mut self, from: impl Into<Path>, mut datagram: Vec<u8>) {
        let from = from.into();
        if let Some(client) = self.clients.iter_mut().find(|client| client.path == from) {
            client.traffic[0] += datagram.len();
        }
        self.endpoint.handle_datagram(self.now, &mut self.rng, from, &mut datagram);
    }

    /// Returns the datagrams that the server has to send.
    pub(crate) fn answers(&mut self) -> Vec<(Path, Vec<u8>)> {
        let mut buffer = [0; 2048];
        let mut datagrams = Vec::new();
        while let Some((to, len)) = self.endpoint.poll_transmit(self.now, &mut buffer) {
            datagrams.push((to, buffer[..len].to_vec()));
        }
        self.events.extend(core::iter::from_fn(|| self.endpoint.poll_event()));
        datagrams
    }

    /// Runs until nobody has more to say.
    pub(crate) fn run(&mut self) {
        self.run_over(&mut || true);
    }

    /// Runs until neither side has output left; `arrives` says whether the next datagram arrives.
    pub(crate) fn run_over(&mut self, arrives: &mut dyn FnMut() -> bool) {
        loop {
            let mut idle = true;
            for client in 0..self.clients.len() {
                for datagram in self.transmit(client) {
                    idle = false;
                    if arrives() {
                        self.hand_over(self.clients[client].path.clone(), datagram);
                    }
                }
            }
            for (to, mut datagram) in self.answers() {
                idle = false;
                let Some(client) = self.clients.iter().position(|client| client.path == to) else { continue };
                if arrives() {
                    self.hand_to_client(client, &mut datagram);
                }
            }
            if idle {
                return;
            }
        }
    }

    /// Hands a datagram to a client.
    pub(crate) fn hand_to_client(&mut self, client: usize, datagram: &mut [u8]) {
        let client = &mut self.clients[client];
        client.traffic[1] += datagram.len();
        let _ = client.connection.handle_input(self.now, &mut self.rng, datagram);
        let mut data = vec![0; 2048];
        let len = client.connection.recv(&mut data);
        if len > 0 {
            data.truncate(len);
            client.received.push(data);
        }
    }

    pub(crate) fn wait(&mut self, ms: u64) {
        self.now.monotonic = Instant(self.now.monotonic.0 + ms);
    }

    /// Lets time pass, so that timers run out.
    pub(crate) fn pass(&mut self, ms: u64) {
        self.wait(ms);
        self.endpoint.handle_timeout(self.now);
        for client in &mut self.clients {
            client.connection.handle_timeout(self.now).unwrap();
        }
    }

    /// Sends data from the server to a connection, and returns which clients receive it.
    pub(crate) fn heard_by(&mut self, handle: ConnectionHandle, data: &[u8]) -> Vec<usize> {
        self.endpoint.connection(handle).unwrap().send(data).unwrap();
        self.run();
        let has_heard = |client: &Client| client.received.iter().any(|received| received == data);
        (0..self.clients.len()).filter(|client| has_heard(&self.clients[*client])).collect()
    }

    /// Sends data from the first client, and returns its datagrams.
    pub(crate) fn say(&mut self, data: &[u8]) -> Vec<Vec<u8>> {
        self.clients[0].connection.send(data).unwrap();
        self.transmit(0)
    }

    /// Sends data from the first client, from that address.
    pub(crate) fn say_from(&mut self, from: impl Into<Path>, data: &[u8]) {
        let from = from.into();
        for datagram in self.say(data) {
            self.hand_over(from.clone(), datagram);
        }
    }

    /// Sends data from the server.
    pub(crate) fn answer(&mut self, handle: ConnectionHandle, data: &[u8]) {
        self.endpoint.connection(handle).unwrap().send(data).unwrap();
    }

    /// Checks that no timer of the server is set except the one with which it forgets last flights (RFC 9147, 5.8.1).
    pub(crate) fn waits_for_nobody(&self) {
        let timer = self.endpoint.poll_timeout();
        assert!(timer.is_none_or(|time| time.0 >= 240_000), "{timer:?}");
    }

    /// Lets time pass until no timer is set; what the server sends is lost.
    pub(crate) fn wait_in_vain(&mut self) {
        self.answers();
        while let Some(time) = self.endpoint.poll_timeout() {
            self.pass(time.0 - self.now.monotonic.0);
            self.answers();
        }
    }

    /// Lets time pass until no timer is set.
    pub(crate) fn run_out(&mut self) {
        while let Some(time) = self.endpoint.poll_timeout() {
            self.pass(time.0 - self.now.monotonic.0);
            self.run();
        }
    }
}
