//! A server that waits for the ClientHello, which determines the version (RFC 9846, 4.2).

use alloc::sync::Arc;

use super::{Handshake, Message, Output, tls12, tls13};
use crate::config::{Common, ServerConfig};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::wire::{CipherSuite, ClientHello, ExtensionMessage, ProtocolVersion, SupportedVersions};

/// The state of a server before the ClientHello.
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
        let hello = message.client_hello()?;
        hello.extensions.check_request(ExtensionMessage::ClientHello)?;
        match select_version(&self.config.common, &hello)? {
            ProtocolVersion::TLS_1_3 => tls13::server::client_hello(self.config, &hello, message, output),
            _ => tls12::server::client_hello(self.config, &hello, message, output),
        }
    }
}

/// Selects the newest common version (RFC 9846, 4.3.1): any other would look like a downgrade attack to the client
/// (4.2.3). Without the extension `supported_versions` the client supports at most TLS 1.2; with it, legacy_version is
/// ignored.
pub(crate) fn select_version(common: &Common, hello: &ClientHello<'_>) -> Result<ProtocolVersion, Error> {
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
