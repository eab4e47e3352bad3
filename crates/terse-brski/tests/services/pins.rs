//! Vouchers that pin the registrar's key and no certificate, and what the registrar finds in them.

use terse_brski::artefact::Format;
use terse_brski::certificate::{domain_id, public_key};
use terse_brski::digest::public_key_sha256;
use terse_brski::masa::{Context, Device, Nonceless, PinChoice, Policy, Refusal};
use terse_brski::registrar::{Answer, Findings, MasaResponse};
use terse_brski::voucher::{Pin, Voucher};
use terse_pki::{Validity, VoucherSignerOptions};
use terse_rustcrypto::PROVIDER;

use super::scene::{NOW, Scene, at, authority, decide, now, registrar_credential, sign_in};

/// The kinds in which a pledge names its registrar, and a MASA pins its key.
fn names(scene: &Scene) -> [Pin; 3] {
    let own = scene.registrar.leaf();
    [
        Pin::Certificate(own.clone()),
        Pin::PublicKey(public_key(own).unwrap().into()),
        Pin::PublicKeySha256(public_key_sha256(&PROVIDER, own).unwrap()),
    ]
}

fn pinning(pin: PinChoice) -> Policy {
    let mut policy = Policy::default();
    policy.pin = pin;
    policy.nonceless = Some(Nonceless { lifetime: 1_200, pin });
    policy
}

/// A request whose pledge has named its registrar so.
fn request_naming(scene: &Scene, name: Pin) -> Vec<u8> {
    let mut fields = scene.pledge_fields();
    fields.proximity_registrar = vec![name];
    scene.registrar_request(&scene.registrar_fields(Some(scene.pledge_request(&fields))))
}

fn request_without_nonce(scene: &Scene) -> Vec<u8> {
    let mut fields = scene.registrar_fields(None);
    fields.nonce = None;
    scene.registrar_request(&fields)
}

#[test]
fn the_key_of_the_registrar_is_pinned_in_the_kind_that_the_pledge_knows() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let masa = scene.masa(pinning(PinChoice::RegistrarKey));
        let [certificate, key, digest] = names(&scene);
        let own = scene.registrar.leaf();
        for (name, expected) in [(certificate, &key), (key.clone(), &key), (digest.clone(), &digest)] {
            let issuance = decide(&masa, &request_naming(&scene, name), &scene.context()).unwrap();
            assert_eq!(issuance.voucher.pins, std::slice::from_ref(expected));
            assert_eq!(issuance.voucher.domain_cert_revocation_checks, None, "a key has no status");
            // The entry is that of the registrar's certificate.
            assert_eq!(issuance.entry.domain_id, domain_id(&PROVIDER, own).unwrap());
            assert_eq!(issuance.entry.key, public_key_sha256(&PROVIDER, own).unwrap());
            let sent = format.encode_voucher(&issuance.voucher);
            let read = match format {
                Format::CmsJson => Voucher::from_json(&sent),
                Format::CoseCbor => Voucher::from_cbor(&sent),
            };
            assert_eq!(read.unwrap(), issuance.voucher);
        }
        // Nobody has said that the device knows digests.
        let context = Context { customer: Some("Plant"), ..scene.context() };
        let issuance = decide(&masa, &request_without_nonce(&scene), &context).unwrap();
        assert_eq!(issuance.voucher.pins, [key]);
        assert_eq!(issuance.voucher.expires_on, Some(at(NOW + 1_200)));
    }
}

