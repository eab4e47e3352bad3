//! `terse masa`: the MASA of a manufacturer, its factory, and what its operator asks of it. `terse-onboard` does the work; the
//! arguments and the report are here.

use core::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use terse_onboard::masa::{
    Change, DeviceLog, InitOptions, MasaConfig, MasaError, MasaService, Record, Written, change_device, device_logs,
    init, make_idevid,
};
use terse_pki::{Chain, KeyAlgorithm};
use tokio::net::TcpListener;

use crate::failure::Failure;
use crate::output::{self, printable};
use crate::pki::{failure, now};
use crate::services::{self, misconfigured};

mod log;
mod register;

use log::LogCommand;
use register::{Recorded, Register};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:
  terse masa init --out maker                       two CAs, the MASA's certificates, and its configuration
  terse masa --config maker/masa.toml               serve registrars
  kill -HUP PID                                     read the configuration and what it names again, while it serves
  terse masa make-idevid WI-3005 --config maker/masa.toml --out WI-3005
                                                    a device: its key, its IDevID, and the anchors of its vouchers"
)]
pub(crate) struct MasaArgs {
    #[command(subcommand)]
    command: Option<MasaCommand>,
    #[command(flatten)]
    config: Config,
    /// Also log what is refused to strangers
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Debug, Subcommand)]
enum MasaCommand {
    /// Set up a MASA: a CA for devices and HTTPS, one that issues only voucher signers, certificates of both, a configuration, a database
    #[command(after_help = "Example: terse masa init --out maker --name masa.maker.example\n\
        writes maker/masa.toml, and what it names.")]
    Init(Init),
    /// Make a device, as its factory: a key, its IDevID, and a record of it
    #[command(after_help = "Example: terse masa make-idevid WI-3005 --config maker/masa.toml --out WI-3005\n\
        writes WI-3005/WI-3005.pem, .key, WI-3005-anchors.pem, by which the device verifies its vouchers, and WI-3005.toml,\n\
        with which `terse pledge --config` runs.\n\
        terse masa make-idevid WI-3006 --raw-public-keys --config maker/masa.toml --out WI-3006    one that gets an identity\n\
        key in place of a certificate, by constrained BRSKI")]
    MakeIdevid(MakeIdevid),
    /// Register devices that another factory has made, by their IDevIDs
    #[command(after_help = "Example: terse masa register WI-3005.pem --config maker/masa.toml\n\
        registers the device whose certificate leads to one of the anchors in [manufacturer].\n\
        terse masa register devices/*.pem --sold-to plant --config maker/masa.toml    many, with a line for each\n\
        terse masa register devices/*.pem --raw-public-keys --config maker/masa.toml    whose vouchers pin keys")]
    Register(Register),
    /// Read the configuration, the keys and the database, and say what is wrong
    #[command(after_help = "Example: terse masa check --config maker/masa.toml")]
    Check(Config),
    /// Print who had vouchers for a device, the newest first
    #[command(after_help = "Example: terse masa audit WI-3005 --config maker/masa.toml")]
    Audit(Device),
    /// Verify, export or import the audit log of all devices
    #[command(
        subcommand,
        after_help = "Example: terse masa log verify --config maker/masa.toml\n\
            terse masa log export --out monday.jsonl --config maker/masa.toml"
    )]
    Log(LogCommand),
    /// Let the next domain claim a device
    #[command(after_help = "Example: terse masa release WI-3005 --config maker/masa.toml")]
    Release(Device),
    /// Issue no more vouchers for a device, because it was stolen
    #[command(after_help = "Example: terse masa block WI-3005 --config maker/masa.toml")]
    Block(Device),
    /// Issue vouchers for a device that was blocked
    #[command(after_help = "Example: terse masa unblock WI-3005 --config maker/masa.toml")]
    Unblock(Device),
    /// Read a password from standard input, and print its hash for [[pages.user]] in the configuration
    #[command(after_help = "Example: terse masa hash-password < password-file\n\
        The first line is the password. In masa.toml:\n\
        \x20 [[pages.user]]\n\
        \x20 name = \"alice\"\n\
        \x20 password_hash = \"$argon2id$...\"")]
    HashPassword,
}

#[derive(Debug, Args)]
struct Config {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "masa.toml")]
    config: PathBuf,
}

#[derive(Debug, Args)]
struct Device {
    /// The serial number
    serial: String,
    #[command(flatten)]
    config: Config,
}

#[derive(Debug, Args)]
struct Init {
    /// The directory to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The DNS name or IP address by which registrars reach it
    #[arg(long, value_name = "HOST", default_value = "localhost")]
    name: String,
    /// Where to listen [default: port 9443, at 127.0.0.1, or with --name at all addresses]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// Key algorithm: p256, p384 or ed25519
    #[arg(long, default_value_t = KeyAlgorithm::P256)]
    algorithm: KeyAlgorithm,
    /// Certificates from an IDevID to the root, both counted: 2 to 8
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=8))]
    chain: u8,
    /// The name of the CA for devices and HTTPS; that for voucher signers is called the same, and "vouchers"
    #[arg(long, value_name = "NAME", default_value = "Manufacturer")]
    ca_name: String,
    /// How long the certificates for HTTPS and for vouchers are valid; the CAs do not expire
    #[arg(long, value_name = "N", default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
}

#[derive(Debug, Args)]
struct MakeIdevid {
    /// The serial number of the device: 1 to 64 letters, digits, spaces and '()+,-./:=?
    serial: String,
    #[command(flatten)]
    config: Config,
    /// Where to write the files [default: here]
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    out: PathBuf,
    #[command(flatten)]
    recorded: Recorded,
}

pub(crate) fn run(args: MasaArgs, json: bool) -> Result<(), Failure> {
    match args.command {
        None => services::run(serve(args.config, args.verbose)),
        Some(MasaCommand::Init(init)) => init.run(json),
        Some(MasaCommand::MakeIdevid(make)) => make.run(json),
        Some(MasaCommand::Register(register)) => register.run(json),
        Some(MasaCommand::Check(config)) => check(&config, json),
        Some(MasaCommand::Audit(device)) => audit(&device, json),
        Some(MasaCommand::Log(command)) => command.run(json),
        Some(MasaCommand::Release(device)) => change(&device, Change::Release, json),
        Some(MasaCommand::Block(device)) => change(&device, Change::Block, json),
        Some(MasaCommand::Unblock(device)) => change(&device, Change::Unblock, json),
        Some(MasaCommand::HashPassword) => services::hash_password(json),
    }
}

async fn serve(config: Config, verbose: bool) -> Result<(), Failure> {
    services::log(verbose);
    let path = config.config.clone();
    let config = config.read()?;
    let mut service = MasaService::open(&config).await.map_err(misconfigured)?;
    let cannot_listen = |error: std::io::Error| {
        let problem = "choose another address in `listen`";
        Failure::Failed(format!("{}: cannot listen at {}: {error}; {problem}", path.display(), config.listen))
    };
    let listener = TcpListener::bind(config.listen).await.map_err(cannot_listen)?;
    let health = service.listen_for_health(&config).await.map_err(misconfigured)?;
    let pages = service.listen_for_pages(&config).await.map_err(misconfigured)?;
    let stop = services::stop()?;
    let reloader = service.reloader();
    let again = path.clone();
    services::on_hangup(move || reloader.reload(&MasaConfig::read(&again)?))?;
    output::line(format_args!("listening {}", listener.local_addr().map_err(cannot_listen)?))?;
    if let Some(address) = health {
        output::line(format_args!("health {address}"))?;
    }
    if let Some(address) = pages {
        output::line(format_args!("pages {address}"))?;
    }
    service.serve(listener, stop).await;
    Ok(())
}

impl Config {
    fn read(&self) -> Result<MasaConfig, Failure> {
        MasaConfig::read(&self.config).map_err(misconfigured)
    }

    /// Checks that the configuration has these customers.
    fn check_customers(&self, config: &MasaConfig, names: &[String]) -> Result<(), Failure> {
        let known = |name: &String| config.customers.iter().any(|customer| customer.name == *name);
        match names.iter().find(|name| !known(name)) {
            None => Ok(()),
            Some(unknown) => Err(Failure::Usage(format!(
                "{}: there is no customer {unknown:?}; add it, or correct --sold-to",
                self.config.display()
            ))),
        }
    }
}

impl Init {
    fn run(self, json: bool) -> Result<(), Failure> {
        let everywhere =
            if self.name == "localhost" { ([127, 0, 0, 1], 9443).into() } else { ([0u16; 8], 9443).into() };
        let options = InitOptions {
            out: self.out,
            name: self.name,
            listen: self.listen.unwrap_or(everywhere),
            chain: Chain::new(self.algorithm, self.chain.into()).map_err(failure)?,
            ca_name: self.ca_name,
            days: self.days,
            now: now()?,
        };
        report(&services::run(async { init(&options).await.map_err(failed) })?, json)
    }
}

impl MakeIdevid {
    fn run(self, json: bool) -> Result<(), Failure> {
        let config = self.config.read()?;
        let options = self.recorded.options(&self.config, &config)?;
        let now = now()?;
        let made =
            services::run(async { make_idevid(&config, &self.serial, &options, &self.out, now).await.map_err(failed) });
        report(&made?, json)
    }
}

fn check(config: &Config, json: bool) -> Result<(), Failure> {
    let path = config.config.display();
    let config = config.read()?;
    let checked = services::run(async { config.check().await.map_err(misconfigured) })?;
    if json {
        let customers = checked.customers;
        let (factory, warnings) = (checked.factory, checked.warnings);
        return output::json(&json!({ "ok": true, "customers": customers, "factory": factory, "warnings": warnings }));
    }
    checked.warnings.iter().try_for_each(|warning| output::line(printable(warning)))?;
    let factory = if checked.factory { "IDevIDs can be made" } else { "no IDevIDs are made here" };
    output::line(format_args!("{path}: good; customers: {}; {factory}", checked.customers))
}

fn audit(device: &Device, json: bool) -> Result<(), Failure> {
    let config = device.config.read()?;
    let logs = services::run(async { device_logs(&config, &device.serial).await.map_err(failed) })?;
    for log in &logs {
        // The RFC's own form has the dates as text.
        let audit_log: Value = serde_json::from_slice(&log.log.to_json())
            .map_err(|error| Failure::Failed(format!("the audit log cannot be printed: {error}")))?;
        match json {
            true => {
                let mut object = object(&log.record);
                object["audit_log"] = audit_log;
                output::json(&object)?;
            }
            false => print_log(log, &audit_log)?,
        }
    }
    Ok(())
}

fn print_log(log: &DeviceLog, audit_log: &Value) -> Result<(), Failure> {
    output::line(state(&log.record))?;
    let dates = audit_log["events"].as_array().into_iter().flatten().map(|event| event["date"].as_str());
    for (event, date) in log.log.events.iter().zip(dates) {
        let nonce = if event.nonce.is_some() { "nonce" } else { "no nonce" };
        let (date, assertion) = (date.unwrap_or_default(), event.assertion.name());
        output::line(format_args!("  {date}  domain {}  {assertion}, {nonce}", event.domain_id_hex()))?;
    }
    match log.log.arbitrary {
        0 => Ok(()),
        more => output::line(format_args!("  and {more} earlier")),
    }
}

fn change(device: &Device, change: Change, json: bool) -> Result<(), Failure> {
    let config = device.config.read()?;
    let records = services::run(async { change_device(&config, &device.serial, change).await.map_err(failed) })?;
    for record in &records {
        match json {
            true => output::json(&object(record))?,
            false => output::line(state(record))?,
        }
    }
    Ok(())
}

/// Says who has a device, for people.
fn state(record: &Record) -> String {
    let owner = record.device.owner.map_or("nobody".into(), |owner| format!("the domain with the key {}", hex(&owner)));
    let blocked = if record.device.is_blocked { "; blocked" } else { "" };
    let keys = if record.device.raw_public_keys_only { "; raw public keys alone" } else { "" };
    let registered = if record.is_registered { "" } else { "; not registered" };
    let (serial_number, vouchers) = (printable(&record.device.serial_number), record.entries);
    format!("{serial_number}: owned by {owner}; vouchers: {vouchers}{keys}{blocked}{registered}")
}

fn object(record: &Record) -> Value {
    json!({
        "serial_number": record.device.serial_number,
        "idevid_issuer": hex(&record.device.idevid_issuer),
        "registered": record.is_registered,
        "blocked": record.device.is_blocked,
        "raw_public_keys_only": record.device.raw_public_keys_only,
        "owner": record.device.owner.map(|owner| hex(&owner)),
        "vouchers": record.entries,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn report(written: &[Written], json: bool) -> Result<(), Failure> {
    let paths: Vec<_> = written.iter().map(|file| file.path.display().to_string()).collect();
    if json {
        return output::json(&json!({ "written": paths }));
    }
    let width = paths.iter().map(|path| path.chars().count()).max().unwrap_or(0);
    for (path, file) in paths.iter().zip(written) {
        output::line(format_args!("{path:width$}  {}", file.purpose))?;
    }
    Ok(())
}

fn failed(error: MasaError) -> Failure {
    match error {
        MasaError::Pki(error) => failure(error),
        error => Failure::Failed(error.to_string()),
    }
}
