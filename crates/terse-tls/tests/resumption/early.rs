//! The server accepts early data: marked, within its limits, and before anything else (RFC 9846, 4.3.10 and 4.6).

use alloc::sync::Arc;

use terse_testkit::forge::{Forge, KeyLogLines, records};
use terse_testkit::pair::{Pair, Side};
use terse_tls::resume::ServerEarlyData;
use terse_tls::summary::{EarlyDataStatus, Mode};
use terse_tls::{
    AlertDescription, ApiMisuse, ContentType, Error, Event, ExtensionType, HandshakeType, PeerMisbehaved,
    ProtocolVersion,
};

use super::world::{EARLY_DATA, Kept, Received, World, deliver, early_data, events, hello_has, mode, run};

/// A second connection, with early data as far as it goes.
fn resumed(world: &mut World, data: &[u8]) -> (Pair, usize) {
    world.connect(0);
    let mut pair = world.pair(1);
    let taken = pair.client.send_early_data(data).unwrap();
    (pair, taken)
}

#[test]
fn arrives_marked_before_the_handshake_is_complete() {
    for kept in Kept::BOTH {
        let mut world = World::with_early_data(kept);
        let (mut pair, taken) = resumed(&mut world, b"early");
        assert_eq!(taken, 5);
        let first_flight = pair.transmit(Side::Client);
        let now = pair.now;
        let (server, rng) = pair.side(Side::Server);
        let len = first_flight.len();
        assert_eq!(server.handle_input(now, rng, &mut first_flight.clone()), Ok(len));
        assert_eq!(server.poll_event(), Some(Event::EarlyData));
        assert_eq!(server.poll_event(), None);
        assert!(server.is_handshaking() && !server.is_connected());
        let mut buffer = [0; 16];
        assert_eq!(server.recv(&mut buffer), 0, "not among the other data");
        assert_eq!(server.recv_early_data(&mut buffer[..3]), 3);
        assert_eq!(server.recv(&mut buffer[3..]), 0);
        assert_eq!(server.recv_early_data(&mut buffer[3..]), 2);
        assert_eq!((&buffer[..5], server.recv_early_data(&mut [0; 4])), (&b"early"[..], 0));

        assert_eq!(run(&mut pair).unwrap(), Received::default());
        assert_eq!((mode(&pair), early_data(&pair)), (Mode::Resumed, EarlyDataStatus::Accepted));
        for side in Side::BOTH {
            assert_eq!(events(&mut pair, side), [Event::Connected]);
        }
        assert_eq!(pair.carry(Side::Client, b"data").unwrap(), b"data");
        assert_eq!(world.mode(2), Mode::Resumed, "with the ticket of this connection");
    }
}

#[test]
fn no_more_input_is_taken_until_it_is_read() {
    let mut world = World::with_early_data(Kept::InTickets);
    let (mut pair, _) = resumed(&mut world, b"one");
    pair.client.send_early_data(b"two").unwrap();
    let mut flight = pair.transmit(Side::Client);
    let now = pair.now;
    let (server, rng) = pair.side(Side::Server);
    let taken = server.handle_input(now, rng, &mut flight).unwrap();
    assert!(taken < flight.len());
    assert_eq!(server.handle_input(now, rng, &mut flight[taken..]), Ok(0));
    assert_eq!(server.recv_early_data(&mut [0; 16]), 3);
    assert_eq!(server.handle_input(now, rng, &mut flight[taken..]), Ok(flight.len() - taken));
    assert_eq!(events(&mut pair, Side::Server), [Event::EarlyData], "of the second one");
}

#[test]
fn may_go_on_until_the_servers_finished() {
    let mut world = World::with_early_data(Kept::InStore);
    let (mut pair, _) = resumed(&mut world, b"one ");
    let flight = pair.transmit(Side::Client);
    let mut early = deliver(&mut pair, Side::Server, flight).unwrap().early;
    assert_eq!(pair.client.send_early_data(b"two "), Ok(4));
    let answer = pair.transmit(Side::Server);
    let finished = records(&answer).pop().unwrap();
    deliver(&mut pair, Side::Client, answer[..answer.len() - finished.len()].to_vec()).unwrap();
    assert_eq!(pair.client.send_early_data(b"three"), Ok(5));
    deliver(&mut pair, Side::Client, finished).unwrap();
    assert_eq!(pair.client.send_early_data(b"late"), Ok(0));
    early.extend(run(&mut pair).unwrap().early);
    assert_eq!(early, b"one two three");
    assert_eq!(early_data(&pair), EarlyDataStatus::Accepted);
}

