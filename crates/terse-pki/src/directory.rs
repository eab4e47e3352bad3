//! A CA can live in a directory: `ca.pem` and `ca.key`, `intermediate1.pem` and `intermediate1.key` and so on,
//! `crl.pem`.
//!
//! What must always hold: only the owner can read private keys (mode 0600), and no file is replaced unless that was
//! requested; after a failure, a replaced file is the old one or the new one.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rcgen::KeyPair;
use zeroize::Zeroizing;

use crate::authority::Level;
use crate::{Authority, Error, OcspStatus, Revocation, Validity, to_pem};

impl Authority {
    /// Writes the CA into a directory, which is created if necessary. Returns the files, root certificate first.
    pub fn save(&self, directory: &Path, overwrite: bool) -> Result<Vec<PathBuf>, Error> {
        if !overwrite && directory.join("ca.pem").exists() {
            return Err(Error::Exists(directory.join("ca.pem")));
        }
        fs::create_dir_all(directory)
            .map_err(|e| Error::file(directory, format!("cannot be made: {e}; choose another directory")))?;
        if overwrite {
            remove_old(directory, self.levels().len())?;
        }
        let mut written = Vec::new();
        for (number, level) in self.levels().iter().enumerate() {
            let (certificate, key) = paths(directory, number);
            let pem = Zeroizing::new(to_pem("PRIVATE KEY", level.key.serialized_der()));
            write_file(&key, pem.as_bytes(), true, overwrite)?;
            write_file(&certificate, to_pem("CERTIFICATE", &level.certificate).as_bytes(), false, overwrite)?;
            written.extend([certificate, key]);
        }
        Ok(written)
    }

    /// Reads a CA that [`Authority::save`] wrote.
    pub fn load(directory: &Path) -> Result<Self, Error> {
        if !directory.join("ca.pem").exists() {
            return Err(Error::file(directory, "holds no CA; make one with `terse pki init`"));
        }
        let mut levels = Vec::new();
        for number in 0.. {
            let (certificate, key) = paths(directory, number);
            if !certificate.exists() {
                break;
            }
            let certificate = CertificateDer::from_pem_file(&certificate).map_err(|e| pem_error(&certificate, e))?;
            let der = Zeroizing::new(PrivateKeyDer::from_pem_file(&key).map_err(|e| pem_error(&key, e))?);
            let pair = KeyPair::try_from(&*der).map_err(|e| Error::file(&key, format!("is no usable key: {e}")))?;
            levels.push(Level { certificate, key: Zeroizing::new(pair) });
        }
        Self::from_levels(levels).map_err(|e| Error::file(directory, format!("is damaged: {e}")))
    }

    /// Writes `crl.pem` with a CRL for each CA of the chain, root first. It lists the earlier revocations and
    /// `certificates`.
    pub fn revoke(
        &self,
        directory: &Path,
        certificates: &[CertificateDer<'_>],
        validity: Validity,
    ) -> Result<PathBuf, Error> {
        let path = directory.join("crl.pem");
        let mut revoked = self.revoked(&path)?;
        for certificate in certificates {
            if certificate == self.root() {
                return Err(Error::Root);
            }
            let entries: &mut Vec<_> = &mut revoked[self.issuer_of(certificate)?];
            let revocation = Revocation::new(certificate, validity.not_before)?;
            if !entries.iter().any(|entry| entry.same_certificate(&revocation)) {
                entries.push(revocation);
            }
        }
        let mut pem = String::new();
        for (issuer, entries) in revoked.iter().enumerate() {
            pem += &to_pem("X509 CRL", &self.crl(issuer, entries, validity)?);
        }
        write_file(&path, pem.as_bytes(), false, true)?;
        Ok(path)
    }

    /// Returns the status of a certificate of this CA by `crl.pem`: good, unless it is listed.
    pub fn status(&self, directory: &Path, certificate: &CertificateDer<'_>) -> Result<OcspStatus, Error> {
        let issuer = self.issuer_of(certificate)?;
        let wanted = Revocation::new(certificate, 0)?;
        let listed = self.revoked(&directory.join("crl.pem"))?;
        let entry = listed[issuer].iter().find(|entry| entry.same_certificate(&wanted)); // a list for each level
        Ok(entry.map_or(OcspStatus::Good, |entry| OcspStatus::Revoked(entry.time())))
    }

    /// Returns the revocations in the file's CRLs, for each CA; none if there is no such file.
    fn revoked(&self, path: &Path) -> Result<Vec<Vec<Revocation>>, Error> {
        let mut revoked = vec![Vec::new(); self.levels().len()];
        if path.exists() {
            for crl in CertificateRevocationListDer::pem_file_iter(path).map_err(|e| pem_error(path, e))? {
                let crl = crl.map_err(|e| pem_error(path, e))?;
                let (issuer, entries) = self.read_crl(&crl).map_err(|e| Error::file(path, e))?;
                revoked[issuer] = entries; // `read_crl` returns the number of a level
            }
        }
        Ok(revoked)
    }
}

/// Reads the certificates of a CA that [`Authority::save`] wrote, root first, without its keys.
pub fn ca_certificates(directory: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let files = (0..).map(|number| paths(directory, number).0).take_while(|path| path.exists());
    let read = files.map(|path| CertificateDer::from_pem_file(&path).map_err(|e| pem_error(&path, e)));
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

/// Returns the certificate and key file of a CA, whose number is counted from 0, the root.
fn paths(directory: &Path, number: usize) -> (PathBuf, PathBuf) {
    let name = match number {
        0 => "ca".into(),
        _ => format!("intermediate{number}"),
    };
    (directory.join(format!("{name}.pem")), directory.join(format!("{name}.key")))
}

/// Removes the other CA's intermediates and CRLs, which a CA that replaces a longer chain must not inherit.
fn remove_old(directory: &Path, from: usize) -> Result<(), Error> {
    let intermediates =
        (from..).map(|number| paths(directory, number)).take_while(|(certificate, _)| certificate.exists());
    let files = intermediates.flat_map(|(certificate, key)| [certificate, key]).collect::<Vec<_>>();
    for path in files.into_iter().chain([directory.join("crl.pem")]) {
        match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(Error::file(&path, format!("cannot be removed: {e}; check the permissions")));
            }
            _ => {}
        }
    }
    Ok(())
}

fn pem_error(path: &Path, error: pki_types::pem::Error) -> Error {
    use pki_types::pem::Error as Pem;
    match error {
        Pem::Io(e) => Error::file(path, format!("cannot be read: {e}; restore it, or make a new CA")),
        Pem::NoItemsFound => Error::file(path, "does not hold what its name says; restore it, or make a new CA"),
        _ => Error::file(path, "is not valid PEM; restore it, or make a new CA"),
    }
}

#[cfg(test)]
mod tests;
