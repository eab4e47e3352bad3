//! Public parts that are wrong: somebody has changed a store or a key, and the next handshake mends it.

use alloc::sync::Arc;

use terse_testkit::identity::{self, IdentityKeys};
use terse_testkit::pair::Pair;
use terse_tls::identity::{IdentityAlgorithm, KnownPeers};
use terse_tls::{ClientIdentity, ServerIdentity};

use super::setup;

const RISTRETTO255: IdentityAlgorithm = IdentityAlgorithm::Ristretto255;

/// A handshake with these stores. Returns whether it succeeds.
fn connects(client: &Arc<KnownPeers>, server: &Arc<KnownPeers>, seed: u64) -> bool {
    let keys = IdentityKeys::shared(RISTRETTO255);
    let setup = setup(RISTRETTO255);
    let (mut of_client, mut of_server) = (setup.client, setup.server);
    of_client.identity(ClientIdentity::new(keys.client.clone()).known_peers(client.clone()));
    of_server.identity(ServerIdentity::new([keys.server.clone()]).known_peers(server.clone()));
    let (of_client, of_server) = (Arc::new(of_client.build().unwrap()), Arc::new(of_server.build().unwrap()));
    Pair::new(&of_client, &of_server, seed).handshake().is_ok()
}

#[test]
fn a_poisoned_public_part_of_the_server_costs_one_handshake() {
    let keys = IdentityKeys::shared(RISTRETTO255);
    let (client, server) = (Arc::new(KnownPeers::new(4)), Arc::new(KnownPeers::new(4)));
    assert!(connects(&client, &server, 1));
    client.provide(keys.server.parameters().authority(), &identity::server(), keys.client.public_part());
    assert!(!connects(&client, &server, 2));
    assert!(connects(&client, &server, 3));
    assert!(connects(&client, &server, 4));
}

#[test]
fn a_poisoned_public_part_of_the_client_costs_one_handshake() {
    let keys = IdentityKeys::shared(RISTRETTO255);
    let (client, server) = (Arc::new(KnownPeers::new(4)), Arc::new(KnownPeers::new(4)));
    assert!(connects(&client, &server, 1));
    server.provide(keys.client.parameters().authority(), &identity::client(), keys.server.public_part());
    assert!(!connects(&client, &server, 2));
    assert!(connects(&client, &server, 3));
    assert!(connects(&client, &server, 4));
}

/// A stranger's hello leaves nothing behind, whatever it claims.
#[test]
fn nothing_is_kept_before_finished() {
    let (client, server) = (Arc::new(KnownPeers::new(4)), Arc::new(KnownPeers::new(4)));
    let keys = IdentityKeys::shared(RISTRETTO255);
    let other = IdentityKeys::new(RISTRETTO255, 77);
    let setup = setup(RISTRETTO255);
    let (mut of_client, mut of_server) = (setup.client, setup.server);
    // The attacker has a key for the client's identity, of an authority of its own, and says it is the server's.
    let posing = Arc::new(super::attackers::Posing::new(other.client.clone(), keys.client.parameters().clone()));
    of_client.identity(ClientIdentity::new(posing).known_peers(client.clone()));
    of_server.identity(ServerIdentity::new([keys.server.clone()]).known_peers(server.clone()));
    let (of_client, of_server) = (Arc::new(of_client.build().unwrap()), Arc::new(of_server.build().unwrap()));
    Pair::new(&of_client, &of_server, 1).run().expect_err("the keys differ");
    assert!(client.is_empty() && server.is_empty());
}
