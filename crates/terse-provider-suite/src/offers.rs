//! A full provider offers these suites, groups and schemes, in this order.

use alloc::vec::Vec;

use terse_tls::crypto::{CryptoProvider, Tls12KeyExchange, Tls12Nonce};
use terse_tls::{CipherSuite, NamedGroup, SignatureScheme};

/// The provider has everything, in the order that Terse prefers.
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
    let suites: Vec<_> = provider.tls12_suites.iter().map(|suite| suite.id.0).collect();
    assert_eq!(suites, [0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc0ac, 0xc0ae, 0xd003, 0xc0a8]);
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
    // The algorithms are ECDSA on either curve with either hash, Ed25519, and three hashes each for PKCS#1 and PSS.
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

/// The hash, AEAD and limit of each TLS 1.3 suite are those in its name.
pub fn consistent_suites(provider: &CryptoProvider) {
    assert_eq!(provider.sha256.output_len(), 32);
    for suite in provider.tls13_suites {
        let (hash_len, key_len, tag_len, limit, forgeries) = match suite.id {
            CipherSuite::TLS_AES_128_GCM_SHA256 => (32, 16, 16, 23_726_566, 1 << 36), // 2^24.5
            CipherSuite::TLS_AES_256_GCM_SHA384 => (48, 32, 16, 23_726_566, 1 << 36),
            CipherSuite::TLS_CHACHA20_POLY1305_SHA256 => (32, 32, 16, u64::MAX, 1 << 36),
            CipherSuite::TLS_AES_128_CCM_SHA256 => (32, 16, 16, 1 << 23, 11_863_283), // 2^23.5
            CipherSuite::TLS_AES_128_CCM_8_SHA256 => (32, 16, 8, 1 << 23, 1 << 7),
            unknown => panic!("{unknown}"),
        };
        assert_eq!(suite.hash.output_len(), hash_len, "{}", suite.id);
        assert_eq!(suite.aead.key_len(), key_len, "{}", suite.id);
        assert_eq!(suite.aead.tag_len(), tag_len, "{}", suite.id);
        assert_eq!(suite.confidentiality_limit, limit, "{}", suite.id);
        assert_eq!(suite.integrity_limit, forgeries, "{}", suite.id);
        assert!(provider.tls13_suite(suite.id).is_some_and(|found| found.id == suite.id));
    }
    assert!(provider.tls13_suite(CipherSuite(0)).is_none());
    assert!(provider.tls13_suite(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM).is_none());
    assert!(provider.group(NamedGroup(0)).is_none());
}

/// The key exchange, hash, AEAD and limit of each TLS 1.2 suite are those in its name; without a hash it is SHA-256
/// (RFC 5246, 5).
pub fn consistent_tls12_suites(provider: &CryptoProvider) {
    for suite in provider.tls12_suites {
        let name = suite.id.name().expect("a suite that is known");
        let (key_exchange, cipher) = name.split_once("_WITH_").expect("a suite of TLS 1.2");
        let expected = match key_exchange {
            "TLS_ECDHE_ECDSA" => Tls12KeyExchange::EcdheEcdsa,
            "TLS_ECDHE_RSA" => Tls12KeyExchange::EcdheRsa,
            "TLS_ECDHE_PSK" => Tls12KeyExchange::EcdhePsk,
            "TLS_PSK" => Tls12KeyExchange::Psk,
            unknown => panic!("{unknown}"),
        };
        assert_eq!(suite.key_exchange, expected, "{name}");
        let (hash_len, key_len, tag_len, nonce, limit) = match cipher {
            "AES_128_GCM_SHA256" => (32, 16, 16, Tls12Nonce::Explicit, 23_726_566), // 2^24.5
            "AES_256_GCM_SHA384" => (48, 32, 16, Tls12Nonce::Explicit, 23_726_566),
            "CHACHA20_POLY1305_SHA256" => (32, 32, 16, Tls12Nonce::Implicit, u64::MAX),
            "AES_128_CCM" => (32, 16, 16, Tls12Nonce::Explicit, 1 << 23),
            "AES_128_CCM_8" | "AES_128_CCM_8_SHA256" => (32, 16, 8, Tls12Nonce::Explicit, 1 << 23),
            unknown => panic!("{unknown}"),
        };
        assert_eq!(suite.hash.output_len(), hash_len, "{name}");
        assert_eq!(suite.aead.key_len(), key_len, "{name}");
        assert_eq!(suite.aead.tag_len(), tag_len, "{name}");
        assert_eq!(suite.nonce, nonce, "{name}");
        assert_eq!(suite.confidentiality_limit, limit, "{name}");
        assert!(provider.tls12_suite(suite.id).is_some_and(|found| found.id == suite.id));
    }
    assert!(provider.tls12_suite(CipherSuite::TLS_AES_128_GCM_SHA256).is_none());
    assert!(provider.tls12_suite(CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV).is_none());
}
