//! What computations with secrets leave on the stack is overwritten: the routines in assembly and the generator of nonces do
//! not do that themselves, and Rust leaves a copy where it moves a value.

use zeroize::Zeroize;

/// Runs `run`, and overwrites the stack that it has used, up to [`WIPED_WORDS`].
pub(crate) fn wiped<T>(run: impl FnOnce() -> T) -> T {
    let result = call(run);
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

/// How much is overwritten: 32-bit words. A signature uses the most, 2,444 bytes on a Cortex-M4F.
const WIPED_WORDS: usize = 640;
