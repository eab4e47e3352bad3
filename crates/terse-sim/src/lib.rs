//! The simulator runs the unmodified engine ([`terse_tls`]) over a network in virtual time.
//!
//! Nothing here reads a clock, opens a socket or starts a thread: the same scenario and seed give the same bytes at the
//! same times, on every machine.

#![forbid(unsafe_code)]

extern crate alloc;

mod asn;
pub mod capture;
mod cause;
mod chance;
pub mod compare;
pub mod computing;
mod conservation;
mod deadlines;
mod decoded;
mod direction;
pub mod edhoc;
pub mod energy;
mod engine;
pub mod gateway;
pub mod host;
mod layers;
pub mod ledger;
pub mod link;
pub mod network;
pub mod onboarding;
pub mod packet;
pub mod paper;
mod probe;
pub mod radio;
mod recent;
mod rng;
pub mod route;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the mesh carries messages as values: reading their bytes is for tests")
)]
pub mod rpl;
pub mod scenario;
pub mod script;
mod sixlowpan;
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "reading messages, and the commands that no scheduling function here sends, are for tests"
    )
)]
pub mod sixtop;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the mesh carries messages as values: reading their bytes is for tests")
)]
pub mod synchronization;
pub mod tcp;
mod time;
pub mod tsch;
mod verdict;

pub use engine::Exchange;
pub use rng::Random;
pub use time::Time;
