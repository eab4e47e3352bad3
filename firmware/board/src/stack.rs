//! How many bytes of stack a computation takes.
//!
//! The unused stack is painted, and afterwards the paint that is left is counted.

#![allow(unsafe_code)]

use core::ptr::addr_of;

use cortex_m::register::msp;

/// Runs `run`, and returns its result with the bytes of stack that were used below the caller's, by interrupts as well.
#[inline(never)]
pub fn measure<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let top = paint();
    let result = call(run);
    (result, top - lowest_used(top))
}

/// Returns the words of the stack that `run` leaves behind below the caller's, from the lowest address on, to `inspect`.
#[inline(never)]
pub fn inspect<T>(run: impl FnOnce() -> T, inspect: impl FnOnce(&mut dyn Iterator<Item = u32>)) -> T {
    let top = paint();
    let result = call(run);
    let lowest = lowest_used(top);
    inspect(&mut (lowest..top).step_by(4).map(word));
    result
}

/// Runs `run` in a frame of its own, which is below what is painted from.
#[inline(never)]
fn call<T>(run: impl FnOnce() -> T) -> T {
    run()
}

/// What unused words have.
const PAINT: u32 = 0xa55a_c33c;

/// Paints what is below the stack pointer, which is returned.
#[inline(never)]
fn paint() -> usize {
    let top = msp::read() as usize;
    let mut address = bottom();
    while address < top - OWN {
        // SAFETY: this is the memory between all variables and the stack in use, where nothing is kept.
        unsafe { (address as *mut u32).write_volatile(PAINT) };
        address += 4;
    }
    top
}

/// The bytes below the stack pointer that are not painted, since what paints may call functions. They count as used.
const OWN: usize = 64;

fn lowest_used(top: usize) -> usize {
    (bottom()..top).step_by(4).find(|address| word(*address) != PAINT).unwrap_or(top)
}

fn word(address: usize) -> u32 {
    // SAFETY: the address is one of the stack's, which is memory that can be read, and aligned.
    unsafe { (address as *const u32).read_volatile() }
}

/// Returns where the stack ends: above all variables.
fn bottom() -> usize {
    unsafe extern "C" {
        /// The end of all variables, as the linker's script of cortex-m-rt defines it.
        static __sheap: u32;
    }
    addr_of!(__sheap) as usize
}
