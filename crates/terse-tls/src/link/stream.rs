//! The link over a stream: joins records into handshake messages, and packs flights into as few records as possible
//! (RFC 9846, 5.1; RFC 5246, 6.2.1). ChangeCipherSpec is made and understood here, in both versions.
//!
//! What must always hold: no more is buffered than one record, one handshake message of the configured size, and the
//! records that wait to be sent; no handshake message spans a key change; in TLS 1.2 a ChangeCipherSpec is accepted
//! only where the handshake expects it (CVE-2014-0224).

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub(crate) use receiver::Receiver;
pub(crate) use sender::Sender;

/// The length of a handshake message's header.
pub(crate) const MESSAGE_HEADER_LEN: usize = 4;
