//! CAs issue what they may not issue.

use core::time::Duration;

use pki_types::UnixTime;
use rcgen::{
    BasicConstraints, CustomExtension, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, KeyUsagePurpose, NameConstraints,
    date_time_ymd,
};
use terse_tls::{AlertDescription as Alert, CertificateError as E, Date};

use super::der::{children, resigned, sequence, signed};
use super::maker::{Ca, good};
use super::show::{Specimen, show};

/// A CA must say that it is one, and that it may sign certificates (RFC 5280, 4.2.1.9 and 6.1.4 (k)).
#[test]
fn that_are_no_ca() {
    show(|role| {
        let root = Ca::good_root();
        let wrong_usage = |name, change: fn(&mut rcgen::CertificateParams)| {
            let sub = root.sub("Sub", change);
            let chain = vec![sub.leaf(role, good), sub.der];
            Specimen::refused(name, chain, &root.der, E::WrongUsage, Alert::UNSUPPORTED_CERTIFICATE)
        };
        let sub = root.sub("Sub", good);
        vec![
            Specimen::accepted("a good one", vec![sub.leaf(role, good), sub.der], &root.der),
            wrong_usage("no basicConstraints", |params| params.is_ca = IsCa::NoCa),
            wrong_usage("cA is false", |params| params.is_ca = IsCa::ExplicitNoCa),
            // RFC 5280, 6.1.4 (n)
            wrong_usage("may not sign certificates", |params| params.key_usages = vec![KeyUsagePurpose::CrlSign]),
            wrong_usage("for code", |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning]),
        ]
    });
}

/// A trust anchor is a name and a key (RFC 5280, 4.2.1.9): what else its certificate says does not count, except its name
/// constraints (RFC 5280, 6.1.1 (d)).
#[test]
fn path_length() {
    show(|role| {
        let limit = |limit| {
            move |params: &mut rcgen::CertificateParams| {
                params.is_ca = IsCa::Ca(BasicConstraints::Constrained(limit));
            }
        };
        let chain = |root: &Ca, most| {
            let sub = root.sub("Sub", limit(most));
            let subsub = sub.sub("Subsub", good);
            vec![subsub.leaf(role, good), subsub.der, sub.der]
        };
        let root = Ca::good_root();
        let strict = Ca::root("Strict", limit(0));
        let sub = strict.sub("Sub", good);
        vec![
            Specimen::accepted("as long as it may be", chain(&root, 1), &root.der),
            Specimen::refused("too long", chain(&root, 0), &root.der, E::ConstraintViolated, Alert::BAD_CERTIFICATE),
            Specimen::accepted("of a trust anchor", vec![sub.leaf(role, good), sub.der], &strict.der),
        ]
    });
}

/// Name constraints (RFC 5280, 4.2.1.10) hold for the names of both leaves.
#[test]
fn name_constraints() {
    show(|role| {
        let constraints = |permitted: &[&str], excluded: &[&str]| {
            let subtrees = |names: &[&str]| names.iter().map(|name| GeneralSubtree::DnsName((*name).into())).collect();
            NameConstraints { permitted_subtrees: subtrees(permitted), excluded_subtrees: subtrees(excluded) }
        };
        let root = Ca::good_root();
        let case = |name, permitted: &[&str], excluded: &[&str], fits| {
            let sub = root.sub("Sub", |params| params.name_constraints = Some(constraints(permitted, excluded)));
            let chain = vec![sub.leaf(role, good), sub.der];
            if fits {
                Specimen::accepted(name, chain, &root.der)
            } else {
                Specimen::refused(name, chain, &root.der, E::ConstraintViolated, Alert::BAD_CERTIFICATE)
            }
        };
        let strict = Ca::root("Strict", |params| params.name_constraints = Some(constraints(&["other.example"], &[])));
        vec![
            case("permitted", &["plant.example"], &["other.example"], true),
            case("others are permitted", &["other.example"], &[], false),
            case("a part of a label is permitted", &["ant.example"], &[], false),
            case("excluded", &[], &["plant.example"], false),
            case("permitted and excluded", &["plant.example"], &["example"], false),
            Specimen::refused(
                "not permitted by the trust anchor",
                vec![strict.leaf(role, good)],
                &strict.der,
                E::ConstraintViolated,
                Alert::BAD_CERTIFICATE,
            ),
        ]
    });
}

/// The dates of a trust anchor do not count: it is believed until it is no longer configured.
#[test]
fn validity() {
    show(|role| {
        let root = Ca::good_root();
        let (past, future) = (date_time_ymd(2025, 8, 1), date_time_ymd(2026, 6, 1));
        let unix = |date| UnixTime::since_unix_epoch(Duration::from_secs(date));
        // 2025-08-01 and 2026-06-01.
        let expired = |depth| E::Expired { depth, not_after: Date::of(unix(1_754_006_400)) };
        let early = |depth| E::NotYetValid { depth, not_before: Date::of(unix(1_780_272_000)) };
        let ended = root.sub("Ended", |params| params.not_after = past);
        let new = root.sub("New", |params| params.not_before = future);
        let old_root = Ca::root("Old", |params| params.not_after = past);
        let refused = |name, chain, error| Specimen::refused(name, chain, &root.der, error, Alert::CERTIFICATE_EXPIRED);
        vec![
            refused("expired leaf", vec![root.leaf(role, |params| params.not_after = past)], expired(0)),
            refused("leaf of tomorrow", vec![root.leaf(role, |params| params.not_before = future)], early(0)),
            refused("expired CA", vec![ended.leaf(role, good), ended.der.clone()], expired(1)),
            refused("CA of tomorrow", vec![new.leaf(role, good), new.der.clone()], early(1)),
            Specimen::accepted("expired trust anchor", vec![old_root.leaf(role, good)], &old_root.der),
        ]
    });
}

