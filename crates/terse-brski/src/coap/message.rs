//! Messages (RFC 7252, 3), encoded by `coap-lite`.
//!
//! What must always hold: a message that parses has at most [`MAX_DATAGRAM`] bytes and [`MAX_OPTIONS`] options, so that
//! nobody makes the parser allocate more than a small multiple of what was sent.

use alloc::vec::Vec;

use coap_lite::{CoapOption, MessageClass, MessageType, Packet};
use zeroize::Zeroize as _;

use super::option;
use super::{Code, Payload};

/// The longest datagram that is read, in bytes. None that is sent is longer.
pub const MAX_DATAGRAM: usize = 2_048;

/// The most options in a message that is read.
pub(super) const MAX_OPTIONS: usize = 32;

/// The longest token (RFC 7252, 3).
const MAX_TOKEN: usize = 8;

/// The type of a message (RFC 7252, 4.2 and 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Confirmable,
    NonConfirmable,
    Acknowledgement,
    Reset,
}

/// Why a datagram is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// A confirmable message, with this message ID, whose rest does not parse. It may be rejected (RFC 7252, 4.2).
    Confirmable(u16),
    /// Anything else, which is ignored (RFC 7252, 3 and 4.3).
    Ignored,
}

/// A message.
pub(super) struct Message(Packet);

impl Message {
    pub(super) fn new(kind: Kind, code: Code, id: u16, token: &[u8]) -> Self {
        let mut packet = Packet::new();
        packet.header.set_type(match kind {
            Kind::Confirmable => MessageType::Confirmable,
            Kind::NonConfirmable => MessageType::NonConfirmable,
            Kind::Acknowledgement => MessageType::Acknowledgement,
            Kind::Reset => MessageType::Reset,
        });
        packet.header.code = MessageClass::from(code.0);
        packet.header.message_id = id;
        packet.set_token(token[..token.len().min(MAX_TOKEN)].to_vec());
        Self(packet)
    }

    /// Encodes a message without code, token and anything after them (RFC 7252, 4.1).
    pub(super) fn empty(kind: Kind, id: u16) -> [u8; 4] {
        let first = match kind {
            Kind::Confirmable => 0x40,
            Kind::NonConfirmable => 0x50,
            Kind::Acknowledgement => 0x60,
            Kind::Reset => 0x70,
        };
        let [high, low] = id.to_be_bytes();
        [first, Code::EMPTY.0, high, low]
    }

    pub(super) fn parse(datagram: &[u8]) -> Result<Self, Malformed> {
        let [first, code, high, low, ..] = *datagram else { return Err(Malformed::Ignored) };
        if first >> 6 != 1 {
            return Err(Malformed::Ignored); // RFC 7252, 3: another version
        }
        let malformed = match first >> 4 & 3 {
            0 => Malformed::Confirmable(u16::from_be_bytes([high, low])),
            _ => Malformed::Ignored,
        };
        // RFC 7252, 4.1: nothing comes after the message ID of an empty message.
        let is_empty_with_more = code == Code::EMPTY.0 && (datagram.len() > 4 || first & 0xf != 0);
        if datagram.len() > MAX_DATAGRAM || is_empty_with_more || !has_bounded_options(datagram) {
            return Err(malformed);
        }
        Packet::from_bytes(datagram).map(Self).map_err(|_| malformed)
    }

    pub(super) fn encode(&self) -> Payload {
        Payload::new(self.0.to_bytes_with_limit(MAX_DATAGRAM).unwrap_or_default())
    }

    pub(super) fn kind(&self) -> Kind {
        match self.0.header.get_type() {
            MessageType::Confirmable => Kind::Confirmable,
            MessageType::NonConfirmable => Kind::NonConfirmable,
            MessageType::Acknowledgement => Kind::Acknowledgement,
            MessageType::Reset => Kind::Reset,
        }
    }

    pub(super) fn code(&self) -> Code {
        Code(self.0.header.code.into())
    }

    pub(super) const fn id(&self) -> u16 {
        self.0.header.message_id
    }

    pub(super) fn token(&self) -> &[u8] {
        self.0.get_token()
    }

    pub(super) fn payload(&self) -> &[u8] {
        &self.0.payload
    }

    pub(super) fn set_payload(&mut self, payload: &[u8]) {
        self.0.payload = payload.to_vec();
    }

    /// Returns the options in the order of their numbers, each with all its values.
    pub(super) fn options(&self) -> impl Iterator<Item = (u16, impl Iterator<Item = &[u8]>)> {
        self.0.options().map(|(number, values)| (*number, values.iter().map(Vec::as_slice)))
    }

    pub(super) fn values(&self, number: u16) -> impl Iterator<Item = &[u8]> {
        self.0.get_option(CoapOption::from(number)).into_iter().flatten().map(Vec::as_slice)
    }

    /// Returns the first value of an option that is a number of at most `max_len` bytes.
    pub(super) fn uint(&self, number: u16, max_len: usize) -> Option<u32> {
        self.values(number).next().and_then(|value| option::read_uint(value, max_len))
    }

    pub(super) fn push(&mut self, number: u16, value: &[u8]) {
        self.0.add_option(CoapOption::from(number), value.to_vec());
    }

    pub(super) fn push_uint(&mut self, number: u16, value: u32) {
        self.0.add_option(CoapOption::from(number), option::uint(value));
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        self.0.payload.zeroize();
    }
}

/// Whether the datagram has few options, and a payload if it has the marker of one (RFC 7252, 3 and 3.1). `coap-lite` checks
/// neither; all else is checked there.
fn has_bounded_options(datagram: &[u8]) -> bool {
    let start = 4 + usize::from(datagram[0] & 0xf);
    let mut rest = datagram.get(start..).unwrap_or_default();
    for _ in 0..=MAX_OPTIONS {
        match rest {
            [] => return true,
            [PAYLOAD_MARKER, payload @ ..] => return !payload.is_empty(),
            [nibbles, after @ ..] => {
                let extended = |nibble: u8| match nibble {
                    13 => 1,
                    14 => 2,
                    _ => 0,
                };
                let (delta, len) = (extended(nibbles >> 4), extended(nibbles & 0xf));
                let value_len = match (nibbles & 0xf, after.get(delta..delta + len)) {
                    (13, Some([low])) => 13 + usize::from(*low),
                    (14, Some([high, low])) => 269 + usize::from(u16::from_be_bytes([*high, *low])),
                    (nibble, _) => usize::from(nibble),
                };
                let Some(next) = after.get(delta + len + value_len..) else { return false };
                rest = next;
            }
        }
    }
    false
}

/// What stands before the payload (RFC 7252, 3).
const PAYLOAD_MARKER: u8 = 0xff;

#[cfg(test)]
mod tests;
