//! What a MASA issues, and everything that it refuses.

use terse_brski::artefact::Format;
use terse_brski::certificate::{domain_id, is_same_issuer};
use terse_brski::digest::{public_key_sha256, sha256};
use terse_brski::http::{JSON, Posted};
use terse_brski::masa::{
    Buyer, Claims, Context, Decision, IssuedVoucher, LogEntry, Nonceless, PinChoice, Policy, Proximity, Refusal,
    RevocationStatus,
};
use terse_brski::voucher::{Assertion, MAX_LEN, Pin, Voucher, VoucherRequest};
use terse_brski::{Malformed, SignatureRefused};
use terse_pki::{LeafOptions, Validity};
use terse_rustcrypto::PROVIDER;
use terse_tls::CertificateError;

use super::scene::{
    NOW, SERIAL, Scene, at, authority, changed, decide, idevid, nonce, now, other, posted, registrar_credential,
    sign_in,
};

fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    change(&mut policy);
    policy
}

fn nonceless_policy() -> Policy {
    policy(|policy| policy.nonceless = Some(Nonceless { lifetime: 1_200, pin: PinChoice::Highest }))
}

fn refused<T: core::fmt::Debug>(result: Result<T, Refusal>, expected: Refusal, status: u16) {
    let refusal = result.unwrap_err();
    assert_eq!(refusal, expected);
    assert_eq!(refusal.status(), status, "{refusal}");
}

#[test]
fn a_voucher_says_what_was_verified() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let issuance = decide(&scene.masa(Policy::default()), &scene.good_request(), &scene.context()).unwrap();
        let lowest_ca = scene.chain()[1].clone();
        let mut voucher = Voucher::new(SERIAL.into(), Assertion::Proximity);
        voucher.created_on = Some(now());
        voucher.nonce = nonce("base64-or-not");
        voucher.idevid_issuer = Some(scene.device.idevid_issuer.clone().into());
        voucher.domain_cert_revocation_checks = Some(false);
        voucher.pins = vec![Pin::Certificate(lowest_ca.clone())];
        assert_eq!(issuance.voucher, voucher);
        let entry = LogEntry {
            date: now(),
            domain_id: domain_id(&PROVIDER, &lowest_ca).unwrap(),
            key: public_key_sha256(&PROVIDER, &lowest_ca).unwrap(),
            nonce: nonce("base64-or-not"),
            assertion: Assertion::Proximity,
        };
        assert_eq!(issuance.entry, entry);
    }
}

#[test]
fn idevid_issuer_is_left_out_where_serial_numbers_are_unique() {
    let scene = Scene::new();
    let masa = scene.masa(policy(|policy| policy.serial_numbers_are_unique = true));
    let issuance = decide(&masa, &scene.good_request(), &scene.context()).unwrap();
    assert_eq!(issuance.voucher.idevid_issuer, None);
}

#[test]
fn each_wrong_field_of_the_registrar_is_refused() {
    for format in Format::ALL {
        type Change = fn(&mut VoucherRequest);
        let cases: [(Change, Refusal); 7] = [
            (|fields| fields.serial_number = "WI-3006".into(), Refusal::SerialNumber),
            (|fields| fields.nonce = nonce("another nonce"), Refusal::Nonce),
            (
                |fields| fields.idevid_issuer = Some(b"\x04\x04\x30\x02\x80\x00".as_slice().into()),
                Refusal::IdevidIssuer,
            ),
            (|fields| fields.created_on = Some(at(NOW - 86_401)), Refusal::Stale),
            (|fields| fields.created_on = Some(at(NOW + 301)), Refusal::InTheFuture),
            (|fields| fields.created_on = None, Refusal::Undated),
            (|fields| fields.prior_signed_voucher_request = None, Refusal::NoPledgeRequest),
        ];
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        for (change, expected) in cases {
            let mut fields = scene.registrar_fields(Some(scene.pledge_request(&scene.pledge_fields())));
            change(&mut fields);
            refused(decide(&masa, &scene.registrar_request(&fields), &scene.context()), expected, 403);
        }
        let at_the_limits: [Change; 2] =
            [|fields| fields.created_on = Some(at(NOW - 86_400)), |fields| fields.created_on = Some(at(NOW + 300))];
        for change in at_the_limits {
            let mut fields = scene.registrar_fields(Some(scene.pledge_request(&scene.pledge_fields())));
            change(&mut fields);
            decide(&masa, &scene.registrar_request(&fields), &scene.context()).unwrap();
        }
    }
}

