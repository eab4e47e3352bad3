//! Discovery by CoAP on sockets: who answers, who asks, and aiocoap on either side.
//!
//! Tests by multicast run again in a network namespace of their own, as root. Where that cannot be made, or aiocoap is missing,
//! tests say so and are skipped; with `TERSE_REQUIRE_ALL=1` that is a failure.

mod aiocoap;
mod multicast;
mod responder;
mod seeker;
mod world;
