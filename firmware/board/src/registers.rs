//! What is in the registers of the FPU.

#![allow(unsafe_code)]

/// Returns s0 to s15, which a function need not restore. Call it directly after what is looked at.
#[inline(always)]
pub fn float_registers() -> [u32; 16] {
    let mut registers = [0; 16];
    // SAFETY: the instruction writes 16 words, which the array has.
    unsafe {
        core::arch::asm!(
            "vstm {place}, {{s0-s15}}",
            place = in(reg) registers.as_mut_ptr(),
            options(nostack, preserves_flags),
        );
    }
    registers
}
