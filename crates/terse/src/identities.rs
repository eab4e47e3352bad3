//! Identity keys, the file of known peers, and the list of denied ones, from the files that the options name.
//!
//! What must always hold: a problem with a file is found before a connection is made, and the message names the file; a
//! list of denied identities that is damaged or gone is reported once, and what it had stays denied.

use alloc::sync::Arc;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use terse_ibc::files::{KeyFile, MAX_FILE};
use terse_net::IdentityFile;
use terse_tls::crypto::IdentityKey;
use terse_tls::identity::{DeniedIdentities, Identity, KnownPeers};
use terse_tls::{ClientIdentity, ServerIdentity};

use crate::credentials::{CACHE_CAPACITY, failed, in_file, warn_unsaved};
use crate::failure::Failure;
use crate::options::IdentityOptions;
use crate::output;
use crate::stamp::Stamp;

/// The identities of one side of connections.
pub(crate) struct Identities {
    keys: Vec<Arc<dyn IdentityKey>>,
    known_peers: Arc<KnownPeers>,
    file: Option<IdentityFile>,
    denied: Option<DenyFile>,
}

/// A file of denied identities, which is read again when it changes.
struct DenyFile {
    path: PathBuf,
    stamp: Mutex<Option<Stamp>>,
    denied: Arc<DeniedIdentities>,
}

impl Identities {
    /// Loads what the options name. Returns `None` if there is no key.
    pub(crate) fn load(options: &IdentityOptions) -> Result<Option<Self>, Failure> {
        if !options.is_given() {
            return Ok(None);
        }
        let file = options.identity_file.as_deref().map(open_file).transpose()?;
        let known_peers = match &file {
            Some(file) => file.peers().clone(),
            None => Arc::new(KnownPeers::new(CACHE_CAPACITY)),
        };
        let mut keys = Vec::new();
        for path in &options.identity_keys {
            let KeyFile { key, known_peers: provided } = read_key(path)?;
            for (peer, public_part) in provided {
                known_peers.provide(key.parameters().authority(), &peer, &public_part);
            }
            keys.push(key);
        }
        let denied = options.deny.as_deref().map(DenyFile::open).transpose()?;
        Ok(Some(Self { keys, known_peers, file, denied }))
    }

    /// Returns the configuration of a client, which has one key.
    pub(crate) fn client(&self) -> Result<ClientIdentity, Failure> {
        let [key] = &self.keys[..] else {
            return Err(Failure::Usage("a client has one identity: give --identity-key once".into()));
        };
        let identity = ClientIdentity::new(key.clone()).known_peers(self.known_peers.clone());
        Ok(match &self.denied {
            Some(file) => identity.denied(file.denied.clone()),
            None => identity,
        })
    }

    /// Returns the configuration of a server.
    pub(crate) fn server(&self) -> ServerIdentity {
        let identity = ServerIdentity::new(self.keys.iter().cloned()).known_peers(self.known_peers.clone());
        match &self.denied {
            Some(file) => identity.denied(file.denied.clone()),
            None => identity,
        }
    }

    /// Reads the list of denied identities again if it has changed. This is called before each connection.
    pub(crate) fn refresh(&self) {
        if let Some(file) = &self.denied {
            file.refresh();
        }
    }

    /// Saves what a connection has shown about its peer. This is called after each connection.
    pub(crate) fn save(&self) {
        if let Some(file) = &self.file {
            file.save();
            warn_unsaved(file.take_error());
        }
    }
}

/// Reads an identity key.
pub(crate) fn read_key(path: &Path) -> Result<KeyFile, Failure> {
    let pem = read_text(path)?;
    KeyFile::from_pem(&pem).map(KeyFile::into_dyn).map_err(|error| in_file(path, error))
}

/// Reads a file of text that is not longer than files of keys are.
pub(crate) fn read_text(path: &Path) -> Result<zeroize::Zeroizing<String>, Failure> {
    let metadata = fs::metadata(path).map_err(|error| in_file(path, format!("cannot be read: {error}")))?;
    if metadata.len() > MAX_FILE as u64 {
        return Err(in_file(path, "it is too long for a file of this kind"));
    }
    let text = fs::read_to_string(path).map_err(|error| in_file(path, format!("cannot be read: {error}")))?;
    Ok(zeroize::Zeroizing::new(text))
}

/// A damaged file causes a warning, not a failure: it costs 32 bytes with each peer.
fn open_file(path: &Path) -> Result<IdentityFile, Failure> {
    let (file, damage) = IdentityFile::open(path, CACHE_CAPACITY).map_err(failed)?;
    if let Some(damage) = damage {
        output::warn(&damage);
    }
    Ok(file)
}

impl DenyFile {
    fn open(path: &Path) -> Result<Self, Failure> {
        let stamp = Stamp::of(path); // before the contents: what is written meanwhile has another one
        let denied = Arc::new(DeniedIdentities::new(read_denied(path)?));
        Ok(Self { path: path.into(), stamp: Mutex::new(stamp), denied })
    }

    fn refresh(&self) {
        let mut stamp = self.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        let current = Stamp::of(&self.path);
        if *stamp == current {
            return;
        }
        *stamp = current;
        match read_denied(&self.path) {
            Ok(identities) => self.denied.replace(identities),
            Err(failure) => output::warn(&format!("{failure}; what it had stays denied")),
        }
    }
}

/// Reads a list of identities, one in each line; lines that are empty or begin with `#` are comments.
pub(crate) fn read_denied(path: &Path) -> Result<Vec<Identity>, Failure> {
    let text = read_text(path)?;
    let parse =
        |(number, line): (u32, &str)| line.parse().map_err(|error| in_file(path, format!("line {number}: {error}")));
    terse_pem::entries(&text).map(parse).collect()
}
