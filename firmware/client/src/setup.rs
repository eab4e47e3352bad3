//! The configuration of a device's connections.

use alloc::vec;

use pki_types::PrivatePkcs8KeyDer;
use terse_ibc::files::{AnyKey, KeyFile};
use terse_tls::cache::{ClientCache, Schemes};
use terse_tls::crypto::CryptoProvider;
use terse_tls::resume::{ClientResumption, ExternalPsk};
use terse_tls::{ApiMisuse, ClientConfig, ClientIdentity, Credential, Datagrams, ProtocolVersion, Trust};

use crate::memory::Memory;
use terse_device::known::Device;

/// Why a device cannot connect.
#[derive(Debug)]
pub enum SetupFailed {
    /// A key cannot be read.
    Key,
    /// The engine refuses the configuration.
    Config(ApiMisuse),
}

impl From<ApiMisuse> for SetupFailed {
    fn from(error: ApiMisuse) -> Self {
        Self::Config(error)
    }
}

/// Returns the configuration. Each way to prove who the device is is used if the device has what it needs.
pub fn config(device: &Device, memory: &Memory, provider: &CryptoProvider) -> Result<ClientConfig, SetupFailed> {
    let mut config = ClientConfig::builder(provider);
    config.versions([ProtocolVersion::TLS_1_3]);
    config.record_size_limit(LIMITS.max_record as u16).max_record(LIMITS.max_record);
    config.max_handshake_message(LIMITS.max_handshake_message).max_send_buffer(LIMITS.max_send_buffer);
    if !device.anchors.is_empty() {
        config.trust(Trust::without_path_building(&device.anchors)?);
    }
    if !device.chain.is_empty() {
        let key = provider.load_key(&PrivatePkcs8KeyDer::from(&device.key[..]).into());
        config.credential(Credential::new(device.chain.clone(), key.map_err(|_| SetupFailed::Key)?)?);
    }
    if !device.psk.0.is_empty() {
        config.psks(vec![ExternalPsk::new(&device.psk.0, &device.psk.1)?]);
    }
    if !device.identity.is_empty() {
        let key = KeyFile::<AnyKey>::from_bytes(&device.identity).map_err(|_| SetupFailed::Key)?;
        config.identity(ClientIdentity::new(key.key.into_key()).known_peers(memory.peers.clone()));
    }
    if device.text("link") == "ethernet" {
        config.datagrams(Datagrams::constrained());
    }
    if device.is("cache") {
        config.cache(ClientCache::new(memory.cache.clone(), Schemes::COMPACT));
    }
    if device.is("resume") {
        config.resumption(ClientResumption::new(memory.sessions.clone()));
    }
    Ok(config.build()?)
}

/// What bounds the memory of a connection, over either link.
pub const LIMITS: terse_tls::Memory = terse_tls::Memory::DEVICE.datagrams(true);
