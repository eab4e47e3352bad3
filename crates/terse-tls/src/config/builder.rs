//! The builders of configurations.

use alloc::sync::Arc;
use alloc::vec::Vec;

#[cfg(terse_testing)]
use super::Fault;
use super::code::{CachedCode, CertificateCode, begin_kept, offer_psks, offer_session, session_tickets};
use super::{
    ClientAuthentication, ClientConfig, ClientIdentity, Common, Datagrams, KeyLog, ServerConfig, ServerIdentity, Trace,
};
use crate::behind::Behind;
#[cfg(terse_testing)]
use crate::cache::CacheDefence;
use crate::cache::{ClientCache, ServerCache};
use crate::cert::{Credential, KeyPurposeId, Trust};
#[cfg(terse_testing)]
use crate::crypto::CryptoProvider;
use crate::error::ApiMisuse;
use crate::resume::{ClientResumption, ExternalPsk, PskStore, ServerEarlyData, ServerResumption};
use crate::wire::{CipherSuite, ExtensionType, MaxFragmentLength, NamedGroup, ProtocolVersion, SignatureScheme};

/// Makes a [`ClientConfig`] or a [`ServerConfig`]: begun by their `builder`, with the crypto provider, or by their
/// `to_builder`.
///
/// ```
/// use std::sync::Arc;
/// use terse_tls::cache::{ClientCache, MemoryClientStore, Schemes};
/// use terse_tls::{ClientConfig, ProtocolVersion, Trust};
///
/// # let options = terse_pki::AuthorityOptions::new("p256x2".parse()?, terse_pki::Validity::days(0, 1));
/// # let anchors = [terse_pki::Authority::new(&options)?.root().clone()];
/// let config = ClientConfig::builder(&terse_rustcrypto::PROVIDER)
///     .trust(Trust::new(&anchors)?)
///     .versions([ProtocolVersion::TLS_1_3])
///     .cache(ClientCache::new(Arc::new(MemoryClientStore::new(8)), Schemes::COMPACT))
///     .build()?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// # Defaults
///
/// Both versions of TLS are enabled (in a client of [`ClientParts`](crate::ClientParts): those that it names), with everything that the provider has except the hybrid group. No certificate is shown
/// or requested, and nothing is kept from one connection to the next. [`Self::build`] refuses a client that trusts nobody
/// and has neither a pre-shared key nor an identity key, and a server without a credential, pre-shared keys and identity
/// keys. The documentation of each setting has its default.
#[derive(Clone, Debug)]
pub struct ConfigBuilder<C> {
    config: C,
}

/// A configuration that [`ConfigBuilder`] can make.
pub trait Configuration: Clone {
    #[doc(hidden)]
    fn common_mut(&mut self) -> &mut Common;
    #[doc(hidden)]
    fn check(&self) -> Result<(), ApiMisuse>;
}

impl<C: Configuration> ConfigBuilder<C> {
    pub(super) const fn new(config: C) -> Self {
        Self { config }
    }

    /// Returns the configuration so far, which is not checked yet.
    pub const fn config(&self) -> &C {
        &self.config
    }

    /// Returns the settings that both sides have, for functions that configure either side.
    pub fn common_mut(&mut self) -> &mut Common {
        self.config.common_mut()
    }

    /// Returns the configuration, if everything in it fits together. Every mistake that can be found without a peer is found
    /// here.
    pub fn build(&self) -> Result<C, ApiMisuse> {
        self.config.check()?;
        Ok(self.config.clone())
    }

    /// Returns the same as [`Self::build`], and ends the builder: nothing is copied, which saves a firmware 1 kB of code.
    pub fn into_config(self) -> Result<C, ApiMisuse> {
        self.config.check()?;
        Ok(self.config)
    }
}

