//! A device that connects to a server over a network that QEMU gives it, remembers the server in its storage, and reports what
//! the connection has cost.
//!
//! | module | content |
//! |---|---|
//! | [`device`] | what is known to a device: its server, its credentials, the settings of its connections |
//! | [`storage`] | what is kept for the next start, in two slots, so that a reset in the middle of a write loses nothing |
//! | [`files`] | files of the computer that runs QEMU, as the device's flash |
//! | [`wire`] | the network: [`uart`] carries a stream, [`ethernet`] datagrams |
//! | [`clock`], [`random`] | time and randomness |
//! | [`memory`] | what is remembered of servers |
//! | [`setup`] | the configuration of connections |
//! | [`connect`], [`report`] | one connection, and its report |
//!
//! On a computer there is only what needs no hardware, for tests.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[cfg(target_os = "none")]
pub mod clock;
#[cfg(target_os = "none")]
pub mod connect;
pub mod device;
#[cfg(target_os = "none")]
pub mod ethernet;
#[cfg(target_os = "none")]
pub mod files;
pub mod memory;
pub mod random;
#[cfg(target_os = "none")]
pub mod report;
pub mod setup;
#[cfg(target_os = "none")]
mod start;
pub mod storage;
#[cfg(target_os = "none")]
pub mod uart;
pub mod wire;

#[cfg(target_os = "none")]
pub use start::start;
