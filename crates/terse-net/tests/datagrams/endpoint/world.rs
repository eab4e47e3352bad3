//! The tests of endpoints on tokio's sockets share an echo server, and a stateless join proxy.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::net::UdpSocket;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use terse_net::tokio::{DatagramEndpoint, Framing, SocketCounters};
use terse_net::{Clock, DatagramClient, DatagramEvent};
use terse_tls::summary::Summary;
use terse_tls::{ConfigBuilder, EndpointCounters, EndpointLimits, Path, ServerConfig};
use tokio::runtime::{Builder, Runtime};

use super::super::world::{Patience, SAFETY_LIMIT, Way, socket};

/// Returns a runtime of one thread.
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// An event, and what was known of its connection at that time.
#[derive(Debug)]
pub struct Happened {
    pub event: DatagramEvent,
    pub path: Option<Path>,
    pub summary: Option<Summary>,
    /// The connections, those half open, and those that wait.
    pub connections: (usize, usize, usize),
}

/// A server in a thread, which echoes all data.
pub struct AsyncServer {
    pub address: SocketAddr,
    events: Receiver<Happened>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<(EndpointCounters, SocketCounters)>>,
}

impl AsyncServer {
    pub fn start<F: Framing + 'static>(config: ConfigBuilder<ServerConfig>, framing: F) -> Self {
        Self::start_with(config, framing, |server| server)
    }

    pub fn start_with<F: Framing + 'static>(
        config: ConfigBuilder<ServerConfig>,
        framing: F,
        options: impl FnOnce(DatagramEndpoint<F>) -> DatagramEndpoint<F> + Send + 'static,
    ) -> Self {
        Self::start_within(config, EndpointLimits::default(), framing, options)
    }

    pub fn start_within<F: Framing + 'static>(
        config: ConfigBuilder<ServerConfig>,
        limits: EndpointLimits,
        framing: F,
        options: impl FnOnce(DatagramEndpoint<F>) -> DatagramEndpoint<F> + Send + 'static,
    ) -> Self {
        let socket = socket();
        let address = socket.local_addr().unwrap();
        socket.set_nonblocking(true).unwrap();
        let config = Arc::new(config.build().unwrap());
        let (sender, events) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = stop.clone();
        let thread = thread::spawn(move || {
            runtime().block_on(async {
                let socket = tokio::net::UdpSocket::from_std(socket).unwrap();
                let server = DatagramEndpoint::with_framing(config, limits, socket, Clock::new(), framing).unwrap();
                serve(options(server), &sender, &stopping).await
            })
        });
        Self { address, events, stop, thread: Some(thread) }
    }

    /// Returns the next event other than data, which is echoed.
    #[track_caller]
    pub fn event(&self) -> Happened {
        self.events.recv_timeout(SAFETY_LIMIT).expect("an event")
    }

    /// Stops the server, and returns its counters.
    pub fn end(mut self) -> (EndpointCounters, SocketCounters) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for AsyncServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

async fn serve<F: Framing>(
    mut server: DatagramEndpoint<F>,
    events: &Sender<Happened>,
    stop: &AtomicBool,
) -> (EndpointCounters, SocketCounters) {
    while !stop.load(Ordering::Relaxed) {
        let next = tokio::time::timeout(Duration::from_millis(20), server.next_event()).await;
        let Ok(next) = next else { continue };
        handle(&mut server, next.unwrap(), events);
    }
    (*server.counters(), *server.socket_counters())
}

/// Echoes data, tells of everything else, and ends what is over.
pub fn handle<F: Framing>(
    server: &mut DatagramEndpoint<F>,
    (handle, event): (terse_tls::ConnectionHandle, DatagramEvent),
    events: &Sender<Happened>,
) {
    let path = server.path(handle).cloned();
    let summary = server.connection(handle).map(|connection| connection.summary().clone());
    let is_over = matches!(event, DatagramEvent::PeerClosed | DatagramEvent::Failed(_) | DatagramEvent::Idle);
    match event {
        DatagramEvent::Data(data) => server.send(handle, &data).unwrap(),
        event => {
            let connections = server.connections();
            let _ = events.send(Happened { event, path, summary, connections }); // to a test that has not failed
        }
    }
    if is_over {
        server.end(handle);
    }
}

/// Sends a message until its echo comes: it may be lost, also because the server waits for an answer of its own.
pub fn exchange(client: &mut DatagramClient) {
    let patience = Patience::new();
    loop {
        patience.check("no echo");
        client.set_limit(Duration::from_millis(300));
        client.send(b"hello").unwrap();
        match client.receive(&mut [0; 8]) {
            Ok(len) => break assert_eq!(len, 5),
            Err(error) => assert!(error.is_timeout(), "{error}"),
        }
    }
}

