//! `terse masa log`: the audit log of all devices is verified, exported and imported.

use core::time::Duration;
use std::fs;
use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use terse_net::files::read_certificates;
use terse_net::pki_types::CertificateDer;
use terse_onboard::masa::{
    Finding, LogHead, MasaConfig, MasaError, VerifyOptions, export_log, import_log, verify_export, verify_log,
};

use super::{Config, failed};
use crate::failure::Failure;
use crate::output::{self, printable};
use crate::pki::now;
use crate::services;

#[derive(Debug, Subcommand)]
pub(super) enum LogCommand {
    /// Verify that no entry was changed, removed, moved or inserted since it was issued, and print the head
    #[command(after_help = "Example: terse masa log verify --config maker/masa.toml\n\
        prints how many entries there are, and the head; with exit code 1 it says which entry is the first wrong one, and how.\n\
        terse masa log verify --expect-head HASH@LENGTH    and that an earlier head was one of this chain\n\
        terse masa log verify --since monday.jsonl         and that an earlier export is its beginning\n\
        terse masa log verify --file monday.jsonl --signer voucher.pem    an export alone, without a database\n\
        Whoever can write to the database can also make all of the chain anew, or cut off its end. Only a head or an export\n\
        that was kept elsewhere shows that.")]
    Verify(Verify),
    /// Write the whole audit log with devices and vouchers as lines of JSON, signed by the voucher signer
    #[command(after_help = "Example: terse masa log export --out monday.jsonl --config maker/masa.toml\n\
        OpenSSL verifies the signature, whose content has the SHA-256 of all lines before the last one:\n\
        tail -n 1 monday.jsonl | jq -r .signature | base64 -d > end.p7\n\
        openssl cms -verify -inform DER -in end.p7 -CAfile maker/voucher-ca/ca.pem -purpose any\n\
        head -n -1 monday.jsonl | sha256sum")]
    Export(Export),
    /// Import an export into an empty database: after a loss, or to move between SQLite and PostgreSQL
    #[command(after_help = "Example: terse masa log import monday.jsonl --config maker/masa.toml\n\
        verifies the export, and restores devices, audit logs and vouchers: the same request gets the same voucher. What was\n\
        issued after the export is lost.")]
    Import(Import),
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    #[command(flatten)]
    config: Config,
    /// A head that the log has had, as this command prints it
    #[arg(long, value_name = "HASH@LENGTH")]
    expect_head: Option<LogHead>,
    /// An earlier export
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// An export to verify in place of the database
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "expect_head"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    signer: Signer,
}

/// Who has signed an export.
#[derive(Debug, Args)]
struct Signer {
    /// The certificate of the export's signer [default: that of the voucher signer in the configuration]
    #[arg(long, value_name = "CERT")]
    signer: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    config: Config,
    /// The file to write, which must not be there yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The export
    file: PathBuf,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    signer: Signer,
}

impl LogCommand {
    pub(super) fn run(self, json: bool) -> Result<(), Failure> {
        match self {
            Self::Verify(verify) => verify.run(json),
            Self::Export(export) => export.run(json),
            Self::Import(import) => import.run(json),
        }
    }
}

impl Verify {
    fn run(self, json: bool) -> Result<(), Failure> {
        let mut progress = Progress::new("verified");
        let verified = match &self.file {
            Some(file) => {
                let signers = match self.signer.read()? {
                    signers if signers.is_empty() => own_certificate(&self.config.read()?)?,
                    signers => signers,
                };
                verify_export(file, &signers, &mut |done, total| progress.show(done, total))
            }
            None => {
                let (config, signers) = (self.config.read()?, self.signer.read()?);
                let options = VerifyOptions::new(self.expect_head, self.since.as_deref(), &signers);
                let progress = &mut |done, total| progress.show(done, total);
                services::run(async { Ok(verify_log(&config, &options, progress).await) })?
            }
        };
        progress.clear();
        match verified {
            Ok(head) if json => output::json(&with_head(json!({ "ok": true }), &head)),
            Ok(head) => output::line(format_args!("good; entries: {}; head: {head}", head.length)),
            Err(error) => {
                if let (MasaError::Log(finding), true) = (&error, json) {
                    output::json(&object(finding))?;
                }
                Err(failed(error))
            }
        }
    }
}

