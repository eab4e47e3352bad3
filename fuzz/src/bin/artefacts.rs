//! The fuzz target `artefacts`: see [`terse_fuzz::artefacts`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| terse_fuzz::artefacts::run(data));
