//! curl is a registrar whose voucher requests OpenSSL signs (RFC 8995, 5.5 and 5.8).

use base64ct::{Base64, Encoding as _};
use serde_json::Value;
use terse_onboard::masa::{MasaConfig, export_log};

use super::programs::are_curl_and_openssl_here;
use super::world::{NONCE, SERIAL, VOUCHER_CMS_JSON, World, now};

/// Writes a registrar's voucher request around the device's as `registrar.cms`.
fn sign_registrar_request(world: &World, options: &str) {
    world.write_voucher_request();
    world.sign_voucher_request("");
    let folder = world.folder();
    let prior = Base64::encode_string(&folder.read("request.cms"));
    let request = format!(
        r#"{{"ietf-voucher-request:voucher": {{
            "assertion": "proximity",
            "created-on": "{}",
            "nonce": "{NONCE}",
            "serial-number": "{SERIAL}",
            "idevid-issuer": "{}",
            "prior-signed-voucher-request": "{prior}"
        }}}}"#,
        folder.now(),
        Base64::encode_string(&idevid_issuer(world))
    );
    folder.write("registrar.json", request);
    folder.sign("domain/registrar", options, "registrar");
}

/// The extnValue of the IDevID's authority key identifier, which OpenSSL prints as hexadecimal digits.
fn idevid_issuer(world: &World) -> Vec<u8> {
    let printed = world.folder().openssl(&format!("x509 -in devices/{SERIAL}.pem -noout -ext authorityKeyIdentifier"));
    let digits = printed.lines().map(str::trim).find(|line| line.contains(':') && !line.contains(' ')).unwrap();
    let digits = digits.trim_start_matches("keyid:");
    let identifier: Vec<_> = digits.split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(identifier.len(), 20);
    [&[0x04, 0x18, 0x30, 0x16, 0x80, 0x14], &*identifier].concat()
}

/// DER, BER with indefinite lengths, and a signer that is named by its subject key identifier (RFC 5652, 5.3).
#[test]
fn curl_gets_a_voucher_and_the_audit_log() {
    if !are_curl_and_openssl_here() {
        return;
    }
    for options in ["", "-stream", "-keyid"] {
        let world = World::start("");
        let folder = world.folder();
        assert_eq!(folder.curl(&world.at_masa("/health")).text(), "ok\n");
        sign_registrar_request(&world, options);
        let post = |path: &str| format!("{VOUCHER_CMS_JSON} @registrar.cms {}", world.at_masa(path));
        // Nobody has the device yet.
        folder.curl(&post("/.well-known/brski/requestauditlog")).is_refusal(404, "");
        let answer = world.curl_until_decided(&post("/.well-known/brski/requestvoucher"));
        answer.is("application/voucher-cms+json");
        folder.write("voucher.cms", &answer.body);
        folder.openssl(
            "cms -verify -binary -inform DER -in voucher.cms -purpose any -CAfile masa/voucher-ca/ca.pem -out voucher.json",
        );
        let voucher: Value = serde_json::from_slice(&folder.read("voucher.json")).unwrap();
        assert_eq!(voucher["ietf-voucher:voucher"]["nonce"], NONCE);

        let log = folder.curl(&post("/.well-known/brski/requestauditlog"));
        log.is("application/json");
        let log: Value = serde_json::from_slice(&log.body).unwrap();
        let events = log["events"].as_array().unwrap();
        assert_eq!((events.len(), &events[0]["nonce"]), (1, &Value::from(NONCE)), "{log}");
        world.stop();
    }
}

#[test]
fn curl_is_told_what_is_wrong_with_a_registrars_request() {
    if !are_curl_and_openssl_here() {
        return;
    }
    let world = World::start("");
    let folder = world.folder();
    sign_registrar_request(&world, "");
    let url = world.at_masa("/.well-known/brski/requestvoucher");
    let post = |headers: &str| folder.curl(&format!("{headers} --data-binary @registrar.cms {url}"));
    post("").is_refusal(415, "Content-Type");
    let content_type = "--header Content-Type:application/voucher-cms+json";
    post(&format!("{content_type} --header Accept:text/html")).is_refusal(415, "Accept");
    post(&format!("{content_type} --header Accept:application/voucher+cose")).is_refusal(406, "");
    folder.curl(&url).is_refusal(405, "POST");
    folder.curl(&world.at_masa("/")).is_refusal(404, "nothing here");
    folder.write("registrar.cms", vec![b'x'; 1 << 20]);
    for expect in ["", "--header Expect:"] {
        post(&format!("{expect} {content_type}")).is_refusal(413, "longer");
    }
    // Signed by the device, which is no registrar.
    world.sign_voucher_request("");
    let answer = folder.curl(&format!("{content_type} --data-binary @request.cms {url}"));
    answer.is_refusal(403, "cmcRA");
    // Nobody got the device.
    sign_registrar_request(&world, "");
    let log = world.at_masa("/.well-known/brski/requestauditlog");
    folder.curl(&format!("{VOUCHER_CMS_JSON} @registrar.cms {log}")).is_refusal(404, "");
    world.stop();
}

#[test]
fn openssl_verifies_an_export_of_the_audit_log() {
    if !are_curl_and_openssl_here() {
        return;
    }
    for chain in ["p256x3", "p384x3"] {
        let world = World::start_with(chain, "");
        let folder = world.folder();
        sign_registrar_request(&world, "");
        let url = world.at_masa("/.well-known/brski/requestvoucher");
        let answer = world.curl_until_decided(&format!("{VOUCHER_CMS_JSON} @registrar.cms {url}"));
        answer.is("application/voucher-cms+json");
        let config = MasaConfig::read(&folder.path("masa/masa.toml")).unwrap();
        let (mut export, mut progress) = (Vec::new(), |_, _| ());
        let exported = export_log(&config, &mut export, None, now(), &mut progress);
        let head = world.runtime().block_on(exported).unwrap();

        let content = export[..export.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let end: Value = serde_json::from_slice(&export[content..]).unwrap();
        folder.write("content", &export[..content]);
        folder.write("end.p7", Base64::decode_vec(end["signature"].as_str().unwrap()).unwrap());
        folder.openssl(
            "cms -verify -inform DER -in end.p7 -CAfile masa/voucher-ca/ca.pem -purpose any -out statement.json",
        );
        let statement: Value = serde_json::from_slice(&folder.read("statement.json")).unwrap();
        let statement = &statement["terse-audit-log"];
        assert_eq!((&statement["length"], &statement["head"]), (&Value::from(1), &Value::from(head.hash_hex())));
        assert_eq!(statement["time"], end["time"]);
        let digest = folder.openssl("dgst -sha256 -r content");
        assert_eq!(digest.split_whitespace().next(), statement["sha256"].as_str());
        world.stop();
    }
}
