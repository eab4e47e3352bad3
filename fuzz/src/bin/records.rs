//! The fuzz target `records`: see [`terse_fuzz::records`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| terse_fuzz::records::run(data));
