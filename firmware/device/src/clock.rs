//! The time since the start, by timer 1 of the boards (CMSDK APB timer: "Cortex-M System Design Kit", 4.2), and a tick of
//! SysTick that ends a sleep.

#![allow(unsafe_code)]

use core::time::Duration;

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use pki_types::UnixTime;
use terse_tls::{Instant, Now};

/// A clock. It must be read at least every 171 seconds, in which the timer counts once through its 32 bits.
pub struct Clock {
    last: u32,
    seconds: u64,
    /// The ticks of the second that is not over.
    ticks: u32,
}

impl Clock {
    /// Starts the clock, and a tick in every millisecond.
    pub fn start(mut systick: SYST) -> Self {
        write(CTRL, 0);
        write(RELOAD, u32::MAX);
        write(VALUE, u32::MAX);
        write(CTRL, 1);
        systick.set_clock_source(SystClkSource::Core);
        systick.set_reload(TICKS_PER_MILLISECOND - 1);
        systick.clear_current();
        systick.enable_counter();
        systick.enable_interrupt();
        Self { last: u32::MAX, seconds: 0, ticks: 0 }
    }

    /// Returns the milliseconds since the start.
    pub fn milliseconds(&mut self) -> u64 {
        let value = read(VALUE);
        let passed = self.last.wrapping_sub(value); // the timer counts down
        self.last = value;
        self.seconds += u64::from(passed / TICKS_PER_SECOND);
        self.ticks += passed % TICKS_PER_SECOND;
        if self.ticks >= TICKS_PER_SECOND {
            self.ticks -= TICKS_PER_SECOND;
            self.seconds += 1;
        }
        self.seconds * 1_000 + u64::from(self.ticks / TICKS_PER_MILLISECOND)
    }

    /// Returns the time on a device that was started at `started`, in seconds since 1970, if it knows it.
    pub fn now(&mut self, started: Option<u64>) -> Now {
        let milliseconds = self.milliseconds();
        let unix = started.map(|started| started.saturating_add(self.seconds));
        let unix = unix.map(|seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds)));
        Now::new(Instant(milliseconds), unix)
    }
}

/// The tick needs no work: it has ended the sleep.
#[cortex_m_rt::exception]
fn SysTick() {}

const TICKS_PER_SECOND: u32 = 25_000_000;
const TICKS_PER_MILLISECOND: u32 = TICKS_PER_SECOND / 1_000;

const CTRL: usize = 0x4000_1000;
const VALUE: usize = 0x4000_1004;
const RELOAD: usize = 0x4000_1008;

fn read(register: usize) -> u32 {
    // SAFETY: the register is one of the timer's, which both boards have, and nothing else uses.
    unsafe { (register as *const u32).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: as above.
    unsafe { (register as *mut u32).write_volatile(value) };
}
