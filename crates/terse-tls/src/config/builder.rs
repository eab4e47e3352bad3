//! Builders of configurations.

use alloc::sync::Arc;
use alloc::vec::Vec;

#[cfg(terse_testing)]
use super::Fault;
use super::{
    ClientAuthentication, ClientConfig, ClientIdentity, Common, Datagrams, KeyLog, ServerConfig, ServerIdentity, Trace,
};
#[cfg(terse_testing)]
use crate::cache::CacheDefence;
use crate::cache::{ClientCache, ServerCache};
use crate::cert::{Credential, Trust};
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
/// Both versions of TLS, with all that the provider has but for the hybrid group; no certificate is shown, none is asked
/// of clients, and nothing is kept from one connection to the next. A client that trusts nobody and has no pre-shared
/// key is refused by [`Self::build`], and so is a server that has neither a credential nor pre-shared keys. Each setting
/// says its default.
#[derive(Clone, Debug)]
pub struct ConfigBuilder<C> {
    config: C,
}

/// A configuration that [`ConfigBuilder`] makes.
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

    /// What is configured so far. It is not checked yet.
    pub const fn config(&self) -> &C {
        &self.config
    }

    /// What both sides have, for functions that configure either.
    pub fn common_mut(&mut self) -> &mut Common {
        self.config.common_mut()
    }

    /// The configuration, if everything in it fits together: all that can be found wrong without a peer is found here.
    pub fn build(&self) -> Result<C, ApiMisuse> {
        self.config.check()?;
        Ok(self.config.clone())
    }
}

