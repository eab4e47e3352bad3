//! Which suites, groups and schemes a full provider offers, and in which order.

use terse_tls::crypto::CryptoProvider;
use terse_tls::{CipherSuite, NamedGroup, SignatureScheme};

/// Everything is there, in the order that Terse prefers.
pub fn everything(provider: &CryptoProvider) {
    let suites: Vec<_> = provider.tls13_suites.iter().map(|suite| suite.id).collect();
    assert_eq!(
        suites,
        [
            CipherSuite::TLS_AES_128_GCM_SHA256,
            CipherSuite::TLS_AES_256_GCM_SHA384,
            CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
            CipherSuite::TLS_AES_128_CCM_SHA256,
            CipherSuite::TLS_AES_128_CCM_8_SHA256,
        ]
    );
    let groups: Vec<_> = provider.groups.iter().map(|group| group.name()).collect();
    assert_eq!(groups, [NamedGroup::X25519, NamedGroup::SECP256R1, NamedGroup::SECP384R1, NamedGroup::X25519MLKEM768]);
    let schemes: Vec<_> = provider.signatures.by_scheme.iter().map(|(scheme, _)| *scheme).collect();
    assert_eq!(
        schemes,
        [
            SignatureScheme::ECDSA_SECP256R1_SHA256,
            SignatureScheme::ECDSA_SECP384R1_SHA384,
            SignatureScheme::ED25519,
            SignatureScheme::RSA_PSS_RSAE_SHA256,
            SignatureScheme::RSA_PSS_RSAE_SHA384,
            SignatureScheme::RSA_PSS_RSAE_SHA512,
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
        ]
    );
    // an ECDSA key of either curve with either hash, Ed25519, and three hashes each for PKCS#1 and PSS
    let all: Vec<_> = provider.signatures.all.iter().map(|a| (a.public_key_alg_id(), a.signature_alg_id())).collect();
    assert_eq!(all.len(), 4 + 1 + 6);
    for pair in &all {
        assert_eq!(all.iter().filter(|other| *other == pair).count(), 1);
    }
    for (_, algorithms) in provider.signatures.by_scheme {
        assert_eq!(algorithms.len(), 1, "TLS 1.3 fixes the algorithm");
        let wanted = (algorithms[0].public_key_alg_id(), algorithms[0].signature_alg_id());
        assert!(all.contains(&wanted));
    }
}

/// Hash, AEAD and limit of each suite are the ones in its name.
pub fn consistent_suites(provider: &CryptoProvider) {
    assert_eq!(provider.sha256.output_len(), 32);
    for suite in provider.tls13_suites {
        let (hash_len, key_len, tag_len, limit) = match suite.id {
            CipherSuite::TLS_AES_128_GCM_SHA256 => (32, 16, 16, 23_726_566), // 2^24.5
            CipherSuite::TLS_AES_256_GCM_SHA384 => (48, 32, 16, 23_726_566),
            CipherSuite::TLS_CHACHA20_POLY1305_SHA256 => (32, 32, 16, u64::MAX),
            CipherSuite::TLS_AES_128_CCM_SHA256 => (32, 16, 16, 1 << 23),
            CipherSuite::TLS_AES_128_CCM_8_SHA256 => (32, 16, 8, 1 << 23),
            unknown => panic!("{unknown}"),
        };
        assert_eq!(suite.hash.output_len(), hash_len, "{}", suite.id);
        assert_eq!(suite.aead.key_len(), key_len, "{}", suite.id);
        assert_eq!(suite.aead.tag_len(), tag_len, "{}", suite.id);
        assert_eq!(suite.confidentiality_limit, limit, "{}", suite.id);
        assert!(provider.tls13_suite(suite.id).is_some_and(|found| found.id == suite.id));
    }
    assert!(provider.tls13_suite(CipherSuite(0)).is_none());
    assert!(provider.group(NamedGroup(0)).is_none());
}
