//! Stapled OCSP beside what is cached: bit 8 of `compact`, byte by byte and with hostile sides; and when a staple of what
//! is cached could not be judged. (`tests/stapling` has every kind of response.)

use alloc::sync::Arc;

use terse_pki::{OcspOptions, OcspStatus};
use terse_testkit::fault;
use terse_testkit::pair::Side;
use terse_testkit::pki::{DAY, NOW, Pki};
use terse_tls::FallbackReason;
use terse_tls::cache::Scheme;
use terse_tls::cache::Schemes;
use terse_tls::summary::{CachedObject, Mode, Staple};
use terse_tls::{
    AlertDescription, CacheDefence, CertificateError, ClientAuthentication, Error, ExtensionType, Fault, HandshakeType,
    StapleError, Stapling,
};

use super::messages::{Messages, certificate, reply_of};
use super::schedule::{certificate_fingerprint, synthetic};
use super::world::*;

const ILLEGAL: AlertDescription = AlertDescription::ILLEGAL_PARAMETER;
const UNEXPECTED: AlertDescription = AlertDescription::UNEXPECTED_MESSAGE;
const BAD_STATUS: AlertDescription = AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE;
const COMPACT_CACHE: ExtensionType = ExtensionType::COMPACT_CACHE;

/// All that `compact` has, with the server's Certificate reduced.
const ALL_REDUCED: u8 = 0b1110;

fn response(status: OcspStatus) -> Vec<u8> {
    let pki = Pki::shared(CHAIN);
    let options = OcspOptions { status, ..OcspOptions::good(NOW - DAY, 7) };
    pki.authority.ocsp_response(pki.server.leaf(), &options).unwrap()
}

fn trust(stapling: Stapling) -> terse_tls::Trust {
    Pki::shared(CHAIN).trust().with_stapling(stapling)
}

/// Nothing cached yet; the server has a good response.
fn new(setting: impl Into<Setting>, stapling: Stapling) -> World {
    let mut world = World::new(setting);
    world.client.trust(trust(stapling));
    world.server.config().credentials()[0].set_staple(PROVIDER, Some(&response(OcspStatus::Good))).unwrap();
    world
}

/// Everything is cached.
fn cached(setting: impl Into<Setting>, stapling: Stapling) -> World {
    let mut world = new(setting, stapling);
    assert_eq!(world.connect().unwrap().client.mode, Mode::Full);
    assert_eq!(world.assert_cached().client.peer.staple, Staple::Good);
    world
}

/// The one extension of a leaf.
fn status_extension(response: &[u8]) -> Vec<u8> {
    let status = [&[1][..], &(response.len() as u32).to_be_bytes()[1..], response].concat();
    [&[0, 5][..], &(status.len() as u16).to_be_bytes(), &status].concat()
}

fn selects(bits: u8) -> Arc<dyn Fault> {
    fault::first(HandshakeType::ENCRYPTED_EXTENSIONS, move |message| {
        fault::set_extension(message, COMPACT_CACHE, &[bits]);
    })
}

fn instead_of_certificate(body: Vec<u8>) -> Arc<dyn Fault> {
    fault::first(HandshakeType::CERTIFICATE, move |message| {
        *message = fault::message(HandshakeType::CERTIFICATE, &body);
    })
}

#[test]
fn a_reduced_certificate_byte_by_byte() {
    let mut world = cached(COMPACT[0], Stapling::Require);
    let response = response(OcspStatus::Good);
    world.server.config().credentials()[0].set_staple(PROVIDER, Some(&response)).unwrap();
    let (messages, done) = Messages::of(&mut world);
    let all = World::everything(TLS13);
    assert_eq!((&done.client.cached[..], &done.server.cached[..]), (&all[..], &all[..]));
    let selection = [&COMPACT_CACHE.0.to_be_bytes()[..], &[0, 1, ALL_REDUCED]].concat();
    let encrypted_extensions = messages.find(Side::Server, HandshakeType::ENCRYPTED_EXTENSIONS);
    assert!(encrypted_extensions.ends_with(&selection));
    let sent = messages.find(Side::Server, HandshakeType::CERTIFICATE);
    assert_eq!(&sent[4..], certificate(TLS13, &[(&[], &status_extension(&response))]));
    // 5 bytes ask, in the clear.
    let hello = messages.find(Side::Client, HandshakeType::CLIENT_HELLO);
    assert!(hello.windows(9).any(|window| window == [0, 5, 0, 5, 1, 0, 0, 0, 0]));
}

