//! What both sides configure alike, and what of it can be found wrong without a peer.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Datagrams;
#[cfg(terse_testing)]
use super::watch::Fault;
use super::watch::{KeyLog, Trace};
#[cfg(terse_testing)]
use crate::cache::CacheDefence;
use crate::cache::{CodePoints, Defences, Fingerprint};
use crate::crypto::{CryptoProvider, Tls13Suite};
use crate::error::{ApiMisuse, Setting};
use crate::schedule::Transcript;
use crate::summary::Transport;
use crate::wire::{CipherSuite, ExtensionType, MaxFragmentLength, NamedGroup, ProtocolVersion, SignatureScheme};

/// What a client and a server configure alike: a part of [`ClientConfig`](crate::ClientConfig) and of
/// [`ServerConfig`](crate::ServerConfig). [`ConfigBuilder`](crate::ConfigBuilder) explains each setting, and its default.
#[derive(Clone, Debug)]
pub struct Common {
    pub(crate) provider: CryptoProvider,
    pub(crate) datagrams: Option<Datagrams>,
    pub(crate) versions: Vec<ProtocolVersion>,
    pub(crate) require_extended_master_secret: bool,
    pub(crate) suites: Vec<CipherSuite>,
    pub(crate) groups: Vec<NamedGroup>,
    pub(crate) signature_schemes: Vec<SignatureScheme>,
    pub(crate) signature_schemes_of_chains: Option<Vec<SignatureScheme>>,
    pub(crate) alpn_protocols: Vec<Vec<u8>>,
    pub(crate) record_size_limit: Option<u16>,
    pub(crate) client_cached_info: ExtensionType,
    pub(crate) compact_cache: ExtensionType,
    pub(crate) max_handshake_message: usize,
    pub(crate) max_record: usize,
    pub(crate) max_send_buffer: usize,
    pub(crate) key_log: Option<Arc<dyn KeyLog>>,
    pub(crate) trace: Option<Arc<dyn Trace>>,
    #[cfg(terse_testing)]
    pub(crate) fault: Option<Arc<dyn Fault>>,
    #[cfg(terse_testing)]
    pub(crate) without: Option<CacheDefence>,
}

/// The versions that exist here.
const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];

/// A suite for datagrams takes so many forgeries at least: fewer are easily made to end a connection.
const LEAST_FORGERIES: u64 = 1 << 20;

/// What is configured.
impl Common {
    /// Where the cryptography comes from.
    pub const fn provider(&self) -> &CryptoProvider {
        &self.provider
    }

    /// How a connection over datagrams behaves; `None`: it runs over a stream.
    pub const fn datagrams(&self) -> Option<Datagrams> {
        self.datagrams
    }

    /// The protocol versions.
    pub fn versions(&self) -> &[ProtocolVersion] {
        &self.versions
    }

    /// The cipher suites, preferred first.
    pub fn suites(&self) -> &[CipherSuite] {
        &self.suites
    }

    /// The groups, preferred first.
    pub fn groups(&self) -> &[NamedGroup] {
        &self.groups
    }

    /// The signature schemes, preferred first.
    pub fn signature_schemes(&self) -> &[SignatureScheme] {
        &self.signature_schemes
    }

    /// The application protocols, preferred first.
    pub fn alpn_protocols(&self) -> &[Vec<u8>] {
        &self.alpn_protocols
    }

    /// The code point of `compact_cache`.
    pub const fn compact_cache(&self) -> ExtensionType {
        self.compact_cache
    }

    /// The largest handshake message that is accepted, in bytes.
    pub const fn max_handshake_message(&self) -> usize {
        self.max_handshake_message
    }

    /// How many bytes of records may wait to be sent.
    pub const fn max_send_buffer(&self) -> usize {
        self.max_send_buffer
    }
}

impl Common {
    /// Returns whether a ClientHello offers this application protocol, or none at all if it is `None`.
    pub(crate) fn offers_application_protocol(&self, protocol: Option<&[u8]>) -> bool {
        protocol.is_none_or(|protocol| self.alpn_protocols.iter().any(|ours| ours == protocol))
    }

