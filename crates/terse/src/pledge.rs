//! `terse pledge`: a device earns the credential of its domain, and renews it. `terse-onboard` does the work; the arguments and
//! the report are here.
//!
//! What must always hold: the exit code is 0 only if there is a credential in the directory; a credential that is there is not
//! replaced by that of another domain.

use core::num::NonZeroU32;
use core::time::Duration;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use terse_onboard::config::is_readable_by_others;
use terse_onboard::discovery::coap::{Reach, Seeker, Sought};
use terse_onboard::discovery::mdns::Browser;
use terse_onboard::discovery::{Discovery, Fixed, Place, Service, Together};
use terse_onboard::pledge::{
    Coaps, CoapsSettings, CredentialDirectory, Device, FormName, GaveUp, Onboarded, PledgeFile, Progress, Settings,
    SocketForm, onboard, renew, renew_over_coaps,
};
use terse_pki::KeyAlgorithm;

use crate::failure::Failure;
use crate::output::{self, printable};
use crate::services;

mod form;
mod report;

use form::{Form, FormArgs};
use report::{report, subject};

const EXAMPLE: &str = "Example:
  terse pledge --idevid WI-3005.pem --key WI-3005.key --masa-ca WI-3005-anchors.pem --out credential
                                                    onboard through any proxy that multicast DNS finds
With
  --registrar [fe80::1%eth0]:8443                   through this join proxy, or with this registrar
  --form coaps --registrar [fe80::1%eth0]:5684      constrained BRSKI, over CoAPS: CBOR and DTLS 1.3; --dtls 1.2 for DTLS 1.2
  --form any                                        the one, then the other, through what is found
  --form coaps --credentials identity-key           an identity key in the place of a certificate, by constrained BRSKI with
                                                    raw public keys; certificate-and-identity-key for both
  --config pledge.toml                              all of it from a file
  --renew --registrar registrar.plant.example:8443 --out credential
                                                    alone: renew the certificate that is in the directory; with
                                                    --form coaps at the registrar's port for CoAPS
It writes credential/ldevid.pem, the certificate with its key, and credential/domain-ca.pem, whom to trust:
  terse client --connect broker.plant.example:8883 --ca credential/domain-ca.pem \\
      --cert credential/ldevid.pem --key credential/ldevid.pem
and an identity key to credential/device.id:
  terse client --connect broker.plant.example:8883 --identity-key credential/device.id";

/// A device that is new in a network: it earns the credential of its domain (RFC 8995, or constrained BRSKI over CoAPS).
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = EXAMPLE)]
pub(crate) struct PledgeArgs {
    #[command(subcommand)]
    command: Option<PledgeCommand>,
    /// The configuration, in place of the files below
    #[arg(long, value_name = "FILE", conflicts_with_all = ["idevid", "key", "masa_ca"])]
    config: Option<PathBuf>,
    /// The certificate that the manufacturer has issued, and those above it
    #[arg(long, value_name = "FILE", required_unless_present_any = ["config", "renew"])]
    idevid: Option<PathBuf>,
    /// Its private key
    #[arg(long, value_name = "FILE", required_unless_present_any = ["config", "renew"])]
    key: Option<PathBuf>,
    /// The certificates under which the manufacturer signs vouchers
    #[arg(long, value_name = "FILE", required_unless_present_any = ["config", "renew"])]
    masa_ca: Option<PathBuf>,
    /// A join proxy or a registrar to try (repeatable) [default: what multicast DNS finds, and with CoAPS
    /// what answers by CoAP]
    #[arg(long = "registrar", value_name = "HOST:PORT")]
    registrars: Vec<Place>,
    #[command(flatten)]
    form: FormArgs,
    /// The directory for the credential
    #[arg(long, value_name = "DIR", required_unless_present = "config")]
    out: Option<PathBuf>,
    /// The algorithm of the new key
    #[arg(long, value_enum, default_value_t = Algorithm::P256)]
    algorithm: Algorithm,
    /// Refuse vouchers without a nonce, which can be used again
    #[arg(long)]
    require_nonce: bool,
    /// Try each registrar once, or the first that is found, instead of until the device is enrolled
    #[arg(long)]
    once: bool,
    /// Renew the certificate in the directory
    #[arg(long, requires = "registrars", conflicts_with_all = ["config", "idevid", "key", "masa_ca", "once", "require_nonce", "proximity", "credentials"])]
    renew: bool,
    /// Show each step, also if standard error is no terminal
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Debug, Subcommand)]
enum PledgeCommand {
    /// Read the configuration, the IDevID, its key and the directory of the credential, and say what is wrong
    #[command(after_help = "Example: terse pledge check --config WI-3005/WI-3005.toml\n\
        `terse masa make-idevid` writes such a file beside the IDevID.")]
    Check(Check),
}

