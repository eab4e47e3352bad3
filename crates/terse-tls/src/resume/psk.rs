//! External pre-shared keys (RFC 9846, 4.3.11; RFC 9257), used directly or imported (RFC 9258).
//!
//! What must always hold: a key is used with one hash only, and either directly or imported, never both; keys are wiped
//! on drop and not printed.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use super::import::{ImportedIdentity, import};
use crate::crypto::{CryptoError, CryptoProvider, Hash};
use crate::error::{ApiMisuse, Setting};
use crate::schedule::tls13::PskKind;
use crate::wire::{Encode, Parse, Transport};

#[cfg(test)]
mod tests;

/// An external pre-shared key, known to one client and one server (RFC 9257, 4).
#[derive(Clone)]
pub struct ExternalPsk {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    identity: Box<[u8]>,
    key: Zeroizing<Vec<u8>>,
    hash: PskHash,
    context: Option<Imported>,
}

/// With what a key is imported.
#[derive(Clone)]
struct Imported {
    context: Box<[u8]>,
    /// [`ExternalPsk::import_all`], which a firmware does not have that imports no keys.
    import_all: ImportAll,
}

type ImportAll = fn(&ExternalPsk, &[u8], &CryptoProvider, &[PskHash], Transport) -> Result<Vec<Psk>, CryptoError>;

/// The hash of a pre-shared key, which is also that of its KDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PskHash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
}

impl ExternalPsk {
    /// Creates a key for use with SHA-256. It must be random, since an observer of a handshake can test guesses (RFC
    /// 9846, 2.2). The identity is sent in the clear.
    pub fn new(identity: &[u8], key: &[u8]) -> Result<Self, ApiMisuse> {
        if key.len() < MIN_KEY_LEN {
            return Err(ApiMisuse::ShortPsk);
        }
        if identity.is_empty() || identity.len() > MAX_IDENTITY_LEN {
            return Err(ApiMisuse::PskIdentity);
        }
        let key = Zeroizing::new(key.to_vec());
        Ok(Self { inner: Arc::new(Inner { identity: identity.into(), key, hash: PskHash::Sha256, context: None }) })
    }

    /// Sets the hash that the key is used with.
    pub fn with_hash(mut self, hash: PskHash) -> Self {
        Arc::make_mut(&mut self.inner).hash = hash;
        self
    }

    /// Imports the key (RFC 9258), so that each hash and version uses a derived key of its own. Both sides must do so
    /// with the same `context`, which is sent in the clear and may be empty. It can identify both sides if several
    /// devices share a key (RFC 9258, A).
    pub fn imported(mut self, context: &[u8]) -> Result<Self, ApiMisuse> {
        if context.len() > MAX_IDENTITY_LEN {
            return Err(ApiMisuse::PskIdentity);
        }
        let imported = Imported { context: context.into(), import_all: Self::import_all };
        Arc::make_mut(&mut self.inner).context = Some(imported);
        Ok(self)
    }

    /// Returns the identity of the key.
    pub fn identity(&self) -> &[u8] {
        &self.inner.identity
    }

    /// Returns the key for TLS 1.2, unless it is imported (RFC 9258, 5.1).
    pub(crate) fn tls12_key(&self) -> Option<&[u8]> {
        self.inner.context.is_none().then_some(&self.inner.key)
    }

    pub(crate) fn check(&self, provider: &CryptoProvider) -> Result<(), ApiMisuse> {
        self.inner.hash.find(provider).map(drop).ok_or(ApiMisuse::Unsupported(Setting::PskHash))
    }

    /// Returns the keys that a client offers in version 1.3 for suites with `hashes`: at most one key for each hash.
    pub(crate) fn offers(
        &self,
        provider: &CryptoProvider,
        hashes: &[PskHash],
        transport: Transport,
    ) -> Result<Vec<Psk>, CryptoError> {
        match &self.inner.context {
            Some(Imported { context, import_all }) => import_all(self, context, provider, hashes, transport),
            None if hashes.contains(&self.inner.hash) => Ok(Vec::from([self.as_it_is()])),
            None => Ok(Vec::new()),
        }
    }

    fn import_all(
        &self,
        context: &[u8],
        provider: &CryptoProvider,
        hashes: &[PskHash],
        transport: Transport,
    ) -> Result<Vec<Psk>, CryptoError> {
        let import = |target| {
            let imported = ImportedIdentity::new(&self.inner.identity, context, transport, target);
            self.import(&imported, transport, target, provider)
        };
        hashes.iter().map(|target| import(*target)).collect()
    }

