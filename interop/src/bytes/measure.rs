//! One handshake through the relay: ours, and those of the peers among themselves.
//!
//! What must always hold: what our own summaries say equals what the relay counted.

use std::io::{Read, Write};
use std::thread;

use pki_types::ServerName;
use terse_net::Stream;
use terse_tls::HandshakeType;
use terse_tls::summary::{Summary, Traffic};

use super::relay::Relay;
use crate::case::{Case, clock};
use crate::meeting::connection;
use crate::peer::{Peer, Role, rustls};
use crate::process::{LIMIT, accept, connect, listener};

/// What a handshake cost on the wire, in bytes of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The client sent.
    pub client: u64,
    /// The server sent.
    pub server: u64,
    /// By how much both signatures together are shorter than they could be: one with P-256 has up to 72 bytes, mostly
    /// 70 to 72. Unknown of peers, who say nothing about what they encrypted.
    pub short_signatures: Option<u64>,
}

impl Cost {
    /// Both directions.
    pub const fn total(self) -> u64 {
        self.client + self.server
    }

    /// Both directions, with the longest signatures.
    pub fn at_most(self) -> Option<u64> {
        Some(self.total() + self.short_signatures?)
    }
}

/// A handshake between a client and a server of ours, and an exchange of data, after which caches know each other.
pub(super) fn ours(case: &Case) -> (Summary, Cost) {
    let (listener, port) = listener();
    let relay = Relay::to(port);
    let (client, server, passed) = thread::scope(|scope| {
        let server = scope.spawn(|| {
            let wire = accept(&listener, || {});
            let mut stream = Stream::new(connection(Role::Server, case), wire, clock());
            stream.handshake().expect("the server's handshake");
            let mut word = [0; 4];
            stream.read_exact(&mut word).expect("data from the client");
            stream.write_all(b"pong").expect("data for the client");
            stream.close().expect("a connection that is open");
            stream.connection().summary().clone()
        });
        let mut stream = Stream::new(connection(Role::Client, case), connect(relay.port), clock());
        stream.handshake().expect("the client's handshake");
        // The server's last byte of the handshake came before the client's Finished, which no data followed yet: once
        // the relay has counted what the client wrote, it has counted the handshake and nothing else.
        let sent = stream.connection().summary().sent.record_bytes;
        let passed = wait_for(&relay, sent);
        stream.write_all(b"ping").expect("data for the server");
        let mut word = Vec::new();
        stream.read_to_end(&mut word).expect("data from the server");
        assert_eq!(word, b"pong");
        (stream.connection().summary().clone(), server.join().expect("the server's side"), passed)
    });
    let counted = (passed.sent.bytes, passed.received.bytes);
    let says = |sent: &Traffic, received: &Traffic| (sent.record_bytes, received.record_bytes);
    assert_eq!(says(&client.sent, &client.received), counted, "the client's summary and the relay differ");
    assert_eq!(says(&server.received, &server.sent), counted, "the server's summary and the relay differ");
    let short_signatures = Some(short(&client.sent) + short(&server.sent));
    (client, Cost { client: counted.0, server: counted.1, short_signatures })
}

/// Waits until the relay has counted `sent` bytes of the client.
fn wait_for(relay: &Relay, sent: u64) -> crate::tap::Ledger {
    let start = std::time::Instant::now();
    loop {
        let passed = relay.passed();
        if passed.sent.bytes >= sent {
            return passed;
        }
        assert!(start.elapsed() < LIMIT, "the relay has counted {} of {sent} bytes", passed.sent.bytes);
        thread::yield_now();
    }
}

/// By how much the ECDSA signature in a CertificateVerify is shorter than it could be.
fn short(sent: &Traffic) -> u64 {
    const LONGEST: u32 = 72;
    const OVERHEAD: u32 = 4 + 2 + 2; // header, algorithm, length
    let verify = sent.messages.iter().find(|(kind, _)| *kind == HandshakeType::CERTIFICATE_VERIFY);
    verify.map_or(0, |(_, len)| u64::from((LONGEST + OVERHEAD).saturating_sub(*len)))
}

/// A handshake of a peer's client with the same peer's server, without tickets after it.
pub(super) fn peer(peer: Peer, case: &Case) -> Cost {
    let case = Case { compatibility_mode: true, no_tickets: true, ..case.clone() }; // the first is their default
    let passed = match peer.server_program(&case) {
        Some((server, port)) => {
            let relay = Relay::to(port);
            let client = peer.client_program(&case, relay.port).expect("a peer has two programs or none");
            let (client_mark, server_mark) = peer.handshake_marks();
            client.wait_for(client_mark);
            server.wait_for(server_mark);
            relay.passed()
        }
        None => rustls_with_rustls(&case),
    };
    Cost { client: passed.sent.bytes, server: passed.received.bytes, short_signatures: None }
}

fn rustls_with_rustls(case: &Case) -> crate::tap::Ledger {
    let (listener, port) = listener();
    let relay = Relay::to(port);
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let config = rustls::server_config(case);
            let mut connection = ::rustls::ServerConnection::new(config).expect("a valid configuration");
            let mut wire = accept(&listener, || {});
            while connection.is_handshaking() {
                connection.complete_io(&mut wire).expect("the server's handshake");
            }
            wire // open until the relay has been read
        });
        let name = ServerName::try_from(case.name()).expect("a valid name");
        let config = rustls::client_config(case);
        let mut connection = ::rustls::ClientConnection::new(config, name).expect("a valid configuration");
        let mut wire = connect(relay.port);
        while connection.is_handshaking() || connection.wants_write() {
            connection.complete_io(&mut wire).expect("the client's handshake");
        }
        let _wire = server.join().expect("the server's side");
        relay.passed()
    })
}
