//! The first bytes of a datagram: the header of application data in DTLS 1.2 (RFC 6347, 4.1), whose sequence number says
//! which datagram this is.

use crate::script::stream::APPLICATION_DATA;

/// Which datagram of a handshake this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The number of its flight.
    pub(super) flight: u8,
    /// Its place in the flight, from 0.
    pub(super) index: u8,
    /// How often the flight was sent before.
    pub(super) attempt: u32,
}

impl Header {
    /// Returns a datagram of `len` bytes with this header. The bytes after it are filler.
    pub(super) fn datagram(self, len: usize) -> Vec<u8> {
        let mut datagram = vec![self.flight; len];
        // A handshake has no datagram that is longer than this or shorter than its header (`Handshake::new`).
        let [high, low] = u16::try_from(len.saturating_sub(LEN)).unwrap_or(u16::MAX).to_be_bytes();
        let [a, b, c, d] = self.attempt.to_be_bytes();
        let header = [APPLICATION_DATA, 0xFE, 0xFD, 0, 0, self.flight, self.index, a, b, c, d, high, low];
        for (byte, of_header) in datagram.iter_mut().zip(header) {
            *byte = of_header;
        }
        datagram
    }

    /// Returns the header of a datagram, if it is one of a script and whole.
    pub(super) fn parse(datagram: &[u8]) -> Option<Self> {
        let [APPLICATION_DATA, 0xFE, 0xFD, 0, 0, flight, index, a, b, c, d, high, low] =
            *datagram.first_chunk::<LEN>()?
        else {
            return None;
        };
        let is_whole = datagram.len() - LEN == usize::from(u16::from_be_bytes([high, low]));
        is_whole.then_some(Self { flight, index, attempt: u32::from_be_bytes([a, b, c, d]) })
    }
}

/// The length of a record's header in DTLS 1.2.
const LEN: usize = 13;
