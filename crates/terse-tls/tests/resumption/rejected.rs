//! The server does not accept early data: it skips and reports it, whatever the reason, and above all when the data comes a
//! second time (RFC 9846, 4.3.10 and 8).

use alloc::sync::Arc;

use terse_testkit::fault::{edit_extensions, first, set_extension};
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::pki::server_address;
use terse_testkit::rng::SeededRng;
use terse_tls::cache::{NotSaved, Scope, ServerId};
use terse_tls::crypto::Hash;
use terse_tls::resume::{
    ClientSessionStore as _, MemorySessionStore, ServerEarlyData, ServerResumption, ServerSessionStore, SessionId,
    SessionRecord, TicketKeys,
};
use terse_tls::summary::{EarlyDataStatus, Mode, Transport};
use terse_tls::{CipherSuite, Connection, Event, ExtensionType, HandshakeType, Now, ProtocolVersion};

use super::world::{EARLY_DATA, Kept, LIFETIME, World, deliver, early_data, mode, run};

/// Early data is sent, and must be rejected; the handshake goes on in `expected`, and the application can send it again.
fn is_rejected(mut pair: Pair, expected: Mode) {
    let taken = pair.client.send_early_data(b"early").unwrap();
    assert_eq!(taken, 5);
    let received = run(&mut pair).unwrap();
    assert_eq!((&received.early[..], &received.data[..]), (&b""[..], &b""[..]));
    assert_eq!((mode(&pair), early_data(&pair)), (expected, EarlyDataStatus::Rejected));
    assert_eq!(pair.client.send_early_data(b"again"), Ok(0));
    assert_eq!(pair.carry(Side::Client, b"early").unwrap(), b"early");
}

#[test]
fn after_a_hello_retry_request() {
    for (kept, cookie) in [(Kept::InTickets, false), (Kept::InStore, true)] {
        let mut world = World::with_early_data(kept);
        world.connect(0);
        world.setup = world.setup.with_hello_retry(cookie);
        is_rejected(world.pair(1), Mode::Resumed);
        world.setup.client.compatibility_mode(true);
        is_rejected(world.pair(2), Mode::Resumed);
    }
}

#[test]
fn by_a_server_that_does_not_know_the_session() {
    for kept in Kept::BOTH {
        let mut world = World::with_early_data(kept);
        world.connect(0);
        world.setup.server.resumption(Some(world.server_resumption(kept, LIFETIME)));
        is_rejected(world.pair(1), Mode::Full);
    }
}

/// The server has forgotten everything, and knows no early data: it skips more than a ticket of its own would have allowed.
#[test]
fn by_a_server_that_never_heard_of_it() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.setup.server.early_data(Some(ServerEarlyData::new(0x4000)));
    world.connect(0);
    world.setup.server.resumption(None);
    world.setup.server.early_data(None);
    let mut pair = world.pair(1);
    for _ in 0..0x4000 / 64 {
        assert_eq!(pair.client.send_early_data(&[1; 64]), Ok(64));
    }
    run(&mut pair).unwrap();
    assert_eq!((mode(&pair), early_data(&pair)), (Mode::Full, EarlyDataStatus::Rejected));
}

/// As much as the server promised in a ticket is skipped, too.
#[test]
fn up_to_what_was_promised() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.setup.server.early_data(Some(ServerEarlyData::new(100_000)));
    world.connect(0);
    world.setup = world.setup.with_hello_retry(false);
    world.setup.client.max_send_buffer(200_000);
    let mut pair = world.pair(1);
    assert_eq!(pair.client.send_early_data(&[1; 100_000]), Ok(100_000));
    run(&mut pair).unwrap();
    assert_eq!(early_data(&pair), EarlyDataStatus::Rejected);
}

#[test]
fn with_another_suite_of_the_same_hash() {
    for kept in Kept::BOTH {
        let mut world = World::with_early_data(kept);
        let suite = world.connect(0).client.summary().cipher_suite.unwrap();
        world.setup.server.edit_suites(|list| list.retain(|other| *other != suite));
        is_rejected(world.pair(1), Mode::Resumed);
        world.setup.server.suites(vec![CipherSuite::TLS_AES_256_GCM_SHA384]);
        is_rejected(world.pair(2), Mode::Full);
    }
}

