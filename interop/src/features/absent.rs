//! What a peer does not have, as facts: these cells of the matrix are not tried.

use super::Cell;
use crate::peer::{Peer, Role};

/// Why `feature` cannot be tried in `cell`, if so.
pub fn absent(feature: &str, cell: Cell) -> Option<&'static str> {
    let is_this = |fact: &&Fact| {
        fact.feature == feature && fact.peer == cell.peer && fact.role.is_none_or(|role| role == cell.role)
    };
    ABSENT.iter().find(is_this).map(|fact| fact.reason)
}

/// Something that a peer does not have.
struct Fact {
    feature: &'static str,
    peer: Peer,
    /// In one role of ours only.
    role: Option<Role>,
    reason: &'static str,
}

const fn fact(feature: &'static str, peer: Peer, role: Option<Role>, reason: &'static str) -> Fact {
    Fact { feature, peer, role, reason }
}

const MBEDTLS_HASH: &str = "Mbed TLS 2.28's client signs with the hash of the suite, whatever the server accepts";

const ABSENT: &[Fact] = &[
    fact("X25519MLKEM768", Peer::OpenSsl, None, "OpenSSL has it from 3.5 on"),
    fact("X25519MLKEM768", Peer::GnuTls, None, "GnuTLS has it from 3.8.8 on, if built with liboqs or leancrypto"),
    fact("X25519MLKEM768", Peer::WolfSsl55, None, "wolfSSL has it from 5.7.4 on"),
    fact("TLS_AES_128_CCM_SHA256", Peer::Rustls, None, "rustls has no CCM suites"),
    fact("TLS_AES_128_CCM_8_SHA256", Peer::Rustls, None, "rustls has no CCM suites"),
    fact("TLS_ECDHE_ECDSA_WITH_AES_128_CCM", Peer::Rustls, None, "rustls has no CCM suites"),
    fact("TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", Peer::Rustls, None, "rustls has no CCM suites"),
    fact("ed25519", Peer::MbedTls, None, "Mbed TLS has no Ed25519"),
    fact("rsa_pss_rsae_sha256", Peer::MbedTls, None, "Mbed TLS 2.28 has no RSASSA-PSS in TLS"),
    fact("rsa_pss_rsae_sha384", Peer::MbedTls, None, "Mbed TLS 2.28 has no RSASSA-PSS in TLS"),
    fact("rsa_pss_rsae_sha512", Peer::MbedTls, None, "Mbed TLS 2.28 has no RSASSA-PSS in TLS"),
    fact("ecdsa_secp384r1_sha384", Peer::MbedTls, Some(Role::Server), MBEDTLS_HASH),
    fact("rsa_pkcs1_sha384", Peer::MbedTls, Some(Role::Server), MBEDTLS_HASH),
    fact("rsa_pkcs1_sha512", Peer::MbedTls, Some(Role::Server), MBEDTLS_HASH),
    fact("compatibility_mode_off", Peer::Rustls, None, "rustls always sends ChangeCipherSpec, and asks for it"),
    fact("compatibility_mode_on", Peer::WolfSsl55, None, "wolfSSL has it only if it is compiled so"),
    fact(
        "compatibility_mode_on",
        Peer::WolfSsl,
        Some(Role::Server),
        "wolfSSL's client asks for it only if it is compiled so",
    ),
    fact("record_size_limit_of_ours", Peer::OpenSsl, None, "OpenSSL has no record_size_limit"),
    fact("record_size_limit_of_ours", Peer::Rustls, None, "rustls has no record_size_limit"),
    fact("record_size_limit_of_ours", Peer::MbedTls, None, "Mbed TLS 2.28 has no record_size_limit"),
    fact("record_size_limit_of_the_peer", Peer::MbedTls, None, "Mbed TLS 2.28 has no record_size_limit"),
    fact("record_size_limit_of_ours", Peer::WolfSsl55, None, "wolfSSL has no record_size_limit"),
    fact("record_size_limit_of_ours", Peer::WolfSsl, None, "wolfSSL has no record_size_limit"),
    fact("record_size_limit_of_the_peer", Peer::OpenSsl, None, "OpenSSL has no record_size_limit"),
    fact("record_size_limit_of_the_peer", Peer::Rustls, None, "rustls has no record_size_limit"),
    fact("record_size_limit_of_the_peer", Peer::WolfSsl55, None, "wolfSSL has no record_size_limit"),
    fact("record_size_limit_of_the_peer", Peer::WolfSsl, None, "wolfSSL has no record_size_limit"),
    fact("max_fragment_length", Peer::Rustls, None, "rustls has no max_fragment_length"),
    fact(
        "max_fragment_length",
        Peer::GnuTls,
        Some(Role::Server),
        "gnutls-cli offers record_size_limit, which replaces it",
    ),
    fact("hello_retry_request_with_cookie", Peer::GnuTls, Some(Role::Client), "GnuTLS's server sends no cookies"),
    fact("hello_retry_request_with_cookie", Peer::Rustls, Some(Role::Client), "rustls's server sends no cookies"),
];

#[cfg(test)]
mod tests {
    use super::super::all;
    use super::*;

    #[test]
    fn every_fact_is_about_a_feature() {
        let features = all();
        for fact in ABSENT {
            assert!(features.iter().any(|feature| feature.name == fact.feature), "{}", fact.feature);
        }
    }
}
