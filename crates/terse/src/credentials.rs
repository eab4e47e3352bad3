//! Certificates, keys, trust and caches from the files that the options name.
//!
//! What must always hold: a problem with a file is found before a connection is made, and the message names the file.

use alloc::sync::Arc;
use std::path::{Path, PathBuf};

use terse_net::pki_types::CertificateDer;
use terse_net::{CacheFile, KeyLogFile, SavedFileError, files};
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::crypto::SigningKey;
use terse_tls::{ApiMisuse, Common, Credential, Stapling, Trust};

use crate::crls::CrlFiles;
use crate::failure::Failure;
use crate::options::{CacheMode, Shared};
use crate::output;

/// The number of servers that a client remembers, and of clients that a server remembers.
pub(crate) const CACHE_CAPACITY: usize = 4096;

impl Shared {
    /// Loads this side's credentials, preferred first: each certificate with its key, or keys alone.
    pub(crate) fn credentials(&self, certs: &[PathBuf], keys: &[PathBuf]) -> Result<Vec<Credential>, Failure> {
        if certs.is_empty() {
            return keys.iter().map(|key| self.credential(None, key)).collect();
        }
        if certs.len() != keys.len() {
            let (certs, keys) = (certs.len(), keys.len());
            let problem = format!("--cert is there {certs} times and --key {keys} times");
            return Err(Failure::Usage(format!("{problem}; give each --cert its --key, in the same order")));
        }
        certs.iter().zip(keys).map(|(chain, key)| self.credential(Some(chain), key)).collect()
    }

    /// Loads a credential: a private key, and a certificate chain or the public key alone.
    fn credential(&self, chain: Option<&Path>, key: &Path) -> Result<Credential, Failure> {
        let signing = self.private_key(key)?;
        let Some(chain) = chain else {
            return Credential::raw_public_key(signing).map_err(|error| in_file(key, error));
        };
        let certificates = files::read_certificates(chain).map_err(failed)?;
        Credential::new(certificates, signing).map_err(|error| match error {
            ApiMisuse::KeyDoesNotMatchCertificate => Failure::Failed(format!(
                "{}: the private key does not belong to the first certificate of {}; give the pair that was issued \
                 together, leaf certificate first",
                key.display(),
                chain.display()
            )),
            error => in_file(chain, error),
        })
    }

    fn private_key(&self, key: &Path) -> Result<Arc<dyn SigningKey>, Failure> {
        let passphrase = self.passphrase_file.as_deref().map(files::read_passphrase).transpose().map_err(failed)?;
        let der = files::read_private_key(key, passphrase.as_ref().map(|passphrase| passphrase.as_slice()));
        let der = der.map_err(|error| match error.problem() {
            files::Problem::PassphraseNeeded => {
                Failure::Failed(format!("{}: the private key is encrypted; give --passphrase-file", key.display()))
            }
            _ => failed(error),
        })?;
        self.crypto.provider().load_key(&der).map_err(|error| in_file(key, error))
    }

    /// Loads the trust in the CAs of a file, and in raw public keys, as far as they were given; and the files that keep
    /// the CRLs up to date.
    pub(crate) fn trust(&self, anchors: Option<&Path>) -> Result<(Trust, Option<CrlFiles>), Failure> {
        let trust = match anchors {
            Some(path) => {
                let certificates: Vec<CertificateDer<'_>> = files::read_certificates(path).map_err(failed)?;
                let trust = match self.no_path_building {
                    true => Trust::without_path_building(&certificates),
                    false => Trust::new(&certificates),
                };
                let trust = trust.map_err(|error| in_file(path, error))?;
                trust.with_stapling(self.stapling())
            }
            None if self.no_path_building => {
                return Err(Failure::Usage(
                    "--no-path-building is for chains to a CA; give --ca or --client-ca".into(),
                ));
            }
            None if self.crls.is_empty() && self.stapling() == Stapling::Off => Trust::nobody(),
            None if self.crls.is_empty() => {
                let problem = "--ask-staple and --require-staple need the CA that issues the certificates";
                return Err(Failure::Usage(format!("{problem}; give --ca or --client-ca")));
            }
            None => return Err(Failure::Usage("--crl needs the CA that issued it; give --ca or --client-ca".into())),
        };
        let (trust, crl_files) = CrlFiles::open(trust, &self.crls)?;
        let trust = self.peer_keys.iter().try_fold(trust, |trust, path| {
            let keys = files::read_public_keys(path).map_err(failed)?;
            trust.with_raw_public_keys(&keys).map_err(|error| in_file(path, error))
        })?;
        Ok((trust, crl_files))
    }

