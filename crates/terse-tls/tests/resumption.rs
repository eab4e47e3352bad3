//! Resumption, external pre-shared keys and early data in TLS 1.3 (RFC 9846, 2.2, 2.3, 4.3.8 to 4.3.11, 4.7.1, 8; RFC
//! 9258), on a virtual clock.
//!
//! The tests also cover resumption in TLS 1.2, by session ID or ticket (RFC 5246, 7.3; RFC 5077; RFC 7627, 5.3).
//!
//! - [`world`]: a client and a server that resume, in both ways of keeping sessions
//! - [`resumed`]: what a resumed handshake is, and that it follows the one before
//! - [`bounds`]: how long sessions live, and their size
//! - [`context`]: a changed world, in which a session must not be used
//! - [`revocation`]: CRLs that are replaced, and end the sessions of revoked peers
//! - [`early`]: early data that is accepted, and its limits
//! - [`rejected`]: early data that is not accepted, and replays
//! - [`psk`]: external keys, as they are and imported
//! - [`by_client`], [`by_server`]: a hostile peer
//! - [`tls12`]: what a resumed handshake of TLS 1.2 is
//! - [`tls12_bounds`]: which sessions it does not keep, or use
//! - [`tls12_attacks`]: a hostile peer in TLS 1.2
//! - [`beside_caching`]: beside handshake caching (docs/caching.md, 4.6)

mod beside_caching;
mod bounds;
mod by_client;
mod by_server;
mod context;
mod early;
mod psk;
mod rejected;
mod resumed;
mod revocation;
mod tls12;
mod tls12_attacks;
mod tls12_bounds;
mod world;
