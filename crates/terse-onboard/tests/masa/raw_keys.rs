//! Devices that support raw public keys alone: the factory says so, and their vouchers pin the registrar's key.

use std::fs;

use terse_aws_lc::PROVIDER;
use terse_brski::artefact::Format;
use terse_brski::audit_log::AuditLog;
use terse_brski::certificate::{domain_id, public_key};
use terse_brski::digest::public_key_sha256;
use terse_brski::masa::{Nonceless, PinChoice};
use terse_brski::voucher::Pin;
use terse_onboard::masa::{DeviceOptions, Registration, make_idevid, register_idevids};

use super::scene::{SERIAL, Scene, issued, now};

const RAW: DeviceOptions = DeviceOptions { sold_to: Vec::new(), raw_public_keys_only: true };

/// Registers the device of a scene by its IDevID, and returns what became of that.
async fn register(scene: &Scene, options: &DeviceOptions) -> String {
    let files = [scene.directory.path().join("device/WI-3005.pem")];
    let mut became = None;
    let observe = |_: &std::path::Path, registration: &Registration| {
        became = Some(match registration {
            Registration::New(serial) => format!("{serial} is new"),
            Registration::Known(serial) => format!("{serial} is known"),
            Registration::Refused(problem) => problem.to_string(),
            other => panic!("{other:?}"),
        });
    };
    register_idevids(&scene.config, &files, options, now(), observe).await.unwrap();
    became.unwrap()
}

async fn has_raw_public_keys_only(scene: &Scene, serial: &str) -> bool {
    scene.store().await.devices(serial).await.unwrap()[0].device.raw_public_keys_only
}

/// The kinds of names of the registrar: its certificate, its key, and the digest of that.
fn names(scene: &Scene) -> [Pin; 3] {
    let own = &scene.domain.registrar.chain[0];
    [
        Pin::Certificate(own.clone()),
        Pin::PublicKey(public_key(own).unwrap().into()),
        Pin::PublicKeySha256(public_key_sha256(&PROVIDER, own).unwrap()),
    ]
}

fn request_naming(scene: &Scene, nonce: &str, name: &Pin) -> Vec<u8> {
    let mut pledge_fields = scene.pledge_fields(&scene.domain, nonce);
    pledge_fields.proximity_registrar = vec![name.clone()];
    let mut fields = scene.fields(&scene.domain, nonce);
    fields.prior_signed_voucher_request = Some(scene.sign_as_pledge(&pledge_fields).into());
    scene.sign_as(&scene.domain, &fields)
}

#[tokio::test(flavor = "multi_thread")]
async fn vouchers_of_a_device_with_raw_public_keys_alone_pin_the_key_of_the_registrar() {
    for format in Format::ALL {
        let mut scene = Scene::of(format).await;
        scene.add_customer("ca = \"plant-ca.pem\"");
        scene.config.policy.nonceless = Some(Nonceless { lifetime: 600, pin: PinChoice::Highest });
        scene.forget();
        assert_eq!(register(&scene, &RAW).await, "WI-3005 is new");
        let masa = scene.start().await;
        let [certificate, key, digest] = names(&scene);
        for (nonce, name, pin) in [("1", &certificate, &key), ("2", &key, &key), ("3", &digest, &digest)] {
            let answer = scene.ask(masa.address, &request_naming(&scene, nonce, name)).await;
            assert_eq!(issued(&scene, &answer).pins, std::slice::from_ref(pin));
        }
        let answer = scene.ask(masa.address, &scene.nonceless_request()).await;
        assert_eq!(issued(&scene, &answer).pins, [key]);
        // Its registrar finds itself in the audit log.
        let answer = scene.ask_audit_log(masa.address, &scene.request("1")).await;
        let log = AuditLog::from_json(&answer.body, 4_096).unwrap();
        let own = domain_id(&PROVIDER, &scene.domain.registrar.chain[0]).unwrap();
        assert_eq!(log.events.len(), 4);
        assert!(log.events.iter().all(|event| event.domain_id == own));
        masa.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_device_supports_is_said_when_it_is_registered_and_not_later() {
    let mut scene = Scene::new().await;
    assert!(!has_raw_public_keys_only(&scene, SERIAL).await);
    let refused = register(&scene, &RAW).await;
    assert!(refused.contains("leave out --raw-public-keys"), "{refused}");
    assert!(!has_raw_public_keys_only(&scene, SERIAL).await);

    // A device whose IDevID was proof enough is registered later.
    scene.forget();
    scene.config.policy.devices_without_record = true;
    let masa = scene.start().await;
    let [.., digest] = names(&scene);
    let answer = scene.ask(masa.address, &request_naming(&scene, "1", &digest)).await;
    assert_eq!(issued(&scene, &answer).pins, [Pin::Certificate(scene.domain.registrar.chain[1].clone())]);
    assert_eq!(register(&scene, &RAW).await, "WI-3005 is new");
    let answer = scene.ask(masa.address, &request_naming(&scene, "2", &digest)).await;
    assert_eq!(issued(&scene, &answer).pins, [digest]);
    for options in [RAW, DeviceOptions::default()] {
        assert_eq!(register(&scene, &options).await, "WI-3005 is known");
        assert!(has_raw_public_keys_only(&scene, SERIAL).await);
    }
    masa.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_factory_makes_devices_with_raw_public_keys_alone() {
    let scene = Scene::new().await;
    let out = scene.directory.path().join("raw");
    make_idevid(&scene.config, "WI-3006", &RAW, &out, now()).await.unwrap();
    assert!(has_raw_public_keys_only(&scene, "WI-3006").await);
    let lines = "\nform = \"coaps\"\ncredentials = \"identity-key\"\n";
    assert!(fs::read_to_string(out.join("WI-3006.toml")).unwrap().contains(lines));
    let usual = fs::read_to_string(scene.directory.path().join("device/WI-3005.toml")).unwrap();
    assert!(!usual.contains("form") && !usual.contains("credentials"), "{usual}");
}
