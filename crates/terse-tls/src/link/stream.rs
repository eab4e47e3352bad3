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

pub(crate) use receiver::Receiver;
pub(crate) use sender::Sender;

/// Length of a handshake message's header.
pub(crate) const MESSAGE_HEADER_LEN: usize = 4;