#[derive(Args, Debug)]
struct Check {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "pledge.toml")]
    config: PathBuf,
}

impl Check {
    fn run(self, json: bool) -> Result<(), Failure> {
        let file = PledgeFile::read(&self.config).map_err(failed)?;
        let device = file.device().map_err(failed)?;
        if file.form != FormName::Https {
            device.clone().with_form(file.coaps()).map_err(failed)?;
        }
        let credentials = CredentialDirectory::new(&file.out);
        let mut warnings = Vec::new();
        match credentials.has_credential() {
            true => warnings.push(format!("{}: the device has a credential already", existing(&credentials).display())),
            false => credentials.check().map_err(failed)?,
        }
        if is_readable_by_others(&file.key) {
            warnings.push(format!("{}: others can read it; run chmod 600", file.key.display()));
        }
        if json {
            let (serial_number, form) = (device.serial_number(), file.form.name());
            return output::json(
                &json!({ "ok": true, "serial_number": serial_number, "form": form, "warnings": warnings }),
            );
        }
        warnings.iter().try_for_each(|warning| output::line(printable(warning)))?;
        output::line(printable(&format!("the device {} can be onboarded", device.serial_number())))
    }
}

/// The algorithms of keys that a domain certifies.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Algorithm {
    P256,
    P384,
    Ed25519,
}

impl From<Algorithm> for KeyAlgorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::P256 => Self::P256,
            Algorithm::P384 => Self::P384,
            Algorithm::Ed25519 => Self::Ed25519,
        }
    }
}

pub(crate) fn run(args: PledgeArgs, json: bool) -> Result<(), Failure> {
    match args.command {
        Some(PledgeCommand::Check(check)) => check.run(json),
        None if args.renew => services::run(args.renew(json)),
        None => services::run(args.onboard(json)),
    }
}

impl PledgeArgs {
    async fn onboard(self, json: bool) -> Result<(), Failure> {
        let file = self.config.as_deref().map(PledgeFile::read).transpose().map_err(failed)?;
        let form = self.form.form(file.as_ref())?;
        let device = self.device(file.as_ref())?;
        let (in_file, out) = file.map_or((Vec::new(), None), |file| (file.registrars, Some(file.out)));
        let registrars = if self.registrars.is_empty() { in_file } else { self.registrars.clone() };
        let out = self.out.clone().or(out).ok_or_else(|| Failure::Usage("give --out".into()))?;
        let credentials = CredentialDirectory::new(&out);
        if credentials.has_credential() {
            let problem = "the device has a credential already; renew it with --renew, or choose another --out";
            return Err(Failure::Failed(format!("{}: {problem}", existing(&credentials).display())));
        }
        credentials.check().map_err(failed)?;
        let way = Way { args: &self, registrars, credentials, settings: form.settings(), has_turns: self.once };
        match form {
            Form::Https => way.https(&device).await?.map_err(gave_up)?.report(&way, json),
            Form::Coaps(coaps, _) => {
                let device = device.with_form(coaps).map_err(failed)?;
                way.coaps(&device).await?.map_err(gave_up)?.report(&way, json)
            }
            Form::Any(coaps, _) => {
                let constrained = device.clone().with_form(coaps).map_err(failed)?;
                Way { has_turns: true, ..way }.in_turn(&constrained, &device, json).await
            }
        }
    }

    /// Returns the device of the configuration, or of the arguments.
    fn device(&self, file: Option<&PledgeFile>) -> Result<Device, Failure> {
        let device = match (file, &self.idevid, &self.key, &self.masa_ca) {
            (Some(file), ..) => file.device().map_err(failed)?,
            (None, Some(idevid), Some(key), Some(masa_ca)) => Device::read(idevid, key, masa_ca).map_err(failed)?,
            _ => return Err(Failure::Usage("give --config, or --idevid, --key and --masa-ca".into())),
        };
        Ok(if self.require_nonce { device.accept_nonceless(false) } else { device })
    }

    async fn renew(self, json: bool) -> Result<(), Failure> {
        let form = self.form.form(None)?;
        let out = self.out.ok_or_else(|| Failure::Usage("give --out".into()))?;
        let credentials = CredentialDirectory::new(out);
        let mut problems = Vec::new();
        for place in &self.registrars {
            let algorithm = self.algorithm.into();
            let renewed = match form {
                Form::Https => renew(&credentials, place, algorithm).await,
                Form::Any(..) => return Err(Failure::Usage("--renew: give --form https or --form coaps".into())),
                Form::Coaps(_, settings) => renew_over_coaps(&credentials, place, algorithm, &settings).await,
            };
            match renewed {
                Ok(credential) => {
                    let subject = subject(&credential);
                    let path = credentials.ldevid();
                    return match json {
                        true => output::json(&json!({
                            "renewed": true,
                            "registrar": place.to_string(),
                            "form": form.name().name(),
                            "subject": subject,
                            "ldevid": path.display().to_string(),
                        })),
                        false => output::line(format_args!("{}  {}", path.display(), printable(&subject))),
                    };
                }
                Err(problem) => problems.push(format!("{place}: {problem}")),
            }
        }
        Err(Failure::Failed(printable(&problems.join("; "))))
    }
}

