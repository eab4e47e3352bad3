//! Identity keys: beside a certificate, and alone, from a registrar that presents a raw public key.

use super::super::pki::PKI;
use super::registrar::{parse_request, pin, success};
use super::world::config;
use super::*;
use crate::certificate::public_key;
use crate::est::MAX_BODY_LEN;
use crate::voucher::{Assertion, Pin};

const KEY_FILE: &[u8] = b"the file of an identity key";

/// Answers the request for the identity key.
fn giving(response: impl Fn() -> Response + 'static) -> Registrar {
    Registrar::answering(move |request| (request.resource == Resource::IdentityKey).then(&response))
}

fn key_file() -> Response {
    success(Method::Post, format::IDENTITY_KEY, KEY_FILE)
}

/// Returns this registrar with the raw public key of its certificate, which its vouchers pin.
fn with_raw_public_key(registrar: Registrar, kind: Proximity) -> Registrar {
    let leaf = PKI.registrar.chain()[0].clone();
    let raw_public_key = Some(public_key(&leaf).unwrap().to_vec());
    let edit = std::boxed::Box::new(move |voucher: &mut crate::voucher::Voucher| voucher.pins = vec![pin(kind, &leaf)]);
    Registrar { raw_public_key, edit, ..registrar }
}

fn raw_public_key_pledge(proximity: Proximity, registrar: Registrar) -> World {
    let form = Coaps::default().with_proximity(proximity).with_credentials(Credentials::IdentityKey);
    World::with(config(form), registrar)
}

fn pledge_of_both(registrar: Registrar) -> World {
    World::with(config(Coaps::default().with_credentials(Credentials::CertificateAndIdentityKey)), registrar)
}

fn resources(world: &World) -> Vec<Resource> {
    world.registrar.requests.iter().map(|request| request.resource).collect()
}

#[test]
fn a_pledge_gets_an_identity_key_beside_its_ldevid() {
    let mut world = pledge_of_both(giving(key_file));
    world.run_to(Phase::Enrolled);
    assert_eq!(world.connects, [(1_000, Identity::Idevid), (1_000, Identity::Ldevid)]);
    assert_eq!(resources(&world)[3..], [Resource::SimpleEnroll, Resource::IdentityKey, Resource::EnrollStatus]);
    let request = &world.registrar.requests[4];
    assert_eq!((request.method, request.payload.is_empty()), (Method::Post, true));
    assert_eq!((request.content_format, request.accept), (None, Some(format::IDENTITY_KEY)));
    assert_eq!(world.identity_key.as_deref(), Some(KEY_FILE));
    assert!(world.stored.is_some());
    assert_eq!(world.events, [Event::Imprinted(Assertion::Proximity), Event::Enrolled { is_reported: true }]);
}

#[test]
fn a_pledge_without_certificates_gets_an_identity_key_of_a_registrar_with_a_raw_public_key() {
    for proximity in [Proximity::PublicKeySha256, Proximity::PublicKey] {
        for kind in [Proximity::PublicKeySha256, Proximity::PublicKey, Proximity::Certificate] {
            let registrar = with_raw_public_key(giving(key_file), kind);
            let mut world = raw_public_key_pledge(proximity, registrar);
            world.run_to(Phase::Enrolled);
            // One connection, with the IDevID.
            assert_eq!(world.connects, [(1_000, Identity::Idevid)]);
            assert_eq!(
                resources(&world),
                [Resource::RequestVoucher, Resource::VoucherStatus, Resource::IdentityKey, Resource::EnrollStatus]
            );
            let request = parse_request(&world.registrar.requests[0]);
            assert_eq!(request.proximity_registrar, [pin(proximity, &PKI.registrar.chain()[0])]);
            assert_eq!(world.identity_key.as_deref(), Some(KEY_FILE));
            assert!(world.stored.is_none());
            assert_eq!(world.events, [Event::Imprinted(Assertion::Proximity), Event::Enrolled { is_reported: true }]);
        }
    }
}

