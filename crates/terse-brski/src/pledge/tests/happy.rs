//! Onboarding without a hitch: what is sent in which order, and what comes of it.

use alloc::vec::Vec;
use std::vec;

use super::pki::{self, Late, PKI, SERIAL};
use super::registrar::{Registrar, certs_only, issue, parse_request};
use super::*;
use crate::est::{CsrAttributes, encode_body};
use crate::voucher::{Assertion, Pin};

const PATHS: [&str; 6] = [REQUEST_VOUCHER, VOUCHER_STATUS, CA_CERTS, CSR_ATTRIBUTES, SIMPLE_ENROLL, ENROLL_STATUS];

fn enrolled(mut world: World) -> World {
    world.run_to(Phase::Enrolled);
    let paths: Vec<_> = world.registrar().requests.iter().map(|request| request.path.clone()).collect();
    assert_eq!(paths, PATHS);
    let events: Vec<_> = world.events.iter().map(|(_, event)| *event).collect();
    assert_eq!(events, [Event::Imprinted(Assertion::Proximity), Event::Enrolled { is_reported: true }]);
    assert!(world.registrar().statuses.iter().all(|(_, status)| status.status && status.version == 1));
    world
}

#[test]
fn a_pledge_gets_its_ldevid() {
    let mut world = enrolled(World::new(Registrar::new()));
    // First with the IDevID, then with the LDevID through the same proxy (RFC 8995, 5.9.4).
    let to = Target::Proxy(Proxy(1));
    assert_eq!(world.connects, vec![(1_000, to.clone(), Identity::Idevid), (1_000, to, Identity::Ldevid)]);
    assert!(!world.is_connected());
    assert_eq!(world.pledge.poll_timeout(), None);

    let enrollment = world.stored.take().unwrap();
    assert_eq!(enrollment.anchors, vec![PKI.domain.root().clone()]);
    // The leaf and the intermediate, without the root.
    let chain = enrollment.credential.chain();
    assert_eq!(chain.len(), 2);
    assert_eq!(chain[1], pki::certificates(&PKI.domain)[1]);
    assert_eq!(enrollment.credential.public_key(), world.key().public_key());

    // It wants nothing more, whatever comes.
    world.now += 1_000_000;
    world.give(Input::Found(&[Proxy(2)]));
    world.give(Input::Timer);
    world.give(Input::LinkChanged);
    assert_eq!(world.connects.len(), 2);
}

#[test]
fn the_voucher_request_has_the_fields_of_the_rfc() {
    let mut world = World::new(Registrar::new());
    world.run_to(Phase::Enrolled);
    let date = world.date();
    let request = parse_request(&world.registrar().requests[0]);
    assert_eq!(request.serial_number, SERIAL);
    assert_eq!(request.assertion, Some(Assertion::Proximity));
    assert_eq!(request.created_on, Some(date));
    assert_eq!(request.proximity_registrar, vec![Pin::Certificate(PKI.registrar.chain()[0].clone())]);
    assert_eq!((request.idevid_issuer, request.prior_signed_voucher_request), (None, None));
    // 16 random bytes, in base64.
    assert_eq!(request.nonce.unwrap().as_bytes().len(), 24);
}

#[test]
fn a_pledge_without_a_clock_names_no_date_and_ignores_dates() {
    let registrar = Registrar::issuing(|voucher| {
        voucher.created_on = Some(pki::at(pki::NOW * 2));
        voucher.expires_on = Some(pki::at(1));
    });
    let mut world = World::with(pki::config(), []);
    world.has_clock = false;
    world.registrars.insert(Proxy(1), registrar);
    world.give(Input::Found(&[Proxy(1)]));
    let mut world = enrolled(world);
    assert_eq!(parse_request(&world.registrar().requests[0]).created_on, None);
}

#[test]
fn keys_may_sign_later() {
    let idevid = PKI.idevid.chain().to_vec();
    let late = terse_tls::Credential::new(idevid, Arc::new(Late(pki::idevid_key()))).unwrap();
    let mut world = World::with(pki::config_with(late), [(Proxy(1), Registrar::new())]);
    world.has_late_key = true;
    world.run_to(Phase::SignVoucherRequest);
    assert!(world.registrar().requests.is_empty());
    world.run_to(Phase::SignRequest);
    // There is no hurry: the key is the pledge's own.
    assert_eq!(world.pledge.poll_timeout(), None);
    enrolled(world);
}

