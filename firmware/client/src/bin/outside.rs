//! Allocates in an arena, and then outside of any, which must end the image: there is no other memory.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::boxed::Box;
use core::hint::black_box;
use core::panic::PanicInfo;

use terse_board::{end, println};
use terse_client::arenas::{self, DEVICE};

#[cortex_m_rt::entry]
fn main() -> ! {
    if arenas::begin() {
        let inside = DEVICE.run(|| black_box(Box::new(1)));
        println!("{} byte in an arena", DEVICE.in_use() / size_of_val(&*inside));
        let outside = black_box(Box::new(2));
        println!("{} bytes outside", outside);
    }
    end::succeed()
}

#[panic_handler]
fn panic(panic: &PanicInfo<'_>) -> ! {
    terse_board::end::report(panic)
}
