//! The state after the handshake: it refuses renegotiation (RFC 5246, 7.2.2; RFC 5746, 4.5), and exports keys (RFC
//! 5705).

use alloc::boxed::Box;

use crate::error::{ApiMisuse, Error, PeerMisbehaved};
use crate::handshake::{Handshake, Message, Output, Sending, StateMachine, TrafficState};
use crate::schedule::tls12::{MasterSecret, Randoms};
use crate::wire::{Alert, AlertDescription, HandshakeType, HelloRequest};

/// How many attempts at renegotiation are refused before the connection is closed.
const MAX_RENEGOTIATIONS: u8 = 4;

/// The state after the handshake.
pub(crate) struct Traffic {
    is_client: bool,
    master_secret: MasterSecret,
    randoms: Randoms,
    extended_master_secret: bool,
    renegotiations: u8,
}

impl Traffic {
    pub(super) const fn new(
        is_client: bool,
        master_secret: MasterSecret,
        randoms: Randoms,
        extended_master_secret: bool,
    ) -> Self {
        Self { is_client, master_secret, randoms, extended_master_secret, renegotiations: 0 }
    }
}

impl StateMachine for Traffic {
    /// Refuses a request for renegotiation with a warning.
    #[inline(never)]
    fn handle(mut self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        match message.kind {
            HandshakeType::HELLO_REQUEST if self.is_client => {
                let HelloRequest = message.expect(HandshakeType::HELLO_REQUEST)?;
            }
            HandshakeType::CLIENT_HELLO if !self.is_client => {
                message.client_hello()?;
            }
            _ => return Err(message.unexpected()),
        }
        self.renegotiations += 1;
        if self.renegotiations > MAX_RENEGOTIATIONS {
            return Err(PeerMisbehaved::TooManyRenegotiations.into());
        }
        output.note("the peer asks for a renegotiation: refused");
        output.link.alert(Alert { level: Alert::WARNING, description: AlertDescription::NO_RENEGOTIATION })?;
        Ok(self)
    }

    fn traffic(&self) -> Option<&dyn TrafficState> {
        Some(self)
    }

    fn traffic_mut(&mut self) -> Option<&mut dyn TrafficState> {
        Some(self)
    }
}

impl TrafficState for Traffic {
    /// Exports keying material (RFC 5705, 4), unless another connection may have the same master secret (RFC 7627,
    /// 5.4).
    fn export(&self, label: &[u8], context: Option<&[u8]>, out: &mut [u8]) -> Result<(), Error> {
        if !self.extended_master_secret {
            return Err(ApiMisuse::NoExporter.into());
        }
        self.master_secret.export(&self.randoms, label, context, out)
    }

    fn can_update_keys(&self) -> bool {
        false
    }

    fn owes_update(&self) -> bool {
        false
    }

    fn update_keys(&mut self, _: bool, _: Sending<'_>) -> Result<(), Error> {
        Err(ApiMisuse::NoKeyUpdate.into())
    }

    fn received_data(&mut self) {}
}
