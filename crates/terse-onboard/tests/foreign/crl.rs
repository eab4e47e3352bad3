//! OpenSSL verifies certificates by the list that the registrar serves, and curl reads it.

use terse_net::Clock;
use terse_onboard::registrar::Operator;

use super::est::{PKCS10, read_certificates};
use super::programs::are_curl_and_openssl_here;
use super::world::{SERIAL, World};
use crate::deadline::Deadline;

const VERIFY: &str = "verify -crl_check -purpose sslclient -partial_chain -trusted domain/ca/intermediate1.pem \
                      -CRLfile list.pem ldevid.pem";

#[test]
fn openssl_refuses_a_certificate_that_is_revoked() {
    if !are_curl_and_openssl_here() {
        return;
    }
    let url = "http://registrar.example:8080/crl/domain.crl";
    let world = World::start(&format!("crl_listen = \"127.0.0.1:0\"\ncrl_url = \"{url}\""));
    let folder = world.folder();
    world.join();
    let subject = format!("/serialNumber={SERIAL}");
    folder.openssl(&format!(
        "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ldevid.key -subj {subject} -outform DER \
         -out ldevid.der"
    ));
    folder.openssl("base64 -in ldevid.der -out ldevid.p10");
    let enroll = format!("{PKCS10} @ldevid.p10 {}", world.as_device("/.well-known/est/simpleenroll"));
    let answer = folder.curl(&enroll);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(read_certificates(folder, &answer.body, "ldevid"), 1);
    let printed = folder.openssl("x509 -in ldevid.pem -noout -ext crlDistributionPoints");
    assert!(printed.contains(&format!("URI:{url}")), "{printed}");

    // Writes the list as `list.pem`.
    let list = || {
        let answer = folder.curl(&format!("http://{}/crl/domain.crl", world.crl.unwrap()));
        answer.is("application/pkix-crl");
        folder.write("list.crl", &answer.body);
        folder.openssl("crl -inform DER -in list.crl -out list.pem");
        let verified = folder.output("openssl", "crl -in list.pem -noout -verify -CAfile domain/ca/intermediate1.pem");
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(verified.status.success() && said.contains("verify OK"), "{said}");
        folder.openssl("crl -in list.pem -noout -text")
    };
    let empty = list();
    assert!(empty.contains("No Revoked Certificates") && empty.contains("X509v3 CRL Number"), "{empty}");
    assert!(folder.openssl(VERIFY).contains("ldevid.pem: OK"));

    world.runtime().block_on(async {
        let operator = Operator::open(&folder.path("domain/registrar.toml"), Clock::new()).await.unwrap();
        let reason = Some("cessation-of-operation".parse().unwrap());
        assert_eq!(operator.revoke(SERIAL, None, reason).await.unwrap().revoked, 1);
    });
    let serial = folder.openssl("x509 -in ldevid.pem -noout -serial");
    let serial = serial.trim().strip_prefix("serial=").unwrap();
    let deadline = Deadline::new();
    let text = loop {
        let text = list();
        if text.contains(serial) {
            break text;
        }
        deadline.check(text);
    };
    assert!(text.contains("Cessation Of Operation"), "{text}");
    let refused = folder.output("openssl", VERIFY);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("certificate revoked"), "{said}");
    let renew = format!(
        "{PKCS10} @ldevid.p10 --cert ldevid.pem --key ldevid.key {}",
        world.at_registrar("/.well-known/est/simplereenroll")
    );
    folder.curl(&renew).is_refusal(403, "revoked");
    world.stop();
}