#[test]
fn each_wrong_field_of_the_pledge_is_refused() {
    for format in Format::ALL {
        type Change = fn(&mut VoucherRequest);
        let cases: [(Change, Refusal); 4] = [
            (|fields| fields.serial_number = "WI-3006".into(), Refusal::SerialNumber),
            (|fields| fields.nonce = nonce("another nonce"), Refusal::Nonce),
            (|fields| fields.nonce = None, Refusal::Nonce),
            (|fields| fields.proximity_registrar = vec![Pin::PublicKeySha256([1; 32])], Refusal::OtherRegistrar),
        ];
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        for (change, expected) in cases {
            let mut fields = scene.pledge_fields();
            change(&mut fields);
            let request = scene.registrar_request(&scene.registrar_fields(Some(scene.pledge_request(&fields))));
            refused(decide(&masa, &request, &scene.context()), expected, 403);
        }
    }
}

/// An attacker has kept a request, and is the registrar that the device was near to once.
#[test]
fn a_request_of_a_pledge_that_was_kept_gets_no_voucher() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        let made = |created_on| {
            let mut fields = scene.pledge_fields();
            fields.created_on = created_on;
            scene.registrar_request(&scene.registrar_fields(Some(scene.pledge_request(&fields))))
        };
        let assertion = |created_on| {
            let issuance = decide(&masa, &made(created_on), &scene.context()).unwrap();
            issuance.voucher.assertion
        };
        for days in [400, 6] {
            let kept = made(Some(at(NOW - days * 86_400)));
            refused(decide(&masa, &kept, &scene.context()), Refusal::PledgeStale, 403);
        }
        // A pledge repeats its request for four days.
        assert_eq!(assertion(Some(at(NOW - 4 * 86_400))), Assertion::Proximity);
        assert_eq!(assertion(Some(at(NOW + 300))), Assertion::Proximity);
        // Without a date, or with one that is wrong, it may be of any age: it shows that the device is this one, and not where it is.
        assert_eq!(assertion(None), Assertion::Logged);
        assert_eq!(assertion(Some(at(NOW + 400 * 86_400))), Assertion::Logged);
        // Where proximity is required, that is not enough.
        let strict = scene.masa(policy(|policy| policy.proximity = Proximity::Required));
        decide(&strict, &made(Some(now())), &scene.context()).unwrap();
        for created_on in [None, Some(at(NOW + 400 * 86_400))] {
            refused(decide(&strict, &made(created_on), &scene.context()), Refusal::PledgeUndated, 403);
        }
        // A manufacturer that believes devices without clocks says so.
        let lax = scene.masa(policy(|policy| policy.pledge_max_age = None));
        for created_on in [None, Some(at(NOW - 400 * 86_400))] {
            let issuance = decide(&lax, &made(created_on), &scene.context()).unwrap();
            assert_eq!(issuance.voucher.assertion, Assertion::Proximity);
        }
    }
}