    /// What this side's caching is defended by.
    pub(crate) const fn defences(&self) -> Defences {
        Defences {
            #[cfg(terse_testing)]
            without: self.without,
        }
    }
}

impl Common {
    /// The defaults.
    pub(super) fn new(provider: &CryptoProvider, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        Self {
            provider: *provider,
            datagrams: None,
            versions: versions.into_iter().collect(),
            require_extended_master_secret: true,
            suites: (provider.tls13_suites.iter().map(|suite| suite.id))
                .chain(provider.tls12_suites.iter().map(|suite| suite.id))
                .collect(),
            groups: (provider.groups.iter().map(|group| group.name()))
                .filter(|name| *name != NamedGroup::X25519MLKEM768)
                .collect(),
            signature_schemes: provider.signatures.by_scheme.iter().map(|(scheme, _)| *scheme).collect(),
            signature_schemes_of_chains: None,
            alpn_protocols: Vec::new(),
            record_size_limit: None,
            client_cached_info: ExtensionType::CLIENT_CACHED_INFO,
            compact_cache: ExtensionType::COMPACT_CACHE,
            max_handshake_message: 0x1_0000,
            max_record: 0x4000,
            max_send_buffer: 0x1_0000,
            key_log: None,
            trace: None,
            #[cfg(terse_testing)]
            fault: None,
            #[cfg(terse_testing)]
            without: None,
        }
    }

    /// The kind of link.
    pub(crate) const fn transport(&self) -> Transport {
        match self.datagrams {
            None => Transport::Stream,
            Some(_) => Transport::Datagram,
        }
    }

    /// The code points of the caching extensions for private use.
    pub(crate) const fn caching_code_points(&self) -> CodePoints {
        CodePoints { client_cached_info: self.client_cached_info, compact_cache: self.compact_cache }
    }

    /// For the key log, if there is one.
    pub(crate) fn log_secret(&self, label: &'static str, client_random: &[u8; 32], secret: &[u8]) {
        if let Some(log) = &self.key_log {
            log.log(label, client_random, secret);
        }
    }

    /// docs/caching.md, 4.1: `transcript` takes the fingerprint of what is left out, or reduced to less.
    pub(crate) fn bind(&self, transcript: &mut Transcript, fingerprint: Fingerprint) {
        if self.defences().bind_transcript() {
            transcript.add_synthetic(fingerprint);
        }
    }

    pub(super) fn check(&self) -> Result<(), ApiMisuse> {
        if let Some(datagrams) = &self.datagrams {
            datagrams.check()?;
        }
        if self.suites.iter().any(|id| self.version_of(*id).is_none()) {
            return Err(ApiMisuse::Unsupported(Setting::CipherSuite));
        }
        if self.versions.iter().any(|version| !VERSIONS.contains(version)) {
            return Err(ApiMisuse::Unsupported(Setting::ProtocolVersion));
        }
        if self.versions.is_empty() {
            return Err(ApiMisuse::EmptyConfiguration(Setting::ProtocolVersion));
        }
        if self.groups.iter().any(|name| self.provider.group(*name).is_none()) {
            return Err(ApiMisuse::Unsupported(Setting::Group));
        }
        let of_chains = self.signature_schemes_of_chains.as_deref();
        let mut schemes = self.signature_schemes.iter().chain(of_chains.unwrap_or_default());
        if schemes.any(|scheme| !self.verifies(*scheme)) {
            return Err(ApiMisuse::Unsupported(Setting::SignatureScheme));
        }
        if of_chains.is_some_and(<[_]>::is_empty) {
            return Err(ApiMisuse::EmptyConfiguration(Setting::SignatureSchemeOfChains));
        }
        if self.enabled_suites().next().is_none() {
            return Err(ApiMisuse::EmptyConfiguration(Setting::CipherSuite));
        }
        if self.record_size_limit.is_some_and(|limit| !(64..=16385).contains(&limit)) {
            return Err(ApiMisuse::LimitOutOfRange);
        }
        ApiMisuse::check_limit(Setting::MaxHandshakeMessage, self.max_handshake_message)?;
        ApiMisuse::check_limit(Setting::MaxSendBuffer, self.max_send_buffer)?;
        if self.alpn_protocols.iter().any(|protocol| protocol.is_empty() || protocol.len() > 255) {
            return Err(ApiMisuse::NameTooLong);
        }
        Ok(())
    }