#[test]
fn the_certification_request_has_what_the_registrar_asks_for() {
    // subjectAltName with the dNSName "a.example" (RFC 5280, 4.2.1.6).
    let extension = b"\x30\x14\x06\x03\x55\x1d\x11\x04\x0d\x30\x0b\x82\x09a.example".to_vec();
    let attributes = CsrAttributes { extensions: vec![extension], ..CsrAttributes::default() };
    let body = encode_body(&attributes.to_der());
    let mut world = World::new(Registrar::answering(move |request| match &*request.path {
        CSR_ATTRIBUTES => Some(Answer::ok("application/csrattrs", body.clone())),
        SIMPLE_ENROLL => {
            let csr = crate::est::decode_body(&request.body, "request").unwrap();
            let csr = terse_pki::CertificationRequest::from_der(&csr).unwrap();
            assert_eq!(csr.names().unwrap(), ["a.example"]);
            None
        }
        _ => None,
    }));
    world.run_to(Phase::Enrolled);
}

#[test]
fn a_domain_without_ca_certificates_has_the_pin_as_its_anchor() {
    for status in [204, 404] {
        let mut world = World::new(Registrar::answering(move |request| match &*request.path {
            CA_CERTS => Some(Answer::status(status)),
            // The intermediate comes with the LDevID.
            SIMPLE_ENROLL => Some(certs_only(&issue(request))),
            _ => None,
        }));
        world.run_to(Phase::Enrolled);
        assert_eq!(world.stored.unwrap().anchors, [PKI.domain.root().clone()]);
    }
}

#[test]
fn a_response_to_a_status_is_ignored() {
    for answer in [Answer::status(404), Answer::status(500), Answer::wait("1"), Answer::redirect("/x")] {
        let status = answer.status;
        let answer =
            move |request: &Request| matches!(&*request.path, VOUCHER_STATUS | ENROLL_STATUS).then(|| answer.clone());
        let mut world = World::new(Registrar::answering(answer));
        world.run_to(Phase::Enrolled);
        let is_reported = status == 202;
        assert_eq!(world.events.last().map(|(_, event)| *event), Some(Event::Enrolled { is_reported }));
    }
}

/// As a registrar whose disk is full answers: the status counts, because EST is closed without it.
#[test]
fn a_status_that_cannot_be_taken_yet_is_repeated_a_few_times() {
    let busy = Answer { retry_after: Some("10".into()), ..Answer::status(503) };
    for path in [VOUCHER_STATUS, ENROLL_STATUS] {
        for (times, repeats) in [(2, 2), (5, 5), (100, 5)] {
            let (busy, mut left) = (busy.clone(), times);
            let answer = move |request: &Request| {
                let is_busy = request.path == path && left > 0;
                left -= usize::from(is_busy);
                is_busy.then(|| busy.clone())
            };
            let mut world = World::new(Registrar::answering(answer));
            world.run_to(Phase::Enrolled);
            let sent: Vec<_> = world.registrar().requests.iter().filter(|request| request.path == path).collect();
            assert_eq!(sent.len(), 1 + repeats);
            assert!(sent.windows(2).all(|pair| pair[0] == pair[1]));
            let is_reported = path == VOUCHER_STATUS || times == repeats;
            assert_eq!(world.events.last().map(|(_, event)| *event), Some(Event::Enrolled { is_reported }));
        }
    }
}

#[test]
fn another_est_server_of_the_domain_may_take_the_status_of_the_enrollment() {
    let options = terse_pki::RegistrarOptions::new("registrar2.plant.example", pki::validity());
    let other = pki::credential(&PKI.domain.issue_registrar(&options).unwrap());
    let mut world = World::new(Registrar::new());
    world.run_to(Phase::Store);
    world.registrar().chain = other.chain().to_vec();
    world.run_to(Phase::Enrolled);
    assert_eq!(world.events.last().map(|(_, event)| *event), Some(Event::Enrolled { is_reported: true }));

    // A stranger is not told.
    let mut world = World::new(Registrar::new());
    world.run_to(Phase::Store);
    world.registrar().chain = PKI.other_registrar.chain().to_vec();
    world.run_to(Phase::Enrolled);
    assert_eq!(world.events.last().map(|(_, event)| *event), Some(Event::Enrolled { is_reported: false }));
    assert!(!world.registrar().requests.iter().any(|request| request.path == ENROLL_STATUS));
}
