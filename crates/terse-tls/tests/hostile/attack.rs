//! One attack: a handshake in which one side misbehaves, and what must hold for the other one whatever was done.
//!
//! A victim that failed said why with exactly one alert, and takes and gives nothing more. A victim that is connected
//! is connected to the right peer. Nobody hangs: a victim that waits is told at the end of the stream.

use alloc::sync::Arc;
use std::sync::{LazyLock, Mutex};

use terse_testkit::fault::{Alerts, fault, nth};
use terse_testkit::forge::plaintext;
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::pki::{CLIENT_NAME, Pki, SERVER_NAME};
use terse_testkit::setup::Setup;
use terse_tls::cache::Schemes;
use terse_tls::summary::{AuthenticatedBy, Mode};
use terse_tls::{
    AlertDescription, ApiMisuse, CipherSuite, ContentType, Error, Event, Fault, HandshakeType, MaxFragmentLength,
    ProtocolVersion, SignatureScheme,
};

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
}

/// What became of the victim.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Whether the victim was told that it is connected. It may have failed later.
    pub(crate) connected: bool,
    /// Why it failed, if it did.
    pub(crate) error: Option<Error>,
    /// The alert that it sent.
    pub(crate) alert: Option<AlertDescription>,
    /// Why the attacker failed, if it did.
    pub(crate) attacker: Option<Error>,
}

impl Verdict {
    /// The victim found the attack out by itself, before it was connected.
    pub(crate) fn refused(&self) -> Option<&Error> {
        self.error.as_ref().filter(|error| !self.connected && !matches!(error, Error::AlertReceived(_)))
    }
}

pub(crate) const TLS12: ProtocolVersion = ProtocolVersion::TLS_1_2;
pub(crate) const TLS13: ProtocolVersion = ProtocolVersion::TLS_1_3;
pub(crate) const VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];

/// Ed25519 with AWS-LC: fast, and every message has the same length in every run.
pub(crate) static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let provider = &terse_aws_lc::PROVIDER;
    let mutual = |version| Setup::mutual(provider, provider, CHAIN).only(version);
    let of_version = |version| {
        let mut cached = mutual(version);
        cached.server.certificate_authorities = true;
        [
            Scenario::new(SERVER, version, Setup::new(provider, provider, CHAIN).only(version)),
            Scenario::new(MUTUAL, version, mutual(version)),
            Scenario::new(CACHED, version, cached.with_frozen_cache(Schemes::BITHAC)),
            Scenario::new(RESUMED, version, mutual(version).with_frozen_session()),
        ]
    };
    let retry = Scenario::new("HelloRetryRequest", TLS13, mutual(TLS13).with_hello_retry(true));
    VERSIONS.into_iter().flat_map(of_version).chain([retry]).collect()
});

const SERVER: &str = "server authentication";
const MUTUAL: &str = "mutual authentication";
const CACHED: &str = "cached";
const RESUMED: &str = "resumed";

/// Of [`SCENARIOS`].
pub(crate) const CHAIN: &str = "ed25519x3";

fn scenario(version: ProtocolVersion, name: &str) -> &'static Scenario {
    let mut all = SCENARIOS.iter();
    all.find(|scenario| (scenario.version, scenario.name) == (version, name)).expect("one for each version")
}

/// The scenario with full mutual authentication.
pub(crate) fn mutual(version: ProtocolVersion) -> &'static Scenario {
    scenario(version, MUTUAL)
}

/// The scenario in which all is left out that can be.
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

    fn new(name: &'static str, version: ProtocolVersion, setup: Setup) -> Self {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let mut recorded = setup.clone();
        for by in Side::BOTH {
            let sent = sent.clone();
            recorded.common(by).fault = Some(fault(move |number, kind, message| {
                sent.lock().unwrap().push(Sent { by, number, kind, bytes: message.clone() });
            }));
        }
        let mut pair = recorded.pair(SEED);
        pair.handshake().unwrap();
        let mode = match name {
            CACHED => Mode::Bithac,
            RESUMED => Mode::Resumed,
            _ => Mode::Full,
        };
        assert_eq!(pair.client.summary().mode, mode);
        drop((recorded, pair));
        let mut messages = sent.lock().unwrap().clone();
        messages.retain(|sent| sent.kind != HandshakeType::NEW_SESSION_TICKET); // comes after the handshake
        Self { name, version, setup, messages }
    }

    /// Runs the handshake while `alter` has its way with the attacker's message number `number`.
    pub(crate) fn alter<F>(&self, attacker: Side, number: usize, alter: F) -> Verdict
    where
        F: Fn(&mut Vec<u8>) + Send + 'static,
    {
        self.attack(
            attacker,
            fault(move |sent, _, message| {
                if sent == number {
                    alter(message);
                }
            }),
        )
    }

    /// Runs the handshake while `fault` alters what `attacker` sends.
    pub(crate) fn attack(&self, attacker: Side, fault: Arc<dyn Fault>) -> Verdict {
        let mut setup = self.setup.clone();
        setup.common(attacker).fault = Some(fault);
        run(&setup, attacker.other(), |pair| {
            let _ = pair.run();
        })
    }
}

