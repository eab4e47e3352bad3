//! Every message of every kind of handshake, altered in every simple way by the side that sends it, before it is hashed
//! and encrypted: so both sides agree on the keys and the transcript, and nothing but the check in question can find it.

use terse_testkit::fault::{fault, fix_length};
use terse_testkit::pair::Side;
use terse_tls::crypto::CryptoError;
use terse_tls::{AlertDescription, Error, HandshakeType, InvalidMessage, PeerIncompatible, PeerMisbehaved};

use super::attack::Verdict;
use super::by_client::signature_at;
use super::modes::{IDENTITY_RETRIED, SCENARIOS, Scenario, Sent, TLS12};

const SERVER_KEY_EXCHANGE: HandshakeType = HandshakeType::SERVER_KEY_EXCHANGE;

/// Runs `attacks` for every message of every scenario.
fn for_each_message(attacks: impl FnMut(&Scenario, &Sent)) {
    let mut attacks = attacks;
    for scenario in SCENARIOS.iter() {
        scenario.messages.iter().for_each(|sent| attacks(scenario, sent));
    }
}

/// Certificates are long, and signed in every byte: a part of them will do; so it will where a message like this was
/// altered in another scenario.
fn step(sent: &Sent) -> usize {
    match (sent.bytes.len(), sent.seen) {
        (601.., true) => 61,
        (601.., false) => 3,
        (..=600, true) => 7,
        (..=600, false) => 1,
    }
}

fn context(scenario: &Scenario, sent: &Sent) -> String {
    format!("{}, {}: {:?}'s {} (number {})", scenario.version, scenario.name, sent.by, sent.kind, sent.number)
}

/// A message cut short does not parse. Hellos may end before their extensions, but ours must have some.
#[test]
fn truncated() {
    for_each_message(|scenario, sent| {
        for len in (4..sent.bytes.len()).step_by(step(sent)) {
            let verdict = scenario.alter(sent.by, sent.number, move |message| {
                message.truncate(len);
                fix_length(message);
            });
            let error = verdict.refused().unwrap_or_else(|| panic!("{}, {len}: {verdict:?}", context(scenario, sent)));
            match error {
                Error::InvalidMessage(_) => assert_eq!(verdict.alert, Some(AlertDescription::DECODE_ERROR)),
                Error::PeerIncompatible(
                    PeerIncompatible::NoCommonVersion
                    | PeerIncompatible::NoExtendedMasterSecret
                    | PeerIncompatible::NoSecureRenegotiation,
                ) => {
                    assert_eq!(Some(len), extensions_at(sent), "{}", context(scenario, sent));
                }
                error => panic!("{}, {len}: {error:?}", context(scenario, sent)),
            }
        }
    });
}

/// The header promises more than there is: the victim waits for it, or takes what follows for it.
#[test]
fn truncated_without_a_word() {
    for_each_message(|scenario, sent| {
        for len in (1..sent.bytes.len()).step_by(2 * step(sent) - 1) {
            let verdict = scenario.alter(sent.by, sent.number, move |message| message.truncate(len));
            check_not_fooled(scenario, sent, &verdict);
        }
    });
}

#[test]
fn extended() {
    for_each_message(|scenario, sent| {
        for byte in [0, 1, 0xff] {
            let verdict = scenario.alter(sent.by, sent.number, move |message| {
                message.push(byte);
                fix_length(message);
            });
            let error = verdict.refused();
            if sent.bytes.len() == 4 && sent.kind == HandshakeType::CERTIFICATE {
                // Under a ticket there is nothing, and nothing to parse.
                assert_eq!(error, Some(&PeerMisbehaved::IllegalCachedMessage.into()));
                assert_eq!(verdict.alert, Some(AlertDescription::ILLEGAL_PARAMETER));
                continue;
            }
            assert!(matches!(error, Some(Error::InvalidMessage(_))), "{}: {verdict:?}", context(scenario, sent));
            assert_eq!(verdict.alert, Some(AlertDescription::DECODE_ERROR));
        }
    });
}

/// A byte that belongs to no message, or to the next one.
#[test]
fn extended_without_a_word() {
    for_each_message(|scenario, sent| {
        for byte in [0, 1, 0xff] {
            if is_last_of_tls12(scenario, sent) {
                continue; // the beginning of a message that may still come
            }
            let verdict = scenario.alter(sent.by, sent.number, move |message| message.push(byte));
            check_not_fooled(scenario, sent, &verdict);
            if is_last_under_its_key(scenario, sent) {
                let crosses = Error::PeerMisbehaved(PeerMisbehaved::MessageCrossesKeyChange);
                let first = sent.kind == HandshakeType::CLIENT_HELLO && scenario.is_answered_by_retry(sent);
                assert!(first || verdict.error == Some(crosses), "{}: {verdict:?}", context(scenario, sent));
            }
        }
    });
}

