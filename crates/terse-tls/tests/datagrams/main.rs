//! Client against server over datagrams, which may be lost, doubled, late and damaged (RFC 6347).
//!
//! - [`modes`]: the handshakes that are disturbed, one of each mode, in datagrams of every size
//! - [`outcome`]: what must hold of a connection whatever was done to it
//! - [`single`], [`pairs`], [`random`]: what a network does, systematically and at random
//! - [`flipped`]: datagrams that arrive damaged
//! - [`timers`]: when a flight is sent again, and when no more
//! - [`narrow`]: what is sent again where little is carried at a time
//! - [`caching`]: what losses and crashes cost the next connection
//! - [`attacks`]: by those who have no keys
//! - [`endpoint`]: many clients at one server
//! - [`trace`]: what those hear who watch
//! - [`versions`]: which version a server takes

extern crate alloc;

use terse_testkit::allocator::CountingAllocator;

mod attacks;
mod caching;
mod endpoint;
mod flipped;
mod modes;
mod narrow;
mod outcome;
mod pairs;
mod random;
mod single;
mod timers;
mod trace;
mod versions;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
