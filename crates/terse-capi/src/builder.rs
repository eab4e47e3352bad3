//! What a configuration is made of, until it is complete.
//!
//! Unsafe, because functions with C's names cannot be declared otherwise, and take buffers of C.
#![allow(unsafe_code)]

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ffi::c_char;

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use terse_tls::cache::{ClientCache, Schemes, ServerCache};
use terse_tls::crypto::CryptoProvider;
use terse_tls::resume::{ClientResumption, ExternalPsk, MemoryPskStore, ServerResumption};
use terse_tls::{
    ApiMisuse, ClientAuthentication, ClientConfig, ConfigBuilder, Configuration, Credential, Datagrams,
    ProtocolVersion, ServerConfig, Trust,
};

use crate::config::{TerseClientConfig, TerseServerConfig};
use crate::error::{Failure, TerseResult, result};
use crate::platform::Platform;
use crate::provider;
use crate::store::{TerseClientStore, TerseServerStore};
use crate::{TerseError, pointers};

mod credentials;
mod settings;

pub use credentials::*;
pub use settings::*;

/// What a configuration is made of: settings, which are added one by one, and then a configuration. One thread at a time.
pub struct TerseConfigBuilder {
    provider: &'static CryptoProvider,
    platform: Platform,
    anchors: Vec<CertificateDer<'static>>,
    public_keys: Vec<SubjectPublicKeyInfoDer<'static>>,
    accept_without_clock: bool,
    client_authentication: Option<TerseClientAuthentication>,
    credentials: Vec<Credential>,
    psks: Vec<ExternalPsk>,
    alpn_protocols: Vec<Vec<u8>>,
    versions: Option<(u16, u16)>,
    datagrams: Option<Datagrams>,
    connection_id: Option<u8>,
    limits: Limits,
    client_store: Option<ClientStores>,
    server_store: Option<ServerStores>,
    failure: Option<Failure>,
}

#[derive(Clone, Copy, Default)]
struct Limits {
    handshake_message: Option<usize>,
    record: Option<usize>,
    send_buffer: Option<usize>,
}

struct ClientStores {
    cache: Option<ClientCache>,
    resumption: Option<ClientResumption>,
}

struct ServerStores {
    cache: Option<ServerCache>,
    resumption: Option<ServerResumption>,
}

/// Returns a builder with no settings and all cryptography, which the README lists under "Cryptography". The program owns
/// it: `terse_config_builder_free`. Never NULL: a program without memory is aborted.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_new() -> Option<Box<TerseConfigBuilder>> {
    Some(Box::new(TerseConfigBuilder::new(&terse_rustcrypto::PROVIDER)))
}

/// Returns a builder with no settings and the cryptography of small devices alone: keys and certificates on P-256, key
/// exchange with X25519 and P-256, AES-128-GCM and AES-128-CCM with SHA-256, and no version before 1.3. A firmware that
/// calls only this one has none of the rest in its image. The program owns it: `terse_config_builder_free`. Never NULL: a
/// program without memory is aborted.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_new_p256() -> Option<Box<TerseConfigBuilder>> {
    Some(Box::new(TerseConfigBuilder::new(&provider::P256)))
}

/// Frees a builder, which may be NULL. Configurations that it made stay.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_free(builder: Option<Box<TerseConfigBuilder>>) {
    drop(builder);
}

/// Makes the configuration of a client. It must trust somebody, or have a pre-shared key. The builder may be used again.
///
/// On success `*config` is a configuration that the program owns (`terse_client_config_free`), else NULL. Errors: NULL_POINTER;
/// NO_RANDOMNESS; WRONG_SIDE if a setting is for servers; and those that begin with API_MISUSE.
///
/// # Safety
///
/// The pointers are NULL or as the type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_config_builder_build_client(
    builder: Option<&mut TerseConfigBuilder>,
    config: *mut *mut TerseClientConfig,
) -> TerseResult {
    // SAFETY: the caller gives NULL or a place for a pointer.
    unsafe { build(builder, config, TerseConfigBuilder::client) }
}

/// Makes the configuration of a server. It must have a credential or pre-shared keys. The builder may be used again.
///
/// On success `*config` is a configuration that the program owns (`terse_server_config_free`), else NULL. Errors: NULL_POINTER;
/// NO_RANDOMNESS; WRONG_SIDE if a setting is for clients; and those that begin with API_MISUSE.
///
/// # Safety
///
/// The pointers are NULL or as the type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_config_builder_build_server(
    builder: Option<&mut TerseConfigBuilder>,
    config: *mut *mut TerseServerConfig,
) -> TerseResult {
    // SAFETY: the caller gives NULL or a place for a pointer.
    unsafe { build(builder, config, TerseConfigBuilder::server) }
}

/// Writes why the last call with this builder failed: one line in English, with a NUL at its end, and its length without the NUL
/// to `*len`, which may be NULL. The text is empty if nothing has failed.
///
/// Errors: NULL_POINTER; BUFFER_TOO_SMALL if `capacity` is less than the length and 1.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_config_builder_message(
    builder: Option<&TerseConfigBuilder>,
    out: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> TerseResult {
    let Some(builder) = builder else { return TerseError::NullPointer as TerseResult };
    let text = builder.failure.as_ref().map(ToString::to_string).unwrap_or_default();
    // SAFETY: as the caller promises.
    result(unsafe { pointers::write_text(text.as_bytes(), out, capacity, len) })
}

