//! `terse pki` is a small CA for trying things. `terse-pki` does the work; the arguments and the report are here.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use terse_pki::{Authority, AuthorityOptions, Chain, Error, KeyAlgorithm, Validity};

use crate::failure::Failure;

mod issue;
mod onboarding;
mod request;
mod revocation;

use issue::Issue;
use onboarding::{Idevid, Masa, Registrar};
use request::{Csr, SignCsr};
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
    /// Issue the IDevID of a device, as its manufacturer (RFC 8995)
    #[command(after_help = "Example: terse pki idevid WI-3005 --masa masa.maker.example:9443 --ca maker-ca\n\
        writes WI-3005.pem, the certificate chain, and WI-3005.key. The CA should come of\n\
        `terse pki init --key-identifiers --no-expiry`.")]
    Idevid(Idevid),
    /// Issue the certificates of a MASA, as its manufacturer: one for HTTPS, one to sign vouchers with (RFC 8995)
    #[command(after_help = "Example: terse pki masa masa.maker.example --ca maker-ca --voucher-ca voucher-ca\n\
        writes masa.maker.example.pem for HTTPS, masa.maker.example-voucher.pem to sign vouchers with, and their keys.")]
    Masa(Masa),
    /// Issue the certificate of a registrar, as its domain (RFC 8995)
    #[command(after_help = "Example: terse pki registrar registrar.plant.example --ca plant-ca\n\
        writes registrar.plant.example.pem, the certificate chain, and registrar.plant.example.key.")]
    Registrar(Registrar),
    /// Make a private key, and a certification request for it (PKCS #10)
    #[command(after_help = "Example: terse pki csr sensor1.plant.example\n\
        writes sensor1.plant.example.csr, for `terse pki sign-csr`, and sensor1.plant.example.key.")]
    Csr(Csr),
    /// Issue a certificate for a client that has sent a certification request (PKCS #10)
    #[command(after_help = "Example: terse pki sign-csr sensor1.csr --name sensor1.plant.example --ca plant-ca\n\
        checks that the request is signed by its own key, and writes sensor1.pem, the certificate chain.")]
    SignCsr(SignCsr),
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
    /// Certificates from leaf to root, both counted: 2 to 8
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=8))]
    chain: u8,
    /// The name of the CA; a short one makes short certificates
    #[arg(long, default_value = "Terse CA")]
    name: String,
    /// How long the CA is valid
    #[arg(long, value_name = "N", default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// The CA does not expire: for a manufacturer, whose devices keep their IDevID
    #[arg(long, conflicts_with = "days")]
    no_expiry: bool,
    /// Certificates of this CA name their issuer's key, as RFC 5280 requires it and strict validators want it; for
    /// onboarding. It adds some 64 bytes to a certificate
    #[arg(long)]
    key_identifiers: bool,
    /// The directory to write
    #[arg(long, value_name = "DIR", default_value = "ca")]
    out: PathBuf,
    /// Replace the CA that is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(command: PkiCommand, json: bool) -> Result<(), Failure> {
    let written = match command {
        PkiCommand::Init(init) => init.run()?,
        PkiCommand::Issue(issue) => issue.run()?,
        PkiCommand::Idevid(idevid) => idevid.run()?,
        PkiCommand::Masa(masa) => masa.run()?,
        PkiCommand::Registrar(registrar) => registrar.run()?,
        PkiCommand::Csr(csr) => csr.run()?,
        PkiCommand::SignCsr(sign) => sign.run()?,
        PkiCommand::Revoke(revoke) => revoke.run()?,
        PkiCommand::Crl(crl) => crl.run(None)?,
        PkiCommand::Ocsp(ocsp) => ocsp.run()?,
    };
    report(&written, json).map_err(|e| Failure::Failed(format!("standard output: {e}")))
}

/// A file that was written, and its purpose.
struct Written {
    path: PathBuf,
    content: Cow<'static, str>,
}

impl Written {
    fn new(path: PathBuf, content: impl Into<Cow<'static, str>>) -> Self {
        Self { path, content: content.into() }
    }
}

impl Init {
    fn run(self) -> Result<Vec<Written>, Failure> {
        let chain = Chain::new(self.algorithm, self.chain.into()).map_err(failure)?;
        let validity = match self.no_expiry {
            true => Validity::without_end(now()?.saturating_sub(SLOW_CLOCK)),
            false => validity(self.days)?,
        };
        let options = AuthorityOptions::new(chain, validity);
        let authority =
            Authority::new(&AuthorityOptions { name: self.name, key_identifiers: self.key_identifiers, ..options });
        let paths = authority.and_then(|authority| authority.save(&self.out, self.force)).map_err(failure)?;
        let contents = [("root certificate, which peers must trust", "root key")];
        let contents = contents.into_iter().chain(core::iter::repeat(("intermediate certificate", "intermediate key")));
        let contents = contents.flat_map(|(certificate, key)| [certificate, key]);
        Ok(paths.into_iter().zip(contents).map(|(path, content)| Written::new(path, content)).collect())
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

/// Returns a file name without wildcards, which a shell would expand, and without other marks that have a meaning there:
/// serial numbers have some.
fn file_name(name: &str, kind: &str) -> String {
    let is_usual = |c: char| c.is_alphanumeric() || "-._:".contains(c);
    let name: String = name.chars().map(|c| if is_usual(c) { c } else { '_' }).collect();
    format!("{name}.{kind}")
}

fn validity(days: u32) -> Result<Validity, Failure> {
    let now = now()?;
    Ok(Validity { not_before: now.saturating_sub(SLOW_CLOCK), ..Validity::days(now, days) })
}

/// Returns the time in UNIX seconds.
pub(crate) fn now() -> Result<u64, Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map(|d| d.as_secs()).map_err(|_| Failure::Failed("the clock stands before 1970; set it".into()))
}

fn failed(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}

/// Returns the failure of a CA: names that are none are wrong use of the command.
pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::InvalidName(_)
        | Error::InvalidChain(_)
        | Error::InvalidValidity
        | Error::NoName
        | Error::InvalidSerialNumber(_)
        | Error::InvalidSubject(_)
        | Error::InvalidMasaUrl(_) => Failure::Usage(error.to_string()),
        _ => failed(error),
    }
}
