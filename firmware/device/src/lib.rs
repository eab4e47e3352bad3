//! What clients for Cortex-M have in common.
//!
//! | module | content |
//! |---|---|
//! | [`known`] | what is known to a device: its server, its credentials, the settings of its connections |
//! | [`wire`] | the network: [`uart`] carries a stream, or datagrams behind their lengths |
//! | [`clock`], [`random`] | time and randomness |
//! | [`connect`] | one connection |
//!
//! On a computer there is only what needs no hardware, for tests.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[cfg(target_os = "none")]
pub mod clock;
#[cfg(target_os = "none")]
pub mod connect;
pub mod known;
pub mod random;
#[cfg(target_os = "none")]
pub mod uart;
pub mod wire;