#[test]
fn the_record_of_a_device_decides_that_a_key_is_pinned_whatever_the_policy_says() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let [_, key, digest] = names(&scene);
        let device = Device { raw_public_keys_only: true, ..scene.device.clone() };
        let context = Context { device: Some(&device), customer: Some("Plant"), ..Context::default() };
        for choice in [PinChoice::Registrar, PinChoice::RegistrarKey, PinChoice::LowestCa, PinChoice::Highest] {
            let mut policy = pinning(choice);
            policy.nonceless = Some(Nonceless { lifetime: u64::MAX, pin: choice });
            let masa = scene.masa(policy);
            let nonced = decide(&masa, &request_naming(&scene, digest.clone()), &context).unwrap();
            assert_eq!(nonced.voucher.pins, std::slice::from_ref(&digest), "{choice:?}");
            let nonceless = decide(&masa, &request_without_nonce(&scene), &context).unwrap();
            assert_eq!(nonceless.voucher.pins, std::slice::from_ref(&key), "{choice:?}");
            assert_eq!(nonceless.entry.key, public_key_sha256(&PROVIDER, scene.registrar.leaf()).unwrap());
            // It ends with the registrar's certificate at the latest.
            assert_eq!(nonceless.voucher.expires_on, Some(at(NOW + 364 * 86_400)));
            // Other devices have what the policy says.
            let other = decide(&masa, &request_naming(&scene, digest.clone()), &scene.context()).unwrap();
            assert_eq!(other.voucher.pins == std::slice::from_ref(&digest), choice == PinChoice::RegistrarKey);
        }
    }
}

#[test]
fn a_device_whose_voucher_pins_a_key_belongs_to_the_registrar_with_that_key() {
    let scene = Scene::new();
    let masa = scene.masa(pinning(PinChoice::RegistrarKey));
    let [.., digest] = names(&scene);
    let request = request_naming(&scene, digest);
    let first = decide(&masa, &request, &scene.context()).unwrap();
    let device = Device { owner: Some(first.entry.key), ..scene.device.clone() };
    let context = Context { device: Some(&device), log: std::slice::from_ref(&first.entry), ..Context::default() };
    decide(&masa, &request, &context).unwrap();
    let replica = registrar_credential(&scene.domain);
    let replica = Scene { registrar: replica, device: scene.device.clone(), ..scene };
    let [.., digest] = names(&replica);
    assert_eq!(decide(&masa, &request_naming(&replica, digest), &context).unwrap_err(), Refusal::Claimed);
}

/// What a registrar finds in a voucher with these pins.
fn findings(scene: &Scene, pins: Vec<Pin>) -> Findings {
    let registrar = scene.registrar(|_| {});
    let signer = VoucherSignerOptions::new("Vouchers", Validity::days(NOW - 86_400, 365));
    let signer = scene.vouchers.issue_voucher_signer(&signer).unwrap();
    let request = scene.good_request();
    let mut voucher: Voucher = decide(&scene.masa(Policy::default()), &request, &scene.context()).unwrap().voucher;
    voucher.pins = pins;
    let body = sign_in(scene.format, &signer, signer.chain(), &scene.format.encode_voucher(&voucher));
    let content_type = Some(scene.format.media_type());
    let response = MasaResponse { status: 200, content_type, retry_after: None, body: &body };
    match registrar.read_masa_response(&scene.read_by(&registrar), &response, now()) {
        Ok(Answer::Voucher(voucher)) => voucher.findings.unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pinned_key_stands_for_the_certificate_of_the_chain_that_has_it() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let stranger = authority("Stranger", "p256x2");
        for certificate in scene.chain() {
            let digest = public_key_sha256(&PROVIDER, &certificate).unwrap();
            for pin in [Pin::PublicKey(public_key(&certificate).unwrap().into()), Pin::PublicKeySha256(digest)] {
                let found = findings(&scene, vec![pin]);
                assert!(found.pins_own_chain);
                assert_eq!(found.domain_id, Some(domain_id(&PROVIDER, &certificate).unwrap()));
            }
        }
        let digest = public_key_sha256(&PROVIDER, stranger.root()).unwrap();
        for pin in [Pin::PublicKey(public_key(stranger.root()).unwrap().into()), Pin::PublicKeySha256(digest)] {
            let found = findings(&scene, vec![pin]);
            assert_eq!((found.pins_own_chain, found.domain_id), (false, None));
        }
    }
}
