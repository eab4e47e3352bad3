//! `terse pki` is a small CA for trying things. `terse-pki` does the work; the arguments and the report are here.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use terse_net::files::read_passphrase;
use terse_pki::{Authority, AuthorityOptions, Chain, Error, KeyAlgorithm, LeafOptions, Usage, Validity, write_file};

use crate::failure::Failure;

mod revocation;

use revocation::{Crl, Ocsp, Revoke};

/// The seconds by which certificates start early, for peers whose clocks are slow.
const SLOW_CLOCK: u64 = 3600;

#[derive(Debug, Subcommand)]
pub(crate) enum PkiCommand {
    /// Make a new CA: a root and, unless --chain is 2, intermediates
    #[command(after_help = "Example: terse pki init --algorithm p256 --chain 3 --out plant-ca\n\
        writes plant-ca/ca.pem, which peers must trust, the intermediate, and their keys.")]
    Init(Init),
    /// Issue a certificate for a name, with a new private key
    #[command(after_help = "Example: terse pki issue broker.plant.example --server --ca plant-ca\n\
        writes broker.plant.example.pem, the certificate chain, and broker.plant.example.key.")]
    Issue(Issue),
    /// Revoke a certificate: put it on the CRL of the CA that issued it
    #[command(after_help = "Example: terse pki revoke sensor1.plant.example --ca plant-ca\n\
        adds the certificate in sensor1.plant.example.pem to plant-ca/crl.pem.")]
    Revoke(Revoke),
    /// Renew the CRLs, one for each CA of the chain, with what is revoked so far
    #[command(after_help = "Example: terse pki crl --ca plant-ca --days 7\n\
        writes plant-ca/crl.pem, for `terse client --crl plant-ca/crl.pem`.")]
    Crl(Crl),
    /// Make an OCSP response about a certificate, to be stapled to it: good, unless the CRL names it
    #[command(after_help = "Example: terse pki ocsp broker.plant.example --ca plant-ca --days 7\n\
        writes broker.plant.example.ocsp, for `terse server --staple broker.plant.example.ocsp`.")]
    Ocsp(Ocsp),
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Key algorithm: p256, p384, ed25519, rsa2048, rsa3072 or rsa4096
    #[arg(long, default_value_t = KeyAlgorithm::P256)]
    algorithm: KeyAlgorithm,
    /// Certificates from leaf to root, both counted: 2 to 9
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=9))]
    chain: u8,
    /// The name of the CA; a short one makes short certificates
    #[arg(long, default_value = "Terse CA")]
    name: String,
    /// How long the CA is valid
    #[arg(long, value_name = "N", default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// The directory to write
    #[arg(long, value_name = "DIR", default_value = "ca")]
    out: PathBuf,
    /// Replace the CA that is there
    #[arg(long)]
    force: bool,
}

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
    /// How long the certificate is valid
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// The directory of the CA
    #[arg(long, value_name = "DIR", default_value = "ca")]
    ca: PathBuf,
    /// Where to write NAME.pem and NAME.key [default: here]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Encrypt the private key with the first line of this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Replace the files that are there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(command: PkiCommand, json: bool) -> Result<(), Failure> {
    let written = match command {
        PkiCommand::Init(init) => init.run()?,
        PkiCommand::Issue(issue) => issue.run()?,
        PkiCommand::Revoke(revoke) => revoke.run()?,
        PkiCommand::Crl(crl) => crl.run(None)?,
        PkiCommand::Ocsp(ocsp) => ocsp.run()?,
    };
    report(&written, json).map_err(|e| Failure::Failed(format!("standard output: {e}")))
}

/// A file that was written, and its purpose.
struct Written {
    path: PathBuf,
    content: &'static str,
}