/// Builds a configuration and gives it to C.
///
/// # Safety
///
/// `place` is NULL, or may be written.
unsafe fn build<T>(
    builder: Option<&mut TerseConfigBuilder>,
    place: *mut *mut T,
    make: impl FnOnce(&TerseConfigBuilder) -> Result<T, Failure>,
) -> TerseResult {
    // SAFETY: as the caller promises.
    if let Err(error) = unsafe { pointers::write(place, core::ptr::null_mut()) } {
        return error as TerseResult;
    }
    change(builder, |builder| {
        let config = make(builder)?;
        // SAFETY: the place was written before.
        unsafe { pointers::give(place, config) };
        Ok(())
    })
}

/// Changes a builder, and keeps why that failed.
fn change(
    builder: Option<&mut TerseConfigBuilder>,
    change: impl FnOnce(&mut TerseConfigBuilder) -> Result<(), Failure>,
) -> TerseResult {
    let Some(builder) = builder else { return TerseError::NullPointer as TerseResult };
    builder.failure = change(builder).err();
    builder.failure.as_ref().map_or(crate::TERSE_OK, Failure::code)
}

impl TerseConfigBuilder {
    fn new(provider: &'static CryptoProvider) -> Self {
        Self {
            provider,
            platform: Platform::default(),
            anchors: Vec::new(),
            public_keys: Vec::new(),
            accept_without_clock: false,
            client_authentication: None,
            credentials: Vec::new(),
            psks: Vec::new(),
            alpn_protocols: Vec::new(),
            versions: None,
            datagrams: None,
            connection_id: None,
            limits: Limits::default(),
            client_store: None,
            server_store: None,
            failure: None,
        }
    }

    fn client(&self) -> Result<TerseClientConfig, Failure> {
        if self.client_authentication.is_some() || self.server_store.is_some() {
            return Err(TerseError::WrongSide.into());
        }
        let mut builder = ClientConfig::builder(self.provider);
        self.apply(&mut builder)?;
        builder.trust(self.trust()?).credentials(self.credentials.clone()).psks(self.psks.clone());
        if let Some(ClientStores { cache, resumption }) = &self.client_store {
            builder.cache(cache.clone()).resumption(resumption.clone());
        }
        Ok(TerseClientConfig { config: Arc::new(builder.build()?), platform: self.platform })
    }

    fn server(&self) -> Result<TerseServerConfig, Failure> {
        if self.client_store.is_some() {
            return Err(TerseError::WrongSide.into());
        }
        let mut builder = ServerConfig::builder(self.provider);
        self.apply(&mut builder)?;
        builder.credentials(self.credentials.clone());
        match self.client_authentication {
            None => {}
            Some(TerseClientAuthentication::Optional) => {
                builder.client_authentication(ClientAuthentication::Optional(self.trust()?));
            }
            Some(TerseClientAuthentication::Required) => {
                builder.client_authentication(ClientAuthentication::Required(self.trust()?));
            }
        }
        if !self.psks.is_empty() {
            builder.psks(Arc::new(MemoryPskStore::new(self.psks.iter().cloned())));
        }
        if let Some(ServerStores { cache, resumption }) = &self.server_store {
            builder.cache(cache.clone()).resumption(resumption.clone());
        }
        Ok(TerseServerConfig { config: Arc::new(builder.build()?), platform: self.platform })
    }

    /// Applies the settings that both sides have.
    fn apply<C: Configuration>(&self, builder: &mut ConfigBuilder<C>) -> Result<(), Failure> {
        if !self.platform.has_random() {
            return Err(TerseError::NoRandomness.into());
        }
        if let Some((least, greatest)) = self.versions {
            let all = [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];
            let named = all.into_iter().filter(|version| (least..=greatest).contains(&version.0));
            builder.versions(named.collect::<Vec<_>>());
        }
        builder.alpn_protocols(self.alpn_protocols.clone());
        if self.connection_id.is_some() && self.datagrams.is_none() {
            return Err(ApiMisuse::NoDatagrams.into());
        }
        if let Some(datagrams) = self.datagrams {
            builder.datagrams(datagrams.connection_id(self.connection_id));
        }
        if let Some(limit) = self.limits.handshake_message {
            builder.max_handshake_message(limit);
        }
        if let Some(limit) = self.limits.record {
            let told = u16::try_from(limit).map_err(|_| ApiMisuse::MaxRecordOutOfRange)?;
            builder.max_record(limit).record_size_limit(told);
        }
        if let Some(limit) = self.limits.send_buffer {
            builder.max_send_buffer(limit);
        }
        Ok(())
    }

    fn trust(&self) -> Result<Trust, ApiMisuse> {
        let trust = if self.anchors.is_empty() { Trust::nobody() } else { Trust::new(&self.anchors)? };
        let trust = match &self.public_keys[..] {
            [] => trust,
            keys => trust.with_raw_public_keys(keys)?,
        };
        Ok(if self.accept_without_clock { trust.accept_without_clock() } else { trust })
    }

    fn keep_for_client(&mut self, store: &TerseClientStore, uses: u32) {
        let cache = (uses & TERSE_USE_CACHE > 0).then(|| ClientCache::new(store.records.clone(), Schemes::COMPACT));
        let resumption = (uses & TERSE_USE_RESUMPTION > 0).then(|| ClientResumption::new(store.sessions.clone()));
        self.client_store = Some(ClientStores { cache, resumption });
    }

    fn keep_for_server(&mut self, store: &TerseServerStore, uses: u32, lifetime_seconds: u32) {
        let cache = (uses & TERSE_USE_CACHE > 0).then(|| ServerCache::new(store.records.clone(), Schemes::COMPACT));
        let sessions = || ServerResumption::Stateful { store: store.sessions.clone(), lifetime_seconds };
        let resumption = (uses & TERSE_USE_RESUMPTION > 0).then(sessions);
        self.server_store = Some(ServerStores { cache, resumption });
    }
}
