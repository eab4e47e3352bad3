//! A server answers early data before the client's Finished: the answer is there after one round trip.

use terse_testkit::datagrams::DatagramPair;
use terse_tls::ApiMisuse;

use super::*;

const ANSWER: &[u8] = b"noted";

#[test]
fn the_answer_comes_with_the_servers_flight() {
    let mut world = World::with_ticket(RISTRETTO255);
    let mut pair = world.early_pair(1);
    let flight = pair.transmit(Side::Client);
    assert!(!pair.server.may_send());
    assert_eq!(pair.server.send(ANSWER), Err(ApiMisuse::HandshakeNotFinished.into()));
    pair.deliver(Side::Server, flight).unwrap();
    assert_eq!(pair.early_data, DATA);
    assert!(pair.server.may_send() && !pair.server.is_connected());
    assert_eq!(pair.server.send(ANSWER), Ok(ANSWER.len()));
    let flight = pair.transmit(Side::Server);
    assert_eq!(pair.receive(Side::Client, flight).unwrap(), ANSWER);
    assert!(pair.client.is_connected());
    pair.handshake().unwrap();
    super::super::check_traffic(&mut pair);
    // Each record of application data takes 22 bytes more than its content.
    let early = [&pair.client, &pair.server].map(|side| side.summary().sent.early_data_bytes);
    assert_eq!(early, [DATA, ANSWER].map(|data| data.len() as u64 + 22));
}

/// Without early data a server sends nothing before the client's Finished, not even if it has accepted some.
#[test]
fn there_is_none_before_early_data() {
    let mut world = World::with_ticket(RISTRETTO255);
    let mut pair = world.pair(1);
    let hello = pair.transmit(Side::Client);
    pair.deliver(Side::Server, hello).unwrap();
    assert_eq!(pair.server.summary().early_data, EarlyDataStatus::Accepted);
    assert!(!pair.server.may_send());
    pair.handshake().unwrap();
    assert!(pair.server.may_send());
    for side in Side::BOTH {
        assert_eq!(pair.side(side).0.summary().sent.early_data_bytes, 0);
    }
}

#[test]
fn over_datagrams_as_well() {
    let mut world = World::new(RISTRETTO255);
    world.client.datagrams(terse_tls::Datagrams::default());
    world.server.datagrams(terse_tls::Datagrams::default());
    let pair = |world: &mut World| DatagramPair::at(&world.client_config(), &world.server_config(), 3, at(1));
    pair(&mut world).run_well().unwrap();
    let mut pair = pair(&mut world);
    assert_eq!(pair.client.send_early_data(DATA), Ok(DATA.len()));
    // The client's flight arrives, and nothing else is carried yet.
    let mut fate = |datagram: &terse_testkit::datagrams::Datagram| datagram.arrives();
    pair.transmit(Side::Client, &mut fate);
    while pair.early_data.is_empty() {
        pair.step(&mut fate, u64::MAX).expect("datagrams are on their way").unwrap();
    }
    assert!(pair.server.may_send() && !pair.server.is_connected());
    pair.send(Side::Server, ANSWER).unwrap();
    pair.run_well().unwrap();
    assert_eq!(pair.received[0], [ANSWER]);
    check_accepted([&pair.client, &pair.server], EarlyDataProtection::Ticket);
}
