//! Early data under a ticket that the server keeps.

use std::sync::Barrier;
use std::thread;

use terse_testkit::fault;
use terse_testkit::forge::{Forge, KeyLogLines};
use terse_testkit::identity;
use terse_tls::cache::{AddressId, NotSaved};
use terse_tls::identity::{DeniedIdentities, Identity};
use terse_tls::identity_early_data::{SecretTicketId, SecretTicketRecord, SecretTicketStore};
use terse_tls::{AlertDescription, ApiMisuse, CipherSuite, ContentType, ExtensionType, HandshakeType};

use super::*;

#[test]
fn is_accepted_again_and_again_each_time_with_a_new_ticket() {
    for algorithm in IdentityAlgorithm::ALL {
        let mut world = World::with_ticket(algorithm);
        for seconds in 1..4 {
            world.connect_early(seconds, EarlyDataProtection::Ticket);
            assert_eq!(world.tickets.len(), 1, "the ticket was taken, and there is a new one");
        }
    }
}

/// The server's application has the data with the first flight, before anything was sent back.
#[test]
fn is_delivered_from_the_first_flight() {
    let mut world = World::with_ticket(RISTRETTO255);
    let flight = world.early_pair(1).transmit(Side::Client);
    let (served, failure) = serve(&world.server_config(), &flight, 1);
    assert_eq!((failure, &served.delivered[..]), (None, DATA));
    assert!(!served.connection.is_connected());
    assert_eq!(served.connection.summary().early_data_protection, Some(EarlyDataProtection::Ticket));
}

/// A ticket is for one connection of the client, whatever becomes of it.
#[test]
fn a_client_offers_a_ticket_once() {
    let mut world = World::with_ticket(RISTRETTO255);
    drop(world.early_pair(1));
    let mut pair = world.pair(2);
    assert_eq!(pair.client.send_early_data(DATA), Ok(0));
    pair.handshake().unwrap();
    assert_eq!(pair.client.summary().early_data, EarlyDataStatus::None);
}

#[test]
fn a_client_that_does_not_want_it_gets_no_ticket() {
    let mut world = World::new(RISTRETTO255);
    world.of_client = world.of_client.clone().early_data(false);
    let mut pair = world.pair(0);
    assert_eq!(pair.client.send_early_data(DATA), Err(ApiMisuse::NoEarlyData.into()));
    pair.handshake().unwrap();
    assert!(world.tickets.is_empty());
    assert_eq!(pair.server.summary().sent.post_handshake_bytes, 0);
}

/// A first flight that a network delivers again is rejected, and the copy does not disturb the client's connection.
#[test]
fn a_replayed_flight_is_rejected() {
    let mut world = World::with_ticket(RISTRETTO255);
    let mut pair = world.early_pair(1);
    let flight = pair.transmit(Side::Client);
    pair.deliver(Side::Server, flight.clone()).unwrap();
    assert_eq!(pair.early_data, DATA);
    let (served, failure) = serve(&world.server_config(), &flight, 1);
    assert_eq!((failure, &served.delivered[..], served.status()), (None, &b""[..], EarlyDataStatus::Rejected));
    pair.handshake().unwrap();
}

/// The server looks for the ticket when the ClientHello comes, and takes it with the first record. If the copy comes in
/// between, the slower one of both ends with an alert, and delivers nothing.
#[test]
fn of_two_flights_at_once_the_faster_is_delivered() {
    let mut world = World::with_ticket(RISTRETTO255);
    let flight = world.early_pair(1).transmit(Side::Client);
    let (hello, early) = split_hello(&flight);
    let config = world.server_config();
    let (mut first, _) = serve(&config, hello, 1);
    let (mut second, _) = serve(&config, hello, 1);
    assert_eq!([first.status(), second.status()], [EarlyDataStatus::Accepted; 2]);
    assert_eq!((second.take(early), &second.delivered[..]), (None, DATA));
    assert_eq!((first.take(early), &first.delivered[..]), (Some(TAKEN), &b""[..]));
    assert_eq!(TAKEN.alert(), Some(AlertDescription::ILLEGAL_PARAMETER));
    assert!(world.tickets.is_empty());
}

