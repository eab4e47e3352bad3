//! docs/caching.md, 4.6, where TLS 1.2 goes without the extended master secret: no caching reply, and no entry. (Resumption, which goes
//! before caching, has tests of its own.)

use alloc::sync::Arc;

use terse_testkit::fault;
use terse_testkit::pair::{Failed, Side};
use terse_tls::cache::Scheme;
use terse_tls::summary::Mode;
use terse_tls::{ExtensionType, Fault, HandshakeType, PeerMisbehaved};

use super::world::*;

const EXTENDED_MASTER_SECRET: ExtensionType = ExtensionType::EXTENDED_MASTER_SECRET;

/// A client that seems not to know it.
fn old_client() -> Option<Arc<dyn Fault>> {
    Some(fault::first(HandshakeType::CLIENT_HELLO, |hello| fault::remove_extension(hello, EXTENDED_MASTER_SECRET)))
}

/// Neither side requires it.
fn lenient(mut world: World) -> World {
    for common in [world.client.common_mut(), world.server.common_mut()] {
        common.set_require_extended_master_secret(false);
    }
    world
}

#[test]
fn no_entry_without_the_extended_master_secret() {
    let mut world = lenient(World::new(TLS12));
    for round in 0..3 {
        world.client.fault(old_client());
        let done = world.assert_full();
        assert!(done.offer.is_first_contact(), "round {round}");
    }
    assert!(world.server_store.is_empty());
    world.client.fault(None);
    world.assert_full();
    world.assert_cached();
}

/// What is cached stays, but is not used. The ticket was shown to the network all the same, and is not shown again
/// (docs/caching.md, 4.3).
#[test]
fn no_use_without_the_extended_master_secret() {
    let mut world = lenient(World::cached(TLS12));
    let rows = world.rows();
    world.client.fault(old_client());
    let done = world.assert_full();
    let shown = done.offer.ticket().expect("a ticket");
    assert!(done.offer.cached_info.is_some());
    assert_eq!(world.rows(), rows);
    world.client.fault(None);
    assert_eq!(world.next_offer().ticket(), None, "{shown:x?} was shown");
    let done = world.connect().unwrap();
    assert_eq!(done.client.mode, Mode::Cached(Scheme::Bithac), "the server's certificate is still known");
    world.assert_cached();
}

/// `illegal_parameter` for a server that caches all the same.
#[test]
fn no_reply_without_the_extended_master_secret() {
    let mut world = lenient(World::cached(TLS12));
    let strip =
        fault::first(HandshakeType::SERVER_HELLO, |hello| fault::remove_extension(hello, EXTENDED_MASTER_SECRET));
    let (_, result) = world.connect_with(Side::Server, strip);
    let error = PeerMisbehaved::IllegalCachingReply.into();
    assert_eq!(result, Err(Failed { side: Side::Client, error }));
}

/// A handshake that succeeds without it is a success for the network's sake: attempts do not go on alternating.
#[test]
fn handshake_without_it_counts_as_answered() {
    let mut world = lenient(World::cached(TLS12));
    world.client.fault(old_client());
    let done = world.connect_until(Until::Finished).unwrap();
    // The transport breaks down afterwards, with nothing said: that is no failure of the offer.
    let mut pair = done.pair;
    let now = pair.now;
    pair.client.give_up(now);
    drop(pair);
    world.client.fault(None);
    world.connect().unwrap();
    world.assert_cached();
}
