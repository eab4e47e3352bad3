//! `terse registrar`: the registrar of a domain, and what its operator asks of it. `terse-onboard` does the work; the arguments
//! and the report are here.

use core::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use terse_net::Clock;
use terse_onboard::registrar::{
    DeviceReport, EndingCertificate, InitError, InitOptions, Operator, Pending, PendingReason,
};
use terse_onboard::registrar::{Rejection, Service, check, init};

use crate::failure::Failure;
use crate::output::{self, printable};
use crate::services::{self, misconfigured};

mod fetch;

use fetch::Fetch;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:
  terse registrar init --out plant --name registrar.plant.example --manufacturer-ca maker/ca/ca.pem
                                                    a domain CA, the registrar's certificate, and its configuration
  terse registrar --config plant/registrar.toml     serve pledges
  kill -HUP PID                                     read the configuration and what it names again, while it serves
  terse registrar pending --config plant/registrar.toml
                                                    devices that wait for a decision
  terse registrar accept WI-3005 --config plant/registrar.toml
  terse registrar fetch WI-3005 --config plant/registrar.toml
                                                    a voucher for a device that comes when the MASA cannot be reached"
)]
pub(crate) struct RegistrarArgs {
    #[command(subcommand)]
    command: Option<RegistrarCommand>,
    #[command(flatten)]
    config: Config,
    /// Also log what strangers cause
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Debug, Subcommand)]
enum RegistrarCommand {
    /// Set up a registrar: a CA for its domain, its certificate, and a configuration
    #[command(after_help = "Example: terse registrar init --out plant --name registrar.plant.example \\\n\
        \x20            --manufacturer-ca maker/ca/ca.pem\n\
        writes plant/registrar.toml, and what it names. With\n\
        \x20 --coaps [2001:db8::1]:5684 --jpy [2001:db8::1]:5685\n\
        devices of constrained BRSKI are served as well, also behind stateless join proxies.")]
    Init(Init),
    /// Read the configuration, the certificates, the keys and the CA, and say what is wrong
    #[command(after_help = "Example: terse registrar check --config plant/registrar.toml")]
    Check(Config),
    /// List the devices that wait for a decision
    #[command(after_help = "Example: terse registrar pending --config plant/registrar.toml")]
    Pending(Config),
    /// Let a device join, also with the audit log that it has
    #[command(after_help = "Example: terse registrar accept WI-3005 --config plant/registrar.toml")]
    Accept(Device),
    /// Keep a device out: it gets neither a voucher nor a certificate. A certificate that it has is revoked by
    /// `terse pki revoke`. Of a device that has not asked yet, the voucher is withdrawn that was fetched for it
    #[command(after_help = "Example: terse registrar reject WI-3005 --config plant/registrar.toml")]
    Reject(Device),
    /// List the devices that have had a voucher, the newest first
    #[command(after_help = "Example: terse registrar devices --config plant/registrar.toml")]
    Devices(Config),
    /// List the newest certificate of each device that ends soon or has ended lately, the first one first. Devices renew theirs
    /// before, so that these need somebody who looks after them
    #[command(after_help = "Example: terse registrar ending --days 14 --config plant/registrar.toml\n\
        lists those that end within 14 days, or have ended since 14 days. If there are none, nothing is printed, so that\n\
        cron sends no mail.")]
    Ending(Ending),
    /// Fetch a voucher without a nonce for a device that will come later, when the MASA cannot be reached. The MASA must know
    /// this registrar as a customer, and its URL must be configured
    #[command(after_help = "Example: terse registrar fetch WI-3005 --config plant/registrar.toml\n\
        With\n\
        \x20 --manufacturer maker --idevid-issuer maker-ca.pem    if there are several manufacturers, or several CAs")]
    Fetch(Fetch),
    /// List the vouchers that were fetched and have not expired, the newest first
    #[command(after_help = "Example: terse registrar vouchers --config plant/registrar.toml")]
    Vouchers(Config),
    /// Read a password from standard input, and print its hash for [[pages.user]] in the configuration
    #[command(after_help = "Example: terse registrar hash-password < password-file\n\
        The first line is the password. In registrar.toml:\n\
        \x20 [[pages.user]]\n\
        \x20 name = \"alice\"\n\
        \x20 password_hash = \"$argon2id$...\"")]
    HashPassword,
}

#[derive(Debug, Args)]
struct Config {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "registrar.toml")]
    config: PathBuf,
}

