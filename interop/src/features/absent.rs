//! What a peer does not have, as facts: these cells of the matrix are not tried.

use terse_tls::ProtocolVersion;

use super::{Carrier, Cell};
use crate::peer::{Peer, Role};

/// Why `feature` cannot be tried in `cell`, if so.
pub fn absent(feature: &str, cell: Cell) -> Option<&'static str> {
    let is_this = |fact: &&Fact| {
        fact.feature == feature
            && fact.peer == cell.peer
            && fact.role.is_none_or(|role| role == cell.role)
            && fact.version.is_none_or(|version| version == cell.version)
            && fact.carrier.is_none_or(|carrier| carrier == cell.carrier)
    };
    ABSENT.iter().find(is_this).map(|fact| fact.reason)
}

/// Something that a peer does not have.
struct Fact {
    feature: &'static str,
    peer: Peer,
    /// In one role of ours only.
    role: Option<Role>,
    /// In one version only.
    version: Option<ProtocolVersion>,
    /// Over one carrier only.
    carrier: Option<Carrier>,
    reason: &'static str,
}

impl Fact {
    const fn tls12(self) -> Self {
        Self { version: Some(ProtocolVersion::TLS_1_2), ..self }
    }

    const fn tls13(self) -> Self {
        Self { version: Some(ProtocolVersion::TLS_1_3), ..self }
    }

    const fn tcp(self) -> Self {
        Self { carrier: Some(Carrier::Tcp), ..self }
    }

    const fn dtls(self) -> Self {
        Self { carrier: Some(Carrier::Udp), ..self }
    }
}

const fn fact(feature: &'static str, peer: Peer, role: Option<Role>, reason: &'static str) -> Fact {
    Fact { feature, peer, role, version: None, carrier: None, reason }
}

const MBEDTLS_HASH: &str = "Mbed TLS 2.28's client signs with the hash of the suite, whatever the server accepts";

const NO_CCM_WITH_ECDHE: &str = "it has no suites of RFC 8442 with AES-CCM";

const NO_CONNECTION_IDS: &str = "it has no connection IDs for DTLS 1.2";

const EARLY_CONNECTION_IDS: &str = "Mbed TLS 2.28 has those of a draft, and Debian's not even that";

const LAST_FLIGHT_ONCE: &str = "its server sends its last flight only once";

const NO_CUT_HELLO: &str = "its server takes no ClientHello that is cut";

const CUTS_NO_HELLO: &str = "its client does not cut its first ClientHello";

const PASSES_OVER: &str = "gnutls-cli passes over the first alert that answers its ClientHello, whoever sends it";

const SAYS_NOTHING: &str = "it leaves without an alert, which over UDP is not noticed";

const IMPORTS_KEYS: &str = "BoringSSL imports every key (RFC 9258)";

const NO_IMPORTED_KEYS: &str = "wolfSSL imports no keys (RFC 9258)";

const NO_CCM: &str = "BoringSSL has no CCM suites";

const NO_LIMITS: &str = "BoringSSL has neither record_size_limit nor max_fragment_length";

const SEALS_SESSIONS: &str = "BoringSSL's server seals its sessions of DTLS 1.3";

const NOT_ALLOWED: &str = "our server allows no early data where it asks for a cookie";

const NO_COOKIES: &str = "BoringSSL's server sends no cookies";

const REFUSES_FIRST: &str = "its client refuses a HelloVerifyRequest before our server can refuse it";

const NO_OTHER_VERSION: &str = "it has no other version of DTLS";

