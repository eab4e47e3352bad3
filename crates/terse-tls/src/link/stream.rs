//! The link over a stream: joins records into handshake messages, and packs flights into as few records as possible
//! (RFC 9846, 5.1; RFC 5246, 6.2.1). ChangeCipherSpec is made and understood here, in both versions.
//!
//! What must always hold: no more is buffered than one record, one handshake message of the configured size, and what
//! waits to be sent; no handshake message crosses a change of keys; in TLS 1.2 a ChangeCipherSpec changes the keys
//! where the handshake says so, and comes nowhere else (CVE-2014-0224).

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub(crate) use receiver::{Received, Receiver};
pub(crate) use sender::Sender;

/// Length of a handshake message's header.
pub(crate) const MESSAGE_HEADER_LEN: usize = 4;

/// Buffers up to this size in bytes are kept for the next record: allocating costs a small record as much as half of its
/// decryption. Larger ones are given back at once, since the next record may be long in coming.
const KEPT_BUFFER: usize = 256;

/// Empties a buffer.
fn empty(buffer: &mut alloc::vec::Vec<u8>) {
    if buffer.capacity() > KEPT_BUFFER {
        *buffer = alloc::vec::Vec::new();
    } else {
        buffer.clear();
    }
}