/// Only a CertificateRequest can be missing: then the client is not asked. A server that has asked gets no answer.
#[test]
fn dropped() {
    for_each_message(|scenario, sent| {
        let verdict = scenario.alter(sent.by, sent.number, Vec::clear);
        if sent.kind == HandshakeType::CERTIFICATE_REQUEST && !scenario.is_cached() {
            let asked = Error::AlertReceived(AlertDescription::UNEXPECTED_MESSAGE);
            let expected = if scenario.version == TLS12 { (false, Some(asked)) } else { (true, verdict.error) };
            assert_eq!((verdict.connected, verdict.error), expected, "{}", context(scenario, sent));
        } else {
            check_not_fooled(scenario, sent, &verdict);
        }
    });
}

#[test]
fn doubled() {
    for_each_message(|scenario, sent| {
        let verdict = scenario.alter(sent.by, sent.number, |message| message.extend_from_within(..));
        if is_last_of_tls12(scenario, sent) {
            // One is what is due; the second one is refused by a connection that is complete.
            assert!(verdict.connected);
            assert_eq!(verdict.error, Some(PeerMisbehaved::UnexpectedHandshakeMessage(sent.kind).into()));
            return;
        }
        let error = verdict.refused().unwrap_or_else(|| panic!("{}: {verdict:?}", context(scenario, sent)));
        let alert = match error {
            // Taken for the second one, which must be for another group.
            Error::PeerMisbehaved(PeerMisbehaved::ChangedClientHello | PeerMisbehaved::IllegalKeyShare) => {
                assert!(scenario.is_answered_by_retry(sent), "{}", context(scenario, sent));
                AlertDescription::ILLEGAL_PARAMETER
            }
            Error::PeerMisbehaved(PeerMisbehaved::UnexpectedHandshakeMessage(kind)) => {
                assert_eq!(*kind, sent.kind);
                AlertDescription::UNEXPECTED_MESSAGE
            }
            Error::PeerMisbehaved(PeerMisbehaved::MessageCrossesKeyChange) => AlertDescription::UNEXPECTED_MESSAGE,
            error => panic!("{}: {error:?}", context(scenario, sent)),
        };
        assert_eq!(verdict.alert, Some(alert));
    });
}

/// The next message comes first. Where both are in one flight, that is out of order.
#[test]
fn swapped() {
    for scenario in SCENARIOS.iter() {
        for pair in scenario.messages.windows(2).filter(|pair| pair[0].by == pair[1].by) {
            let (sent, next) = (&pair[0], &pair[1]);
            let number = sent.number;
            let mut held = Vec::new();
            let verdict = scenario.attack(
                sent.by,
                fault(move |sent, _, message| {
                    if sent == number {
                        held = core::mem::take(message);
                    } else if sent == number + 1 {
                        message.append(&mut held);
                    }
                }),
            );
            check_not_fooled(scenario, sent, &verdict);
            let error = verdict.refused().unwrap_or_else(|| panic!("{}: {verdict:?}", context(scenario, sent)));
            let is_tls12 = scenario.version == TLS12;
            let has_ticket = scenario.messages.iter().any(|sent| sent.kind == HandshakeType::NEW_SESSION_TICKET);
            let expected = match sent.kind {
                // EncryptedExtensions are encrypted, and the ServerHello with the key has not come.
                HandshakeType::SERVER_HELLO if !is_tls12 => {
                    PeerMisbehaved::UnexpectedRecord(terse_tls::ContentType::APPLICATION_DATA)
                }
                // What comes next is in order, unless a request is due. The request that follows is not.
                HandshakeType::CERTIFICATE_REQUEST if scenario.is_cached() => PeerMisbehaved::IllegalCachingReply,
                HandshakeType::CERTIFICATE_REQUEST if is_tls12 && !has_ticket => {
                    PeerMisbehaved::MessageCrossesKeyChange
                }
                HandshakeType::CERTIFICATE_REQUEST => PeerMisbehaved::UnexpectedHandshakeMessage(sent.kind),
                // The last one under its key.
                HandshakeType::END_OF_EARLY_DATA => {
                    assert_eq!(*error, CryptoError::DecryptFailed.into());
                    continue;
                }
                // Finished takes its ChangeCipherSpec along.
                _ if is_tls12 && next.kind == HandshakeType::FINISHED => PeerMisbehaved::BadChangeCipherSpec,
                _ => PeerMisbehaved::UnexpectedHandshakeMessage(next.kind),
            };
            assert_eq!(*error, expected.into(), "{}", context(scenario, sent));
        }
    }
}