/// docs/caching.md, 4.1: the fingerprint stands before the reduced message, in the transcript of both.
#[test]
fn the_transcript_binds_what_is_reduced() {
    let fingerprint = certificate_fingerprint(Pki::shared(CHAIN).server.chain());
    assert_eq!(synthetic(&fingerprint).len(), 36);
    for side in Side::BOTH {
        let mut world = cached(COMPACT[0], Stapling::Ask);
        match side {
            Side::Client => _ = world.client.without(CacheDefence::TranscriptBinding),
            Side::Server => _ = world.server.without(CacheDefence::TranscriptBinding),
        }
        let failed = world.connect().map(|_| ()).unwrap_err();
        assert_eq!((failed.side, failed.error.alert()), (Side::Client, Some(AlertDescription::DECRYPT_ERROR)));
    }
}

#[test]
fn fault_server_selects_it_and_more() {
    let mut world = cached(COMPACT[0], Stapling::Ask);
    for bits in [0b1111, 0b1001, 0b1_1110, 0b10_1110, 0b100_1110, 0b1000_1110] {
        world.assert_refused(Side::Server, selects(bits), ILLEGAL, &format!("{bits:#b}"));
    }
    // Of a ticket that was not offered.
    for bits in [0b1000, ALL_REDUCED] {
        let mut world = new(COMPACT[0], Stapling::Ask);
        world.assert_refused(Side::Server, selects(bits), ILLEGAL, &format!("{bits:#b}, no ticket"));
    }
}

#[test]
fn fault_server_selects_it_where_it_was_not_asked() {
    let mut world = cached(COMPACT[0], Stapling::Ask);
    world.client.trust(trust(Stapling::Off));
    world.connect().unwrap();
    assert_eq!(world.assert_cached().client.peer.staple, Staple::None);
    for bits in [0b1000, ALL_REDUCED] {
        world.assert_refused(Side::Server, selects(bits), ILLEGAL, &format!("{bits:#b}, not asked"));
    }
}

/// In TLS 1.2 the bit has no meaning: CertificateStatus has a place of its own.
#[test]
fn fault_server_selects_it_in_tls12() {
    let mut world = cached(COMPACT[1], Stapling::Ask);
    for bits in [0b1000, ALL_REDUCED] {
        let selects = fault::first(reply_of(TLS12), move |message| {
            fault::set_extension(message, COMPACT_CACHE, &[bits]);
        });
        world.assert_refused(Side::Server, selects, ILLEGAL, &format!("{bits:#b}"));
    }
}

#[test]
fn fault_server_sends_other_messages_than_it_selects() {
    let mut world = cached(COMPACT[0], Stapling::Ask);
    world.assert_refused(Side::Server, selects(0b111), UNEXPECTED, "sent, but left out");
    world.server.config().credentials()[0].set_staple(PROVIDER, None).unwrap();
    world.connect().unwrap();
    world.assert_refused(Side::Server, selects(ALL_REDUCED), UNEXPECTED, "reduced, but not sent");
}

#[test]
fn fault_server_reduces_it_to_something_else() {
    let good = status_extension(&response(OcspStatus::Good));
    let other = |kind: u8| [&[0, kind, 0][..], &[1, 0]].concat();
    let none: (&[u8], &[u8]) = (&[], &good);
    let cases: Vec<(&str, Vec<u8>, AlertDescription)> = vec![
        ("nothing", certificate(TLS13, &[]), ILLEGAL),
        ("two entries", certificate(TLS13, &[none, none]), ILLEGAL),
        ("a certificate", certificate(TLS13, &[(Pki::shared(CHAIN).server.leaf(), &good)]), ILLEGAL),
        ("a context", [&[1, 7][..], &certificate(TLS13, &[none])[1..]].concat(), ILLEGAL),
        ("an SCT", certificate(TLS13, &[(&[], &other(18))]), AlertDescription::UNSUPPORTED_EXTENSION),
        ("a name", certificate(TLS13, &[(&[], &other(0))]), ILLEGAL),
        ("a status of another type", certificate(TLS13, &[(&[], &[0, 5, 0, 5, 2, 0, 0, 1, 7])]), ILLEGAL),
        ("an empty response", certificate(TLS13, &[(&[], &[0, 5, 0, 4, 1, 0, 0, 0])]), AlertDescription::DECODE_ERROR),
        ("no response", certificate(TLS13, &[(&[], &[])]), BAD_STATUS),
    ];
    for (what, body, alert) in cases {
        let mut world = cached(COMPACT[0], Stapling::Require);
        world.assert_refused(Side::Server, instead_of_certificate(body), alert, what);
    }
    // Who only asks takes what it gets.
    let mut world = cached(COMPACT[0], Stapling::Ask);
    let (mut link, result) =
        world.connect_with(Side::Server, instead_of_certificate(certificate(TLS13, &[(&[], &[])])));
    result.unwrap();
    assert_eq!(link.pair.side(Side::Client).0.summary().peer.staple, Staple::None);
}

