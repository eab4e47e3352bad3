//! The fuzz target `datagram_server`: see [`terse_fuzz::datagram_server`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| terse_fuzz::datagram_server::run(data));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    terse_fuzz::mutate::mutate(data, size, max_size, seed, libfuzzer_sys::fuzzer_mutate)
});
