//! TLS 1.2 (RFC 5246) in a secure profile (RFC 7925, RFC 9325): ephemeral ECDH or pre-shared keys, AEAD suites, the
//! extended master secret (RFC 7627), and no renegotiation.

mod certificate;
pub(crate) mod client;
mod key_exchange;
pub(crate) mod server;
pub(crate) mod traffic;
