//! One attack: a handshake in which one side misbehaves, and what must hold for the other one whatever was done.
//!
//! A victim that failed said why with exactly one alert, and takes and gives nothing more. A victim that is connected
//! is connected to the right peer, and agrees with it if that thinks so too. Nobody hangs: a victim that waits is told at
//! the end of the stream. A victim that was never connected has kept nothing.

use alloc::sync::Arc;
use std::sync::LazyLock;

use terse_testkit::fault::{Alerts, fault, nth};
use terse_testkit::forge::plaintext;
use terse_testkit::identity;
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::pki::{CLIENT_NAME, Pki, SERVER_NAME};
use terse_testkit::setup::{PSK_IDENTITY, Setup};
use terse_tls::summary::AuthenticatedBy;
use terse_tls::{
    AlertDescription, ApiMisuse, CipherSuite, ContentType, Error, Event, Fault, HandshakeType, MaxFragmentLength,
    PeerMisbehaved, ProtocolVersion, SignatureScheme,
};

use super::modes::{CHAIN, Scenario, TLS12};

/// What became of the victim.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Whether the victim was told that it is connected. It may have failed later.
    pub(crate) connected: bool,
    /// Why the victim failed, if it did.
    pub(crate) error: Option<Error>,
    /// The alert that the victim sent.
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

impl Scenario {
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
        setup.common(attacker).set_fault(Some(fault));
        run(&setup, attacker.other(), |pair| {
            let _ = pair.run();
        })
    }
}

/// The seed of all attacked handshakes.
pub(crate) const SEED: u64 = 7;

/// Has `drive` run a connection of `setup`, and looks at the victim afterwards.
pub(crate) fn run(setup: &Setup, victim: Side, drive: impl FnOnce(&mut Pair)) -> Verdict {
    let mut setup = setup.clone();
    let alerts = Arc::<Alerts>::default();
    setup.common(victim).set_trace(alerts.clone());
    let mut pair = setup.pair(SEED);
    drive(&mut pair);
    pair.transmit(victim);

    let error = pair.failure(victim).cloned();
    let attacker = pair.failure(victim.other()).cloned();
    let connected = core::iter::from_fn(|| pair.side(victim).0.poll_event()).any(|event| event == Event::Connected);
    let alert = error.as_ref().and_then(|error| alert(pair.side(victim).0.summary().version, error));
    // A close_notify in mid-handshake has its answer.
    let is_answer = alerts.sent() == [AlertDescription::CLOSE_NOTIFY]
        && error == Some(Error::AlertReceived(AlertDescription::CLOSE_NOTIFY));
    let alert = if is_answer { Some(AlertDescription::CLOSE_NOTIFY) } else { alert };
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
    } else {
        check_kept_nothing(&setup, &mut pair, victim, error.as_ref());
    }
    Verdict { connected, error, alert, attacker }
}

/// Returns the alert for `error`: TLS 1.2 has one less (RFC 5246, 7.4.6).
fn alert(version: Option<ProtocolVersion>, error: &Error) -> Option<AlertDescription> {
    match error.alert()? {
        AlertDescription::CERTIFICATE_REQUIRED if version == Some(TLS12) => Some(AlertDescription::HANDSHAKE_FAILURE),
        alert => Some(alert),
    }
}

/// Checks that the victim takes nothing more and sends nothing more after an error.
fn check_failed(pair: &mut Pair, victim: Side, error: &Error) {
    assert!(!matches!(error, Error::ApiMisuse(_)), "the peer is to blame, not the caller: {error:?}");
    let (connection, rng) = pair.side(victim);
    assert!(!connection.is_connected() && !connection.is_handshaking());
    assert_eq!(connection.poll_transmit(at(0), &mut [0; 64]), None);
    assert_eq!(connection.recv(&mut [0; 64]), 0, "data of a failed connection");
    let mut more = [22, 3, 3, 0, 4, 20, 0, 0, 0];
    assert_eq!(connection.handle_input(at(1), rng, &mut more), Err(*error));
    assert_eq!(connection.send(b"more"), Err(ApiMisuse::Closed.into()));
    assert!(connection.export_keying_material(b"label", None, &mut [0; 16]).is_err());
    connection.close();
    assert_eq!(connection.poll_transmit(at(1), &mut [0; 64]), None);
}

/// Checks that both sides agree, if both are connected.
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
    let agreed = Side::BOTH.map(|side| {
        let summary = pair.side(side).0.summary();
        (summary.version, summary.cipher_suite, summary.group, summary.mode, summary.early_data)
    });
    assert_eq!(agreed[0], agreed[1]);
    for side in Side::BOTH {
        assert_eq!(pair.carry(side, b"data").unwrap(), b"data");
    }
}

