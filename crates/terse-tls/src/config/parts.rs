//! The parts of the engine that a client is made of.

use core::fmt;

use super::ClientConfig;
use super::code::{self, ClientDatagrams, ClientStream, DatagramCode, Tls12Code, Tls13Code};
use crate::error::{ApiMisuse, Setting};
use crate::wire::ProtocolVersion;

/// The versions that a client can speak, and what can carry them. A firmware has the code of the parts that it names, and its
/// linker drops the others; what a part is configured to do is said to the builder as ever.
///
/// ```
/// use terse_tls::{ClientConfig, ClientParts, Datagrams};
///
/// const PARTS: ClientParts = ClientParts::NONE.tls13().datagrams(); // DTLS 1.3 alone
/// # let options = terse_pki::AuthorityOptions::new("p256x2".parse()?, terse_pki::Validity::days(0, 1));
/// # let trust = terse_tls::Trust::new(&[terse_pki::Authority::new(&options)?.root().clone()])?;
/// let mut config = ClientConfig::builder_of(&terse_rustcrypto::PROVIDER, PARTS);
/// let config = config.trust(trust).datagrams(Datagrams::constrained()).build()?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct ClientParts {
    pub(crate) tls12: Option<&'static Tls12Code>,
    pub(crate) tls13: Option<Tls13Code>,
    pub(crate) stream: Option<ClientStream>,
    pub(crate) datagrams: Option<(ClientDatagrams, &'static DatagramCode)>,
}

impl ClientParts {
    /// All parts.
    pub const ALL: Self = Self::NONE.tls12().tls13().streams().datagrams();

    /// No part, to which those are added that are wanted: at least one version, and streams or datagrams.
    pub const NONE: Self = Self { tls12: None, tls13: None, stream: None, datagrams: None };

    /// Adds TLS 1.2, over datagrams DTLS 1.2.
    #[must_use]
    pub const fn tls12(self) -> Self {
        Self { tls12: Some(Tls12Code::CODE), ..self }
    }

    /// Adds TLS 1.3, over datagrams DTLS 1.3.
    #[must_use]
    pub const fn tls13(self) -> Self {
        Self { tls13: Some(code::server_hello13), ..self }
    }

    /// Adds TLS over streams.
    #[must_use]
    pub const fn streams(self) -> Self {
        Self { stream: Some(code::client_stream), ..self }
    }

    /// Adds DTLS over datagrams.
    #[must_use]
    pub const fn datagrams(self) -> Self {
        Self { datagrams: Some((code::client_datagrams, DatagramCode::CODE)), ..self }
    }

    /// Returns the versions, newest first.
    pub(super) fn versions(&self) -> impl Iterator<Item = ProtocolVersion> {
        let tls13 = self.tls13.map(|_| ProtocolVersion::TLS_1_3);
        tls13.into_iter().chain(self.tls12.map(|_| ProtocolVersion::TLS_1_2))
    }

    /// Checks that what is configured is there.
    pub(super) fn check(&self, config: &ClientConfig) -> Result<(), ApiMisuse> {
        let common = config.common();
        for version in common.versions() {
            let (name, is_there) = match *version {
                ProtocolVersion::TLS_1_3 => (Setting::Tls13, self.tls13.is_some()),
                _ => (Setting::Tls12, self.tls12.is_some()),
            };
            if !is_there {
                return Err(ApiMisuse::MissingPart(name));
            }
        }
        match &common.datagrams {
            None if self.stream.is_none() => Err(ApiMisuse::MissingPart(Setting::Streams)),
            Some(_) if self.datagrams.is_none() => Err(ApiMisuse::MissingPart(Setting::Datagrams)),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for ClientParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientParts")
            .field("tls12", &self.tls12.is_some())
            .field("tls13", &self.tls13.is_some())
            .field("streams", &self.stream.is_some())
            .field("datagrams", &self.datagrams.is_some())
            .finish()
    }
}
