//! `terse pki issue`, and what all commands that issue a certificate with a new key have in common.
//!
//! What must always hold: nothing is written unless all files of a command can be.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use terse_net::files::read_passphrase;
use terse_pki::{Authority, Credential, Error, KeyAlgorithm, LeafOptions, Usage, Validity, write_file};
use zeroize::Zeroizing;

use super::{Written, failed, failure, file_name, validity};
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Issue {
    /// DNS name or IP address
    name: String,
    /// A further DNS name or IP address
    #[arg(long = "name", value_name = "ALT")]
    names: Vec<String>,
    /// Key algorithm: p256, p384, ed25519, rsa2048, rsa3072 or rsa4096 [default: that of the CA]
    #[arg(long)]
    algorithm: Option<KeyAlgorithm>,
    /// For clients only [default: for clients and servers]
    #[arg(long)]
    client: bool,
    /// For servers only [default: for clients and servers]
    #[arg(long)]
    server: bool,
    #[command(flatten)]
    days: Days,
    #[command(flatten)]
    issuer: Issuer,
    #[command(flatten)]
    output: Output,
}

/// For how long a certificate is valid.
#[derive(Debug, Args)]
pub(super) struct Days {
    /// How long the certificate is valid
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
}

/// Which CA issues.
#[derive(Debug, Args)]
pub(super) struct Issuer {
    /// The directory of the CA
    #[arg(long, value_name = "DIR", default_value = "ca")]
    pub(super) ca: PathBuf,
}

/// Where files go, and how a private key is written.
#[derive(Debug, Args)]
pub(super) struct Output {
    /// Where to write the files [default: here]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Encrypt the private key with the first line of this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Replace the files that are there
    #[arg(long)]
    force: bool,
}

impl Issue {
    pub(super) fn run(self) -> Result<Vec<Written>, Failure> {
        let authority = self.issuer.load()?;
        let validity = self.issuer.validity(&authority, &self.days)?;
        let usage = match (self.client, self.server) {
            (true, false) => Usage::Client,
            (false, true) => Usage::Server,
            _ => Usage::Both,
        };
        let names = names(&self.name, self.names);
        let options = LeafOptions { names, usage, validity, algorithm: self.algorithm, serial: None, length: None };
        let credential = authority.issue(&options).map_err(failure)?;
        self.output.write(&[(&self.name, "", &credential)])
    }
}

/// Returns the names of a certificate, the first one first.
pub(super) fn names(first: &str, others: Vec<String>) -> Vec<String> {
    core::iter::once(first.to_owned()).chain(others).collect()
}

impl Issuer {
    pub(super) fn load(&self) -> Result<Authority, Failure> {
        Authority::load(&self.ca).map_err(failure)
    }

    /// Returns the validity of a certificate, which must not outlive its CA.
    pub(super) fn validity(&self, authority: &Authority, days: &Days) -> Result<Validity, Failure> {
        let validity = validity(days.days)?;
        if validity.not_after > authority.not_after().map_err(failure)? {
            let message = "the certificate would outlive its CA; give fewer --days, or make a new CA";
            return Err(Failure::Failed(format!("{}: {message}", self.ca.display())));
        }
        Ok(validity)
    }
}

impl Output {
    /// Writes credentials, each with the name of its files and the purpose of its certificate.
    pub(super) fn write(&self, credentials: &[(&str, &str, &Credential)]) -> Result<Vec<Written>, Failure> {
        let mut files = Vec::new();
        for (name, purpose, credential) in credentials {
            let chain = format!("certificate chain{purpose}, without the root");
            files.push(File::public(file_name(name, "pem"), credential.chain_pem(), chain));
            let pem = match self.passphrase()? {
                Some(passphrase) => credential.encrypted_key_pem(&passphrase).map_err(failure)?.into(),
                None => credential.key_pem(),
            };
            files.push(File::secret(file_name(name, "key"), pem));
        }
        self.write_files(files)
    }

    /// Writes files, or none if one exists that may not be replaced: a new key beside an old certificate is useless.
    pub(super) fn write_files(&self, files: Vec<File>) -> Result<Vec<Written>, Failure> {
        let out = self.out.clone().unwrap_or_default();
        fs::create_dir_all(&out)
            .map_err(|e| failed(format!("{}: cannot be made: {e}; choose another directory", out.display())))?;
        for file in &files {
            refuse_existing(&out.join(&file.name), self.force)?;
        }
        let write = |file: File| {
            let path = out.join(file.name);
            write_file(&path, file.contents.as_bytes(), file.is_secret, self.force).map_err(failure)?;
            Ok(Written::new(path, file.purpose))
        };
        files.into_iter().map(write).collect()
    }

    pub(super) fn passphrase(&self) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
        self.passphrase_file.as_ref().map(read_passphrase).transpose().map_err(failed)
    }
}

/// A file to write.
pub(super) struct File {
    name: String,
    contents: Zeroizing<String>,
    purpose: String,
    is_secret: bool,
}

impl File {
    pub(super) fn public(name: String, contents: String, purpose: impl Into<String>) -> Self {
        Self { name, contents: contents.into(), purpose: purpose.into(), is_secret: false }
    }

    /// Returns the file of a private key.
    pub(super) fn secret(name: String, contents: Zeroizing<String>) -> Self {
        Self { name, contents, purpose: "private key".into(), is_secret: true }
    }
}

/// Refuses to replace a file that exists, unless that was requested.
pub(super) fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    match !force && path.exists() {
        true => Err(failure(Error::Exists(path.into()))),
        false => Ok(()),
    }
}