/// A device that was released, or whose vouchers every domain may have: who kept its request cannot use it again.
#[test]
fn a_nonce_of_a_pledge_serves_one_domain_and_not_for_ever() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let mut undated = scene.pledge_fields();
        undated.created_on = None;
        let request = scene.registrar_request(&scene.registrar_fields(Some(scene.pledge_request(&undated))));
        let masa = scene.masa(policy(|policy| policy.claims = Claims::Always));
        let entry = decide(&masa, &request, &scene.context()).unwrap().entry;
        let again = |entry: LogEntry| {
            let log = [entry];
            decide(&masa, &request, &Context { log: &log, ..scene.context() }).map(|issuance| issuance.voucher.nonce)
        };
        // The registrar signs the same request of the pledge anew, while the pledge waits.
        assert_eq!(again(entry.clone()), Ok(nonce("base64-or-not")));
        let earlier = LogEntry { date: at(NOW - 4 * 86_400), ..entry.clone() };
        assert_eq!(again(earlier), Ok(nonce("base64-or-not")));
        let long_ago = LogEntry { date: at(NOW - 6 * 86_400), ..entry.clone() };
        refused(again(long_ago), Refusal::NonceUsed, 403);
        let of_another_domain = LogEntry { key: [1; 32], ..entry.clone() };
        refused(again(of_another_domain), Refusal::NonceUsed, 403);
        let with_another_nonce = LogEntry { key: [1; 32], nonce: nonce("another nonce"), ..entry };
        assert_eq!(again(with_another_nonce), Ok(nonce("base64-or-not")));
    }
}

#[test]
fn damage_to_either_signature_is_refused() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        let good = scene.good_request();
        let mut damaged = good.clone();
        // The last place is in the content, wherever the certificates are.
        let at = good.windows(SERIAL.len()).rposition(|window| window == SERIAL.as_bytes()).unwrap();
        damaged[at] ^= 1;
        refused(decide(&masa, &damaged, &scene.context()), Refusal::Signature(changed(format)), 403);
        let mut damaged = good.clone();
        *damaged.last_mut().unwrap() ^= 1;
        let refusal = decide(&masa, &damaged, &scene.context()).unwrap_err();
        assert!(matches!(refusal, Refusal::Signature(_)), "{refusal}");

        let mut pledge_request = scene.pledge_request(&scene.pledge_fields());
        let at = pledge_request.windows(SERIAL.len()).position(|window| window == SERIAL.as_bytes()).unwrap();
        pledge_request[at] ^= 1;
        let request = scene.registrar_request(&scene.registrar_fields(Some(pledge_request)));
        refused(decide(&masa, &request, &scene.context()), Refusal::PledgeSignature(changed(format)), 403);
        let request = scene.registrar_request(&scene.registrar_fields(Some(b"garbage".to_vec())));
        let refusal = decide(&masa, &request, &scene.context()).unwrap_err();
        assert!(matches!(refusal, Refusal::PledgeSignature(SignatureRefused::Malformed(_))), "{refusal}");
        assert_eq!(refusal.status(), 403);
    }
}

#[test]
fn signed_garbage_is_refused() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        let request = sign_in(format, &scene.registrar, &scene.enclosed(), b"{}");
        let refusal = decide(&masa, &request, &scene.context()).unwrap_err();
        assert!(matches!(refusal, Refusal::Request(_)), "{refusal}");
        assert_eq!(refusal.status(), 406);
        let pledge_request = sign_in(format, &scene.idevid, scene.idevid.chain(), b"{}");
        let request = scene.registrar_request(&scene.registrar_fields(Some(pledge_request)));
        let refusal = decide(&masa, &request, &scene.context()).unwrap_err();
        assert!(matches!(refusal, Refusal::PledgeRequest(_)), "{refusal}");
        assert_eq!(refusal.status(), 406);
        let too_long = vec![0x30; MAX_LEN + 1];
        let expected = Refusal::Signature(SignatureRefused::Malformed(Malformed::TooLong(MAX_LEN)));
        refused(decide(&masa, &too_long, &scene.context()), expected, 403);
    }
}

#[test]
fn media_types_are_checked_first() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        let good = scene.good_request();
        let read = |content_type, accept| {
            let result = masa.read_voucher_request(&Posted { content_type, accept, body: &good }, now());
            result.map(|_| ()).map_err(|refusal| (refusal, refusal.status()))
        };
        let [own, other] = [format, other(format)].map(|format| Some(format.media_type()));
        assert_eq!(read(own, None), Ok(()));
        assert_eq!(read(own, Some("*/*")), Ok(()));
        assert_eq!(read(None, None), Err((Refusal::ContentType, 415)));
        assert_eq!(read(Some(JSON), None), Err((Refusal::ContentType, 415)));
        assert_eq!(read(own, Some("text/html")), Err((Refusal::AcceptNotUnderstood, 415)));
        assert_eq!(read(own, other), Err((Refusal::NotAcceptable, 406)));
    }
}

