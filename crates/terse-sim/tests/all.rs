//! All integration tests of this crate in one program, which is compiled and linked once.

extern crate alloc;

mod compare;
mod onboarding;
mod properties;
mod tcp;
mod wireshark;
