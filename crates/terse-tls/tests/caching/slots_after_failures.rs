//! docs/caching.md, 4.2, where something breaks: crashes, losses, restarts, refusals and networks that swallow offers cost one full
//! handshake at most, and never a connection.

use terse_testkit::fault;
use terse_testkit::pair::Side;
use terse_tls::FallbackReason;
use terse_tls::cache::Scheme;
use terse_tls::summary::{CachedObject, Mode};
use terse_tls::{AlertDescription, Error, HandshakeType, ProtocolVersion};

use super::world::*;

const HOUR: u64 = 3600;

/// Every point at which a connection can be lost, for a client with a confirmed ticket.
const LOSSES: [Until; 6] =
    [Until::ClientHello, Until::ServerFlight, Until::ClientFlight, Until::Commit, Until::Finished, Until::Data];

/// From here on the client has a ticket that the server knows: its own Finished was sent, or in TLS 1.2 the server's was
/// verified.
fn makes_ticket(version: ProtocolVersion) -> Until {
    if version == TLS12 { Until::Finished } else { Until::Commit }
}

#[test]
fn loss_at_any_point_costs_nothing() {
    for setting in SETTINGS {
        for until in LOSSES {
            let mut world = World::cached(setting);
            for _ in 0..5 {
                world.connect_until(until).unwrap();
            }
            world.assert_cached();
        }
    }
}

#[test]
fn loss_at_any_point_of_the_first_contact_costs_one_full_handshake() {
    for setting in SETTINGS {
        for until in LOSSES {
            let mut world = World::new(setting);
            world.connect_until(until).unwrap();
            let done = world.connect().unwrap();
            let has_ticket = until >= makes_ticket(setting.version);
            let is_cached = done.client.cached.contains(&CachedObject::ClientCertificate);
            assert_eq!(is_cached, has_ticket, "{until:?}");
            world.assert_cached();
        }
    }
}

#[test]
fn crash_of_the_client_costs_nothing() {
    for setting in SETTINGS {
        for until in LOSSES {
            let mut world = World::cached(setting);
            for _ in 0..3 {
                let done = world.connect_until(until).unwrap();
                world.restart_client();
                drop(done); // the connection dies with its process and tells nothing
                world.assert_cached();
            }
        }
    }
}

/// The same before anything is confirmed: what the server committed it need not be told again.
#[test]
fn crash_of_the_client_after_its_first_finished() {
    for setting in SETTINGS {
        for (until, cached) in [(Until::ClientFlight, false), (makes_ticket(setting.version), true)] {
            let mut world = World::new(setting);
            world.connect_until(until).unwrap();
            world.restart_client();
            let done = world.connect().unwrap();
            let is_cached = done.client.cached.contains(&CachedObject::ClientCertificate);
            assert_eq!(is_cached, cached, "{until:?}");
            world.restart_client();
            world.assert_cached();
        }
    }
}

#[test]
fn restart_of_the_server_with_its_store_costs_nothing() {
    for setting in SETTINGS {
        for until in LOSSES {
            let mut world = World::cached(setting);
            world.connect_until(until).unwrap();
            world.restart_server(true);
            world.assert_cached();
        }
    }
}

#[test]
fn restart_of_the_server_without_its_store_costs_one_full_handshake() {
    for setting in SETTINGS {
        for until in LOSSES {
            let mut world = World::cached(setting);
            world.connect_until(until).unwrap();
            world.restart_server(false);
            let done = world.connect().unwrap();
            assert_eq!(done.server.fallback, Some(FallbackReason::TicketNotFound));
            assert!(!done.client.cached.contains(&CachedObject::ClientCertificate));
            world.assert_cached();
        }
    }
}

/// Restarted with a backup: the ticket that is known there is not the one that the client confirmed last.
#[test]
fn server_with_an_old_store_costs_one_full_handshake() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let backup = world.server_store.clone();
        world.restart_server(true);
        for _ in 0..3 {
            world.assert_cached();
        }
        world.server_store = backup;
        world.restart_server(true);
        let done = world.connect().unwrap();
        // A fingerprint is no ticket.
        let is_bithac = world.mode() == Mode::Cached(Scheme::Bithac);
        assert_eq!(done.client.cached, BOTH_CERTIFICATES[..usize::from(is_bithac)]);
        world.assert_cached();
    }
}

#[test]
fn failed_handshakes_change_nothing_on_the_server() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let before = world.rows();
        for until in [Until::ClientHello, Until::ServerFlight, Until::ClientFlight] {
            world.connect_until(until).unwrap();
            assert_eq!(world.rows(), before, "{until:?}");
        }
        let breakers = [HandshakeType::CERTIFICATE_VERIFY, HandshakeType::FINISHED, HandshakeType::CERTIFICATE];
        // What is left out cannot be spoilt.
        for kind in breakers.into_iter().take(if world.mode() == Mode::Cached(Scheme::Compact) { 2 } else { 3 }) {
            let spoil = fault::first(kind, |message| *message.last_mut().unwrap() ^= 1);
            let (_, result) = world.connect_with(Side::Client, spoil);
            assert_eq!(result.unwrap_err().side, Side::Server, "{kind}");
            assert_eq!(world.rows(), before, "{kind}");
        }
    }
}