impl Init {
    fn run(self) -> Result<Vec<Written>, Failure> {
        let chain = Chain::new(self.algorithm, self.chain.into()).map_err(failure)?;
        let validity = validity(self.days)?;
        let authority = Authority::new(&AuthorityOptions { name: self.name, ..AuthorityOptions::new(chain, validity) });
        let paths = authority.and_then(|authority| authority.save(&self.out, self.force)).map_err(failure)?;
        let contents = [("root certificate, which peers must trust", "root key")];
        let contents = contents.into_iter().chain(core::iter::repeat(("intermediate certificate", "intermediate key")));
        let contents = contents.flat_map(|(certificate, key)| [certificate, key]);
        Ok(paths.into_iter().zip(contents).map(|(path, content)| Written { path, content }).collect())
    }
}

impl Issue {
    fn run(self) -> Result<Vec<Written>, Failure> {
        let authority = Authority::load(&self.ca).map_err(failure)?;
        let passphrase = self.passphrase_file.map(read_passphrase).transpose().map_err(failed)?;
        let validity = validity(self.days)?;
        if validity.not_after > authority.not_after().map_err(failure)? {
            let message = "the certificate would outlive its CA; give fewer --days, or make a new CA";
            return Err(Failure::Failed(format!("{}: {message}", self.ca.display())));
        }
        let usage = match (self.client, self.server) {
            (true, false) => Usage::Client,
            (false, true) => Usage::Server,
            _ => Usage::Both,
        };
        let names = core::iter::once(self.name.clone()).chain(self.names).collect();
        let options = LeafOptions { names, usage, validity, algorithm: self.algorithm, serial: None, length: None };
        let credential = authority.issue(&options).map_err(failure)?;

        let out = self.out.unwrap_or_default();
        fs::create_dir_all(&out)
            .map_err(|e| failed(format!("{}: cannot be made: {e}; choose another directory", out.display())))?;
        let [certificate, key] = ["pem", "key"].map(|kind| out.join(file_name(&self.name, kind)));
        // Nothing is written unless both files can be: a new key beside an old certificate is useless.
        for path in [&certificate, &key] {
            if !self.force && path.exists() {
                return Err(failure(Error::Exists(path.clone())));
            }
        }
        let pem = match passphrase {
            Some(passphrase) => credential.encrypted_key_pem(&passphrase).map_err(failure)?.into(),
            None => credential.key_pem(),
        };
        write_file(&key, pem.as_bytes(), true, self.force).map_err(failure)?;
        write_file(&certificate, credential.chain_pem().as_bytes(), false, self.force).map_err(failure)?;
        Ok(vec![
            Written { path: certificate, content: "certificate chain, without the root" },
            Written { path: key, content: "private key" },
        ])
    }
}

fn report(written: &[Written], json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        let files: Vec<_> = written.iter().map(|file| file.path.display().to_string()).collect();
        return writeln!(out, "{}", serde_json::json!({ "written": files }));
    }
    let paths: Vec<_> = written.iter().map(|file| file.path.display().to_string()).collect();
    let width = paths.iter().map(|path| path.chars().count()).max().unwrap_or(0);
    for (path, file) in paths.iter().zip(written) {
        writeln!(out, "{path:width$}  {}", file.content)?;
    }
    Ok(())
}

/// Returns a file name without wildcards, which a shell would expand.
fn file_name(name: &str, kind: &str) -> String {
    format!("{}.{kind}", name.replace('*', "_"))
}

fn validity(days: u32) -> Result<Validity, Failure> {
    let now = now()?;
    Ok(Validity { not_before: now.saturating_sub(SLOW_CLOCK), ..Validity::days(now, days) })
}

fn now() -> Result<u64, Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map(|d| d.as_secs()).map_err(|_| Failure::Failed("the clock stands before 1970; set it".into()))
}

fn failed(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}

fn failure(error: Error) -> Failure {
    match error {
        Error::InvalidName(_) | Error::InvalidChain(_) | Error::InvalidValidity | Error::NoName => {
            Failure::Usage(error.to_string())
        }
        _ => failed(error),
    }
}