/// The settings that both sides have, on [`Common`] and on the builders.
macro_rules! common_settings {
    ($($(#[$attribute:meta])* $name:ident, $set:ident($value:ident: $type:ty) => $new:expr;)*) => {
        /// The settings of both sides. [`ConfigBuilder`] has the same ones.
        impl Common {
            $($(#[$attribute])*
            pub fn $set(&mut self, $value: $type) -> &mut Self {
                self.$name = $new;
                self
            })*
        }

        /// The settings that clients and servers have in common.
        impl<C: Configuration> ConfigBuilder<C> {
            $($(#[$attribute])*
            pub fn $name(&mut self, $value: $type) -> &mut Self {
                self.common_mut().$set($value);
                self
            })*
        }
    };
}

common_settings! {
    /// Sets the parameters of DTLS over datagrams; `None` selects TLS over a stream.
    ///
    /// Default: `None`.
    datagrams, set_datagrams(value: impl Into<Option<Datagrams>>) => value.into();

    /// Sets the versions of TLS, or of DTLS. The newest version that both sides support is used, whatever the order.
    ///
    /// Default: TLS 1.3 and TLS 1.2, as far as a client has both in its [`ClientParts`](crate::ClientParts).
    versions, set_versions(value: impl Into<Vec<ProtocolVersion>>) => value.into();

    /// Sets whether peers of TLS 1.2 without the extended master secret (RFC 7627) are refused. Without it a session can be
    /// spliced into another one, and such handshakes are neither cached nor resumed.
    ///
    /// Default: `true`.
    require_extended_master_secret, set_require_extended_master_secret(value: bool) => value;

    /// Sets the cipher suites of all versions, preferred first. A version without a suite is not used.
    ///
    /// Default: all of the provider's, in its order.
    suites, set_suites(value: impl Into<Vec<CipherSuite>>) => value.into();

    /// Sets the groups, preferred first. A client sends a key share for the first one only.
    ///
    /// Default: all of the provider's except X25519MLKEM768, because of its key share of 1,216 bytes.
    groups, set_groups(value: impl Into<Vec<NamedGroup>>) => value.into();

    /// Sets the signature schemes that are accepted in CertificateVerify and in chains, preferred first. An ECDSA scheme
    /// determines the curve in CertificateVerify only.
    ///
    /// Default: all of the provider's.
    signature_schemes, set_signature_schemes(value: impl Into<Vec<SignatureScheme>>) => value.into();

    /// Sets the signature schemes that are accepted in chains (`signature_algorithms_cert`: RFC 9846, 4.3.3). With `None`
    /// they are those of CertificateVerify. A server of TLS 1.2 cannot tell its clients, but checks their chains all the
    /// same.
    ///
    /// Default: `None`.
    signature_schemes_of_chains, set_signature_schemes_of_chains(value: impl Into<Option<Vec<SignatureScheme>>>) => value.into();

    /// Sets the application protocols (RFC 7301), preferred first.
    ///
    /// Default: none.
    alpn_protocols, set_alpn_protocols(value: impl IntoIterator<Item = impl Into<Vec<u8>>>) => value.into_iter().map(Into::into).collect();

    /// Sets the largest record that this side wants to receive (RFC 8449), in bytes of plaintext with the content type: 64 to
    /// 16,385. With `None` a client does not send the extension, and a server answers it with the maximum.
    ///
    /// Default: `None`.
    record_size_limit, set_record_size_limit(value: impl Into<Option<u16>>) => value.into();

    /// Sets the code point of `client_cached_info` (BiTHaC, IV-B), which is for private use. Both sides must have the same
    /// one.
    ///
    /// Default: 0xff42.
    client_cached_info, set_client_cached_info(value: ExtensionType) => value;

    /// Sets the code point of `compact_cache` (`docs/caching.md`), which is for private use. Both sides must have the same
    /// one.
    ///
    /// Default: 0xff44.
    compact_cache, set_compact_cache(value: ExtensionType) => value;

    /// Sets the largest handshake message that is accepted, in bytes, at least 1. Nothing larger is ever buffered.
    ///
    /// Default: 65,536.
    max_handshake_message, set_max_handshake_message(value: usize) => value;

    /// Sets the largest record that is accepted, in bytes of content, at most 16,384. Peers must be told of a smaller limit by
    /// [`ConfigBuilder::record_size_limit`] or [`ConfigBuilder::max_fragment_length`]. A peer that sends a larger record is
    /// refused, also before it was told, so that nothing larger is ever buffered.
    ///
    /// Default: 16,384.
    max_record, set_max_record(value: usize) => value;

    /// Sets how many bytes of records may wait to be sent before [`crate::Connection::send`] takes no more, at least 1.
    ///
    /// Default: 65,536.
    max_send_buffer, set_max_send_buffer(value: usize) => value;

    /// Sets the receiver of the secrets, for debugging (NSS key log format).
    ///
    /// Default: none.
    key_log, set_key_log(value: Arc<dyn KeyLog>) => Some(value);

    /// Sets the receiver of trace events, one for each message.
    ///
    /// Default: none.
    trace, set_trace(value: Arc<dyn Trace>) => Some(value);

    /// Makes this side misbehave, for tests of the other side.
    #[cfg(terse_testing)]
    fault, set_fault(value: Option<Arc<dyn Fault>>) => value;

    /// Switches a defence of caching off, for tests that show which attack it stops.
    #[cfg(terse_testing)]
    without, set_without(value: impl Into<Option<CacheDefence>>) => value.into();
}

/// The settings of a client.
impl ConfigBuilder<ClientConfig> {
    /// Sets the policy by which servers are authenticated.
    ///
    /// Default: no server is accepted.
    pub fn trust(&mut self, value: Trust) -> &mut Self {
        self.config.trust = value;
        self.config.certificates = Some(CertificateCode::CODE);
        self
    }

    /// Sets an extended key usage that the certificate of a server must have, instead of the name or address that the
    /// client connects to, which is then not checked. It is for servers whose name a device cannot know, such as the EST
    /// server of the network that it was enrolled in ([`KeyPurposeId::CMC_RA`]: RFC 7030, 3.6.1): whoever of the trust
    /// anchors' subjects has this usage is accepted. What is cached under this setting is not used without it, or the
    /// reverse. It does not apply to raw public keys.
    ///
    /// Default: `None`.
    pub fn server_usage(&mut self, value: impl Into<Option<KeyPurposeId>>) -> &mut Self {
        self.config.server_usage = value.into();
        self
    }

    /// Sets the credentials by which the client proves its identity if a server requests a certificate: at most 16, preferred
    /// first. The server's certificate types and signature schemes select among them, then the issuers that it names
    /// (`certificate_authorities`), then the signature schemes that it accepts in chains; of those that are left, the first
    /// one is used. If none is left after the first step, the client sends an empty Certificate (RFC 9846, 4.5.1; RFC 5246,
    /// 7.4.6).
    ///
    /// Default: none.
    pub fn credentials(&mut self, value: impl Into<Vec<Credential>>) -> &mut Self {
        self.config.credentials = value.into();
        self
    }

    /// Adds a credential, which is preferred less than those before it.
    pub fn credential(&mut self, credential: Credential) -> &mut Self {
        self.config.credentials.push(credential);
        self
    }

    /// Sets whether the server's name is sent (SNI, RFC 6066, 3). The name is checked in any case.
    ///
    /// Default: `true`.
    pub fn send_server_name(&mut self, value: bool) -> &mut Self {
        self.config.send_server_name = value;
        self
    }

    /// Sets the extension `max_fragment_length` (RFC 6066, 4), for servers that do not support `record_size_limit`.
    ///
    /// Default: `None`.
    pub fn max_fragment_length(&mut self, value: impl Into<Option<MaxFragmentLength>>) -> &mut Self {
        self.config.max_fragment_length = value.into();
        self
    }

    /// Sets whether a TLS 1.3 handshake looks like TLS 1.2 to middleboxes (RFC 9846, E.4), which costs 76 bytes. Where TLS 1.2
    /// is offered, the ClientHello then also names the point format (RFC 8422, 5.1.2), which some servers require; this
    /// costs 6 bytes.
    ///
    /// Default: `false`.
    pub fn compatibility_mode(&mut self, value: bool) -> &mut Self {
        self.config.compatibility_mode = value;
        self
    }

    /// Sets the configuration of handshake caching. With `None` caching is not offered, and nothing is stored.
    ///
    /// Default: `None`.
    pub fn cache(&mut self, value: impl Into<Option<ClientCache>>) -> &mut Self {
        self.config.begin_kept = Some(begin_kept);
        self.config.cached = Some(CachedCode::CODE);
        self.config.cache = value.into();
        self
    }

    /// Sets the configuration of resumption. With `None` resumption is not offered, and no session is stored.
    ///
    /// Default: `None`.
    pub fn resumption(&mut self, value: impl Into<Option<ClientResumption>>) -> &mut Self {
        self.config.begin_kept = Some(begin_kept);
        self.config.offer_psks = Some(offer_psks);
        self.config.offer_session = Some(offer_session);
        self.config.take_tickets = Some(session_tickets);
        self.config.resumption = value.into();
        self
    }

    /// Sets the external pre-shared keys, preferred first. All are offered, with one or two identities each.
    ///
    /// Default: none.
    pub fn psks(&mut self, value: impl Into<Vec<ExternalPsk>>) -> &mut Self {
        self.config.offer_psks = Some(offer_psks);
        self.config.psks = value.into();
        self
    }

    /// Sets the client's identity key, for handshakes without certificates (docs/identity.md). It needs TLS 1.3, and goes
    /// with no pre-shared key.
    ///
    /// Default: `None`.
    pub fn identity(&mut self, value: impl Into<Option<ClientIdentity>>) -> &mut Self {
        self.config.identity = value.into().map(Behind::new);
        self
    }
}

/// The settings of a server.
impl ConfigBuilder<ServerConfig> {
    /// Sets the credentials by which the server proves its identity: at most 16, preferred first. The client's certificate
    /// types and signature schemes select among them, and in TLS 1.2 its suites; then the issuers that it names
    /// (`certificate_authorities`), then the signature schemes that it accepts in chains; of those that are left, the first
    /// one is used.
    ///
    /// Default: none.
    pub fn credentials(&mut self, value: impl Into<Vec<Credential>>) -> &mut Self {
        self.config.credentials = value.into();
        self
    }

    /// Adds a credential, which is preferred less than those before it.
    pub fn credential(&mut self, credential: Credential) -> &mut Self {
        self.config.credentials.push(credential);
        self
    }

    /// Sets whether clients are asked for a certificate.
    ///
    /// Default: [`ClientAuthentication::None`].
    pub fn client_authentication(&mut self, value: ClientAuthentication) -> &mut Self {
        self.config.client_authentication = value;
        self
    }

    /// Sets whether the CertificateRequest names the accepted CAs (RFC 9846, 4.3.4), for clients with several certificates.
    ///
    /// Default: `false`.
    pub fn certificate_authorities(&mut self, value: bool) -> &mut Self {
        self.config.certificate_authorities = value;
        self
    }

    /// Sets whether a HelloRetryRequest over a stream has a cookie (RFC 9846, 4.3.2). It proves nothing there, and is for tests
    /// of clients. Over datagrams there is always a cookie.
    ///
    /// Default: `false`.
    pub fn hello_retry_cookie(&mut self, value: bool) -> &mut Self {
        self.config.hello_retry_cookie = value;
        self
    }

    /// Sets the configuration of handshake caching. With `None` offers are ignored, and nothing is stored.
    ///
    /// Default: `None`.
    pub fn cache(&mut self, value: impl Into<Option<ServerCache>>) -> &mut Self {
        self.config.cache = value.into();
        self
    }

    /// Sets the configuration of resumption. With `None` no tickets are issued, and none are accepted.
    ///
    /// Default: `None`.
    pub fn resumption(&mut self, value: impl Into<Option<ServerResumption>>) -> &mut Self {
        self.config.resumption = value.into();
        self
    }

    /// Sets the configuration of early data in resumed sessions. With `None` early data is rejected.
    ///
    /// Default: `None`.
    pub fn early_data(&mut self, value: impl Into<Option<ServerEarlyData>>) -> &mut Self {
        self.config.early_data = value.into();
        self
    }

    /// Sets the external pre-shared keys. A client that has one is not asked for a certificate.
    ///
    /// Default: `None`.
    pub fn psks(&mut self, value: Arc<dyn PskStore>) -> &mut Self {
        self.config.psks = Some(value);
        self
    }

    /// Sets the server's identity keys, for handshakes without certificates (docs/identity.md). Clients that prove no
    /// identity are then refused, unless they must have certificates or anonymous clients are admitted.
    ///
    /// Default: `None`.
    pub fn identity(&mut self, value: impl Into<Option<ServerIdentity>>) -> &mut Self {
        self.config.identity = value.into();
        self
    }
}

/// Changes of lists and of the settings of datagrams, for tests.
#[cfg(terse_testing)]
macro_rules! edits {
    ($($edit:ident($field:ident: $type:ty);)*) => {
        #[allow(missing_docs)]
        impl Common {
            $(pub fn $edit<R>(&mut self, edit: impl FnOnce(&mut $type) -> R) {
                edit(&mut self.$field);
            })*

            pub fn edit_datagrams(&mut self, edit: impl FnOnce(&mut Datagrams)) {
                edit(self.datagrams.get_or_insert_default());
            }

            pub fn edit_provider(&mut self, edit: impl FnOnce(&mut CryptoProvider)) {
                edit(&mut self.provider);
            }
        }

        #[allow(missing_docs)]
        impl<C: Configuration> ConfigBuilder<C> {
            $(pub fn $edit<R>(&mut self, edit: impl FnOnce(&mut $type) -> R) {
                self.common_mut().$edit(edit);
            })*

            pub fn edit_datagrams(&mut self, edit: impl FnOnce(&mut Datagrams)) {
                self.common_mut().edit_datagrams(edit);
            }
        }
    };
}

#[cfg(terse_testing)]
edits! {
    edit_versions(versions: Vec<ProtocolVersion>);
    edit_suites(suites: Vec<CipherSuite>);
    edit_groups(groups: Vec<NamedGroup>);
    edit_signature_schemes(signature_schemes: Vec<SignatureScheme>);
}

#[cfg(terse_testing)]
#[allow(missing_docs)]
impl Common {
    pub fn set_provider(&mut self, provider: CryptoProvider) {
        self.provider = provider;
    }
}

#[cfg(terse_testing)]
#[allow(missing_docs)]
impl ConfigBuilder<ClientConfig> {
    pub fn edit_credentials<R>(&mut self, edit: impl FnOnce(&mut Vec<Credential>) -> R) -> R {
        edit(&mut self.config.credentials)
    }

    pub fn edit_psks<R>(&mut self, edit: impl FnOnce(&mut Vec<ExternalPsk>) -> R) -> R {
        self.config.offer_psks = Some(offer_psks);
        edit(&mut self.config.psks)
    }

    pub fn edit_cache<R>(&mut self, edit: impl FnOnce(&mut Option<ClientCache>) -> R) -> R {
        self.config.begin_kept = Some(begin_kept);
        self.config.cached = Some(CachedCode::CODE);
        edit(&mut self.config.cache)
    }

    pub fn edit_resumption(&mut self, edit: impl FnOnce(&mut ClientResumption)) {
        if let Some(resumption) = &mut self.config.resumption {
            edit(resumption);
        }
    }
}

#[cfg(terse_testing)]
#[allow(missing_docs)]
impl ConfigBuilder<ServerConfig> {
    pub fn edit_credentials<R>(&mut self, edit: impl FnOnce(&mut Vec<Credential>) -> R) -> R {
        edit(&mut self.config.credentials)
    }

    pub fn edit_cache<R>(&mut self, edit: impl FnOnce(&mut Option<ServerCache>) -> R) -> R {
        edit(&mut self.config.cache)
    }

    pub fn without_psks(&mut self) {
        self.config.psks = None;
    }
}
