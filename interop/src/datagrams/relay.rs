//! A UDP relay between clients and a server. It keeps what passes, and loses what it is told to.
//!
//! What must always hold: a datagram is kept before it is passed on, so that what an endpoint has received is known; a
//! client has the same address for the server as long as it keeps its own.

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use terse_tls::ContentType;

use super::records::records;
use crate::pki::Side;

/// Which datagrams of a handshake are lost. What comes after it is not: nobody would send it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// The one with this number, both directions counted together, from 0.
    Only(usize),
    /// About one of so many, always the same ones for the same seed.
    OneOf(u64, u64),
}

impl Loss {
    fn takes(self, number: usize) -> bool {
        match self {
            Self::None => false,
            Self::Only(lost) => number == lost,
            Self::OneOf(many, seed) => scattered(number as u64 ^ seed << 32).is_multiple_of(many),
        }
    }
}

/// A number that looks random (the finalizer of SplitMix64): periodic loss would meet the same message of a flight again
/// and again.
const fn scattered(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Whether it begins with a record of ChangeCipherSpec or handshake messages.
fn belongs_to_handshake(datagram: &[u8]) -> bool {
    [ContentType::CHANGE_CIPHER_SPEC, ContentType::HANDSHAKE].iter().any(|kind| datagram.first() == Some(&kind.0))
}

/// A datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Who sent it.
    pub side: Side,
    /// Its UDP payload.
    pub bytes: Vec<u8>,
    /// Whether the other side never got it.
    pub lost: bool,
}

/// Its sender, and the types of what is in it, as far as they are in the clear.
impl fmt::Display for Datagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {} bytes{}:", self.side, self.bytes.len(), if self.lost { ", lost" } else { "" })?;
        for record in records(&self.bytes, 0).unwrap_or_default() {
            write!(f, " [{} {}.{}", record.kind, record.epoch, record.number)?;
            for part in record.fragments() {
                write!(f, " {} {} {}+{}/{}", part.message_seq, part.kind, part.offset, part.len, part.message_len)?;
            }
            write!(f, "]")?;
        }
        Ok(())
    }
}

/// A relay for connections one after the other: a client with a new address begins a new one.
pub struct Relay {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    /// Where the clients send to.
    socket: UdpSocket,
    /// Where the server is.
    server: AtomicU16,
    loss: Loss,
    /// Of each connection, all datagrams so far.
    passed: Mutex<Vec<Vec<Datagram>>>,
    over: AtomicBool,
}

impl Relay {
    /// A relay to the server on `port`.
    pub fn to(port: u16, loss: Loss) -> Self {
        let socket = local();
        let own_port = socket.local_addr().expect("bound above").port();
        let server = AtomicU16::new(port);
        let shared = Shared { socket, server, loss, passed: Mutex::default(), over: AtomicBool::new(false) };
        let shared = Arc::new(shared);
        let running = shared.clone();
        thread::spawn(move || running.serve_clients());
        Self { port: own_port, shared }
    }

    /// Its own port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether anything was lost in the latest connection.
    pub fn has_lost(&self) -> bool {
        self.passed().iter().any(|datagram| datagram.lost)
    }

    /// The port of the server.
    pub fn server(&self) -> u16 {
        self.shared.server.load(Ordering::Relaxed)
    }

    /// From the next client on, to another server.
    pub fn turn_to(&self, port: u16) {
        self.shared.server.store(port, Ordering::Relaxed);
    }

    /// What has passed so far in the latest connection.
    pub fn passed(&self) -> Vec<Datagram> {
        self.shared.passed().last().cloned().unwrap_or_default()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn passed(&self) -> MutexGuard<'_, Vec<Vec<Datagram>>> {
        self.passed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Keeps a datagram. Whether it is to be passed on.
    fn keep(&self, connection: usize, side: Side, bytes: &[u8]) -> bool {
        let datagrams = &mut self.passed()[connection];
        let is_of_handshake = belongs_to_handshake(bytes);
        let number = datagrams.iter().filter(|datagram| belongs_to_handshake(&datagram.bytes)).count();
        let lost = is_of_handshake && self.loss.takes(number);
        datagrams.push(Datagram { side, bytes: bytes.into(), lost });
        !lost
    }

    fn serve_clients(self: &Arc<Self>) {
        let mut clients: HashMap<SocketAddr, (usize, UdpSocket)> = HashMap::new();
        while let Some((bytes, client)) = self.next(&self.socket) {
            let (number, server) = clients.entry(client).or_insert_with(|| self.meet(client));
            if self.keep(*number, Side::Client, &bytes) {
                let _ = server.send(&bytes); // a server that has gone takes nothing
            }
        }
    }

    /// A way to the server for a new client, and back.
    fn meet(self: &Arc<Self>, client: SocketAddr) -> (usize, UdpSocket) {
        let number = {
            let mut passed = self.passed();
            passed.push(Vec::new());
            passed.len() - 1
        };
        let server = local();
        let port = self.server.load(Ordering::Relaxed);
        server.connect((Ipv4Addr::LOCALHOST, port)).expect("a local address");
        let (shared, from) = (self.clone(), server.try_clone().expect("a socket can be shared"));
        thread::spawn(move || {
            while let Some((bytes, _)) = shared.next(&from) {
                if shared.keep(number, Side::Server, &bytes) {
                    let _ = shared.socket.send_to(&bytes, client); // a client that has gone takes nothing
                }
            }
        });
        (number, server)
    }

    /// Waits for a datagram; `None` when the relay has been dropped.
    fn next(&self, socket: &UdpSocket) -> Option<(Vec<u8>, SocketAddr)> {
        let mut buffer = [0; 0x1_0000];
        while !self.over.load(Ordering::Relaxed) {
            // An error is the end of the wait, or says that an earlier datagram was not taken.
            if let Ok((len, from)) = socket.recv_from(&mut buffer) {
                return Some((buffer[..len].into(), from));
            }
        }
        None
    }
}

/// A socket on a free port.
fn local() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("longer than nothing");
    socket
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket_of(relay: &Relay) -> UdpSocket {
        let socket = local();
        socket.connect((Ipv4Addr::LOCALHOST, relay.port())).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket
    }

    #[test]
    fn datagrams_pass_both_ways_and_are_kept() {
        let server = local();
        server.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let relay = Relay::to(server.local_addr().unwrap().port(), Loss::Only(1));
        let client = socket_of(&relay);
        let mut buffer = [0; 10];
        client.send(b"\x16one").unwrap();
        let (len, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"\x16one");
        server.send_to(b"\x16two", from).unwrap(); // which is lost
        server.send_to(b"three", from).unwrap();
        let len = client.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"three");
        let datagram = |side, bytes: &[u8], lost| Datagram { side, bytes: bytes.into(), lost };
        let expected = [
            datagram(Side::Client, b"\x16one", false),
            datagram(Side::Server, b"\x16two", true),
            datagram(Side::Server, b"three", false),
        ];
        assert_eq!(relay.passed(), expected);
        socket_of(&relay).send(b"another").unwrap();
        let (_, other) = server.recv_from(&mut buffer).unwrap();
        assert_ne!(from, other);
        assert_eq!(relay.passed(), [datagram(Side::Client, b"another", false)]);
    }

    #[test]
    fn loss_is_about_as_frequent_as_asked_for() {
        for many in [3, 5] {
            let lost = (0..3000).filter(|number| Loss::OneOf(many, 7).takes(*number)).count();
            assert!((2500..3500).contains(&(lost * many as usize)), "{lost} of 3000, one of {many}");
        }
    }
}
