//! Each cipher suite, group and signature scheme, the only one on offer, with both of our crypto providers.

use terse_tls::crypto::CryptoProvider;
use terse_tls::{CipherSuite, NamedGroup, SignatureScheme};

use super::{Cell, Feature};
use crate::case::Case;
use crate::peer::Role;

const RUSTCRYPTO: &CryptoProvider = &terse_rustcrypto::PROVIDER;
const AWS_LC: &CryptoProvider = &terse_aws_lc::PROVIDER;

const SUITES: [CipherSuite; 5] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_AES_128_CCM_SHA256,
    CipherSuite::TLS_AES_128_CCM_8_SHA256,
];

const GROUPS: [NamedGroup; 4] =
    [NamedGroup::X25519, NamedGroup::SECP256R1, NamedGroup::SECP384R1, NamedGroup::X25519MLKEM768];

/// Each with the chain whose keys can make it.
const SCHEMES: [(SignatureScheme, &str); 6] = [
    (SignatureScheme::ECDSA_SECP256R1_SHA256, "p256x3"),
    (SignatureScheme::ECDSA_SECP384R1_SHA384, "p384x3"),
    (SignatureScheme::ED25519, "ed25519x3"),
    (SignatureScheme::RSA_PSS_RSAE_SHA256, "rsa2048x3"),
    (SignatureScheme::RSA_PSS_RSAE_SHA384, "rsa2048x3"),
    (SignatureScheme::RSA_PSS_RSAE_SHA512, "rsa2048x3"),
];

pub(super) fn features() -> Vec<Feature> {
    let suites = SUITES.map(|suite| Feature::new(name(suite.name()), move |cell| with_suite(cell, suite)));
    let groups = GROUPS.map(|group| Feature::new(name(group.name()), move |cell| with_group(cell, group)));
    let schemes =
        SCHEMES.map(|(scheme, chain)| Feature::new(name(scheme.name()), move |cell| with_scheme(cell, scheme, chain)));
    suites.into_iter().chain(groups).chain(schemes).collect()
}

fn name(name: Option<&'static str>) -> &'static str {
    name.expect("a code point of the tables above")
}

fn with_suite(cell: Cell, suite: CipherSuite) {
    for provider in [RUSTCRYPTO, AWS_LC] {
        let _ = cell.complete(&Case { suites: vec![suite], ..Case::mutual(provider) });
    }
}

fn with_group(cell: Cell, group: NamedGroup) {
    for provider in [RUSTCRYPTO, AWS_LC] {
        let groups = || vec![group];
        let case = Case { client_groups: groups(), server_groups: groups(), ..Case::new(provider) };
        assert_eq!(cell.complete(&case).round_trips, 1);
    }
}

/// Both sides sign with `scheme`, and accept nothing else but what RSA chains are signed with.
fn with_scheme(cell: Cell, scheme: SignatureScheme, chain: &'static str) {
    let is_rsa = chain.starts_with("rsa");
    let mut schemes = vec![scheme];
    schemes.extend(is_rsa.then_some(SignatureScheme::RSA_PKCS1_SHA256));
    for provider in [RUSTCRYPTO, AWS_LC] {
        let case = Case { chain, schemes: schemes.clone(), ..Case::mutual(provider) };
        if is_rsa && provider.name == RUSTCRYPTO.name {
            // It verifies with RSA, and does not sign: a client without a certificate, and no server.
            if cell.role == Role::Client {
                let _ = cell.complete(&Case { chain, schemes: schemes.clone(), ..Case::new(provider) });
            }
            continue;
        }
        let _ = cell.complete(&case);
    }
}