#[test]
fn of_two_flights_in_two_threads_exactly_one_is_delivered() {
    for _ in 0..20 {
        let mut world = World::with_ticket(RISTRETTO255);
        let flight = world.early_pair(1).transmit(Side::Client);
        let (hello, early) = split_hello(&flight);
        let (config, barrier) = (world.server_config(), Barrier::new(2));
        let run = || {
            let (mut served, _) = serve(&config, hello, 1);
            barrier.wait();
            let failure = served.take(early);
            (failure, served.delivered)
        };
        let results =
            thread::scope(|scope| [scope.spawn(run), scope.spawn(run)].map(|thread| thread.join().expect("no panic")));
        let delivered = results.iter().filter(|result| **result == (None, DATA.into())).count();
        let refused = results.iter().filter(|result| **result == (Some(TAKEN), Vec::new())).count();
        assert_eq!((delivered, refused), (1, 1));
    }
}

/// Somebody else takes the ticket after EncryptedExtensions, and the client sends no early data at all.
#[test]
fn a_ticket_that_is_gone_ends_a_connection_without_records_as_well() {
    let mut world = World::with_ticket(RISTRETTO255);
    let mut pair = world.pair(1);
    let hello = pair.transmit(Side::Client);
    pair.deliver(Side::Server, hello).unwrap();
    take_all(&world);
    let failed = pair.run().unwrap_err();
    assert_eq!((failed.side, failed.error), (Side::Server, TAKEN));
    assert!(!pair.server.is_connected() && world.tickets.is_empty());
}

/// A connection whose client sends no early data takes the ticket at its end.
#[test]
fn without_a_record_the_ticket_is_taken_at_the_end() {
    let mut world = World::with_ticket(RISTRETTO255);
    let mut pair = world.pair(1);
    let hello = pair.transmit(Side::Client);
    let copy = hello.clone();
    pair.deliver(Side::Server, hello).unwrap();
    assert_eq!(world.tickets.len(), 1);
    pair.handshake().unwrap();
    let (served, _) = serve(&world.server_config(), &copy, 1);
    assert_eq!(served.status(), EarlyDataStatus::Rejected);
}

/// An empty record shows that the client has the keys, and takes the ticket.
#[test]
fn an_empty_record_takes_the_ticket() {
    let mut world = World::with_ticket(RISTRETTO255);
    let log = Arc::new(KeyLogLines::default());
    world.client.key_log(log.clone());
    let mut pair = world.pair(1);
    let hello = pair.transmit(Side::Client);
    pair.deliver(Side::Server, hello).unwrap();
    let suite = world.client_config().common().suites()[0];
    let suite = PROVIDER.tls13_suite(suite).expect("a suite of the provider");
    let mut forge = Forge::new(suite, &log.secret("CLIENT_EARLY_TRAFFIC_SECRET"));
    let empty = forge.record(ContentType::APPLICATION_DATA, b"");
    pair.deliver(Side::Server, empty).unwrap();
    assert!(world.tickets.is_empty());
}

/// Whoever has seen a ticket can put it into a ClientHello, but has no keys for early data: the ticket stays.
#[test]
fn a_stolen_ticket_in_a_forged_hello_burns_nothing() {
    let mut world = World::with_ticket(RISTRETTO255);
    let flight = world.early_pair(1).transmit(Side::Client);
    let (hello, early) = split_hello(&flight);
    let mut forged = hello.to_vec();
    forged[5 + 4 + 2] ^= 1; // of the random value: other keys
    let (mut served, failure) = serve(&world.server_config(), &forged, 1);
    assert_eq!((failure, served.status()), (None, EarlyDataStatus::Accepted));
    let failure = served.take(early).expect("the record does not decrypt");
    assert_eq!(failure.alert(), Some(AlertDescription::BAD_RECORD_MAC));
    assert_eq!((&served.delivered[..], world.tickets.len()), (&b""[..], 1));
    let (served, failure) = serve(&world.server_config(), &flight, 1);
    assert_eq!((failure, &served.delivered[..]), (None, DATA));
}

