//! How the nodes of a TSCH network get and keep one time (IEEE 802.15.4-2020, 6.2.6 and 6.3.6; RFC 7554, B.3; RFC 8180, 4.5.2 and
//! 6.2): beacons, clocks that drift, keep-alives.
//!
//! Each part is a small state machine or a function: slots come in as absolute slot numbers, time as [`crate::Time`], chance as a
//! hash. None of them knows a mesh or a queue of events.

mod beacon;
mod beacon_chance;
mod clock;
mod joining;
mod keep_alive;

pub(crate) use beacon::EnhancedBeacon;
pub(crate) use beacon_chance::BeaconChance;
pub(crate) use clock::{Clock, Drift};
pub use joining::JoinOptions;
pub(crate) use joining::Joining;
pub use keep_alive::KeepAliveOptions;
pub(crate) use keep_alive::{Due, KeepAlive};
