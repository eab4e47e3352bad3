//! Vouchers without a nonce, which a registrar fetches for a device that comes later (RFC 8995, 3.1 and 5.5).

use terse_brski::certificate::{Idevid, SerialNumberField, is_same_issuer, issuer_of_ca};
use terse_brski::http::VOUCHER_CMS_JSON;
use terse_brski::masa::{self, Context, Nonceless, PinChoice};
use terse_brski::registrar::{Answer, Devices, ExpectedDevice, MasaResponse, Refusal, Registrar};
use terse_brski::voucher::{Assertion, Pin, Voucher};
use terse_pki::{Validity, VoucherSignerOptions};
use terse_rustcrypto::PROVIDER;

use super::scene::{NOW, SERIAL, Scene, at, authority, decide, idevid, nonce, now, sign};

/// The device, as an operator knows it.
fn expected(scene: &Scene) -> ExpectedDevice {
    let issuer = issuer_of_ca(scene.maker.root()).unwrap().unwrap();
    ExpectedDevice { manufacturer: "Maker".into(), serial_number: SERIAL.into(), idevid_issuer: issuer }
}

/// A registrar whose MASA is configured, as it must be where no IDevID says where it is.
fn registrar(scene: &Scene) -> Registrar {
    scene.registrar(|policy| policy.manufacturers[0].masa_url = Some("masa.maker.example:9443".into()))
}

/// A voucher as the MASA issues it.
fn voucher(scene: &Scene) -> Voucher {
    let mut voucher = Voucher::new(SERIAL.into(), Assertion::Verified);
    voucher.expires_on = Some(at(NOW + 1_200));
    voucher.idevid_issuer = Some(expected(scene).idevid_issuer.into());
    voucher.pins = vec![Pin::Certificate(scene.domain.root().clone())];
    voucher
}

fn signed(scene: &Scene, voucher: &Voucher) -> Vec<u8> {
    let options = VoucherSignerOptions::new("Maker MASA", Validity::days(NOW - 1, 9));
    let signer = scene.vouchers.issue_voucher_signer(&options).unwrap();
    sign(&signer, signer.chain(), &voucher.to_json())
}

fn read(scene: &Scene, voucher: &Voucher) -> Result<Answer, Refusal> {
    let body = signed(scene, voucher);
    let response = MasaResponse { status: 200, content_type: Some(VOUCHER_CMS_JSON), retry_after: None, body: &body };
    registrar(scene).read_fetched(&expected(scene), &response, now())
}

#[test]
fn the_issuer_of_idevids_follows_from_their_ca() {
    let scene = Scene::new();
    let read = Idevid::read(&PROVIDER, scene.idevid.leaf(), SerialNumberField::SubjectSerialNumber).unwrap();
    let issuer = expected(&scene).idevid_issuer;
    assert!(is_same_issuer(&read.issuer.unwrap(), &issuer));
    // The whole extnValue: an OCTET STRING around a SEQUENCE with the key identifier.
    assert_eq!(issuer[..2], [0x04, issuer.len() as u8 - 2]);
    assert_eq!(registrar(&scene).issuers("Maker"), Ok(vec![issuer]));
    assert_eq!(registrar(&scene).issuers("Nobody"), Err(Refusal::UnknownManufacturer));
}

#[test]
fn the_masa_is_asked_without_nonce_and_pledge() {
    let scene = Scene::new();
    let forward = registrar(&scene).fetch(&expected(&scene), now()).unwrap();
    let fields = &forward.request;
    assert_eq!((fields.serial_number.as_str(), fields.created_on), (SERIAL, Some(now())));
    assert_eq!(fields.idevid_issuer.as_deref(), Some(&*expected(&scene).idevid_issuer));
    assert!(fields.nonce.is_none() && fields.prior_signed_voucher_request.is_none());
    assert!(fields.assertion.is_none() && fields.proximity_registrar.is_empty());
    assert_eq!(forward.masa.base(), "https://masa.maker.example:9443/.well-known/brski");

    // The MASA issues it to those that it knows, where its policy has such vouchers.
    let request = scene.registrar_request(fields);
    let mut policy = masa::Policy::default();
    let known = Context { customer: Some("plant"), ..scene.context() };
    let refused = decide(&scene.masa(policy.clone()), &request, &known).unwrap_err();
    assert_eq!(refused, masa::Refusal::NoncelessNotAllowed);
    policy.nonceless = Some(Nonceless { lifetime: 1_200, pin: PinChoice::Highest });
    let masa = scene.masa(policy);
    assert_eq!(decide(&masa, &request, &scene.context()).unwrap_err(), masa::Refusal::RegistrarUnknown);
    let issuance = decide(&masa, &request, &known).unwrap();
    let Ok(Answer::Voucher(received)) = read(&scene, &issuance.voucher) else { panic!() };
    let findings = received.findings.unwrap();
    assert_eq!((findings.has_nonce, findings.pins_own_chain), (false, true));
    assert_eq!(findings.expires_on, Some(at(NOW + 1_200)));
}

