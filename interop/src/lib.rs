//! Tests of Terse against other TLS implementations: OpenSSL, GnuTLS, wolfSSL, BoringSSL, Mbed TLS, Scandium and dimpl as
//! programs over TCP and UDP, rustls in this process.
//!
//! - `make interop` runs the [`matrix`]: peer, role, feature, and checks the [`mod@bytes`].
//! - `cargo run -p terse-interop --bin record-bytes` prints what handshakes cost on the wire, ours beside theirs.
//!
//! A [`case::Case`] says once, for both sides, what a client and a server are to do; a [`meeting::Meeting`] is one
//! connection of ours with a peer over TCP, a [`datagrams::pair::Pair`] one over UDP.

pub mod bytes;
pub mod case;
pub mod compile;
pub mod datagrams;
pub mod features;
pub mod matrix;
pub mod meeting;
pub mod peer;
pub mod pki;
pub mod process;
pub mod tap;