#[test]
fn a_device_of_another_manufacturer_is_not_known() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        let other = authority("Maker", "p256x2"); // of the same name
        let foreign = Scene { idevid: idevid(&other, SERIAL), ..Scene::of(format) };
        let pledge_request = foreign.pledge_request(&scene.pledge_fields());
        let request = foreign.registrar_request(&scene.registrar_fields(Some(pledge_request)));
        let refusal = decide(&masa, &request, &scene.context()).unwrap_err();
        assert!(matches!(refusal, Refusal::PledgeCertificate(_)), "{refusal}");
        assert_eq!(refusal.status(), 404);
    }
}

#[test]
fn a_pledge_request_needs_an_idevid() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        let server = scene.maker.issue(&LeafOptions::new("masa.maker.example", Validity::days(NOW - 1, 9))).unwrap();
        let pledge_fields = format.encode_request(&scene.pledge_fields());
        let pledge_request = sign_in(format, &server, server.chain(), &pledge_fields);
        let fields = format.encode_request(&scene.registrar_fields(Some(pledge_request)));
        let enclosed = [scene.chain(), server.chain().to_vec()].concat();
        let request = sign_in(format, &scene.registrar, &enclosed, &fields);
        refused(decide(&masa, &request, &scene.context()), Refusal::Idevid(Malformed::Missing("serialNumber")), 404);
    }
}

#[test]
fn only_known_devices_have_vouchers() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        let good = scene.good_request();
        refused(decide(&masa, &good, &Context::default()), Refusal::UnknownDevice, 404);
        let mut other = scene.device.clone();
        other.serial_number = "WI-3006".into();
        let context = Context { device: Some(&other), ..Context::default() };
        refused(decide(&masa, &good, &context), Refusal::UnknownDevice, 404);
        let mut other = scene.device.clone();
        *other.idevid_issuer.last_mut().unwrap() ^= 1;
        let context = Context { device: Some(&other), ..Context::default() };
        refused(decide(&masa, &good, &context), Refusal::UnknownDevice, 404);
        let mut blocked = scene.device.clone();
        blocked.is_blocked = true;
        let context = Context { device: Some(&blocked), ..Context::default() };
        refused(decide(&masa, &good, &context), Refusal::BlockedDevice, 406);
    }
}

#[test]
fn an_idevid_can_stand_for_the_record_of_a_device() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(policy(|policy| {
            policy.devices_without_record = true;
            policy.pledge_request_is_required = false;
        }));
        let issuance = decide(&masa, &scene.good_request(), &Context::default()).unwrap();
        assert_eq!(issuance.voucher.assertion, Assertion::Proximity);
        // Without the IDevID nobody says that there is such a device.
        let request = scene.registrar_request(&scene.registrar_fields(None));
        refused(decide(&masa, &request, &Context::default()), Refusal::UnknownDevice, 404);
        // The record of another device, and to whom that was sold, mean nothing.
        let mut foreign = scene.device.clone();
        foreign.serial_number = "WI-3006".into();
        foreign.idevid_issuer.clear();
        foreign.owner = Some([9; 32]);
        let context = Context { device: Some(&foreign), ..Context::default() };
        assert_eq!(decide(&masa, &scene.good_request(), &context).unwrap(), issuance);
        // The log says who has the device.
        let nonce = nonce("another nonce");
        let other = LogEntry { key: [9; 32], domain_id: b"other".to_vec(), nonce, ..issuance.entry.clone() };
        let later = LogEntry { date: at(NOW + 1), ..issuance.entry };
        let log = [later.clone(), other.clone()];
        decide(&masa, &scene.good_request(), &Context { log: &log, ..Context::default() }).unwrap();
        let log = [later, LogEntry { date: at(NOW + 2), ..other }];
        let context = Context { log: &log, ..Context::default() };
        refused(decide(&masa, &scene.good_request(), &context), Refusal::Claimed, 403);
    }
}

