//! Attempts that fail before the pledge has a voucher: proxies are tried in turn, and strangers learn nothing.

use std::vec;
use std::vec::Vec;

use super::pki::{self, PKI};
use super::registrar::{Registrar, parse_request};
use super::*;
use crate::voucher::MAX_LEN;

const TYPE: &str = "application/voucher-cms+json";

#[test]
fn a_refused_voucher_is_reported_without_a_reason_and_the_next_proxy_has_its_turn() {
    let mut world = World::with(pki::config(), [(Proxy(1), Registrar::attacker()), (Proxy(2), Registrar::new())]);
    let why = world.run_to_failure();
    assert!(matches!(why, AttemptFailed::Voucher(VoucherRefused::Signature(_))), "{why}");
    let statuses = &world.registrar().statuses;
    assert_eq!(statuses.len(), 1);
    assert!(!statuses[0].1.status);
    assert_eq!(statuses[0].1.reason.as_deref(), Some("the voucher was not accepted"));
    assert_eq!(world.closes, 1);
    world.run_to(Phase::Enrolled);
    let spacing = world.connects[1].0 - world.connects[0].0;
    assert!((3_000..=5_000).contains(&spacing), "{spacing}");
    assert_eq!(world.connects[1].1, Target::Proxy(Proxy(2)));
}

#[test]
fn every_way_to_refuse_a_voucher_says_the_same() {
    let registrars: Vec<(Registrar, VoucherRefused)> = vec![
        (Registrar::issuing(|voucher| voucher.pins.clear()), VoucherRefused::NoPin),
        (Registrar::issuing(|voucher| voucher.serial_number = "WI-3006".into()), VoucherRefused::SerialNumber),
        (
            Registrar::issuing(|voucher| voucher.domain_cert_revocation_checks = Some(true)),
            VoucherRefused::RevocationChecks,
        ),
        (Registrar::stranger(), VoucherRefused::Registrar(terse_tls::CertificateError::UnknownIssuer)),
    ];
    for (registrar, expected) in registrars {
        let mut world = World::new(registrar);
        assert_eq!(world.run_to_failure(), AttemptFailed::Voucher(expected));
        let (_, status) = &world.registrar().statuses[0];
        assert_eq!((status.status, status.reason.as_deref()), (false, Some("the voucher was not accepted")));
        assert!(!world.is_connected());
        let paths: Vec<_> = world.registrar().requests.iter().map(|request| request.path.clone()).collect();
        assert_eq!(paths, [REQUEST_VOUCHER, VOUCHER_STATUS]);
    }
}

#[test]
fn errors_of_http_end_an_attempt_without_a_status() {
    for status in [0, 100, 201, 204, 401, 403, 404, 406, 415, 500, 503, 600, u16::MAX] {
        let mut world = World::new(Registrar::answering(move |_| Some(Answer::status(status))));
        assert_eq!(world.run_to_failure(), AttemptFailed::NoVoucher(status));
        assert_eq!(world.registrar().requests.len(), 1);
        assert!(!world.is_connected());
    }
}

#[test]
fn garbage_instead_of_a_voucher_is_refused() {
    let cut = {
        let mut registrar = Registrar::new();
        let mut world = World::new(Registrar::new());
        world.run_to(Phase::RequestVoucher);
        registrar.answer(&world.registrar().requests[0].clone()).body
    };
    let mut bodies: Vec<Vec<u8>> = vec![
        vec![],
        vec![0],
        b"{}".to_vec(),
        b"<html>".to_vec(),
        vec![0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
        vec![0x30; MAX_LEN],
        vec![0xa0; 10_000],
        vec![0; MAX_LEN + 1],
        [&cut[..], &[0]].concat(),
    ];
    bodies.extend((0..cut.len()).step_by(37).map(|len| cut[..len].to_vec()));
    bodies.extend((0..cut.len()).step_by(41).map(|place| {
        let mut damaged = cut.clone();
        damaged[place] ^= 0x40;
        damaged
    }));
    for body in bodies {
        let mut world = World::new(Registrar::answering(move |request| {
            (request.path == REQUEST_VOUCHER).then(|| Answer::ok(TYPE, body.clone()))
        }));
        let why = world.run_to_failure();
        assert!(matches!(why, AttemptFailed::Voucher(_)), "{why}");
        assert_eq!(world.registrar().statuses.len(), 1);
    }
    // A whole voucher of another type, or of another request.
    for (media_type, expected) in [("application/json", VoucherRefused::ContentType), (TYPE, VoucherRefused::Nonce)] {
        let body = cut.clone();
        let mut world = World::new(Registrar::answering(move |request| {
            (request.path == REQUEST_VOUCHER).then(|| Answer::ok(media_type, body.clone()))
        }));
        world.rng = SeededRng::new(99);
        world.run_to(Phase::RequestVoucher);
        assert_eq!(world.run_to_failure(), AttemptFailed::Voucher(expected));
    }
}

#[test]
fn a_registrar_without_certificates_or_with_too_many_gets_no_request() {
    let leaf = PKI.registrar.chain()[0].clone();
    let large = pki_types::CertificateDer::from(vec![0; MAX_LEN]);
    for chain in [vec![], vec![leaf.clone(); 17], vec![leaf, large]] {
        let mut world = World::new(Registrar { chain, ..Registrar::new() });
        assert_eq!(world.run_to_failure(), AttemptFailed::Certificates);
        assert!(world.registrar().requests.is_empty());
    }
}

#[test]
fn every_attempt_has_a_nonce_of_its_own_and_each_proxy_backs_off_by_itself() {
    let refusing = || Registrar::answering(|_| Some(Answer::status(403)));
    let mut world = World::with(pki::config(), [(Proxy(1), refusing()), (Proxy(2), refusing())]);
    world.run(2_000, |world| world.connects.len() == 24);
    let mut nonces = Vec::new();
    for registrar in world.registrars.values() {
        nonces
            .extend(registrar.requests.iter().map(|request| parse_request(request).nonce.unwrap().as_bytes().to_vec()));
    }
    let count = nonces.len();
    assert!(count >= 23);
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), count);
    let times = |number| {
        let to = Target::Proxy(Proxy(number));
        world.connects.iter().filter(move |(_, target, _)| *target == to).map(|(at, ..)| *at).collect::<Vec<_>>()
    };
    for times in [times(1), times(2)] {
        let waits: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            waits
                .iter()
                .rev()
                .skip(1)
                .zip(waits.iter().rev())
                .all(|(before, after)| after > before || *after >= 2_700_000)
        );
    }
}