/// Of all attacked handshakes.
pub(crate) const SEED: u64 = 7;

/// Has `drive` run a connection of `setup`, and looks at the victim afterwards.
pub(crate) fn run(setup: &Setup, victim: Side, drive: impl FnOnce(&mut Pair)) -> Verdict {
    let mut setup = setup.clone();
    let alerts = Arc::<Alerts>::default();
    setup.common(victim).trace = Some(alerts.clone());
    let mut pair = setup.pair(SEED);
    drive(&mut pair);
    pair.transmit(victim);

    let error = pair.failure(victim).cloned();
    let attacker = pair.failure(victim.other()).cloned();
    let connected = core::iter::from_fn(|| pair.side(victim).0.poll_event()).any(|event| event == Event::Connected);
    let alert = error.as_ref().and_then(|error| alert(pair.side(victim).0.summary().version, error));
    assert_eq!(alerts.sent(), Vec::from_iter(alert), "{error:?}");
    match &error {
        Some(error) => check_failed(&mut pair, victim, error),
        None if connected => check_both_ways(&mut pair, victim),
        None => {
            assert_eq!(pair.side(victim).0.handle_end_of_input(at(0)), Err(Error::Truncated));
            assert!(!pair.side(victim).0.is_handshaking() && !pair.side(victim).0.is_connected());
        }
    }
    if connected {
        check_identity(&mut pair, victim);
    }
    Verdict { connected, error, alert, attacker }
}

/// The alert for `error`: TLS 1.2 has one less (RFC 5246, 7.4.6).
fn alert(version: Option<ProtocolVersion>, error: &Error) -> Option<AlertDescription> {
    match error.alert()? {
        AlertDescription::CERTIFICATE_REQUIRED if version == Some(TLS12) => Some(AlertDescription::HANDSHAKE_FAILURE),
        alert => Some(alert),
    }
}

/// After an error nothing more is taken, nothing more is given.
fn check_failed(pair: &mut Pair, victim: Side, error: &Error) {
    assert!(!matches!(error, Error::ApiMisuse(_)), "the peer is to blame, not the caller: {error:?}");
    let (connection, rng) = pair.side(victim);
    assert!(!connection.is_connected() && !connection.is_handshaking());
    assert_eq!(connection.poll_transmit(at(0), &mut [0; 64]), None);
    assert_eq!(connection.recv(&mut [0; 64]), 0, "data of a failed connection");
    let mut more = [22, 3, 3, 0, 4, 20, 0, 0, 0];
    assert_eq!(connection.handle_input(at(1), rng, &mut more), Err(error.clone()));
    assert_eq!(connection.send(b"more"), Err(ApiMisuse::Closed.into()));
    assert!(connection.export_keying_material(b"label", None, &mut [0; 16]).is_err());
    connection.close();
    assert_eq!(connection.poll_transmit(at(1), &mut [0; 64]), None);
}

/// If both sides are connected, they agree.
fn check_both_ways(pair: &mut Pair, victim: Side) {
    if !pair.side(victim.other()).0.is_connected() {
        return; // the attacker is confused by its own doing, or by an answer to it
    }
    let exported = Side::BOTH.map(|side| {
        let mut secret = [0; 32];
        pair.side(side).0.export_keying_material(b"EXPORTER-test", None, &mut secret).unwrap();
        secret
    });
    assert_eq!(exported[0], exported[1]);
    for side in Side::BOTH {
        assert_eq!(pair.carry(side, b"data").unwrap(), b"data");
    }
}

