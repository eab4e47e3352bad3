//! Client against server over datagrams, which may be lost, doubled, late and damaged (RFC 6347).
//!
//! - [`modes`]: the handshakes that are disturbed, one of each mode, in datagrams of every size
//! - [`outcome`]: what must hold of a connection whatever was done to it
//! - [`single`], [`pairs`], [`random`]: what a network does, systematically and at random
//! - [`flipped`]: datagrams that arrive damaged

extern crate alloc;

mod flipped;
mod modes;
mod outcome;
mod pairs;
mod random;
mod single;