    fn as_it_is(&self) -> Psk {
        let Inner { identity, key, hash, .. } = &*self.inner;
        Psk { kind: PskKind::External, identity: identity.to_vec(), key: key.clone(), hash: *hash }
    }

    fn import(
        &self,
        identity: &ImportedIdentity<'_>,
        transport: Transport,
        target: PskHash,
        provider: &CryptoProvider,
    ) -> Result<Psk, CryptoError> {
        let hash = self.inner.hash.find(provider).ok_or(CryptoError::InvalidLength)?; // `check` was called
        let identity = identity.to_vec().map_err(|_| CryptoError::InvalidLength)?;
        let mut key = Zeroizing::new(alloc::vec![0; target.output_len()]);
        import(&self.inner.key, &identity, hash, transport, &mut key)?;
        Ok(Psk { kind: PskKind::Imported, identity, key, hash: target })
    }
}

/// A pre-shared key of version 1.3 that is ready for the key schedule.
#[derive(Clone)]
pub(crate) struct Psk {
    pub(crate) kind: PskKind,
    /// The identity in the extension `pre_shared_key`.
    pub(crate) identity: Vec<u8>,
    pub(crate) key: Zeroizing<Vec<u8>>,
    pub(crate) hash: PskHash,
}

impl PskHash {
    /// Returns the value for the hash of a suite.
    pub(crate) fn of(hash: &dyn Hash) -> Self {
        if hash.output_len() == Self::Sha384.output_len() { Self::Sha384 } else { Self::Sha256 }
    }

    pub(super) const fn output_len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }

    /// Returns the provider's implementation. SHA-384 is only found if a suite has it.
    pub(crate) fn find(self, provider: &CryptoProvider) -> Option<&'static dyn Hash> {
        let tls13 = provider.tls13_suites.iter().map(|suite| suite.hash);
        let tls12 = provider.tls12_suites.iter().map(|suite| suite.hash);
        core::iter::once(provider.sha256).chain(tls13).chain(tls12).find(|hash| Self::of(*hash) == self)
    }
}

/// A store of the pre-shared keys of a server.
pub trait PskStore: Send + Sync {
    /// Returns the key with this identity.
    fn find(&self, identity: &[u8]) -> Option<ExternalPsk>;
}

impl dyn PskStore {
    /// Returns the external key for `identity` in a ClientHello of version 1.3, and the key for the key schedule, which
    /// may be imported from it.
    pub(crate) fn resolve(
        &self,
        identity: &[u8],
        provider: &CryptoProvider,
        transport: Transport,
    ) -> Option<(ExternalPsk, Psk)> {
        if let Some(found) = self.find(identity).filter(|found| found.inner.context.is_none()) {
            let psk = found.as_it_is();
            return Some((found, psk));
        }
        let imported = ImportedIdentity::parse_all(identity).ok()?;
        let target = imported.target(transport)?;
        let found = self.find(imported.external_identity)?;
        if found.inner.context.as_ref().is_none_or(|own| *own.context != *imported.context) {
            return None;
        }
        let psk = found.import(&imported, transport, target, provider).ok()?;
        Some((found, psk))
    }
}

impl fmt::Debug for dyn PskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PskStore")
    }
}

/// A store of pre-shared keys in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryPskStore {
    keys: BTreeMap<Box<[u8]>, ExternalPsk>,
}

impl MemoryPskStore {
    /// Creates a store with `keys`. Of two keys with the same identity the last one is kept.
    pub fn new(keys: impl IntoIterator<Item = ExternalPsk>) -> Self {
        Self { keys: keys.into_iter().map(|key| (key.inner.identity.clone(), key)).collect() }
    }
}

impl PskStore for MemoryPskStore {
    fn find(&self, identity: &[u8]) -> Option<ExternalPsk> {
        self.keys.get(identity).cloned()
    }
}

impl fmt::Debug for ExternalPsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalPsk").field("hash", &self.inner.hash).finish_non_exhaustive()
    }
}

/// The shortest key in bytes: 128 bits (RFC 9257, 6).
const MIN_KEY_LEN: usize = 16;

/// The longest identity in bytes. RFC 4279, 5.3 requires support for at least 128 bytes.
const MAX_IDENTITY_LEN: usize = 0x1000;
