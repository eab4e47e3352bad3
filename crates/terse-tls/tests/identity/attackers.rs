//! What attackers with stolen secrets cannot do. Each attack succeeds against a key agreement without the term that
//! defends against it, and fails against the real one: so each term is needed.

use alloc::sync::Arc;

use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use terse_testkit::identity::{self, IdentityKeys};
use terse_testkit::pair::Pair;
use terse_tls::crypto::{
    CryptoError, EphemeralKey, IdentityKey, IdentityPeer, IdentityRole, IdentityTerms, Rng, SharedSecret, StaticTerms,
};
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters};
use terse_tls::{ClientConfig, ClientIdentity, Connection, ServerConfig, ServerIdentity};

use super::PROVIDER;
use super::independent::{self, Generator, Key, point, private, public_key, term};

/// How terms become the secret of a key schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combination {
    /// Each is hashed for itself: that of Terse.
    Hashed,
    /// The same without the term of this number.
    Without(usize),
    /// They are added, and the sum is hashed. It is (x + sk_C)·(y + sk_S)·B.
    Summed,
}

/// A key whose terms are combined in a weaker way, as an honest side of a weaker protocol has it.
#[derive(Clone)]
struct Weak<K> {
    key: K,
    combination: Combination,
}

impl<K: IdentityKey> IdentityKey for Weak<K> {
    fn parameters(&self) -> &IdentityParameters {
        self.key.parameters()
    }

    fn identity(&self) -> &Identity {
        self.key.identity()
    }

    fn public_part(&self) -> &[u8] {
        self.key.public_part()
    }

    fn ephemeral(&self, rng: &mut dyn Rng) -> Result<EphemeralKey, CryptoError> {
        self.key.ephemeral(rng)
    }

    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError> {
        self.key.ephemeral_from(secret)
    }

    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError> {
        let mut terms = self.key.static_terms(role, ephemeral, peer)?;
        let nothing = || SharedSecret::new(Vec::new());
        match self.combination {
            Combination::Without(0) => terms.k0 = nothing(),
            Combination::Without(1) => terms.k1 = nothing(),
            _ => {}
        }
        Ok(terms)
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        known: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError> {
        let mut terms = self.key.terms(role, ephemeral, peer, known)?;
        let nothing = || SharedSecret::new(Vec::new());
        match self.combination {
            Combination::Hashed => {}
            Combination::Without(0) => terms.k0 = nothing(),
            Combination::Without(1) => terms.k1 = nothing(),
            Combination::Without(2) => terms.k2 = nothing(),
            Combination::Without(_) => terms.k3 = nothing(),
            Combination::Summed => {
                let IdentityTerms { k0, k1, k2, k3, .. } = &terms;
                let sum = [k0, k1, k2, k3].map(|term| point(term.as_ref())).into_iter().sum::<Result<_, _>>()?;
                terms = IdentityTerms::new([nothing(), nothing(), nothing(), term(sum)]);
            }
        }
        Ok(terms)
    }
}

/// The secrets that an attacker has.
#[derive(Clone)]
enum Stolen {
    /// The private key of the peer that it talks to.
    StaticKeyOfPeer(Scalar),
    /// The ephemeral private key of the peer that it talks to.
    EphemeralKeyOfPeer(Key),
    /// Nothing, but it chooses its ephemeral key as x'·B - pub, where pub is the public key of the identity that it claims.
    Nothing,
}

/// An attacker that claims an identity without having its key.
#[derive(Clone)]
struct Attacker {
    claims: Key,
    stolen: Stolen,
}

impl IdentityKey for Attacker {
    fn parameters(&self) -> &IdentityParameters {
        &self.claims.parameters
    }

    fn identity(&self) -> &Identity {
        &self.claims.identity
    }

    fn public_part(&self) -> &[u8] {
        &self.claims.public_part
    }

