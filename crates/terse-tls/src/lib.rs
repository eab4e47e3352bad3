//! TLS for devices that pay for every byte: TLS 1.2, TLS 1.3, DTLS 1.2 and DTLS 1.3 as an engine without sockets, clock
//! or randomness of its own, `no_std`, with handshake caching in both directions (RFC 7924; BiTHaC).
//!
//! [`Connection`] is the face, and [`Endpoint`] that of a server for datagrams. [`ConfigBuilder`] makes a
//! [`ClientConfig`] or a [`ServerConfig`], which say what a connection may do; [`Summary`] says what it did. The
//! cryptography comes from a [`crypto::CryptoProvider`], such as `terse-rustcrypto` or `terse-aws-lc`.
//!
//! # Goals
//!
//! - Few bytes, few round trips and little memory, each measured and bounded ([`Memory`]).
//! - Full authentication and forward secrecy in every handshake, also in those that leave certificates out.
//! - A run can be repeated: time and randomness are arguments.
//! - A firmware gets what it names: what its provider lacks, its linker drops.
//!
//! # Not goals
//!
//! Old versions, CBC, compression, renegotiation, and anything that a peer could be downgraded to. Sockets, threads and
//! files are the business of `terse-net`, or of the program.
//!
//! # Errors
//!
//! [`Error`] says who is to blame. [`Error::ApiMisuse`] is the caller's mistake, and the connection is as before. Every
//! other error is the end of the connection, with an alert for the peer waiting in [`Connection::poll_transmit`] where
//! one is due. Over datagrams, what nobody proved to have sent is no error: it is dropped, and counted in
//! [`summary::Dropped`]. Nothing that comes in makes a call panic.
//!
//! # Stability
//!
//! Before 1.0 a minor version may change the API. Structs and enums that may grow are `non_exhaustive`; settings have
//! constructors and setters, so that a new one breaks nobody. Nothing for tests is in a product: it is compiled with
//! `--cfg terse_testing` alone, which no dependency can turn on.
//!
//! # A whole event loop
//!
//! A client and a server over datagrams, in memory; between programs a socket carries them. A stream is driven in the same
//! way, without timers.
//!
//! ```
//! use std::sync::Arc;
//! use terse_tls::{
//!     ClientConfig, Connection, Credential, Datagrams, Event, Instant, Now, ServerAddress, ServerConfig, Trust,
//! };
//! # use terse_tls::crypto::{CryptoError, Rng};
//! # struct OsRng(u8);
//! # impl Rng for OsRng {
//! #     fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
//! #         out.fill_with(|| { self.0 = self.0.wrapping_mul(5).wrapping_add(1); self.0 });
//! #         Ok(())
//! #     }
//! # }
//! # let validity = terse_pki::Validity::days(0, 36_500);
//! # let authority = terse_pki::Authority::new(&terse_pki::AuthorityOptions::new("p256x2".parse()?, validity))?;
//! # let issued = authority.issue(&terse_pki::LeafOptions::new("broker.example", validity))?;
//! # let (ca, chain, key) = (authority.root().clone(), issued.chain().to_vec(), issued.key());
//!
//! let provider = &terse_rustcrypto::PROVIDER;
//! let client = ClientConfig::builder(provider).trust(Trust::new(&[ca])?).datagrams(Datagrams::default()).build()?;
//! let credential = Credential::new(chain, provider.load_key(key)?)?;
//! let server = ServerConfig::builder(provider).credential(credential).datagrams(Datagrams::default()).build()?;
//!
//! let mut rng = OsRng(7); // the system's generator, or that of the hardware
//! # let date = pki_types::UnixTime::since_unix_epoch(core::time::Duration::from_secs(1_800_000_000));
//! let mut now = Now::new(Instant(0), Some(date));
//! let address = ServerAddress::new("broker.example".try_into()?, 5684);
//! let client = Connection::client(Arc::new(client), address, now, &mut rng)?;
//! let mut sides = [client, Connection::server(Arc::new(server), now)?];
//! let mut answer = Vec::new();
//!
//! while answer.is_empty() {
//!     let mut is_idle = true;
//!     for side in [0, 1] {
//!         // What is to be sent goes to the other side.
//!         let mut datagram = [0; 2048];
//!         while let Some(len) = sides[side].poll_transmit(now, &mut datagram) {
//!             is_idle = false;
//!             sides[1 - side].handle_input(now, &mut rng, &mut datagram[..len])?;
//!         }
//!         while let Some(event) = sides[side].poll_event() {
//!             is_idle = false;
//!             match event {
//!                 Event::Connected if side == 0 => assert_eq!(sides[side].send(b"22.5 C")?, 6),
//!                 Event::PeerClosed => sides[side].close(),
//!                 _ => {} // signatures and stores that answer later, early data
//!             }
//!         }
//!         // The server sends back what it gets, and the client is content then.
//!         let mut data = [0; 100];
//!         let len = sides[side].recv(&mut data);
//!         if len > 0 {
//!             is_idle = false;
//!             match side {
//!                 1 => assert_eq!(sides[1].send(&data[..len])?, len),
//!                 _ => answer.extend_from_slice(&data[..len]),
//!             }
//!         }
//!     }
//!     if is_idle {
//!         // Nothing is on its way: a timer is what comes next. A program waits for its socket until then.
//!         let timeouts = sides.iter().filter_map(Connection::poll_timeout);
//!         now.monotonic = timeouts.min().expect("somebody waits for an answer");
//!         for side in &mut sides {
//!             side.handle_timeout(now)?;
//!         }
//!     }
//! }
//! assert_eq!(answer, b"22.5 C");
//! println!("{} bytes sent", sides[0].summary().sent.record_bytes);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

