//! Fuzz targets for Terse: each takes any bytes, and panics if something that must always hold does not.
//!
//! - [`records`], [`messages`]: the parts of the engine that read bytes, alone
//! - [`client`], [`server`]: one side against whatever the other could send
//! - [`pair`]: both, with somebody in between
//! - [`datagram_client`], [`datagram_server`], [`endpoint`]: a client and a server over datagrams, and a server for
//!   many clients
//! - [`reassembler`], [`replay`]: parts that only datagrams need, alone
//! - [`jpy`], [`coap`]: the framing of a join proxy, and CoAP
//! - [`cache_file`], [`certificates`], [`path`], [`identity`], [`artefacts`]: files, certificates, vouchers, and other input from
//!   outside
//! - [`requests`], [`services`]: what registrar and MASA read besides, in parts, and as whole requests, with the certificates of
//!   [`onboarding`]
//!
//! The targets with connections use a [`provider`] that protects nothing, fixed certificates ([`pki`]), the [`modes`]
//! of a handshake, the [`input`] as a list of operations, and the [`machine`], or [`datagram_machine`], to which they
//! are applied; over datagrams also a [`watch`] of input and output.

pub mod artefacts;
pub mod cache_file;
pub mod certificates;
pub mod client;
pub mod coap;
pub mod datagram_client;
pub mod datagram_machine;
pub mod datagram_server;
pub mod datagrams;
pub mod endpoint;
pub mod identity;
pub mod input;
pub mod jpy;
pub mod machine;
pub mod messages;
pub mod modes;
pub mod mutate;
pub mod onboarding;
pub mod pair;
pub mod path;
pub mod pki;
pub mod provider;
pub mod reassembler;
pub mod records;
pub mod replay;
pub mod requests;
pub mod seeds;
pub mod server;
pub mod services;
pub mod watch;
