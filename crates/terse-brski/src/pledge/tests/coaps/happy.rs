//! Onboarding without a hitch: what is sent in which order, and what comes of it.

use alloc::sync::Arc;

use super::super::pki::{self, Late, PKI, SERIAL};
use super::registrar::{hierarchy, parse_request, pin};
use super::world::{config, config_with};
use super::*;
use crate::voucher::Assertion;

/// Method, path, content format of the payload, and the one that is accepted.
type Row = (Method, &'static str, Option<u16>, Option<u16>);

const REQUESTS: [Row; 5] = [
    (Method::Post, "/.well-known/brski/rv", Some(836), Some(836)),
    (Method::Post, "/.well-known/brski/vs", Some(60), None),
    (Method::Get, "/.well-known/est/crts", None, Some(62)),
    (Method::Post, "/.well-known/est/sen", Some(286), Some(287)),
    (Method::Post, "/.well-known/brski/es", Some(60), None),
];

fn enrolled(mut world: World) -> World {
    world.run_to(Phase::Enrolled);
    assert_eq!(world.registrar.requests.len(), REQUESTS.len());
    for (request, (method, path, content_format, accept)) in world.registrar.requests.iter().zip(REQUESTS) {
        let segments: Vec<_> = request.resource.path(PathForm::WellKnown).collect();
        assert_eq!(segments, path.split('/').skip(1).collect::<Vec<_>>());
        let sent = (request.method, request.content_format, request.accept);
        assert_eq!(sent, (method, content_format, accept), "{path}");
        assert_eq!((request.query, request.etag), (None, None));
        assert_eq!(request.payload.is_empty(), method == Method::Get);
    }
    assert_eq!(world.events, [Event::Imprinted(Assertion::Proximity), Event::Enrolled { is_reported: true }]);
    assert!(world.registrar.statuses.iter().all(|status| status.status && status.version == 1));
    world
}

#[test]
fn a_pledge_gets_its_ldevid() {
    let world = enrolled(World::new(Registrar::new()));
    // First with the IDevID, then with the LDevID through the same proxy (RFC 8995, 5.9.4).
    assert_eq!(world.connects, [(1_000, Identity::Idevid), (1_000, Identity::Ldevid)]);
    assert_eq!((world.connection, world.pledge.poll_timeout()), (None, None));
    let enrollment = world.stored.unwrap();
    assert_eq!(enrollment.anchors, [PKI.domain.root().clone()]);
    // The leaf, and the intermediate, which came with the CA certificates.
    let chain = enrollment.credential.chain();
    assert_eq!((chain.len(), &chain[1]), (2, &hierarchy()[0]));
}

#[test]
fn the_voucher_request_has_the_fields_of_the_draft() {
    let leaf = &PKI.registrar.chain()[0];
    for kind in [Proximity::PublicKeySha256, Proximity::PublicKey, Proximity::Certificate] {
        let world = enrolled(World::with(config(Coaps::default().with_proximity(kind)), Registrar::new()));
        let request = parse_request(&world.registrar.requests[0]);
        assert_eq!(request.serial_number, SERIAL);
        assert_eq!(request.created_on, Some(world.date()));
        assert_eq!(request.proximity_registrar, [pin(kind, leaf)]);
        assert_eq!((request.idevid_issuer, request.prior_signed_voucher_request), (None, None));
        // 16 random bytes, as they are.
        assert_eq!(request.nonce.unwrap().as_bytes().len(), 16);
        // Tag 18, four fields, ES256 in the protected header, and nothing in the unprotected one.
        assert_eq!(world.registrar.requests[0].payload[..7], [0xd2, 0x84, 0x43, 0xa1, 0x01, 0x26, 0xa0]);
    }
}

#[test]
fn the_hash_of_the_key_is_the_default() {
    assert_eq!(Coaps::default(), Coaps::default().with_proximity(Proximity::PublicKeySha256));
    let world = enrolled(World::new(Registrar::new()));
    let len = world.registrar.requests[0].payload.len();
    assert!(len < 200, "{len}");
}

#[test]
fn keys_may_sign_later() {
    let late = terse_tls::Credential::new(PKI.idevid.chain().to_vec(), Arc::new(Late(pki::idevid_key()))).unwrap();
    let config = config_with(Coaps::default(), late, vec![PKI.vouchers.root().clone()]);
    let mut world = World::with(config.clone(), Registrar::new());
    world.has_late_keys = true;
    world.run_to(Phase::SignVoucherRequest);
    assert!(world.registrar.requests.is_empty());
    world.run_to(Phase::SignRequest);
    enrolled(world);

    // What is no signature in DER is not sent.
    for signature in [vec![], vec![0; 64], vec![0x30, 0x80]] {
        let mut world = World::with(config.clone(), Registrar::new());
        world.false_signature = Some(signature);
        assert!(matches!(world.run_to_failure(), AttemptFailed::Request(_)));
        assert!(world.registrar.requests.is_empty());
    }
}
