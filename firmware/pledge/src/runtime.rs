//! What the standard library would bring, and each image names: the heap, and what a panic does, which is to stop until the watchdog
//! resets.

#![allow(unsafe_code)]

use core::mem::MaybeUninit;
use core::ptr::addr_of_mut;

use embedded_alloc::LlffHeap;

/// Gives the heap its memory, which must be done once, before anything is allocated.
pub(crate) fn begin(heap: &LlffHeap) {
    static mut MEMORY: [MaybeUninit<u8>; HEAP_LEN] = [MaybeUninit::uninit(); HEAP_LEN];
    // SAFETY: this is called once after a reset, by `start`, and nothing else names the memory.
    unsafe { heap.init(addr_of_mut!(MEMORY) as usize, HEAP_LEN) };
}

/// The bytes of the heap.
const HEAP_LEN: usize = 64 * 1_024;

/// Stops the device.
pub fn stop() -> ! {
    loop {
        cortex_m::asm::nop();
    }
}
