//! The key of the domain CA in a PKCS #11 module: SoftHSM in the process of the registrar, or behind `p11-kit server`.
//!
//! Where SoftHSM, p11-kit or OpenSC is missing, its tests say so and are skipped; with `TERSE_REQUIRE_ALL=1` that is a failure.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::hangup::Service;
use crate::common::{Server, run, terse};

mod hsm;
mod place;
mod signer;

use hsm::{Hsm, spy};
use place::Place;

/// The files of the CA that issues, without their endings.
const CA: &str = "plant/ca/intermediate1";

#[test]
fn a_device_joins_and_renews_by_a_ca_whose_key_is_in_a_token() {
    let Some(hsm) = Hsm::new() else { return };
    let place = Place::new(hsm);
    place.import(CA, "domain-ca");
    place.name_key(CA, "token=plant;object=domain-ca", hsm::PIN);
    // The root's key is not there either.
    fs::remove_file(place.path("plant/ca/ca.key")).unwrap();
    assert_eq!(place.registrar("check --json").object(), json!({ "ok": true, "warnings": [] }));
    let pin = place.path("plant/ca/pin");
    fs::set_permissions(&pin, fs::Permissions::from_mode(0o640)).unwrap();
    let warned = place.registrar("check").stdout;
    assert!(warned.contains("ca/pin: others can read it; run chmod 600"), "{warned}");
    let registrar = place.serve();
    place.joins("WI-3005", &registrar.address);
    let ldevid = place.path("credential-WI-3005/ldevid.pem");
    let before = fs::read(&ldevid).unwrap();
    let words = format!("pledge --renew --registrar {} --out credential-WI-3005 --json", registrar.address);
    assert_eq!(place.run(&words).object()["renewed"], true);
    assert_ne!(fs::read(&ldevid).unwrap(), before);

    // Another session on the same module, and the module stays initialised.
    for _ in 0..2 {
        let log = registrar.hang_up();
        assert!(log.contains("the configuration was read again"), "{log}");
    }
    place.joins("WI-3006", &registrar.address);

    // What is wrong at a reload changes nothing.
    place.name_key(CA, "token=plant;object=none", hsm::PIN);
    let log = registrar.hang_up();
    assert!(log.contains("has no private key") && log.contains("nothing was changed"), "{log}");
    place.joins("WI-3007", &registrar.address);
}

#[test]
fn commands_of_the_ca_sign_by_a_token() {
    let Some(hsm) = Hsm::new() else { return };
    for algorithm in ["p256", "p384", "ed25519"] {
        let place = Place::with_ca(hsm.another(), algorithm);
        place.import("ca/intermediate1", "domain-ca");
        place.name_key("ca/intermediate1", "token=plant;object=domain-ca", hsm::PIN);
        for words in
            ["issue one.example", "issue two.example", "idevid WI-1", "revoke one.example", "crl", "ocsp one.example"]
        {
            let outcome = place.run(&format!("pki {words}"));
            assert_eq!(outcome.code, Some(0), "{algorithm} {words}: {outcome:#?}");
        }
        place
            .openssl("verify -CAfile ca/ca.pem -untrusted ca/intermediate1.pem two.example.pem", "two.example.pem: OK");
        // Each CRL by itself: OpenSSL reads the first one of a file.
        let crls = fs::read_to_string(place.path("ca/crl.pem")).unwrap();
        for (number, crl) in crls.split_inclusive("-----END X509 CRL-----\n").enumerate() {
            fs::write(place.path("one.crl"), crl).unwrap();
            let ca = ["ca/ca.pem", "ca/intermediate1.pem"][number];
            place.openssl(&format!("crl -in one.crl -noout -CAfile {ca}"), "verify OK");
        }
        let ocsp = "ocsp -respin one.example.ocsp -issuer ca/intermediate1.pem -cert one.example.pem -CAfile ca/ca.pem";
        place.openssl(&format!("{ocsp} -verify_other ca/intermediate1.pem -no_nonce"), "one.example.pem: revoked");
    }
}

