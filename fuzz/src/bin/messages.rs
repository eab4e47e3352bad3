//! The fuzz target `messages`: see [`terse_fuzz::messages`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| terse_fuzz::messages::run(data));
