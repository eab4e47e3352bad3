//! The fuzz target `pair`: see [`terse_fuzz::pair`].
#![no_main]
#![allow(unsafe_code)] // libFuzzer calls into this binary by an unmangled name

libfuzzer_sys::fuzz_target!(|data: &[u8]| terse_fuzz::pair::run(data));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // The byte that chooses who interferes stays, or all bytes are mutated alike.
    if size < 2 || max_size < 2 || seed % 16 == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    1 + terse_fuzz::mutate::mutate(&mut data[1..], size - 1, max_size - 1, seed, libfuzzer_sys::fuzzer_mutate)
});