/// A stateless join proxy: each pledge has a port of its own there, and the registrar sees one address and a header for
/// each.
pub struct Proxy {
    /// The addresses to which the pledges connect.
    pub addresses: Vec<SocketAddr>,
    /// The address that the registrar sees.
    pub seen_as: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What a proxy does, each time that a datagram passes.
pub struct Passing<'a> {
    pub way: Way,
    /// How many datagrams passed before in this direction, of all pledges.
    pub number: usize,
    /// The pledge's header, which may be changed for what comes then.
    pub header: &'a mut Vec<u8>,
}

impl Proxy {
    /// Starts a proxy with these headers. `passes` says whether a datagram arrives. No datagram from the registrar has
    /// more than `max_datagram` bytes.
    pub fn start(
        registrar: SocketAddr,
        headers: &[&[u8]],
        max_datagram: usize,
        passes: impl FnMut(Passing<'_>) -> bool + Send + 'static,
    ) -> Self {
        let back = socket();
        back.connect(registrar).unwrap();
        let seen_as = back.local_addr().unwrap();
        let mut pledges = Vec::new();
        for header in headers {
            pledges.push(Pledge { front: socket(), header: header.to_vec(), address: None });
        }
        let addresses = pledges.iter().map(|pledge| pledge.front.local_addr().unwrap()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = stop.clone();
        let thread = Some(thread::spawn(move || forward(&back, pledges, max_datagram, passes, &stopping)));
        Self { addresses, seen_as, stop, thread }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(result) = self.thread.take().map(JoinHandle::join)
            && !thread::panicking()
        {
            result.expect("the proxy saw nothing wrong");
        }
    }
}

struct Pledge {
    front: UdpSocket,
    header: Vec<u8>,
    address: Option<SocketAddr>,
}

fn forward(
    back: &UdpSocket,
    mut pledges: Vec<Pledge>,
    max_datagram: usize,
    mut passes: impl FnMut(Passing<'_>) -> bool,
    stop: &AtomicBool,
) {
    let mut buffer = vec![0; 0x1_0000];
    let mut counts = [0; 2];
    for socket in pledges.iter().map(|pledge| &pledge.front).chain([back]) {
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    }
    while !stop.load(Ordering::Relaxed) {
        for pledge in &mut pledges {
            while let Ok((len, from)) = pledge.front.recv_from(&mut buffer) {
                pledge.address = Some(from);
                let header = &mut pledge.header;
                if passes(Passing { way: Way::ToServer, number: counts[0], header }) {
                    let _ = back.send(&wrap(&pledge.header, &buffer[..len])); // an error counts as a loss
                }
                counts[0] += 1;
            }
        }
        while let Ok(len) = back.recv(&mut buffer) {
            assert!(len <= max_datagram, "{len} bytes");
            let datagram = &buffer[..len];
            let of = |pledge: &Pledge| datagram.starts_with(&prefix(&pledge.header));
            // One for a header that was changed meanwhile is for nobody.
            let Some(index) = pledges.iter().position(of) else { continue };
            let Pledge { front, header, address } = &mut pledges[index];
            let content = unwrap(datagram, prefix(header).len());
            if passes(Passing { way: Way::ToClient, number: counts[1], header }) {
                let _ = front.send_to(content, address.expect("it spoke first"));
            }
            counts[1] += 1;
        }
    }
}

/// Returns the beginning of all messages with this header: an array of two, and a byte string (RFC 8949, 3).
fn prefix(header: &[u8]) -> Vec<u8> {
    match header.len() as u8 {
        len @ 0..24 => [&[0x82, 0x40 | len][..], header].concat(),
        len => [&[0x82, 0x58, len][..], header].concat(),
    }
}

/// Returns a message. The length of its content is always in two bytes, which is not the shortest form, and valid.
pub fn wrap(header: &[u8], content: &[u8]) -> Vec<u8> {
    [&prefix(header)[..], &[0x59], &(content.len() as u16).to_be_bytes(), content].concat()
}

/// Returns the content of a message, whose head is the shortest.
fn unwrap(message: &[u8], prefix: usize) -> &[u8] {
    let (len, content) = match message[prefix..] {
        [head @ 0x40..0x58, ref content @ ..] => (usize::from(head & 0x1f), content),
        [0x58, len, ref content @ ..] if len >= 24 => (len.into(), content),
        [0x59, high, low, ref content @ ..] if high > 0 => (usize::from(u16::from_be_bytes([high, low])), content),
        _ => panic!("not a byte string of the shortest form: {message:02x?}"),
    };
    assert_eq!(content.len(), len, "and nothing behind it");
    content
}
