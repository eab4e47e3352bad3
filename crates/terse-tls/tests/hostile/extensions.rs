//! Extensions in every message that carries some (RFC 9846, 4.3): each twice, all in another order, where they do not
//! belong, and unknown ones. The side that does it hashes what it sends, so that the harmless must succeed.

use terse_testkit::fault::{add_extension, edit_extensions};
use terse_tls::{
    AlertDescription as Alert, Error, ExtensionType as Ext, HandshakeType as H, InvalidMessage, PeerMisbehaved,
};

use super::edit::{entry_extension, entry_extensions};
use super::modes::{SCENARIOS, Scenario, Sent, TLS12, TLS13};

const CH: u8 = 1;
const SH: u8 = 2;
const HRR: u8 = 4;
const EE: u8 = 8;
const CR: u8 = 16;
const CT: u8 = 32;
const SH12: u8 = 64;

/// RFC 9846, 4.3, and for TLS 1.2 what the extensions' own documents say.
const PLACES: [(Ext, u8); 25] = [
    (Ext::IDENTITY_SHARE, CH | SH | HRR),
    (Ext::SERVER_NAME, CH | EE | CR | SH12),
    (Ext::MAX_FRAGMENT_LENGTH, CH | EE | SH12),
    (Ext::STATUS_REQUEST, CH | CR | CT | SH12),
    (Ext::SUPPORTED_GROUPS, CH | EE | SH12),
    (Ext::EC_POINT_FORMATS, CH | SH12),
    (Ext::SIGNATURE_ALGORITHMS, CH | CR),
    (Ext::APPLICATION_LAYER_PROTOCOL_NEGOTIATION, CH | EE | SH12),
    (Ext::SIGNED_CERTIFICATE_TIMESTAMP, CH | CR | CT | SH12),
    (Ext::CLIENT_CERTIFICATE_TYPE, CH | EE | SH12),
    (Ext::SERVER_CERTIFICATE_TYPE, CH | EE | SH12),
    (Ext::EXTENDED_MASTER_SECRET, CH | SH12),
    (Ext::CACHED_INFO, CH | EE | SH12),
    (Ext::RECORD_SIZE_LIMIT, CH | EE | SH12),
    (Ext::SESSION_TICKET, CH | SH12),
    (Ext::PRE_SHARED_KEY, CH | SH),
    (Ext::EARLY_DATA, CH | EE),
    (Ext::SUPPORTED_VERSIONS, CH | SH | HRR),
    (Ext::COOKIE, CH | HRR),
    (Ext::PSK_KEY_EXCHANGE_MODES, CH),
    (Ext::CERTIFICATE_AUTHORITIES, CH | CR),
    (Ext::OID_FILTERS, CR),
    (Ext::POST_HANDSHAKE_AUTH, CH),
    (Ext::KEY_SHARE, CH | SH | HRR),
    (Ext::RENEGOTIATION_INFO, CH | SH12),
];

/// Two that are reserved (RFC 8701), one that nobody has, one for private use.
const UNKNOWN: [Ext; 4] = [Ext(0x0a0a), Ext(0xfafa), Ext(0x7f01), Ext(0xff77)];

/// Which place for extensions a message is, if it is one.
fn place(scenario: &Scenario, sent: &Sent) -> Option<u8> {
    match sent.kind {
        H::CLIENT_HELLO => Some(CH),
        H::SERVER_HELLO if scenario.version == TLS12 => Some(SH12),
        H::SERVER_HELLO if sent.is_retry() => Some(HRR),
        H::SERVER_HELLO => Some(SH),
        H::ENCRYPTED_EXTENSIONS => Some(EE),
        H::CERTIFICATE_REQUEST if scenario.version == TLS13 && !scenario.is_cached() => Some(CR),
        H::CERTIFICATE if scenario.version == TLS13 => Some(CT),
        _ => None,
    }
}

fn for_each_place(mut attacks: impl FnMut(&Scenario, &Sent, u8, &str)) {
    let mut places = 0;
    for scenario in SCENARIOS.iter() {
        for sent in &scenario.messages {
            if let Some(place) = place(scenario, sent) {
                let context = format!("{}, {}: {:?}'s {}", scenario.version, scenario.name, sent.by, sent.kind);
                attacks(scenario, sent, place, &context);
                places |= place;
            }
        }
    }
    assert_eq!(places, 127, "every place was seen");
}

/// Puts an extension in front; of a Certificate, into its last entry.
fn add(message: &mut Vec<u8>, place: u8, kind: Ext, body: &[u8]) {
    match place {
        CT => entry_extension(message, kind),
        _ => add_extension(message, kind, body),
    }
}

/// What is there, in order.
fn kinds(sent: &Sent, place: u8) -> Vec<Ext> {
    let mut kinds = Vec::new();
    if place != CT {
        edit_extensions(&mut sent.bytes.clone(), |all| kinds = all.iter().map(|(kind, _)| *kind).collect());
    }
    kinds
}

