//! Configuration: what a client or server offers, trusts and is. Shared by many connections.
//!
//! Everything that can be found wrong without a peer is found by [`ClientConfig::check`] and [`ServerConfig::check`],
//! which a program calls at its start and every connection calls again.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::ServerName;

#[cfg(terse_testing)]
use crate::cache::CacheDefence;
use crate::cache::{ClientCache, CodePoints, Defences, Fingerprint, Scope, ServerCache};
use crate::cert::{Credential, Suited, Trust};
use crate::crypto::{CryptoProvider, Tls13Suite};
use crate::error::ApiMisuse;
use crate::resume::{ClientResumption, ExternalPsk, PskStore, ServerEarlyData, ServerResumption};
use crate::schedule::Transcript;
use crate::summary::{CachedObject, Transport};
use crate::wire::{
    AlertDescription, CipherSuite, ExtensionType, HandshakeType, MaxFragmentLength, NamedGroup, ProtocolVersion,
    SignatureScheme,
};

mod datagrams;
mod scope;

pub use datagrams::Datagrams;
#[cfg(terse_testing)]
pub use datagrams::Defence;
#[cfg(not(terse_testing))]
pub(crate) use datagrams::Defence;

/// What both sides configure alike.
#[derive(Clone, Debug)]
pub struct Common {
    /// Where the cryptography comes from.
    pub provider: CryptoProvider,
    /// Run over datagrams; `None`: over a stream.
    pub datagrams: Option<Datagrams>,
    /// Protocol versions: of TLS, or of DTLS. The newest one that both sides have is used, whatever the order.
    pub versions: Vec<ProtocolVersion>,
    /// In TLS 1.2, refuse peers without the extended master secret (RFC 7627). Without it a session can be spliced into
    /// another one; such handshakes are neither cached nor resumed.
    pub require_extended_master_secret: bool,
    /// Cipher suites of all versions, preferred first. A version without a suite is not used.
    pub suites: Vec<CipherSuite>,
    /// Groups, preferred first. A client sends a key share for the first one only.
    pub groups: Vec<NamedGroup>,
    /// Signature schemes that are accepted, in CertificateVerify and in chains, preferred first. An ECDSA scheme fixes
    /// the curve in CertificateVerify only.
    pub signature_schemes: Vec<SignatureScheme>,
    /// Signature schemes that are accepted in chains, where these are others than those of CertificateVerify
    /// (`signature_algorithms_cert`: RFC 9846, 4.3.3); `None`: they are the same. A server of TLS 1.2 has no way to tell
    /// its clients, and holds them to it all the same.
    pub signature_schemes_of_chains: Option<Vec<SignatureScheme>>,
    /// Application protocols (RFC 7301), preferred first.
    pub alpn_protocols: Vec<Vec<u8>>,
    /// The largest record that this side wants to receive, in bytes of plaintext with the content type (RFC 8449):
    /// 64 to 16,385. `None`: the extension is not sent by a client, and answered with the maximum by a server.
    pub record_size_limit: Option<u16>,
    /// The code point of `client_cached_info` (paper 000, IV-B), which is for private use: 0xff42 unless another
    /// meaning of that is in the way. Both sides must have the same.
    pub client_cached_info: ExtensionType,
    /// The code point of `compact_cache` (docs/caching.md), which is for private use as well: 0xff44.
    pub compact_cache: ExtensionType,
    /// The largest handshake message that is accepted, in bytes, at least 1. Nothing larger is ever buffered.
    pub max_handshake_message: usize,
    /// The largest record that is accepted, in bytes of content: at most 16,384. Peers must be told of a smaller one,
    /// by [`Self::record_size_limit`] or [`ClientConfig::max_fragment_length`]; those that cannot hold to it are
    /// refused, from the first record on, so that nothing larger is ever buffered.
    pub max_record: usize,
    /// How many bytes of records may wait to be sent before [`crate::Connection::send`] takes no more, at least 1.
    pub max_send_buffer: usize,
    /// Receives the secrets, for debugging (NSS key log format).
    pub key_log: Option<Arc<dyn KeyLog>>,
    /// Hears of every message, for people who want to watch.
    pub trace: Option<Arc<dyn Trace>>,
    /// Makes this side misbehave, for tests of the other one.
    #[cfg(terse_testing)]
    pub fault: Option<Arc<dyn Fault>>,
    /// Go without a defence of caching, for tests that show what it is for.
    #[cfg(terse_testing)]
    pub without: Option<CacheDefence>,
}

