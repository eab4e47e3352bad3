//! A UDP relay between clients and a server keeps all datagrams, and loses or delays those of its [`Loss`].
//!
//! What must always hold: a datagram is kept before it is passed on, so that all that an endpoint received is known;
//! the server sees one address for a client as long as the client keeps its own.

use core::time::Duration;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use super::loss::Loss;
use super::passage::{Datagram, Fate, Passage};
use crate::pki::Side;
use crate::process::LIMIT;

/// A relay for connections one after the other: a client with a new address begins a new one.
pub struct Relay {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    /// The socket to which clients send.
    socket: UdpSocket,
    /// The port of the server.
    server: AtomicU16,
    loss: Loss,
    /// A passage for each connection.
    passages: Mutex<Vec<Passage>>,
    changed: Condvar,
    over: AtomicBool,
}

/// The way between a client and the server.
struct Way {
    /// The number of its passage.
    number: usize,
    client: SocketAddr,
    /// The socket that is connected to the server.
    server: UdpSocket,
}

impl Relay {
    /// Creates a relay to the server on `port`.
    pub fn to(port: u16, loss: Loss) -> Self {
        let socket = local();
        let own_port = socket.local_addr().expect("bound above").port();
        let server = AtomicU16::new(port);
        let (passages, changed, over) = Default::default();
        let shared = Shared { socket, server, loss, passages, changed, over };
        let shared = Arc::new(shared);
        let running = shared.clone();
        thread::spawn(move || running.serve_clients());
        Self { port: own_port, shared }
    }

    /// Returns the relay's own port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether any datagram was lost or late in the latest connection.
    pub fn has_meddled(&self) -> bool {
        has_meddled(&self.passed())
    }

    /// Returns the port of the server.
    pub fn server(&self) -> u16 {
        self.shared.server.load(Ordering::Relaxed)
    }

    /// Relays the next clients to another server.
    pub fn turn_to(&self, port: u16) {
        self.shared.server.store(port, Ordering::Relaxed);
    }

    /// Returns the datagrams so far of the latest connection.
    pub fn passed(&self) -> Vec<Datagram> {
        self.shared.passages().last().map(|passage| passage.datagrams.clone()).unwrap_or_default()
    }

    /// Waits until the datagrams of the latest connection satisfy `is_enough`.
    pub fn wait_until(&self, mut is_enough: impl FnMut(&[Datagram]) -> bool) {
        let is_waiting =
            |passages: &mut Vec<Passage>| !passages.last().is_some_and(|passage| is_enough(&passage.datagrams));
        let waited = self.shared.changed.wait_timeout_while(self.shared.passages(), LIMIT, is_waiting);
        let waited = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).1;
        assert!(!waited.timed_out(), "what was waited for did not pass");
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn passages(&self) -> MutexGuard<'_, Vec<Passage>> {
        self.passages.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Keeps a datagram, and passes on those that are due.
    fn keep(&self, way: &Way, side: Side, bytes: &[u8]) {
        let passed_on = self.passages()[way.number].take(side, bytes, self.loss);
        self.changed.notify_all();
        for (side, bytes) in passed_on {
            // A side that has gone receives nothing.
            let _ = match side {
                Side::Client => way.server.send(&bytes),
                Side::Server => self.socket.send_to(&bytes, way.client),
            };
        }
    }

    fn serve_clients(self: &Arc<Self>) {
        let mut ways: HashMap<SocketAddr, Arc<Way>> = HashMap::new();
        while let Some((bytes, client)) = self.next(&self.socket) {
            let way = ways.entry(client).or_insert_with(|| self.meet(client));
            self.keep(way, Side::Client, &bytes);
        }
    }

