//! The forms of CA certificates and of the LDevID, and what is refused of them.

use terse_tls::CertificateError;

use super::super::pki::{PKI, certificates};
use super::registrar::{ca_certificates, hierarchy, issue, key_hash, success};
use super::*;
use crate::Malformed;
use crate::coap::multipart;
use crate::est::{MAX_BODY_LEN, encode_body, encode_certs_only};
use crate::voucher::Pin;

/// Returns a registrar that answers a request for the LDevID so.
fn certifying(answer: impl Fn(&Request) -> Response + 'static) -> Registrar {
    Registrar::answering(move |request| (request.resource == Resource::SimpleEnroll).then(|| answer(request)))
}

#[test]
fn ca_certificates_come_in_three_forms() {
    let (intermediate, root) = (&hierarchy()[0], PKI.domain.root());
    let unknown = multipart::encode(&[
        (format::PKIX_CERT, intermediate),
        (format::TEXT_PLAIN, b"a format of the future"),
        (format::PKIX_CERT, root),
    ]);
    for response in [
        ca_certificates(&[intermediate.clone(), root.clone()]),
        ca_certificates(&[root.clone(), intermediate.clone()]),
        success(Method::Get, format::PKCS7_CERTS_ONLY, &encode_certs_only(&hierarchy())),
        success(Method::Get, format::MULTIPART_CORE, &unknown),
    ] {
        let mut world = World::new(Registrar::answering_at(Resource::CaCerts, response));
        world.run_to(Phase::Enrolled);
        assert_eq!(world.stored.unwrap().anchors, core::slice::from_ref(root));
    }
    // The one CA, where the intermediate comes with the LDevID.
    let mut registrar =
        certifying(|request| success(Method::Post, format::PKCS7_CERTS_ONLY, &encode_certs_only(&issue(request))));
    let mut others = registrar.hook;
    registrar.hook = std::boxed::Box::new(move |request| match request.resource {
        Resource::CaCerts => Some(success(Method::Get, format::PKIX_CERT, PKI.domain.root())),
        _ => others(request),
    });
    let mut world = World::new(registrar);
    world.run_to(Phase::Enrolled);
    let enrollment = world.stored.unwrap();
    assert_eq!((enrollment.anchors.len(), enrollment.credential.chain().len()), (1, 2));
}

#[test]
fn the_highest_ca_is_the_anchor_where_the_root_is_not_there() {
    let intermediate = hierarchy()[0].clone();
    let response = ca_certificates(core::slice::from_ref(&intermediate));
    // With a pinned root, and with a pinned key of the registrar alone.
    let key = key_hash(&PKI.registrar.chain()[0]);
    let pins = [Pin::Certificate(PKI.domain.root().clone()), Pin::PublicKeySha256(key)];
    for pin in pins {
        let mut registrar = Registrar::answering_at(Resource::CaCerts, response.clone());
        registrar.edit = std::boxed::Box::new(move |voucher| voucher.pins = vec![pin.clone()]);
        let mut world = World::new(registrar);
        world.run_to(Phase::Enrolled);
        let enrollment = world.stored.unwrap();
        assert_eq!(enrollment.anchors, core::slice::from_ref(&intermediate));
        assert_eq!(enrollment.credential.chain().len(), 1);
    }
}

#[test]
fn without_ca_certificates_the_pinned_certificate_is_the_anchor() {
    let not_found = || Response::new(Code::NOT_FOUND);
    let mut registrar =
        certifying(|request| success(Method::Post, format::PKCS7_CERTS_ONLY, &encode_certs_only(&issue(request))));
    let mut others = registrar.hook;
    registrar.hook = std::boxed::Box::new(move |request| match request.resource {
        Resource::CaCerts => Some(not_found()),
        _ => others(request),
    });
    let mut world = World::new(registrar);
    world.run_to(Phase::Enrolled);
    assert_eq!(world.stored.unwrap().anchors, [PKI.domain.root().clone()]);

    let mut registrar = Registrar::answering_at(Resource::CaCerts, not_found());
    registrar.edit = std::boxed::Box::new(|voucher| {
        voucher.pins = vec![Pin::PublicKeySha256(key_hash(&PKI.registrar.chain()[0]))];
    });
    assert_eq!(World::new(registrar).run_to_enrollment_failure(), EnrollmentFailed::NoAnchor);
}