/// An issuer's name and key belong together.
#[test]
fn that_are_somebody_else() {
    show(|role| {
        let root = Ca::good_root();
        let same_name = Ca::good_root();
        let same_key = root.renamed("Toor");
        let sub = root.sub("Sub", good);
        let false_sub = same_name.sub("Sub", good);
        let mut broken = root.leaf(role, good);
        *broken.last_mut().unwrap() ^= 1;
        let unknown = |name, chain| Specimen::refused(name, chain, &root.der, E::UnknownIssuer, Alert::UNKNOWN_CA);
        let forged = |name, chain| Specimen::refused(name, chain, &root.der, E::BadSignature, Alert::BAD_CERTIFICATE);
        vec![
            unknown("same key, other name", vec![same_key.leaf(role, good)]),
            forged("same name, other key", vec![same_name.leaf(role, good)]),
            forged("wrong signature", vec![broken]),
            forged("another CA with the name of a good one", vec![false_sub.leaf(role, good), sub.der.clone()]),
            forged("a chain to a false root", vec![false_sub.leaf(role, good), false_sub.der, same_name.der]),
        ]
    });
}

/// Chains signed with weak or unknown algorithms are refused (RFC 9846, 4.3.3 and 4.5.1.1).
#[test]
fn that_sign_weakly() {
    const ALGORITHMS: [(&str, &[u8]); 4] = [
        ("MD5 with RSA", &[0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4, 5, 0]),
        ("SHA-1 with RSA", &[0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5, 5, 0]),
        ("SHA-1 with ECDSA", &[0x30, 9, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1]),
        ("an unknown one", &[0x30, 5, 6, 3, 0x2a, 3, 4]),
    ];
    show(|role| {
        let root = Ca::good_root();
        let weak = ALGORITHMS.into_iter().map(|(name, algorithm)| {
            let mut parts = children(&root.leaf(role, good));
            let mut fields = children(&parts[0]);
            fields[2] = algorithm.to_vec();
            parts[0] = sequence(&fields);
            parts[1] = algorithm.to_vec();
            let chain = vec![signed(parts, &root.key)];
            Specimen::refused(name, chain, &root.der, E::UnsupportedAlgorithm, Alert::UNSUPPORTED_CERTIFICATE)
        });
        let mut all: Vec<_> = weak.collect();
        // The two places for the algorithm must say the same (RFC 5280, 4.1.1.2).
        let contradiction = resigned(&root.leaf(role, good), &root.key, |fields| fields[2] = ALGORITHMS[1].1.to_vec());
        all.push(Specimen::refused(
            "two algorithms",
            vec![contradiction],
            &root.der,
            E::Invalid,
            Alert::BAD_CERTIFICATE,
        ));
        all
    });
}

/// The providers call what a short key signs wrong, and the error says why.
#[test]
fn with_short_keys() {
    const SHA256_WITH_RSA: &[u8] = &[0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11, 5, 0];
    const RSA1024: &str = include_str!("../../../terse-provider-suite/src/data/rsa1024.spki.pem");
    let rsa = terse_testkit::provider_suite::public_key(RSA1024);
    show(|role| {
        let root = Ca::good_root();
        let signed_with_rsa = |leaf: &[u8], key| {
            let mut parts = children(leaf);
            let mut fields = children(&parts[0]);
            fields[2] = SHA256_WITH_RSA.to_vec();
            parts[0] = sequence(&fields);
            parts[1] = SHA256_WITH_RSA.to_vec();
            signed(parts, key)
        };
        let with_short_key = |ca: &Ca| resigned(&ca.der, &root.key, |fields| fields[6] = rsa.to_vec());
        let refused = |name, chain, anchor: &[u8], depth| {
            let error = E::ShortRsaKey { depth, bits: 1024 };
            Specimen::refused(name, chain, anchor, error, Alert::UNSUPPORTED_CERTIFICATE)
        };
        let sub = root.sub("Sub", good);
        let by_sub = signed_with_rsa(&sub.leaf(role, good), &sub.key);
        let by_root = signed_with_rsa(&root.leaf(role, good), &root.key);
        vec![
            refused("of a CA", vec![by_sub, with_short_key(&sub)], &root.der, 1),
            refused("of a trust anchor", vec![by_root], &with_short_key(&root), 1),
        ]
    });
}

/// A critical extension that is not understood is fatal (RFC 5280, 4.2).
#[test]
fn critical_extensions() {
    show(|role| {
        let root = Ca::good_root();
        let unknown = |critical| {
            let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
            extension.set_criticality(critical);
            move |params: &mut rcgen::CertificateParams| params.custom_extensions = vec![extension]
        };
        let (critical, other) = (root.sub("Sub", unknown(true)), root.sub("Sub", unknown(false)));
        let refused = |name, chain| Specimen::refused(name, chain, &root.der, E::Invalid, Alert::BAD_CERTIFICATE);
        vec![
            refused("critical, in the leaf", vec![root.leaf(role, unknown(true))]),
            refused("critical, in the CA", vec![critical.leaf(role, good), critical.der.clone()]),
            Specimen::accepted("in the leaf", vec![root.leaf(role, unknown(false))], &root.der),
            Specimen::accepted("in the CA", vec![other.leaf(role, good), other.der.clone()], &root.der),
        ]
    });
}