#[derive(Debug, Args)]
struct Ending {
    /// Within how many days
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3_650))]
    days: u32,
    #[command(flatten)]
    config: Config,
}

#[derive(Debug, Args)]
struct Device {
    /// The serial number
    serial: String,
    /// The name of the manufacturer, if devices of several have this serial number
    #[arg(long, value_name = "NAME")]
    manufacturer: Option<String>,
    #[command(flatten)]
    config: Config,
}

#[derive(Debug, Args)]
struct Init {
    /// The directory to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The DNS name or IP address of the registrar
    #[arg(long, value_name = "HOST")]
    name: String,
    /// The CA of the manufacturer whose devices may join
    #[arg(long, value_name = "FILE")]
    manufacturer_ca: PathBuf,
    /// The name of the manufacturer, for people
    #[arg(long, value_name = "NAME", default_value = "manufacturer")]
    manufacturer: String,
    /// Where pledges arrive [default: port 8443 of every address]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// Where devices of constrained BRSKI arrive, over CoAPS. UDP is answered from the address that it came to only if that is
    /// given here
    #[arg(long, value_name = "ADDR:PORT")]
    coaps: Option<SocketAddr>,
    /// Where stateless join proxies send to
    #[arg(long, value_name = "ADDR:PORT", requires = "coaps")]
    jpy: Option<SocketAddr>,
}

pub(crate) fn run(args: RegistrarArgs, json: bool) -> Result<(), Failure> {
    match args.command {
        None => services::run(serve(args.config, args.verbose)),
        Some(RegistrarCommand::Init(init)) => init.run(json),
        Some(RegistrarCommand::Check(config)) => services::run(config.check(json)),
        Some(RegistrarCommand::Pending(config)) => services::run(config.pending(json)),
        Some(RegistrarCommand::Accept(device)) => services::run(device.decide(true, json)),
        Some(RegistrarCommand::Reject(device)) => services::run(device.decide(false, json)),
        Some(RegistrarCommand::Devices(config)) => services::run(config.devices(json)),
        Some(RegistrarCommand::Ending(ending)) => services::run(ending.run(json)),
        Some(RegistrarCommand::Fetch(fetch)) => services::run(fetch.run(json)),
        Some(RegistrarCommand::Vouchers(config)) => services::run(config.vouchers(json)),
        Some(RegistrarCommand::HashPassword) => services::hash_password(json),
    }
}

async fn serve(config: Config, verbose: bool) -> Result<(), Failure> {
    services::log(verbose);
    let service = Service::open(&config.config, Clock::new()).await.map_err(failed)?;
    let listening = service.listen().await.map_err(failed)?;
    let stop = services::stop()?;
    let reloader = listening.reloader();
    services::on_hangup(move || reloader.reload())?;
    output::line(format_args!("listening {}", listening.address()))?;
    for (what, address) in [
        ("coaps", listening.coaps_address()),
        ("jpy", listening.jpy_address()),
        ("health", listening.health_address()),
        ("pages", listening.pages_address()),
    ] {
        if let Some(address) = address {
            output::line(format_args!("{what} {address}"))?;
        }
    }
    for address in listening.discovery_addresses() {
        output::line(format_args!("discovery {address}"))?;
    }
    listening.run(stop).await;
    Ok(())
}

impl Init {
    fn run(self, json: bool) -> Result<(), Failure> {
        let mut options = InitOptions::new(self.out, self.name, self.manufacturer_ca);
        options.manufacturer = self.manufacturer;
        options.listen = self.listen.unwrap_or(options.listen);
        (options.coaps, options.jpy) = (self.coaps, self.jpy);
        let written = init(&options, Clock::new()).map_err(|error| match error {
            InitError::Pki(terse_pki::Error::InvalidName(_)) | InitError::Manufacturer => {
                Failure::Usage(error.to_string())
            }
            _ => failed(error),
        })?;
        let written: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
        match json {
            true => output::json(&json!({ "written": written })),
            false => written.iter().try_for_each(output::line),
        }
    }
}

impl Config {
    async fn check(self, json: bool) -> Result<(), Failure> {
        let warnings = check(&self.config, Clock::new()).await.map_err(misconfigured)?;
        if json {
            return output::json(&json!({ "ok": true, "warnings": warnings }));
        }
        warnings.iter().try_for_each(|warning| output::line(printable(warning)))?;
        output::line("the registrar can run")
    }

