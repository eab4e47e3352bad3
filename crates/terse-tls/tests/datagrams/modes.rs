//! The handshakes that are disturbed: one of each mode in both versions, with chains on elliptic curves and with RSA keys.

use std::sync::LazyLock;

use terse_testkit::datagrams::Datagram;
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::cache::Scheme;
use terse_tls::cache::Schemes;
use terse_tls::crypto::CryptoProvider;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::summary::Mode;
use terse_tls::{CipherSuite, Datagrams, NamedGroup, ProtocolVersion};

use super::outcome::{Facts, SEED, facts};

/// The faster one, where it does not matter.
pub(crate) const PROVIDER: &CryptoProvider = &terse_aws_lc::PROVIDER;

/// On elliptic curves, with signatures that have the same length in each run: so have all datagrams.
pub(crate) const CHAIN: &str = "ed25519x3";

/// What IPv4 and UDP leave of packets of 127 (IEEE 802.15.4), 256, 576 (RFC 791), 1,280 and 1,500 bytes (Ethernet).
pub(crate) const SIZES: [usize; 5] = [127 - 28, 256 - 28, 576 - 28, 1_280 - 28, 1_500 - 28];

pub(crate) const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];

/// A handshake in datagrams of one size, and how it is if nothing disturbs it.
pub(crate) struct Scenario {
    pub(crate) name: String,
    /// That is negotiated.
    pub(crate) version: ProtocolVersion,
    pub(crate) setup: Setup,
    /// What both sides report.
    pub(crate) facts: [Facts; 2],
    pub(crate) datagrams: Vec<Datagram>,
    /// Who may be connected in the end although its peer is not: whose last words nobody answers.
    pub(crate) last: Side,
}

pub(crate) static SCENARIOS: LazyLock<Vec<Scenario>> =
    LazyLock::new(|| BOTH_VERSIONS.into_iter().flat_map(scenarios).collect());

/// A name, what the handshake leaves out, and the configuration.
type Case = (String, Mode, Setup);

fn scenarios(version: ProtocolVersion) -> impl Iterator<Item = Scenario> {
    let of_version = match version {
        ProtocolVersion::TLS_1_3 => of_tls13(),
        _ => of_tls12(),
    };
    let cases = of_chain(version, CHAIN).into_iter().chain(without_certificates(version)).chain(of_version);
    cases.chain(of_rsa(version)).flat_map(move |(name, mode, setup)| {
        SIZES.map(|max_datagram| Scenario::new(&name, version, mode, setup.clone(), max_datagram))
    })
}

pub(crate) fn mutual(chain: &str) -> Setup {
    Setup::mutual(PROVIDER, PROVIDER, chain).over(ProtocolVersion::TLS_1_2, Datagrams::default())
}

fn of_chain(version: ProtocolVersion, chain: &str) -> Vec<Case> {
    let server_only = || Setup::new(PROVIDER, PROVIDER, chain).over(version, Datagrams::default());
    let setup = || mutual(chain).only(version);
    let mut with_names = setup();
    with_names.server.certificate_authorities(true);
    let mut offered_both = server_only();
    offered_both.client.versions(BOTH_VERSIONS);
    [
        ("server only", Mode::Full, server_only()),
        ("mutual", Mode::Full, setup()),
        ("mutual, with a new ticket", Mode::Full, setup().with_resumption().keeping()),
        ("rfc7924", Mode::Cached(Scheme::Rfc7924), setup().with_frozen_cache(Schemes::RFC7924)),
        ("bithac", Mode::Cached(Scheme::Bithac), setup().with_frozen_cache(Schemes::BITHAC)),
        ("bithac, with the request", Mode::Cached(Scheme::Bithac), with_names.with_frozen_cache(Schemes::BITHAC)),
        ("compact", Mode::Cached(Scheme::Compact), setup().with_frozen_cache(Schemes::COMPACT)),
        ("both versions offered", Mode::Full, offered_both),
    ]
    .map(|(name, mode, setup)| (format!("{name}, {chain}"), mode, setup))
    .into()
}

/// What is different with longer signatures and keys.
fn of_rsa(version: ProtocolVersion) -> impl Iterator<Item = Case> {
    let names = ["server only", "mutual, rsa", "rfc7924", "bithac, rsa", "compact"];
    let all = of_chain(version, "rsa2048x3").into_iter();
    all.filter(move |(name, ..)| names.iter().any(|wanted| name.starts_with(wanted)))
}

fn without_certificates(version: ProtocolVersion) -> [Case; 3] {
    let raw = Setup::raw_public_keys(PROVIDER, PROVIDER, CHAIN).over(version, Datagrams::default());
    let setup = || mutual(CHAIN).only(version);
    [
        ("resumed by id".into(), Mode::Resumed, setup().with_frozen_stateful_session(b"")),
        ("resumed by ticket".into(), Mode::Resumed, setup().with_frozen_session()),
        ("raw public keys".into(), Mode::Full, raw),
    ]
}