const ABSENT: &[Fact] = &[
    fact("each_datagram_lost_once", Peer::WolfSsl55, Some(Role::Client), LAST_FLIGHT_ONCE),
    fact("each_datagram_late_once", Peer::WolfSsl55, Some(Role::Client), LAST_FLIGHT_ONCE),
    fact("resumption_of_sealed_sessions", Peer::Scandium, Some(Role::Server), "Scandium has no tickets"),
    fact("ed25519", Peer::OpenSsl, None, "OpenSSL has no Ed25519 in DTLS").dtls(),
    fact("ed25519", Peer::Scandium, None, "not tried: it needs a provider that Java 17 has not registered"),
    fact("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", Peer::Scandium, None, "Scandium has no ChaCha20"),
    fact("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", Peer::Scandium, None, "Scandium has no ChaCha20"),
    fact("rsa_pss_rsae_sha256", Peer::Scandium, None, "Scandium has no RSASSA-PSS"),
    fact("rsa_pss_rsae_sha384", Peer::Scandium, None, "Scandium has no RSASSA-PSS"),
    fact("rsa_pss_rsae_sha512", Peer::Scandium, None, "Scandium has no RSASSA-PSS"),
    fact("alpn", Peer::Scandium, None, "Scandium has no ALPN"),
    fact("alpn_nothing_in_common", Peer::Scandium, None, "Scandium has no ALPN"),
    fact("no_server_name", Peer::Scandium, Some(Role::Server), "Scandium's client checks only a name that it sends"),
    fact("fragmented_client_hello", Peer::WolfSsl55, Some(Role::Client), NO_CUT_HELLO),
    fact("fragmented_client_hello", Peer::WolfSsl, Some(Role::Client), NO_CUT_HELLO).tls12(),
    fact("fragmented_client_hello", Peer::MbedTls, Some(Role::Client), NO_CUT_HELLO),
    fact("fragmented_client_hello", Peer::WolfSsl55, Some(Role::Server), CUTS_NO_HELLO),
    fact("fragmented_client_hello", Peer::WolfSsl, Some(Role::Server), CUTS_NO_HELLO),
    fact("fragmented_client_hello", Peer::MbedTls, Some(Role::Server), CUTS_NO_HELLO),
    fact("fragmented_client_hello", Peer::Scandium, None, "Scandium has no ALPN, which makes it long here"),
    fact("mtu_127", Peer::WolfSsl55, Some(Role::Client), NO_CUT_HELLO),
    fact("mtu_127", Peer::WolfSsl, Some(Role::Client), NO_CUT_HELLO).tls12(),
    fact("mtu_127", Peer::MbedTls, Some(Role::Client), NO_CUT_HELLO),
    fact("mtu_127", Peer::Scandium, Some(Role::Client), NO_CUT_HELLO),
    fact("server_refuses_when_no_suite_is_common", Peer::GnuTls, Some(Role::Server), PASSES_OVER).dtls(),
    fact("alpn_nothing_in_common", Peer::GnuTls, Some(Role::Server), PASSES_OVER).dtls(),
    fact("server_refuses_missing_certificate", Peer::GnuTls, Some(Role::Client), SAYS_NOTHING).dtls(),
    fact("server_refuses_missing_certificate", Peer::WolfSsl55, Some(Role::Client), SAYS_NOTHING).dtls(),
    fact("server_refuses_missing_certificate", Peer::MbedTls, Some(Role::Client), SAYS_NOTHING).dtls(),
    fact("server_refuses_when_no_suite_is_common", Peer::GnuTls, Some(Role::Client), SAYS_NOTHING).dtls(),
    fact("alpn_nothing_in_common", Peer::GnuTls, Some(Role::Client), SAYS_NOTHING).dtls(),
    fact("exporter", Peer::Scandium, Some(Role::Server), "Scandium 3.14's client fails when it is asked to export"),
    fact("exporter", Peer::GnuTls, Some(Role::Client), "gnutls-serv does not print it over UDP").dtls(),
    fact("record_size_limit_of_the_peer", Peer::GnuTls, None, "GnuTLS's programs do not ask for it over UDP").dtls(),
    fact("connection_id_of_both", Peer::OpenSsl, None, NO_CONNECTION_IDS),
    fact("connection_id_of_ours", Peer::OpenSsl, None, NO_CONNECTION_IDS),
    fact("connection_id_of_the_peer", Peer::OpenSsl, None, NO_CONNECTION_IDS),
    fact("connection_id_of_both", Peer::GnuTls, None, NO_CONNECTION_IDS),
    fact("connection_id_of_ours", Peer::GnuTls, None, NO_CONNECTION_IDS),
    fact("connection_id_of_the_peer", Peer::GnuTls, None, NO_CONNECTION_IDS),
    fact("connection_id_of_both", Peer::WolfSsl55, None, NO_CONNECTION_IDS),
    fact("connection_id_of_ours", Peer::WolfSsl55, None, NO_CONNECTION_IDS),
    fact("connection_id_of_the_peer", Peer::WolfSsl55, None, NO_CONNECTION_IDS),
    fact("connection_id_of_both", Peer::MbedTls, None, EARLY_CONNECTION_IDS),
    fact("connection_id_of_ours", Peer::MbedTls, None, EARLY_CONNECTION_IDS),
    fact("connection_id_of_the_peer", Peer::MbedTls, None, EARLY_CONNECTION_IDS),
    fact("TLS_AES_128_CCM_SHA256", Peer::BoringSsl, None, NO_CCM),
    fact("TLS_AES_128_CCM_8_SHA256", Peer::BoringSsl, None, NO_CCM),
    fact("TLS_ECDHE_ECDSA_WITH_AES_128_CCM", Peer::BoringSsl, None, NO_CCM),
    fact("TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", Peer::BoringSsl, None, NO_CCM),
    fact("max_fragment_length", Peer::BoringSsl, None, NO_LIMITS),
    fact("record_size_limit_of_ours", Peer::BoringSsl, None, NO_LIMITS),
    fact("record_size_limit_of_the_peer", Peer::BoringSsl, None, NO_LIMITS),
    fact("hello_verify_request", Peer::BoringSsl, Some(Role::Client), NO_COOKIES),
    fact("hello_retry_request_with_cookie", Peer::BoringSsl, Some(Role::Client), NO_COOKIES),
    fact("connection_id_of_both", Peer::BoringSsl, None, "BoringSSL has no connection IDs"),
    fact("connection_id_of_ours", Peer::BoringSsl, None, "BoringSSL has no connection IDs"),
    fact("connection_id_of_the_peer", Peer::BoringSsl, None, "BoringSSL has no connection IDs"),
    fact("pre_shared_key", Peer::BoringSsl, None, IMPORTS_KEYS).tls13(),
    fact("pre_shared_key", Peer::BoringSsl, None, NO_CCM).tls12(),
    fact("pre_shared_key_with_ecdhe", Peer::BoringSsl, None, NO_CCM),
    fact("extended_master_secret_missing", Peer::BoringSsl, None, "BoringSSL always uses it"),
    fact("imported_pre_shared_key", Peer::WolfSsl, None, NO_IMPORTED_KEYS),
    fact("early_data", Peer::BoringSsl, None, "BoringSSL has no early data in DTLS"),
    fact("early_data_lost_to_a_cookie", Peer::BoringSsl, None, "BoringSSL has no early data in DTLS"),
    fact("early_data_lost_to_a_cookie", Peer::WolfSsl, Some(Role::Server), NOT_ALLOWED),
    fact("resumption_of_kept_sessions", Peer::BoringSsl, Some(Role::Client), SEALS_SESSIONS).tls13(),
    fact("only_our_side_is_limited_to_it", Peer::OpenSsl, None, NO_OTHER_VERSION).dtls(),
    fact("only_our_side_is_limited_to_it", Peer::GnuTls, None, NO_OTHER_VERSION).dtls(),
    fact("only_our_side_is_limited_to_it", Peer::WolfSsl55, None, NO_OTHER_VERSION).dtls(),
    fact("only_our_side_is_limited_to_it", Peer::MbedTls, None, NO_OTHER_VERSION).dtls(),
    fact("only_our_side_is_limited_to_it", Peer::Scandium, None, NO_OTHER_VERSION).dtls(),
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
    fact("resumption_of_kept_sessions", Peer::GnuTls, Some(Role::Client), "GnuTLS's server seals its TLS 1.3 sessions")
        .tls13(),
    fact(
        "resumption_of_kept_sessions",
        Peer::WolfSsl55,
        Some(Role::Client),
        "wolfSSL's server seals its TLS 1.3 sessions",
    )
    .tls13(),
    fact(
        "resumption_of_kept_sessions",
        Peer::WolfSsl,
        Some(Role::Client),
        "wolfSSL's server seals its TLS 1.3 sessions",
    )
    .tls13(),
    fact("early_data", Peer::WolfSsl55, None, "Debian's wolfSSL is compiled without early data"),
    fact("pre_shared_key_with_ecdhe", Peer::OpenSsl, None, NO_CCM_WITH_ECDHE),
    fact("pre_shared_key_with_ecdhe", Peer::GnuTls, None, NO_CCM_WITH_ECDHE),
    fact("pre_shared_key_with_ecdhe", Peer::WolfSsl55, None, NO_CCM_WITH_ECDHE),
    fact("pre_shared_key_with_ecdhe", Peer::WolfSsl, None, NO_CCM_WITH_ECDHE),
    fact("pre_shared_key_with_ecdhe", Peer::MbedTls, None, NO_CCM_WITH_ECDHE),
    fact("pre_shared_key_with_ecdhe", Peer::Rustls, None, "rustls has no external pre-shared keys"),
    fact("pre_shared_key", Peer::WolfSsl55, None, "Debian's wolfSSL has no plain PSK suites").tls12(),
    fact("pre_shared_key", Peer::Rustls, None, "rustls has no external pre-shared keys"),
    fact("raw_public_keys", Peer::OpenSsl, None, "OpenSSL has raw public keys from 3.2 on"),
    fact("raw_public_keys", Peer::WolfSsl55, None, "wolfSSL has raw public keys from 5.6.4 on"),
    fact("raw_public_keys", Peer::MbedTls, None, "Mbed TLS has no raw public keys"),
    fact("raw_public_keys", Peer::Rustls, None, "not tried: rustls takes them only from code of one's own"),
    fact("extended_master_secret_missing", Peer::OpenSsl, None, "OpenSSL's programs always use it"),
    fact("extended_master_secret_missing", Peer::GnuTls, None, "GnuTLS's programs always use it"),
    fact("extended_master_secret_missing", Peer::WolfSsl55, Some(Role::Client), "wolfSSL 5.5's server always uses it"),
    fact("renegotiation_is_refused", Peer::WolfSsl55, None, "Debian's wolfSSL is compiled without renegotiation"),
    fact("renegotiation_is_refused", Peer::WolfSsl, None, "compiled without renegotiation"),
    fact("renegotiation_is_refused", Peer::MbedTls, None, "its program here does not renegotiate"),
    fact("renegotiation_is_refused", Peer::Rustls, None, "rustls has no renegotiation"),
    fact("no_version_in_common", Peer::WolfSsl, Some(Role::Server), REFUSES_FIRST).dtls().tls13(),
    fact("no_version_in_common", Peer::GnuTls, Some(Role::Client), SAYS_NOTHING).dtls(),
    fact("no_version_in_common", Peer::GnuTls, Some(Role::Server), PASSES_OVER).dtls(),
    fact("mtu_127", Peer::Dimpl, Some(Role::Client), "dimpl 0.9.0 panics at the thirteenth record of a flight"),
    fact("no_version_in_common", Peer::MbedTls, None, "Mbed TLS 2.28 has no other version").tcp(),
    fact("extended_master_secret_missing", Peer::Rustls, None, "rustls always uses it"),
];

#[cfg(test)]
mod tests {
    use super::super::all;
    use super::super::datagrams::FOR_DIMPL;
    use super::*;

    #[test]
    fn every_fact_is_about_a_feature() {
        let features = all();
        for name in ABSENT.iter().map(|fact| fact.feature).chain(FOR_DIMPL) {
            assert!(features.iter().any(|feature| feature.name == name), "{name}");
        }
    }
}