#[test]
fn a_raw_public_key_that_is_not_pinned_is_refused() {
    let (own, other) = (PKI.registrar.chain()[0].clone(), PKI.other_registrar.chain()[0].clone());
    // That of another registrar, and the certificate of the CA, under which a chain would be accepted.
    let wrong = [
        pin(Proximity::PublicKeySha256, &other),
        pin(Proximity::PublicKey, &other),
        Pin::Certificate(other),
        Pin::Certificate(PKI.domain.root().clone()),
    ];
    for pin in wrong {
        let mut registrar = with_raw_public_key(giving(key_file), Proximity::PublicKey);
        registrar.edit = std::boxed::Box::new(move |voucher| voucher.pins = vec![pin.clone()]);
        let mut world = raw_public_key_pledge(Proximity::PublicKeySha256, registrar);
        assert_eq!(world.run_to_failure(), AttemptFailed::Voucher(VoucherRefused::RawPublicKey));
        assert_eq!(resources(&world), [Resource::RequestVoucher, Resource::VoucherStatus]);
        assert!(world.identity_key.is_none());
    }
    // The pin of the kind of the proximity counts.
    let pins = [pin(Proximity::PublicKey, &own), pin(Proximity::PublicKeySha256, &PKI.other_registrar.chain()[0])];
    for (proximity, is_accepted) in [(Proximity::PublicKey, true), (Proximity::PublicKeySha256, false)] {
        let mut registrar = with_raw_public_key(giving(key_file), Proximity::PublicKey);
        let pins = pins.to_vec();
        registrar.edit = std::boxed::Box::new(move |voucher| voucher.pins = pins.clone());
        let mut world = raw_public_key_pledge(proximity, registrar);
        world.run(100, |world| !world.events.is_empty());
        assert_eq!(matches!(world.events[0], Event::Imprinted(_)), is_accepted);
    }
}

#[test]
fn each_kind_of_pledge_takes_what_it_asks_for_alone() {
    let certificates = giving(key_file);
    let mut world = raw_public_key_pledge(Proximity::PublicKeySha256, certificates);
    assert_eq!(world.run_to_failure(), AttemptFailed::Certificates);
    let mut world = World::new(with_raw_public_key(giving(key_file), Proximity::PublicKey));
    assert_eq!(world.run_to_failure(), AttemptFailed::Certificates);
    assert!(world.registrar.requests.is_empty());
    // There is no certificate that a voucher request could name.
    let registrar = with_raw_public_key(giving(key_file), Proximity::PublicKey);
    let mut world = raw_public_key_pledge(Proximity::Certificate, registrar);
    assert!(matches!(world.run_to_failure(), AttemptFailed::Request(_)));
}

/// Responses that give no identity key, and why.
fn refusals() -> Vec<(Response, EnrollmentFailed)> {
    let long = vec![0; MAX_BODY_LEN + 1];
    vec![
        (Response::new(Code::NOT_FOUND), EnrollmentFailed::Refused(404)),
        (Response::new(Code::FORBIDDEN), EnrollmentFailed::Refused(403)),
        (Response::new(Code::CHANGED), EnrollmentFailed::IdentityKeyType),
        (success(Method::Post, format::CBOR, KEY_FILE), EnrollmentFailed::IdentityKeyType),
        (success(Method::Post, format::IDENTITY_KEY, &long), EnrollmentFailed::IdentityKeyTooLong),
    ]
}

#[test]
fn without_an_identity_key_a_pledge_with_an_ldevid_is_enrolled_all_the_same() {
    for (response, why) in refusals() {
        let mut world = pledge_of_both(giving(move || response.clone()));
        world.run_to(Phase::Enrolled);
        assert_eq!(world.events[1..], [Event::NoIdentityKey(why), Event::Enrolled { is_reported: true }]);
        assert!(world.registrar.statuses.iter().all(|status| status.status));
        assert!(world.stored.is_some() && world.identity_key.is_none());
    }
    let mut world = pledge_of_both(giving(key_file));
    world.stores_identity_keys = false;
    world.run_to(Phase::Enrolled);
    let no_key = Event::NoIdentityKey(EnrollmentFailed::IdentityKeyNotStored);
    assert_eq!(world.events[1..], [no_key, Event::Enrolled { is_reported: true }]);
}