/// Another client of the same authority cannot use the ticket under its own name.
#[test]
fn a_ticket_of_another_client_is_rejected() {
    let mut world = World::with_ticket(RISTRETTO255);
    let other = IdentityKeys::shared(RISTRETTO255).key(&Identity::eui64([2, 0, 0, 0, 0, 0, 0, 0x66]));
    let thief = ClientIdentity::new(other).early_data(true).known_peers(world.of_client.store().clone());
    let honest = core::mem::replace(&mut world.of_client, thief);
    let mut pair = world.early_pair(1);
    pair.handshake().unwrap();
    check_rejected([&pair.client, &pair.server]);
    assert_eq!(pair.early_data, b"");
    world.of_client = honest;
}

/// Its own ticket under the name of the other client: the server would need that name's key as well.
#[test]
fn a_ticket_under_another_name_is_rejected() {
    let mut world = World::with_ticket(RISTRETTO255);
    let name = Identity::eui64([2, 0, 0, 0, 0, 0, 0, 0x66]).encoded().to_vec();
    world.client.fault(Some(fault::first(HandshakeType::CLIENT_HELLO, move |message| {
        fault::edit_extensions(message, |extensions| {
            let share = extensions.iter_mut().find(|(kind, _)| *kind == ExtensionType::IDENTITY_SHARE);
            share.expect("the share").1[10..10 + name.len()].copy_from_slice(&name);
        });
    })));
    let mut pair = world.early_pair(1);
    let flight = pair.transmit(Side::Client);
    let (served, _) = serve(&world.server_config(), &flight, 1);
    assert_eq!((&served.delivered[..], served.status()), (&b""[..], EarlyDataStatus::Rejected));
    assert_eq!(world.tickets.len(), 1);
}

/// The server has lost its tickets: one rejection, and then all is as before.
#[test]
fn after_a_restart_of_the_server_it_is_rejected_once() {
    for algorithm in IdentityAlgorithm::ALL {
        let mut world = World::with_ticket(algorithm);
        take_all(&world);
        world.connect_rejected(1);
        world.connect_early(2, EarlyDataProtection::Ticket);
    }
}

#[test]
fn an_expired_ticket_is_not_offered_and_not_accepted() {
    let mut world = World::with_ticket(RISTRETTO255);
    let mut pair = world.pair(LIFETIME.into());
    assert_eq!(pair.client.send_early_data(DATA), Ok(0));
    pair.handshake().unwrap();
    let mut world = World::with_ticket(RISTRETTO255);
    let flight = world.early_pair(u64::from(LIFETIME) - 1).transmit(Side::Client);
    let (served, _) = serve(&world.server_config(), &flight, LIFETIME.into());
    assert_eq!((&served.delivered[..], served.status()), (&b""[..], EarlyDataStatus::Rejected));
}

/// A HelloRetryRequest comes because the server has forgotten everything: early data is over, and the handshake goes on.
#[test]
fn after_a_hello_retry_request_it_is_rejected() {
    let mut world = World::with_ticket(RISTRETTO255);
    take_all(&world);
    world.of_server = world.of_server.clone().known_peers(Arc::new(terse_tls::identity::KnownPeers::new(4)));
    let mut pair = world.early_pair(1);
    pair.handshake().unwrap();
    assert_eq!((pair.client.summary().round_trips, &pair.early_data[..]), (2, &b""[..]));
    check_rejected([&pair.client, &pair.server]);
    super::super::check_traffic(&mut pair);
}

/// The record of a ticket has the public part of the client's key, so that a server that has forgotten it need not ask.
#[test]
fn a_ticket_replaces_the_public_part_of_the_client() {
    let mut world = World::with_ticket(RISTRETTO255);
    world.of_server = world.of_server.clone().known_peers(Arc::new(terse_tls::identity::KnownPeers::new(4)));
    world.connect_early(1, EarlyDataProtection::Ticket);
}

