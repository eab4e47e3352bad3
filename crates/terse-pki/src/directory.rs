//! A CA can live in a directory: `ca.pem` and `ca.key`, `intermediate1.pem` and `intermediate1.key` and so on,
//! `crl.pem`. In place of a key there can be `ca.key-uri` or `intermediate1.key-uri`, which names it in a PKCS #11 module,
//! or nothing: then it is kept elsewhere until it is needed.
//!
//! What must always hold: only the owner can read private keys (mode 0600), and no file is replaced unless that was
//! requested; after a failure, a replaced file is the old one or the new one; the CRL of a CA whose key is not here stays as
//! it is.

use core::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rcgen::KeyPair;
use zeroize::Zeroizing;

use crate::key::LevelKey;
use crate::level::Level;
use crate::{Authority, Error, KeyError, OcspStatus, Revocation, Validity, to_pem};

impl Authority {
    /// Writes the CA into a directory, which is created if necessary. Returns the files, root certificate first. It is an
    /// error if one of its keys is elsewhere.
    pub fn save(&self, directory: &Path, overwrite: bool) -> Result<Vec<PathBuf>, Error> {
        if !overwrite && directory.join("ca.pem").exists() {
            return Err(Error::Exists(directory.join("ca.pem")));
        }
        let pems = self.levels().iter().map(key_pem).collect::<Result<Vec<_>, Error>>()?;
        fs::create_dir_all(directory)
            .map_err(|e| Error::file(directory, format!("cannot be made: {e}; choose another directory")))?;
        if overwrite {
            remove_old(directory, self.levels())?;
        }
        let mut written = Vec::new();
        for (number, (level, pem)) in self.levels().iter().zip(pems).enumerate() {
            let [certificate, key, _] = paths(directory, number);
            if let Some(pem) = &pem {
                write_file(&key, pem.as_bytes(), true, overwrite)?;
            }
            write_file(&certificate, to_pem("CERTIFICATE", &level.certificate).as_bytes(), false, overwrite)?;
            written.push(certificate);
            written.extend(pem.map(|_| key));
        }
        Ok(written)
    }

    /// Reads a CA that [`Authority::save`] wrote, and perhaps somebody has changed: a key can be missing, or be named by a
    /// `key-uri` in its place. Such a key makes one signature, to test it.
    pub fn load(directory: &Path) -> Result<Self, Error> {
        if !directory.join("ca.pem").exists() {
            return Err(Error::file(directory, "holds no CA; make one with `terse pki init`"));
        }
        let mut levels = Vec::new();
        for number in 0.. {
            let [path, ..] = paths(directory, number);
            if !path.exists() {
                break;
            }
            let certificate = read_certificate(&path)?;
            let mut level = Level { certificate, key: None };
            level.key = load_key(directory, number, &level)?;
            levels.push(level);
        }
        Self::from_levels(levels).map_err(|e| Error::file(directory, format!("is damaged: {e}")))
    }

    /// Returns the files of a CA's directory that are for their owner alone: private keys, and the PINs of keys that are
    /// elsewhere.
    pub fn secret_files(directory: &Path) -> Vec<PathBuf> {
        let levels = (0..).map(|number| paths(directory, number)).take_while(|[certificate, ..]| certificate.exists());
        let files =
            levels.flat_map(|[_, key, uri]| Some(key).filter(|key| key.exists()).into_iter().chain(pin_file(&uri)));
        files.collect()
    }