fn of_tls12() -> Vec<Case> {
    let with_psk = |suite| {
        let mut setup = mutual(CHAIN).with_psk();
        setup.client.suites(vec![suite]);
        setup
    };
    vec![
        ("psk".into(), Mode::Psk, with_psk(CipherSuite::TLS_PSK_WITH_AES_128_CCM_8)),
        ("ecdhe_psk".into(), Mode::Psk, with_psk(CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256)),
    ]
}

fn of_tls13() -> Vec<Case> {
    let setup = || mutual(CHAIN).only(ProtocolVersion::TLS_1_3);
    let identified = |algorithm| setup().with_identities(algorithm, false);
    const RISTRETTO255: IdentityAlgorithm = IdentityAlgorithm::Ristretto255;
    let early = || setup().with_frozen_stateful_session(EARLY_DATA);
    let mut refused = early();
    refused.server.early_data(None);
    let hybrid = |mut setup: Setup| {
        for side in Side::BOTH {
            setup.common(side).set_groups(vec![NamedGroup::X25519MLKEM768]);
        }
        setup
    };
    let mut hybrid_identity = hybrid(identified(RISTRETTO255));
    let (client, ..) = hybrid_identity.identities.as_mut().expect("identities");
    *client = client.clone().hybrid(true);
    let ticket = || identified(RISTRETTO255).with_frozen_secret_ticket(EARLY_DATA);
    let mut refused_ticket = ticket();
    refused_ticket.server.early_data(None);
    vec![
        ("psk".into(), Mode::Psk, setup().with_psk()),
        ("identity, early data".into(), Mode::Identity, ticket()),
        ("identity, early data, refused".into(), Mode::Identity, refused_ticket),
        (
            "identity, early data at first contact".into(),
            Mode::Identity,
            identified(RISTRETTO255).with_first_contact(EARLY_DATA),
        ),
        ("identity".into(), Mode::Identity, identified(RISTRETTO255)),
        ("identity, known".into(), Mode::Identity, identified(RISTRETTO255).with_known_peers()),
        ("identity, forgotten".into(), Mode::Identity, identified(RISTRETTO255).with_forgetful_server()),
        ("identity, bls12381".into(), Mode::Identity, identified(IdentityAlgorithm::Bls12381)),
        ("identity, with a fall-back".into(), Mode::Identity, setup().with_identities(RISTRETTO255, true)),
        ("identity, hybrid".into(), Mode::Identity, hybrid_identity),
        ("hello retry".into(), Mode::Full, setup().with_hello_retry(true)),
        ("hello retry, psk".into(), Mode::Psk, setup().with_psk().with_hello_retry(true)),
        ("hybrid".into(), Mode::Full, hybrid(setup())),
        ("early data".into(), Mode::Resumed, early()),
        ("early data, refused".into(), Mode::Full, refused),
        ("early data, refused with a retry".into(), Mode::Resumed, early().with_hello_retry(true)),
    ]
}

/// What clients send early, where they do.
pub(crate) const EARLY_DATA: &[u8] = b"22.5 degrees";

impl Scenario {
    fn new(name: &str, version: ProtocolVersion, mode: Mode, setup: Setup, max_datagram: usize) -> Self {
        let name = format!("D{version}, {name}, {max_datagram}");
        let setup = setup.in_datagrams(Datagrams::default().max_datagram(max_datagram));
        let mut pair = setup.datagram_pair(SEED);
        pair.run_well().unwrap_or_else(|failed| panic!("{name}: {failed:?}"));
        let refuses = name.contains("refused");
        for side in Side::BOTH {
            let summary = pair.side(side).0.summary();
            assert_eq!((summary.version, summary.mode), (Some(version), mode), "{name}");
            assert_eq!(summary.retransmissions, 0, "{name}, {side:?}");
            assert!(refuses || summary.dropped.total() == 0, "{name}, {side:?}: {:?}", summary.dropped);
        }
        let early_data = if setup.early_data.is_empty() || refuses { vec![] } else { vec![setup.early_data.clone()] };
        assert_eq!(pair.early_data, early_data, "{name}");
        assert!(!name.contains("forgotten") || pair.client.summary().round_trips == 2, "{name}: no HelloRetryRequest");
        assert!(pair.sent.iter().all(|datagram| datagram.bytes.len() <= max_datagram));
        // In DTLS 1.3 that is the acknowledgement of the client's Finished.
        let is_tls13 = version == ProtocolVersion::TLS_1_3;
        let last = if is_tls13 || mode != Mode::Resumed { Side::Server } else { Side::Client };
        assert!(is_tls13 || pair.sent.last().is_some_and(|datagram| datagram.from == last), "{name}");
        let facts = Side::BOTH.map(|side| facts(&mut pair, side));
        Self { name, version, setup, facts, datagrams: pair.sent, last }
    }
}
