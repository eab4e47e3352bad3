//! A used ticket is replaced by the one that its handshake made (docs/caching.md, 4.3).

use alloc::collections::BTreeSet;

use terse_testkit::pair::Side;
use terse_tls::cache::Scheme;
use terse_tls::cache::Schemes;
use terse_tls::summary::Mode;

use super::world::*;

/// Returns how often `ticket` stands in `bytes`.
fn occurrences(bytes: &[u8], ticket: [u8; 8]) -> usize {
    bytes.windows(8).filter(|window| *window == ticket).count()
}

/// Looks at all bytes of all connections, in order, in parallel, and with the server's memory lost on the way.
#[test]
fn no_two_connections_show_the_same_ticket() {
    for setting in SETTINGS {
        let mut world = World::new(setting);
        let (mut wire, mut tickets) = (Vec::new(), Vec::new());
        for round in 0..20 {
            if round == 10 {
                world.restart_server(false);
            }
            let mut link = world.begin();
            let mut parallel = world.begin();
            for link in [&mut link, &mut parallel] {
                link.run_until(if round % 2 == 0 { Until::Closed } else { Until::Data }).unwrap();
            }
            for link in [link, parallel] {
                tickets.extend(link.offer().ticket());
                wire.extend_from_slice(&link.pair.from_client);
                wire.extend_from_slice(&link.pair.from_server);
            }
        }
        assert_eq!(tickets.len(), 19, "all but the first connection and the parallel ones show one");
        assert_eq!(tickets.iter().collect::<BTreeSet<_>>().len(), tickets.len());
        for ticket in tickets {
            assert_eq!(occurrences(&wire, ticket), 1);
        }
    }
}

/// A server that stops taking part has seen the ticket, and does not see it again.
#[test]
fn ticket_that_was_not_answered_is_not_shown_again() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let cache = world.server.edit_cache(Option::take);
        let first = world.connect().unwrap().offer.ticket().expect("a ticket");
        let second = world.connect().unwrap().offer;
        assert_eq!(second.client_cached_info, Some(Vec::new()), "{first:x?}");
        world.server.cache(cache);
        let third = world.connect().unwrap().offer;
        assert_eq!(third.client_cached_info, Some(Vec::new()));
        world.assert_cached();
    }
}

/// There is one exception: after a failure, a client shows again the ticket that the server has for sure.
#[test]
fn ticket_is_shown_again_only_after_a_failure() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let lost = world.connect_until(Until::ClientFlight).unwrap().offer.ticket();
        let again = world.assert_cached().offer.ticket();
        assert!(lost.is_some() && again == lost);
        assert_ne!(world.assert_cached().offer.ticket(), lost);
    }
}

/// A client sends, closes, and never reads. In TLS 1.2 the server's Finished is part of its handshake; in TLS 1.3 nothing
/// tells it that the server has the new ticket.
fn talk(world: &mut World, setting: Setting) -> Done {
    let mut link = world.begin();
    link.run_until(if setting.version == TLS13 { Until::Commit } else { Until::Finished }).unwrap();
    link.pair.client.send(b"21.5").unwrap();
    link.pair.client.close();
    let flight = link.pair.transmit(Side::Client);
    link.deliver(Side::Server, flight).unwrap();
    link.done()
}

#[test]
fn client_that_only_talks_shows_each_ticket_once() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let mut tickets = BTreeSet::new();
        for _ in 0..12 {
            let done = talk(&mut world, setting);
            assert_ne!(done.client.mode, Mode::Full, "it costs no full handshake");
            assert!(tickets.insert(done.offer.ticket().expect("a ticket")));
        }
        world.assert_cached();
    }
}

/// Nobody told the client that its last flight was lost. This costs one full handshake, and no ticket is shown twice.
#[test]
fn lost_words_of_a_client_that_only_talks_cost_one_full_handshake() {
    let setting = Setting { version: TLS13, schemes: Schemes::COMPACT };
    let mut world = World::cached(setting);
    let mut link = world.begin();
    link.run_until(Until::ClientFlight).unwrap();
    link.pair.client.send(b"21.5").unwrap();
    link.pair.client.close();
    let lost = link.done().offer.ticket();
    let mut talks = || {
        let done = talk(&mut world, setting);
        (done.client.mode, done.offer.ticket().expect("a ticket"))
    };
    let [full, next] = [talks(), talks()];
    assert_eq!([full.0, next.0], [Mode::Full, Mode::Cached(Scheme::Compact)]);
    assert!(lost.is_some_and(|lost| ![full.1, next.1].contains(&lost)) && full.1 != next.1);
}

/// The client closes, and then waits for the server's close_notify in vain.
#[test]
fn ticket_is_shown_again_if_the_connection_fails_after_it_was_closed() {
    let mut world = World::cached(TLS13);
    let mut link = world.begin();
    link.run_until(Until::ClientFlight).unwrap();
    link.pair.client.close();
    link.time_out();
    let shown = link.done().offer.ticket();
    assert!(shown.is_some() && world.assert_cached().offer.ticket() == shown);
}

/// The ticket that a connection makes is in none of its bytes, and neither are the client's name nor its certificate
/// once it is cached.
#[test]
fn ticket_is_not_sent_before_it_is_used() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let done = world.connect().unwrap();
        let next = world.next_offer().ticket().expect("a ticket");
        for bytes in [&done.pair.from_client, &done.pair.from_server] {
            assert_eq!(occurrences(bytes, next), 0);
        }
        let mut link = world.begin();
        assert_eq!(occurrences(&link.pair.transmit(Side::Client), next), 1);
    }
}
