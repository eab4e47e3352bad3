//! A TCP relay between a client and a server counts the bytes that pass.
//!
//! What must always hold: a byte is counted before it is passed on, so that all bytes that an endpoint has are counted.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use terse_tls::ContentType;

use crate::pki::Side;
use crate::process::{LIMIT, listener};
use crate::tap::Records;

/// A relay for connections one after the other.
pub(super) struct Relay {
    /// The listener to which clients connect.
    pub(super) listener: TcpListener,
    passages: Arc<Mutex<Vec<Passage>>>,
}

/// The bytes and records of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Passage {
    client: Records,
    server: Records,
    /// The records in the order in which they began to pass: who sent each, its type, its length with the header.
    pub(super) records: Vec<(Side, ContentType, usize)>,
}

impl Relay {
    /// Creates a relay to the server on `port`.
    pub(super) fn to(port: u16) -> Self {
        let (listener, _) = listener();
        let passages = Arc::<Mutex<Vec<Passage>>>::default();
        let accepting = listener.try_clone().expect("a socket can be shared");
        let shared = passages.clone();
        thread::spawn(move || {
            while let Ok((client, _)) = accepting.accept() {
                let number = {
                    let mut passages = lock(&shared);
                    passages.push(Passage::default());
                    passages.len() - 1
                };
                let shared = shared.clone();
                thread::spawn(move || relay(&client, port, &shared, number));
            }
        });
        Self { listener, passages }
    }

    /// Returns the relay's own port.
    pub(super) fn port(&self) -> u16 {
        self.listener.local_addr().expect("it listens").port()
    }

    /// Returns the bytes and records so far of the latest connection.
    pub(super) fn passed(&self) -> Passage {
        lock(&self.passages).last().cloned().unwrap_or_default()
    }
}

impl Passage {
    /// Returns the number of bytes that `side` sent.
    pub(super) const fn bytes(&self, side: Side) -> u64 {
        match side {
            Side::Client => self.client.bytes,
            Side::Server => self.server.bytes,
        }
    }

    fn add(&mut self, side: Side, bytes: &[u8]) {
        let records = if side == Side::Client { &mut self.client } else { &mut self.server };
        let before = records.seen.len();
        records.add(bytes);
        self.records.extend(records.seen[before..].iter().map(|(kind, len)| (side, *kind, *len)));
    }
}

fn lock(passages: &Mutex<Vec<Passage>>) -> MutexGuard<'_, Vec<Passage>> {
    passages.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Relays one connection. If the relay fails, its endpoints see the end of the connection.
fn relay(client: &TcpStream, port: u16, passages: &Mutex<Vec<Passage>>, number: usize) {
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return };
    thread::scope(|scope| {
        scope.spawn(|| pass(client, &server, |bytes| lock(passages)[number].add(Side::Client, bytes)));
        scope.spawn(|| pass(&server, client, |bytes| lock(passages)[number].add(Side::Server, bytes)));
    });
}

fn pass(mut from: &TcpStream, mut to: &TcpStream, count: impl Fn(&[u8])) {
    let mut buffer = [0; 0x4000];
    let prepared = from.set_read_timeout(Some(LIMIT)).and_then(|()| to.set_nodelay(true));
    while prepared.is_ok() {
        let Ok(len @ 1..) = from.read(&mut buffer) else { break };
        count(&buffer[..len]);
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    // An error means that the stream is already closed.
    let _ = to.shutdown(Shutdown::Write);
}
