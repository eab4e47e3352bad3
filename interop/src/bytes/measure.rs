//! One handshake is measured through the relay: ours with ours, or a peer's with itself.
//!
//! What must always hold: our own summaries agree with the relay's count.

use std::io::{Read, Write};
use std::thread;

use terse_net::Stream;
use terse_tls::summary::{Summary, Traffic};
use terse_tls::{ContentType, HandshakeType, ProtocolVersion};

use super::relay::{Passage, Relay};
use crate::case::{Case, clock};
use crate::datagrams::{PING, PONG};
use crate::meeting::connection;
use crate::peer::{Peer, Role, Way};
use crate::pki::Side;
use crate::process::{accept, connect, listener};

/// The cost of a handshake on the wire, in bytes of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The bytes that the client sent.
    pub client: u64,
    /// The bytes that the server sent.
    pub server: u64,
    /// The bytes of TLS 1.3's tickets, which the server sent after the handshake.
    pub tickets: u64,
    /// The bytes by which both signatures together are shorter than they could be: one with P-256 has up to 72 bytes,
    /// mostly 70 to 72. This is unknown for peers, whose messages are encrypted.
    pub short_signatures: Option<u64>,
}

impl Cost {
    /// Returns the bytes of both directions, without tickets.
    pub const fn total(self) -> u64 {
        self.client + self.server
    }

    /// Returns the bytes of both directions, as if the signatures were the longest.
    pub fn at_most(self) -> Option<u64> {
        Some(self.total() + self.short_signatures?)
    }

    /// Returns the cost of a connection in which, after the handshake, the client sent one record of data, and then the
    /// server one.
    fn of(passage: &Passage, case: &Case) -> Self {
        let data = |record: &&(Side, ContentType, usize)| record.1 == ContentType::APPLICATION_DATA;
        let of = |side: Side| passage.records.iter().filter(move |record| record.0 == side);
        let last = |side| of(side).rfind(data).map_or(0, |record| record.2 as u64);
        let bytes = |side| passage.bytes(side) - last(side);
        let tickets = if case.version() == Some(ProtocolVersion::TLS_1_3) {
            // The client's first protected record is part of its last flight; a server sends tickets only after that.
            let begun = passage.records.iter().position(|record| record.0 == Side::Client && data(&record));
            let later = passage.records[begun.unwrap_or(0)..].iter().filter(|record| record.0 == Side::Server);
            later.map(|record| record.2 as u64).sum::<u64>() - last(Side::Server)
        } else {
            0
        };
        let (client, server) = (bytes(Side::Client), bytes(Side::Server) - tickets);
        Self { client, server, tickets, short_signatures: None }
    }
}

/// Runs a handshake between a client and a server of ours, and an exchange of data, after which the caches are filled.
pub(super) fn ours(case: &Case) -> (Summary, Cost) {
    let (listener, _) = listener();
    let relay = Relay::to(listener.local_addr().expect("it listens").port());
    let (client, server, passage) = thread::scope(|scope| {
        let server = scope.spawn(|| {
            let wire = accept(&listener, || {});
            let mut stream = Stream::new(connection(Role::Server, case), wire, clock());
            stream.handshake().expect("the server's handshake");
            let mut word = [0; PING.len()];
            stream.read_exact(&mut word).expect("data from the client");
            stream.write_all(PONG).expect("data for the client");
            let closed = stream.read_to_end(&mut Vec::new()); // the relay is read before
            closed.expect("the client's farewell");
            stream.close().expect("a connection that is open");
            stream.connection().summary().clone()
        });
        let mut stream = Stream::new(connection(Role::Client, case), connect(relay.port()), clock());
        stream.handshake().expect("the client's handshake");
        stream.write_all(PING).expect("data for the server");
        let mut word = [0; PONG.len()];
        stream.read_exact(&mut word).expect("data from the server");
        let passage = relay.passed();
        stream.close().expect("a connection that is open");
        stream.read_to_end(&mut Vec::new()).expect("the server's farewell");
        (stream.connection().summary().clone(), server.join().expect("the server's side"), passage)
    });
    let cost = Cost::of(&passage, case);
    let says = |sent: &Traffic, received: &Traffic| (sent.record_bytes, received.record_bytes);
    assert_eq!(says(&client.sent, &client.received), (cost.client, cost.server), "the client's summary and the relay");
    assert_eq!(says(&server.received, &server.sent), (cost.client, cost.server), "the server's summary and the relay");
    assert_eq!(server.sent.post_handshake_bytes, cost.tickets, "the server's tickets and the relay");
    let short_signatures = Some(short(&client.sent) + short(&server.sent));
    (client, Cost { short_signatures, ..cost })
}

/// Returns by how many bytes the ECDSA signature in a CertificateVerify is shorter than it could be.
fn short(sent: &Traffic) -> u64 {
    const LONGEST: u32 = 72;
    const OVERHEAD: u32 = 4 + 2 + 2; // header, algorithm, length
    let verify = sent.messages.iter().find(|(kind, _)| *kind == HandshakeType::CERTIFICATE_VERIFY);
    verify.map_or(0, |(_, len)| u64::from((LONGEST + OVERHEAD).saturating_sub(*len)))
}

/// Measures the last connection of a case, between a peer's client and the same peer's server.
pub(super) fn peer(peer: Peer, case: &Case) -> Cost {
    let case = Case { compatibility_mode: true, ..case.clone() }; // their default
    Cost::of(&programs(peer, &case).unwrap_or_else(|| in_process(peer, &case)), &case)
}

fn programs(peer: Peer, case: &Case) -> Option<Passage> {
    let (mut server, port) = peer.server(case)?;
    let relay = Relay::to(port);
    let mut client = peer.client(case, Way::From(relay.listener.try_clone().expect("a socket can be shared")))?;
    for left in (0..case.connections).rev() {
        if left > 0 && client.leaves_first() {
            continue;
        }
        client.send(PING);
        if server.echoes() {
            client.expect(PING);
        } else {
            server.expect(PING);
            server.send(PONG);
            client.expect(PONG);
        }
        if left > 0 {
            client.close();
            client.next();
            server.next();
        }
    }
    Some(relay.passed())
}

/// A peer in this process.
fn in_process(peer: Peer, case: &Case) -> Passage {
    let (listener, port) = listener();
    let relay = Relay::to(port);
    peer.meet_itself(case, &listener, relay.port());
    relay.passed()
}