/// The content is right, but the type is another one.
#[test]
fn replaced() {
    for_each_message(|scenario, sent| {
        let all = (0..=26).chain([67, 128, 203, 254, 255]).filter(|kind| *kind != sent.kind.0);
        for kind in all.step_by(if sent.seen { 3 } else { 1 }) {
            let verdict = scenario.alter(sent.by, sent.number, move |message| message[0] = kind);
            if becomes_hello_request(scenario, sent, HandshakeType(kind)) {
                check_not_fooled(scenario, sent, &verdict); // ignored, if it is empty as one must be
                continue;
            }
            let error = verdict.refused().unwrap_or_else(|| panic!("{}: {verdict:?}", context(scenario, sent)));
            let either = [HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_REQUEST];
            if either.contains(&sent.kind) && either.contains(&HandshakeType(kind)) {
                continue; // one is due as well as the other; how it fails depends on the content
            }
            let either = [HandshakeType::CERTIFICATE_REQUEST, HandshakeType::SERVER_HELLO_DONE];
            if scenario.version == TLS12 && either.contains(&sent.kind) && either.contains(&HandshakeType(kind)) {
                continue; // the same
            }
            let kind = HandshakeType(kind);
            let either = [HandshakeType::SERVER_HELLO_DONE, SERVER_KEY_EXCHANGE];
            if scenario.is_tls12_psk() && either.contains(&sent.kind) && either.contains(&kind) {
                continue; // the same: without a hint there is no ServerKeyExchange (RFC 4279, 2)
            }
            let expected = PeerMisbehaved::UnexpectedHandshakeMessage(kind);
            assert_eq!(*error, expected.into(), "{}", context(scenario, sent));
            assert_eq!(verdict.alert, Some(AlertDescription::UNEXPECTED_MESSAGE));
        }
    });
}

/// One byte of any message is wrong. What proves an identity survives no change at all; what negotiates may come to
/// another result, which both sides know.
#[test]
fn flipped() {
    const PROOFS: [HandshakeType; 4] =
        [HandshakeType::CERTIFICATE, SERVER_KEY_EXCHANGE, HandshakeType::CERTIFICATE_VERIFY, HandshakeType::FINISHED];
    const ALL: [u8; 4] = [1, 0x10, 0x80, 0xff];
    for_each_message(|scenario, sent| {
        // All of them where messages are short; elsewhere one after the other.
        let patterns =
            |place: usize| if scenario.is_cached() && !sent.seen { &ALL[..] } else { &ALL[place % ALL.len()..][..1] };
        let places = (0..sent.bytes.len()).step_by(step(sent));
        for (place, pattern) in places.flat_map(|place| patterns(place).iter().map(move |p| (place, *p))) {
            let verdict = scenario.alter(sent.by, sent.number, move |message| message[place] ^= pattern);
            let context = || format!("{}, byte {place} ^ {pattern:#x}: {verdict:?}", context(scenario, sent));
            let error = check_class(scenario, &verdict, &context);
            if place < 4 || PROOFS.contains(&sent.kind) {
                assert!(!verdict.connected, "{}", context());
            }
            assert!(!verdict.connected || is_free(scenario, sent, place), "{}", context());
            match (sent.kind, place) {
                (HandshakeType::FINISHED, 4..) => assert_eq!(error, Some(&PeerMisbehaved::BadFinished.into())),
                (HandshakeType::CERTIFICATE_VERIFY | SERVER_KEY_EXCHANGE, _)
                    if !scenario.is_tls12_psk() && place >= signature_at(&sent.bytes) + 4 =>
                {
                    assert_eq!(error, Some(&PeerMisbehaved::BadSignature.into()))
                }
                _ => {}
            }
        }
    });
}

/// Whether the sender may say something else here: it negotiates, or picks a random, a session id or a ticket; or it is ignored.
/// All else is checked.
fn is_free(scenario: &Scenario, sent: &Sent, place: usize) -> bool {
    let is_tls12 = scenario.version == TLS12;
    match (sent.kind, place) {
        (HandshakeType::CLIENT_HELLO | HandshakeType::CERTIFICATE_REQUEST, 4..) => true,
        (HandshakeType::SERVER_HELLO, 4..=5) => !is_tls12, // legacy_version
        (HandshakeType::SERVER_HELLO, 6..=37) => true,
        (HandshakeType::SERVER_HELLO, 39..=70) => is_tls12,
        (HandshakeType::NEW_SESSION_TICKET, 4..) => is_tls12,
        _ => false,
    }
}

