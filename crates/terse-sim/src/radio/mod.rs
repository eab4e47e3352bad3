//! The radio: who hears whom, and how well.

mod air;
mod connectivity;
mod interference;
mod k7;
mod pister_hack;

pub(crate) use air::Air;
pub use connectivity::{Connectivity, RadioChange};
pub use interference::{delivery_among, rssi_to_delivery};
pub use k7::{Header, Moment, Row, Trace, TraceError, TraceErrorCause};
pub use pister_hack::{NoPlace, PisterHack, Position, RootPlace};
