//! The fuzz target `path`: see [`terse_fuzz::path`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    terse_fuzz::path::run(data);
});
