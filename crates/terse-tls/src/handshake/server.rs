//! A server that waits for the ClientHello, which determines the version (RFC 9846, 4.2).
//!
//! An endpoint parses a ClientHello, and may choose from it, before there is a connection. It passes the results on, so
//! that the handshake does not repeat this work.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::tls13::server::{Chosen, Retried};
use super::{Handshake, Message, Output, StateMachine, tls12, tls13};
use crate::config::{Common, ServerConfig};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::wire::{CipherSuite, ClientHello, ExtensionMessage, ProtocolVersion, SupportedVersions};

/// A ClientHello that was parsed.
pub(crate) struct ReceivedClientHello<'a> {
    pub(crate) message: Message<'a>,
    pub(crate) hello: ClientHello<'a>,
    /// The version that it selects.
    pub(crate) version: Result<ProtocolVersion, Error>,
}

impl<'a> ReceivedClientHello<'a> {
    /// Parses the ClientHello that is expected now.
    pub(crate) fn read(common: &Common, message: Message<'a>) -> Result<Self, Error> {
        let hello = message.client_hello()?;
        let version = select_version(common, &hello);
        Ok(Self { message, hello, version })
    }

    /// Checks the extensions of the ClientHello, and returns the version.
    pub(super) fn checked_version(&self) -> Result<ProtocolVersion, Error> {
        self.hello.extensions.check_request(ExtensionMessage::ClientHello)?;
        self.version
    }
}

/// The parameters that were chosen from a ClientHello before there was a connection.
pub(crate) enum Negotiation<'a> {
    /// Only the version was chosen.
    Due,
    /// All parameters of TLS 1.3 were chosen, or the choice has failed.
    Done(Chosen<'a>),
    /// The ClientHello answers a HelloRetryRequest with this cookie, and the server kept no state in between.
    Retried(Retried, &'a [u8]),
}

/// The state of a server that has not received a message.
pub(crate) struct ExpectClientHello {
    config: Arc<ServerConfig>,
}

impl ExpectClientHello {
    pub(crate) const fn new(config: Arc<ServerConfig>) -> Self {
        Self { config }
    }
}

impl StateMachine for ExpectClientHello {
    /// Handles the ClientHello, and continues with its version.
    #[inline(never)]
    fn handle(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let received = ReceivedClientHello::read(&self.config.common, message)?;
        self.handle_client_hello(&received, &mut None, output)
    }

    fn handle_client_hello<'a>(
        self: Box<Self>,
        received: &'a ReceivedClientHello<'a>,
        chosen: &mut Option<Chosen<'a>>,
        output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        match received.checked_version()? {
            ProtocolVersion::TLS_1_3 => tls13::server::client_hello(self.config, received, chosen.take(), output),
            _ => tls12::server::client_hello(self.config, received, output),
        }
    }
}

/// Returns the newest version that both sides support (RFC 9846, 4.3.1): the client would take any other for a
/// downgrade attack (4.2.3). A client without `supported_versions` has TLS 1.2 at most; with it, legacy_version is
/// ignored.
fn select_version(common: &Common, hello: &ClientHello<'_>) -> Result<ProtocolVersion, Error> {
    let transport = common.transport();
    let offered = hello.extensions.get::<SupportedVersions<'_>>()?;
    let offers = |version| match &offered {
        Some(SupportedVersions(list)) => list.iter().any(|offered| transport.version(offered) == version),
        None => version == ProtocolVersion::TLS_1_2 && hello.legacy_version >= version,
    };
    let common_versions = common.versions.iter().copied().filter(|version| common.enables(*version));
    let selected = common_versions.filter(|version| offers(*version)).max().ok_or(PeerIncompatible::NoCommonVersion)?;
    if hello.legacy_version == ProtocolVersion::SSL_3_0 {
        return Err(PeerIncompatible::NoCommonVersion.into()); // RFC 9846, E.5
    }
    let fell_back = hello.cipher_suites.0.iter().any(|suite| suite == CipherSuite::TLS_FALLBACK_SCSV);
    if fell_back && common.versions.iter().any(|version| *version > selected && common.enables(*version)) {
        return Err(PeerMisbehaved::InappropriateFallback.into()); // RFC 7507, 3
    }
    Ok(selected)
}