#[test]
fn what_the_pledge_saw_makes_the_assertion() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let leaf = scene.registrar.leaf().clone();
        let chain = scene.chain();
        let key_of = |index: usize| terse_brski::certificate::public_key(&chain[index]).unwrap();
        let hash = |index: usize| Pin::PublicKeySha256(sha256(&PROVIDER, key_of(index)));
        let other = registrar_credential(&authority("Attacker", "p256x2")).leaf().clone();
        let other_key = Pin::PublicKey(terse_brski::certificate::public_key(&other).unwrap().into());
        let cases = [
            (vec![Pin::Certificate(leaf.clone())], Some(true)),
            (vec![Pin::PublicKey(key_of(0).into())], Some(true)),
            (vec![hash(0)], Some(true)),
            (vec![hash(1)], Some(true)), // a replica with a certificate of its own would not be in the chain; a CA is
            (vec![Pin::Certificate(chain[2].clone())], Some(true)),
            (vec![Pin::Certificate(other.clone())], Some(false)),
            (vec![other_key.clone()], Some(false)),
            (vec![], None),
            // The first of pubk-sha256, pubk and cert counts.
            (vec![Pin::Certificate(other.clone()), other_key.clone(), hash(0)], Some(true)),
            (vec![Pin::Certificate(other), Pin::PublicKey(key_of(0).into())], Some(true)),
            (vec![Pin::Certificate(leaf), other_key], Some(false)),
        ];
        for (seen, expected) in cases {
            let mut fields = scene.pledge_fields();
            fields.proximity_registrar = seen.clone();
            let request = scene.registrar_request(&scene.registrar_fields(Some(scene.pledge_request(&fields))));
            let under = |proximity| {
                let masa = scene.masa(policy(|policy| policy.proximity = proximity));
                decide(&masa, &request, &scene.context()).map(|issuance| issuance.voucher.assertion)
            };
            let found = [Proximity::Required, Proximity::NotContradicted, Proximity::Optional].map(under);
            let expected = match expected {
                Some(true) => [Ok(Assertion::Proximity); 3],
                Some(false) => [Err(Refusal::OtherRegistrar), Err(Refusal::OtherRegistrar), Ok(Assertion::Logged)],
                None => [Err(Refusal::NoProximity), Ok(Assertion::Logged), Ok(Assertion::Logged)],
            };
            assert_eq!(found, expected, "{seen:?}");
        }
    }
}

#[test]
fn a_pledge_that_does_not_assert_proximity_has_none() {
    let scene = Scene::new();
    let mut fields = scene.pledge_fields();
    for assertion in [None, Some(Assertion::Logged)] {
        fields.assertion = assertion;
        let request = scene.registrar_request(&scene.registrar_fields(Some(scene.pledge_request(&fields))));
        let issuance = decide(&scene.masa(Policy::default()), &request, &scene.context()).unwrap();
        assert_eq!(issuance.voucher.assertion, Assertion::Logged);
        assert_eq!(issuance.entry.assertion, Assertion::Logged);
    }
}

#[test]
fn a_sale_makes_the_assertion_verified() {
    let mut scene = Scene::new();
    let request = scene.registrar_request(&scene.registrar_fields(None));
    let masa = scene.masa(policy(|policy| policy.pledge_request_is_required = false));
    let assertion = |scene: &Scene, customer| {
        let context = Context { customer, ..scene.context() };
        decide(&masa, &request, &context).unwrap().voucher.assertion
    };
    assert_eq!(assertion(&scene, None), Assertion::Logged);
    scene.device.sold_to = vec![Buyer::Customer("Plant".into())];
    assert_eq!(assertion(&scene, None), Assertion::Logged);
    assert_eq!(assertion(&scene, Some("Another")), Assertion::Logged);
    assert_eq!(assertion(&scene, Some("Plant")), Assertion::Verified);
    scene.device.sold_to = vec![Buyer::Domain(public_key_sha256(&PROVIDER, scene.domain.root()).unwrap())];
    assert_eq!(assertion(&scene, None), Assertion::Verified);
}

