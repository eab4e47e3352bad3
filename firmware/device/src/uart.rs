//! UART 1 of the boards (CMSDK APB UART: "Cortex-M System Design Kit", 4.3), which QEMU connects to a TCP server.

#![allow(unsafe_code)]

use alloc::vec::Vec;

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

/// The UART, as datagrams, each behind its length in two bytes.
pub struct Framed {
    uart: Uart,
    /// What has come of the next datagram, with its length.
    partial: Vec<u8>,
}

impl Framed {
    /// Carries datagrams over `uart`.
    pub const fn new(uart: Uart) -> Self {
        Self { uart, partial: Vec::new() }
    }
}

impl Wire for Framed {
    /// A datagram that is longer than `buffer` is cut off.
    fn receive(&mut self, milliseconds: u64, buffer: &mut [u8]) -> usize {
        let mut byte = [0];
        while self.uart.receive(milliseconds, &mut byte) == 1 {
            self.partial.extend(byte);
            let Some((len, datagram)) = self.partial.split_first_chunk() else { continue };
            if datagram.len() < usize::from(u16::from_be_bytes(*len)) {
                continue;
            }
            let len = datagram.len().min(buffer.len());
            buffer[..len].copy_from_slice(&datagram[..len]);
            self.partial.clear();
            return len;
        }
        0
    }

    fn transmit(&mut self, milliseconds: u64, bytes: &[u8]) {
        let Ok(len) = u16::try_from(bytes.len()) else { return };
        self.uart.transmit(milliseconds, &len.to_be_bytes());
        self.uart.transmit(milliseconds, bytes);
    }

    fn pause(&mut self) {}
}

/// UART 0, which shows how a connection went: it writes one byte.
pub struct Lamp(());

impl Lamp {
    /// Turns the UART on.
    pub fn open() -> Self {
        write_at(UART0, BAUDDIV, 16);
        write_at(UART0, CTRL, TX_ENABLE);
        Self(())
    }

    /// Writes `+` or `-`.
    pub fn show(&self, is_good: bool) {
        write_at(UART0, DATA, if is_good { b'+' } else { b'-' }.into());
    }
}

const UART0: usize = 0x4000_4000;
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
    write_at(UART1, register, value);
}

fn write_at(uart: usize, register: usize, value: u32) {
    // SAFETY: the register is one of a UART's, which both boards have, and nothing else uses.
    unsafe { ((uart + register) as *mut u32).write_volatile(value) };
}