fn check_identity(pair: &mut Pair, victim: Side) {
    let peer = &pair.side(victim).0.summary().peer;
    let identity = peer.identity.as_ref().map(ToString::to_string);
    match victim {
        Side::Client => assert_eq!(identity.as_deref(), Some(SERVER_NAME)),
        Side::Server if peer.authenticated_by == AuthenticatedBy::None => assert_eq!(identity, None),
        Side::Server => assert_eq!(identity.as_deref(), Some(CLIENT_NAME)),
    }
}

/// What is done to a message.
pub(crate) type Alter = Arc<dyn Fn(&mut Vec<u8>) + Send + Sync>;

/// An attack with a name, and what the victim must answer.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) kind: HandshakeType,
    /// Which of the messages of that type, from 0.
    pub(crate) nth: usize,
    pub(crate) alter: Alter,
    pub(crate) error: Error,
    pub(crate) alert: AlertDescription,
}

/// A case of the first message of its type.
pub(crate) fn case(
    name: &'static str,
    kind: HandshakeType,
    alter: fn(&mut Vec<u8>),
    error: impl Into<Error>,
    alert: AlertDescription,
) -> Case {
    case_with(name, kind, alter, error, alert)
}

/// The same, with what a closure captures.
pub(crate) fn case_with<F>(
    name: &'static str,
    kind: HandshakeType,
    alter: F,
    error: impl Into<Error>,
    alert: AlertDescription,
) -> Case
where
    F: Fn(&mut Vec<u8>) + Send + Sync + 'static,
{
    Case { name, kind, nth: 0, alter: Arc::new(alter), error: error.into(), alert }
}

/// Runs `cases` by `attacker`; the victim, with either provider, must refuse each, before it is connected, with just that error and alert, and
/// the attacker must be able to read the alert unless the keys are not agreed.
pub(crate) fn check(setup: &Setup, attacker: Side, cases: impl IntoIterator<Item = Case>) {
    let providers = [&terse_aws_lc::PROVIDER, &terse_rustcrypto::PROVIDER];
    for (case, provider) in cases.into_iter().flat_map(|case| providers.map(|provider| (case.clone(), provider))) {
        let mut setup = setup.clone();
        setup.common(attacker.other()).provider = *provider;
        setup.common(attacker).fault = {
            let alter = case.alter.clone();
            Some(nth(case.kind, case.nth, move |message| alter(message)))
        };
        let mut answer = Vec::new();
        let verdict = run(&setup, attacker.other(), |pair| {
            let _ = pair.run();
            answer.clone_from(&pair.from_server);
        });
        assert_eq!(verdict.refused(), Some(&case.error), "{}: {verdict:?}", case.name);
        assert_eq!(verdict.alert, Some(case.alert), "{}", case.name);
        if (case.kind, case.nth) == (HandshakeType::CLIENT_HELLO, 0) {
            // All of it was read before anything was decided.
            assert_eq!(answer, plaintext(ContentType::ALERT, &[2, case.alert.0]), "{}", case.name);
        }
        assert_eq!(verdict.attacker, Some(Error::AlertReceived(case.alert)), "{}", case.name);
    }
}

/// What the cases start from: every extension is in use, and each side has something that it does not offer.
pub(crate) fn rich(version: ProtocolVersion) -> Setup {
    let provider = &terse_aws_lc::PROVIDER;
    let mut setup = Setup::mutual(provider, provider, CHAIN).only(version);
    for side in Side::BOTH {
        let common = setup.common(side);
        common.suites.retain(|suite| *suite != CipherSuite::TLS_AES_128_CCM_8_SHA256);
        common.suites.retain(|suite| *suite != CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8);
        common.signature_schemes.retain(|scheme| *scheme != SignatureScheme::RSA_PSS_RSAE_SHA512);
        common.alpn_protocols = vec![b"mqtt".to_vec(), b"coap".to_vec()];
        common.record_size_limit = Some(0x1000);
    }
    setup.client.max_fragment_length = Some(MaxFragmentLength::Bytes4096);
    setup
}

/// The server's and the client's names, in certificates of a CA that nobody trusts.
pub(crate) fn other_pki() -> &'static Pki {
    static OTHER: LazyLock<Pki> = LazyLock::new(|| Pki::named(CHAIN, "Other CA"));
    &OTHER
}