#[test]
fn without_an_identity_key_a_pledge_without_certificates_tells_the_registrar_and_begins_anew() {
    for (response, why) in refusals() {
        let registrar = giving(move || response.clone());
        let registrar = with_raw_public_key(registrar, Proximity::PublicKeySha256);
        let mut world = raw_public_key_pledge(Proximity::PublicKeySha256, registrar);
        assert_eq!(world.run_to_enrollment_failure(), why);
    }
    let registrar = with_raw_public_key(giving(key_file), Proximity::PublicKeySha256);
    let mut world = raw_public_key_pledge(Proximity::PublicKeySha256, registrar);
    world.stores_identity_keys = false;
    assert_eq!(world.run_to_enrollment_failure(), EnrollmentFailed::IdentityKeyNotStored);
}

#[test]
fn a_registrar_that_cannot_answer_yet_is_asked_again() {
    for credentials in [Credentials::CertificateAndIdentityKey, Credentials::IdentityKey] {
        let mut left = 2;
        let mut registrar = Registrar::answering(move |request| {
            let asks = request.resource == Resource::IdentityKey;
            let waits = asks && left > 0;
            left -= usize::from(waits);
            let wait = Response { max_age: Some(20), ..Response::new(Code::SERVICE_UNAVAILABLE) };
            asks.then(|| if waits { wait } else { key_file() })
        });
        if credentials == Credentials::IdentityKey {
            registrar = with_raw_public_key(registrar, Proximity::PublicKey);
        }
        let mut world = World::with(config(Coaps::default().with_credentials(credentials)), registrar);
        world.run_to(Phase::RequestIdentityKey);
        world.lose(); // its connection is made again
        world.run_to(Phase::Enrolled);
        assert_eq!(world.identity_key.as_deref(), Some(KEY_FILE));
        assert!(world.now >= 21_000, "{}", world.now); // the first answer was lost with the connection
    }
}

#[test]
fn a_new_connection_must_present_the_same_raw_public_key() {
    let mut world =
        raw_public_key_pledge(Proximity::PublicKey, with_raw_public_key(giving(key_file), Proximity::PublicKey));
    world.run_to(Phase::RequestIdentityKey);
    world.lose();
    world.registrar.raw_public_key = Some(public_key(&PKI.other_registrar.chain()[0]).unwrap().to_vec());
    assert_eq!(world.run_to_failure(), AttemptFailed::Enrollment(EnrollmentFailed::ConnectionLost));
    assert!(!resources(&world).contains(&Resource::EnrollStatus));
}

#[test]
fn what_a_log_prints_has_no_key() {
    let command = Command::StoreIdentityKey(zeroize::Zeroizing::new(KEY_FILE.to_vec()));
    assert_eq!(std::format!("{command:?}"), "StoreIdentityKey");
}

#[test]
fn a_device_with_an_ldevid_is_enrolled_also_if_nobody_gives_it_an_identity_key() {
    let mut world = pledge_of_both(giving(key_file));
    world.run_to(Phase::RequestIdentityKey);
    while world.pledge.phase() == Phase::RequestIdentityKey {
        world.lose();
        world.run(10, |world| world.connection.is_some() || world.pledge.phase() == Phase::Enrolled);
    }
    let lost = Event::NoIdentityKey(EnrollmentFailed::ConnectionLost);
    assert_eq!(world.events[1..], [lost, Event::Enrolled { is_reported: false }]);
    assert!(world.stored.is_some() && world.identity_key.is_none());
}