fn check_identity(pair: &mut Pair, victim: Side) {
    let peer = &pair.side(victim).0.summary().peer;
    let name = peer.identity.as_ref().map(ToString::to_string);
    let right = match victim {
        Side::Client => (SERVER_NAME, &Pki::shared(CHAIN).server),
        Side::Server => (CLIENT_NAME, &Pki::shared(CHAIN).client),
    };
    let key = peer.identity.as_ref().and_then(|identity| identity.raw_public_key_der());
    match (peer.authenticated_by, key) {
        (AuthenticatedBy::None, _) => assert_eq!((victim, name), (Side::Server, None)),
        (AuthenticatedBy::Psk, _) => assert_eq!((name, peer.psk_identity.as_deref()), (None, Some(PSK_IDENTITY))),
        (AuthenticatedBy::Identity, _) => {
            let right = match victim {
                Side::Client => identity::server(),
                Side::Server => identity::client(),
            };
            assert_eq!((name, peer.identity_based.as_ref().map(|peer| &peer.identity)), (None, Some(&right)));
        }
        // A certificate holds its key, byte for byte.
        (_, Some(key)) => assert!(right.1.chain()[0].windows(key.len()).any(|window| window == key)),
        _ => assert_eq!(name.as_deref(), Some(right.0)),
    }
}

/// Checks that the victim keeps nothing of a connection that failed before the peer's Finished, except that a client
/// notes the failure. Surplus messages after Finished make the connection fail as well, but the peer is proven then.
fn check_kept_nothing(setup: &Setup, pair: &mut Pair, victim: Side, error: Option<&Error>) {
    static NOTHING: LazyLock<[(usize, usize); 2]> = LazyLock::new(|| {
        let mut pair = Setup::new(&terse_aws_lc::PROVIDER, &terse_aws_lc::PROVIDER, CHAIN).keeping().pair(SEED);
        pair.client.give_up(at(0));
        let stores = pair.stores.as_ref().expect("they are kept");
        Side::BOTH.map(|side| stores.size(side))
    });
    let received = &pair.side(victim).0.summary().received.messages;
    let has_finished = received.iter().any(|(kind, _)| *kind == HandshakeType::FINISHED);
    let is_too_much = matches!(
        error,
        Some(Error::PeerMisbehaved(
            PeerMisbehaved::MessageCrossesKeyChange | PeerMisbehaved::UnexpectedHandshakeMessage(_)
        ))
    );
    if has_finished && is_too_much {
        return;
    }
    if let Some(stores) = &pair.stores {
        assert_eq!(stores.size(victim), NOTHING[victim as usize], "{victim:?} kept something");
    }
    if let Some((known, (.., before))) = pair.known_peers.as_ref().zip(setup.identities.as_ref()) {
        let (known, before) = (&known[victim as usize], &before[victim as usize]);
        assert_eq!(known.len(), before.len(), "{victim:?} keeps a peer that has proven nothing");
        // A client notes the doubt.
        assert!(victim == Side::Client || known.snapshot() == before.snapshot(), "the server keeps a public part");
    }
}

/// A change to a message.
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

/// Returns a case whose alteration is a closure that captures values.
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

/// Runs `cases` by `attacker`. The victim, with either provider, must refuse each before it is connected, with just that
/// error and alert. The attacker must be able to read the alert unless the keys are not agreed.
pub(crate) fn check(setup: &Setup, attacker: Side, cases: impl IntoIterator<Item = Case>) {
    let providers = [&terse_aws_lc::PROVIDER, &terse_rustcrypto::PROVIDER];
    for (case, provider) in cases.into_iter().flat_map(|case| providers.map(|provider| (case.clone(), provider))) {
        let mut setup = setup.clone();
        setup.common(attacker.other()).set_provider(*provider);
        setup.common(attacker).set_fault({
            let alter = case.alter.clone();
            Some(nth(case.kind, case.nth, move |message| alter(message)))
        });
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
        common.edit_suites(|list| list.retain(|suite| *suite != CipherSuite::TLS_AES_128_CCM_8_SHA256));
        common.edit_suites(|list| list.retain(|suite| *suite != CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8));
        common.edit_signature_schemes(|list| list.retain(|scheme| *scheme != SignatureScheme::RSA_PSS_RSAE_SHA512));
        common.set_alpn_protocols(vec![b"mqtt".to_vec(), b"coap".to_vec()]);
        common.set_record_size_limit(Some(0x1000));
    }
    setup.client.max_fragment_length(Some(MaxFragmentLength::Bytes4096));
    setup
}

/// The server's and the client's names, in certificates of a CA that nobody trusts.
pub(crate) fn other_pki() -> &'static Pki {
    static OTHER: LazyLock<Pki> = LazyLock::new(|| Pki::named(CHAIN, "Other CA"));
    &OTHER
}