/// The settings that both sides have, on [`Common`] and on the builders.
macro_rules! common_settings {
    ($($(#[$attribute:meta])* $name:ident, $set:ident($value:ident: $type:ty) => $new:expr;)*) => {
        /// What to configure. [`ConfigBuilder`] has the same settings.
        impl Common {
            $($(#[$attribute])*
            pub fn $set(&mut self, $value: $type) -> &mut Self {
                self.$name = $new;
                self
            })*
        }

        /// What both sides configure alike.
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
    /// Run over datagrams; `None`: over a stream.
    ///
    /// Default: over a stream.
    datagrams, set_datagrams(value: impl Into<Option<Datagrams>>) => value.into();

    /// Protocol versions: of TLS, or of DTLS. The newest one that both sides have is used, whatever the order.
    ///
    /// Default: TLS 1.3 and TLS 1.2.
    versions, set_versions(value: impl Into<Vec<ProtocolVersion>>) => value.into();

    /// In TLS 1.2, refuse peers without the extended master secret (RFC 7627). Without it a session can be spliced into
    /// another one; such handshakes are neither cached nor resumed.
    ///
    /// Default: `true`.
    require_extended_master_secret, set_require_extended_master_secret(value: bool) => value;

    /// Cipher suites of all versions, preferred first. A version without a suite is not used.
    ///
    /// Default: all of the provider's, in its order.
    suites, set_suites(value: impl Into<Vec<CipherSuite>>) => value.into();

    /// Groups, preferred first. A client sends a key share for the first one only.
    ///
    /// Default: all of the provider's but for X25519MLKEM768, whose key share of 1,216 bytes is for those who ask for it.
    groups, set_groups(value: impl Into<Vec<NamedGroup>>) => value.into();

    /// Signature schemes that are accepted, in CertificateVerify and in chains, preferred first. An ECDSA scheme fixes
    /// the curve in CertificateVerify only.
    ///
    /// Default: all of the provider's.
    signature_schemes, set_signature_schemes(value: impl Into<Vec<SignatureScheme>>) => value.into();

    /// Signature schemes that are accepted in chains, where these are others than those of CertificateVerify
    /// (`signature_algorithms_cert`: RFC 9846, 4.3.3); `None`: they are the same. A server of TLS 1.2 has no way to tell
    /// its clients, and holds them to it all the same.
    ///
    /// Default: the same.
    signature_schemes_of_chains, set_signature_schemes_of_chains(value: impl Into<Option<Vec<SignatureScheme>>>) => value.into();

    /// Application protocols (RFC 7301), preferred first.
    ///
    /// Default: none.
    alpn_protocols, set_alpn_protocols(value: impl IntoIterator<Item = impl Into<Vec<u8>>>) => value.into_iter().map(Into::into).collect();

    /// The largest record that this side wants to receive, in bytes of plaintext with the content type (RFC 8449):
    /// 64 to 16,385. `None`: the extension is not sent by a client, and answered with the maximum by a server.
    ///
    /// Default: `None`.
    record_size_limit, set_record_size_limit(value: impl Into<Option<u16>>) => value.into();

    /// The code point of `client_cached_info` (BiTHaC, IV-B), which is for private use: 0xff42 unless another
    /// meaning of that is in the way. Both sides must have the same.
    ///
    /// Default: 0xff42.
    client_cached_info, set_client_cached_info(value: ExtensionType) => value;

    /// The code point of `compact_cache` (`docs/caching.md`), which is for private use as well: 0xff44.
    ///
    /// Default: 0xff44.
    compact_cache, set_compact_cache(value: ExtensionType) => value;

    /// The largest handshake message that is accepted, in bytes, at least 1. Nothing larger is ever buffered.
    ///
    /// Default: 65,536.
    max_handshake_message, set_max_handshake_message(value: usize) => value;

    /// The largest record that is accepted, in bytes of content: at most 16,384. Peers must be told of a smaller one,
    /// by [`ConfigBuilder::record_size_limit`] or [`ConfigBuilder::max_fragment_length`]; those that cannot hold to it are
    /// refused, from the first record on, so that nothing larger is ever buffered.
    ///
    /// Default: 16,384.
    max_record, set_max_record(value: usize) => value;

    /// How many bytes of records may wait to be sent before [`crate::Connection::send`] takes no more, at least 1.
    ///
    /// Default: 65,536.
    max_send_buffer, set_max_send_buffer(value: usize) => value;

    /// Receives the secrets, for debugging (NSS key log format).
    ///
    /// Default: nobody.
    key_log, set_key_log(value: Arc<dyn KeyLog>) => Some(value);

    /// Hears of every message, for people who want to watch.
    ///
    /// Default: nobody.
    trace, set_trace(value: Arc<dyn Trace>) => Some(value);

    /// Makes this side misbehave, for tests of the other one.
    #[cfg(terse_testing)]
    fault, set_fault(value: Option<Arc<dyn Fault>>) => value;

    /// Go without a defence of caching, for tests that show what it is for.
    #[cfg(terse_testing)]
    without, set_without(value: impl Into<Option<CacheDefence>>) => value.into();
}

/// What a client configures.
impl ConfigBuilder<ClientConfig> {
    /// Which servers are believed.
    ///
    /// Default: nobody.
    pub fn trust(&mut self, value: Trust) -> &mut Self {
        self.config.trust = value;
        self
    }

    /// What the client proves its own identity with, if a server asks; 16 at most, preferred first. Of those that the server
    /// takes, by type and signature scheme, one is shown whose issuer it names (`certificate_authorities`), if there is
    /// one; of these one whose chain has no signature that it does not take; and of these the first one. If it takes none,
    /// it gets an empty Certificate (RFC 9846, 4.5.1; RFC 5246, 7.4.6).
    ///
    /// Default: none.
    pub fn credentials(&mut self, value: impl Into<Vec<Credential>>) -> &mut Self {
        self.config.credentials = value.into();
        self
    }

    /// Adds a credential behind those that are there.
    pub fn credential(&mut self, credential: Credential) -> &mut Self {
        self.config.credentials.push(credential);
        self
    }

    /// Whether the server's name is sent (SNI, RFC 6066, 3). It is checked in any case.
    ///
    /// Default: `true`.
    pub fn send_server_name(&mut self, value: bool) -> &mut Self {
        self.config.send_server_name = value;
        self
    }

    /// `max_fragment_length` (RFC 6066, 4), for servers that do not know `record_size_limit`.
    ///
    /// Default: `None`.
    pub fn max_fragment_length(&mut self, value: impl Into<Option<MaxFragmentLength>>) -> &mut Self {
        self.config.max_fragment_length = value.into();
        self
    }

    /// Look like TLS 1.2 to middleboxes (RFC 9846, E.4): 76 bytes more. Where TLS 1.2 is offered, also name the point
    /// format (RFC 8422, 5.1.2), which goes without saying, to servers that want it said: 6 bytes more.
    ///
    /// Default: `false`.
    pub fn compatibility_mode(&mut self, value: bool) -> &mut Self {
        self.config.compatibility_mode = value;
        self
    }

    /// Handshake caching; `None`: neither offered nor stored.
    ///
    /// Default: `None`.
    pub fn cache(&mut self, value: impl Into<Option<ClientCache>>) -> &mut Self {
        self.config.cache = value.into();
        self
    }

    /// Resumption; `None`: neither offered nor stored.
    ///
    /// Default: `None`.
    pub fn resumption(&mut self, value: impl Into<Option<ClientResumption>>) -> &mut Self {
        self.config.resumption = value.into();
        self
    }

    /// Pre-shared keys from outside, preferred first. All are offered; a name or two are sent for each.
    ///
    /// Default: none.
    pub fn psks(&mut self, value: impl Into<Vec<ExternalPsk>>) -> &mut Self {
        self.config.psks = value.into();
        self
    }

    /// Sets the client's identity key, for handshakes without certificates (docs/identity.md). It needs TLS 1.3, and goes
    /// with no pre-shared key.
    ///
    /// Default: `None`.
    pub fn identity(&mut self, value: impl Into<Option<ClientIdentity>>) -> &mut Self {
        self.config.identity = value.into();
        self
    }
}

/// What a server configures.
impl ConfigBuilder<ServerConfig> {
    /// What the server proves its identity with; 16 at most, preferred first. Of those that the client takes, by type and
    /// signature scheme, and in TLS 1.2 by suite, one is shown whose issuer it names (`certificate_authorities`), if there
    /// is one; of these one whose chain has no signature that it does not take; and of these the first one.
    ///
    /// Default: none.
    pub fn credentials(&mut self, value: impl Into<Vec<Credential>>) -> &mut Self {
        self.config.credentials = value.into();
        self
    }

    /// Adds a credential behind those that are there.
    pub fn credential(&mut self, credential: Credential) -> &mut Self {
        self.config.credentials.push(credential);
        self
    }

    /// Whether clients are asked for a certificate.
    ///
    /// Default: [`ClientAuthentication::None`].
    pub fn client_authentication(&mut self, value: ClientAuthentication) -> &mut Self {
        self.config.client_authentication = value;
        self
    }

    /// Name the accepted CAs in the CertificateRequest (RFC 9846, 4.3.4), for clients with several certificates.
    ///
    /// Default: `false`.
    pub fn certificate_authorities(&mut self, value: bool) -> &mut Self {
        self.config.certificate_authorities = value;
        self
    }

    /// Send a cookie in HelloRetryRequest (RFC 9846, 4.3.2). On a stream it proves nothing; some tests want it.
    ///
    /// Default: `false`.
    pub fn hello_retry_cookie(&mut self, value: bool) -> &mut Self {
        self.config.hello_retry_cookie = value;
        self
    }

    /// Handshake caching; `None`: neither answered nor stored.
    ///
    /// Default: `None`.
    pub fn cache(&mut self, value: impl Into<Option<ServerCache>>) -> &mut Self {
        self.config.cache = value.into();
        self
    }

    /// Resumption; `None`: no tickets are issued, and none are taken.
    ///
    /// Default: `None`.
    pub fn resumption(&mut self, value: impl Into<Option<ServerResumption>>) -> &mut Self {
        self.config.resumption = value.into();
        self
    }

    /// Early data that is accepted in resumed sessions; `None`: none.
    ///
    /// Default: `None`.
    pub fn early_data(&mut self, value: impl Into<Option<ServerEarlyData>>) -> &mut Self {
        self.config.early_data = value.into();
        self
    }

    /// Pre-shared keys from outside. A client that has one is not asked for a certificate.
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

/// Changes of what a list or the datagrams' settings are so far, for tests.
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
        edit(&mut self.config.psks)
    }

    pub fn edit_cache<R>(&mut self, edit: impl FnOnce(&mut Option<ClientCache>) -> R) -> R {
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