impl Export {
    fn run(self, json: bool) -> Result<(), Failure> {
        let config = self.config.read()?;
        let now = now()?;
        let mut progress = Progress::new("exported");
        let mut export = |out: &mut dyn io::Write| {
            let progress = &mut |done, total| progress.show(done, total);
            services::run(async { export_log(&config, out, None, now, progress).await.map_err(failed) })
        };
        let Some(path) = &self.out else {
            let written = export(&mut BufWriter::new(io::stdout().lock()));
            progress.clear();
            return written.map(drop);
        };
        let cannot = |error: &dyn core::fmt::Display| {
            Failure::Failed(format!("{}: cannot be written: {error}; choose another file", path.display()))
        };
        let mut out = BufWriter::new(create(path).map_err(|error| cannot(&error))?);
        let written = export(&mut out).and_then(|head| {
            out.flush().and_then(|()| out.get_ref().sync_all()).map_err(|error| cannot(&error))?;
            Ok(head)
        });
        progress.clear();
        let head = written.inspect_err(|_| drop(fs::remove_file(path)))?; // the first error is the one to report
        let file = path.display().to_string();
        match json {
            true => output::json(&with_head(json!({ "written": [file] }), &head)),
            false => {
                output::line(format_args!("{}: written; entries: {}; head: {head}", printable(&file), head.length))
            }
        }
    }
}

impl Import {
    fn run(self, json: bool) -> Result<(), Failure> {
        let (config, signers) = (self.config.read()?, self.signer.read()?);
        let mut progress = Progress::new("imported");
        let show = &mut |done, total| progress.show(done, total);
        let imported = services::run(async { import_log(&config, &self.file, &signers, show).await.map_err(failed) });
        progress.clear();
        let imported = imported?;
        let (devices, vouchers, head) = (imported.devices, imported.vouchers, imported.head);
        match json {
            true => output::json(&with_head(json!({ "devices": devices, "vouchers": vouchers }), &head)),
            false => output::line(format_args!(
                "imported; devices: {devices}; entries: {}; vouchers: {vouchers}; head: {head}",
                head.length
            )),
        }
    }
}

impl Signer {
    /// Returns the certificates in the file, or none.
    fn read(&self) -> Result<Vec<CertificateDer<'static>>, Failure> {
        let Some(path) = &self.signer else { return Ok(Vec::new()) };
        let certificates = read_certificates(path).map_err(|error| Failure::Failed(error.to_string()))?;
        Ok(certificates.into_iter().take(1).collect())
    }
}

/// Returns the certificate of the voucher signer.
fn own_certificate(config: &MasaConfig) -> Result<Vec<CertificateDer<'static>>, Failure> {
    Signer { signer: Some(config.voucher_signer.chain.clone()) }.read()
}

/// Creates a file that only its owner can read: it will have vouchers.
fn create(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn with_head(mut object: Value, head: &LogHead) -> Value {
    object["length"] = head.length.into();
    object["head"] = head.hash_hex().into();
    object
}

fn object(finding: &Finding) -> Value {
    json!({
        "ok": false,
        "file": finding.file.as_ref().map(|file| file.display().to_string()),
        "position": finding.position,
        "serial_number": finding.serial_number,
        "number": finding.number,
        "problem": finding.problem.name(),
        "text": finding.to_string(),
    })
}

/// Shows on a terminal how many entries are done.
struct Progress {
    what: &'static str,
    is_terminal: bool,
    shown: Option<Instant>,
}

impl Progress {
    fn new(what: &'static str) -> Self {
        Self { what, is_terminal: io::stderr().is_terminal(), shown: None }
    }

    fn show(&mut self, done: i64, total: i64) {
        if self.is_terminal && self.shown.is_none_or(|shown| shown.elapsed() >= INTERVAL) {
            self.shown = Some(Instant::now());
            // A terminal that is gone needs no progress.
            let _ = write!(io::stderr().lock(), "\r\x1b[2K{done} of {total} entries {}", self.what);
        }
    }

    fn clear(&self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

/// How often progress is shown.
const INTERVAL: Duration = Duration::from_millis(200);
