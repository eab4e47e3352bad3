//! How many instructions a computation takes.
//!
//! With `-icount shift=6` an instruction takes 64 ns of QEMU's time, and timer 0 of the CMSDK counts that time with 25 MHz.
//! The count is the same from run to run. It is none of cycles: a real processor takes one or more for each instruction.

#![allow(unsafe_code)]

/// Runs `run`, and returns its result with the number of instructions, which must be below 2^31.
pub fn measure<T>(run: impl FnOnce() -> T) -> (T, u32) {
    let none = count(|| ()).1;
    let (result, instructions) = count(run);
    (result, instructions.saturating_sub(none))
}

/// Counts the instructions of a computation that other work interrupts, which does not count.
///
/// Nothing else may measure meanwhile, and the computation must be interrupted once in two minutes.
pub struct Stopwatch {
    last: u32,
    ticks: u64,
}

impl Stopwatch {
    /// Starts the count.
    pub fn start() -> Self {
        write(CTRL, 0);
        write(RELOAD, u32::MAX);
        write(VALUE, u32::MAX);
        write(CTRL, 1);
        Self { last: u32::MAX, ticks: 0 }
    }

    /// Stops counting.
    pub fn pause(&mut self) {
        self.ticks += u64::from(self.last.wrapping_sub(read(VALUE))); // the timer counts down
    }

    /// Counts again.
    pub fn resume(&mut self) {
        self.last = read(VALUE);
    }

    /// Returns the instructions until the last pause.
    pub fn instructions(&self) -> u64 {
        self.ticks * NANOSECONDS_PER_TICK / NANOSECONDS_PER_INSTRUCTION
    }
}

fn count<T>(run: impl FnOnce() -> T) -> (T, u32) {
    write(CTRL, 0);
    write(RELOAD, u32::MAX);
    write(VALUE, u32::MAX);
    write(CTRL, 1);
    let result = run();
    let ticks = u32::MAX - read(VALUE);
    (result, (u64::from(ticks) * NANOSECONDS_PER_TICK / NANOSECONDS_PER_INSTRUCTION) as u32)
}

const NANOSECONDS_PER_TICK: u64 = 40;
const NANOSECONDS_PER_INSTRUCTION: u64 = 64;

/// The registers of timer 0 (Cortex-M System Design Kit, 4.2): control, value, and what follows the value 0.
const CTRL: usize = 0x4000_0000;
const VALUE: usize = 0x4000_0004;
const RELOAD: usize = 0x4000_0008;

fn read(register: usize) -> u32 {
    // SAFETY: the register is one of the timer's, which both boards have, and reading it changes nothing.
    unsafe { (register as *const u32).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: the register is one of the timer's, which both boards have, and nothing else uses.
    unsafe { (register as *mut u32).write_volatile(value) };
}
