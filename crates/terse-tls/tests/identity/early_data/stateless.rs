//! Tickets that the client keeps for the server.

use terse_tls::identity::KnownPeers;
use terse_tls::identity_early_data::SecretTicketKeys;
use terse_tls::{ApiMisuse, CipherSuite};

use super::*;

fn sealed(lifetime: u32, used_tickets: usize) -> SecretTickets {
    let suite = PROVIDER.tls13_suite(CipherSuite::TLS_AES_128_GCM_SHA256).expect("a suite");
    SecretTickets::Stateless(Arc::new(SecretTicketKeys::new(suite.aead, lifetime, used_tickets).expect("allowed")))
}

fn world(used_tickets: usize) -> World {
    let mut world = World::new(RISTRETTO255);
    world.of_server = world.of_server.clone().tickets(sealed(LIFETIME, used_tickets));
    world.connect(0);
    assert!(world.tickets.is_empty());
    world
}

#[test]
fn is_accepted_once_for_each_ticket() {
    let mut world = world(4);
    for seconds in 1..4 {
        let mut pair = world.early_pair(seconds);
        let flight = pair.transmit(Side::Client);
        pair.deliver(Side::Server, flight.clone()).unwrap();
        pair.handshake().unwrap();
        assert_eq!(pair.early_data, DATA);
        check_accepted([&pair.client, &pair.server], EarlyDataProtection::Ticket);
        let (served, _) = serve(&world.server_config(), &flight, seconds);
        assert_eq!((&served.delivered[..], served.status()), (&b""[..], EarlyDataStatus::Rejected));
    }
}

#[test]
fn of_two_flights_at_once_the_faster_is_delivered() {
    let mut world = world(4);
    let flight = world.early_pair(1).transmit(Side::Client);
    let (hello, early) = split_hello(&flight);
    let config = world.server_config();
    let (mut first, _) = serve(&config, hello, 1);
    let (mut second, _) = serve(&config, hello, 1);
    assert_eq!((second.take(early), &second.delivered[..]), (None, DATA));
    assert_eq!((first.take(early), &first.delivered[..]), (Some(TAKEN), &b""[..]));
}

#[test]
fn a_full_list_of_used_tickets_rejects() {
    let mut world = world(1);
    world.connect_early(1, EarlyDataProtection::Ticket);
    world.connect_rejected(2);
    // There is room again when the used ticket has expired.
    let later = u64::from(LIFETIME) + 1;
    world.connect_early(later, EarlyDataProtection::Ticket);
}

#[test]
fn after_a_restart_it_is_rejected_once() {
    let mut world = world(4);
    world.of_server = world.of_server.clone().tickets(sealed(LIFETIME, 4));
    world.connect_rejected(1);
    world.connect_early(2, EarlyDataProtection::Ticket);
}

#[test]
fn it_has_the_public_part_of_the_client() {
    let mut world = world(4);
    world.of_server = world.of_server.clone().known_peers(Arc::new(KnownPeers::new(4)));
    world.connect_early(1, EarlyDataProtection::Ticket);
}

/// Keys open tickets for two lifetimes, so those of one hour are gone after two.
#[test]
fn a_ticket_lives_one_hour_at_most() {
    let suite = PROVIDER.tls13_suite(CipherSuite::TLS_AES_128_GCM_SHA256).expect("a suite");
    for (lifetime, expected) in
        [(0, Some(ApiMisuse::TicketLifetime)), (3600, None), (3601, Some(ApiMisuse::TicketLifetime))]
    {
        assert_eq!(SecretTicketKeys::new(suite.aead, lifetime, 1).err(), expected, "{lifetime}");
    }
    let mut world = world(4);
    let flight = world.early_pair(u64::from(LIFETIME) - 1).transmit(Side::Client);
    let (served, _) = serve(&world.server_config(), &flight, LIFETIME.into());
    assert_eq!(served.status(), EarlyDataStatus::Rejected);
}

/// docs/identity.md, 7: how long a sealed ticket is, with an identity of 8 bytes.
#[test]
fn a_sealed_ticket_has_113_bytes() {
    let mut world = World::new(RISTRETTO255);
    let mut lens = Vec::new();
    for tickets in [None, Some(sealed(LIFETIME, 4))] {
        if let Some(tickets) = tickets {
            world.of_server = world.of_server.clone().tickets(tickets);
        }
        let mut pair = world.pair(0);
        pair.handshake().unwrap();
        lens.push(pair.server.summary().sent.post_handshake_bytes);
    }
    assert_eq!((lens[0], lens[1] - lens[0] + 16), (100, 113));
}

/// A sealed ticket with any bit changed is none, and costs nothing but a rejection.
#[test]
fn a_changed_ticket_is_rejected() {
    let mut world = world(4);
    let flight = world.early_pair(1).transmit(Side::Client);
    let (hello, _) = split_hello(&flight);
    let end = hello.len() - 4; // identity_share is followed by early_data
    for byte in [end - 1, end - 30, end - 100] {
        let mut changed = hello.to_vec();
        changed[byte] ^= 1;
        let (served, failure) = serve(&world.server_config(), &changed, 1);
        assert_eq!((failure, served.status()), (None, EarlyDataStatus::Rejected), "{byte}");
    }
}
