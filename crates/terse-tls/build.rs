//! Turns on `--cfg terse_testing`, with which tests can make a side misbehave, in debug builds that are asked for it by
//! the environment: this checkout's `.cargo/config.toml` asks, so that `cargo test` works.
//!
//! What must always hold: no release build gets it from here, and no crate that depends on this one can turn it on.
//! Tests of optimised code, as by fuzzers, say `RUSTFLAGS="--cfg terse_testing"`.

use std::env;

fn main() {
    // No file: another package has this script, too, and a file that is not there would be built anew each time.
    println!("cargo::rerun-if-env-changed=TERSE_TESTING");
    let is_asked_for = env::var("TERSE_TESTING").is_ok_and(|value| value == "1");
    // Cargo says "release" for each profile that inherits from that one.
    let is_debug_build = env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    if is_asked_for && is_debug_build {
        println!("cargo::rustc-cfg=terse_testing");
    }
}