/// How a device goes about it, in either form.
struct Way<'a> {
    args: &'a PledgeArgs,
    registrars: Vec<Place>,
    credentials: CredentialDirectory,
    settings: CoapsSettings,
    /// Whether each registrar is tried once.
    has_turns: bool,
}

/// A device that is enrolled.
struct Enrolled {
    serial_number: String,
    onboarded: Onboarded,
    form: FormName,
}

impl Way<'_> {
    async fn https(&self, device: &Device) -> Result<Result<Enrolled, GaveUp>, Failure> {
        let onboarded = match self.registrars.is_empty() {
            true => self.join(device, Browser::new(Service::Proxy).map_err(failed)?).await,
            false => self.join(device, Fixed::new(self.registrars.clone())).await,
        };
        Ok(onboarded.map(|onboarded| Enrolled::new(device, onboarded, FormName::Https)))
    }

    async fn coaps(&self, device: &Device<Coaps>) -> Result<Result<Enrolled, GaveUp>, Failure> {
        let onboarded = match self.registrars.is_empty() {
            true => {
                let browser = Browser::new(Service::DatagramProxy).map_err(failed)?;
                let seeker = Seeker::new(&[Sought::JoinProxy, Sought::Registrar], Reach::AllLinks).map_err(failed)?;
                self.join(device, Together::new(seeker, browser)).await
            }
            false => self.join(device, Fixed::new(self.registrars.clone())).await,
        };
        Ok(onboarded.map(|onboarded| Enrolled::new(device, onboarded, FormName::Coaps)))
    }

    /// Tries both forms, the smaller one first, and again and again with longer and longer pauses.
    async fn in_turn(self, coaps: &Device<Coaps>, https: &Device, json: bool) -> Result<(), Failure> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.coaps(coaps).await? {
                Ok(enrolled) => return enrolled.report(&self, json),
                Err(why) => self.say(&format!("over CoAPS: {why}; trying HTTPS")),
            }
            match self.https(https).await? {
                Ok(enrolled) => return enrolled.report(&self, json),
                Err(why) if self.args.once => return Err(gave_up(why)),
                Err(why) => self.say(&format!("over HTTPS: {why}; trying CoAPS in {} seconds", pause.as_secs())),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn join<F: SocketForm>(&self, device: &Device<F>, discovery: impl Discovery) -> Result<Onboarded, GaveUp> {
        let observe = |progress: Progress| match progress {
            // What stops a device for good, or what it will not get, is said in any case.
            Progress::NotStored(_) | Progress::NoIdentityKey(_) => output::warn(&printable(&progress.to_string())),
            progress => self.say(&progress.to_string()),
        };
        let attempts = u32::try_from(self.registrars.len().max(1)).unwrap_or(u32::MAX);
        let settings = Settings {
            max_failures: if self.has_turns { NonZeroU32::new(attempts) } else { None },
            algorithm: self.args.algorithm.into(),
            coaps: self.settings,
            ..Settings::default()
        };
        onboard(device, discovery, &self.credentials, &settings, observe).await
    }

    fn say(&self, what: &str) {
        if self.args.verbose || io::stderr().is_terminal() {
            output::warn(&printable(what));
        }
    }
}

impl Enrolled {
    fn new<F: SocketForm>(device: &Device<F>, onboarded: Onboarded, form: FormName) -> Self {
        Self { serial_number: device.serial_number().into(), onboarded, form }
    }

    fn report(&self, way: &Way<'_>, json: bool) -> Result<(), Failure> {
        report(&self.serial_number, &way.credentials, &self.onboarded, self.form, json)
    }
}

/// Returns the file of the credential that is there.
fn existing(credentials: &CredentialDirectory) -> PathBuf {
    match credentials.ldevid() {
        ldevid if ldevid.exists() => ldevid,
        _ => credentials.identity_key(),
    }
}

fn gave_up(why: GaveUp) -> Failure {
    Failure::Failed(printable(&why.to_string()))
}

fn failed(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(printable(&error.to_string()))
}

/// The first pause after both forms have failed, which doubles to an hour, as that of a proxy does (RFC 8995, 4.1).
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);