#[test]
fn what_is_wrong_with_a_token_is_said_with_what_to_do() {
    let Some(hsm) = Hsm::new() else { return };
    let place = Place::new(hsm);
    place.import(CA, "domain-ca");
    let away = place.path("away.key");
    fs::rename(place.path(&format!("{CA}.key")), &away).unwrap();
    let good = "token=plant;object=domain-ca";
    let refused = |uri: &str, parts: &[&str]| {
        place.name_key(CA, uri, hsm::PIN);
        place.registrar("check").refused(1, &[&["intermediate1.key-uri: "], parts].concat());
        place.registrar("").refused(1, parts);
    };
    refused("token=plant;object=none", &["\"plant\" has no private key with object \"none\"", "import it"]);
    refused("token=none;object=domain-ca", &["no token has token \"none\"; there is \"plant\": insert that one"]);
    refused("token=plant;object=domain-ca;colour=red", &["the attribute colour is unknown; remove it"]);
    refused("token=plant", &["lacks object or id"]);
    place.write_uri(CA, &format!("pkcs11:{good}?module-path=/none/a.so&pin-source=pin"));
    place.registrar("check").refused(1, &["there is no PKCS #11 module /none/a.so; install it"]);
    place.write_uri(CA, &format!("pkcs11:{good}?module-path={}&pin-source=pin", place.path("pin").display()));
    fs::write(place.path("pin"), "no module").unwrap();
    place.registrar("check").refused(1, &["is no PKCS #11 module that can be loaded; correct module-path"]);
    let module = hsm::module().unwrap();
    place.write_uri(CA, &format!("pkcs11:{good}?module-path={}", module.display()));
    place.registrar("check").refused(1, &["without a PIN; add pin-source"]);
    place.write_uri(CA, &format!("pkcs11:{good}?module-path={}&pin-value={}", module.display(), hsm::PIN));
    let outcome = place.registrar("check");
    assert!(!outcome.stderr.contains(hsm::PIN), "{outcome:#?}");
    outcome.refused(1, &["pin-value is not supported so", "pin-source"]);
    place.name_key(CA, good, hsm::PIN);
    fs::remove_file(place.path("plant/ca/pin")).unwrap();
    place.registrar("check").refused(1, &["ca/pin: the PIN cannot be read"]);

    // Two keys of one name, and then one by its id.
    place.import_file(&away, "domain-ca", "02");
    refused(good, &["several private keys with object \"domain-ca\"; name one by object and id"]);
    place.name_key(CA, "token=plant;object=domain-ca;id=%02", hsm::PIN);
    assert_eq!(place.registrar("check --json").object()["ok"], true);
    // The key of another certificate, and one of another kind.
    place.import_file(&place.path("plant/ca/ca.key"), "root", "03");
    refused("token=plant;object=root", &["is not the key of the certificate; correct which key is named"]);
    place.make_key("other", "EC:secp384r1");
    refused("token=plant;object=other", &["correct"]);
    place.make_key("rsa", "rsa:2048");
    refused("token=plant;object=rsa", &["is of another kind than that of the certificate"]);
    // Both, and none.
    place.name_key(CA, good, hsm::PIN);
    fs::copy(&away, place.path(&format!("{CA}.key"))).unwrap();
    place.registrar("check").refused(1, &["intermediate1.key is there as well; remove one"]);
    fs::remove_file(place.path(&format!("{CA}.key"))).unwrap();
    fs::remove_file(place.path(&format!("{CA}.key-uri"))).unwrap();
    place.registrar("check").refused(1, &["the key of the CA that issues is not there", ".key-uri"]);
}

#[test]
fn a_wrong_pin_is_tried_once() {
    let (Some(hsm), Some(spy)) = (Hsm::new(), spy()) else { return };
    let place = Place::new(hsm);
    place.import(CA, "domain-ca");
    place.name_key(CA, "token=plant;object=domain-ca", "0000");
    let uri = format!("pkcs11:token=plant;object=domain-ca?module-path={}&pin-source=pin", spy.display());
    place.write_uri(CA, &uri);
    let mut command = place.command("registrar check --config plant/registrar.toml");
    command.env("PKCS11SPY", hsm::module().unwrap()).env("PKCS11SPY_OUTPUT", place.path("spy.log"));
    let outcome = run(command);
    assert!(!outcome.stderr.contains("0000"), "{outcome:#?}");
    outcome.refused(1, &["refuses the PIN, which was tried once"]);
    assert_eq!(hsm::logins(&place.path("spy.log")), 1);
}
