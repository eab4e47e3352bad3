//! Tells the linker the memory of the boards, and to lay out the image as cortex-m-rt does.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=memory.x");
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "none") {
        println!("cargo::rustc-link-search={}", env!("CARGO_MANIFEST_DIR"));
        println!("cargo::rustc-link-arg-bins=-Tlink.x");
        println!("cargo::rustc-link-arg-bins=--nmagic"); // sections are not aligned to pages
    }
}
