//! 6top: the 6top Protocol (6P, RFC 8480), and the scheduling functions that use it (RFC 9033 and others).
//!
//! ```text
//!   scheduling function: MSF, PID, fixed; tunnels around one of them
//!        │ actions            ▲ what was sent, received, negotiated
//!   Sixtop ── cells of the node, with locks ──> changes for the schedule of the MAC
//!        │ transactions       ▲
//!   6P messages out      6P messages in, and what the MAC says of those that went out
//! ```
//!
//! Nothing here knows the mesh: nodes and neighbours are numbers, time is a slot or a duration, chance is a hash, messages are
//! values. The cells of `cells::CellTable` are those of one slotframe; the MAC mirrors each `scheduling::CellChange`.
//!
//! What must always hold: cells change when RFC 8480 says so, at the end of a transaction, and at both ends alike, unless a
//! message was lost that nobody can be certain of; SeqNum finds that out, and CLEAR repairs it.

pub(crate) mod cells;
pub(crate) mod ecn;
pub(crate) mod fixed;
pub(crate) mod message;
pub(crate) mod msf;
mod node;
pub(crate) mod pid;
pub(crate) mod scheduling;
#[cfg(test)]
mod tests;
pub(crate) mod transaction;
pub(crate) mod tunnel;

pub use ecn::EcnOptions;
pub use msf::{AutonomousHash, MsfOptions};
pub(crate) use node::Sixtop;
pub use pid::PidOptions;

pub(crate) use crate::asn::Asn;
