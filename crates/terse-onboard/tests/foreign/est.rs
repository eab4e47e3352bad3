//! curl and OpenSSL are a client of EST (RFC 7030), by the pipes that its users have.

use super::programs::{Folder, are_curl_and_openssl_here};
use super::world::{SERIAL, World};

const DEVICE_NAMES: &str = r#"names = ["{serial}.devices.example"]"#;

/// The name that the registrar asks for.
const NAME: &str = "wi-3005.devices.example";

/// The arguments of curl that post a certification request, with a file to follow.
pub(crate) const PKCS10: &str = "--header Content-Type:application/pkcs10 --data-binary";

/// Writes the certification request for a new key as `NAME.p10`, in lines of base64.
fn write_certification_request(folder: Folder<'_>, name: &str, subject: &str, alternative: &str) {
    folder.openssl(&format!(
        "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key -subj {subject} \
         -addext subjectAltName={alternative} -outform DER -out {name}.der"
    ));
    folder.openssl(&format!("base64 -in {name}.der -out {name}.p10"));
}

/// Turns an answer of EST into certificates, in `NAME.pem`. Returns how many there are.
pub(crate) fn read_certificates(folder: Folder<'_>, body: &[u8], name: &str) -> usize {
    folder.write("answer", body);
    folder.openssl("base64 -d -A -in answer -out answer.p7");
    folder.openssl(&format!("pkcs7 -inform DER -in answer.p7 -print_certs -out {name}.pem"));
    String::from_utf8(folder.read(&format!("{name}.pem"))).unwrap().matches("BEGIN CERTIFICATE").count()
}

#[test]
fn curl_enrols_and_enrols_again() {
    if !are_curl_and_openssl_here() {
        return;
    }
    let world = World::start(DEVICE_NAMES);
    let folder = world.folder();
    // Before the voucher nobody is let in.
    folder.curl(&world.as_device("/.well-known/est/cacerts")).is_refusal(401, "voucher");
    world.join();

    let answer = folder.curl(&format!("--dump-header head {}", world.as_device("/.well-known/est/cacerts")));
    answer.is("application/pkcs7-mime");
    // Clients that do not know RFC 8951 need it.
    let head = String::from_utf8(folder.read("head")).unwrap().to_ascii_lowercase();
    assert!(head.contains("content-transfer-encoding: base64"), "{head}");
    assert!(read_certificates(folder, &answer.body, "cacerts") >= 1);
    let root = folder.openssl("x509 -in domain/ca/ca.pem");
    assert!(folder.openssl("storeutl -certs cacerts.pem").contains(&root), "the root is among them");

    let answer = folder.curl(&world.as_device("/.well-known/est/csrattrs"));
    answer.is("application/csrattrs");
    folder.write("answer", &answer.body);
    folder.openssl("base64 -d -A -in answer -out csrattrs.der");
    let printed = folder.openssl("asn1parse -inform DER -in csrattrs.der");
    assert!(printed.contains("Extension Request") && printed.contains("X509v3 Subject Alternative Name"), "{printed}");
    assert!(folder.read("csrattrs.der").windows(NAME.len()).any(|part| part == NAME.as_bytes()));

    let subject = format!("/serialNumber={SERIAL}");
    write_certification_request(folder, "ldevid", &subject, &format!("DNS:{NAME}"));
    let enroll =
        |file: &str| folder.curl(&format!("{PKCS10} @{file} {}", world.as_device("/.well-known/est/simpleenroll")));
    let answer = enroll("ldevid.p10");
    answer.is("application/pkcs7-mime; smime-type=certs-only");
    assert_eq!(read_certificates(folder, &answer.body, "ldevid"), 1);
    folder.openssl("verify -purpose sslclient -CAfile domain/ca/ca.pem -untrusted cacerts.pem ldevid.pem");
    let printed = folder.openssl("x509 -in ldevid.pem -noout -subject -ext subjectAltName");
    assert!(printed.contains(SERIAL) && printed.contains(&format!("DNS:{NAME}")), "{printed}");
    let public_keys =
        [folder.openssl("x509 -in ldevid.pem -noout -pubkey"), folder.openssl("pkey -in ldevid.key -pubout")];
    assert_eq!(public_keys[0], public_keys[1]);
    // The same request again has the same certificate.
    assert_eq!(enroll("ldevid.p10").body, answer.body);

    // Another name, another subject, a request that was changed, and no request.
    write_certification_request(folder, "other", &subject, "DNS:other.devices.example");
    enroll("other.p10").is_refusal(400, "2.5.29.17");
    write_certification_request(folder, "other", "/CN=plant-admin", &format!("DNS:{NAME}"));
    let other = enroll("other.p10");
    other.is("application/pkcs7-mime; smime-type=certs-only");
    assert_eq!(read_certificates(folder, &other.body, "other"), 1);
    let printed = folder.openssl("x509 -in other.pem -noout -subject");
    assert!(printed.contains(SERIAL) && !printed.contains("plant-admin"), "the domain decides the subject: {printed}");
    let mut changed = folder.read("ldevid.der");
    *changed.last_mut().unwrap() ^= 1;
    folder.write("changed.der", changed);
    folder.openssl("base64 -in changed.der -out changed.p10");
    enroll("changed.p10").is_refusal(400, "signature");
    enroll("ldevid.pem").is_refusal(400, "certification request");
    let untyped =
        folder.curl(&format!("--data-binary @ldevid.p10 {}", world.as_device("/.well-known/est/simpleenroll")));
    untyped.is_refusal(415, "application/pkcs10");
    // 1 MB is more than any request has.
    folder.write("long.p10", vec![b'A'; 1 << 20]);
    enroll("long.p10").is_refusal(413, "too long");

    // With the LDevID the device gets the next one, with another key. It is of no use for a first enrolment.
    write_certification_request(folder, "next", &subject, &format!("DNS:{NAME}"));
    let as_member = |path: &str| format!("--cert ldevid.pem --key ldevid.key {}", world.at_registrar(path));
    let answer = folder.curl(&format!("{PKCS10} @next.p10 {}", as_member("/.well-known/est/simplereenroll")));
    answer.is("application/pkcs7-mime; smime-type=certs-only");
    assert_eq!(read_certificates(folder, &answer.body, "next"), 1);
    folder.openssl("verify -purpose sslclient -CAfile domain/ca/ca.pem -untrusted cacerts.pem next.pem");
    let first = folder.curl(&format!("{PKCS10} @next.p10 {}", as_member("/.well-known/est/simpleenroll")));
    first.is_refusal(403, "simplereenroll");
    let again = folder.curl(&format!("{PKCS10} @ldevid.p10 {}", world.as_device("/.well-known/est/simplereenroll")));
    again.is_refusal(403, "simpleenroll");
    world.stop();
}

/// A registrar that asks for no names has nothing to say about certification requests.
#[test]
fn curl_is_told_that_there_are_no_attributes() {
    if !are_curl_and_openssl_here() {
        return;
    }
    let world = World::start("");
    world.join();
    let answer = world.folder().curl(&world.as_device("/.well-known/est/csrattrs"));
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    world.stop();
}
