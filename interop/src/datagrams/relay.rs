//! A UDP relay between clients and a server. It keeps what passes, and loses or delays what it is told to.
//!
//! What must always hold: a datagram is kept before it is passed on, so that what an endpoint has received is known; a
//! client has the same address for the server as long as it keeps its own.

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use terse_tls::ContentType;

use super::records::records;
use super::{ACK, PING, UNIFIED_HEADER};
use crate::pki::Side;
use crate::process::LIMIT;

/// Which datagrams of a handshake are lost, or late. Data are not: nobody would send them again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// The one with this number, both directions counted together, from 0.
    Only(usize),
    /// About one of so many, always the same ones for the same seed.
    OneOf(u64, u64),
    /// None, but the one with this number comes after the next one of its sender.
    Late(usize),
}

impl Loss {
    fn fate(self, number: usize) -> Fate {
        match self {
            Self::Only(lost) if number == lost => Fate::Lost,
            Self::OneOf(many, seed) if scattered(number as u64 ^ seed << 32).is_multiple_of(many) => Fate::Lost,
            Self::Late(late) if number == late => Fate::Late,
            _ => Fate::Passed,
        }
    }
}

/// What becomes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is passed on at once.
    Passed,
    /// It is passed on after the next one of its sender.
    Late,
    /// The other side never gets it.
    Lost,
}

/// A number that looks random (the finalizer of SplitMix64): periodic loss would meet the same message of a flight again
/// and again.
const fn scattered(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Whether it begins with a record of ChangeCipherSpec or handshake messages, or holds what DTLS 1.3 protects and is no
/// data. Those are short here; handshake messages and acknowledgements are longer (RFC 9147, 5.2, 7).
fn belongs_to_handshake(datagram: &[u8]) -> bool {
    let Some(first) = datagram.first() else { return false };
    if first & 0b1110_0000 != UNIFIED_HEADER.0 {
        return [ContentType::CHANGE_CIPHER_SPEC, ContentType::HANDSHAKE, ACK].contains(&ContentType(*first));
    }
    records(datagram, 0).is_ok_and(|records| records.iter().all(|record| record.fragment.len() > LONGEST_DATA))
}

/// What a side says, a byte for its type, and a tag.
const LONGEST_DATA: usize = PING.len() + 1 + 16;

/// A datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Who sent it.
    pub side: Side,
    /// Its UDP payload.
    pub bytes: Vec<u8>,
    /// What became of it.
    pub fate: Fate,
}

/// Its sender, and the types of what is in it, as far as they are in the clear.
impl fmt::Display for Datagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {} bytes, {:?}:", self.side, self.bytes.len(), self.fate)?;
        for record in records(&self.bytes, 0).unwrap_or_default() {
            match record.number {
                Some(number) => write!(f, " [{} {}.{number}", record.kind, record.epoch)?,
                None => write!(f, " [{} bytes, epoch {:02b}", record.fragment.len(), record.epoch)?,
            }
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
    changed: Condvar,
    over: AtomicBool,
}

impl Relay {
    /// A relay to the server on `port`.
    pub fn to(port: u16, loss: Loss) -> Self {
        let socket = local();
        let own_port = socket.local_addr().expect("bound above").port();
        let server = AtomicU16::new(port);
        let (passed, changed, over) = Default::default();
        let shared = Shared { socket, server, loss, passed, changed, over };
        let shared = Arc::new(shared);
        let running = shared.clone();
        thread::spawn(move || running.serve_clients());
        Self { port: own_port, shared }
    }

