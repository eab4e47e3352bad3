//! The handshakes that are disturbed: one of each mode, with chains on elliptic curves and with RSA keys.

use std::sync::LazyLock;

use terse_testkit::datagrams::Datagram;
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::cache::Schemes;
use terse_tls::crypto::CryptoProvider;
use terse_tls::summary::Mode;
use terse_tls::{CipherSuite, Datagrams, ProtocolVersion};

use crate::outcome::{Facts, SEED, facts};

/// The faster one, where it does not matter.
pub(crate) const PROVIDER: &CryptoProvider = &terse_aws_lc::PROVIDER;

/// On elliptic curves, with signatures that have the same length in each run: so have all datagrams.
pub(crate) const CHAIN: &str = "ed25519x3";

/// What IPv4 and UDP leave of packets of 127 (IEEE 802.15.4), 256, 576 (RFC 791), 1,280 and 1,500 bytes (Ethernet).
pub(crate) const SIZES: [usize; 5] = [127 - 28, 256 - 28, 576 - 28, 1_280 - 28, 1_500 - 28];

/// A handshake in datagrams of one size, and how it is if nothing disturbs it.
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) setup: Setup,
    /// What both sides report.
    pub(crate) facts: [Facts; 2],
    pub(crate) datagrams: Vec<Datagram>,
    /// Who sends the last flight, which nobody answers.
    pub(crate) last: Side,
}

pub(crate) static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let elliptic = of_chain(CHAIN).into_iter().chain(without_certificates());
    let scenarios = |(name, mode, setup): (String, Mode, Setup)| {
        SIZES.map(|max_datagram| Scenario::new(&name, mode, setup.clone(), max_datagram))
    };
    elliptic.chain(of_rsa()).flat_map(scenarios).collect()
});

pub(crate) fn mutual(chain: &str) -> Setup {
    Setup::mutual(PROVIDER, PROVIDER, chain).over(ProtocolVersion::TLS_1_2, Datagrams::default())
}

fn of_chain(chain: &str) -> Vec<(String, Mode, Setup)> {
    let setup = || mutual(chain);
    let mut with_names = setup();
    with_names.server.certificate_authorities = true;
    [
        (
            "server only",
            Mode::Full,
            Setup::new(PROVIDER, PROVIDER, chain).over(ProtocolVersion::TLS_1_2, Datagrams::default()),
        ),
        ("mutual", Mode::Full, setup()),
        ("mutual, with a new ticket", Mode::Full, setup().with_resumption().keeping()),
        ("rfc7924", Mode::Rfc7924, setup().with_frozen_cache(Schemes::RFC7924)),
        ("bithac", Mode::Bithac, setup().with_frozen_cache(Schemes::BITHAC)),
        ("bithac, with the request", Mode::Bithac, with_names.with_frozen_cache(Schemes::BITHAC)),
    ]
    .map(|(name, mode, setup)| (format!("{name}, {chain}"), mode, setup))
    .into()
}

/// What is different with longer signatures and keys.
fn of_rsa() -> impl Iterator<Item = (String, Mode, Setup)> {
    let names = ["server only", "mutual, rsa", "rfc7924", "bithac, rsa"];
    of_chain("rsa2048x3").into_iter().filter(move |(name, ..)| names.iter().any(|wanted| name.starts_with(wanted)))
}

fn without_certificates() -> impl Iterator<Item = (String, Mode, Setup)> {
    let raw = Setup::raw_public_keys(PROVIDER, PROVIDER, CHAIN).over(ProtocolVersion::TLS_1_2, Datagrams::default());
    let with_psk = |suite| {
        let mut setup = mutual(CHAIN).with_psk();
        setup.client.common.suites = vec![suite];
        setup
    };
    [
        ("resumed by id", Mode::Resumed, mutual(CHAIN).with_frozen_stateful_session(b"")),
        ("resumed by ticket", Mode::Resumed, mutual(CHAIN).with_frozen_session()),
        ("psk", Mode::Psk, with_psk(CipherSuite::TLS_PSK_WITH_AES_128_CCM_8)),
        ("ecdhe_psk", Mode::Psk, with_psk(CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256)),
        ("raw public keys", Mode::Full, raw),
    ]
    .into_iter()
    .map(|(name, mode, setup)| (name.into(), mode, setup))
}

impl Scenario {
    fn new(name: &str, mode: Mode, setup: Setup, max_datagram: usize) -> Self {
        let setup = setup.over(ProtocolVersion::TLS_1_2, Datagrams { max_datagram, ..Datagrams::default() });
        let mut pair = setup.datagram_pair(SEED);
        pair.run_well().unwrap_or_else(|failed| panic!("{name}, {max_datagram}: {failed:?}"));
        assert_eq!(pair.client.summary().mode, mode, "{name}");
        assert_eq!(pair.client.summary().retransmissions + pair.server.summary().retransmissions, 0);
        for side in Side::BOTH {
            assert_eq!(pair.side(side).0.summary().dropped.total(), 0, "{name}");
        }
        assert!(pair.sent.iter().all(|datagram| datagram.bytes.len() <= max_datagram));
        let last = pair.sent.last().expect("there are some").from;
        assert_eq!(last == Side::Client, mode == Mode::Resumed, "{name}");
        let facts = Side::BOTH.map(|side| facts(&mut pair, side));
        Self { name: format!("{name}, {max_datagram}"), setup, facts, datagrams: pair.sent, last }
    }
}