    /// Opens a way to the server for a new client, and back.
    fn meet(self: &Arc<Self>, client: SocketAddr) -> Arc<Way> {
        let number = {
            let mut passages = self.passages();
            passages.push(Passage::default());
            passages.len() - 1
        };
        let server = local();
        let port = self.server.load(Ordering::Relaxed);
        server.connect((Ipv4Addr::LOCALHOST, port)).expect("a local address");
        let way = Arc::new(Way { number, client, server });
        let (shared, back) = (self.clone(), way.clone());
        thread::spawn(move || {
            while let Some((bytes, _)) = shared.next(&back.server) {
                shared.keep(&back, Side::Server, &bytes);
            }
        });
        way
    }

    /// Waits for a datagram, or returns `None` once the relay was dropped.
    fn next(&self, socket: &UdpSocket) -> Option<(Vec<u8>, SocketAddr)> {
        let mut buffer = [0; 0x1_0000];
        while !self.over.load(Ordering::Relaxed) {
            // An error means that the wait is over, or that an earlier datagram was refused.
            if let Ok((len, from)) = socket.recv_from(&mut buffer) {
                return Some((buffer[..len].into(), from));
            }
        }
        None
    }
}

/// Opens a socket on a free port.
fn local() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("longer than nothing");
    socket
}

fn has_meddled(passed: &[Datagram]) -> bool {
    passed.iter().any(|datagram| matches!(datagram.fate, Fate::Lost | Fate::Late))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket_of(relay: &Relay) -> UdpSocket {
        let socket = local();
        socket.connect((Ipv4Addr::LOCALHOST, relay.port())).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        socket
    }

    #[test]
    fn datagrams_pass_both_ways_and_are_kept() {
        let server = local();
        server.set_read_timeout(Some(LIMIT)).unwrap();
        let relay = Relay::to(server.local_addr().unwrap().port(), Loss::Only(Side::Server, 0));
        let client = socket_of(&relay);
        let mut buffer = [0; 10];
        client.send(b"\x16one").unwrap();
        let (len, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"\x16one");
        server.send_to(b"\x16two", from).unwrap(); // it is lost
        server.send_to(b"three", from).unwrap();
        let len = client.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"three");
        let datagram = |side, bytes: &[u8], fate| Datagram { side, bytes: bytes.into(), fate, is_new: true };
        let expected = [
            datagram(Side::Client, b"\x16one", Fate::Passed),
            datagram(Side::Server, b"\x16two", Fate::Lost),
            datagram(Side::Server, b"three", Fate::Passed),
        ];
        assert_eq!(relay.passed(), expected);
        socket_of(&relay).send(b"another").unwrap();
        let (_, other) = server.recv_from(&mut buffer).unwrap();
        assert_ne!(from, other);
        assert_eq!(relay.passed(), [datagram(Side::Client, b"another", Fate::Passed)]);
        // What is early waits in the relay, and is neither lost nor late.
        assert!(!has_meddled(&[datagram(Side::Client, b"early", Fate::Held)]));
    }

    #[test]
    fn a_late_datagram_comes_after_the_next_one_of_its_sender() {
        let server = local();
        server.set_read_timeout(Some(LIMIT)).unwrap();
        let relay = Relay::to(server.local_addr().unwrap().port(), Loss::Late(Side::Client, 1));
        let client = socket_of(&relay);
        let mut buffer = [0; 10];
        let mut receive = || server.recv_from(&mut buffer).map(|(len, from)| (buffer[..len].to_vec(), from)).unwrap();
        client.send(b"\x16one").unwrap();
        let from = receive().1;
        client.send(b"\x16two").unwrap();
        relay.wait_until(|passed| passed.len() == 2);
        server.send_to(b"answer", from).unwrap(); // the other side's answer is not what it waits for
        relay.wait_until(|passed| passed.len() == 3);
        client.send(b"\x16three").unwrap();
        assert_eq!([receive().0, receive().0], [&b"\x16three"[..], b"\x16two"]);
        let fates: Vec<_> = relay.passed().iter().map(|datagram| datagram.fate).collect();
        assert_eq!(fates, [Fate::Passed, Fate::Late, Fate::Passed, Fate::Passed]);
        assert!(relay.has_meddled());
    }
}
