//! Identity keys of a client and a server, from one private key generator for each algorithm.

use alloc::sync::Arc;
use std::sync::LazyLock;

use terse_ibc::Generator;
use terse_tls::crypto::IdentityKey;
use terse_tls::identity::{Identity, IdentityAlgorithm, KnownPeers};

use crate::pki::{NOW, SERVER_NAME};
use crate::rng::SeededRng;

/// The last second of the epoch of all keys: ten years after [`NOW`].
pub const NOT_AFTER: u64 = NOW + 10 * 365 * crate::pki::DAY;

/// The keys of one generator.
pub struct IdentityKeys {
    /// The generator.
    pub generator: Generator,
    /// The key of [`server`].
    pub server: Arc<dyn IdentityKey>,
    /// The key of [`client`].
    pub client: Arc<dyn IdentityKey>,
}

/// Returns the identity of the server, which is its DNS name.
pub fn server() -> Identity {
    format!("dns:{SERVER_NAME}").parse().expect("an identity")
}

/// Returns the identity of the client, an EUI-64.
pub fn client() -> Identity {
    Identity::eui64([2, 0, 0, 0, 0, 0, 0, 17])
}

impl IdentityKeys {
    /// Creates the keys of a new generator.
    pub fn new(algorithm: IdentityAlgorithm, seed: u64) -> Self {
        let generator = Generator::new(algorithm, 7, NOT_AFTER, &mut SeededRng::new(seed)).expect("a generator");
        let issue = |identity| generator.issue(&identity).expect("a key");
        Self { server: issue(server()), client: issue(client()), generator }
    }

    /// Returns the keys that all tests of `algorithm` share.
    pub fn shared(algorithm: IdentityAlgorithm) -> &'static Self {
        static BLS12381: LazyLock<IdentityKeys> = LazyLock::new(|| IdentityKeys::new(IdentityAlgorithm::Bls12381, 1));
        static RISTRETTO255: LazyLock<IdentityKeys> =
            LazyLock::new(|| IdentityKeys::new(IdentityAlgorithm::Ristretto255, 2));
        match algorithm {
            IdentityAlgorithm::Bls12381 => &BLS12381,
            _ => &RISTRETTO255,
        }
    }

    /// Returns another key of this generator.
    pub fn key(&self, identity: &Identity) -> Arc<dyn IdentityKey> {
        self.generator.issue(identity).expect("a key")
    }
}

/// Returns a copy of a store, which later handshakes with the original do not change.
pub fn copy(known: &KnownPeers) -> Arc<KnownPeers> {
    Arc::new(KnownPeers::from_snapshot(64, &known.snapshot()).expect("its own snapshot"))
}
