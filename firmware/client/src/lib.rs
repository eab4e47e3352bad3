//! A device that connects to a server over a network that QEMU gives it, remembers the server in its storage, and reports what
//! the connection has cost.
//!
//! | module | content |
//! |---|---|
//! | [`storage`] | what is kept for the next start, in two slots, so that a reset in the middle of a write loses nothing |
//! | [`files`] | files of the computer that runs QEMU, as the device's flash |
//! | [`ethernet`] | the network for datagrams |
//! | [`memory`] | what is remembered of servers |
//! | [`setup`] | the configuration of connections |
//! | [`arenas`] | the memory of the device, and that of its connection |
//! | [`meter`], [`report`] | what a connection costs |
//!
//! On a computer there is only what needs no hardware, for tests.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[cfg(target_os = "none")]
pub mod arenas;
#[cfg(target_os = "none")]
pub mod ethernet;
#[cfg(target_os = "none")]
pub mod files;
pub mod memory;
#[cfg(target_os = "none")]
pub mod meter;
#[cfg(target_os = "none")]
pub mod report;
pub mod setup;
#[cfg(target_os = "none")]
mod start;
pub mod storage;

#[cfg(target_os = "none")]
pub use start::start;
