//! The keys of a connection after its handshake: they are changed, and others are exported from them.

use super::Connection;
use crate::error::{ApiMisuse, Error};
use crate::handshake::{Sending, TrafficState};

impl Connection {
    /// Changes the key that this side sends with, and asks the peer to do the same (RFC 9846, 4.7.3).
    pub fn update_keys(&mut self, request_peer: bool) -> Result<(), Error> {
        let traffic = self.handshake.as_mut().and_then(|state| state.traffic_mut());
        let traffic = traffic.ok_or(ApiMisuse::HandshakeNotFinished)?;
        if !traffic.can_update_keys() {
            return Err(ApiMisuse::NoKeyUpdate.into());
        }
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
        self.traffic().ok_or(ApiMisuse::HandshakeNotFinished)?.export(label, context, out)
    }

    /// Returns the state of a handshake that is complete.
    fn traffic(&self) -> Option<&dyn TrafficState> {
        self.handshake.as_ref().and_then(|state| state.traffic())
    }

    pub(super) fn can_update_keys(&self) -> bool {
        self.traffic().is_some_and(TrafficState::can_update_keys)
    }

    pub(super) fn owes_key_update(&self) -> bool {
        self.traffic().is_some_and(TrafficState::owes_update)
    }
}