#[test]
fn may_be_nothing_at_all() {
    let mut world = World::with_early_data(Kept::InTickets);
    let (mut pair, _) = resumed(&mut world, b"");
    assert_eq!(run(&mut pair).unwrap(), Received::default());
    assert_eq!((mode(&pair), early_data(&pair)), (Mode::Resumed, EarlyDataStatus::Accepted));
}

#[test]
fn works_byte_by_byte_in_compatibility_mode_and_with_small_records() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.setup.client.compatibility_mode(true);
    world.setup.client.record_size_limit(Some(64));
    world.setup.server.record_size_limit(Some(64));
    let data = [7; 500];
    let (mut pair, taken) = resumed(&mut world, &data);
    assert_eq!(taken, 500);
    pair.stretch = 1;
    assert_eq!(run(&mut pair).unwrap().early, data);
    assert_eq!(early_data(&pair), EarlyDataStatus::Accepted);
    let sent = records(&pair.from_client);
    assert_eq!(sent[1][0], ContentType::CHANGE_CIPHER_SPEC.0, "RFC 9846, E.4: right after the ClientHello");
    assert_eq!(sent[2..10].iter().map(|record| record.len()).max(), Some(5 + 63 + 1 + 16));
}

/// The limit of the first handshake holds until the second one sets its own (RFC 8449, 4).
#[test]
fn goes_in_records_as_large_as_the_server_took_before() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.setup.client.record_size_limit(Some(0x1000));
    world.setup.server.record_size_limit(Some(64));
    world.connect(0);
    world.setup.server.record_size_limit(None);
    let mut pair = world.pair(1);
    assert_eq!(pair.client.send_early_data(&[7; 63 * 4]), Ok(63 * 4));
    let sent = records(&pair.transmit(Side::Client));
    assert!(sent[1..].iter().all(|record| record.len() == 5 + 63 + 1 + 16));
    deliver(&mut pair, Side::Server, sent.concat()).unwrap();
    run(&mut pair).unwrap();
    assert_eq!(early_data(&pair), EarlyDataStatus::Accepted);
    pair.client.send(&[8; 1000]).unwrap();
    assert_eq!(pair.transmit(Side::Client).len(), 5 + 1000 + 1 + 16, "no limit any more");
}

/// The client keeps the limit that came with its ticket.
#[test]
fn is_bounded_by_the_ticket() {
    for kept in Kept::BOTH {
        let mut world = World::with_early_data(kept);
        let data = vec![3; EARLY_DATA as usize + 1];
        let (mut pair, taken) = resumed(&mut world, &data);
        assert_eq!(taken, EARLY_DATA as usize);
        assert_eq!(pair.client.send_early_data(b"more"), Ok(0));
        assert_eq!(run(&mut pair).unwrap().early.len(), EARLY_DATA as usize);
        assert_eq!(early_data(&pair), EarlyDataStatus::Accepted);
    }
}

/// A client that does not keep the limit: its key log gives the key for one record more.
#[test]
fn more_than_the_ticket_allows_is_refused() {
    let mut world = World::with_early_data(Kept::InTickets);
    let log = Arc::new(KeyLogLines::default());
    world.connect(0);
    world.setup.client.key_log(log.clone());
    let mut pair = world.pair(1);
    assert_eq!(pair.client.send_early_data(&[1; EARLY_DATA as usize]), Ok(EARLY_DATA as usize));
    let mut flight = pair.transmit(Side::Client);
    let suite = world.setup.client.config().common().provider().tls13_suites[0];
    let mut forge = Forge::new(suite, &log.secret("CLIENT_EARLY_TRAFFIC_SECRET"));
    forge.skip(1);
    flight.extend(forge.record(ContentType::APPLICATION_DATA, b"1"));
    let failed = deliver(&mut pair, Side::Server, flight).unwrap_err();
    assert_eq!(failed.error, PeerMisbehaved::TooMuchEarlyData.into());
    assert_eq!(failed.error.alert(), Some(AlertDescription::UNEXPECTED_MESSAGE));
}