/// The server's application protocol changed: the session is not taken at all.
#[test]
fn with_another_application_protocol() {
    for kept in Kept::BOTH {
        let mut world = World::with_early_data(kept);
        world.setup.client.alpn_protocols(vec![b"mqtt".to_vec(), b"coap".to_vec()]);
        world.setup.server.alpn_protocols(vec![b"mqtt".to_vec()]);
        world.connect(0);
        world.setup.server.alpn_protocols(vec![b"coap".to_vec()]);
        let pair = world.pair(1);
        is_rejected(pair, Mode::Full);
    }
}

/// The client's application protocol changed: it does not even try.
#[test]
fn a_client_without_the_application_protocol_sends_none() {
    let mut world = World::with_early_data(Kept::InTickets);
    for side in Side::BOTH {
        world.setup.common(side).set_alpn_protocols(vec![b"mqtt".to_vec()]);
    }
    world.connect(0);
    for side in Side::BOTH {
        world.setup.common(side).set_alpn_protocols(vec![b"coap".to_vec()]);
    }
    let mut pair = world.pair(1);
    assert_eq!(pair.client.send_early_data(b"early"), Ok(0));
    run(&mut pair).unwrap();
    assert_eq!(early_data(&pair), EarlyDataStatus::None);
}

/// A ClientHello was under way for too long, or its client's clock runs wrong (RFC 9846, 8.3).
#[test]
fn when_it_is_not_fresh() {
    for kept in Kept::BOTH {
        for (sent, arrives, expected) in [
            (100, 110, EarlyDataStatus::Accepted),
            (100, 111, EarlyDataStatus::Rejected),
            (111, 100, EarlyDataStatus::Rejected),
            (110, 100, EarlyDataStatus::Accepted),
        ] {
            let mut world = World::with_early_data(kept);
            world.connect(0);
            let mut pair = world.pair(sent);
            assert_eq!(pair.client.send_early_data(b"early"), Ok(5));
            pair.now = at(arrives);
            let received = run(&mut pair).unwrap();
            assert_eq!((mode(&pair), early_data(&pair)), (Mode::Resumed, expected), "{kept:?} {sent} {arrives}");
            assert_eq!(received.early.is_empty(), expected == EarlyDataStatus::Rejected);
        }
    }
}

/// A slow network gets a wider window.
#[test]
fn the_window_can_be_chosen() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.setup.server.early_data(Some(ServerEarlyData::new(EARLY_DATA).window_seconds(60)));
    world.connect(0);
    let mut pair = world.pair(100);
    pair.client.send_early_data(b"early").unwrap();
    pair.now = at(160);
    assert_eq!(run(&mut pair).unwrap().early, b"early");
}

/// A first flight, and what a server with the same tickets or store makes of it when it is played again.
fn replay(world: &World, flight: &[u8], now: Now) -> (Connection, Vec<u8>) {
    let mut server = Connection::server(Arc::new(world.setup.server.build().unwrap()), now).unwrap();
    let (mut flight, mut rng, mut early) = (flight.to_vec(), SeededRng::new(99), Vec::new());
    let mut rest = &mut flight[..];
    while !rest.is_empty() {
        let taken = server.handle_input(now, &mut rng, rest).unwrap();
        rest = &mut rest[taken..];
        let mut buffer = [0; 64];
        let len = server.recv_early_data(&mut buffer);
        early.extend_from_slice(&buffer[..len]);
    }
    (server, early)
}

/// The network delivers the first flight again, at any time: it is accepted once.
#[test]
fn when_it_comes_again() {
    for kept in Kept::BOTH {
        let mut world = World::with_early_data(kept);
        world.connect(0);
        let mut pair = world.pair(100);
        pair.client.send_early_data(b"early").unwrap();
        let flight = pair.transmit(Side::Client);
        let (_, early) = replay(&world, &flight, at(100));
        assert_eq!(early, b"early");
        for seconds in [100, 101, 90, 110, 105, 111, 120, 100, 3000, 100] {
            let (mut server, early) = replay(&world, &flight, at(seconds));
            assert_eq!(early, b"", "{kept:?} {seconds}");
            assert_eq!(server.summary().early_data, EarlyDataStatus::Rejected);
            assert_eq!(server.poll_event(), None::<Event>);
        }
    }
}

