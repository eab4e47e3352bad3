//! LoRaWAN in the European band EU868, under [SCHC](schc).
//!
//! | number | source |
//! |---|---|
//! | payload 51 B at SF12, SF11, SF10; 115 B at SF9; 242 B at SF8, SF7 | LoRaWAN Regional Parameters RP002-1.0.3, 2.4.6, without FOpts, no repeater |
//! | 13 B around it | MHDR 1, DevAddr 4, FCtrl 1, FCnt 2, FPort 1, MIC 4 (LoRaWAN 1.0.4, 4) |
//! | time on air | Semtech SX1276 datasheet, 4.1.1.7: bandwidth 125 kHz, explicit header, preamble of 8 symbols, low data rate optimisation at SF11 and SF12; a CRC on uplinks only (LoRaWAN 1.0.4, 3) |
//! | coding rate 4/5 | RP002-1.0.3, 2.4.3 |
//! | duty cycle 1 % | ETSI EN 300 220-2, band M (868.0 to 868.6 MHz); both ways, as the network answers in the same channel (RX1) |
//!
//! Not modelled: the receive windows of class A (the device listens whenever it does not send, as in class C), joining,
//! MAC commands, confirmed frames, adaptive data rate, encryption and MIC (the bytes of the MIC are there, and zero),
//! and the network between gateway and server, but for the path's delay.

pub(crate) mod schc;
#[cfg(test)]
mod tests;

use core::time::Duration;

use super::{Coded, Direction, Station};
use crate::Time;
use crate::cause::Cause;
use crate::decoded::Decoded;
use crate::layers::Layers;
use crate::packet::Packet;

use schc::Schc;

/// The options of LoRaWAN on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoraWan {
    /// The spreading factor, 7 to 12: each step up about doubles the time on the air.
    pub spreading_factor: u8,
    /// The longest payload (FRMPayload), in bytes.
    pub payload_len: usize,
    /// Bits of redundancy for four bits of data, 1 to 4: the coding rate is 4/(4 + this).
    pub coding_rate: u8,
    /// The UDP ports of the first and second end that are in SCHC's context, so that they are not sent.
    pub ports: Option<(u16, u16)>,
}

impl LoraWan {
    /// Returns what EU868 allows with this spreading factor, which is clamped to 7 to 12.
    pub fn eu868(spreading_factor: u8) -> Self {
        let spreading_factor = spreading_factor.clamp(7, 12);
        let payload_len = match spreading_factor {
            7 | 8 => 242,
            9 => 115,
            _ => 51,
        };
        Self { spreading_factor, payload_len, coding_rate: 1, ports: None }
    }

    /// Returns how long a frame of `len` bytes (PHYPayload) is on the air.
    pub fn time_on_air(&self, direction: Direction, len: usize) -> Duration {
        let spreading_factor = i64::from(self.spreading_factor.clamp(6, 12));
        // T_sym = 2^SF / BW; one cycle at 125 kHz takes 8 µs.
        let symbol = 8_000_u64 << spreading_factor;
        let low_data_rate = if spreading_factor >= 11 { 2 } else { 0 };
        let crc = if direction == Direction::Up { 16 } else { 0 };
        // n_payload = 8 + max(ceil((8 PL - 4 SF + 28 + 16 CRC - 20 IH) / (4 (SF - 2 DE))) (CR + 4), 0)
        let bits = 8 * i64::try_from(len).unwrap_or(i64::MAX / 8) - 4 * spreading_factor + 28 + crc;
        let per_block = 4 * (spreading_factor - low_data_rate);
        let blocks = u64::try_from(bits).unwrap_or(0).div_ceil(per_block.unsigned_abs());
        let symbols = 8 + blocks * (u64::from(self.coding_rate.clamp(1, 4)) + 4);
        // The preamble has 8 + 4.25 symbols.
        Duration::from_nanos(symbol.saturating_mul(symbols).saturating_add(symbol * 49 / 4))
    }
}

/// The MAC layer of one direction.
#[derive(Debug)]
pub(crate) struct Mac {
    payload_len: usize,
    direction: Direction,
    frame_counter: u16,
    last_heard: Option<u16>,
    schc: Schc,
}

impl Mac {
    pub(crate) fn new(options: &LoraWan, direction: Direction, from: Station, to: Station) -> Self {
        let ports = options.ports.map(|(first, second)| match direction {
            Direction::Up => (first, second),
            Direction::Down => (second, first),
        });
        Self {
            payload_len: options.payload_len,
            direction,
            frame_counter: 0,
            last_heard: None,
            schc: Schc::new(schc::Context { from: from.address, to: to.address, ports }, direction),
        }
    }

    pub(crate) fn encode(&mut self, packet: &Packet) -> Result<Vec<Coded>, Cause> {
        let messages = self.schc.encode(packet, self.payload_len)?;
        let frame = |message: schc::Message| Coded {
            bytes: self.frame(message.rule, &message.payload),
            layers: Layers { link: OVERHEAD, ..message.layers },
            fragment: message.fragment,
        };
        Ok(messages.into_iter().map(frame).collect())
    }

    pub(crate) fn decode(&mut self, now: Time, bytes: &[u8], id: u64) -> Decoded {
        let Some((header, rest)) = bytes.split_first_chunk::<9>() else { return Decoded::Dropped(Cause::Malformed) };
        let Some((payload, _mic)) = rest.split_last_chunk::<4>() else { return Decoded::Dropped(Cause::Malformed) };
        let [.., low, high, rule] = *header;
        let counter = u16::from_le_bytes([low, high]);
        if self.last_heard.replace(counter) == Some(counter) {
            return Decoded::Repeated;
        }
        self.schc.decode(now, rule, payload, id)
    }

    pub(crate) const fn schc(&mut self) -> &mut Schc {
        &mut self.schc
    }

    pub(crate) const fn schc_ref(&self) -> &Schc {
        &self.schc
    }

    fn frame(&mut self, port: u8, payload: &[u8]) -> Vec<u8> {
        let unconfirmed = match self.direction {
            Direction::Up => 0x40,
            Direction::Down => 0x60,
        };
        let [low, high] = self.frame_counter.to_le_bytes();
        self.frame_counter = self.frame_counter.wrapping_add(1);
        let [a, b, c, d] = DEVICE_ADDRESS;
        let mut bytes = vec![unconfirmed, a, b, c, d, 0, low, high, port];
        bytes.extend(payload);
        bytes.extend([0; 4]);
        bytes
    }
}

/// Returns the header of a frame in a capture: LoRaTap, version 0.
pub(crate) fn lora_tap(options: &LoraWan) -> Vec<u8> {
    let mut header = vec![0, 0, 0, 15];
    header.extend(868_100_000_u32.to_be_bytes());
    // One step of 125 kHz; no signal strengths (RSSI, SNR); LoRaWAN's sync word.
    header.extend([1, options.spreading_factor, 0, 0, 0, 0, 0x34]);
    header
}

const OVERHEAD: usize = 13;
/// An address of the experimental networks (NetID 0), little-endian.
const DEVICE_ADDRESS: [u8; 4] = [1, 0, 0, 0];