#[test]
fn fault_server_sends_certificate_status_where_it_must_not() {
    let status = |response: &[u8]| {
        let body = [&[1][..], &(response.len() as u32).to_be_bytes()[1..], response].concat();
        fault::message(HandshakeType::CERTIFICATE_STATUS, &body)
    };
    let good = status(&response(OcspStatus::Good));
    let add = |to: HandshakeType, more: &[u8]| {
        let more = more.to_vec();
        fault::first(to, move |message| message.extend_from_slice(&more))
    };
    for schemes in [Schemes::BITHAC, Schemes::COMPACT] {
        let setting = Setting { version: TLS12, schemes };
        let mut world = cached(setting, Stapling::Ask);
        let twice = add(HandshakeType::CERTIFICATE_STATUS, &good);
        world.assert_refused(Side::Server, twice, UNEXPECTED, "twice");
        let late = add(HandshakeType::SERVER_KEY_EXCHANGE, &good);
        world.assert_refused(Side::Server, late, UNEXPECTED, "after ServerKeyExchange");
        let early = add(HandshakeType::SERVER_HELLO, &good);
        // Under `compact` the first one stands where it belongs, and the second one is too many.
        world.assert_refused(Side::Server, early, UNEXPECTED, "before Certificate");

        let mut world = cached(setting, Stapling::Ask);
        world.server.config().credentials()[0].set_staple(PROVIDER, None).unwrap();
        let unannounced = fault::first(HandshakeType::SERVER_KEY_EXCHANGE, {
            let good = good.clone();
            move |message| *message = [&good[..], message].concat()
        });
        world.assert_refused(Side::Server, unannounced, UNEXPECTED, "not announced");
    }
    let mut world = World::new(TLS12);
    let unasked = fault::first(HandshakeType::SERVER_HELLO, |message| {
        fault::add_extension(message, ExtensionType::STATUS_REQUEST, &[]);
    });
    world.assert_refused(Side::Server, unasked, AlertDescription::UNSUPPORTED_EXTENSION, "announced, but not asked");
}

/// The client's extension may say what it likes, as far as it parses.
#[test]
fn what_clients_ask_for() {
    for version in VERSIONS {
        let asks = |body: &[u8]| {
            let body = body.to_vec();
            fault::first(HandshakeType::CLIENT_HELLO, move |message| {
                fault::set_extension(message, ExtensionType::STATUS_REQUEST, &body);
            })
        };
        for (body, alert) in [
            (&[][..], AlertDescription::DECODE_ERROR),
            (&[1, 0, 0, 0], AlertDescription::DECODE_ERROR),
            (&[1, 0, 2, 0, 0, 0, 0], AlertDescription::DECODE_ERROR),
            (&[1, 0, 0, 0, 0, 0], AlertDescription::DECODE_ERROR),
        ] {
            let mut world = cached(version, Stapling::Ask);
            world.assert_refused(Side::Client, asks(body), alert, &format!("{body:?}"));
        }
        // A responder of the client's choice, and extensions: taken note of. Another type: nothing to be had.
        for (body, is_stapled) in [(&[1, 0, 3, 0, 1, 7, 0, 2, 0x30, 0][..], true), (&[2, 1, 2, 3], false)] {
            let mut world = new(version, Stapling::Ask);
            world.client.fault(Some(asks(body)));
            // The two transcripts differ, so the handshake fails in the end; what the server sent says how it understood.
            let mut link = world.begin();
            let _ = link.run();
            let sent = link.pair.server.summary().sent.messages.clone();
            let len = |kind| sent.iter().find(|(sent, _)| *sent == kind).map_or(0, |(_, len)| *len as usize);
            let plain: usize = Pki::shared(CHAIN).server.chain().iter().map(|certificate| certificate.len()).sum();
            match version {
                TLS12 => assert_eq!(len(HandshakeType::CERTIFICATE_STATUS) > 0, is_stapled),
                _ => assert_eq!(len(HandshakeType::CERTIFICATE) > plain + 100, is_stapled),
            }
        }
    }
}

/// After a restart the issuer's key is not known until the chain was sent once more: without it no staple can be judged,
/// so nothing is offered; and what is kept is not lost.
#[test]
fn without_the_issuer_a_client_goes_on_in_full() {
    for setting in SETTINGS {
        for stapling in [Stapling::Ask, Stapling::Require] {
            let mut world = cached(setting, stapling);
            world.restart_client();
            world.client.trust(trust(stapling));
            let done = world.connect().unwrap();
            assert!(!done.client.cached.contains(&CachedObject::ServerCertificate));
            assert_eq!(done.client.fallback, Some(FallbackReason::StapleIssuerUnknown));
            assert_eq!(world.assert_cached().client.peer.staple, Staple::Good);
        }
    }
}

