//! `terse pki csr` and `terse pki sign-csr`: certification requests (PKCS #10, RFC 2986).
//!
//! What must always hold: a certificate has what the operator gave, or what the operator said may be taken from the
//! request; the report names what was certified.

use std::fs::File as Input;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use terse_net::files::read_certificates;
use terse_pki::{
    CertificationRequest, KeyAlgorithm, LdevidPolicy, NamePolicy, NewRequest, RequestOptions, Subject, SubjectPolicy,
    to_pem, write_file,
};

use super::issue::{Days, File, Issuer, Output, names, refuse_existing};
use super::onboarding::subject;
use super::{Written, failed, failure, file_name};
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Csr {
    /// DNS name or IP address to ask for
    name: String,
    /// A further DNS name or IP address to ask for
    #[arg(long = "name", value_name = "ALT")]
    names: Vec<String>,
    /// An attribute of the subject to ask for: CN, serialNumber, C, L, ST, O, OU or DC (repeatable) [default: CN=NAME]
    #[arg(long = "subject", value_name = "ATTRIBUTE=VALUE")]
    subject: Vec<String>,
    /// Key algorithm: p256, p384, ed25519, rsa2048, rsa3072 or rsa4096
    #[arg(long, default_value_t = KeyAlgorithm::P256)]
    algorithm: KeyAlgorithm,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct SignCsr {
    /// The certification request (PEM or DER)
    #[arg(value_name = "FILE")]
    request: PathBuf,
    /// A DNS name or IP address for the certificate, whatever the request asks for (repeatable); the first one is the
    /// common name too, without --subject
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// An attribute of the certificate's subject, whatever the request asks for: CN, serialNumber, C, L, ST, O, OU or DC
    /// (repeatable)
    #[arg(long = "subject", value_name = "ATTRIBUTE=VALUE")]
    subject: Vec<String>,
    /// Certify the subject and the names that the request asks for: look at it before
    #[arg(long, conflicts_with_all = ["names", "subject"])]
    as_requested: bool,
    /// Certify the same subject and names again as this certificate has; refuse a request for others
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "subject", "as_requested"])]
    renew: Option<PathBuf>,
    /// For servers too [default: for clients only]
    #[arg(long)]
    server: bool,
    /// Certify only keys of this algorithm: p256, p384, ed25519, rsa2048, rsa3072 or rsa4096 (repeatable) [default: all]
    #[arg(long = "algorithm", value_name = "ALGORITHM")]
    algorithms: Vec<KeyAlgorithm>,
    #[command(flatten)]
    days: Days,
    #[command(flatten)]
    issuer: Issuer,
    /// Where to write the certificate chain [default: beside the request, with the ending .pem]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file that is there
    #[arg(long)]
    force: bool,
}

impl Csr {
    pub(super) fn run(self) -> Result<Vec<Written>, Failure> {
        let subject = match self.subject.is_empty() {
            true => Subject::common_name(&self.name).map_err(failure)?,
            false => subject(&self.subject)?,
        };
        let options = RequestOptions { subject, names: names(&self.name, self.names), algorithm: self.algorithm };
        let made = NewRequest::new(&options).map_err(failure)?;
        let key = match self.output.passphrase()? {
            Some(passphrase) => made.encrypted_key_pem(&passphrase).map_err(failure)?.into(),
            None => made.key_pem(),
        };
        let request = made.request().to_pem();
        self.output.write_files(vec![
            File::public(file_name(&self.name, "csr"), request, "certification request, for the CA"),
            File::secret(file_name(&self.name, "key"), key),
        ])
    }
}

impl SignCsr {
    pub(super) fn run(self) -> Result<Vec<Written>, Failure> {
        let request = read_request(&self.request)?;
        let authority = self.issuer.load()?;
        let validity = self.issuer.validity(&authority, &self.days)?;
        let mut policy = match &self.renew {
            Some(earlier) => {
                let earlier_chain = read_certificates(earlier).map_err(failed)?;
                let earlier_leaf = &earlier_chain[0]; // a file without certificates is refused
                let policy = authority.issuer_of(earlier_leaf);
                let policy = policy.and_then(|_| LdevidPolicy::renewal(earlier_leaf, validity));
                policy.map_err(|e| Failure::Failed(format!("{}: {e}", earlier.display())))?
            }
            None => {
                let (subject, names) = self.granted(&request)?;
                LdevidPolicy { subject, names, ..LdevidPolicy::new(Subject::empty(), validity) }
            }
        };
        policy.server = self.server;
        if !self.algorithms.is_empty() {
            policy.algorithms = self.algorithms;
        }
        let chain = authority
            .issue_ldevid(&request, &policy)
            .map_err(|e| Failure::Failed(format!("{}: {e}", self.request.display())))?;
        let subject = Subject::of(&chain[0]).map_err(failure)?; // the leaf is there
        let out = self.out.unwrap_or_else(|| self.request.with_extension("pem"));
        if out == self.request {
            let message = "the certificate would take the place of the request; give --out";
            return Err(Failure::Usage(format!("{}: {message}", out.display())));
        }
        refuse_existing(&out, self.force)?;
        let pem: String = chain.iter().map(|certificate| to_pem("CERTIFICATE", certificate)).collect();
        write_file(&out, pem.as_bytes(), false, self.force).map_err(failure)?;
        let of = if subject.is_empty() { String::new() } else { format!(" of {subject}") };
        Ok(vec![Written::new(out, format!("certificate chain{of}, without the root"))])
    }

    /// Returns what the operator grants of the names in a request.
    fn granted(&self, request: &CertificationRequest) -> Result<(SubjectPolicy, NamePolicy), Failure> {
        if self.as_requested {
            return Ok((SubjectPolicy::Requested, NamePolicy::Requested));
        }
        let subject = match (&self.subject[..], self.names.first()) {
            ([], None) => {
                let names = request.names().map_or_else(|error| error.to_string(), |names| names.join(", "));
                let names = if names.is_empty() { "no other names" } else { &names[..] };
                return Err(Failure::Usage(format!(
                    "{}: asks for the subject {:?} and {names}; give --as-requested to certify that, or --name",
                    self.request.display(),
                    request.subject().to_string()
                )));
            }
            ([], Some(name)) if name.len() <= 64 => Subject::common_name(name).map_err(failure)?,
            ([], Some(_)) => Subject::empty(), // a longer name is in the subjectAltName alone
            (attributes, _) => subject(attributes)?,
        };
        Ok((SubjectPolicy::Fixed(subject), NamePolicy::Fixed(self.names.clone())))
    }
}

/// Reads a certification request, of which no more is read than a request may have.
pub(super) fn read_request(path: &Path) -> Result<CertificationRequest, Failure> {
    let mut contents = Vec::new();
    let input = Input::open(path).and_then(|file| file.take(MAX_FILE_LEN).read_to_end(&mut contents));
    input.map_err(|e| Failure::Failed(format!("{}: cannot be read: {e}; check the name", path.display())))?;
    CertificationRequest::from_file_contents(&contents).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))
}

/// The most bytes that are read of a request's file; a longer one is refused for its length.
const MAX_FILE_LEN: u64 = 1 << 16;
