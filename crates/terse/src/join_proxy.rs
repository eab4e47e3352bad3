//! `terse join-proxy`: passes pledges on to the registrar. `terse-onboard` does the work; the arguments and the report are here.

use core::time::Duration;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use terse_onboard::config::ConfigError;
use terse_onboard::discovery::mdns::{Announcement, Browser};
use terse_onboard::discovery::{Place, Service};
use terse_onboard::join_proxy::{Counters, JoinProxy, JoinProxyConfig, Limits, MAX_REGISTRARS, UdpCounters, follow};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use crate::failure::Failure;
use crate::options::HostPort;
use crate::output::{self, printable};
use crate::services::{self, misconfigured};

mod init;
mod udp;

use init::Init;
use udp::{UdpArgs, UdpPlan};

const EXAMPLE: &str = "Example:
  terse join-proxy --listen [::]:8443 --registrar registrar.plant.example:8443 --announce
With
  --listen [fe80::1%eth0]:0                         for the devices of one link, at a port that the system picks
  --registrar one.example:8443 --registrar two.example:8443
                                                    the second one when the first one cannot be reached
  --udp [fe80::1%eth0]:5684 --udp-mode stateless --udp-registrar registrar.plant.example:5685 --udp-discovery
                                                    datagrams of constrained devices, too; or these alone, without --listen
  --config join-proxy.toml                          all of it from a file, which `terse join-proxy init` writes
Without --registrar it uses those that multicast DNS finds; without --udp-registrar those that answer by CoAP.";

/// A proxy for devices that have no way to the registrar yet (RFC 8995, 4).
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = EXAMPLE)]
pub(crate) struct JoinProxyArgs {
    #[command(subcommand)]
    command: Option<JoinProxyCommand>,
    /// The configuration, in place of the options below
    #[arg(long, value_name = "FILE", conflicts_with_all = OPTIONS)]
    config: Option<PathBuf>,
    /// Where to listen; port 0 picks one
    #[arg(long, value_name = "HOST:PORT", required_unless_present_any = ["config", "udp"])]
    listen: Option<HostPort>,
    /// Where a registrar is; of several, the next one is used when one cannot be reached (repeatable, at most 16) [default:
    /// what multicast DNS finds]
    #[arg(long = "registrar", value_name = "HOST:PORT")]
    registrars: Vec<Place>,
    /// Announce the proxy by multicast DNS
    #[arg(long)]
    announce: bool,
    /// The most connections at a time
    #[arg(long, value_name = "N", default_value = "256", value_parser = clap::value_parser!(u32).range(1..=65536))]
    connections: u32,
    /// The most connections of one address at a time
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..))]
    per_address: u32,
    /// End a connection on which nothing came for so long
    #[arg(long, value_name = "SECONDS", default_value = "90", value_parser = clap::value_parser!(u32).range(1..=86400))]
    idle: u32,
    /// End a connection after so long
    #[arg(long, value_name = "SECONDS", default_value = "900", value_parser = clap::value_parser!(u32).range(1..=604800))]
    total: u32,
    /// End a connection after so many bytes, both ways together
    #[arg(long, value_name = "BYTES", default_value = "1048576", value_parser = clap::value_parser!(u64).range(1..))]
    bytes: u64,
    #[command(flatten)]
    udp: UdpArgs,
    /// Also log what strangers cause
    #[arg(long, short)]
    verbose: bool,
}

/// The options that stand in a configuration otherwise.
const OPTIONS: [&str; 16] = [
    "listen",
    "registrars",
    "announce",
    "connections",
    "per_address",
    "idle",
    "total",
    "bytes",
    "udp",
    "udp_mode",
    "udp_registrars",
    "udp_ask",
    "udp_interfaces",
    "udp_discovery",
    "udp_discovery_port",
    "on_link",
];

#[derive(Debug, Subcommand)]
enum JoinProxyCommand {
    /// Write a configuration with every key
    #[command(after_help = "Example: terse join-proxy init --out proxy --registrar registrar.plant.example:8443\n\
        writes proxy/join-proxy.toml.")]
    Init(Init),
    /// Read the configuration, try where it listens and which registrars answer, and say what is wrong
    #[command(after_help = "Example: terse join-proxy check --config proxy/join-proxy.toml")]
    Check(Check),
}

#[derive(Args, Debug)]
struct Check {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "join-proxy.toml")]
    config: PathBuf,
}

pub(crate) fn run(args: JoinProxyArgs, json: bool) -> Result<(), Failure> {
    match args.command {
        None => services::run(args.serve(json)),
        Some(JoinProxyCommand::Init(init)) => init.run(json),
        Some(JoinProxyCommand::Check(check)) => services::run(check.run(json)),
    }
}

/// What a join proxy is told.
struct Plan {
    listen: Option<HostPort>,
    registrars: Vec<Place>,
    announce: bool,
    limits: Limits,
    udp: Option<UdpPlan>,
}

impl Plan {
    fn read(path: &Path) -> Result<Self, Failure> {
        let config = JoinProxyConfig::read(path).map_err(misconfigured)?;
        let wrong = |wrong: String| misconfigured(ConfigError::new(path, format_args!("listen: {wrong}")));
        let listen = config.listen.as_deref().map(str::parse).transpose().map_err(wrong)?;
        let udp = config.udp.map(UdpPlan::of).transpose().map_err(wrong)?;
        let JoinProxyConfig { registrars, announce, limits, .. } = config;
        Ok(Self { listen, registrars, announce, limits: limits.into(), udp })
    }

