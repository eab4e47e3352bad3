//! [`terse_tls`] on real sockets: blocking streams and datagrams, credential files, the cache file, reports.
//!
//! | | |
//! |---|---|
//! | [`Stream`] | a connection over any blocking byte stream |
//! | [`Timed`] | a TCP connection with a deadline |
//! | [`DatagramClient`] | a client's connection over datagrams: DTLS on a UDP socket |
//! | [`DatagramServer`] | a server for datagrams on one UDP socket, with any number of clients |
//! | `tokio::DatagramConnector` | a client's connections over datagrams on tokio's sockets, where a key may answer later (feature `tokio`) |
//! | `tokio::DatagramEndpoint` | the server on tokio's sockets, where keys and stores may answer later (feature `tokio`) |
//! | `tokio::Framing`, `tokio::Jpy` | how its datagrams lie in those of the socket, such as a stateless join proxy's (feature `tokio`) |
//! | [`Clock`], [`OsRng`] | the time and randomness that the engine takes as arguments |
//! | `tokio` | with the feature of that name: streams, a connector and an acceptor on tokio; `hyper` adds its traits |
//! | [`files`] | certificates, keys and CRLs from files |
//! | [`CacheFile`], [`SessionFile`], [`IdentityFile`] | what is cached, what a client resumes from, and the public parts of identity keys, in a file |
//! | [`KeyLogFile`] | secrets for Wireshark |
//! | [`Report`], [`explain()`] | a summary as JSON, an error as a line for people |
//!
//! There is no protocol logic here: it is all in [`terse_tls`].

extern crate alloc;

/// The README's program compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod buffer;
mod cache_file;
mod clock;
mod datagram;
mod driver;
mod error;
mod explain;
pub mod files;
mod first_contact_file;
mod identity_file;
mod keylog;
mod report;
mod rng;
mod saved_file;
mod secret_ticket_file;
mod session_file;
mod signer;
mod stream;
mod timed;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use cache_file::CacheFile;
pub use clock::Clock;
pub use datagram::{DatagramClient, DatagramEvent, DatagramServer, Watch, is_of_network, max_datagram};
pub use error::{NetError, NoAnswer};
pub use explain::{Explanation, explain};
pub use first_contact_file::FirstContactFile;
pub use identity_file::IdentityFile;
pub use keylog::KeyLogFile;
pub use pki_types;
pub use report::Report;
pub use rng::OsRng;
pub use saved_file::{Damage, SavedFileError};
pub use secret_ticket_file::SecretTicketFile;
pub use session_file::SessionFile;
pub use signer::Signer;
pub use stream::Stream;
pub use timed::Timed;