/// The versions that exist here.
const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];

/// Changes what this side sends, before it is hashed and encrypted: what a hostile peer could do.
#[cfg(terse_testing)]
pub trait Fault: Send + Sync {
    /// `message` has its header; whatever bytes it holds afterwards are sent.
    fn message(&self, kind: HandshakeType, message: &mut Vec<u8>);
}

#[cfg(terse_testing)]
impl fmt::Debug for dyn Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fault")
    }
}

/// A suite for datagrams takes so many forgeries at least: fewer are easily made to end a connection.
const LEAST_FORGERIES: u64 = 1 << 20;

impl Common {
    /// What this side's caching is defended by.
    pub(crate) const fn defences(&self) -> Defences {
        Defences {
            #[cfg(terse_testing)]
            without: self.without,
        }
    }
}

impl Common {
    /// Both versions, all suites and signature schemes of `provider`, and its groups but for the hybrid one, whose key
    /// share of 1,216 bytes is for those who ask for it.
    fn new(provider: &CryptoProvider) -> Self {
        Self {
            provider: *provider,
            datagrams: None,
            versions: Vec::from([ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2]),
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

    fn check(&self) -> Result<(), ApiMisuse> {
        if let Some(datagrams) = &self.datagrams {
            datagrams.check()?;
        }
        if self.suites.iter().any(|id| self.version_of(*id).is_none()) {
            return Err(ApiMisuse::Unsupported("cipher suite"));
        }
        if self.versions.iter().any(|version| !VERSIONS.contains(version)) {
            return Err(ApiMisuse::Unsupported("protocol version"));
        }
        if self.versions.is_empty() {
            return Err(ApiMisuse::EmptyConfiguration("protocol version"));
        }
        if self.groups.iter().any(|name| self.provider.group(*name).is_none()) {
            return Err(ApiMisuse::Unsupported("group"));
        }
        let of_chains = self.signature_schemes_of_chains.as_deref();
        let mut schemes = self.signature_schemes.iter().chain(of_chains.unwrap_or_default());
        if schemes.any(|scheme| !self.verifies(*scheme)) {
            return Err(ApiMisuse::Unsupported("signature scheme"));
        }
        if of_chains.is_some_and(<[_]>::is_empty) {
            return Err(ApiMisuse::EmptyConfiguration("signature scheme for chains"));
        }
        if self.enabled_suites().next().is_none() {
            return Err(ApiMisuse::EmptyConfiguration("cipher suite"));
        }
        let takes_all = self.enables(ProtocolVersion::TLS_1_3); // TLS 1.2 knows curves only
        if !self.groups.iter().any(|group| takes_all || group.is_elliptic_curve()) {
            return Err(ApiMisuse::EmptyConfiguration("group"));
        }
        if self.record_size_limit.is_some_and(|limit| !(64..=16385).contains(&limit)) {
            return Err(ApiMisuse::LimitOutOfRange);
        }
        ApiMisuse::check_limit("max_handshake_message", self.max_handshake_message)?;
        ApiMisuse::check_limit("max_send_buffer", self.max_send_buffer)?;
        if self.alpn_protocols.iter().any(|protocol| protocol.is_empty() || protocol.len() > 255) {
            return Err(ApiMisuse::NameTooLong);
        }
        Ok(())
    }

    /// Whether peers hear of `max_record`, by `record_size_limit` or a shorter `fragment`.
    fn check_max_record(&self, fragment: Option<MaxFragmentLength>) -> Result<(), ApiMisuse> {
        let by_limit = self.record_size_limit.is_some_and(|limit| usize::from(limit) <= self.max_record + 1);
        let by_fragment = fragment.is_some_and(|fragment| fragment.bytes() <= self.max_record);
        match self.max_record {
            0x4000 => Ok(()),
            64..0x4000 if by_limit || by_fragment => Ok(()),
            _ => Err(ApiMisuse::MaxRecordOutOfRange),
        }
    }

    /// What peers with certificates need.
    fn check_signature_schemes(&self) -> Result<(), ApiMisuse> {
        let signs = |version| self.signature_schemes.iter().any(|scheme| scheme.signs_handshakes_of(version));
        if !self.versions.iter().any(|version| self.enables(*version) && signs(*version)) {
            return Err(ApiMisuse::EmptyConfiguration("signature scheme for the versions that are enabled"));
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

/// A client's configuration.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// What both sides configure alike.
    pub common: Common,
    /// Which servers are believed.
    pub trust: Trust,
    /// What the client proves its own identity with, if a server asks; 16 at most, preferred first. Of those that the server
    /// takes, by type and signature scheme, one is shown whose issuer it names (`certificate_authorities`), if there is
    /// one; of these one whose chain has no signature that it does not take; and of these the first one. If it takes none,
    /// it gets an empty Certificate (RFC 9846, 4.5.1; RFC 5246, 7.4.6).
    pub credentials: Vec<Credential>,
    /// Whether the server's name is sent (SNI, RFC 6066, 3). It is checked in any case.
    pub send_server_name: bool,
    /// `max_fragment_length` (RFC 6066, 4), for servers that do not know `record_size_limit`.
    pub max_fragment_length: Option<MaxFragmentLength>,
    /// Look like TLS 1.2 to middleboxes (RFC 9846, E.4): 76 bytes more. Where TLS 1.2 is offered, also name the point
    /// format (RFC 8422, 5.1.2), which goes without saying, to servers that want it said: 6 bytes more.
    pub compatibility_mode: bool,
    /// Handshake caching; `None`: neither offered nor stored.
    pub cache: Option<ClientCache>,
    /// Resumption; `None`: neither offered nor stored.
    pub resumption: Option<ClientResumption>,
    /// Pre-shared keys from outside, preferred first. All are offered; a name or two are sent for each.
    pub psks: Vec<ExternalPsk>,
}

impl ClientConfig {
    /// A client that believes the servers that `trust` leads to.
    pub fn new(provider: &CryptoProvider, trust: Trust) -> Self {
        Self {
            common: Common::new(provider),
            trust,
            credentials: Vec::new(),
            send_server_name: true,
            max_fragment_length: None,
            compatibility_mode: false,
            cache: None,
            resumption: None,
            psks: Vec::new(),
        }
    }

    /// The key for TLS 1.2, which has room for one, and its name.
    pub(crate) fn tls12_psk(&self) -> Option<(&[u8], &[u8])> {
        self.psks.iter().find_map(|psk| Some((psk.identity(), psk.tls12_key()?)))
    }

    /// Whether this client knows servers by pre-shared keys, and by nothing else.
    pub(crate) fn has_psks_only(&self) -> bool {
        !self.psks.is_empty() && self.trust.certificate_types().is_empty()
    }

    /// The suites that this client can offer: in TLS 1.2 those for certificates only if it believes any, those for
    /// pre-shared keys only if it has one.
    pub(crate) fn offered_suites(&self) -> impl Iterator<Item = CipherSuite> {
        let (has_psk, has_trust) = (self.tls12_psk().is_some(), !self.trust.certificate_types().is_empty());
        let fits = move |id: &CipherSuite| match self.common.provider.tls12_suite(*id) {
            Some(suite) => {
                if suite.key_exchange.has_certificates() {
                    has_trust
                } else {
                    has_psk
                }
            }
            None => true,
        };
        self.common.enabled_suites().filter(fits)
    }

    /// What is cached and kept of `server`, for connections with this configuration, is kept under this.
    pub fn scope(&self, server: &ServerAddress) -> Scope {
        scope::of(self, server)
    }

    /// Finds what is wrong without a peer.
    pub fn check(&self) -> Result<(), ApiMisuse> {
        self.psks.iter().try_for_each(|psk| psk.check(&self.common.provider))?;
        self.common.check()?;
        self.common.check_max_record(self.max_fragment_length)?;
        check_credentials(&self.credentials)?;
        if self.has_psks_only() { Ok(()) } else { self.common.check_signature_schemes() }
    }
}

/// A server's configuration.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What both sides configure alike. The server's order of preference decides.
    pub common: Common,
    /// What the server proves its identity with; 16 at most, preferred first. Of those that the client takes, by type and
    /// signature scheme, and in TLS 1.2 by suite, one is shown whose issuer it names (`certificate_authorities`), if there
    /// is one; of these one whose chain has no signature that it does not take; and of these the first one.
    pub credentials: Vec<Credential>,
    /// Whether clients are asked for a certificate.
    pub client_authentication: ClientAuthentication,
    /// Name the accepted CAs in the CertificateRequest (RFC 9846, 4.3.4), for clients with several certificates.
    pub certificate_authorities: bool,
    /// Send a cookie in HelloRetryRequest (RFC 9846, 4.3.2). On a stream it proves nothing; some tests want it.
    pub hello_retry_cookie: bool,
    /// Handshake caching; `None`: neither answered nor stored.
    pub cache: Option<ServerCache>,
    /// Resumption; `None`: no tickets are issued, and none are taken.
    pub resumption: Option<ServerResumption>,
    /// Early data that is accepted in resumed sessions; `None`: none.
    pub early_data: Option<ServerEarlyData>,
    /// Pre-shared keys from outside. A client that has one is not asked for a certificate.
    pub psks: Option<Arc<dyn PskStore>>,
}

impl ServerConfig {
    /// A server with `credential` that asks clients for nothing.
    pub fn new(provider: &CryptoProvider, credential: Credential) -> Self {
        Self::with(provider, Vec::from([credential]), None)
    }

    /// A server without a certificate, whose clients have one of the keys in `psks`.
    pub fn with_psks(provider: &CryptoProvider, psks: Arc<dyn PskStore>) -> Self {
        Self::with(provider, Vec::new(), Some(psks))
    }

    fn with(provider: &CryptoProvider, credentials: Vec<Credential>, psks: Option<Arc<dyn PskStore>>) -> Self {
        Self {
            common: Common::new(provider),
            credentials,
            client_authentication: ClientAuthentication::None,
            certificate_authorities: false,
            hello_retry_cookie: false,
            cache: None,
            resumption: None,
            early_data: None,
            psks,
        }
    }

    /// Finds what is wrong without a peer.
    pub fn check(&self) -> Result<(), ApiMisuse> {
        self.resumption.as_ref().map_or(Ok(()), ServerResumption::check)?;
        if self.credentials.is_empty() && self.psks.is_none() {
            return Err(ApiMisuse::EmptyConfiguration("credential or pre-shared key"));
        }
        self.common.check()?;
        self.common.check_max_record(None)?;
        check_credentials(&self.credentials)?;
        if self.credentials.is_empty() { Ok(()) } else { self.common.check_signature_schemes() }
    }
}

fn check_credentials(credentials: &[Credential]) -> Result<(), ApiMisuse> {
    if credentials.len() > Suited::MAX { Err(ApiMisuse::TooManyCredentials) } else { Ok(()) }
}

/// Whether a server asks clients for a certificate.
#[derive(Clone, Debug)]
pub enum ClientAuthentication {
    /// It does not ask.
    None,
    /// It asks, and goes on without one; a certificate that is sent must be good.
    Optional(Trust),
    /// It asks, and refuses clients without one.
    Required(Trust),
}

impl ClientAuthentication {
    /// Which clients are believed, if any are asked.
    pub const fn trust(&self) -> Option<&Trust> {
        match self {
            Self::None => None,
            Self::Optional(trust) | Self::Required(trust) => Some(trust),
        }
    }
}

/// The server that a client connects to: its name or IP address, checked against its certificate, and its port, which
/// separates what is cached for two servers on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Name or IP address.
    pub name: ServerName<'static>,
    /// TCP or UDP port.
    pub port: u16,
}

/// Receives the secrets of connections, for debugging.
pub trait KeyLog: Send + Sync {
    /// One line of an NSS key log: `label client_random secret`, the last two in hexadecimal.
    fn log(&self, label: &'static str, client_random: &[u8; 32], secret: &[u8]);
}

impl fmt::Debug for dyn KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyLog")
    }
}

/// Hears of every message of a handshake.
pub trait Trace: Send + Sync {
    /// Something happened.
    fn event(&self, event: TraceEvent<'_>);
}

impl fmt::Debug for dyn Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

/// What a [`Trace`] hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceEvent<'a> {
    /// A message was sent; its length in bytes, header included.
    Sent(HandshakeType, usize),
    /// A message was received; its length in bytes, header included.
    Received(HandshakeType, usize),
    /// An object was cached, and so left out or reduced.
    LeftOut(CachedObject),
    /// Something that the messages alone do not show.
    Note(&'a str),
    /// Over datagrams: nothing came for so many milliseconds, and the flight is sent again.
    SentAgain {
        /// Since it was last sent.
        after: u64,
    },
    /// An alert was sent.
    AlertSent(AlertDescription),
    /// An alert was received.
    AlertReceived(AlertDescription),
}
