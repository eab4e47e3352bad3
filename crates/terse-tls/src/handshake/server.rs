//! A server before it has answered: the ClientHello decides the version (RFC 9846, 4.2).
//!
//! An endpoint judges a ClientHello before there is a connection. What it has read and chosen is handed on, so that the
//! handshake does neither again.

use alloc::sync::Arc;

use super::tls13::server::{Chosen, Retried};
use super::{Handshake, Message, Output, tls12, tls13};
use crate::config::{Common, ServerConfig};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::wire::{CipherSuite, ClientHello, ExtensionMessage, ProtocolVersion, SupportedVersions};

/// A ClientHello that was read.
pub(crate) struct ReceivedClientHello<'a> {
    pub(crate) message: Message<'a>,
    pub(crate) hello: ClientHello<'a>,
    /// The version that follows from it.
    pub(crate) version: Result<ProtocolVersion, Error>,
}

impl<'a> ReceivedClientHello<'a> {
    /// Reads the ClientHello that is due now.
    pub(crate) fn read(common: &Common, message: Message<'a>) -> Result<Self, Error> {
        let hello = message.client_hello()?;
        let version = select_version(common, &hello);
        Ok(Self { message, hello, version })
    }

    /// The version, if nothing is wrong with the extensions as such.
    pub(super) fn checked_version(&self) -> Result<ProtocolVersion, Error> {
        self.hello.extensions.check_request(ExtensionMessage::ClientHello)?;
        self.version.clone()
    }
}

/// What was chosen from a ClientHello before there was a connection.
pub(crate) enum Negotiation<'a> {
    /// Nothing but the version.
    Due,
    /// All that TLS 1.3 needs, or why nothing can be chosen.
    Done(Chosen<'a>),
    /// It answers a HelloRetryRequest with this cookie, after which nothing was kept.
    Retried(Retried, &'a [u8]),
}

/// No message has come.
pub(crate) struct ExpectClientHello {
    config: Arc<ServerConfig>,
}

impl ExpectClientHello {
    pub(crate) const fn new(config: Arc<ServerConfig>) -> Self {
        Self { config }
    }

    /// Handles the ClientHello, and continues with its version.
    #[inline(never)]
    pub(crate) fn handle(self, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let received = ReceivedClientHello::read(&self.config.common, message)?;
        self.client_hello(&received, None, output)
    }

    /// Goes on with a ClientHello, and in TLS 1.3 with what was chosen from it, if something was.
    pub(crate) fn client_hello<'a>(
        self,
        received: &'a ReceivedClientHello<'a>,
        chosen: Option<Chosen<'a>>,
        output: &mut Output<'_>,
    ) -> Result<Handshake, Error> {
        match received.checked_version()? {
            ProtocolVersion::TLS_1_3 => tls13::server::client_hello(self.config, received, chosen, output),
            _ => tls12::server::client_hello(self.config, received, output),
        }
    }
}

/// The newest version that both have (RFC 9846, 4.3.1): any other would look like a downgrade attack to the client
/// (4.2.3). Without the extension the client speaks TLS 1.2 at most; with it, legacy_version says nothing.
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