    async fn open(&self) -> Result<Operator, Failure> {
        Operator::open(&self.config, Clock::new()).await.map_err(failed)
    }

    async fn pending(self, json: bool) -> Result<(), Failure> {
        let pending = self.open().await?.pending().await.map_err(failed)?;
        if json {
            return pending.iter().try_for_each(output::json);
        }
        let row = |Pending { serial_number, manufacturer, reason, .. }: &Pending| match reason {
            PendingReason::AuditLog(problem) => [serial_number.clone(), manufacturer.clone(), problem.clone()],
            _ => [serial_number.clone(), manufacturer.clone(), "wants to join".to_owned()],
        };
        table(["serial number", "manufacturer", "waits because"], pending.iter().map(row).collect())
    }

    async fn devices(self, json: bool) -> Result<(), Failure> {
        let devices = self.open().await?.devices().await.map_err(failed)?;
        if json {
            return devices.iter().try_for_each(output::json);
        }
        let row = |device: &DeviceReport| {
            let said = |status| match status {
                Some(true) => "good",
                Some(false) => "bad",
                None => "-",
            };
            let credentials = match (&device.ldevid, device.identity_key, device.is_rejected) {
                (_, _, true) => "rejected",
                (Some(_), None, _) => "certificate",
                (None, Some(_), _) => "identity key",
                (Some(_), Some(_), _) => "certificate, identity key",
                (None, None, _) => "-",
            };
            let reason = device.last_reason.clone().or_else(|| device.audit_reason.clone()).unwrap_or_default();
            [
                device.serial_number.clone(),
                device.manufacturer.clone(),
                said(device.voucher_status).into(),
                device.audit.clone(),
                credentials.into(),
                said(device.enroll_status).into(),
                reason,
            ]
        };
        let heads =
            ["serial number", "manufacturer", "voucher", "audit log", "credentials", "enrolment", "last reason"];
        table(heads, devices.iter().map(row).collect())
    }
}

impl Ending {
    async fn run(self, json: bool) -> Result<(), Failure> {
        let ending = self.config.open().await?.ending(self.days).await.map_err(failed)?;
        if json {
            return ending.iter().try_for_each(output::json);
        }
        if ending.is_empty() {
            return Ok(());
        }
        let row = |one: &EndingCertificate| {
            let state = if one.has_ended { "has ended" } else { "ends" };
            [one.serial_number.clone(), one.manufacturer.clone(), output::date(one.not_after), state.to_owned()]
        };
        table(["serial number", "manufacturer", "until", "state"], ending.iter().map(row).collect())
    }
}

impl Device {
    async fn decide(self, is_accepted: bool, json: bool) -> Result<(), Failure> {
        let operator = self.config.open().await?;
        let (serial, manufacturer) = (self.serial.as_str(), self.manufacturer.as_deref());
        let (manufacturer, decision) = match is_accepted {
            true => (operator.accept(serial, manufacturer).await.map_err(failed)?, "accepted"),
            false => match operator.reject(serial, manufacturer).await.map_err(failed)? {
                Rejection::Withdrawn(manufacturer) => (manufacturer, "withdrawn"),
                Rejection::Rejected(manufacturer) => (manufacturer, "rejected"),
            },
        };
        match (json, decision) {
            (true, _) => output::json(&json!({ "serial": serial, "manufacturer": manufacturer, "decision": decision })),
            (false, "withdrawn") => output::line(printable(&format!(
                "the voucher for {serial} of {manufacturer} is withdrawn; the device has not asked yet, and is rejected by the \
                 same command when it has"
            ))),
            (false, _) => output::line(printable(&format!("{serial} of {manufacturer} is {decision}"))),
        }
    }
}

/// Prints rows in columns; what devices say cannot break out of its line.
fn table<const N: usize>(heads: [&str; N], rows: Vec<[String; N]>) -> Result<(), Failure> {
    let heads = heads.map(str::to_owned);
    let rows: Vec<[String; N]> =
        core::iter::once(heads).chain(rows).map(|row| row.map(|text| printable(&text))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0); // below N
    let widths: [usize; N] = core::array::from_fn(width);
    for row in &rows {
        let line: String = row.iter().zip(widths).map(|(text, width)| format!("{text:width$}  ")).collect();
        output::line(line.trim_end())?;
    }
    Ok(())
}

fn failed(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}
