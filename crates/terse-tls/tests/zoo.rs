//! A zoo of certificates: chains that must be refused, each with the right alert and without a trace in any cache, and
//! their harmless neighbours that must not be. Each is shown in a real handshake, by a server and by a client, in both
//! versions, to both providers, and to sides that build paths and that do not (RFC 5280, 4 and 6; RFC 9525, 6; RFC 9846, 4.5.1 and 6.2).
//!
//! - [`maker`]: CAs and leaves, with whatever is wrong about them
//! - [`der`]: certificates taken apart and put together again
//! - [`show`]: one chain, shown to somebody
//! - [`different`]: what only path building accepts
//! - [`issuers`], [`leaves`], [`encodings`], [`shapes`]: the animals

mod der;
mod different;
mod encodings;
mod issuers;
mod leaves;
mod maker;
mod shapes;
mod show;
