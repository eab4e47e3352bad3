//! The end of an image.

#![allow(unsafe_code)] // the handler of faults must be an `unsafe fn`: cortex-m-rt wants it

use core::panic::PanicInfo;

use cortex_m_rt::{ExceptionFrame, exception};
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};

use crate::println;

/// Ends QEMU with exit code 0.
pub fn succeed() -> ! {
    loop {
        exit(EXIT_SUCCESS);
    }
}

/// Ends QEMU with exit code 1.
pub fn fail() -> ! {
    loop {
        exit(EXIT_FAILURE);
    }
}

/// Reports a panic, and ends QEMU with exit code 1. The `#[panic_handler]` of an image calls it.
pub fn report(panic: &PanicInfo<'_>) -> ! {
    println!("{}", panic);
    fail()
}

/// What an illegal access to memory leads to: the report of where, and exit code 1.
// SAFETY: it never returns, so that it cannot return to what failed.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    println!("hard fault: {:?}", frame);
    fail()
}
