//! Leaves are shown that are meant for somebody else, or for something else.

use rcgen::{BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose};
use rcgen::{SanType, SubjectPublicKeyInfo};
use terse_testkit::pair::Side;
use terse_testkit::pki::SERVER_NAME;
use terse_tls::{AlertDescription as Alert, CertificateError as E, PeerMisbehaved};

use super::der::element;
use super::maker::{Ca, dns, good, leaf_key, self_signed_leaf};
use super::show::{Specimen, show};

/// keyUsage and extendedKeyUsage limit what a leaf is for (RFC 5280, 4.2.1.3 and 4.2.1.12; RFC 9846, 4.5.1.1).
#[test]
fn usage() {
    show(|role| {
        let root = Ca::good_root();
        let leaf = |change: &dyn Fn(&mut CertificateParams)| vec![root.leaf(role, |params| change(params))];
        let wrong = |name, change: &dyn Fn(&mut CertificateParams)| {
            Specimen::refused(name, leaf(change), &root.der, E::WrongUsage, Alert::UNSUPPORTED_CERTIFICATE)
        };
        let other = match role {
            Side::Server => ExtendedKeyUsagePurpose::ClientAuth,
            Side::Client => ExtendedKeyUsagePurpose::ServerAuth,
        };
        vec![
            wrong("for the other role", &|params| params.extended_key_usages = vec![other.clone()]),
            wrong("for any use", &|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any]),
            wrong("not for signatures", &|params| params.key_usages = vec![KeyUsagePurpose::KeyAgreement]),
            wrong("a CA", &|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
            Specimen::accepted("for every use", leaf(&|params| params.extended_key_usages.clear()), &root.der),
            Specimen::accepted("for signatures or not", leaf(&|params| params.key_usages.clear()), &root.der),
        ]
    });
}

#[test]
fn that_nobody_issued() {
    show(|role| {
        let root = Ca::good_root();
        let leaf = self_signed_leaf(role);
        vec![
            Specimen::refused("self-signed", vec![leaf.clone()], &root.der, E::UnknownIssuer, Alert::UNKNOWN_CA),
            Specimen::refused(
                "self-signed, and a good CA",
                vec![leaf, root.der.clone()],
                &root.der,
                E::UnknownIssuer,
                Alert::UNKNOWN_CA,
            ),
        ]
    });
}

/// Names stand in subjectAltName alone; a wildcard is the whole first label, and stands for one label (RFC 9525, 6). The
/// application judges the name of a client.
#[test]
fn names() {
    show(|role| {
        let root = Ca::good_root();
        let named = |name, names: Vec<SanType>, fits: bool| {
            let chain = vec![root.leaf(role, |params| params.subject_alt_names = names)];
            match fits || role == Side::Client {
                true => Specimen::accepted(name, chain, &root.der),
                false => Specimen::refused(name, chain, &root.der, E::WrongName, Alert::BAD_CERTIFICATE),
            }
        };
        let wild = |name| named(name, vec![dns(name)], false);
        vec![
            named("a wildcard", vec![dns("*.plant.example")], true),
            named("one of several", vec![dns("other.example"), dns(SERVER_NAME)], true),
            named("in capitals", vec![dns("BROKER.Plant.example")], true),
            wild("*.example"),
            wild("*.*.example"),
            wild("*.*"),
            wild("*"),
            wild("broker.*.example"),
            wild("br*.plant.example"),
            wild("*broker.plant.example"),
            wild("plant.example"),
            wild("sub.broker.plant.example"),
            wild("broker.plant.example.evil.example"),
            named("a name in the subject alone", vec![], false),
            named("an address", vec![SanType::IpAddress([10, 0, 0, 1].into())], false),
            named("a URI", vec![SanType::URI("https://broker.plant.example".try_into().unwrap())], false),
        ]
    });
}

/// A name with a NUL ends early for code that reads it as a C string.
#[test]
fn names_with_a_nul() {
    show(|role| {
        let root = Ca::good_root();
        let named = |name, dns_name: &[u8]| {
            let content = element(0x30, &element(0x82, dns_name));
            let extension = CustomExtension::from_oid_content(&[2, 5, 29, 17], content);
            let chain = vec![root.leaf(role, |params| {
                params.subject_alt_names.clear();
                params.custom_extensions = vec![extension];
            })];
            match role {
                Side::Client => Specimen::accepted(name, chain, &root.der),
                Side::Server => Specimen::refused(name, chain, &root.der, E::WrongName, Alert::BAD_CERTIFICATE),
            }
        };
        vec![
            named("before another domain", b"broker.plant.example\0.evil.example"),
            named("at the end", b"broker.plant.example\0"),
            named("a space at the end", b"broker.plant.example "),
            named("nothing", b""),
        ]
    });
}

/// Nobody here verifies signatures of these keys. The chain of a leaf does not count against the leaf's own key unless that
/// key is too short; the signature that it makes does.
#[test]
fn keys() {
    const RSA1024: &str = include_str!("../../../terse-provider-suite/src/data/rsa1024.spki.pem");
    let rsa = terse_testkit::provider_suite::public_key(RSA1024);
    let p521 = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512).unwrap();
    show(|role| {
        let root = Ca::good_root();
        let rsa = SubjectPublicKeyInfo::from_der(&rsa).unwrap();
        let leaf = |name, leaf, error: PeerMisbehaved, alert| Specimen {
            name,
            chain: vec![leaf],
            anchors: vec![root.der.clone()],
            refused: Some((error.into(), alert)),
        };
        let kind = |name, der| leaf(name, der, PeerMisbehaved::IllegalSignatureScheme, Alert::ILLEGAL_PARAMETER);
        let other = root.leaf_of(role, &leaf_key(role.other()), good);
        vec![
            Specimen::refused(
                "RSA with 1024 bits",
                vec![root.leaf_of(role, &rsa, good)],
                &root.der,
                E::ShortRsaKey { depth: 0, bits: 1024 },
                Alert::UNSUPPORTED_CERTIFICATE,
            ),
            kind("P-521", root.leaf_of(role, &p521, good)),
            leaf("another key of the same kind", other, PeerMisbehaved::BadSignature, Alert::DECRYPT_ERROR),
        ]
    });
}