    async fn bind(&self) -> Result<Option<TcpListener>, Failure> {
        let Some(HostPort { host, port }) = &self.listen else { return Ok(None) };
        TcpListener::bind((host.as_str(), *port)).await.map(Some).map_err(|error| cannot_arrive(host, &error))
    }
}

impl Check {
    async fn run(self, json: bool) -> Result<(), Failure> {
        let plan = Plan::read(&self.config)?;
        let mut addresses = Vec::new();
        if let Some(listener) = plan.bind().await? {
            addresses.push(listener.local_addr().map_err(failed)?);
        }
        if let Some(udp) = &plan.udp {
            addresses.push(udp.check().await?);
        }
        let mut warnings = Vec::new();
        if plan.announce && addresses.iter().any(|address| address.ip().is_loopback()) {
            warnings.push("announce is true, but nobody else reaches a loopback address; change listen".to_owned());
        }
        for place in &plan.registrars {
            let connecting = TcpStream::connect((place.host(), place.port()));
            match tokio::time::timeout(plan.limits.connect_one, connecting).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => warnings.push(format!("the registrar {place} cannot be reached: {error}")),
                Err(_) => warnings.push(format!("the registrar {place} does not answer")),
            }
        }
        if let Some(udp) = &plan.udp {
            warnings.extend(udp.warnings().await);
        }
        if json {
            return output::json(&json!({ "ok": true, "warnings": warnings }));
        }
        warnings.iter().try_for_each(|warning| output::line(printable(warning)))?;
        output::line("the join proxy can run")
    }
}

impl JoinProxyArgs {
    fn plan(self) -> Result<Plan, Failure> {
        if let Some(path) = &self.config {
            return Plan::read(path);
        }
        at_most_all(&self.registrars, "--registrar")?;
        let limits = Limits {
            connections: self.connections as usize,
            per_address: self.per_address as usize,
            idle: Duration::from_secs(self.idle.into()),
            total: Duration::from_secs(self.total.into()),
            bytes: self.bytes,
            ..Limits::default()
        };
        let Self { listen, registrars, announce, udp, .. } = self;
        Ok(Plan { listen, registrars, announce, limits, udp: udp.plan()? })
    }

    async fn serve(self, json: bool) -> Result<(), Failure> {
        services::log(self.verbose);
        let plan = self.plan()?;
        let listener = plan.bind().await?;
        let socket = match &plan.udp {
            Some(udp) => Some(udp.bind().await?),
            None => None,
        };
        let stop = services::stop()?;
        let Plan { registrars, announce, limits, udp, .. } = plan;
        let tcp = async {
            match listener {
                Some(listener) => serve_tcp(listener, registrars, announce, limits, stop.clone()).await.map(Some),
                None => Ok(None),
            }
        };
        let datagrams = async {
            match udp.zip(socket) {
                Some((udp, socket)) => udp.serve(socket, announce, stop.clone()).await.map(Some),
                None => Ok(None),
            }
        };
        let (counters, udp_counters) = tokio::try_join!(tcp, datagrams)?;
        match json {
            true => output::json(&report(counters.unwrap_or_default(), udp_counters)),
            false => counters.map(line).into_iter().chain(udp_counters.map(udp::line)).try_for_each(output::line),
        }
    }
}

/// Passes connections on until it is told to stop.
async fn serve_tcp(
    listener: TcpListener,
    registrars: Vec<Place>,
    announce: bool,
    limits: Limits,
    stop: watch::Receiver<bool>,
) -> Result<Counters, Failure> {
    let address = listener.local_addr().map_err(failed)?;
    let is_told = !registrars.is_empty();
    let (registrars, known) = watch::channel(registrars);
    let (unreachable, failures) = mpsc::channel(MAX_REGISTRARS);
    if !is_told {
        tokio::spawn(follow(Browser::new(Service::Registrar).map_err(failed)?, registrars.clone(), failures));
    }
    let announcement = announce.then(|| Announcement::at(Service::Proxy, "join proxy", address));
    let announcement = announcement.transpose().map_err(failed)?;
    output::line(format_args!("listening {address}"))?;
    let counters = JoinProxy::with_registrars(listener, known, limits).report_failures(unreachable).run(stop).await;
    if let Some(announcement) = announcement {
        announcement.withdraw().await; // devices do not come any more
    }
    Ok(counters)
}

fn report(counters: Counters, udp: Option<UdpCounters>) -> serde_json::Value {
    let Counters { relayed, made_room, unreachable, cut_off, bytes, .. } = counters;
    json!({
        "relayed": relayed,
        "made_room": made_room,
        "unreachable": unreachable,
        "cut_off": cut_off,
        "bytes": bytes,
        "udp": udp.map(udp::report),
    })
}

fn line(counters: Counters) -> String {
    let Counters { relayed, made_room, unreachable, cut_off, bytes, .. } = counters;
    format!(
        "{relayed} connections passed on with {bytes} bytes, {cut_off} of them cut off; {made_room} made room for others, {unreachable} \
         without a registrar"
    )
}

/// Refuses more registrars than a proxy takes.
fn at_most_all(registrars: &[Place], option: &str) -> Result<(), Failure> {
    match registrars.len() {
        ..=MAX_REGISTRARS => Ok(()),
        _ => Err(Failure::Usage(format!("give {option} {MAX_REGISTRARS} times at most"))),
    }
}

fn cannot_arrive(host: &str, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{host}: devices cannot arrive: {error}; choose another address or port"))
}

fn failed(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}
