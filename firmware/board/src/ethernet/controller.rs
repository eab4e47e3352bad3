//! The Ethernet controller LAN9118 (SMSC, "LAN9118", 5.3), as far as QEMU's network needs it.

#![allow(unsafe_code)]

/// The controller.
pub(super) struct Controller(());

impl Controller {
    /// Resets the controller, and lets it receive for this address.
    pub(super) fn start(address: [u8; 6]) -> Self {
        write(HW_CFG, SOFT_RESET);
        while read(HW_CFG) & SOFT_RESET != 0 {}
        write(HW_CFG, MUST_BE_ONE | TX_FIFO_5_KB);
        let [a, b, c, d, e, f] = address;
        write_mac(MAC_ADDRL, u32::from_le_bytes([a, b, c, d]));
        write_mac(MAC_ADDRH, u32::from_le_bytes([e, f, 0, 0]));
        write_mac(MAC_CR, TX_ENABLE | RX_ENABLE);
        write(TX_CFG, TX_ON);
        Self(())
    }

    /// Takes a frame without its checksum. Returns its length. A frame with errors, or one that is longer than `frame`, is dropped.
    pub(super) fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        if read(RX_FIFO_INF) >> 16 & 0xff == 0 {
            return None;
        }
        let status = read(RX_STATUS_FIFO);
        let with_checksum = (status >> 16 & 0x3fff) as usize;
        for index in 0..with_checksum.div_ceil(4) {
            let word = read(RX_DATA_FIFO).to_le_bytes();
            let place = frame.get_mut(4 * index..).unwrap_or_default();
            place.iter_mut().zip(word).for_each(|(to, from)| *to = from);
        }
        let len = with_checksum.checked_sub(CHECKSUM_LEN)?;
        (status & RX_ERROR == 0 && len <= frame.len()).then_some(len)
    }

    /// Sends a frame.
    pub(super) fn transmit(&mut self, frame: &[u8]) {
        let len = frame.len() as u32;
        write(TX_DATA_FIFO, FIRST_SEGMENT | LAST_SEGMENT | len);
        write(TX_DATA_FIFO, len);
        for chunk in frame.chunks(4) {
            let mut word = [0; 4];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            write(TX_DATA_FIFO, u32::from_le_bytes(word));
        }
    }
}

/// The base address on both boards, and the registers.
const LAN9118: usize = 0x4020_0000;
const RX_DATA_FIFO: usize = 0x00;
const TX_DATA_FIFO: usize = 0x20;
const RX_STATUS_FIFO: usize = 0x40;
const TX_CFG: usize = 0x70;
const HW_CFG: usize = 0x74;
const RX_FIFO_INF: usize = 0x7c;
const MAC_CSR_CMD: usize = 0xa4;
const MAC_CSR_DATA: usize = 0xa8;

/// The registers of the MAC, which are reached by a command.
const MAC_CR: u32 = 1;
const MAC_ADDRH: u32 = 2;
const MAC_ADDRL: u32 = 3;

const SOFT_RESET: u32 = 1;
const MUST_BE_ONE: u32 = 1 << 20;
const TX_FIFO_5_KB: u32 = 5 << 16;
const TX_ON: u32 = 1 << 1;
const TX_ENABLE: u32 = 1 << 3;
const RX_ENABLE: u32 = 1 << 2;
const RX_ERROR: u32 = 1 << 15;
const FIRST_SEGMENT: u32 = 1 << 13;
const LAST_SEGMENT: u32 = 1 << 12;
const CSR_BUSY: u32 = 1 << 31;

/// The checksum of a frame (IEEE 802.3, 3.2.9).
const CHECKSUM_LEN: usize = 4;

fn write_mac(register: u32, value: u32) {
    write(MAC_CSR_DATA, value);
    write(MAC_CSR_CMD, CSR_BUSY | register);
    while read(MAC_CSR_CMD) & CSR_BUSY != 0 {}
}

fn read(register: usize) -> u32 {
    // SAFETY: the register is one of the controller's, which both boards have, and nothing else uses.
    unsafe { ((LAN9118 + register) as *const u32).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: as above.
    unsafe { ((LAN9118 + register) as *mut u32).write_volatile(value) };
}
