//! The form of BRSKI that a device speaks: over HTTPS, or over CoAPS with what belongs to that.

use clap::{Args, ValueEnum};
use terse_onboard::pledge::{Coaps, CoapsSettings, Credentials, DtlsVersion, FormName, PledgeFile, Proximity};

use crate::failure::Failure;

/// The arguments.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct FormArgs {
    /// The form of BRSKI: RFC 8995 over HTTPS, constrained BRSKI over CoAPS, or any: CoAPS first [default: https]
    #[arg(long, value_enum)]
    form: Option<FormArg>,
    /// With CoAPS: the version of DTLS [default: 1.3]
    #[arg(long, value_enum, value_name = "VERSION")]
    dtls: Option<DtlsArg>,
    /// With CoAPS: name the registrar to its MASA by the hash of its key, by the key or by the certificate [default: pubk-sha256]
    #[arg(long, value_enum, value_name = "KIND")]
    proximity: Option<ProximityArg>,
    /// With CoAPS: what the device wants: a certificate, an identity key as well, or that alone, without any
    /// certificate of its domain [default: certificate]
    #[arg(long, value_enum, value_name = "KIND")]
    credentials: Option<CredentialsArg>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormArg {
    Https,
    Coaps,
    Any,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DtlsArg {
    #[value(name = "1.2")]
    Dtls12,
    #[value(name = "1.3")]
    Dtls13,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProximityArg {
    PubkSha256,
    Pubk,
    Cert,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CredentialsArg {
    Certificate,
    CertificateAndIdentityKey,
    IdentityKey,
}

/// The form of a device.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Https,
    Coaps(Coaps, CoapsSettings),
    Any(Coaps, CoapsSettings),
}

impl FormArgs {
    /// Returns the form of these arguments. What they leave out, the configuration says.
    pub(super) fn form(self, file: Option<&PledgeFile>) -> Result<Form, Failure> {
        let form = match self.form {
            Some(FormArg::Https) => FormName::Https,
            Some(FormArg::Coaps) => FormName::Coaps,
            Some(FormArg::Any) => FormName::Any,
            None => file.map_or(FormName::Https, |file| file.form),
        };
        let credentials = self.credentials(file);
        if form != FormName::Coaps && credentials != Credentials::Certificate {
            return Err(Failure::Usage("--credentials: only CoAPS has identity keys; add --form coaps".into()));
        }
        if form == FormName::Https {
            return match (self.dtls, self.proximity) {
                (None, None) => Ok(Form::Https),
                _ => Err(Failure::Usage("--dtls and --proximity are for constrained BRSKI: add --form coaps".into())),
            };
        }
        let proximity = match self.proximity {
            Some(ProximityArg::PubkSha256) => Some(Proximity::PublicKeySha256),
            Some(ProximityArg::Pubk) => Some(Proximity::PublicKey),
            Some(ProximityArg::Cert) => Some(Proximity::Certificate),
            None => file.and_then(|file| file.proximity),
        };
        if (credentials, proximity) == (Credentials::IdentityKey, Some(Proximity::Certificate)) {
            let problem = "--proximity cert: without certificates there is none to name the registrar by; leave it out";
            return Err(Failure::Usage(problem.into()));
        }
        let mut settings = CoapsSettings::default();
        settings.version = match self.dtls {
            Some(DtlsArg::Dtls12) => DtlsVersion::Dtls12,
            Some(DtlsArg::Dtls13) => DtlsVersion::Dtls13,
            None => file.and_then(|file| file.dtls).unwrap_or_default(),
        };
        let coaps = Coaps::default().with_proximity(proximity.unwrap_or_default()).with_credentials(credentials);
        Ok(match form {
            FormName::Any => Form::Any(coaps, settings),
            _ => Form::Coaps(coaps, settings),
        })
    }

    fn credentials(self, file: Option<&PledgeFile>) -> Credentials {
        match self.credentials {
            Some(CredentialsArg::Certificate) => Credentials::Certificate,
            Some(CredentialsArg::CertificateAndIdentityKey) => Credentials::CertificateAndIdentityKey,
            Some(CredentialsArg::IdentityKey) => Credentials::IdentityKey,
            None => file.and_then(|file| file.credentials).unwrap_or_default(),
        }
    }
}

impl Form {
    pub(super) const fn name(self) -> FormName {
        match self {
            Self::Https => FormName::Https,
            Self::Coaps(..) => FormName::Coaps,
            Self::Any(..) => FormName::Any,
        }
    }

    /// Returns the settings for datagrams.
    pub(super) fn settings(self) -> CoapsSettings {
        match self {
            Self::Https => CoapsSettings::default(),
            Self::Coaps(_, settings) | Self::Any(_, settings) => settings,
        }
    }
}