    /// Writes `crl.pem` with a CRL for each CA of the chain, root first. It lists the earlier revocations and
    /// `certificates`. The CRL of a CA whose key is not here stays as it is, and nothing of that CA can be revoked.
    pub fn revoke(
        &self,
        directory: &Path,
        certificates: &[CertificateDer<'_>],
        validity: Validity,
    ) -> Result<PathBuf, Error> {
        let path = directory.join("crl.pem");
        let mut earlier = self.earlier(&path)?;
        for certificate in certificates {
            if certificate == self.root() {
                return Err(Error::Root);
            }
            let issuer = self.issuer_of(certificate)?;
            if !self.has_key(issuer) {
                return Err(Error::NoKey(name(issuer)));
            }
            let entries: &mut Vec<_> = &mut earlier[issuer].entries;
            let revocation = Revocation::new(certificate, validity.not_before)?;
            if !entries.iter().any(|entry| entry.same_certificate(&revocation)) {
                entries.push(revocation);
            }
        }
        let mut pem = String::new();
        for (issuer, Earlier { crl, entries }) in earlier.into_iter().enumerate() {
            let crl = if self.has_key(issuer) { Some(self.crl(issuer, &entries, validity)?) } else { crl };
            pem.extend(crl.map(|crl| to_pem("X509 CRL", &crl)));
        }
        write_file(&path, pem.as_bytes(), false, true)?;
        Ok(path)
    }

    /// Returns the status of a certificate of this CA by `crl.pem`: good, unless it is listed.
    pub fn status(&self, directory: &Path, certificate: &CertificateDer<'_>) -> Result<OcspStatus, Error> {
        let issuer = self.issuer_of(certificate)?;
        let wanted = Revocation::new(certificate, 0)?;
        let listed = self.earlier(&directory.join("crl.pem"))?;
        let entry = listed[issuer].entries.iter().find(|entry| entry.same_certificate(&wanted)); // one for each level
        Ok(entry.map_or(OcspStatus::Good, |entry| OcspStatus::Revoked(entry.time())))
    }

    /// Returns what the file has, for each CA; nothing if there is no such file.
    fn earlier(&self, path: &Path) -> Result<Vec<Earlier>, Error> {
        let mut earlier = vec![Earlier::default(); self.levels().len()];
        if path.exists() {
            for crl in terse_pem::all(&read_file(path)?, terse_pem::CRL) {
                let crl = CertificateRevocationListDer::from(crl.map_err(|e| pem_error(path, e))?.to_vec());
                let (issuer, entries) = self.read_crl(&crl).map_err(|e| Error::file(path, e))?;
                earlier[issuer] = Earlier { crl: Some(crl), entries }; // `read_crl` returns the number of a level
            }
        }
        Ok(earlier)
    }
}

/// What `crl.pem` has of a CA.
#[derive(Clone, Default)]
struct Earlier {
    crl: Option<CertificateRevocationListDer<'static>>,
    entries: Vec<Revocation>,
}

/// Reads the certificates of a CA that [`Authority::save`] wrote, root first, without its keys.
pub fn ca_certificates(directory: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let files = (0..).map(|number| paths(directory, number)).map(|[certificate, ..]| certificate);
    let files = files.take_while(|path| path.exists());
    let read = files.map(|path| read_certificate(&path));
    let certificates = read.collect::<Result<Vec<_>, Error>>()?;
    match certificates.is_empty() {
        true => Err(Error::file(directory, "holds no CA; make one with `terse pki init`")),
        false => Ok(certificates),
    }
}

/// Writes a file, with mode 0600 if it is a secret and 0644 otherwise. An existing file stays until the new one is
/// complete.
pub fn write_file(path: &Path, contents: &[u8], secret: bool, overwrite: bool) -> Result<(), Error> {
    let mut name = path.file_name().ok_or_else(|| Error::file(path, "is not the name of a file"))?.to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let target = if overwrite { path.with_file_name(name) } else { path.into() };
    let fail = |e: std::io::Error| {
        Error::file(path, format!("cannot be written: {e}; check the directory and the free space"))
    };

    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if secret { 0o600 } else { 0o644 });
    #[cfg(not(unix))]
    let _ = secret;
    // One file at a time: a temporary file that is there is of nobody who still writes, and was left behind by a program
    // that was stopped.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = overwrite.then(|| WRITING.lock().unwrap_or_else(PoisonError::into_inner));
    let mut opened = options.open(&target);
    if overwrite && opened.as_ref().is_err_and(|e| e.kind() == ErrorKind::AlreadyExists) {
        opened = fs::remove_file(&target).and_then(|()| options.open(&target));
    }
    let mut file = opened.map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => Error::Exists(target.clone()),
        _ => fail(e),
    })?;
    let mut done = file.write_all(contents).and_then(|()| file.sync_all());
    if overwrite {
        done = done.and_then(|()| fs::rename(&target, path));
    }
    done.map_err(|e| {
        let _ = fs::remove_file(&target); // the first error is the one to report
        fail(e)
    })
}

/// Returns the name of the files of a CA without their ending. Its number is counted from 0, the root.
pub(crate) fn name(number: usize) -> String {
    match number {
        0 => "ca".into(),
        _ => format!("intermediate{number}"),
    }
}

/// Returns the files of a CA: the certificate, the key, and the one that names a key elsewhere.
fn paths(directory: &Path, number: usize) -> [PathBuf; 3] {
    let name = name(number);
    ["pem", "key", "key-uri"].map(|ending| directory.join(format!("{name}.{ending}")))
}

