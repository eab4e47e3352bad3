//! [`terse_tls`] on real sockets: blocking streams, credential files, the cache file, reports.
//!
//! | | |
//! |---|---|
//! | [`Clock`], [`OsRng`] | the time and randomness that the engine takes as arguments |
//! | [`Timed`] | a TCP connection with a deadline |
//! | [`files`] | certificates, keys and CRLs from files |
//!
//! There is no protocol logic here: it is all in [`terse_tls`].

mod clock;
pub mod files;
mod rng;
mod timed;

pub use clock::Clock;
pub use rng::OsRng;
pub use timed::Timed;
