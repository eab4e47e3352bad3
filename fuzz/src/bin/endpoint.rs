//! The fuzz target `endpoint`: see [`terse_fuzz::endpoint`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| terse_fuzz::endpoint::run(data));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    terse_fuzz::mutate::mutate(data, size, max_size, seed, libfuzzer_sys::fuzzer_mutate)
});
