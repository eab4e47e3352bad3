//! The tests share configurations, a server in a thread, and a relay with faults.

use alloc::sync::Arc;
use core::fmt::Debug;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::net::UdpSocket;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use terse_net::{Clock, DatagramClient, DatagramEvent, DatagramServer, OsRng};
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_tls::crypto::SigningKey;
use terse_tls::summary::Summary;
use terse_tls::{
    ClientAuthentication, ClientConfig, ConfigBuilder, Connection, Credential, Datagrams, EndpointCounters,
    EndpointLimits, ServerAddress, ServerConfig, Trust,
};

pub const NAME: &str = "broker.example";

/// The time after which a test is taken to hang, also on a machine that is slow and busy.
pub const SAFETY_LIMIT: Duration = Duration::from_secs(300);

/// Since when a test waits for a state, at which it looks again and again.
pub struct Patience(Instant);

impl Patience {
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Fails when that has taken too long. `seen` is what the last look has seen.
    #[track_caller]
    pub fn check(&self, seen: impl Debug) {
        assert!(self.0.elapsed() < SAFETY_LIMIT, "it has not come after {SAFETY_LIMIT:?}; seen last: {seen:?}");
    }
}

/// Returns settings that are quick enough for tests, and patient enough for a busy machine.
pub fn datagrams() -> Datagrams {
    Datagrams::default().initial_timeout(100).min_timeout(100).max_timeout(800).max_retransmissions(60)
}

/// Returns settings with which a busy machine sends nothing twice, for tests that count messages and lose none.
pub fn patient() -> Datagrams {
    datagrams().max_timeout(60_000).initial_timeout(60_000)
}

/// Returns the configurations of a client and of a server that requires a certificate.
pub fn configs(datagrams: Datagrams) -> (ConfigBuilder<ClientConfig>, ConfigBuilder<ServerConfig>) {
    configs_of("Plant CA", datagrams)
}

/// Returns configurations with certificates of a CA with this name.
pub fn configs_of(ca: &str, datagrams: Datagrams) -> (ConfigBuilder<ClientConfig>, ConfigBuilder<ServerConfig>) {
    configs_with(ca, datagrams, |key| key)
}

/// Returns configurations in which `wrap` has replaced the private key that both sides have.
pub fn configs_with(
    ca: &str,
    datagrams: Datagrams,
    wrap: impl FnOnce(Arc<dyn SigningKey>) -> Arc<dyn SigningKey>,
) -> (ConfigBuilder<ClientConfig>, ConfigBuilder<ServerConfig>) {
    let provider = &terse_aws_lc::PROVIDER;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let validity = Validity::days(now - 3600, 2);
    let options = AuthorityOptions { name: ca.into(), ..AuthorityOptions::new("p256x2".parse().unwrap(), validity) };
    let authority = Authority::new(&options).unwrap();
    let issued = authority.issue(&LeafOptions::new(NAME, validity)).unwrap();
    let key = provider.load_key(issued.key()).unwrap();
    let credential = Credential::new(issued.chain().to_vec(), wrap(key)).unwrap();
    let trust = Trust::new(&[authority.root().clone()]).unwrap();
    let mut client = ClientConfig::builder(provider);
    client.trust(trust.clone());
    client.credentials(vec![credential.clone()]);
    client.datagrams(Some(datagrams));
    let mut server = ServerConfig::builder(provider);
    server.credential(credential);
    server.client_authentication(ClientAuthentication::Required(trust));
    server.datagrams(Some(datagrams));
    (client, server)
}

/// Returns a socket on loopback.
pub fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").unwrap()
}

/// Returns a socket at which nothing arrives, and its address: it is connected to itself, so that others are told that the port is
/// unreachable, and nobody else gets it.
pub fn vacant() -> (UdpSocket, SocketAddr) {
    let socket = socket();
    let address = socket.local_addr().unwrap();
    socket.connect(address).unwrap();
    (socket, address)
}

/// Returns a client of the server at `address`.
pub fn client(config: &ConfigBuilder<ClientConfig>, address: SocketAddr) -> DatagramClient {
    let socket = socket();
    socket.connect(address).unwrap();
    client_on(config, socket)
}

/// Returns a client on `socket`, which is connected to the server.
pub fn client_on(config: &ConfigBuilder<ClientConfig>, socket: UdpSocket) -> DatagramClient {
    let clock = Clock::new();
    let name = ServerAddress::new(NAME.try_into().unwrap(), 4433);
    let connection = Connection::client(Arc::new(config.build().unwrap()), name, clock.now(), &mut OsRng).unwrap();
    DatagramClient::new(connection, socket, clock)
}

