//! Certification requests: OpenSSL verifies ours, and its own are certified or refused.

use std::fs;

use terse_pki::{
    CertificationRequest, ExtensionPolicy, KeyAlgorithm, LdevidPolicy, NameAttribute, NamePolicy, NewRequest,
    RequestError, RequestOptions, Subject, SubjectPolicy,
};
use terse_testkit::openssl::{OpenSsl, VALIDITY};

use super::authority;

#[test]
fn openssl_verifies_ours() {
    let Some(openssl) = OpenSsl::new() else { return };
    let subject = Subject::empty().with(NameAttribute::DomainComponent, "example").unwrap();
    let subject = subject.with(NameAttribute::DomainComponent, "plant").unwrap();
    let subject = subject.with(NameAttribute::SerialNumber, "WI-3005").unwrap();
    for algorithm in KeyAlgorithm::ALL {
        for names in [vec![], vec!["a.example".into(), "192.0.2.7".into(), "2001:db8::7".into()]] {
            let options = RequestOptions { subject: subject.clone(), names, algorithm };
            let request = NewRequest::new(&options).unwrap();
            openssl.write("csr.pem", request.request().to_pem());
            openssl.write("csr.key", request.key_pem());
            let text = openssl.run("req -in csr.pem -verify -noout -text");
            assert!(text.contains("verify OK"), "{text}");
            assert!(text.contains("Subject: DC = example, DC = plant, serialNumber = WI-3005"), "{text}");
            let has_names = text.contains("DNS:a.example, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7");
            assert_eq!(has_names, !options.names.is_empty(), "{text}");
            let keys =
                ["req -in csr.pem -pubkey -noout", "pkey -in csr.key -pubout"].map(|command| openssl.run(command));
            assert_eq!(keys[0], keys[1]);
        }
    }
}

/// How OpenSSL makes a key and a request, and the algorithm of the key.
const KEYS: [(&str, KeyAlgorithm); 8] = [
    ("-newkey ec -pkeyopt ec_paramgen_curve:P-256 -sha256", KeyAlgorithm::P256),
    ("-newkey ec -pkeyopt ec_paramgen_curve:P-256 -sha384", KeyAlgorithm::P256),
    ("-newkey ec -pkeyopt ec_paramgen_curve:P-384 -sha256", KeyAlgorithm::P384),
    ("-newkey ec -pkeyopt ec_paramgen_curve:P-384 -sha384", KeyAlgorithm::P384),
    ("-newkey ed25519", KeyAlgorithm::Ed25519),
    ("-newkey rsa:2048 -sha256", KeyAlgorithm::Rsa2048),
    ("-newkey rsa:3072 -sha384", KeyAlgorithm::Rsa3072),
    ("-newkey rsa:2048 -sha512", KeyAlgorithm::Rsa2048),
];

#[test]
fn those_of_openssl_are_certified() {
    let Some(openssl) = OpenSsl::new() else { return };
    let authority = authority(true);
    let policy = LdevidPolicy {
        subject: SubjectPolicy::Requested,
        names: NamePolicy::Among(vec!["a.example".into(), "192.0.2.7".into()]),
        extensions: ExtensionPolicy::Refuse,
        ..LdevidPolicy::new(Subject::empty(), VALIDITY)
    };
    for (key, algorithm) in KEYS {
        openssl.run(&format!(
            "req -new -nodes {key} -keyout csr.key -out csr.pem -subj /DC=example/DC=plant/CN=sensor \
             -addext subjectAltName=DNS:a.example,IP:192.0.2.7 -addext keyUsage=critical,digitalSignature"
        ));
        openssl.run("req -in csr.pem -outform der -out csr.der");
        for file in ["csr.pem", "csr.der"] {
            let request = CertificationRequest::from_file_contents(&fs::read(openssl.path(file)).unwrap()).unwrap();
            assert_eq!(request.algorithm(), algorithm);
            assert_eq!(request.subject().to_string(), "DC=example, DC=plant, CN=sensor");
            assert_eq!(request.names().unwrap(), ["a.example", "192.0.2.7"]);
            openssl.write_chain(&authority, &authority.issue_ldevid(&request, &policy).unwrap());
            openssl.verify("-x509_strict -purpose sslclient");
            let keys =
                ["x509 -in leaf.pem -pubkey -noout", "pkey -in csr.key -pubout"].map(|command| openssl.run(command));
            assert_eq!(keys[0], keys[1], "{key}");
            let text = openssl.text();
            assert!(text.contains("Subject: DC = example, DC = plant, CN = sensor"), "{text}");
            assert!(text.contains("DNS:a.example, IP Address:192.0.2.7"), "{text}");
        }
    }
}

#[test]
fn weak_and_unknown_keys_of_openssl_are_refused() {
    let Some(openssl) = OpenSsl::new() else { return };
    for (key, expected) in [
        ("-newkey rsa:1024 -sha256", RequestError::RsaLength(1024)),
        ("-newkey rsa:2560 -sha256", RequestError::RsaLength(2560)),
        ("-newkey rsa:2048 -pkeyopt rsa_keygen_pubexp:3 -sha256", RequestError::WeakExponent),
        ("-newkey rsa:2048 -sha1", RequestError::UnsupportedSignature(KeyAlgorithm::Rsa2048)),
        ("-newkey rsa:2048 -sigopt rsa_padding_mode:pss", RequestError::UnsupportedSignature(KeyAlgorithm::Rsa2048)),
        ("-newkey rsa-pss", RequestError::UnsupportedKey),
        ("-newkey ec -pkeyopt ec_paramgen_curve:P-521", RequestError::UnsupportedKey),
        ("-newkey ec -pkeyopt ec_paramgen_curve:secp256k1", RequestError::UnsupportedKey),
        ("-newkey ec -pkeyopt ec_paramgen_curve:P-256 -sha1", RequestError::UnsupportedSignature(KeyAlgorithm::P256)),
        ("-newkey ec -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit", RequestError::UnsupportedKey),
        ("-newkey ed448", RequestError::UnsupportedKey),
    ] {
        openssl.run(&format!("req -new -nodes {key} -keyout csr.key -out csr.pem -subj /CN=sensor"));
        let refused = CertificationRequest::from_file_contents(&fs::read(openssl.path("csr.pem")).unwrap());
        assert_eq!(refused.unwrap_err(), expected, "{key}");
    }
}
