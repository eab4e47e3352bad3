//! curl is a pledge whose voucher requests OpenSSL signs, and whose voucher OpenSSL verifies (RFC 8995, 5.2 to 5.7).

use base64ct::{Base64, Encoding as _};
use serde_json::Value;

use super::programs::{JSON_VOUCHER, are_curl_and_openssl_here};
use super::world::{NONCE, SERIAL, World};

const REQUEST_VOUCHER: &str = "/.well-known/brski/requestvoucher";

/// DER, BER with indefinite lengths, as a program writes it that does not know the length of its input, and another digest.
#[test]
fn curl_gets_a_voucher_that_openssl_verifies() {
    if !are_curl_and_openssl_here() {
        return;
    }
    for options in ["", "-stream", "-md sha384"] {
        let world = World::start("");
        let folder = world.folder();
        world.write_voucher_request();
        world.sign_voucher_request(options);
        // SEQUENCE, and a length that is indefinite or has two bytes.
        let start = if options == "-stream" { [0x30, 0x80] } else { [0x30, 0x82] };
        assert_eq!(folder.read("request.cms")[..2], start);
        let answer = world.curl_until_decided(&world.posted_voucher_request());
        answer.is("application/voucher-cms+json");
        folder.write("voucher.cms", &answer.body);
        folder.openssl(&format!(
            "cms -verify -binary -inform DER -in voucher.cms -purpose any -CAfile devices/{SERIAL}-anchors.pem \
             -out voucher.json"
        ));
        let voucher: Value = serde_json::from_slice(&folder.read("voucher.json")).unwrap();
        let voucher = &voucher["ietf-voucher:voucher"];
        assert_eq!((&voucher["nonce"], &voucher["serial-number"]), (&Value::from(NONCE), &Value::from(SERIAL)));
        assert_eq!(voucher["assertion"], "proximity");
        let pin = Base64::decode_vec(voucher["pinned-domain-cert"].as_str().unwrap()).unwrap();
        folder.write("pin.der", pin);
        folder.openssl("x509 -inform DER -in pin.der -out pin.pem");
        folder.openssl("verify -partial_chain -trusted pin.pem -untrusted domain/registrar.pem domain/registrar.pem");
        // The same request again has the same voucher, also if its length is not said (RFC 9112, 7.1).
        let again = folder.curl(&format!("--header Transfer-Encoding:chunked {}", world.posted_voucher_request()));
        assert_eq!(again.body, answer.body);
        world.stop();
    }
}

#[test]
fn curl_is_told_what_is_wrong_with_a_voucher_request() {
    if !are_curl_and_openssl_here() {
        return;
    }
    let world = World::start("");
    let folder = world.folder();
    world.write_voucher_request();
    world.sign_voucher_request("");
    let url = world.as_device(REQUEST_VOUCHER);
    let post = |headers: &str| folder.curl(&format!("{headers} --data-binary @request.cms {url}"));
    // Without an option curl says application/x-www-form-urlencoded.
    post("").is_refusal(415, "Content-Type");
    post("--header Content-Type:").is_refusal(415, "Content-Type");
    post("--header Content-Type:application/pkcs7-mime").is_refusal(415, "Content-Type");
    let content_type = "--header Content-Type:application/voucher-cms+json";
    post(&format!("{content_type} --header Accept:text/html")).is_refusal(415, "Accept");
    post(&format!("{content_type} --header Accept:application/voucher-jws+json")).is_refusal(406, "");
    folder.curl(&url).is_refusal(405, "method");
    folder.curl(&world.as_device("/.well-known/brski/nothing")).is_refusal(404, "nothing here");

    // What OpenSSL makes of another key, of other content, and without signed attributes.
    let signed = folder.read("request.cms");
    folder.openssl("ecparam -name prime256v1 -genkey -noout -out other.key");
    let subject = format!("/serialNumber={SERIAL}");
    folder.openssl(&format!("req -new -x509 -key other.key -subj {subject} -days 2 -out other.pem"));
    folder.openssl(&format!(
        "cms -sign -binary -nodetach -outform DER -econtent_type {JSON_VOUCHER} -signer other.pem -inkey other.key \
         -in request.json -out request.cms",
    ));
    world.curl_until_decided(&world.posted_voucher_request()).is_refusal(401, "another certificate");
    world.sign_voucher_request("-noattr");
    world.curl_until_decided(&world.posted_voucher_request()).is_refusal(403, "signedAttrs");
    folder.write("request.cms", &signed[..signed.len() - 1]);
    world.curl_until_decided(&world.posted_voucher_request()).is_refusal(403, "malformed");
    world.stop();
}

#[test]
fn curl_is_refused_without_a_certificate_and_with_a_long_body() {
    if !are_curl_and_openssl_here() {
        return;
    }
    let world = World::start("");
    let folder = world.folder();
    folder.curl(&world.as_device("/health")).is("text/plain; charset=utf-8");
    for version in ["--tlsv1.2 --tls-max 1.2", "--tlsv1.3"] {
        folder.curl(&format!("{version} {}", world.as_device("/health"))).is("text/plain; charset=utf-8");
        let refused = folder.try_curl(&format!("{version} {}", world.at_registrar("/health")));
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && error.contains("alert"), "it is told why: {error}");
    }
    folder.write("request.cms", vec![b'x'; 1 << 20]);
    for expect in ["", "--header Expect:"] {
        let answer = folder.curl(&format!("{expect} {}", world.posted_voucher_request()));
        answer.is_refusal(413, "too long");
    }
    // The service goes on.
    folder.curl(&world.as_device("/health")).is("text/plain; charset=utf-8");
    world.stop();
}

#[test]
fn curl_asks_for_the_health_of_both_services_without_a_certificate() {
    if !are_curl_and_openssl_here() {
        return;
    }
    let world = World::start("");
    for address in world.health {
        let answer = world.folder().curl(&format!("http://{address}/health"));
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok\n"));
        assert_eq!(world.folder().curl(&format!("--request POST http://{address}/health")).status, 405);
        assert_eq!(world.folder().curl(&format!("http://{address}/")).status, 404);
    }
    world.stop();
}
