//! A device that onboards itself, without an operating system: what its images have in common.
//!
//! | module | content |
//! |---|---|
//! | [`board`] | what a pledge needs of its device: network, clock, randomness, storage |
//! | [`mailbox`] | the device of these images: memory that it shares with a radio's driver |
//! | [`driver`] | the driver of the pledge's machine: its commands become connections, keys and memory |
//! | [`exchange`], [`coaps`], [`https`] | requests and responses on a connection, in either form |
//! | [`http`] | messages of HTTP/1.1 |
//! | [`keys`] | new keys for the LDevID |
//!
//! Each image names its form, its algorithms and its kind of key, and has nothing else.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod board;
pub mod coaps;
pub mod driver;
pub mod exchange;
pub mod http;
pub mod https;
pub mod keys;
#[cfg(target_os = "none")]
pub mod mailbox;
#[cfg(target_os = "none")]
mod runtime;
#[cfg(target_os = "none")]
mod start;
#[cfg(test)]
mod tests;

#[cfg(target_os = "none")]
use terse_device as _; // for its functions that copy and fill memory

#[cfg(target_os = "none")]
pub use runtime::stop;
#[cfg(target_os = "none")]
pub use start::start;