/// The handshake of a client whose flight was delivered to another connection before.
#[test]
fn when_somebody_else_delivered_it_first() {
    for (kept, expected) in [(Kept::InTickets, Mode::Resumed), (Kept::InStore, Mode::Full)] {
        let mut world = World::with_early_data(kept);
        world.connect(0);
        let mut pair = world.pair(1);
        pair.client.send_early_data(b"early").unwrap();
        let flight = pair.transmit(Side::Client);
        replay(&world, &flight, at(1));
        assert_eq!(deliver(&mut pair, Side::Server, flight).unwrap().early, b"");
        run(&mut pair).unwrap();
        assert_eq!((mode(&pair), early_data(&pair)), (expected, EarlyDataStatus::Rejected));
    }
}

/// A store in which another connection is always a moment faster.
struct Raced(MemorySessionStore);

impl ServerSessionStore for Raced {
    fn put(&self, id: SessionId, record: SessionRecord) -> Result<(), NotSaved> {
        self.0.put(id, record)
    }

    fn find(&self, id: &SessionId) -> Option<SessionRecord> {
        self.0.find(id)
    }

    fn take(&self, id: &SessionId) -> Option<SessionRecord> {
        self.0.take(id);
        None
    }
}

#[test]
fn when_somebody_else_is_a_moment_faster() {
    let mut world = World::with_early_data(Kept::InStore);
    let store = Arc::new(Raced(MemorySessionStore::new(4)));
    world.setup.server.resumption(Some(ServerResumption::Stateful { store, lifetime_seconds: LIFETIME }));
    world.connect(0);
    is_rejected(world.pair(1), Mode::Full);
}

/// Early data belongs to the first key (RFC 9846, 4.3.10): the server knows the second one only, and that is a session
/// which allows early data.
#[test]
fn of_the_second_key() {
    for kept in Kept::BOTH {
        let mut world = World::with_early_data(kept);
        world.connect(0);
        let session = world.sessions.take(&scope(&world)).unwrap();
        let secret = session.to_bytes()[16..48].to_vec(); // after format, suite, version, age, limits, length
        world.sessions.put(&scope(&world), session);
        let hash = world.setup.client.config().common().provider().sha256;
        world.setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, move |hello| {
            add_unknown_key(hello);
            let truncated = hello.len() - (2 + 33 + 33);
            let binder = binder(hash, &secret, &hello[..truncated]);
            let at = hello.len() - 32;
            hello[at..].copy_from_slice(&binder);
        })));
        let mut pair = world.pair(1);
        assert_eq!(pair.client.send_early_data(b"early"), Ok(5));
        let flight = pair.transmit(Side::Client);
        assert_eq!(deliver(&mut pair, Side::Server, flight).unwrap().early, b"");
        let summary = pair.server.summary();
        assert_eq!((summary.mode, summary.early_data), (Mode::Resumed, EarlyDataStatus::Rejected));
    }
}

fn scope(world: &World) -> Scope {
    let credential =
        world.setup.client.config().credentials().first().map(|own| own.fingerprint(ProtocolVersion::TLS_1_3));
    let server = ServerId::new(&server_address().name);
    Scope::new(server, server_address().port, Transport::Stream, credential)
}

/// Before the session stands a ticket that nobody knows, with some binder.
fn add_unknown_key(hello: &mut Vec<u8>) {
    edit_extensions(hello, |all| {
        let (_, body) = all.last_mut().expect("pre_shared_key");
        let identities = 2 + usize::from(u16::from_be_bytes([body[0], body[1]]));
        let unknown = [&[0, 20][..], &[9; 20], &[0; 4]].concat();
        let both = [&unknown, &body[2..identities]].concat();
        *body = [&(both.len() as u16).to_be_bytes()[..], &both, &[0, 66, 32], &[9; 32], &[32], &[0; 32]].concat();
    });
}