extern crate alloc;
#[cfg(any(test, terse_testing))]
extern crate std;

/// In every binary that has test code: `make product` looks for it.
#[cfg(terse_testing)]
#[used]
static MARK_OF_TEST_CODE: [u8; 34] = *b"terse-tls with --cfg terse_testing";

mod behind;
pub mod cache;
mod cert;
mod config;
mod connection;
pub mod crypto;
mod endpoint;
mod error;
mod fallback_reason;
#[cfg(terse_testing)]
pub mod fuzzing;
mod handshake;
pub mod identity;
pub mod identity_early_data;
mod link;
mod lru;
mod memory;
mod peer_name;
mod printable;
mod proof;
mod record;
pub mod resume;
mod schedule;
pub mod summary;
#[cfg(test)]
mod test_crypto;
mod time;
mod wire;
#[cfg(terse_testing)]
mod work;

#[cfg(terse_testing)]
pub use cache::CacheDefence;
pub use cert::{
    CertificateIdentity, CheckedChain, Credential, Expect, KeyPurposeId, LearnedIssuers, PeerIdentity, PresentedPeer,
    Revocation, Stapling, Trust, Validity, VerifiedPeer,
};
pub use config::{
    ClientAuthentication, ClientConfig, ClientIdentity, ClientParts, Common, ConfigBuilder, Configuration, Datagrams,
    KeyLog, ServerAddress, ServerConfig, ServerIdentity, Trace, TraceEvent,
};
#[cfg(terse_testing)]
pub use config::{Defence, Fault};
pub use connection::{Connection, Event};
#[cfg(terse_testing)]
pub use endpoint::Undefended;
pub use endpoint::{AddressChange, ConnectionHandle, Endpoint, EndpointCounters, EndpointEvent, EndpointLimits, Path};
pub use error::{
    ApiMisuse, CertificateError, Date, Error, IdentityRefused, InvalidMessage, PeerIncompatible, PeerMisbehaved,
    Setting, StapleError,
};
pub use fallback_reason::FallbackReason;
pub use handshake::SignatureRequest;
pub use memory::Memory;
pub use peer_name::PeerName;
pub use record::datagram12::HEADER_LEN as DTLS_RECORD_HEADER_LEN;
pub use summary::Summary;
pub use time::{Instant, Now};
pub use wire::{
    AlertDescription, CachedInformationType, CertificateStatusType, CertificateType, CipherSuite,
    ClientCertificateType, ConnectionIdUsage, ContentType, ExtensionType, HandshakeType, MaxFragmentLength, NamedGroup,
    ProtocolVersion, PskKeyExchangeMode, SignatureScheme,
};
#[cfg(terse_testing)]
pub use work::Work;
