//! The fuzz target `services`: see [`terse_fuzz::services`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    terse_fuzz::services::run(data);
});
