//! The fuzz target `identity` takes what identity keys meet from outside: the public values of a peer, in both algorithms,
//! and files of any bytes.
//!
//! ```text
//! what(1) bytes
//! ```

use std::sync::LazyLock;

use terse_ibc::Generator;
use terse_ibc::files::{KeyFile, parameters_from_pem};
use terse_ibc::ristretto255::Blinded;
use terse_testkit::identity::{self, IdentityKeys};
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::{EphemeralKey, IdentityPeer, IdentityRole};
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters, KnownPeers};

/// An ephemeral key of the client for each algorithm.
static EPHEMERAL: LazyLock<[EphemeralKey; 2]> = LazyLock::new(|| {
    IdentityAlgorithm::ALL.map(|algorithm| {
        let keys = IdentityKeys::shared(algorithm);
        keys.client.ephemeral(&mut SeededRng::new(1)).expect("an ephemeral key")
    })
});

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((what, rest)) = data.split_first() else { return };
    match what % 4 {
        0 => terms(IdentityAlgorithm::ALL[usize::from(what / 4 % 2)], rest),
        1 => files(rest),
        2 => saved(rest),
        _ => request(rest),
    }
}

/// The rest is `identity_len(1) identity ephemeral public_part`. Terms of valid keys are never the same for two roles.
fn terms(algorithm: IdentityAlgorithm, rest: &[u8]) {
    let Some((len, rest)) = rest.split_first() else { return };
    let Some((encoded, rest)) = rest.split_at_checked((*len).into()) else { return };
    let named = Identity::decode(encoded);
    if let Ok(identity) = &named {
        assert_eq!(identity.encoded(), encoded);
        assert!(!identity.to_string().is_empty());
    }
    let identity = named.unwrap_or_else(|_| identity::server());
    let (ephemeral, public_part) = rest.split_at(rest.len().min(algorithm.ephemeral_len()));
    let key = &IdentityKeys::shared(algorithm).client;
    let own = &EPHEMERAL[usize::from(algorithm.code()) - 1];
    let peer = IdentityPeer { identity: &identity, public_part, ephemeral };
    let terms = [IdentityRole::Client, IdentityRole::Server].map(|role| key.terms(role, own, peer));
    if let [Ok(client), Ok(server)] = &terms {
        assert_ne!(client.k1.as_ref(), server.k1.as_ref());
        assert_eq!(client.k3.as_ref(), server.k3.as_ref());
    } else {
        assert!(terms.iter().all(Result::is_err));
    }
}

fn files(rest: &[u8]) {
    let text = String::from_utf8_lossy(rest);
    if let Ok(file) = KeyFile::from_pem(&text) {
        assert!(KeyFile::from_pem(&file.to_pem()).is_ok());
    }
    if let Ok(generator) = Generator::from_bytes(rest) {
        assert_eq!(generator.to_bytes()[..], *rest);
    }
    let _ = (parameters_from_pem(&text), Generator::from_pem(&text), text.parse::<Identity>());
}

fn saved(rest: &[u8]) {
    if let Some(parameters) = IdentityParameters::decode(rest) {
        assert_eq!(parameters.encode(), rest);
    }
    if let Some(known) = KnownPeers::from_snapshot(8, rest) {
        assert!(known.len() <= 8);
        let again = KnownPeers::from_snapshot(8, &known.snapshot()).expect("its own snapshot");
        assert_eq!(again.snapshot(), known.snapshot());
    }
}

/// The answer to the same request is always the same.
fn request(rest: &[u8]) {
    let Some(blinded) = rest.first_chunk() else { return };
    let generator = &IdentityKeys::shared(IdentityAlgorithm::Ristretto255).generator;
    let answer = || generator.respond(&identity::client(), Blinded(*blinded));
    assert_eq!(answer(), answer());
}