/// Returns the key of a CA, or `None` if the directory has none.
fn load_key(directory: &Path, number: usize, level: &Level) -> Result<Option<LevelKey>, Error> {
    let [_, key, uri] = paths(directory, number);
    let is_there = |path: &Path| {
        path.try_exists().map_err(|e| Error::file(path, format!("cannot be read: {e}; check the permissions")))
    };
    match (is_there(&key)?, is_there(&uri)?) {
        (false, false) => Ok(None),
        (true, false) => {
            let der = terse_pem::first(&read_file(&key)?, terse_pem::PRIVATE_KEY).map_err(|e| pem_error(&key, e))?;
            let unusable = |e: &dyn fmt::Display| Error::file(&key, format!("is no usable key: {e}"));
            let der = PrivateKeyDer::try_from(&**der).map_err(|e| unusable(&e))?;
            let pair = KeyPair::try_from(&der).map_err(|e| unusable(&e))?;
            Ok(Some(LevelKey::Software(Zeroizing::new(pair))))
        }
        (false, true) => {
            let key = named_key(&uri, level)?;
            key.test().map_err(|e| Error::file(&uri, e))?;
            Ok(Some(key))
        }
        (true, true) => Err(Error::file(&uri, format!("{} is there as well; remove one of the two", key.display()))),
    }
}

/// Returns the key that a file names.
#[cfg(feature = "pkcs11")]
fn named_key(uri: &Path, level: &Level) -> Result<LevelKey, Error> {
    let key = crate::pkcs11::open(uri, level)?;
    Ok(LevelKey::External(std::sync::Arc::new(key)))
}

/// Returns the file with the PIN of a key that a file names.
#[cfg(feature = "pkcs11")]
fn pin_file(uri: &Path) -> Option<PathBuf> {
    crate::pkcs11::pin_file(uri)
}

#[cfg(not(feature = "pkcs11"))]
fn pin_file(_: &Path) -> Option<PathBuf> {
    None
}

#[cfg(not(feature = "pkcs11"))]
fn named_key(uri: &Path, _: &Level) -> Result<LevelKey, Error> {
    Err(Error::file(uri, "this program was built without PKCS #11; build it with the feature pkcs11 of terse-pki"))
}

/// Returns the private key to write, or `None` if it is not here.
fn key_pem(level: &Level) -> Result<Option<Zeroizing<String>>, Error> {
    match &level.key {
        Some(LevelKey::Software(key)) => Ok(Some(Zeroizing::new(to_pem("PRIVATE KEY", key.serialized_der())))),
        Some(LevelKey::External(_)) => Err(KeyError::new(ELSEWHERE).into()),
        None => Ok(None),
    }
}

/// Removes what a CA that replaces another one must not inherit: intermediates and CRLs, and keys in other places.
fn remove_old(directory: &Path, levels: &[Level]) -> Result<(), Error> {
    let old = (0..).map(|number| (number, paths(directory, number)));
    let old = old.take_while(|(_, [certificate, ..])| certificate.exists());
    let files = old.flat_map(|(number, [certificate, key, uri])| match levels.get(number) {
        Some(Level { key: Some(_), .. }) => vec![uri],
        Some(Level { key: None, .. }) => vec![key, uri],
        None => vec![certificate, key, uri],
    });
    for path in files.collect::<Vec<_>>().into_iter().chain([directory.join("crl.pem")]) {
        match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(Error::file(&path, format!("cannot be removed: {e}; check the permissions")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the first certificate of a file.
fn read_certificate(path: &Path) -> Result<CertificateDer<'static>, Error> {
    let der = terse_pem::first(&read_file(path)?, terse_pem::CERTIFICATE).map_err(|e| pem_error(path, e))?;
    Ok(der.to_vec().into())
}

/// Reads a file, which may hold a private key.
fn read_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let read = fs::read(path).map(Zeroizing::new);
    read.map_err(|e| Error::file(path, format!("cannot be read: {e}; restore it, or make a new CA")))
}

fn pem_error(path: &Path, error: terse_pem::Error) -> Error {
    match error {
        terse_pem::Error::Missing => {
            Error::file(path, "does not hold what its name says; restore it, or make a new CA")
        }
        _ => Error::file(path, "is not valid PEM; restore it, or make a new CA"),
    }
}

const ELSEWHERE: &str = "a key of this CA is elsewhere and cannot be written; copy the CA's directory in place of this";

#[cfg(test)]
mod tests;
