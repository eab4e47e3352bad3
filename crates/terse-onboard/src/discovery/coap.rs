//! Discovery by CoAP, as constrained BRSKI has it (draft-ietf-anima-constrained-join-proxy-20; RFC 6690; RFC 7252, 8): whoever
//! looks for a service asks all hosts of a link for `/.well-known/core`, and those that offer it answer with a link.
//!
//! | who | asks | [`Sought`] | is answered by a [`CoreResponder`] with |
//! |---|---|---|---|
//! | a pledge | `?brski-jp=*` | [`Sought::JoinProxy`] | [`Links::join_proxy`] |
//! | a pledge, a stateful join proxy | `?rt=brski` | [`Sought::Registrar`] | [`Links::registrar`] |
//! | a stateless join proxy | `?rt=brski.rjp` | [`Sought::StatelessRegistrar`] | [`Links::registrar`] |
//!
//! A [`Seeker`] asks, and is a [`Discovery`](super::Discovery). What messages say is decided in
//! [`terse_brski::coap::discovery`]; the sockets are here.
//!
//! What must always hold: anybody on the link can ask and answer anything, and what that costs is bounded; no message ends
//! either side.

use core::net::Ipv6Addr;

mod link;
mod links;
mod rate;
mod responder;
mod seeker;
mod sockets;
mod sought;

pub use link::Link;
pub use links::Links;
pub use responder::{CoreCounters, CoreResponder, LEISURE, MAX_PENDING};
pub use seeker::{MAX_SOCKETS, Reach, Seeker};
pub use sought::Sought;

/// The port of CoAP (RFC 7252, 6.1).
pub const PORT: u16 = 5683;

/// All CoAP nodes of a link (RFC 7252, 12.8).
pub const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0xfd);

#[cfg(test)]
mod tests;