    /// Its own port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether anything was lost or late in the latest connection.
    pub fn has_meddled(&self) -> bool {
        self.passed().iter().any(|datagram| datagram.fate != Fate::Passed)
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

    /// Waits until what has passed in the latest connection is enough for `is_enough`.
    pub fn wait_until(&self, mut is_enough: impl FnMut(&[Datagram]) -> bool) {
        let is_waiting = |passed: &mut Vec<Vec<Datagram>>| !passed.last().is_some_and(|datagrams| is_enough(datagrams));
        let waited = self.shared.changed.wait_timeout_while(self.shared.passed(), LIMIT, is_waiting);
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
    fn passed(&self) -> MutexGuard<'_, Vec<Vec<Datagram>>> {
        self.passed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Keeps a datagram, and passes on with `send` what is to be passed on.
    fn keep(&self, connection: usize, side: Side, bytes: &[u8], send: impl Fn(&[u8])) {
        let late = {
            let datagrams = &mut self.passed()[connection];
            let before = datagrams.iter().rfind(|datagram| datagram.side == side);
            let late = before.filter(|before| before.fate == Fate::Late).map(|before| before.bytes.clone());
            let number = datagrams.iter().filter(|datagram| belongs_to_handshake(&datagram.bytes)).count();
            let fate = if belongs_to_handshake(bytes) { self.loss.fate(number) } else { Fate::Passed };
            datagrams.push(Datagram { side, bytes: bytes.into(), fate });
            self.changed.notify_all();
            [(fate == Fate::Passed).then(|| bytes.into()), late]
        };
        late.into_iter().flatten().for_each(|bytes| send(&bytes));
    }

    fn serve_clients(self: &Arc<Self>) {
        let mut clients: HashMap<SocketAddr, (usize, UdpSocket)> = HashMap::new();
        while let Some((bytes, client)) = self.next(&self.socket) {
            let (number, server) = clients.entry(client).or_insert_with(|| self.meet(client));
            self.keep(*number, Side::Client, &bytes, |bytes| {
                let _ = server.send(bytes); // a server that has gone takes nothing
            });
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
                shared.keep(number, Side::Server, &bytes, |bytes| {
                    let _ = shared.socket.send_to(bytes, client); // a client that has gone takes nothing
                });
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
        let datagram = |side, bytes: &[u8], fate| Datagram { side, bytes: bytes.into(), fate };
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
    }

    #[test]
    fn a_late_datagram_comes_after_the_next_one_of_its_sender() {
        let server = local();
        server.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let relay = Relay::to(server.local_addr().unwrap().port(), Loss::Late(1));
        let client = socket_of(&relay);
        let mut buffer = [0; 10];
        let mut receive = || server.recv_from(&mut buffer).map(|(len, from)| (buffer[..len].to_vec(), from)).unwrap();
        client.send(b"\x16one").unwrap();
        let from = receive().1;
        client.send(b"\x16two").unwrap();
        relay.wait_until(|passed| passed.len() == 2);
        server.send_to(b"answer", from).unwrap(); // of the other side, and so not what it waits for
        relay.wait_until(|passed| passed.len() == 3);
        client.send(b"\x16three").unwrap();
        assert_eq!([receive().0, receive().0], [&b"\x16three"[..], b"\x16two"]);
        let fates: Vec<_> = relay.passed().iter().map(|datagram| datagram.fate).collect();
        assert_eq!(fates, [Fate::Passed, Fate::Late, Fate::Passed, Fate::Passed]);
        assert!(relay.has_meddled());
    }

    #[test]
    fn what_is_no_data_belongs_to_the_handshake() {
        let data = [&[0b0010_0011, 7][..], &[0; LONGEST_DATA]].concat();
        let acknowledgement = [&[0b0010_0011, 7][..], &[0; LONGEST_DATA + 1]].concat();
        let finished = [&[0b0010_0110, 7, 0, 53][..], &[0; 53]].concat();
        assert!(belongs_to_handshake(&acknowledgement) && belongs_to_handshake(&finished));
        assert!(!belongs_to_handshake(&data) && !belongs_to_handshake(&[&finished[..], &data].concat()));
        assert!(!belongs_to_handshake(&finished[..9]) && !belongs_to_handshake(b"\x17") && !belongs_to_handshake(b""));
    }

    #[test]
    fn loss_is_about_as_frequent_as_asked_for() {
        for many in [3, 5] {
            let lost = (0..3000).filter(|number| Loss::OneOf(many, 7).fate(*number) == Fate::Lost).count();
            assert!((2500..3500).contains(&(lost * many as usize)), "{lost} of 3000, one of {many}");
        }
    }
}