#[test]
fn the_sales_list_decides_who_may_have_a_device() {
    let mut scene = Scene::new();
    let masa = scene.masa(policy(|policy| policy.claims = Claims::SalesList));
    let good = scene.good_request();
    refused(decide(&masa, &good, &scene.context()), Refusal::NotSold, 403);
    scene.device.sold_to = vec![Buyer::Domain([9; 32]), Buyer::Customer("Another".into())];
    refused(decide(&masa, &good, &scene.context()), Refusal::NotSold, 403);
    scene.device.sold_to.push(Buyer::Customer("Plant".into()));
    let context = Context { customer: Some("Plant"), ..scene.context() };
    assert_eq!(decide(&masa, &good, &context).unwrap().voucher.assertion, Assertion::Proximity);
}

#[test]
fn a_nonceless_voucher_needs_a_known_registrar_and_expires() {
    let scene = Scene::new();
    let mut fields = scene.registrar_fields(None);
    fields.nonce = None;
    let request = scene.registrar_request(&fields);
    refused(decide(&scene.masa(Policy::default()), &request, &scene.context()), Refusal::NoncelessNotAllowed, 403);
    let masa = scene.masa(nonceless_policy());
    refused(decide(&masa, &request, &scene.context()), Refusal::RegistrarUnknown, 403);
    let strangers = masa.clone().customers(&[authority("Plant", "p256x3").root().clone()]).unwrap();
    refused(decide(&strangers, &request, &scene.context()), Refusal::RegistrarUnknown, 403);

    let by_name = Context { customer: Some("Plant"), ..scene.context() };
    let by_anchor = masa.clone().customers(&[scene.domain.root().clone()]).unwrap();
    for (masa, context) in [(&masa, by_name), (&by_anchor, scene.context())] {
        let issuance = decide(masa, &request, &context).unwrap();
        assert_eq!(issuance.voucher.nonce, None);
        assert_eq!(issuance.voucher.expires_on, Some(at(NOW + 1_200)));
        assert_eq!(issuance.voucher.pins, [Pin::Certificate(scene.domain.root().clone())]);
        assert_eq!(issuance.entry.nonce, None);
        // It is as good as the pledge's word: nobody saw the device.
        assert_eq!(issuance.voucher.assertion, Assertion::Logged);
    }
}

#[test]
fn a_nonceless_voucher_ends_with_what_it_relies_on() {
    let scene = Scene::new();
    let mut fields = scene.registrar_fields(None);
    fields.nonce = None;
    let request = scene.registrar_request(&fields);
    let expires_on = |lifetime, next_update: Option<u64>| {
        let nonceless = Nonceless { lifetime, pin: PinChoice::Highest };
        let masa = scene.masa(policy(|policy| policy.nonceless = Some(nonceless)));
        let revocation_next_update = next_update.map(at);
        let context = Context { customer: Some("Plant"), revocation_next_update, ..scene.context() };
        decide(&masa, &request, &context).unwrap().voucher.expires_on.unwrap().as_secs() - NOW
    };
    assert_eq!(expires_on(1_200, None), 1_200);
    assert_eq!(expires_on(1_200, Some(NOW + 600)), 600);
    assert_eq!(expires_on(1_200, Some(NOW + 6_000)), 1_200);
    assert_eq!(expires_on(1_200, Some(NOW - 1)), 1_200, "what is out of date says nothing");
    // The registrar's certificate ends first, after 364 days.
    assert_eq!(expires_on(u64::MAX, None), 364 * 86_400);
}