#[test]
fn what_may_not_join_is_not_fetched() {
    let scene = Scene::new();
    let refused = |change: fn(&mut terse_brski::registrar::Policy)| {
        let registrar = scene.registrar(change);
        registrar.fetch(&expected(&scene), now()).unwrap_err()
    };
    assert_eq!(refused(|_| {}), Refusal::NoMasaUrl);
    assert_eq!(
        refused(|policy| policy.manufacturers[0].devices = Devices::Listed(vec!["WI-3006".into()])),
        Refusal::UnknownDevice
    );
    assert_eq!(refused(|policy| policy.manufacturers[0].name = "Other".into()), Refusal::UnknownManufacturer);
}

#[test]
fn a_fetched_voucher_that_could_not_be_used_is_refused() {
    type Change = fn(&mut Voucher);
    let cases: [(Change, Refusal); 6] = [
        (|voucher| voucher.serial_number = "WI-3006".into(), Refusal::OtherVoucher),
        (|voucher| voucher.nonce = nonce("whose"), Refusal::OtherVoucher),
        (|voucher| voucher.idevid_issuer = Some([4, 2, 0x30, 0].into()), Refusal::OtherVoucher),
        (|voucher| voucher.expires_on = Some(now()), Refusal::VoucherExpired),
        (|voucher| voucher.pins = vec![Pin::PublicKeySha256([7; 32])], Refusal::OtherDomain),
        (|voucher| voucher.pins.clear(), Refusal::OtherDomain),
    ];
    let scene = Scene::new();
    for (change, expected) in cases {
        let mut voucher = voucher(&scene);
        change(&mut voucher);
        assert_eq!(read(&scene, &voucher), Err(expected));
    }
    // RFC 8995, 7.4.1: many will have no end.
    let mut endless = voucher(&scene);
    endless.expires_on = None;
    assert!(matches!(read(&scene, &endless), Ok(Answer::Voucher(_))));
    for (status, expected) in [(403, Refusal::Masa(403)), (404, Refusal::Masa(404))] {
        let response = MasaResponse { status, content_type: None, retry_after: None, body: b"" };
        let found = registrar(&scene).read_fetched(&self::expected(&scene), &response, now());
        assert_eq!(found, Err(expected));
    }
    let response = MasaResponse { status: 503, content_type: None, retry_after: None, body: b"" };
    let found = registrar(&scene).read_fetched(&self::expected(&scene), &response, now());
    assert!(matches!(found, Ok(Answer::Later { .. })));
    let long = vec![0x30; terse_brski::voucher::MAX_LEN + 1];
    for (content_type, body, expected) in [
        (Some(VOUCHER_CMS_JSON), &long[..], Refusal::VoucherTooLong),
        (Some("text/html"), b"".as_slice(), Refusal::VoucherType),
        (None, b"", Refusal::VoucherType),
    ] {
        let response = MasaResponse { status: 200, content_type, retry_after: None, body };
        assert_eq!(registrar(&scene).read_fetched(&self::expected(&scene), &response, now()), Err(expected));
    }
}

#[test]
fn a_fetched_voucher_is_for_the_device_and_as_long_as_it_is_valid() {
    let scene = Scene::new();
    let registrar = registrar(&scene);
    let request = scene.read_by(&registrar);
    let issuer = expected(&scene).idevid_issuer;
    let body = signed(&scene, &voucher(&scene));
    let received = registrar.use_fetched(&request, &issuer, &body, now()).unwrap();
    assert_eq!(received.content_type, VOUCHER_CMS_JSON);
    assert!(!received.findings.unwrap().has_nonce);
    let later = registrar.use_fetched(&request, &issuer, &body, at(NOW + 1_200));
    assert_eq!(later, Err(Refusal::VoucherExpired));
    // The issuer for which it was fetched is another one.
    let other = issuer_of_ca(authority("Maker", "p256x2").root()).unwrap().unwrap();
    assert_eq!(registrar.use_fetched(&request, &other, &body, now()), Err(Refusal::OtherVoucher));
    // Another device of the manufacturer.
    let other = Scene { idevid: idevid(&scene.maker, "WI-3006"), ..Scene::new() };
    let mut fields = scene.pledge_fields();
    fields.serial_number = "WI-3006".into();
    let posted = other.pledge_request(&fields);
    let request = registrar.read_voucher_request(other.idevid.chain(), &super::scene::posted(&posted), now()).unwrap();
    assert_eq!(registrar.use_fetched(&request, &issuer, &body, now()), Err(Refusal::OtherVoucher));
    // The registrar has other certificates now.
    let moved = Scene { maker: scene.maker, idevid: scene.idevid, ..Scene::new() };
    let registrar = self::registrar(&moved);
    let request = moved.read_by(&registrar);
    assert_eq!(registrar.use_fetched(&request, &issuer, &body, now()), Err(Refusal::OtherDomain));
}
