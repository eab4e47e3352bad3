//! Enrollments that fail, and what the registrar is told.

use alloc::boxed::Box;
use alloc::string::String;
use std::vec;
use std::vec::Vec;

use terse_tls::CertificateError;
use terse_tls::crypto::CryptoError;

use super::pki::{self, PKI};
use super::registrar::{Registrar, certs_only, issue};
use super::world::Reply;
use super::*;
use crate::Malformed;

/// Returns a registrar that answers requests to `path` in this way.
fn at(path: &'static str, answer: Answer) -> Registrar {
    Registrar::answering(move |request| (request.path == path).then(|| answer.clone()))
}

/// Lets the enrollment fail, and checks that the registrar is told so over the same connection.
fn failure(registrar: Registrar) -> EnrollmentFailed {
    let mut world = World::new(registrar);
    let why = world.run_to_failure();
    let AttemptFailed::Enrollment(why) = why else { panic!("{why}") };
    let (name, status) = world.registrar().statuses.last().unwrap();
    assert_eq!((*name, status.status), ("enrollment", false), "{why}");
    assert_eq!(status.reason.as_deref(), Some(why.reason()));
    assert_eq!(world.connects.len(), 1);
    assert!(!world.is_connected());
    // It begins anew.
    world.run(100, |world| world.connects.len() == 2);
    assert_eq!(world.connects[1].2, Identity::Idevid);
    why
}

#[test]
fn refusals_of_each_request_are_told() {
    for path in [CA_CERTS, CSR_ATTRIBUTES, SIMPLE_ENROLL] {
        for status in [400, 401, 403, 500, 503, 0, 307] {
            assert_eq!(failure(at(path, Answer::status(status))), EnrollmentFailed::Refused(status), "{path}");
        }
    }
    assert_eq!(failure(at(SIMPLE_ENROLL, Answer::status(404))), EnrollmentFailed::Refused(404));
    // A redirection to another origin would lead away from the registrar that the voucher has authenticated.
    let answer = Answer::redirect("https://other.example/simpleenroll");
    assert_eq!(failure(at(SIMPLE_ENROLL, answer)), EnrollmentFailed::Refused(307));
}

#[test]
fn garbage_from_the_registrar_of_the_domain_is_refused() {
    type Kind = fn(&EnrollmentFailed) -> bool;
    let kinds: [(&str, &str, Kind); 3] = [
        (CA_CERTS, "application/pkcs7-mime", |why| matches!(why, EnrollmentFailed::CaCertificates(_))),
        (CSR_ATTRIBUTES, "application/csrattrs", |why| matches!(why, EnrollmentFailed::CsrAttributes(_))),
        (SIMPLE_ENROLL, "application/pkcs7-mime", |why| matches!(why, EnrollmentFailed::Certificate(_))),
    ];
    for (path, media_type, is_expected) in kinds {
        for body in [b"!".to_vec(), b"AAAA".to_vec(), b"MIID".to_vec(), vec![b'A'; 1_000], vec![0xff; 10]] {
            let why = failure(at(path, Answer::ok(media_type, body)));
            assert!(is_expected(&why), "{path}: {why}");
        }
        let why = failure(at(path, Answer::ok("text/html", b"AAAA".to_vec())));
        assert!(is_expected(&why), "{path}: {why}");
        let long = Answer::ok(media_type, vec![b'A'; 4 * crate::voucher::MAX_LEN + 1]);
        let why = failure(at(path, long));
        assert!(is_expected(&why) && std::format!("{why}").contains("longer than"), "{path}: {why}");
    }
}

#[test]
fn a_certificate_for_another_key_is_refused() {
    let other = PKI.registrar.chain().to_vec();
    assert_eq!(failure(at(SIMPLE_ENROLL, certs_only(&other))), EnrollmentFailed::OtherKey);
    let why = failure(at(SIMPLE_ENROLL, certs_only(&[])));
    assert!(matches!(why, EnrollmentFailed::OtherKey | EnrollmentFailed::Certificate(_)), "{why}");
}

#[test]
fn a_certificate_of_another_ca_is_refused() {
    let foreign = pki::certificates(&PKI.stranger);
    let why = failure(at(CA_CERTS, certs_only(&foreign)));
    assert_eq!(why, EnrollmentFailed::Chain(CertificateError::UnknownIssuer));
}

#[test]
fn a_domain_without_any_root_is_refused() {
    use crate::voucher::Pin;
    let key = crate::certificate::public_key(&PKI.registrar.chain()[0]).unwrap().to_vec();
    let registrar = Registrar {
        hook: Box::new(|request| (request.path == CA_CERTS).then(|| Answer::status(404))),
        ..Registrar::issuing(move |voucher| voucher.pins = vec![Pin::PublicKey(key.clone().into())])
    };
    assert_eq!(failure(registrar), EnrollmentFailed::NoAnchor);
}

