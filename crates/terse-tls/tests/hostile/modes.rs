//! Lists the handshakes that are attacked: one of each mode in each version, each recorded undisturbed.

use alloc::sync::Arc;
use std::sync::{LazyLock, Mutex};

use terse_testkit::fault::fault;
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::cache::Scheme;
use terse_tls::cache::Schemes;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::summary::{EarlyDataStatus, Mode};
use terse_tls::{CertificateType, CipherSuite, HandshakeType, ProtocolVersion};

use super::attack::SEED;

/// A handshake worth attacking.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// The only one that both sides speak, so that an attack leads nowhere else.
    pub(crate) version: ProtocolVersion,
    pub(crate) setup: Setup,
    /// All messages of an undisturbed handshake, in order.
    pub(crate) messages: Vec<Sent>,
}

/// A message, and who sent it as which of its own.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) by: Side,
    pub(crate) number: usize,
    pub(crate) kind: HandshakeType,
    pub(crate) bytes: Vec<u8>,
    /// A message like this, in type, sender and length, is in an earlier scenario of the version: a part of this one
    /// will do where every byte is tried.
    pub(crate) seen: bool,
}

impl Sent {
    /// Whether it is a HelloRetryRequest (RFC 9846, 4.2.3).
    pub(crate) fn is_retry(&self) -> bool {
        self.kind == HandshakeType::SERVER_HELLO && self.bytes[6..10] == [0xcf, 0x21, 0xad, 0x74]
    }
}

pub(crate) const TLS12: ProtocolVersion = ProtocolVersion::TLS_1_2;
pub(crate) const TLS13: ProtocolVersion = ProtocolVersion::TLS_1_3;
pub(crate) const VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];

/// Ed25519 with AWS-LC: fast, and every message has the same length in every run.
pub(crate) static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let mut all: Vec<_> = VERSIONS.into_iter().flat_map(of_version).chain(of_tls13()).chain(of_tls12()).collect();
    let mut seen = Vec::new();
    for scenario in &mut all {
        for sent in &mut scenario.messages {
            let like = (scenario.version, sent.by, sent.kind, sent.bytes.len());
            sent.seen = seen.contains(&like);
            seen.push(like);
        }
    }
    all
});

const SERVER: &str = "server authentication";
const MUTUAL: &str = "mutual authentication";
const RFC7924: &str = "cached by RFC 7924";
const CACHED: &str = "cached";
const RESUMED: &str = "resumed";
const KEEPING: &str = "first contact";
pub(crate) const IDENTITY_RETRIED: &str = "identity, retried";

const RISTRETTO255: IdentityAlgorithm = IdentityAlgorithm::Ristretto255;
const BLS12381: IdentityAlgorithm = IdentityAlgorithm::Bls12381;

/// The chain of [`SCENARIOS`].
pub(crate) const CHAIN: &str = "ed25519x3";

fn mutual_setup(version: ProtocolVersion) -> Setup {
    let provider = &terse_aws_lc::PROVIDER;
    Setup::mutual(provider, provider, CHAIN).only(version)
}

/// What there is in both versions.
fn of_version(version: ProtocolVersion) -> impl Iterator<Item = Scenario> {
    let provider = &terse_aws_lc::PROVIDER;
    let setup = || mutual_setup(version);
    let mut cached = setup();
    cached.server.certificate_authorities(true);
    let raw = Setup::raw_public_keys(provider, provider, CHAIN).only(version);
    [
        (SERVER, Mode::Full, Setup::new(provider, provider, CHAIN).only(version)),
        (MUTUAL, Mode::Full, setup()),
        (CACHED, Mode::Cached(Scheme::Bithac), cached.with_frozen_cache(Schemes::BITHAC)),
        (RFC7924, Mode::Cached(Scheme::Rfc7924), setup().with_frozen_cache(Schemes::RFC7924)),
        (RESUMED, Mode::Resumed, setup().with_frozen_session()),
        ("resumed from a store", Mode::Resumed, setup().with_frozen_stateful_session(b"")),
        ("raw public keys", Mode::Full, raw),
        (KEEPING, Mode::Full, setup().keeping()),
    ]
    .into_iter()
    .map(move |(name, mode, setup)| Scenario::new(name, version, mode, setup))
}

