//! TLS 1.3 (RFC 9846).

pub(crate) mod client;
pub(crate) mod server;
mod signature;
pub(crate) mod traffic;
