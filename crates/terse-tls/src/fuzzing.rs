//! Ways into the parts of the engine that read bytes, for fuzz targets: with `--cfg terse_testing` only.
//!
//! What must always hold: each takes any bytes, and panics if what the part promises does not hold.

mod certificates;
mod datagrams;
mod messages;
mod records;

pub use certificates::{verify_chain, verify_raw_public_key, verify_staple};
pub use datagrams::{reassemble, repeated, window};
pub use messages::{MESSAGES, message};
pub use records::{Keys, loopback, receive};