    fn ephemeral(&self, rng: &mut dyn Rng) -> Result<EphemeralKey, CryptoError> {
        let honest = self.claims.ephemeral(rng)?;
        let Stolen::Nothing = self.stolen else { return Ok(honest) };
        let own = private(&honest);
        Ok(independent::ephemeral(own, RistrettoPoint::mul_base(&own) - self.public_key()?))
    }

    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError> {
        self.claims.ephemeral_from(secret)
    }

    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError> {
        self.claims.static_terms(role, ephemeral, peer)
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        _: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError> {
        let (own, theirs) = (private(ephemeral), point(peer.ephemeral)?);
        let of_peer = public_key(&self.claims.parameters, peer.identity, peer.public_part)?;
        let claimed = self.public_key()?;
        // The four products: static or ephemeral key of the claimed side with static or ephemeral key of the peer.
        let nothing = || SharedSecret::new(Vec::new());
        let ephemeral_with_static = term(own * of_peer);
        let ephemeral_with_ephemeral = term(own * theirs);
        let (static_with_static, static_with_ephemeral) = match &self.stolen {
            Stolen::StaticKeyOfPeer(of_peer) => (term(of_peer * claimed), nothing()),
            Stolen::EphemeralKeyOfPeer(peer) => {
                let leaked = *peer.leaked.lock().expect("no panic");
                (nothing(), term(leaked * claimed))
            }
            Stolen::Nothing => {
                let sum = term(own * (of_peer + theirs));
                return Ok(IdentityTerms::new([nothing(), nothing(), nothing(), sum]));
            }
        };
        let (k1, k2) = match role {
            IdentityRole::Client => (ephemeral_with_static, static_with_ephemeral),
            IdentityRole::Server => (static_with_ephemeral, ephemeral_with_static),
        };
        Ok(IdentityTerms::new([static_with_static, k1, k2, ephemeral_with_ephemeral]))
    }
}

impl Attacker {
    fn public_key(&self) -> Result<RistrettoPoint, CryptoError> {
        let Key { parameters, identity, public_part, .. } = &self.claims;
        public_key(parameters, identity, public_part)
    }
}

fn keys() -> (Key, Key) {
    let generator = Generator::new(123_456_789);
    (generator.issue(&identity::client(), 1_001), generator.issue(&identity::server(), 2_002))
}

/// Runs a connection, and returns whether both sides are connected.
fn connects(client: impl IdentityKey + 'static, server: impl IdentityKey + 'static) -> bool {
    connect(Arc::new(client), Arc::new(server))
}

fn connect(client: Arc<dyn IdentityKey>, server: Arc<dyn IdentityKey>) -> bool {
    let (mut of_client, mut of_server) = (ClientConfig::builder(PROVIDER), ServerConfig::builder(PROVIDER));
    of_client.identity(ClientIdentity::new(client));
    of_server.identity(ServerIdentity::new([server]));
    let (client, server) = (Arc::new(of_client.build().unwrap()), Arc::new(of_server.build().unwrap()));
    let mut pair = Pair::new(&client, &server, 1);
    _ = pair.run();
    [&pair.client, &pair.server].into_iter().all(Connection::is_connected)
}

/// An attack succeeds against the weak combination, which works for honest sides, and fails against that of Terse.
fn check(weak: Combination, attack: impl Fn(Combination) -> bool) {
    let (client, server) = keys();
    let weaken = |key: Key| Weak { key, combination: weak };
    assert!(connects(weaken(client), weaken(server)), "honest sides connect with {weak:?}");
    assert!(attack(weak), "the attack works against {weak:?}");
    assert!(!attack(Combination::Hashed), "the attack fails against all four terms");
}

/// The page with the formats is enough to write an implementation that connects with this one.
#[test]
fn the_second_implementation_connects_with_the_first() {
    let (client, server) = keys();
    assert!(connects(client.clone(), server.clone()));
    // The same generator, from its file.
    let secret = Scalar::from(123_456_789_u64).to_bytes();
    let file = [&[1][..], &client.parameters.encode(), &secret, &[7; 32]].concat();
    let first = terse_ibc::Generator::from_bytes(&file).expect("the format of docs/identity-format.md, 6");
    let issue = |identity| first.issue(&identity).expect("a key");
    assert!(connect(Arc::new(client), issue(identity::server())));
    assert!(connect(issue(identity::client()), Arc::new(server.clone())));
    let other = IdentityKeys::shared(IdentityAlgorithm::Ristretto255);
    assert!(!connects(Posing::new(other.client.clone(), server.parameters.clone()), server), "another authority");
}

/// Key-compromise impersonation: the private key of a client does not help to pose as a server to it.
#[test]
fn a_stolen_client_key_does_not_pose_as_the_server() {
    check(Combination::Without(1), |combination| {
        let (client, server) = keys();
        let stolen = Stolen::StaticKeyOfPeer(client.private);
        connects(Weak { key: client, combination }, Attacker { claims: server, stolen })
    });
}

/// Key-compromise impersonation: the private key of a server does not help to pose as a client to it.
#[test]
fn a_stolen_server_key_does_not_pose_as_a_client() {
    check(Combination::Without(2), |combination| {
        let (client, server) = keys();
        let stolen = Stolen::StaticKeyOfPeer(server.private);
        connects(Attacker { claims: client, stolen }, Weak { key: server, combination })
    });
}

#[test]
fn a_leaked_ephemeral_key_of_the_client_does_not_pose_as_the_server() {
    check(Combination::Without(0), |combination| {
        let (client, server) = keys();
        let stolen = Stolen::EphemeralKeyOfPeer(client.clone());
        connects(Weak { key: client, combination }, Attacker { claims: server, stolen })
    });
}

/// The ephemeral key of this very connection leaks before the attacker needs it, for example from a weak generator.
#[test]
fn a_leaked_ephemeral_key_of_the_server_does_not_pose_as_the_client() {
    check(Combination::Without(0), |combination| {
        let (client, server) = keys();
        let stolen = Stolen::EphemeralKeyOfPeer(server.clone());
        connects(Attacker { claims: client, stolen }, Weak { key: server, combination })
    });
}

/// The cancellation attack: an ephemeral key x'·B - pub makes the unknown private key vanish from a sum.
#[test]
fn a_chosen_ephemeral_key_does_not_cancel_a_static_one() {
    check(Combination::Summed, |combination| {
        let (client, server) = keys();
        connects(Attacker { claims: client, stolen: Stolen::Nothing }, Weak { key: server, combination })
    });
    check(Combination::Summed, |combination| {
        let (client, server) = keys();
        connects(Weak { key: client, combination }, Attacker { claims: server, stolen: Stolen::Nothing })
    });
}

/// Forward secrecy: whoever learns both private keys later computes every term but K3 from what was recorded.
#[test]
fn both_private_keys_do_not_give_the_third_term() {
    let (client, server) = keys();
    let mut rng = terse_testkit::rng::SeededRng::new(1);
    let (x, y) = (client.ephemeral(&mut rng).unwrap(), server.ephemeral(&mut rng).unwrap());
    let peer = IdentityPeer { identity: &server.identity, public_part: &server.public_part, ephemeral: y.public() };
    let terms = client.terms(IdentityRole::Client, &x, peer, None).unwrap();
    let recorded = [x.public(), y.public()].map(|public| point(public).unwrap());
    let known = [
        term(client.private * RistrettoPoint::mul_base(&server.private)),
        term(server.private * recorded[0]),
        term(client.private * recorded[1]),
    ];
    let equal = |known: &SharedSecret, term: &SharedSecret| known.as_ref() == term.as_ref();
    assert!(equal(&known[0], &terms.k0) && equal(&known[1], &terms.k1) && equal(&known[2], &terms.k2));
    assert!(!known.iter().any(|known| equal(known, &terms.k3)));
}

/// Reflection: what a client sends does not make it talk to itself.
#[test]
fn a_client_does_not_talk_to_itself() {
    let (client, _) = keys();
    let mut of_client = ClientConfig::builder(PROVIDER);
    of_client.identity(ClientIdentity::new(Arc::new(client.clone())).server(identity::client()));
    let mut rng = terse_testkit::rng::SeededRng::new(1);
    let address = terse_testkit::pki::server_address();
    let config = Arc::new(of_client.build().unwrap());
    let result = Connection::client(config, address, terse_testkit::pair::at(0), &mut rng);
    assert_eq!(result.err(), Some(terse_tls::IdentityRefused::OwnIdentity.into()));
    // Its ephemeral key and public part come back in a ServerHello under the name of the server.
    let reflecting = Reflecting { claims: keys().1, victim: client.clone() };
    assert!(!connects(client, reflecting));
}

/// A server without a key that sends the client's own ephemeral key back.
struct Reflecting {
    claims: Key,
    victim: Key,
}

impl IdentityKey for Reflecting {
    fn parameters(&self) -> &IdentityParameters {
        &self.claims.parameters
    }