#[test]
fn nothing_but_early_data_comes_under_its_key() {
    for (content_type, content, error) in [
        // A Finished comes before EndOfEarlyData.
        (
            ContentType::HANDSHAKE,
            [&[20, 0, 0, 32][..], &[0; 32]].concat(),
            PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType::FINISHED).into(),
        ),
        (ContentType::ALERT, vec![2, 40], Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE)),
    ] {
        let mut world = World::with_early_data(Kept::InTickets);
        let log = Arc::new(KeyLogLines::default());
        world.connect(0);
        world.setup.client.key_log(log.clone());
        let mut pair = world.pair(1);
        let mut flight = pair.transmit(Side::Client);
        let suite = world.setup.client.config().common().provider().tls13_suites[0];
        flight.extend(Forge::new(suite, &log.secret("CLIENT_EARLY_TRAFFIC_SECRET")).record(content_type, &content));
        assert_eq!(deliver(&mut pair, Side::Server, flight).unwrap_err().error, error);
    }
}

/// RFC 9846, 4.3.10: a record that cannot be decrypted after early data was accepted is fatal.
#[test]
fn garbage_is_fatal_once_it_is_accepted() {
    let mut world = World::with_early_data(Kept::InTickets);
    let (mut pair, _) = resumed(&mut world, b"early");
    let mut flight = pair.transmit(Side::Client);
    *flight.last_mut().unwrap() ^= 1;
    let failed = deliver(&mut pair, Side::Server, flight).unwrap_err();
    assert_eq!(failed.error.alert(), Some(AlertDescription::BAD_RECORD_MAC));
}

#[test]
fn is_asked_for_by_the_application_on_both_sides() {
    // The server does not allow it.
    let mut world = World::with_early_data(Kept::InTickets);
    world.setup.server.early_data(None);
    let (mut pair, taken) = resumed(&mut world, b"early");
    assert_eq!(taken, 0);
    run(&mut pair).unwrap();
    assert_eq!((mode(&pair), early_data(&pair)), (Mode::Resumed, EarlyDataStatus::None));
    assert!(!hello_has(&pair, ExtensionType::EARLY_DATA));

    // The client does not want it.
    let mut world = World::with_early_data(Kept::InTickets);
    let mut resumption = world.setup.client.config().resumption().unwrap().clone();
    resumption.early_data = false;
    world.setup.client.resumption(resumption);
    world.connect(0);
    let mut pair = world.pair(1);
    assert_eq!(pair.client.send_early_data(b"early"), Err(ApiMisuse::NoEarlyData.into()));
    assert_eq!(pair.server.send_early_data(b"early"), Err(ApiMisuse::NoEarlyData.into()));
    run(&mut pair).unwrap();
    assert_eq!((mode(&pair), early_data(&pair)), (Mode::Resumed, EarlyDataStatus::None));
    assert!(!hello_has(&pair, ExtensionType::EARLY_DATA));
}

#[test]
fn there_is_none_without_a_session() {
    let mut world = World::with_early_data(Kept::InTickets);
    let mut pair = world.pair(0);
    assert_eq!(pair.client.send_early_data(b"early"), Ok(0));
    run(&mut pair).unwrap();
    assert_eq!(early_data(&pair), EarlyDataStatus::None);
    assert_eq!(pair.client.send_early_data(b"early"), Ok(0));
    pair.client.close();
    assert_eq!(pair.client.send_early_data(b"early"), Err(ApiMisuse::Closed.into()));
}

#[test]
fn is_bounded_by_the_send_buffer() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.setup.server.early_data(Some(ServerEarlyData::new(0x1_0000)));
    world.connect(0);
    world.setup.client.max_send_buffer(0x4000);
    let mut pair = world.pair(1);
    assert_eq!(pair.client.send_early_data(&[0; 0x1_0000]), Ok(0x4000));
    let mut received = run(&mut pair).unwrap().early.len();
    received += run(&mut pair).unwrap().early.len();
    assert_eq!(received, 0x4000);
}

/// RFC 9846, E.3
#[test]
fn a_server_of_tls_1_2_ends_the_connection() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.connect(0);
    for side in Side::BOTH {
        world.setup.common(side).set_versions(vec![ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2]);
    }
    world.setup.server.versions(vec![ProtocolVersion::TLS_1_2]);
    let mut pair = world.pair(1);
    let hello = records(&pair.transmit(Side::Client)).remove(0);
    deliver(&mut pair, Side::Server, hello).unwrap();
    let answer = pair.transmit(Side::Server);
    let failed = deliver(&mut pair, Side::Client, answer).unwrap_err();
    assert_eq!(failed.error, terse_tls::PeerIncompatible::NoEarlyData.into());
    assert_eq!(failed.error.alert(), Some(AlertDescription::PROTOCOL_VERSION));
}
