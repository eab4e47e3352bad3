//! The credential of a device on its disk: the LDevID with its key, the trust anchors of the domain, and the identity key.
//!
//! | file | content |
//! |---|---|
//! | `ldevid.pem` | the LDevID, the certificates above it, and its private key, mode 0600 |
//! | `domain-ca.pem` | the trust anchors of the domain |
//! | `device.id` | the identity key, mode 0600, where the device got one |
//!
//! What must always hold: a file is replaced as a whole, and a certificate and its key are in one file, so that whatever
//! happens there is the old credential or the new one; the anchors are there before the credential.

use core::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use pki_types::{CertificateDer, PrivateKeyDer};
use terse_ibc::files::KeyFile;
use terse_net::files;
use terse_pki::{to_pem, write_file};
use terse_tls::Credential;
use terse_tls::identity::Identity;
use zeroize::Zeroizing;

/// A directory with the credential of one device.
#[derive(Clone, Debug)]
pub struct CredentialDirectory {
    path: PathBuf,
}

/// Why a credential cannot be stored or read. It displays as one line.
#[derive(Debug)]
pub struct CredentialError(String);

impl CredentialDirectory {
    /// Returns the directory at `path`, which is created when there is a credential to store.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the file with the LDevID and its key.
    pub fn ldevid(&self) -> PathBuf {
        self.path.join("ldevid.pem")
    }

    /// Returns the file with the trust anchors of the domain.
    pub fn anchors(&self) -> PathBuf {
        self.path.join("domain-ca.pem")
    }

    /// Returns the file with the identity key.
    pub fn identity_key(&self) -> PathBuf {
        self.path.join("device.id")
    }

    /// Whether there is a credential: an LDevID or an identity key.
    pub fn has_credential(&self) -> bool {
        self.ldevid().exists() || self.identity_key().exists()
    }

    /// Reads the credential and the anchors.
    pub fn read(&self) -> Result<(Credential, Vec<CertificateDer<'static>>), CredentialError> {
        let path = self.ldevid();
        let chain = files::read_certificates(&path)?;
        let key = files::read_private_key(&path, None)?;
        let key = terse_aws_lc::PROVIDER.load_key(&key).map_err(|error| in_file(&path, error))?;
        let credential = Credential::new(chain, key).map_err(|error| in_file(&path, error))?;
        Ok((credential, files::read_certificates(self.anchors())?))
    }

    /// Checks that a credential could be stored, before a device goes to its domain for it.
    pub fn check(&self) -> Result<(), CredentialError> {
        self.create()?;
        let mut probe = self.path.join(format!("probe.{}.tmp", std::process::id()));
        while fs::symlink_metadata(&probe).is_ok() {
            probe.as_mut_os_string().push("~"); // that file is somebody's
        }
        write_file(&probe, b"", true, false)?;
        fs::remove_file(&probe).map_err(|error| in_file(&probe, error))
    }

    /// Stores a credential, in the place of the one that is there. When this returns, it is on the disk.
    pub(super) async fn store(
        &self,
        chain: &[CertificateDer<'static>],
        key: Zeroizing<PrivateKeyDer<'static>>,
        anchors: &[CertificateDer<'static>],
    ) -> Result<(), CredentialError> {
        let (this, chain, anchors) = (self.clone(), pem(chain), pem(anchors));
        let store = tokio::task::spawn_blocking(move || {
            this.create()?;
            write_file(&this.anchors(), anchors.as_bytes(), false, true)?;
            let mut contents = Zeroizing::new(String::with_capacity(chain.len() + MAX_KEY_LEN)); // it does not move
            contents.push_str(&chain);
            contents.push_str(&Zeroizing::new(to_pem(label(&key), key.secret_der())));
            write_file(&this.ldevid(), contents.as_bytes(), true, true)?;
            sync(&this.path).map_err(|error| in_file(&this.path, error))
        });
        store.await.map_err(|_| CredentialError("the program ends".into()))?
    }

    /// Stores the file with an identity key, in the place of the one that is there, if its key belongs to its identity. When
    /// this returns, it is on the disk.
    pub(super) async fn store_identity_key(&self, file: Zeroizing<Vec<u8>>) -> Result<Identity, CredentialError> {
        let path = self.identity_key();
        let unusable =
            |error: &dyn fmt::Display| CredentialError(format!("the identity key of the registrar: {error}"));
        let pem = core::str::from_utf8(&file).map_err(|error| unusable(&error))?;
        let identity = KeyFile::from_pem(pem).map_err(|error| unusable(&error))?.key.as_key().identity().clone();
        let this = self.clone();
        let store = tokio::task::spawn_blocking(move || {
            this.create()?;
            write_file(&path, &file, true, true)?;
            sync(&this.path).map_err(|error| in_file(&this.path, error))
        });
        store.await.map_err(|_| CredentialError("the program ends".into()))??;
        Ok(identity)
    }

    fn create(&self) -> Result<(), CredentialError> {
        fs::create_dir_all(&self.path).map_err(|error| in_file(&self.path, error))
    }
}

/// Forces the names of a directory to the disk.
fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

fn pem(certificates: &[CertificateDer<'_>]) -> String {
    certificates.iter().map(|certificate| to_pem("CERTIFICATE", certificate)).collect()
}

const fn label(key: &PrivateKeyDer<'_>) -> &'static str {
    match key {
        PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
        PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
        _ => "PRIVATE KEY",
    }
}

fn in_file(path: &Path, error: impl fmt::Display) -> CredentialError {
    CredentialError(format!("{}: {error}", path.display()))
}

/// More bytes than a key has in PEM: one for RSA with 4,096 bits has some 3,300.
const MAX_KEY_LEN: usize = 8_192;

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for CredentialError {}

impl From<files::FileError> for CredentialError {
    fn from(error: files::FileError) -> Self {
        Self(error.to_string())
    }
}

impl From<terse_pki::Error> for CredentialError {
    fn from(error: terse_pki::Error) -> Self {
        Self(error.to_string())
    }
}

#[cfg(test)]
mod tests;