    fn identity(&self) -> &Identity {
        &self.claims.identity
    }

    fn public_part(&self) -> &[u8] {
        &self.victim.public_part
    }

    fn ephemeral(&self, _: &mut dyn Rng) -> Result<EphemeralKey, CryptoError> {
        let leaked = *self.victim.leaked.lock().expect("no panic");
        Ok(independent::ephemeral(Scalar::ONE, RistrettoPoint::mul_base(&leaked)))
    }

    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError> {
        self.claims.ephemeral_from(secret)
    }

    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError> {
        self.claims.static_terms(role, ephemeral, peer)
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        known: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError> {
        self.claims.terms(role, ephemeral, peer, known)
    }
}

/// A key that says it was made by another authority.
pub(crate) struct Posing {
    key: Arc<dyn IdentityKey>,
    parameters: IdentityParameters,
}

impl Posing {
    pub(crate) fn new(key: Arc<dyn IdentityKey>, parameters: IdentityParameters) -> Self {
        Self { key, parameters }
    }
}

impl IdentityKey for Posing {
    fn parameters(&self) -> &IdentityParameters {
        &self.parameters
    }

    fn identity(&self) -> &Identity {
        self.key.identity()
    }

    fn public_part(&self) -> &[u8] {
        self.key.public_part()
    }

