//! OpenSSL reads what this crate issues and asks for, and asks for certificates that this crate issues. Without the
//! `openssl` command the tests are skipped; with `TERSE_REQUIRE_ALL=1` that is a failure.

use terse_pki::pki_types::CertificateDer;
use terse_pki::{
    Authority, AuthorityOptions, Credential, IdevidOptions, KeyPurpose, LdevidPolicy, LeafOptions, NewRequest,
    RegistrarOptions, RequestOptions, Revocation, Subject, Usage, Validity, VoucherSignerOptions, to_pem,
};
use terse_testkit::openssl::{NOW, OpenSsl, VALIDITY};

mod requests;

fn authority(key_identifiers: bool) -> Authority {
    let options = AuthorityOptions::new("p256x3".parse().unwrap(), Validity::without_end(NOW));
    Authority::new(&AuthorityOptions { key_identifiers, ..options }).unwrap()
}

#[test]
fn with_key_identifiers_every_profile_passes_the_strict_checks() {
    let Some(openssl) = OpenSsl::new() else { return };
    let authority = authority(true);
    let request = NewRequest::new(&RequestOptions::new(Subject::empty())).unwrap();
    let subject = Subject::common_name("sensor-17").unwrap();
    let ldevid = authority.issue_ldevid(request.request(), &LdevidPolicy::new(subject, VALIDITY)).unwrap();
    let chain = |credential: Credential| credential.chain().to_vec();
    let masa = LeafOptions { usage: Usage::Server, ..LeafOptions::new("masa.maker.example", VALIDITY) };
    let registrar = RegistrarOptions::new("registrar.plant.example", VALIDITY);
    let signer = VoucherSignerOptions::new("Maker", VALIDITY);
    for (chain, purposes) in [
        (chain(authority.issue_idevid(&IdevidOptions::new("WI-3005", NOW)).unwrap()), &["sslclient", "sslserver"][..]),
        (chain(authority.issue_registrar(&registrar).unwrap()), &["sslclient", "sslserver"]),
        (chain(authority.issue(&masa).unwrap()), &["sslserver"]),
        (chain(authority.issue_voucher_signer(&signer).unwrap()), &["smimesign", "any"]),
        (ldevid, &["sslclient"]),
    ] {
        openssl.write_chain(&authority, &chain);
        for purpose in purposes {
            openssl.verify(&format!("-x509_strict -purpose {purpose}"));
        }
    }
}

#[test]
fn without_key_identifiers_a_chain_passes_all_but_the_strict_checks() {
    let Some(openssl) = OpenSsl::new() else { return };
    let authority = authority(false);
    // The IDevID names a key that its issuer's certificate does not identify.
    let idevid = authority.issue_idevid(&IdevidOptions::new("WI-3005", NOW)).unwrap();
    openssl.write_chain(&authority, idevid.chain());
    openssl.verify("-purpose sslclient");
    assert!(!openssl.validate("-x509_strict").status.success());
}

#[test]
fn crls_are_found_by_the_key_identifier() {
    let Some(openssl) = OpenSsl::new() else { return };
    for key_identifiers in [true, false] {
        let authority = authority(key_identifiers);
        let [leaf, other] = ["a.example", "b.example"].map(|name| authority.issue(&LeafOptions::new(name, VALIDITY)));
        let (leaf, other) = (leaf.unwrap(), other.unwrap());
        openssl.write_chain(&authority, leaf.chain());
        let revoke = |certificate: &CertificateDer<'_>| {
            let revoked = [Revocation::new(certificate, NOW).unwrap()];
            let lists = [authority.crl(0, &[], VALIDITY).unwrap(), authority.crl(1, &revoked, VALIDITY).unwrap()];
            openssl.write("crl.pem", lists.map(|list| to_pem("X509 CRL", &list)).concat());
        };
        let strict = if key_identifiers { "-x509_strict" } else { "" };
        let options = format!("{strict} -crl_check_all -CRLfile crl.pem");
        revoke(other.leaf());
        openssl.verify(&options);
        revoke(leaf.leaf());
        let output = openssl.validate(&options);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains("certificate revoked"), "{text}");
    }
}

#[test]
fn an_idevid_prints_as_in_rfc_8995() {
    let Some(openssl) = OpenSsl::new() else { return };
    let authority = authority(true);
    let masa_url = Some("highway-test.example.com:9443".parse().unwrap());
    let idevid = authority.issue_idevid(&IdevidOptions { masa_url, ..IdevidOptions::new("00-D0-E5-F2-00-02", NOW) });
    openssl.write_chain(&authority, idevid.unwrap().chain());
    let text = openssl.text();
    for part in [
        "Subject: serialNumber = 00-D0-E5-F2-00-02",
        "Not After : Dec 31 23:59:59 9999 GMT",
        "1.3.6.1.5.5.7.1.32: ..highway-test.example.com:9443",
        "X509v3 Authority Key Identifier: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in ["Key Usage", "Subject Key Identifier", "critical", "Basic Constraints"] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    let dump = openssl.run("asn1parse -in leaf.pem");
    let dump = dump.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(dump.contains("PRINTABLESTRING :00-D0-E5-F2-00-02"), "{dump}");
    assert!(dump.contains("GENERALIZEDTIME :99991231235959Z"), "{dump}");
}

#[test]
fn a_registrar_prints_with_its_usages() {
    let Some(openssl) = OpenSsl::new() else { return };
    let authority = authority(true);
    let usual = RegistrarOptions::new("registrar.plant.example", VALIDITY);
    let alone = RegistrarOptions { purposes: vec![KeyPurpose::CmcRa], ..usual.clone() };
    for (options, usages) in [
        (usual, "CMC Registration Authority, TLS Web Server Authentication, TLS Web Client Authentication"),
        (alone, "CMC Registration Authority"),
    ] {
        openssl.write_chain(&authority, authority.issue_registrar(&options).unwrap().chain());
        let text = openssl.text();
        for part in [
            &format!("X509v3 Extended Key Usage: {usages} X509v3 Subject Key Identifier:"),
            "X509v3 Key Usage: critical Digital Signature X509v3",
            "X509v3 Subject Alternative Name: DNS:registrar.plant.example",
            "X509v3 Authority Key Identifier: ",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn a_voucher_signer_signs_cms() {
    let Some(openssl) = OpenSsl::new() else { return };
    let authority = authority(true);
    let credential = authority.issue_voucher_signer(&VoucherSignerOptions::new("Maker", VALIDITY)).unwrap();
    openssl.write_chain(&authority, credential.chain());
    openssl.write("leaf.key", credential.key_pem());
    openssl.write("voucher", "{}");
    openssl.run(
        "cms -sign -in voucher -signer leaf.pem -inkey leaf.key -certfile intermediates.pem -nodetach -binary -out signed",
    );
    let time = NOW + 60;
    let text = openssl.run(&format!("cms -verify -in signed -CAfile root.pem -attime {time} -x509_strict"));
    assert!(text.contains("{}"), "{text}");
}
