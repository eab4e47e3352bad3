//! The keys of a connection after its handshake: they are changed, and others are exported from them.

use super::Connection;
use crate::error::{ApiMisuse, Error};
use crate::handshake::{Handshake, Sending};

impl Connection {
    /// Changes the key that this side sends with, and asks the peer to do the same (RFC 9846, 4.7.3).
    pub fn update_keys(&mut self, request_peer: bool) -> Result<(), Error> {
        let traffic = match &mut self.handshake {
            Some(Handshake::Tls13Traffic(traffic)) => traffic,
            Some(Handshake::Tls12Traffic(_)) => return Err(ApiMisuse::NoKeyUpdate.into()),
            _ => return Err(ApiMisuse::HandshakeNotFinished.into()),
        };
        if self.closed {
            return Err(ApiMisuse::Closed.into());
        }
        if !self.link.sender().can_update_keys() {
            return Err(ApiMisuse::KeyUpdateUnderWay.into());
        }
        let before = self.link.sender().produced();
        let sending = Sending {
            link: self.link.sender_mut(),
            summary: &mut self.summary,
            trace: self.config.common().trace.as_deref(),
        };
        traffic.update_keys(request_peer, sending)?;
        self.summary.sent.post_handshake_bytes += self.link.sender().produced() - before;
        Ok(())
    }

    /// Fills `out` with a secret that both sides share, for `label` and `context` (RFC 9846, 7.5; RFC 5705, 4, in which
    /// no context differs from an empty one).
    pub fn export_keying_material(&self, label: &[u8], context: Option<&[u8]>, out: &mut [u8]) -> Result<(), Error> {
        match &self.handshake {
            Some(Handshake::Tls12Traffic(traffic)) => traffic.export(label, context, out),
            Some(Handshake::Tls13Traffic(traffic)) => {
                Ok(traffic.exporter().export(label, context.unwrap_or_default(), out)?)
            }
            _ => Err(ApiMisuse::HandshakeNotFinished.into()),
        }
    }

    pub(super) fn can_update_keys(&self) -> bool {
        matches!(&self.handshake, Some(Handshake::Tls13Traffic(_)))
    }

    pub(super) fn owes_key_update(&self) -> bool {
        matches!(&self.handshake, Some(Handshake::Tls13Traffic(traffic)) if traffic.owes_update())
    }
}
