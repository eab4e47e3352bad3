//! Claeys et al., *Performance of the Transport Layer Security Handshake Over 6TiSCH* (docs/papers.md): its peers, and what
//! it measured, as data.
//!
//! - [`Peers`] are the handshakes of Mbed TLS with the paper's profile, message by message, to be played as
//!   [scripts](crate::script): `mbedtls.toml` has the sizes, the computing time and the timers, with their sources.
//! - [`DropFirstSynAck`] is how the authors made a Linux server begin with a timeout of 3 s.
//! - [`Targets`] has the tables and figures: `targets.toml`, each number with its place in the paper.
//! - [`Samples`] are the runs of a row, and a [`Check`] says whether a formula holds of them.
//!
//! What must always hold: what is fitted to the paper's results is marked as fitted in these files.

mod checks;
mod peers;
mod samples;
mod syn_ack;
mod targets;
#[cfg(test)]
mod tests;

pub use checks::{
    Check, DutyCyclePoint, PoolTrace, RowKey, Runs, check_duty_cycles, check_loss, check_pool, check_tables,
};
pub use peers::Peers;
pub use samples::{Sample, Samples};
pub use syn_ack::DropFirstSynAck;
pub use targets::{Bound, Effect, Kind, Measured, Quantity, Row, Targets};
