//! A device that is born with an IDevID and no LDevID. It gets its voucher and its LDevID of the registrar, keeps them, and connects
//! to a server of its domain with the LDevID. After a reset it goes on with what it has kept.
//!
//! | module | content |
//! |---|---|
//! | [`ldevid`] | what is kept: the LDevID, its key, and the trust anchors of the domain |
//! | [`board`] | the device of these images: a board that QEMU has |
//!
//! The pledge is that of `terse-pledge`. On a computer there is only what needs no hardware, for tests.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[cfg(target_os = "none")]
pub mod board;
pub mod ldevid;
#[cfg(target_os = "none")]
mod start;

#[cfg(target_os = "none")]
pub use start::start;
