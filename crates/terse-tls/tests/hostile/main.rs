//! A hostile peer, and a hostile network: whatever they do to the messages and records of a handshake, the other side
//! ends with a typed error and the right alert, or completes with the right peer (RFC 9846, 6.2 and E.2).
//!
//! - [`attack`]: one attack, and what must hold after any
//! - [`messages`]: every message cut, extended, dropped, doubled, swapped, replaced and flipped, systematically
//! - [`client_hello`], [`by_client`], [`server_hello`], [`by_server`]: the errors that the RFCs name, each with its alert
//! - [`edit`]: messages, byte by byte
//! - [`change_cipher_spec`]: where it may stand
//! - [`traffic`]: after the handshake, and around it
//! - [`wire`]: the same on the wire, where nobody has the keys
//! - [`random`]: ClientHellos made by mutation

extern crate alloc;

mod attack;
mod by_client;
mod by_server;
mod change_cipher_spec;
mod client_hello;
mod edit;
mod messages;
mod random;
mod server_hello;
mod traffic;
mod wire;