    /// Opens the cache file, if there is one to use. A damaged file causes a warning, not a failure: it costs one full
    /// handshake with each peer.
    pub(crate) fn open_cache(&self) -> Result<Option<Arc<CacheFile>>, Failure> {
        let Some(path) = self.cache_file.as_ref().filter(|_| self.cache != CacheMode::Off) else { return Ok(None) };
        let (file, damage) = CacheFile::open(path, CACHE_CAPACITY).map_err(failed)?;
        if let Some(damage) = damage {
            output::warn(&damage);
        }
        Ok(Some(Arc::new(file)))
    }

    /// Returns a client's cache, in `file` or in memory, unless caching is off.
    pub(crate) fn client_cache(&self, file: Option<Arc<CacheFile>>) -> Option<ClientCache> {
        let schemes = self.cache.schemes()?;
        Some(match file {
            Some(store) => ClientCache::new(store, schemes),
            None => ClientCache::new(Arc::new(MemoryClientStore::new(CACHE_CAPACITY)), schemes),
        })
    }

    /// Returns a server's cache, in `file` or in memory, unless caching is off.
    pub(crate) fn server_cache(&self, file: Option<Arc<CacheFile>>) -> Option<ServerCache> {
        let schemes = self.cache.schemes()?;
        Some(match file {
            Some(store) => ServerCache::new(store, schemes),
            None => ServerCache::new(Arc::new(MemoryServerStore::new(CACHE_CAPACITY)), schemes),
        })
    }

    /// Sets what both sides configure alike.
    pub(crate) fn configure(&self, common: &mut Common) -> Result<(), Failure> {
        common.set_versions(self.versions()?);
        common.set_require_extended_master_secret(!self.no_extended_master_secret);
        if !self.suites.is_empty() {
            common.set_suites(self.suites.clone());
        }
        if !self.groups.is_empty() {
            common.set_groups(self.groups.clone());
        }
        if !self.signature_schemes.is_empty() {
            common.set_signature_schemes(self.signature_schemes.clone());
        }
        common.set_alpn_protocols(self.alpn.iter().map(|name| name.as_bytes()));
        common.set_record_size_limit(self.record_size_limit);
        if let Some(path) = &self.keylog {
            let log = KeyLogFile::append(path).map_err(|error| {
                Failure::Failed(format!("{}: cannot be written: {error}; check the path", path.display()))
            })?;
            common.set_key_log(Arc::new(log));
        }
        Ok(())
    }
}

impl CacheMode {
    const fn schemes(self) -> Option<Schemes> {
        match self {
            Self::Off => None,
            Self::Rfc7924 => Some(Schemes::RFC7924),
            Self::Bithac => Some(Schemes::BITHAC),
            Self::Compact => Some(Schemes::COMPACT),
        }
    }
}

/// Prints why the last change to a file could not be saved. The connections have gone on without.
pub(crate) fn warn_unsaved(error: Option<SavedFileError>) {
    if let Some(error) = error {
        output::warn(&error);
    }
}

/// Makes a failure of an error of `terse-net`, which names the file, the problem, and the remedy.
pub(crate) fn failed(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}

pub(crate) fn in_file(path: &Path, error: impl core::fmt::Display) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}
