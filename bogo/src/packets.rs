//! Datagrams and commands share the runner's socket (`ssl/test/runner/packet_adapter.go`).
//!
//! What must always hold: a packet is read whole, or not at all.

use std::io::{Error, ErrorKind, Read, Result};

/// A packet of the runner.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    Datagram(Vec<u8>),
    /// Time passes, in nanoseconds; [`TIMEOUT_ACK`] answers first.
    Timeout(u64),
    /// The connection's next timeout is in this many nanoseconds; with `None` there is none.
    ExpectNextTimeout(Option<u64>),
    /// The size of datagrams changes.
    Mtu,
    /// The first timeout of a flight changes.
    UpdateTimeout,
}

/// The answer to the runner before time passes: all earlier output was sent before.
pub(crate) const TIMEOUT_ACK: u8 = b't';

/// Reads the next packet, or returns `None` at the end.
pub(crate) fn read(socket: &mut impl Read) -> Result<Option<Packet>> {
    let mut opcode = [0];
    if socket.read(&mut opcode)? == 0 {
        return Ok(None);
    }
    let packet = match opcode[0] {
        b'P' => {
            let mut datagram = vec![0; u32::from_be_bytes(array(socket)?) as usize];
            socket.read_exact(&mut datagram)?;
            Packet::Datagram(datagram)
        }
        b'T' => Packet::Timeout(u64::from_be_bytes(array(socket)?)),
        b'E' => match u64::from_be_bytes(array(socket)?) {
            u64::MAX => Packet::ExpectNextTimeout(None),
            nanoseconds => Packet::ExpectNextTimeout(Some(nanoseconds)),
        },
        b'M' => array::<4>(socket).map(|_| Packet::Mtu)?,
        b'U' => array::<4>(socket).map(|_| Packet::UpdateTimeout)?,
        _ => return Err(Error::new(ErrorKind::InvalidData, "an opcode that does not exist")),
    };
    Ok(Some(packet))
}

fn array<const LEN: usize>(socket: &mut impl Read) -> Result<[u8; LEN]> {
    let mut bytes = [0; LEN];
    socket.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns the packet that carries a datagram to the runner.
pub(crate) fn datagram(datagram: &[u8]) -> Vec<u8> {
    [b"P", &(datagram.len() as u32).to_be_bytes()[..], datagram].concat()
}
