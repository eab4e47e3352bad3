//! All integration tests of this crate in one program, which is compiled and linked once.

extern crate alloc;

mod firmware;
mod header;
mod programs;
mod shared;
