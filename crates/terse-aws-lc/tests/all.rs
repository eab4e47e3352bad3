//! All integration tests of this crate in one program, which is compiled and linked once.

extern crate alloc;

mod api;
mod cross_provider;
mod wycheproof;
