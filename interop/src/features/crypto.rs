//! Each cipher suite, group and signature scheme is the only one on offer, with both of our crypto providers.

use terse_pki::KeyAlgorithm;
use terse_tls::crypto::CryptoProvider;
use terse_tls::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use super::{Carrier, Cell, Feature, VERSIONS};
use crate::case::Case;
use crate::peer::Role;

const RUSTCRYPTO: &CryptoProvider = &terse_rustcrypto::PROVIDER;
const AWS_LC: &CryptoProvider = &terse_aws_lc::PROVIDER;

const TLS13_SUITES: [CipherSuite; 5] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_AES_128_CCM_SHA256,
    CipherSuite::TLS_AES_128_CCM_8_SHA256,
];

const TLS12_SUITES: [CipherSuite; 8] = [
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
];

const GROUPS: [NamedGroup; 4] =
    [NamedGroup::X25519, NamedGroup::SECP256R1, NamedGroup::SECP384R1, NamedGroup::X25519MLKEM768];

/// Each scheme has the chain and the leaves whose keys can use it. An RSA key fits several, so that its CA has another
/// key.
const SCHEMES: [(SignatureScheme, &str, Option<KeyAlgorithm>); 6] = [
    (SignatureScheme::ECDSA_SECP256R1_SHA256, "p256x3", None),
    (SignatureScheme::ECDSA_SECP384R1_SHA384, "p384x3", None),
    (SignatureScheme::ED25519, "ed25519x3", None),
    (SignatureScheme::RSA_PSS_RSAE_SHA256, "p256x3", Some(KeyAlgorithm::Rsa2048)),
    (SignatureScheme::RSA_PSS_RSAE_SHA384, "p256x3", Some(KeyAlgorithm::Rsa2048)),
    (SignatureScheme::RSA_PSS_RSAE_SHA512, "p256x3", Some(KeyAlgorithm::Rsa2048)),
];

const TLS12_SCHEMES: [(SignatureScheme, &str, Option<KeyAlgorithm>); 3] = [
    (SignatureScheme::RSA_PKCS1_SHA256, "p256x3", Some(KeyAlgorithm::Rsa2048)),
    (SignatureScheme::RSA_PKCS1_SHA384, "p256x3", Some(KeyAlgorithm::Rsa2048)),
    (SignatureScheme::RSA_PKCS1_SHA512, "p256x3", Some(KeyAlgorithm::Rsa2048)),
];

pub(super) fn features() -> Vec<Feature> {
    let suites13 =
        TLS13_SUITES.map(|suite| Feature::tls13(name(suite.name()), move |cell| with_suite(cell, suite)).and_dtls());
    let suites12 =
        TLS12_SUITES.map(|suite| Feature::tls12(name(suite.name()), move |cell| with_suite(cell, suite)).and_dtls());
    let groups = GROUPS.map(|group| Feature {
        versions: if group == NamedGroup::X25519MLKEM768 { &[ProtocolVersion::TLS_1_3] } else { VERSIONS },
        ..Feature::new(name(group.name()), move |cell| with_group(cell, group)).and_dtls()
    });
    let with_schemes = |(scheme, chain, leaf): &(SignatureScheme, _, _), versions| {
        let (scheme, chain, leaf) = (*scheme, *chain, *leaf);
        let run = move |cell| with_scheme(cell, scheme, chain, leaf);
        Feature { versions, ..Feature::new(name(scheme.name()), run).and_dtls() }
    };
    let schemes = SCHEMES.iter().map(|scheme| with_schemes(scheme, VERSIONS));
    let schemes = schemes.chain(TLS12_SCHEMES.iter().map(|scheme| with_schemes(scheme, &[ProtocolVersion::TLS_1_2])));
    suites13.into_iter().chain(suites12).chain(groups).chain(schemes).collect()
}

fn name(name: Option<&'static str>) -> &'static str {
    name.expect("a code point of the tables above")
}

fn with_suite(cell: Cell, suite: CipherSuite) {
    let chain = if name(suite.name()).contains("_RSA_") { "rsa2048x3" } else { "p256x3" };
    for provider in [RUSTCRYPTO, AWS_LC] {
        let case = Case { chain, suites: vec![suite], ..Case::mutual(provider) };
        if chain == "p256x3" || provider.name != RUSTCRYPTO.name {
            cell.succeeds(&case);
        } else if cell.role == Role::Client {
            cell.succeeds(&Case { chain, suites: vec![suite], ..Case::new(provider) }); // it does not sign
        }
    }
}

fn with_group(cell: Cell, group: NamedGroup) {
    let mut client_groups = vec![group];
    let chain = if group == NamedGroup::SECP384R1 { "p384x3" } else { "p256x3" };
    if !cell.is_tls13() && group == NamedGroup::X25519 {
        client_groups.push(NamedGroup::SECP256R1); // the group of the server's certificate too (RFC 8422, 5.1)
    }
    for provider in [RUSTCRYPTO, AWS_LC] {
        let case =
            Case { chain, client_groups: client_groups.clone(), server_groups: vec![group], ..Case::new(provider) };
        match cell.carrier {
            Carrier::Tcp => assert_eq!(cell.complete(&case).round_trips, if cell.is_tls13() { 1 } else { 2 }),
            Carrier::Udp => cell.succeeds(&case),
        }
    }
}

/// Both sides sign with `scheme`, and accept only that and the scheme that signed the chain.
fn with_scheme(cell: Cell, scheme: SignatureScheme, chain: &'static str, leaf: Option<KeyAlgorithm>) {
    let mut schemes = vec![scheme];
    // With Ed25519 alone, GnuTLS's server would name no certificate type.
    if leaf.is_some() || scheme == SignatureScheme::ED25519 && !cell.is_tls13() {
        schemes.push(SignatureScheme::ECDSA_SECP256R1_SHA256);
    }
    for provider in [RUSTCRYPTO, AWS_LC] {
        let case = Case { chain, leaf, schemes: schemes.clone(), ..Case::mutual(provider) };
        if leaf.is_some() && provider.name == RUSTCRYPTO.name {
            // RustCrypto verifies with RSA, and does not sign: it is a client without a certificate, and no server.
            if cell.role == Role::Client {
                cell.succeeds(&Case { chain, leaf, schemes: schemes.clone(), ..Case::new(provider) });
            }
            continue;
        }
        cell.succeeds(&case);
    }
}