#[test]
fn a_nonceless_request_needs_no_pledge_but_its_issuer() {
    let scene = Scene::new();
    let mut fields = scene.registrar_fields(None);
    fields.nonce = None;
    fields.idevid_issuer = None;
    let masa = scene.masa(nonceless_policy());
    refused(decide(&masa, &scene.registrar_request(&fields), &scene.context()), Refusal::NoIdevidIssuer, 403);
}

#[test]
fn a_nonceless_request_may_have_the_pledges() {
    let scene = Scene::new();
    let mut fields = scene.registrar_fields(Some(scene.pledge_request(&scene.pledge_fields())));
    fields.nonce = None;
    let masa = scene.masa(nonceless_policy());
    let context = Context { customer: Some("Plant"), ..scene.context() };
    let issuance = decide(&masa, &scene.registrar_request(&fields), &context).unwrap();
    assert_eq!((issuance.voucher.nonce, issuance.voucher.assertion), (None, Assertion::Proximity));
}

#[test]
fn revocation_is_looked_at_only_where_a_certificate_says_how() {
    let scene = Scene::new();
    let masa = scene.masa(Policy::default());
    let good = scene.good_request();
    for revocation in [RevocationStatus::NotStated, RevocationStatus::Good, RevocationStatus::Unknown] {
        decide(&masa, &good, &Context { revocation, ..scene.context() }).unwrap();
    }
    let context = Context { revocation: RevocationStatus::Revoked, ..scene.context() };
    refused(decide(&masa, &good, &context), Refusal::Revoked, 403);
}

/// Anybody who has seen a request can change what is not signed. No such change makes another request, of which there would be
/// another voucher and another entry in the log.
#[test]
fn what_is_not_signed_makes_no_other_request() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        let good = scene.good_request();
        let content_type = Some(format.media_type());
        let read = |body: &[u8]| masa.read_voucher_request(&Posted { content_type, accept: None, body }, now());
        let own = *read(&good).unwrap().sha256();
        let mut accepted = 0;
        for at in 0..good.len() {
            let bit = 1 << (at % 8); // one of each byte: all of them take long, and neighbours are of one field
            let mut changed = good.clone();
            changed[at] ^= bit;
            if let Ok(request) = read(&changed) {
                assert_eq!(*request.sha256(), own, "{format:?}: byte {at}, bit {bit:#x}");
                accepted += 1;
            }
        }
        assert!(accepted > 0, "{format:?}: nothing could be changed, so that nothing was shown");
        let mut fields = scene.registrar_fields(Some(scene.pledge_request(&scene.pledge_fields())));
        fields.created_on = Some(at(NOW + 1));
        let other = scene.registrar_request(&fields);
        assert_ne!(*read(&other).unwrap().sha256(), own, "{format:?}");
    }
}

#[test]
fn the_same_request_again_has_the_same_voucher() {
    let scene = Scene::new();
    let masa = scene.masa(Policy::default());
    let good = scene.good_request();
    let request = masa.read_voucher_request(&posted(&good), now()).unwrap();
    let issued = IssuedVoucher { request: *request.sha256(), voucher: b"voucher".to_vec(), expires_on: None };
    // Another domain has the device meanwhile, and the request is old: the voucher that was issued stays issued.
    let mut device = scene.device.clone();
    device.owner = Some([9; 32]);
    let context = Context { issued: Some(&issued), device: Some(&device), ..Context::default() };
    assert_eq!(masa.decide(&request, &context, at(NOW + 999_999)), Ok(Decision::Repeat(b"voucher")));
    // The voucher of another request is none for this one.
    let other = IssuedVoucher { request: [0; 32], ..issued.clone() };
    let context = Context { issued: Some(&other), ..scene.context() };
    assert!(matches!(masa.decide(&request, &context, now()), Ok(Decision::Issue(_))));
    // An expired voucher is renewed for the same domain (RFC 8995, 5.5.1), and for no other.
    let expired = IssuedVoucher { expires_on: Some(at(NOW - 1)), ..issued.clone() };
    let context = Context { issued: Some(&expired), ..scene.context() };
    assert!(matches!(masa.decide(&request, &context, now()), Ok(Decision::Issue(_))));
    let context = Context { device: Some(&device), ..context };
    assert_eq!(masa.decide(&request, &context, now()), Err(Refusal::Claimed));
    let current = IssuedVoucher { expires_on: Some(now()), ..issued };
    let context = Context { issued: Some(&current), ..scene.context() };
    assert_eq!(masa.decide(&request, &context, now()), Ok(Decision::Repeat(b"voucher")));
}

