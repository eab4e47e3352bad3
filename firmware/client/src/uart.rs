//! UART 1 of the boards (CMSDK APB UART: "Cortex-M System Design Kit", 4.3), which QEMU connects to a TCP server.

#![allow(unsafe_code)]

use crate::wire::Wire;

/// The UART, as a stream.
pub struct Uart(());

impl Uart {
    /// Turns the UART on.
    pub fn open() -> Self {
        write(BAUDDIV, 16); // the least divider, which QEMU only looks at
        write(CTRL, TX_ENABLE | RX_ENABLE);
        Self(())
    }
}

impl Wire for Uart {
    fn receive(&mut self, _: u64, buffer: &mut [u8]) -> usize {
        let mut len = 0;
        for place in buffer {
            if read(STATE) & RX_FULL == 0 {
                break;
            }
            *place = read(DATA) as u8;
            len += 1;
        }
        len
    }

    fn transmit(&mut self, _: u64, bytes: &[u8]) {
        for byte in bytes {
            while read(STATE) & TX_FULL != 0 {}
            write(DATA, u32::from(*byte));
        }
    }

    fn pause(&mut self) {}
}

const UART1: usize = 0x4000_5000;
const DATA: usize = 0x00;
const STATE: usize = 0x04;
const CTRL: usize = 0x08;
const BAUDDIV: usize = 0x10;

const TX_FULL: u32 = 1;
const RX_FULL: u32 = 2;
const TX_ENABLE: u32 = 1;
const RX_ENABLE: u32 = 2;

fn read(register: usize) -> u32 {
    // SAFETY: the register is one of the UART's, which both boards have, and nothing else uses.
    unsafe { ((UART1 + register) as *const u32).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: as above.
    unsafe { ((UART1 + register) as *mut u32).write_volatile(value) };
}
