//! A hostile peer, and a hostile network: whatever they do to the messages and records of a handshake, the other side
//! ends with a typed error and the right alert, or completes with the right peer (RFC 9846, 6.2 and E.2).
//!
//! - [`modes`]: the handshakes that are attacked, one of each mode in each version
//! - [`attack`]: one attack, and what must hold after any
//! - [`messages`]: every message cut, extended, dropped, doubled, swapped, replaced and flipped, systematically
//! - [`lengths`]: every length in them too small, too large, and absurd
//! - [`extensions`]: every extension twice, in another order, misplaced; and unknown ones
//! - [`client_hello`], [`by_client`], [`server_hello`], [`by_server`]: the errors that the RFCs name, each with its alert
//! - [`edit`]: messages, byte by byte
//! - [`change_cipher_spec`]: where it may stand
//! - [`alerts`]: every alert in every state
//! - [`protected`]: what comes under the keys of a handshake, in records of every size
//! - [`traffic`]: after the handshake, and around it
//! - [`post_handshake`]: tickets and key updates that are not quite that
//! - [`wire`]: the same on the wire, where nobody has the keys
//! - [`random`]: ClientHellos made by mutation

mod alerts;
mod attack;
mod by_client;
mod by_server;
mod change_cipher_spec;
mod client_hello;
mod edit;
mod extensions;
mod lengths;
mod messages;
mod modes;
mod post_handshake;
mod protected;
mod random;
mod server_hello;
mod traffic;
mod wire;
