//! `terse pki idevid`, `masa` and `registrar`: the certificates that onboarding begins with (RFC 8995).

use std::path::PathBuf;

use clap::Args;
use terse_pki::{
    Error, IdevidOptions, KeyAlgorithm, LeafOptions, MasaUrl, NameAttribute, RegistrarOptions, Subject, Usage,
    Validity, VoucherSignerOptions, to_pem,
};

use super::issue::{Days, File, Issuer, Output, names};
use super::request::read_request;
use super::{SLOW_CLOCK, Written, failure, file_name, now};
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Idevid {
    /// The serial number of the device: 1 to 64 letters, digits, spaces and '()+,-./:=?
    serial: String,
    /// Where the manufacturer signs vouchers: a host with or without a port, or an https URL
    #[arg(long, value_name = "URL")]
    masa: Option<MasaUrl>,
    /// An attribute of the subject before the serial number: CN, C, L, ST, O, OU or DC (repeatable)
    #[arg(long = "subject", value_name = "ATTRIBUTE=VALUE")]
    subject: Vec<String>,
    /// Key algorithm: p256, p384, ed25519, rsa2048, rsa3072 or rsa4096 [default: that of the CA]
    #[arg(long)]
    algorithm: Option<KeyAlgorithm>,
    /// Certify the key in this certification request (PEM or DER), which the device made, instead of a new one. Of the
    /// request only the key counts
    #[arg(long, value_name = "FILE", conflicts_with_all = ["algorithm", "passphrase_file"])]
    csr: Option<PathBuf>,
    #[command(flatten)]
    issuer: Issuer,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Masa {
    #[command(flatten)]
    service: Service,
    /// The directory of the CA that issues voucher signers and nothing else
    #[arg(long, value_name = "DIR")]
    voucher_ca: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Registrar {
    #[command(flatten)]
    service: Service,
}

/// What the certificates of both services need.
#[derive(Debug, Args)]
struct Service {
    /// DNS name or IP address, of a MASA as in the MASA URL
    name: String,
    /// A further DNS name or IP address
    #[arg(long = "name", value_name = "ALT")]
    names: Vec<String>,
    /// Key algorithm: p256, p384, ed25519, rsa2048, rsa3072 or rsa4096 [default: that of the CA]
    #[arg(long)]
    algorithm: Option<KeyAlgorithm>,
    #[command(flatten)]
    days: Days,
    #[command(flatten)]
    issuer: Issuer,
    #[command(flatten)]
    output: Output,
}

impl Idevid {
    pub(super) fn run(self) -> Result<Vec<Written>, Failure> {
        let authority = self.issuer.load()?;
        let validity = Validity::without_end(now()?.saturating_sub(SLOW_CLOCK));
        let options = IdevidOptions {
            subject: subject(&self.subject)?,
            masa_url: self.masa,
            validity,
            algorithm: self.algorithm,
            ..IdevidOptions::new(&self.serial, validity.not_before)
        };
        let Some(path) = self.csr else {
            let credential = authority.issue_idevid(&options).map_err(failure)?;
            return self.output.write(&[(&self.serial, "", &credential)]);
        };
        let chain = authority.certify_idevid(&read_request(&path)?, &options).map_err(failure)?;
        let chain = chain.iter().map(|certificate| to_pem("CERTIFICATE", certificate)).collect();
        let purpose = "certificate chain, without the root";
        self.output.write_files(vec![File::public(file_name(&self.serial, "pem"), chain, purpose)])
    }
}

impl Masa {
    pub(super) fn run(self) -> Result<Vec<Written>, Failure> {
        let Service { name, names: alternatives, algorithm, days, issuer, output } = self.service;
        let (authority, of_signers) = (issuer.load()?, Issuer { ca: self.voucher_ca });
        let signers = of_signers.load()?;
        if signers.root() == authority.root() {
            let message =
                "a CA that issues web servers issues no voucher signers; make another one with `terse pki init`";
            return Err(Failure::Failed(format!("{}: {message}", of_signers.ca.display())));
        }
        let validity = issuer.validity(&authority, &days)?;
        of_signers.validity(&signers, &days)?;
        let options = LeafOptions::new(&name, validity);
        let options = LeafOptions { names: names(&name, alternatives), usage: Usage::Server, algorithm, ..options };
        let server = authority.issue(&options).map_err(failure)?;
        // The common name is for people, and has at most 64 characters.
        let common_name = format!("{} vouchers", name.chars().take(55).collect::<String>());
        let options = VoucherSignerOptions { algorithm, ..VoucherSignerOptions::new(&common_name, validity) };
        let signer = signers.issue_voucher_signer(&options).map_err(failure)?;
        let signer_name = format!("{name}-voucher");
        output.write(&[(&name, " for HTTPS", &server), (&signer_name, " for vouchers", &signer)])
    }
}

impl Registrar {
    pub(super) fn run(self) -> Result<Vec<Written>, Failure> {
        let Service { name, names: alternatives, algorithm, days, issuer, output } = self.service;
        let authority = issuer.load()?;
        let validity = issuer.validity(&authority, &days)?;
        let options = RegistrarOptions::new(&name, validity);
        let options = RegistrarOptions { names: names(&name, alternatives), algorithm, ..options };
        let credential = authority.issue_registrar(&options).map_err(failure)?;
        output.write(&[(&name, "", &credential)])
    }
}

/// Returns a subject of attributes with their values, such as `O=Plant`.
pub(super) fn subject(attributes: &[String]) -> Result<Subject, Failure> {
    attributes.iter().try_fold(Subject::empty(), |subject, attribute| {
        let invalid = || failure(Error::InvalidSubject(attribute.clone()));
        let (name, value) = attribute.split_once('=').ok_or_else(invalid)?;
        let name: NameAttribute = name.parse().map_err(|_| invalid())?;
        subject.with(name, value).map_err(failure)
    })
}
