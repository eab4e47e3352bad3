//! A client with two credentials: what is cached is bound to the one that was shown, and a CertificateRequest that is not
//! sent again is answered as the full one would be.

use std::sync::LazyLock;

use terse_pki::Usage;
use terse_testkit::pki::{Pki, credential};
use terse_tls::cache::Scheme;
use terse_tls::summary::{CachedObject, Mode};
use terse_tls::{CertificateError, ClientAuthentication, Credential, PeerIdentity, Trust};

use super::issued::{leaf, other_pki};
use super::world::*;

/// Of the shared CA, and of another one.
fn two() -> [Credential; 2] {
    [Pki::shared(CHAIN).client(PROVIDER), other_client()]
}

fn other_client() -> Credential {
    static OTHER: LazyLock<Credential> = LazyLock::new(|| {
        let options = leaf("other.plant.example", Usage::Client);
        credential(PROVIDER, &other_pki().authority.issue(&options).unwrap())
    });
    OTHER.clone()
}

fn is_other(identity: Option<&PeerIdentity>) -> bool {
    let name = b"other.plant.example";
    identity.unwrap().subject_alt_name_der().windows(name.len()).any(|window| window == name)
}

/// The client prefers the first one, and the server names the CA of the second one.
fn world(setting: Setting) -> World {
    let mut world = World::new(setting).with_long_request();
    world.client.credentials(two());
    world.server_trust(other_pki().trust());
    world
}

#[test]
fn what_was_shown_is_cached() {
    for setting in SETTINGS {
        let mut world = world(setting);
        assert!(is_other(world.assert_full().server.peer.identity.as_ref()));
        for _ in 0..5 {
            assert!(is_other(world.assert_cached().server.peer.identity.as_ref()));
        }
        world.restart_client();
        assert!(is_other(world.assert_cached().server.peer.identity.as_ref()));
    }
}

/// The server lost what it kept of clients, and its request is cached, or left out: the client sends the Certificate
/// that the request would have chosen.
#[test]
fn a_cached_request_chooses_as_the_full_one() {
    for setting in SETTINGS {
        let mut world = world(setting);
        world.assert_full();
        world.assert_cached();
        world.restart_client();
        world.restart_server(false);
        let done = world.connect().unwrap();
        assert!(!done.client.cached.contains(&CachedObject::ClientCertificate));
        if world.mode() == Mode::Cached(Scheme::Bithac) {
            assert!(done.client.cached.contains(&CachedObject::CertificateRequest));
        }
        assert!(is_other(done.server.peer.identity.as_ref()));
        world.assert_cached();
    }
}

/// The server changes its mind, and so does its request: the Certificate that was cached is not taken for the other one.
#[test]
fn another_request_chooses_again() {
    for setting in SETTINGS {
        let mut world = world(setting);
        world.assert_full();
        world.assert_cached();
        world.server_trust(Pki::shared(CHAIN).trust());
        let done = world.connect().unwrap();
        assert!(!done.server.cached.contains(&CachedObject::ClientCertificate));
        assert!(!is_other(done.server.peer.identity.as_ref()));
        assert!(!is_other(world.assert_cached().server.peer.identity.as_ref()));
        world.server_trust(other_pki().trust());
        assert!(is_other(world.connect().unwrap().server.peer.identity.as_ref()));
        assert!(is_other(world.assert_cached().server.peer.identity.as_ref()));
    }
}

/// Another list of credentials is another scope: nothing that was kept under the one is offered under the other.
#[test]
fn another_list_of_credentials_is_another_scope() {
    let [first, second] = two();
    let hidden = second.clone().only_for_named_authorities();
    for setting in SETTINGS {
        let mut world = world(setting);
        world.assert_full();
        world.assert_cached();
        for credentials in
            [vec![second.clone(), first.clone()], vec![second.clone()], vec![first.clone(), hidden.clone()]]
        {
            world.client.credentials(credentials);
            assert!(world.next_offer().is_first_contact());
            assert!(is_other(world.connect().unwrap().server.peer.identity.as_ref()));
            assert!(is_other(world.assert_cached().server.peer.identity.as_ref()));
        }
        world.client.credentials(vec![first.clone(), second.clone()]);
        world.assert_cached();
    }
}

/// A client that showed none of its credentials, as none was for this server, goes on so from its cache.
#[test]
fn none_is_shown_again() {
    for setting in COMPACT {
        let mut world = World::new(setting).with_long_request();
        world.client.credentials(two().map(Credential::only_for_named_authorities));
        let third = Pki::named(CHAIN, "Third CA");
        world.server.client_authentication(ClientAuthentication::Optional(third.trust()));
        assert_eq!(world.connect().unwrap().server.peer.identity, None);
        let done = world.connect().unwrap();
        assert!(done.client.cached.contains(&CachedObject::CertificateRequest), "{:?}", done.client.cached);
        assert_eq!(done.server.peer.identity, None);
    }
}

/// Nobody is believed for what another credential proved.
#[test]
fn the_other_credential_is_not_believed_for_the_cached_one() {
    for setting in SETTINGS {
        let mut world = world(setting);
        world.assert_full();
        world.assert_cached();
        world.client.credentials(vec![two()[0].clone()]);
        let failed = world.connect().map(|_| ()).unwrap_err();
        assert_eq!(failed.error, CertificateError::UnknownIssuer.into());
        let both = Trust::new(&[other_pki().root(), Pki::shared(CHAIN).root()]).unwrap();
        world.server_trust(both);
        assert!(!is_other(world.connect().unwrap().server.peer.identity.as_ref()));
    }
}

/// A server that selects the client's Certificate has chosen itself, whatever its request says by now: what it knows is
/// proven, or nothing, and never another one.
#[test]
fn the_servers_selection_counts_for_more_than_its_request() {
    let [first, second] = two();
    let hidden = first.clone().only_for_named_authorities();
    for setting in SETTINGS {
        for (credentials, without_cache) in [
            (vec![second.clone(), first.clone()], CertificateError::UnknownIssuer),
            (vec![hidden.clone()], CertificateError::Required),
        ] {
            let mut world = World::new(setting).with_long_request();
            world.client.credentials(credentials);
            world.assert_full();
            world.assert_cached();
            world.server.certificate_authorities(false);
            let done = world.connect().unwrap();
            assert!(done.server.cached.contains(&CachedObject::ClientCertificate));
            assert!(!is_other(done.server.peer.identity.as_ref()));
            world.restart_server(false);
            let failed = world.connect().map(|_| ()).unwrap_err();
            assert_eq!(failed.error, without_cache.into());
        }
    }
}