/// After an alert that follows a selection both slots go, and with them what was selected.
#[test]
fn alert_after_a_selection_drops_both_slots() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.connect_until(Until::Commit).unwrap(); // sets `newer`, so that both are full
        let spoil = fault::first(HandshakeType::FINISHED, |message| message[4] ^= 1);
        let (link, result) = world.connect_with(Side::Client, spoil);
        assert_eq!(result.unwrap_err().error.alert(), Some(AlertDescription::DECRYPT_ERROR));
        assert_eq!(link.pair.client.summary().mode, world.mode());
        drop(link);
        let done = world.assert_full();
        assert!(done.offer.is_first_contact(), "{:?}", done.offer);
        world.assert_cached();
    }
}

#[test]
fn failed_check_after_a_selection_drops_both_slots() {
    for setting in SETTINGS {
        let proof = if setting.version == TLS12 {
            HandshakeType::SERVER_KEY_EXCHANGE
        } else {
            HandshakeType::CERTIFICATE_VERIFY
        };
        for kind in [proof, HandshakeType::FINISHED] {
            let mut world = World::cached(setting);
            world.connect_until(Until::Commit).unwrap();
            let spoil = fault::first(kind, |message| *message.last_mut().unwrap() ^= 1);
            let (_, result) = world.connect_with(Side::Server, spoil);
            assert_eq!(result.unwrap_err().side, Side::Client);
            assert!(world.assert_full().offer.is_first_contact());
            world.assert_cached();
        }
    }
}

/// Without a selection the alert has nothing to do with caching.
#[test]
fn alert_without_a_selection_drops_nothing() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let shown = world.next_offer();
        let mut link = world.begin();
        link.carry_on(Side::Client).unwrap();
        let alert =
            terse_testkit::forge::plaintext(terse_tls::ContentType::ALERT, &[2, AlertDescription::HANDSHAKE_FAILURE.0]);
        let failed = link.deliver(Side::Client, alert).unwrap_err();
        assert_eq!(failed.error, Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE));
        drop(link);
        assert_eq!(world.next_offer(), shown);
        world.assert_cached();
    }
}

/// How a connection dies without an answer.
#[derive(Clone, Copy, Debug)]
enum End {
    TimeOut,
    Close,
}

/// An attempt that is not answered. Returns whether it offered anything.
fn unanswered(world: &mut World, end: End) -> bool {
    let mut link = world.begin();
    link.pair.transmit(Side::Client);
    match end {
        End::TimeOut => link.time_out(),
        End::Close => {
            let now = link.pair.now;
            assert_eq!(link.pair.client.handle_end_of_input(now), Err(Error::Truncated));
        }
    }
    let offer = link.offer();
    assert!(offer.is_first_contact() || offer.ticket().is_some());
    offer.ticket().is_some()
}

#[test]
fn after_two_unanswered_offers_attempts_alternate() {
    for setting in SETTINGS {
        for ends in [[End::TimeOut, End::TimeOut], [End::Close, End::TimeOut], [End::Close, End::Close]] {
            let mut world = World::cached(setting);
            let offered: Vec<_> = ends.iter().cycle().take(7).map(|end| unanswered(&mut world, *end)).collect();
            assert_eq!(offered, [true, true, false, true, false, true, false], "{ends:?}");
            // The next one is cached again, and the network is well.
            world.assert_cached();
            world.assert_cached();
        }
    }
}

#[test]
fn one_unanswered_offer_changes_nothing() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        for _ in 0..4 {
            assert!(unanswered(&mut world, End::TimeOut));
            world.assert_cached();
        }
    }
}

/// The alternation survives a restart, and so does what follows.
#[test]
fn after_full_succeeded_and_cached_failed_caching_is_off_for_a_day() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        assert!(unanswered(&mut world, End::TimeOut) && unanswered(&mut world, End::TimeOut));
        world.restart_client();
        let done = world.assert_full(); // the full one of the alternation
        assert_eq!(done.client.fallback, Some(FallbackReason::FullAttempt));
        assert!(unanswered(&mut world, End::Close), "the cached one decides");
        world.restart_client();
        for hours in [0, 1, 12, 23] {
            world.set_clocks(hours * HOUR);
            let done = world.assert_full();
            assert!(done.offer.is_silent());
            assert_eq!(done.client.fallback, Some(FallbackReason::SwitchedOff));
        }
        world.set_clocks(24 * HOUR);
        world.assert_cached();
        world.assert_cached();
    }
}

/// On trial for a second time: one more failure is enough.
#[test]
fn after_the_day_one_more_failure_is_enough() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        assert!(unanswered(&mut world, End::TimeOut) && unanswered(&mut world, End::TimeOut));
        world.assert_full();
        assert!(unanswered(&mut world, End::TimeOut));
        world.set_clocks(25 * HOUR);
        assert!(unanswered(&mut world, End::TimeOut));
        world.set_clocks(48 * HOUR);
        assert!(world.assert_full().offer.is_silent());
        world.set_clocks(50 * HOUR);
        world.assert_cached();
    }
}