#[test]
fn other_ca_certificates_are_refused() {
    let root = PKI.domain.root();
    let many = vec![(format::PKIX_CERT, root.as_ref()); 17];
    let get = |content_format, payload: &[u8]| success(Method::Get, content_format, payload);
    for (response, malformed) in [
        (Response { content_format: None, ..get(0, root) }, Malformed::Invalid("Content-Format")),
        (get(format::CBOR, &multipart::encode(&[])), Malformed::Invalid("Content-Format")),
        (get(format::JSON, b"{}"), Malformed::Invalid("Content-Format")),
        (get(format::MULTIPART_CORE, b""), Malformed::Invalid("multipart-core")),
        (get(format::MULTIPART_CORE, &multipart::encode(&[])), Malformed::Missing("certificates")),
        (get(format::MULTIPART_CORE, &multipart::encode(&many)), Malformed::TooMany("multipart-core")),
        (get(format::MULTIPART_CORE, &vec![0x9f; MAX_BODY_LEN + 1]), Malformed::TooLong(MAX_BODY_LEN)),
        (Response::new(Code::CONTENT), Malformed::Invalid("Content-Format")),
    ] {
        let mut world = World::new(Registrar::answering_at(Resource::CaCerts, response));
        assert_eq!(world.run_to_enrollment_failure(), EnrollmentFailed::CaCertificates(malformed));
    }
    // What is no certificate, and EST in base64, as over HTTPS.
    for response in [
        get(format::MULTIPART_CORE, &multipart::encode(&[(format::PKIX_CERT, b"\x30\x00")])),
        get(format::PKIX_CERT, b"\x30\x00"),
        get(format::PKCS7_CERTS_ONLY, &encode_body(&encode_certs_only(&hierarchy()))),
    ] {
        let mut world = World::new(Registrar::answering_at(Resource::CaCerts, response));
        let why = world.run_to_enrollment_failure();
        assert!(matches!(why, EnrollmentFailed::CaCertificates(Malformed::Der(_))), "{why}");
    }
    let mut world = World::new(Registrar::answering_at(Resource::CaCerts, Response::new(Code::NOT_ACCEPTABLE)));
    assert_eq!(world.run_to_enrollment_failure(), EnrollmentFailed::Refused(406));
}

#[test]
fn the_ldevid_comes_in_two_forms() {
    for content_format in [format::PKIX_CERT, format::PKCS7_CERTS_ONLY] {
        let mut world = World::new(certifying(move |request| {
            let issued = issue(request);
            let payload = match content_format {
                format::PKIX_CERT => issued[0].to_vec(),
                _ => encode_certs_only(&issued[..1]),
            };
            success(Method::Post, content_format, &payload)
        }));
        world.run_to(Phase::Enrolled);
    }
}

#[test]
fn another_ldevid_is_refused() {
    let post = |content_format, payload: &[u8]| success(Method::Post, content_format, payload);
    let other = PKI.registrar.chain()[0].clone();
    let mut world = World::new(certifying(move |_| post(format::PKIX_CERT, &other)));
    assert_eq!(world.run_to_enrollment_failure(), EnrollmentFailed::OtherKey);
    for (content_format, malformed) in [(format::MULTIPART_CORE, "Content-Format"), (format::PKCS10, "Content-Format")]
    {
        let mut world = World::new(certifying(move |request| post(content_format, &issue(request)[0])));
        let expected = EnrollmentFailed::Certificate(Malformed::Invalid(malformed));
        assert_eq!(world.run_to_enrollment_failure(), expected);
    }
    let mut world = World::new(certifying(|_| Response::new(Code::FORBIDDEN)));
    assert_eq!(world.run_to_enrollment_failure(), EnrollmentFailed::Refused(403));
    // A domain that names another CA than the one that has issued.
    let mut world =
        World::new(Registrar::answering_at(Resource::CaCerts, ca_certificates(&certificates(&PKI.stranger))));
    let unknown = EnrollmentFailed::Chain(CertificateError::UnknownIssuer);
    assert_eq!(world.run_to_enrollment_failure(), unknown);
}

#[test]
fn a_response_to_a_status_is_ignored() {
    for resource in [Resource::VoucherStatus, Resource::EnrollStatus] {
        let mut world = World::new(Registrar::answering_at(resource, Response::new(Code::NOT_FOUND)));
        world.run_to(Phase::Enrolled);
        let is_reported = resource == Resource::VoucherStatus;
        assert_eq!(world.events.last(), Some(&Event::Enrolled { is_reported }));
    }
}
