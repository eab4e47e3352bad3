//! RPL (RFC 6550) in non-storing mode, as RFC 8180 wants it for 6TiSCH.
//!
//! ```text
//! DIS, DIO, DAO, DAO-ACK ── messages ──> node ──> of0: which parent, what rank
//!                                         │  └──> trickle: when to send a DIO
//!                                         └─(root)─> routes: source routes from the parents that DAOs name
//! ```
//!
//! Each part is a small state machine: time comes in as [`crate::Time`], chance as a hash, messages go out
//! as values. None of them knows a radio, a medium or a queue of events.

mod config;
mod messages;
mod node;
mod of0;
mod options;
mod routes;
mod sequence;
mod trickle;

pub use config::{Repair, RplOptions};
pub(crate) use messages::{INFINITE_RANK, Message};
pub(crate) use node::{Event, Forwarding, Node, Transmit, link_local};
pub use of0::Of0;
pub use options::DodagConfiguration;
pub use trickle::Parameters as TrickleParameters;
