//! Claeys et al., *Performance of the Transport Layer Security Handshake Over 6TiSCH* (docs/papers.md): its peers, and what
//! it measured, as data.
//!
//! - [`Peers`] are the handshakes of Mbed TLS with the paper's profile, message by message, to be played as
//!   [scripts](crate::script): `mbedtls.toml` has the sizes, the computing time and the timers, with their sources.
//! - [`DropFirstSynAck`] is how the authors made a Linux server begin with a timeout of 3 s.
//! - [`Targets`] has the tables and figures: `targets.toml`, each number with its place in the paper.
//! - [`humps`] finds the humps of figure 10.
//!
//! What must always hold: what is fitted to the paper's results is marked as fitted in these files.

mod humps;
mod peers;
mod syn_ack;
mod targets;
#[cfg(test)]
mod tests;

pub use humps::humps;
pub use peers::Peers;
pub use syn_ack::DropFirstSynAck;
pub use targets::{Bound, Effect, Kind, Measured, Quantity, Row, RowKey, Targets};
