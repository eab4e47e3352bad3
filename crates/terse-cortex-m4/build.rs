//! Finds out whether the target can have the instructions that the assembly needs, those of Armv7E-M: `--cfg cortex_m4` then.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(cortex_m4)");
    // p256-cortex-m4-sys decides in the same way. In thumbv8m.main only parts with the DSP extension have UMAAL, which no target
    // says.
    let target = env::var("TARGET").expect("Cargo sets it");
    if target.starts_with("thumbv7em") || target.starts_with("thumbv8m.main") {
        println!("cargo::rustc-cfg=cortex_m4");
    }
}