#[test]
fn a_voucher_is_not_repeated_for_a_blocked_device_or_a_revoked_registrar() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        let request = masa.read_voucher_request(&posted(&scene.good_request()), now()).unwrap();
        let issued = IssuedVoucher { request: *request.sha256(), voucher: b"voucher".to_vec(), expires_on: None };
        let context = Context { issued: Some(&issued), ..scene.context() };
        assert_eq!(masa.decide(&request, &context, now()), Ok(Decision::Repeat(b"voucher")));
        let mut blocked = scene.device.clone();
        blocked.is_blocked = true;
        let of_blocked = Context { device: Some(&blocked), ..context };
        assert_eq!(masa.decide(&request, &of_blocked, now()), Err(Refusal::BlockedDevice));
        let of_revoked = Context { revocation: RevocationStatus::Revoked, ..context };
        assert_eq!(masa.decide(&request, &of_revoked, now()), Err(Refusal::Revoked));
    }
}

#[test]
fn the_issuer_is_taken_in_every_form() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(Policy::default());
        let whole = scene.device.idevid_issuer.clone();
        for form in [whole.clone(), whole[2..].to_vec(), whole[whole.len() - 20..].to_vec()] {
            let mut fields = scene.registrar_fields(Some(scene.pledge_request(&scene.pledge_fields())));
            fields.idevid_issuer = Some(form.clone().into());
            let request = masa.read_voucher_request(&posted(&scene.registrar_request(&fields)), now()).unwrap();
            assert_eq!(request.idevid_issuer(), Some(whole.as_slice()), "as the IDevID has it");
            assert!(is_same_issuer(&form, &whole));
            assert!(matches!(masa.decide(&request, &scene.context(), now()), Ok(Decision::Issue(_))));
        }
    }
}

#[test]
fn a_voucher_has_the_issuer_in_the_form_of_the_record() {
    let scene = Scene::new();
    let mut fields = scene.registrar_fields(None);
    let whole = scene.device.idevid_issuer.clone();
    fields.idevid_issuer = Some(whole[whole.len() - 20..].into());
    let masa = scene.masa(policy(|policy| policy.pledge_request_is_required = false));
    let issuance = decide(&masa, &scene.registrar_request(&fields), &scene.context()).unwrap();
    assert_eq!(issuance.voucher.idevid_issuer, Some(whole.into()));
}

#[test]
fn an_idevid_counts_after_its_end() {
    for format in Format::ALL {
        let mut scene = Scene::of(format);
        let mut options = terse_pki::IdevidOptions::new(SERIAL, NOW - 1_000);
        options.validity.not_after = NOW - 10;
        scene.idevid = scene.maker.issue_idevid(&options).unwrap();
        let pledge_request = scene.pledge_request(&scene.pledge_fields());
        let request = scene.registrar_request(&scene.registrar_fields(Some(pledge_request)));
        decide(&scene.masa(Policy::default()), &request, &scene.context()).unwrap();
        options.validity = Validity::days(NOW + 10, 10);
        scene.idevid = scene.maker.issue_idevid(&options).unwrap();
        let pledge_request = scene.pledge_request(&scene.pledge_fields());
        let request = scene.registrar_request(&scene.registrar_fields(Some(pledge_request)));
        let refusal = decide(&scene.masa(Policy::default()), &request, &scene.context()).unwrap_err();
        assert!(matches!(refusal, Refusal::PledgeCertificate(CertificateError::NotYetValid { .. })), "{refusal}");
    }
}
