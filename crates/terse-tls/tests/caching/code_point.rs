//! The code point of `client_cached_info` is for private use, and can be chosen.

use terse_testkit::fault;
use terse_testkit::pair::Side;
use terse_tls::cache::Scheme;
use terse_tls::summary::Mode;
use terse_tls::{ExtensionType, HandshakeType};

use super::world::{BOTH_CERTIFICATES, VERSIONS, World};

const OTHER: ExtensionType = ExtensionType(0xff99);

#[test]
fn another_code_point_serves_as_well() {
    for version in VERSIONS {
        let mut world = World::new(version);
        world.client.client_cached_info(OTHER);
        world.server.client_cached_info(OTHER);
        assert_eq!(world.connect().unwrap().client.mode, Mode::Full);
        let done = world.connect().unwrap();
        assert_eq!((done.client.mode, &done.client.cached[..]), (Mode::Cached(Scheme::Bithac), &BOTH_CERTIFICATES[..]));
    }
}

#[test]
fn different_code_points_leave_rfc7924() {
    for version in VERSIONS {
        let mut world = World::new(version);
        world.server.client_cached_info(OTHER);
        world.connect().unwrap();
        assert_eq!(world.connect().unwrap().client.mode, Mode::Cached(Scheme::Rfc7924));
    }
}

/// Another meaning of a private code point is nothing to a server that does not take part.
#[test]
fn a_server_without_caching_does_not_look_at_it() {
    for version in VERSIONS {
        let mut world = World::new(version);
        world.server.cache(None);
        let strange = fault::first(HandshakeType::CLIENT_HELLO, |message| {
            fault::set_extension(message, ExtensionType::CLIENT_CACHED_INFO, &[1, 2, 3, 4, 5]);
        });
        let (_, result) = world.connect_with(Side::Client, strange);
        result.unwrap();
    }
}
