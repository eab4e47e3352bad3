//! TLS 1.3 (RFC 9846).

mod certificate;
pub(crate) mod client;
pub(crate) mod server;
pub(crate) mod traffic;