#[test]
fn the_pledge_waits_for_a_certificate() {
    for answer in [Answer::wait("20"), Answer { status: 503, ..Answer::wait("20") }] {
        for path in [CA_CERTS, CSR_ATTRIBUTES, SIMPLE_ENROLL] {
            let answer = answer.clone();
            let mut left = 3;
            let mut world = World::new(Registrar::answering(move |request| {
                let waits = request.path == path && left > 0;
                left -= usize::from(waits);
                waits.then(|| answer.clone())
            }));
            world.run_to(Phase::Enrolled);
            assert_eq!(world.now, 61_000);
            let requests = world.registrar().requests.iter().filter(|request| request.path == path);
            let bodies: Vec<_> = requests.map(|request| request.body.clone()).collect();
            assert_eq!(bodies.len(), 4);
            assert!(bodies.iter().all(|body| *body == bodies[0]));
            assert_eq!(world.connects.len(), 2);
        }
    }
}

#[test]
fn the_pledge_does_not_wait_for_ever() {
    let mut world = World::new(at(SIMPLE_ENROLL, Answer::wait("60")));
    world.run(20_000, |world| !world.failures().is_empty());
    assert_eq!(world.failures(), [AttemptFailed::Enrollment(EnrollmentFailed::WaitedTooLong)]);
    assert_eq!(world.now, 1_000 + 4 * 24 * 3_600_000);
    assert_eq!(world.registrar().statuses.last().map(|(_, status)| status.status), Some(false));
}

#[test]
fn redirections_within_the_origin_are_followed_a_few_times() {
    let mut world = World::new(Registrar::answering(|request| match &*request.path {
        SIMPLE_ENROLL => Some(Answer::redirect("/enroll")),
        "/enroll" => Some(certs_only(&issue(request))),
        _ => None,
    }));
    world.run_to(Phase::Enrolled);
    // The steps that follow have their own paths again.
    assert_eq!(world.registrar().requests.last().unwrap().path, ENROLL_STATUS);

    let why = failure(Registrar::answering(|request| {
        (request.path == SIMPLE_ENROLL || request.path == "/x").then(|| Answer::redirect("/x"))
    }));
    assert_eq!(why, EnrollmentFailed::Refused(307));
}

#[test]
fn without_key_signature_or_storage_the_enrollment_fails() {
    let signing_failed = EnrollmentFailed::Request(crate::SignatureRefused::Crypto(CryptoError::SigningFailed));
    let cases = [
        (Phase::MakeKey, EnrollmentFailed::Key(CryptoError::RandomFailed)),
        (Phase::SignRequest, signing_failed),
        (Phase::Store, EnrollmentFailed::NotStored),
    ];
    for (phase, expected) in cases {
        let mut world = World::new(Registrar::new());
        world.has_late_key = true;
        world.run_to(phase);
        let failure = match world.replies.pop_front() {
            Some(Reply::Key(_)) => Reply::Key(Err(CryptoError::RandomFailed)),
            Some(Reply::Signed(signature, _)) => Reply::SigningFailed(signature),
            Some(Reply::Stored(_)) => Reply::Stored(false),
            _ => panic!("{phase:?}"),
        };
        world.reply(failure);
        assert_eq!(world.run_to_failure(), AttemptFailed::Enrollment(expected));
        let (_, status) = world.registrar().statuses.last().unwrap();
        assert_eq!((status.status, status.reason.clone()), (false, Some(String::from(expected.reason()))));
    }
}

#[test]
fn a_pinned_key_of_the_registrar_is_enough() {
    use crate::voucher::Pin;
    let key = crate::certificate::public_key(&PKI.registrar.chain()[0]).unwrap().to_vec();
    let registrar = Registrar::issuing(move |voucher| voucher.pins = vec![Pin::PublicKey(key.clone().into())]);
    let mut world = World::new(registrar);
    world.run_to(Phase::Enrolled);
    assert_eq!(world.stored.unwrap().anchors, [PKI.domain.root().clone()]);
}

#[test]
fn texts_of_failures_say_what_has_happened() {
    let failed = AttemptFailed::Enrollment(EnrollmentFailed::CaCertificates(Malformed::TooLong(9)));
    assert_eq!(
        std::format!("{failed}"),
        "the enrollment failed: the CA certificates are malformed: it is longer than 9 bytes"
    );
    let refused = AttemptFailed::Voucher(VoucherRefused::NoPin);
    assert!(std::format!("{refused}").contains("pins no domain"));
}

#[test]
fn responses_are_as_long_as_the_configuration_allows() {
    let len = {
        let mut registrar = Registrar::new();
        let mut world = World::new(Registrar::new());
        world.run_to(Phase::RequestCaCerts);
        registrar.answer(&world.registrar().requests[2].clone()).body.len()
    };
    let run = |max_response| {
        let mut world = World::with(pki::config().max_response(max_response), [(Proxy(1), Registrar::new())]);
        world.run_to(Phase::RequestCaCerts);
        assert_eq!(world.registrar().requests[2].max_response, max_response);
        world.step();
        world
    };
    assert_eq!(run(len).pledge.phase(), Phase::RequestCsrAttributes);
    let failed = EnrollmentFailed::CaCertificates(Malformed::TooLong(len - 1));
    assert_eq!(run(len - 1).run_to_failure(), AttemptFailed::Enrollment(failed));
}