#[test]
fn without_the_issuer_a_server_asks_for_all_of_it() {
    let pki = Pki::shared(CHAIN);
    let mut world = World::new(SETTINGS[0]);
    let server_asks = |world: &mut World| world.server_trust(trust(Stapling::Require));
    server_asks(&mut world);
    let response = pki.authority.ocsp_response(pki.client.leaf(), &OcspOptions::good(NOW - DAY, 7)).unwrap();
    world.client.config().credentials()[0].set_staple(PROVIDER, Some(&response)).unwrap();
    world.connect().unwrap();
    world.connect().unwrap();
    let is_cached = |world: &mut World| {
        let done = world.connect().unwrap();
        assert_eq!(done.server.peer.staple, Staple::Good);
        done.server.cached.contains(&CachedObject::ClientCertificate)
    };
    assert!(is_cached(&mut world));
    world.restart_server(true);
    server_asks(&mut world);
    assert!(!is_cached(&mut world));
    assert!(is_cached(&mut world));
}

/// What is cached ends with the certificates, whatever becomes of the responses that came with them.
#[test]
fn entries_outlive_staples() {
    let pki = Pki::shared(CHAIN);
    let later = |leaf| pki.authority.ocsp_response(leaf, &OcspOptions::good(NOW + 30 * DAY, 7)).unwrap();
    for setting in SETTINGS {
        let mut world = cached(setting, Stapling::Require);
        world.set_clocks(31 * DAY);
        let response = later(pki.server.leaf());
        world.server.config().credentials()[0].set_staple(PROVIDER, Some(&response)).unwrap();
        assert_eq!(world.assert_cached().client.peer.staple, Staple::Good);
    }
    let mut world = World::new(SETTINGS[0]);
    world.server_trust(trust(Stapling::Require));
    let response = pki.authority.ocsp_response(pki.client.leaf(), &OcspOptions::good(NOW - DAY, 7)).unwrap();
    let own = world.client.config().credentials()[0].clone();
    own.set_staple(PROVIDER, Some(&response)).unwrap();
    world.connect().unwrap();
    world.connect().unwrap();
    world.set_clocks(31 * DAY);
    own.set_staple(PROVIDER, Some(&later(pki.client.leaf()))).unwrap();
    let done = world.connect().unwrap();
    assert!(done.server.cached.contains(&CachedObject::ClientCertificate));
    assert_eq!(done.server.peer.staple, Staple::Good);
}

/// docs/caching.md, 4.5: another policy for staples is another policy.
#[test]
fn requiring_staples_is_another_policy() {
    for setting in SETTINGS {
        let mut world = cached(setting, Stapling::Ask);
        world.client.trust(trust(Stapling::Require));
        let done = world.connect().unwrap();
        assert!(!done.client.cached.contains(&CachedObject::ServerCertificate));
        assert_eq!(done.client.fallback, Some(FallbackReason::TrustChanged));
        assert_eq!(world.assert_cached().client.peer.staple, Staple::Good);
    }
}

/// docs/caching.md, 4.5: a revocation that only the staple tells. Once the server has another certificate, all is well.
#[test]
fn a_staple_that_says_revoked_ends_the_use() {
    for setting in SETTINGS {
        let mut world = cached(setting, Stapling::Ask);
        let staple = |world: &World, status| {
            world.server.config().credentials()[0].set_staple(PROVIDER, Some(&response(status))).unwrap();
        };
        staple(&world, OcspStatus::Revoked(NOW - DAY));
        for _ in 0..3 {
            let failed = world.connect().map(|_| ()).unwrap_err();
            assert_eq!((failed.side, failed.error), (Side::Client, Error::Certificate(CertificateError::Revoked)));
        }
        staple(&world, OcspStatus::Good);
        world.connect().unwrap();
        world.connect().unwrap();
        world.assert_cached();
    }
}

/// A server that does not know `compact` bit by bit, but has none to staple: missing is missing, under bit 1 as well.
#[test]
fn missing_under_what_is_left_out() {
    let mut world = cached(COMPACT[0], Stapling::Require);
    world.server.config().credentials()[0].set_staple(PROVIDER, None).unwrap();
    let failed = world.connect().map(|_| ()).unwrap_err();
    let missing = CertificateError::Staple(StapleError::Missing);
    assert_eq!((failed.side, failed.error), (Side::Client, Error::Certificate(missing)));
}

/// A server that asks for live extensions cannot have the client's Certificate left out: bit 2 stays clear.
#[test]
fn compact_does_not_leave_out_what_must_carry_a_response() {
    let mut world = World::cached(COMPACT[0]);
    world.server.client_authentication(ClientAuthentication::Required(trust(Stapling::Ask)));
    world.connect().unwrap();
    let done = world.connect().unwrap();
    let cached = [CachedObject::CertificateRequest, CachedObject::ServerCertificate];
    assert_eq!((&done.client.cached[..], done.client.mode), (&cached[..], Mode::Cached(Scheme::Compact)));
    assert_eq!(done.server.peer.staple, Staple::None);
}
