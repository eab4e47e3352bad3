//! Rule 3: a used ticket is replaced by that handshake's own.

use alloc::collections::BTreeSet;

use terse_testkit::pair::Side;

use crate::world::*;

/// How often `ticket` stands in `bytes`.
fn occurrences(bytes: &[u8], ticket: [u8; 8]) -> usize {
    bytes.windows(8).filter(|window| *window == ticket).count()
}

/// Looks at all bytes of all connections, in order, in parallel, and with the server's memory lost on the way.
#[test]
fn rule_3_no_two_connections_show_the_same_ticket() {
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
fn rule_3_ticket_that_was_not_answered_is_not_shown_again() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let cache = world.server.cache.take();
        let first = world.connect().unwrap().offer.ticket().expect("a ticket");
        let second = world.connect().unwrap().offer;
        assert_eq!(second.client_cached_info, Some(Vec::new()), "{first:x?}");
        world.server.cache = cache;
        let third = world.connect().unwrap().offer;
        assert_eq!(third.client_cached_info, Some(Vec::new()));
        world.assert_cached();
    }
}

/// The exception: after a failure the ticket that the server has for sure is shown again.
#[test]
fn rule_3_ticket_is_shown_again_only_after_a_failure() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let lost = world.connect_until(Until::ClientFlight).unwrap().offer.ticket();
        let again = world.assert_cached().offer.ticket();
        assert!(lost.is_some() && again == lost);
        assert_ne!(world.assert_cached().offer.ticket(), lost);
    }
}

/// The ticket that a connection makes is in none of its bytes, and neither are the client's name nor its certificate
/// once it is cached.
#[test]
fn rule_3_ticket_is_not_sent_before_it_is_used() {
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