/// Early data is under the first suite that the client offers.
#[test]
fn it_needs_the_first_suite_and_the_application_protocol_of_the_ticket() {
    let (gcm, chacha) = (CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_CHACHA20_POLY1305_SHA256);
    let mut world = World::with_ticket(RISTRETTO255);
    world.client.suites([gcm, chacha]);
    world.server.suites([chacha, gcm]);
    world.connect_rejected(1);
    world.client.suites([chacha, gcm]);
    world.connect_early(2, EarlyDataProtection::Ticket);
    world.server.alpn_protocols([b"coap".as_slice()]);
    world.client.alpn_protocols([b"coap".as_slice(), b"mqtt"]);
    world.connect_rejected(3);
    world.connect_early(4, EarlyDataProtection::Ticket);
    world.server.alpn_protocols([b"mqtt".as_slice()]);
    world.connect_rejected(5);
    world.connect_early(6, EarlyDataProtection::Ticket);
    world.client.alpn_protocols([b"coap".as_slice()]);
    let mut pair = world.pair(7);
    assert_eq!(pair.client.send_early_data(DATA), Ok(0), "mqtt is not offered any more");
}

#[test]
fn the_limit_of_the_ticket_holds_on_both_sides() {
    let mut world = World::with_ticket(RISTRETTO255);
    let mut pair = world.pair(1);
    assert_eq!(pair.client.send_early_data(&[7; 2 * MAX_SIZE as usize]), Ok(MAX_SIZE as usize));
    pair.handshake().unwrap();
    assert_eq!(pair.early_data, [7; MAX_SIZE as usize]);
    // A server with another limit does not know the context of the ticket.
    world.server.early_data(ServerEarlyData::new(MAX_SIZE - 1));
    world.connect_rejected(2);
}

#[test]
fn a_denied_client_cannot_use_its_ticket() {
    let mut world = World::with_ticket(RISTRETTO255);
    let denied = Arc::new(DeniedIdentities::new([identity::client()]));
    world.of_server = world.of_server.clone().denied(denied);
    let flight = world.early_pair(1).transmit(Side::Client);
    let (served, failure) = serve(&world.server_config(), &flight, 1);
    assert_eq!(failure, Some(IdentityRefused::Denied.into()));
    assert_eq!((&served.delivered[..], world.tickets.len()), (&b""[..], 1));
}

/// A ticket whose ephemeral key is no point costs nothing but the early data.
#[test]
fn a_ticket_with_a_bad_key_is_not_offered() {
    let mut world = World::new(RISTRETTO255);
    world.server.fault(Some(fault::first(HandshakeType::NEW_SESSION_TICKET, |message| {
        let len = message.len();
        message[len - 32..].fill(0xff);
    })));
    world.connect(0);
    world.server.fault(None);
    let mut pair = world.pair(1);
    assert_eq!(pair.client.send_early_data(DATA), Ok(0));
    pair.handshake().unwrap();
}

/// What a store would do that keeps tickets: the attack that taking them prevents.
#[test]
fn a_kept_ticket_would_deliver_a_replay() {
    let mut world = World::new(RISTRETTO255);
    let store = Arc::new(Keeping(world.tickets.clone()));
    world.of_server = world.of_server.clone().tickets(SecretTickets::Stateful { store, lifetime_seconds: LIFETIME });
    world.connect(0);
    let flight = world.early_pair(1).transmit(Side::Client);
    for _ in 0..2 {
        let (served, failure) = serve(&world.server_config(), &flight, 1);
        assert_eq!((failure, &served.delivered[..]), (None, DATA));
    }
}

/// A store that takes no ticket.
struct Keeping(Arc<MemorySecretTickets>);

impl SecretTicketStore for Keeping {
    fn put(&self, id: SecretTicketId, record: SecretTicketRecord, now: u64) -> Result<(), NotSaved> {
        self.0.put(id, record, now)
    }

    fn find(&self, id: &SecretTicketId) -> Option<SecretTicketRecord> {
        self.0.find(id)
    }

    fn take(&self, id: &SecretTicketId) -> bool {
        self.0.find(id).is_some()
    }

    fn spend(&self, id: &SecretTicketId, address: AddressId) -> bool {
        self.0.spend(id, address)
    }
}

/// Takes all tickets away, as a restart of the server does.
fn take_all(world: &World) {
    let mut ids = Vec::new();
    world.tickets.for_each(|id, _| ids.push(*id));
    assert!(ids.iter().all(|id| world.tickets.take(id)));
}