    fn ephemeral(&self, rng: &mut dyn Rng) -> Result<EphemeralKey, CryptoError> {
        self.key.ephemeral(rng)
    }

    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError> {
        self.key.ephemeral_from(secret)
    }

    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError> {
        self.key.static_terms(role, ephemeral, peer)
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        known: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError> {
        self.key.terms(role, ephemeral, peer, known)
    }
}

/// Unknown key share: an attacker puts its own name, for which it has a key, into the client's hello. The server then talks
/// to it, and the client does not.
#[test]
fn another_name_in_the_hello_gives_other_keys() {
    let generator = Generator::new(123_456_789);
    let (client, server) = (generator.issue(&identity::client(), 1_001), generator.issue(&identity::server(), 2_002));
    let attacker = Identity::eui64([2, 0, 0, 0, 0, 0, 0, 0x66]);
    let (mut of_client, mut of_server) = (ClientConfig::builder(PROVIDER), ServerConfig::builder(PROVIDER));
    of_client.identity(ClientIdentity::new(Arc::new(client)));
    of_server.identity(ServerIdentity::new([Arc::new(server) as Arc<dyn IdentityKey>]));
    let encoded = attacker.encoded().to_vec();
    let replace = terse_testkit::fault::first(terse_tls::HandshakeType::CLIENT_HELLO, move |message| {
        terse_testkit::fault::edit_extensions(message, |extensions| {
            let share = extensions.iter_mut().find(|(kind, _)| *kind == terse_tls::ExtensionType::IDENTITY_SHARE);
            share.expect("the share").1[10..10 + encoded.len()].copy_from_slice(&encoded);
        });
    });
    of_client.fault(Some(replace));
    let (client, server) = (Arc::new(of_client.build().unwrap()), Arc::new(of_server.build().unwrap()));
    let mut pair = Pair::new(&client, &server, 1);
    pair.run().expect_err("the keys differ");
    assert!(!pair.client.is_connected() && !pair.server.is_connected());
}