#[test]
fn twice() {
    let duplicate: Error = InvalidMessage::DuplicateExtension.into();
    for_each_place(|scenario, sent, place, context| {
        for kind in kinds(sent, place) {
            // The extension is repeated, with its content or another one, at any place but the last, which may be
            // significant.
            for empty in [true, false] {
                let verdict = scenario.alter(sent.by, sent.number, move |message| {
                    edit_extensions(message, |all| {
                        let body = all.iter().find(|(found, _)| *found == kind).expect("it is there").1.clone();
                        all.insert(0, (kind, if empty { Vec::new() } else { body }));
                    });
                });
                assert_eq!(verdict.refused(), Some(&duplicate), "{context}, {kind:?}");
                assert_eq!(verdict.alert, Some(Alert::ILLEGAL_PARAMETER), "{context}, {kind:?}");
            }
        }
        for kind in UNKNOWN {
            let verdict = scenario.alter(sent.by, sent.number, move |message| match place {
                CT => entry_extensions(message, &[kind, kind]),
                _ => edit_extensions(message, |all| all.splice(0..0, [(kind, vec![]), (kind, vec![])]).for_each(drop)),
            });
            assert_eq!(verdict.refused(), Some(&duplicate), "{context}, {kind:?}");
        }
    });
}

const MISPLACED_KEY: Error = Error::PeerMisbehaved(PeerMisbehaved::MisplacedExtension(Ext::PRE_SHARED_KEY));

/// RFC 9846, 4.3: the order says nothing, but that `pre_shared_key` comes last in a ClientHello.
#[test]
fn in_another_order() {
    for_each_place(|scenario, sent, place, context| {
        let kinds = kinds(sent, place);
        let has_binders = place == CH && kinds.contains(&Ext::PRE_SHARED_KEY);
        for rotate in 1..kinds.len() {
            let verdict = scenario.alter(sent.by, sent.number, move |message| {
                edit_extensions(message, |all| all.rotate_left(rotate));
            });
            let error = verdict.refused();
            if has_binders {
                assert_eq!(error, Some(&MISPLACED_KEY), "{context}, {verdict:?}");
                assert_eq!(verdict.alert, Some(Alert::ILLEGAL_PARAMETER));
            } else {
                assert!(verdict.connected && verdict.error.is_none(), "{context}, {verdict:?}");
                assert_eq!(verdict.attacker, None, "{context}");
            }
        }
    });
}

/// RFC 9846, 4.3: ignored in requests, refused in responses.
#[test]
fn unknown() {
    for_each_place(|scenario, sent, place, context| {
        for (kind, body) in UNKNOWN.into_iter().flat_map(|kind| [(kind, &b""[..]), (kind, b"whatever")]) {
            let verdict = scenario.alter(sent.by, sent.number, move |message| add(message, place, kind, body));
            let context = format!("{context}, {kind:?}: {verdict:?}");
            let expected: Error = match place {
                CR => {
                    assert!(verdict.connected && verdict.error.is_none(), "{context}");
                    continue;
                }
                // The binders were made for the hello without it.
                CH if kinds(sent, place).contains(&Ext::PRE_SHARED_KEY) => PeerMisbehaved::BadBinder.into(),
                // It is not in the second one.
                CH if scenario.is_answered_by_retry(sent) => PeerMisbehaved::ChangedClientHello.into(),
                CH if scenario.is_second_hello(sent) => PeerMisbehaved::ChangedClientHello.into(),
                CH => {
                    assert!(verdict.connected && verdict.error.is_none(), "{context}");
                    continue;
                }
                _ => PeerMisbehaved::UnsolicitedExtension(kind).into(),
            };
            assert_eq!(verdict.refused(), Some(&expected), "{context}");
            assert_eq!(verdict.alert, expected.alert(), "{context}");
        }
    });
}

/// RFC 9846, 4.3: one that is known, in a message that it is not for, is an `illegal_parameter`; one that is for this
/// response but was not asked for is an `unsupported_extension`.
#[test]
fn misplaced() {
    for_each_place(|scenario, sent, place, context| {
        if sent.seen {
            return;
        }
        let there = kinds(sent, place);
        for (kind, places) in PLACES.into_iter().filter(|(kind, _)| !there.contains(kind)) {
            let offered = kinds(&scenario.messages[0], CH).contains(&kind);
            // RFC 9846, 4.3.2: a server may always send a cookie. Unasked point formats are tolerated.
            let is_unasked = [(HRR, Ext::COOKIE), (SH12, Ext::EC_POINT_FORMATS)].contains(&(place, kind));
            if places & place != 0 && (place == CH || place == CR || offered || is_unasked) {
                continue; // in its place: what it says is another matter
            }
            // Read to learn the version, before anything else.
            let body: &[u8] = if kind == Ext::SUPPORTED_VERSIONS { &[3, 3] } else { &[] };
            let verdict = scenario.alter(sent.by, sent.number, move |message| add(message, place, kind, body));
            let context = format!("{context}, {kind:?}: {verdict:?}");
            let (error, alert) = match places & place {
                0 if (place, kind) == (SH12, Ext::SUPPORTED_VERSIONS) => {
                    (PeerMisbehaved::SelectedUnoffered(kind), Alert::ILLEGAL_PARAMETER)
                }
                0 => (PeerMisbehaved::MisplacedExtension(kind), Alert::ILLEGAL_PARAMETER),
                _ => (PeerMisbehaved::UnsolicitedExtension(kind), Alert::UNSUPPORTED_EXTENSION),
            };
            assert_eq!(verdict.refused(), Some(&error.into()), "{context}");
            assert_eq!(verdict.alert, Some(alert), "{context}");
        }
    });
}
