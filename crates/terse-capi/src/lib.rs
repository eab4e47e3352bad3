//! The C API of `terse-tls`: `include/terse.h` is made from this crate by cbindgen, and explains every function.
//!
//! The API is sans-IO, as the engine is: the program gives bytes and the time, and gets bytes. The library calls back only for
//! randomness, the time if the program wants that, what is kept of servers, and signatures of external keys.
//!
//! Rust programs use `terse-tls` itself.
//!
//! # What must always hold
//!
//! - No argument that can be checked makes a call undefined: NULL and lengths that are out of range are errors.
//! - No panic crosses into C. Functions that are `extern "C"` abort the program where a panic would leave them, on hosts as on
//!   firmware, which has a callback for that (`terse_firmware.panic`). Nothing is caught: what panicked is a bug, and what it left
//!   behind is not to be used.
//! - A callback that calls back into the connection that it was called for gets an error, no second access.
//!
//! # Where unsafe code is
//!
//! Here, since functions with C's names cannot be declared otherwise: each file with `unsafe` says why at its head. What C
//! promises of a pointer is turned into a reference or a slice in `pointers.rs` alone, but for references and boxes that stand in the
//! signature of a function (`Option<&T>`, `Option<Box<T>>`): those C gives as they are.
#![cfg_attr(all(not(feature = "std"), target_os = "none"), no_std)]
#![warn(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

extern crate alloc;

#[cfg(all(target_os = "none", not(feature = "firmware")))]
compile_error!(
    "on bare metal the library brings its own heap: build it with --no-default-features --features firmware"
);

mod builder;
mod callbacks;
mod certificates;
mod config;
mod connection;
mod error;
#[cfg(feature = "firmware")]
mod firmware;
mod platform;
mod pointers;
mod provider;
mod signer;
mod store;
mod summary;

pub use builder::*;
pub use callbacks::*;
pub use config::*;
pub use connection::*;
pub use error::*;
#[cfg(feature = "firmware")]
pub use firmware::*;
pub use platform::*;
pub use signer::*;
pub use store::*;
pub use summary::*;