/// A server in a thread, which echoes all data.
pub struct EchoServer {
    pub address: SocketAddr,
    /// The events, and the connection's summary at that time.
    events: Receiver<(DatagramEvent, Option<Summary>)>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<EndpointCounters>>,
}

impl EchoServer {
    pub fn start(config: ConfigBuilder<ServerConfig>) -> Self {
        Self::start_with(config, |server| server)
    }

    pub fn start_at(address: SocketAddr, config: ConfigBuilder<ServerConfig>) -> Self {
        Self::start_on(UdpSocket::bind(address).unwrap(), config, |server| server)
    }

    pub fn start_with(
        config: ConfigBuilder<ServerConfig>,
        options: impl FnOnce(DatagramServer) -> DatagramServer,
    ) -> Self {
        Self::start_on(socket(), config, options)
    }

    fn start_on(
        socket: UdpSocket,
        config: ConfigBuilder<ServerConfig>,
        options: impl FnOnce(DatagramServer) -> DatagramServer,
    ) -> Self {
        let address = socket.local_addr().unwrap();
        let (sender, events) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let server =
            DatagramServer::new(Arc::new(config.build().unwrap()), EndpointLimits::default(), socket, Clock::new())
                .unwrap();
        let server = options(server);
        let stopping = stop.clone();
        let thread = Some(thread::spawn(move || serve(server, &sender, &stopping)));
        Self { address, events, stop, thread }
    }

    /// Returns the next event other than data, which is echoed.
    #[track_caller]
    pub fn event(&self) -> (DatagramEvent, Option<Summary>) {
        self.events.recv_timeout(SAFETY_LIMIT).expect("an event")
    }

    /// Stops the server, and returns its counters.
    pub fn end(mut self) -> EndpointCounters {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for EchoServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn serve(
    mut server: DatagramServer,
    events: &Sender<(DatagramEvent, Option<Summary>)>,
    stop: &AtomicBool,
) -> EndpointCounters {
    while !stop.load(Ordering::Relaxed) {
        let Some((handle, event)) = server.next_event(Some(Duration::from_millis(20))).unwrap() else { continue };
        let summary = server.connection(handle).map(|connection| connection.summary().clone());
        let is_over = matches!(event, DatagramEvent::PeerClosed | DatagramEvent::Failed(_) | DatagramEvent::Idle);
        match event {
            DatagramEvent::Data(data) => server.send(handle, &data).unwrap(),
            event => {
                let _ = events.send((event, summary)); // a test that has failed receives no more
            }
        }
        if is_over {
            server.end(handle);
        }
    }
    *server.counters()
}

/// The direction of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    ToServer,
    ToClient,
}

/// A relay between a client and a server.
pub struct Relay {
    /// The address to which the client connects.
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts a relay. `fate` returns the datagrams that arrive in place of one, whose number in its direction counts
    /// from 0.
    pub fn start(server: SocketAddr, fate: impl FnMut(Way, usize, Vec<u8>) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let (front, back) = (socket(), socket());
        back.connect(server).unwrap();
        let address = front.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = stop.clone();
        let thread = Some(thread::spawn(move || relay(&front, &back, fate, &stopping)));
        Self { address, stop, thread }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn relay(
    front: &UdpSocket,
    back: &UdpSocket,
    mut fate: impl FnMut(Way, usize, Vec<u8>) -> Vec<Vec<u8>>,
    stop: &AtomicBool,
) {
    let mut buffer = vec![0; 0x1_0000];
    let mut client = None;
    let mut counts = [0; 2];
    for socket in [front, back] {
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    }
    while !stop.load(Ordering::Relaxed) {
        while let Ok((len, from)) = front.recv_from(&mut buffer) {
            client = Some(from);
            for datagram in fate(Way::ToServer, counts[0], buffer[..len].to_vec()) {
                let _ = back.send(&datagram); // an error counts as a loss
            }
            counts[0] += 1;
        }
        while let (Ok(len), Some(client)) = (back.recv(&mut buffer), client) {
            for datagram in fate(Way::ToClient, counts[1], buffer[..len].to_vec()) {
                let _ = front.send_to(&datagram, client);
            }
            counts[1] += 1;
        }
    }
}
