//! `terse pki revoke`, `crl` and `ocsp`: which certificates of a CA are no longer good.

use std::path::{Path, PathBuf};

use clap::Args;
use terse_net::files::read_certificates;
use terse_pki::{Authority, OcspOptions, Validity, write_file};

use super::{SLOW_CLOCK, Written, failed, failure, file_name, now};
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// The certificate file, or the name that it was issued for
    #[arg(value_name = "NAME|FILE")]
    target: PathBuf,
    #[command(flatten)]
    crl: Crl,
}

#[derive(Debug, Args)]
pub(crate) struct Crl {
    /// The directory of the CA
    #[arg(long, value_name = "DIR", default_value = "ca")]
    ca: PathBuf,
    /// After how many days the next CRL is due
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
}

#[derive(Debug, Args)]
pub(crate) struct Ocsp {
    /// The certificate file, or the name that it was issued for
    #[arg(value_name = "NAME|FILE")]
    target: PathBuf,
    /// The directory of the CA
    #[arg(long, value_name = "DIR", default_value = "ca")]
    ca: PathBuf,
    /// After how many days the next response is due
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// Where to write it [default: beside the certificate, with the ending .ocsp]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Revoke {
    pub(super) fn run(self) -> Result<Vec<Written>, Failure> {
        let path = certificate_file(self.target);
        self.crl.run(Some(&path))
    }
}

/// Returns the named file, or the one that was written for a name.
fn certificate_file(target: PathBuf) -> PathBuf {
    let named = target.to_str().map(|name| PathBuf::from(file_name(name, "pem")));
    match named {
        Some(path) if !target.exists() && path.exists() => path,
        _ => target,
    }
}

impl Ocsp {
    pub(super) fn run(self) -> Result<Vec<Written>, Failure> {
        let authority = Authority::load(&self.ca).map_err(failure)?;
        let path = certificate_file(self.target);
        let certificates = read_certificates(&path).map_err(failed)?;
        let leaf = &certificates[0]; // a file without certificates is refused
        let about = |e| Failure::Failed(format!("{}: {e}", path.display()));
        let now = now()?;
        let options = OcspOptions {
            status: authority.status(&self.ca, leaf).map_err(about)?,
            ..OcspOptions::good(now.saturating_sub(SLOW_CLOCK), self.days)
        };
        let response = authority.ocsp_response(leaf, &options).map_err(about)?;
        let out = self.out.unwrap_or_else(|| path.with_extension("ocsp"));
        write_file(&out, &response, false, true).map_err(failure)?;
        Ok(vec![Written::new(out, "OCSP response")])
    }
}

impl Crl {
    pub(super) fn run(self, revoke: Option<&Path>) -> Result<Vec<Written>, Failure> {
        let authority = Authority::load(&self.ca).map_err(failure)?;
        let mut certificates = revoke.map(read_certificates).transpose().map_err(failed)?.unwrap_or_default();
        certificates.truncate(1); // only the leaf: the rest of its chain stays valid
        if let (Some(path), Some(certificate)) = (revoke, certificates.first()) {
            authority.issuer_of(certificate).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))?;
        }
        let validity = Validity::days(now()?, self.days);
        let path = authority.revoke(&self.ca, &certificates, validity).map_err(failure)?;
        let kept = (0..authority.certificates().len()).filter(|issuer| !authority.has_key(*issuer)).count();
        let content = match kept {
            0 => "CRLs, one for each CA",
            _ => "CRLs; those of CAs whose key is not here are as they were",
        };
        Ok(vec![Written::new(path, content)])
    }
}
