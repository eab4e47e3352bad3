//! A device that connects to a server over a network that QEMU gives it, remembers the server in its storage, and reports what
//! the connection has cost.
//!
//! | module | content |
//! |---|---|
//! | [`memory`] | what is remembered of servers |
//! | [`setup`] | the configuration of connections |
//! | [`arenas`] | the memory of the device, and that of its connection |
//! | [`meter`] | what a connection costs, in its arena |
//! | [`power`] | what makes the power fail while a slot is written |
//!
//! On a computer there is only what needs no hardware, for tests.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[cfg(target_os = "none")]
pub mod arenas;
pub mod memory;
#[cfg(target_os = "none")]
pub mod meter;
#[cfg(target_os = "none")]
pub mod power;
pub mod setup;
#[cfg(target_os = "none")]
mod start;

#[cfg(target_os = "none")]
pub use start::start;
