//! The fuzz target `replay`: see [`terse_fuzz::replay`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| terse_fuzz::replay::run(data));
