//! The fuzz target `requests`: see [`terse_fuzz::requests`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| terse_fuzz::requests::run(data));
