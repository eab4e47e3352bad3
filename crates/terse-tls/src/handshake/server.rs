//! A server before it has answered: the ClientHello decides the version (RFC 9846, 4.2).

use alloc::sync::Arc;

use super::{Handshake, Message, Output, tls13};
use crate::config::ServerConfig;
use crate::error::{Error, PeerIncompatible};
use crate::wire::{ClientHello, HandshakeType, Place, ProtocolVersion, SupportedVersions};

/// No message has come.
pub(crate) struct ExpectClientHello {
    config: Arc<ServerConfig>,
}

impl ExpectClientHello {
    pub(crate) const fn new(config: Arc<ServerConfig>) -> Self {
        Self { config }
    }

    /// Expects a ClientHello, and goes on with its version.
    pub(crate) fn handle(self, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let hello: ClientHello<'_> = message.expect(HandshakeType::CLIENT_HELLO)?;
        hello.extensions.check_request(Place::ClientHello)?;
        match select_version(&hello)? {
            ProtocolVersion::TLS_1_3 => tls13::server::client_hello(self.config, &hello, message, output),
            _ => Err(PeerIncompatible::NoCommonVersion.into()),
        }
    }
}

/// RFC 9846, 4.3.1: without the extension the client speaks TLS 1.2 at most.
pub(super) fn select_version(hello: &ClientHello<'_>) -> Result<ProtocolVersion, Error> {
    let offered = hello.extensions.get::<SupportedVersions<'_>>()?;
    let offers = |version| offered.as_ref().is_some_and(|SupportedVersions(list)| list.iter().any(|v| v == version));
    if offers(ProtocolVersion::TLS_1_3) && hello.legacy_version == ProtocolVersion::TLS_1_2 {
        return Ok(ProtocolVersion::TLS_1_3);
    }
    Err(PeerIncompatible::NoCommonVersion.into())
}
