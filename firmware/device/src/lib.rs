//! What clients for Cortex-M have in common.
//!
//! | module | content |
//! |---|---|
//! | [`known`] | what is known to a device: its server, its credentials, the settings of its connections |
//! | [`items`] | the form of files |
//! | [`wire`] | the network: [`uart`] carries a stream, or datagrams behind their lengths |
//! | [`clock`], [`random`] | time and randomness |
//! | [`storage`] | what is kept for the next start, in two slots, so that a reset in the middle of a write loses nothing |
//! | [`connect`] | one connection |
//! | `memory` | small functions to copy, fill and compare memory |
//!
//! On a computer there is only what needs no hardware, for tests.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[cfg(target_os = "none")]
pub mod clock;
#[cfg(target_os = "none")]
pub mod connect;
pub mod items;
pub mod known;
#[cfg(target_os = "none")]
mod memory;
pub mod random;
pub mod storage;
#[cfg(target_os = "none")]
pub mod uart;
pub mod wire;