/// Computes a binder with `hash`, which is SHA-256 (RFC 9846, 4.3.11.2).
fn binder(hash: &dyn Hash, psk: &[u8], truncated: &[u8]) -> [u8; 32] {
    let expand = |secret: &[u8], label: &[u8], context: &[u8]| {
        let label = [b"tls13 ", label].concat();
        let info = [&[0, 32, label.len() as u8][..], &label, &[context.len() as u8], context].concat();
        let mut out = [0; 32];
        hash.hkdf_expand(secret, &[&info], &mut out).unwrap();
        out
    };
    let early_secret = hash.hkdf_extract(&[0; 32], psk);
    let binder_key = expand(early_secret.as_ref(), b"res binder", hash.hash(&[]).as_ref());
    let finished_key = expand(&binder_key, b"finished", b"");
    hash.hmac(&finished_key, &[hash.hash(&[truncated]).as_ref()]).as_ref().try_into().unwrap()
}

/// There is no room to remember another ClientHello: early data is rejected, and never accepted twice.
#[test]
fn when_the_table_is_full() {
    let mut world = World::with_early_data(Kept::InTickets);
    let aead = world.setup.server.config().common().provider().tls13_suites[0].aead;
    let keys = |hellos| ServerResumption::Stateless(Arc::new(TicketKeys::new(aead, LIFETIME, hellos).unwrap()));
    world.setup.server.resumption(Some(keys(1)));
    world.connect(0);
    let mut flights = Vec::new();
    for (seconds, expected) in [
        (1, EarlyDataStatus::Accepted),
        (2, EarlyDataStatus::Rejected),
        (11, EarlyDataStatus::Rejected),
        (12, EarlyDataStatus::Accepted),
    ] {
        let mut pair = world.pair(seconds);
        pair.client.send_early_data(b"early").unwrap();
        let flight = pair.transmit(Side::Client);
        flights.push(flight.clone());
        deliver(&mut pair, Side::Server, flight).unwrap();
        run(&mut pair).unwrap();
        assert_eq!((mode(&pair), early_data(&pair)), (Mode::Resumed, expected), "{seconds}");
    }
    for flight in flights {
        assert_eq!(replay(&world, &flight, at(12)).1, b"");
    }
    world.setup.server.resumption(Some(keys(0)));
    world.connect(20);
    is_rejected(world.pair(21), Mode::Resumed);
}

/// A client may announce early data without a key; the server skips it (RFC 9846, 4.3.10).
#[test]
fn without_a_key() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.connect(0);
    world.setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, |hello| {
        // An unknown ticket of the same length, whose binder nobody looks at.
        terse_testkit::fault::edit_extensions(hello, |all| {
            let (_, body) = all.last_mut().unwrap();
            body[10] ^= 1;
        });
    })));
    is_rejected(world.pair(1), Mode::Full);
}

/// Under a second key early data must not be accepted (RFC 9846, 4.3.10), though the server knows the key.
#[test]
fn of_an_external_key() {
    let mut world = World::with_early_data(Kept::InTickets);
    let psk = terse_tls::resume::ExternalPsk::new(b"sensor-17", &[7; 32]).unwrap();
    world.setup.client.psks(vec![psk.clone()]);
    world.setup.server.psks(Arc::new(terse_tls::resume::MemoryPskStore::new([psk])));
    world.setup.client.psks(vec![]);
    world.connect(0);
    world.setup.client.psks(vec![terse_tls::resume::ExternalPsk::new(b"sensor-17", &[7; 32]).unwrap()]);
    world.setup.server.resumption(Some(world.server_resumption(Kept::InTickets, LIFETIME)));
    is_rejected(world.pair(1), Mode::Psk);
}

#[test]
fn an_announcement_that_does_not_parse_is_refused() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.connect(0);
    world.setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, |hello| {
        set_extension(hello, ExtensionType::EARLY_DATA, &[0]);
    })));
    let mut pair = world.pair(1);
    let failed = run(&mut pair).unwrap_err();
    assert_eq!(failed.side, Side::Server);
    assert_eq!(failed.error, terse_tls::InvalidMessage::TrailingData.into());
}