/// Another message of the same handshake, of either side, comes instead.
#[test]
fn replaced_by_another() {
    for scenario in SCENARIOS.iter() {
        for sent in &scenario.messages {
            for other in scenario.messages.iter().filter(|other| other.bytes != sent.bytes) {
                let is_hello = sent.kind == HandshakeType::CLIENT_HELLO && other.kind == sent.kind;
                if is_hello && scenario.name == IDENTITY_RETRIED {
                    continue; // a client may send the public part of its key without being asked
                }
                let bytes = other.bytes.clone();
                let verdict = scenario.alter(sent.by, sent.number, move |message| message.clone_from(&bytes));
                let context = || format!("{}, {} instead: {verdict:?}", context(scenario, sent), other.kind);
                assert!(!verdict.connected, "{}", context());
                check_class(scenario, &verdict, &context);
            }
        }
    }
}

/// What the victim found, if it did: something of the peer's doing.
fn check_class<'a>(scenario: &Scenario, verdict: &'a Verdict, context: &dyn Fn() -> String) -> Option<&'a Error> {
    match verdict.refused()? {
        Error::InvalidMessage(_)
        | Error::PeerMisbehaved(_)
        | Error::PeerIncompatible(_)
        | Error::Certificate(_)
        | Error::Crypto(CryptoError::InvalidKeyShare | CryptoError::DecryptFailed) => verdict.refused(),
        Error::Identity(_) if scenario.has_identities() => verdict.refused(),
        error => panic!("{error:?}: {}", context()),
    }
}

/// The victim was not connected, and if it failed, then by itself.
fn check_not_fooled(scenario: &Scenario, sent: &Sent, verdict: &Verdict) {
    assert!(!verdict.connected, "{}: {verdict:?}", context(scenario, sent));
    let by_itself = !matches!(verdict.error, Some(Error::AlertReceived(_)));
    assert!(by_itself, "{}: {verdict:?}", context(scenario, sent));
}

/// After these messages the sender's key changes.
fn is_last_under_its_key(scenario: &Scenario, sent: &Sent) -> bool {
    if scenario.version == TLS12 {
        let mut later = scenario.messages.iter().filter(|other| other.by == sent.by && other.number > sent.number);
        return later.next().is_some_and(|next| next.kind == HandshakeType::FINISHED);
    }
    use HandshakeType as H;
    matches!(sent.kind, H::CLIENT_HELLO | H::SERVER_HELLO | H::FINISHED | H::END_OF_EARLY_DATA) && !sent.is_retry()
}

/// In TLS 1.2 nothing changes after Finished: messages may follow.
fn is_last_of_tls12(scenario: &Scenario, sent: &Sent) -> bool {
    scenario.version == TLS12 && sent.kind == HandshakeType::FINISHED
}

/// A server of TLS 1.2 may send HelloRequest, which a client in a handshake ignores (RFC 5246, 7.4.1.1).
fn becomes_hello_request(scenario: &Scenario, sent: &Sent, kind: HandshakeType) -> bool {
    scenario.version == TLS12
        && kind == HandshakeType::HELLO_REQUEST
        && sent.by == Side::Server
        && sent.kind != HandshakeType::SERVER_HELLO
}

/// Where a hello without extensions would end, if `sent` is one.
fn extensions_at(sent: &Sent) -> Option<usize> {
    let after_session_id = 4 + 34 + 1 + usize::from(*sent.bytes.get(4 + 34)?);
    match sent.kind {
        HandshakeType::CLIENT_HELLO => {
            let suites = u16::from_be_bytes([sent.bytes[after_session_id], sent.bytes[after_session_id + 1]]);
            Some(after_session_id + 2 + usize::from(suites) + 2)
        }
        HandshakeType::SERVER_HELLO => Some(after_session_id + 3),
        _ => None,
    }
}

/// The alert is `decode_error` for whatever does not parse, but for those that have one of their own.
#[test]
fn messages_that_are_too_large() {
    for_each_message(|scenario, sent| {
        let verdict = scenario.alter(sent.by, sent.number, |message| message[1..4].fill(0xff));
        assert_eq!(verdict.error, Some(InvalidMessage::HandshakeTooLarge.into()), "{}", context(scenario, sent));
    });
}
