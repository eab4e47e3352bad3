//! What computations with secrets leave on the stack and in the registers of the FPU is overwritten: the routines in assembly
//! and the generator of nonces do not do that themselves, and Rust leaves a copy where it moves a value.

use zeroize::Zeroize;

use crate::ffi::clear_float_registers;

/// Runs `run`, and overwrites the stack that it has used, up to [`WIPED_WORDS`], and the registers of the FPU.
pub(crate) fn wiped<T>(run: impl FnOnce() -> T) -> T {
    let result = call(run);
    clear_float_registers();
    overwrite();
    result
}

/// Runs `run` in a frame of its own, which is where [`overwrite`] has its own afterwards.
#[inline(never)]
fn call<T>(run: impl FnOnce() -> T) -> T {
    run()
}

#[inline(never)]
fn overwrite() {
    let mut words = [0; WIPED_WORDS];
    words.zeroize();
}

/// How much is overwritten: 32-bit words. A signature uses the most, 2,444 bytes, which was measured in one build: for
/// `thumbv7em-none-eabihf`, with `opt-level = "s"`, `lto = "fat"` and `codegen-units = 1`. In others it may use more, and what lies
/// deeper stays. More is not overwritten, since this counts for the stack of every caller.
const WIPED_WORDS: usize = 640;
