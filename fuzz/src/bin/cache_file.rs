//! The fuzz target `cache_file`: see [`terse_fuzz::cache_file`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| terse_fuzz::cache_file::run(data));
