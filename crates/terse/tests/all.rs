//! All integration tests of this crate in one program, which is compiled and linked once.

extern crate alloc;

mod command;
mod common;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod kernel;
mod load;
mod soak;