fn of_tls13() -> [Scenario; 10] {
    let setup = || mutual_setup(TLS13);
    let known = setup().with_identities(RISTRETTO255, false).with_known_peers();
    let falls_back = setup().with_identities(RISTRETTO255, true);
    let ticket = setup().with_identities(RISTRETTO255, false).with_frozen_secret_ticket(b"early");
    let met_first = setup().with_identities(RISTRETTO255, false).with_first_contact(b"early");
    let retried = setup().with_identities(RISTRETTO255, false).with_forgetful_server();
    [
        Scenario::new("HelloRetryRequest", TLS13, Mode::Full, setup().with_hello_retry(true)),
        Scenario::new("early data", TLS13, Mode::Resumed, setup().with_frozen_stateful_session(b"early")),
        Scenario::new("pre-shared key", TLS13, Mode::Psk, setup().with_psk()),
        Scenario::new("identity", TLS13, Mode::Identity, setup().with_identities(RISTRETTO255, false)),
        Scenario::new(IDENTITY_RETRIED, TLS13, Mode::Identity, retried),
        Scenario::new("identity, known peers", TLS13, Mode::Identity, known),
        Scenario::new("identity, early data", TLS13, Mode::Identity, ticket),
        Scenario::new("identity, early data at first contact", TLS13, Mode::Identity, met_first),
        Scenario::new("identity, with a fall-back", TLS13, Mode::Identity, falls_back),
        Scenario::new("identity, bls12381", TLS13, Mode::Identity, setup().with_identities(BLS12381, false)),
    ]
}

/// The suites for pre-shared keys, and a ticket within the handshake.
fn of_tls12() -> impl Iterator<Item = Scenario> {
    let ticket = mutual_setup(TLS12).with_resumption().keeping();
    let ticket = Scenario::new("first contact, with a ticket", TLS12, Mode::Full, ticket);
    let with_psk = [
        ("pre-shared key", CipherSuite::TLS_PSK_WITH_AES_128_CCM_8),
        ("pre-shared key, ECDHE", CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256),
    ]
    .map(|(name, suite)| {
        let mut setup = mutual_setup(TLS12).with_psk();
        setup.client.suites(vec![suite]);
        Scenario::new(name, TLS12, Mode::Psk, setup)
    });
    with_psk.into_iter().chain([ticket])
}

fn scenario(version: ProtocolVersion, name: &str) -> &'static Scenario {
    let mut all = SCENARIOS.iter();
    all.find(|scenario| (scenario.version, scenario.name) == (version, name)).expect("one for each version")
}

/// Returns the scenario with full mutual authentication.
pub(crate) fn mutual(version: ProtocolVersion) -> &'static Scenario {
    scenario(version, MUTUAL)
}

/// Returns the scenario in which everything is left out that can be.
pub(crate) fn cached(version: ProtocolVersion) -> &'static Scenario {
    scenario(version, CACHED)
}

impl Scenario {
    pub(crate) fn is_cached(&self) -> bool {
        self.name == CACHED
    }

    /// Whether the client is asked for a certificate; otherwise a scenario is like that in which it is.
    pub(crate) fn is_mutual(&self) -> bool {
        self.name != SERVER
    }

    /// Whether most of its messages are in no earlier scenario.
    pub(crate) fn is_first_of_its_kind(&self) -> bool {
        [MUTUAL, CACHED, RESUMED].contains(&self.name) || !self.setup.early_data.is_empty()
    }

    /// Without certificates and signatures.
    pub(crate) fn is_tls12_psk(&self) -> bool {
        self.version == TLS12 && self.setup.client.config().has_psks()
    }

    /// Whether both sides prove who they are with identity keys.
    pub(crate) const fn has_identities(&self) -> bool {
        self.setup.identities.is_some()
    }

    /// Whether both sides prove themselves with keys that have no certificates.
    pub(crate) fn has_raw_public_keys(&self) -> bool {
        self.setup.client.config().trust().certificate_types() == [CertificateType::RAW_PUBLIC_KEY]
    }

    /// Whether `sent` is a ClientHello that a HelloRetryRequest answers.
    pub(crate) fn is_answered_by_retry(&self, sent: &Sent) -> bool {
        sent.by == Side::Client && sent.number == 0 && self.messages.iter().any(Sent::is_retry)
    }

    /// Whether `sent` is the ClientHello that answers a HelloRetryRequest.
    pub(crate) fn is_second_hello(&self, sent: &Sent) -> bool {
        sent.kind == HandshakeType::CLIENT_HELLO && sent.number == 1
    }

    fn new(name: &'static str, version: ProtocolVersion, mode: Mode, setup: Setup) -> Self {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let mut recorded = setup.clone();
        for by in Side::BOTH {
            let sent = sent.clone();
            recorded.common(by).set_fault(Some(fault(move |number, kind, message| {
                sent.lock().unwrap().push(Sent { by, number, kind, bytes: message.clone(), seen: false });
            })));
        }
        let mut pair = recorded.pair(SEED);
        pair.handshake().unwrap_or_else(|failed| panic!("{version}, {name}: {failed:?}"));
        assert_eq!(pair.client.summary().mode, mode, "{version}, {name}");
        assert_eq!(pair.early_data, setup.early_data);
        assert_eq!(pair.client.summary().early_data == EarlyDataStatus::Accepted, !setup.early_data.is_empty());
        drop((recorded, pair));
        let mut messages = sent.lock().unwrap().clone();
        // In TLS 1.3 the ticket comes after the handshake.
        messages.retain(|sent| version == TLS12 || sent.kind != HandshakeType::NEW_SESSION_TICKET);
        Self { name, version, setup, messages }
    }
}
