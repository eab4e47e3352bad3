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

use crate::config::Common;
use crate::link::{Halves, Incoming, Outgoing};
pub(crate) use receiver::Receiver;
pub(crate) use sender::Sender;

/// The length of a handshake message's header.
pub(crate) const MESSAGE_HEADER_LEN: usize = 4;

/// Both halves of a link over a stream.
pub(crate) struct Stream {
    receiver: Receiver,
    sender: Sender,
}

impl Stream {
    /// Creates both halves.
    pub(crate) fn new(common: &Common, compatibility_mode: bool) -> Self {
        let receiver = Receiver::new(common.max_handshake_message, common.max_record);
        let sender = Sender::new(compatibility_mode);
        #[cfg(terse_testing)]
        let sender = sender.with_fault(common.fault.clone());
        Self { receiver, sender }
    }
}

impl Halves for Stream {
    fn receiver(&self) -> &dyn Incoming {
        &self.receiver
    }

    fn sender(&self) -> &dyn Outgoing {
        &self.sender
    }

    fn both_mut(&mut self) -> (&mut dyn Incoming, &mut dyn Outgoing) {
        (&mut self.receiver, &mut self.sender)
    }
}