#[test]
fn without_progress_for_5_seconds_another_proxy_has_its_turn() {
    // The first proxy takes the connection, and says nothing.
    let mut world = World::with(pki::config(), [(Proxy(1), Registrar::new()), (Proxy(2), Registrar::new())]);
    assert_eq!(world.pledge.phase(), Phase::Connect);
    world.replies.clear();
    assert_eq!(world.pledge.poll_timeout(), Some(Instant(6_000)));
    world.now = 5_999;
    world.give(Input::Timer);
    assert_eq!(world.pledge.phase(), Phase::Connect);
    assert_eq!(world.run_to_failure(), AttemptFailed::NoProgress);
    assert_eq!(world.now, 6_000);
    world.run_to(Phase::Enrolled);
    assert_eq!(world.connects[1].1, Target::Proxy(Proxy(2)));
}

#[test]
fn without_another_proxy_the_pledge_waits_until_there_is_one() {
    for phase in [Phase::Connect, Phase::RequestVoucher] {
        let mut world = World::new(Registrar::new());
        world.run_to(phase);
        world.replies.clear();
        assert_eq!(world.pledge.poll_timeout(), Some(Instant(61_000)));
        world.now = 30_000;
        world.registrars.insert(Proxy(2), Registrar::new());
        world.give(Input::Found(&[Proxy(1), Proxy(2)]));
        assert_eq!(world.pledge.poll_timeout(), Some(Instant(30_000)));
        assert_eq!(world.run_to_failure(), AttemptFailed::NoProgress);
        world.run_to(Phase::Enrolled);
        assert!(world.now < 40_000);

        let mut world = World::new(Registrar::new());
        world.run_to(phase);
        world.replies.clear();
        assert_eq!(world.run_to_failure(), AttemptFailed::NoProgress);
        assert_eq!(world.now, 61_000);
    }
}

#[test]
fn a_registrar_that_does_not_take_the_status_is_left_after_5_seconds() {
    let mut world = World::new(Registrar::attacker());
    world.run_to(Phase::RefuseVoucher);
    world.replies.clear();
    let why = world.run_to_failure();
    assert!(matches!(why, AttemptFailed::Voucher(_)));
    assert_eq!(world.now, 6_000);
}

#[test]
fn a_change_of_the_link_ends_the_back_off() {
    let mut world = World::new(Registrar::answering(|_| Some(Answer::status(403))));
    world.run(1_000, |world| world.failures().len() == 10);
    world.now += 10_000;
    let connects = world.connects.len();
    world.give(Input::Timer);
    assert_eq!(world.connects.len(), connects);
    world.give(Input::LinkChanged);
    assert_eq!(world.connects.len(), connects + 1);
}

#[test]
fn without_randomness_there_is_no_request() {
    struct Broken;
    impl Rng for Broken {
        fn fill(&mut self, _: &mut [u8]) -> Result<(), terse_tls::crypto::CryptoError> {
            Err(terse_tls::crypto::CryptoError::RandomFailed)
        }
    }
    let mut world = World::new(Registrar::new());
    let (connection, chain) = (world.connection(), PKI.registrar.chain());
    let time = world.time();
    let commands =
        world.pledge.handle(time, &mut Broken, Input::Connected { connection, presented: Presented::Chain(chain) });
    let why = AttemptFailed::Crypto(terse_tls::crypto::CryptoError::RandomFailed);
    assert!(matches!(commands[..], [Command::Close(_), Command::Inform(Event::Failed(_, failed))] if failed == why));
}

#[test]
fn a_key_that_never_signs_does_not_hold_the_pledge_up_for_ever() {
    let idevid = PKI.idevid.chain().to_vec();
    let late = terse_tls::Credential::new(idevid, Arc::new(pki::Late(pki::idevid_key()))).unwrap();
    let mut world = World::with(pki::config_with(late), [(Proxy(1), Registrar::new())]);
    world.run_to(Phase::SignVoucherRequest);
    world.replies.clear();
    let failed = AttemptFailed::Crypto(terse_tls::crypto::CryptoError::SigningFailed);
    assert_eq!(world.run_to_failure(), failed);
    assert_eq!(world.now, 61_000);
    world.run_to(Phase::Enrolled);
}