    /// What a key exchange needs.
    pub(super) fn check_groups(&self) -> Result<(), ApiMisuse> {
        let takes_all = self.enables(ProtocolVersion::TLS_1_3); // TLS 1.2 knows curves only
        match self.groups.iter().any(|group| takes_all || group.is_elliptic_curve()) {
            true => Ok(()),
            false => Err(ApiMisuse::EmptyConfiguration(Setting::Group)),
        }
    }

    /// Whether peers hear of `max_record`, by `record_size_limit` or a shorter `fragment`.
    pub(super) fn check_max_record(&self, fragment: Option<MaxFragmentLength>) -> Result<(), ApiMisuse> {
        let by_limit = self.record_size_limit.is_some_and(|limit| usize::from(limit) <= self.max_record + 1);
        let by_fragment = fragment.is_some_and(|fragment| fragment.bytes() <= self.max_record);
        match self.max_record {
            0x4000 => Ok(()),
            64..0x4000 if by_limit || by_fragment => Ok(()),
            _ => Err(ApiMisuse::MaxRecordOutOfRange),
        }
    }

    /// What peers with certificates need.
    pub(super) fn check_signature_schemes(&self) -> Result<(), ApiMisuse> {
        let signs = |version| self.signature_schemes.iter().any(|scheme| scheme.signs_handshakes_of(version));
        if !self.versions.iter().any(|version| self.enables(*version) && signs(*version)) {
            return Err(ApiMisuse::EmptyConfiguration(Setting::SignatureSchemeOfVersions));
        }
        Ok(())
    }

    /// Those that are accepted in chains.
    pub(crate) fn chain_signature_schemes(&self) -> &[SignatureScheme] {
        self.signature_schemes_of_chains.as_deref().unwrap_or(&self.signature_schemes)
    }

    /// Whether `version` can be negotiated.
    pub(crate) fn enables(&self, version: ProtocolVersion) -> bool {
        self.versions.contains(&version) && self.usable_suites().any(|id| self.version_of(id) == Some(version))
    }

    /// The suites of the versions that are enabled.
    pub(crate) fn enabled_suites(&self) -> impl Iterator<Item = CipherSuite> {
        self.usable_suites().filter(|id| self.version_of(*id).is_some_and(|of| self.enables(of)))
    }

    /// The suites that the link may use: those of TLS 1.3 whose tags can be guessed are not for datagrams, where a
    /// forgery costs its maker nothing (RFC 9147, 4.5.3).
    fn usable_suites(&self) -> impl Iterator<Item = CipherSuite> {
        let takes_all = self.datagrams.is_none_or(|datagrams| datagrams.short_tags);
        let is_long = |id| self.provider.tls13_suite(id).is_none_or(|suite| suite.integrity_limit >= LEAST_FORGERIES);
        self.suites.iter().copied().filter(move |id| takes_all || is_long(*id))
    }

    /// Those of TLS 1.3, if it is enabled.
    pub(crate) fn enabled_tls13_suites(&self) -> impl Iterator<Item = &'static Tls13Suite> {
        self.enabled_suites().filter_map(|id| self.provider.tls13_suite(id))
    }

    /// The version that a suite of the provider belongs to.
    fn version_of(&self, id: CipherSuite) -> Option<ProtocolVersion> {
        match (self.provider.tls13_suite(id), self.provider.tls12_suite(id)) {
            (Some(_), _) => Some(ProtocolVersion::TLS_1_3),
            (None, Some(_)) => Some(ProtocolVersion::TLS_1_2),
            (None, None) => None,
        }
    }

    fn verifies(&self, scheme: SignatureScheme) -> bool {
        self.provider.signatures.by_scheme.iter().any(|(known, _)| *known == scheme)
    }
}
