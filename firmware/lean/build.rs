//! Tells the linker the memory of a package's images, and to lay them out as cortex-m-rt does. `terse-client` has it as well.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=memory.x");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "none") {
        println!("cargo::rustc-link-search={}", env!("CARGO_MANIFEST_DIR"));
        println!("cargo::rustc-link-arg-bins=-Tlink.x");
        println!("cargo::rustc-link-arg-bins=--nmagic"); // sections are not aligned to pages
    }
}
