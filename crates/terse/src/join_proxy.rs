//! `terse join-proxy`: passes pledges on to the registrar. `terse-onboard` does the work; the arguments and the report are here.

use core::time::Duration;

use clap::Args;
use serde_json::json;
use terse_onboard::discovery::mdns::{Announcement, Browser};
use terse_onboard::discovery::{Place, Service};
use terse_onboard::join_proxy::{Counters, JoinProxy, Limits, MAX_REGISTRARS, follow};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::failure::Failure;
use crate::options::HostPort;
use crate::output;
use crate::services;

const EXAMPLE: &str = "Example:
  terse join-proxy --listen [::]:8443 --registrar registrar.plant.example:8443 --announce
With
  --listen [fe80::1%eth0]:0                         for the devices of one link, at a port that the system picks
  --registrar one.example:8443 --registrar two.example:8443
                                                    the second one when the first one cannot be reached
Without --registrar it uses those that multicast DNS finds.";

/// A proxy for devices that have no way to the registrar yet (RFC 8995, 4).
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct JoinProxyArgs {
    /// Where to listen; port 0 picks one
    #[arg(long, value_name = "HOST:PORT")]
    listen: HostPort,
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
    /// Also log what strangers cause
    #[arg(long, short)]
    verbose: bool,
}

pub(crate) fn run(args: JoinProxyArgs, json: bool) -> Result<(), Failure> {
    services::run(args.serve(json))
}

impl JoinProxyArgs {
    async fn serve(self, json: bool) -> Result<(), Failure> {
        services::log(self.verbose);
        let HostPort { host, port } = &self.listen;
        let listener = TcpListener::bind((host.as_str(), *port)).await;
        let listener = listener.map_err(|error| {
            Failure::Failed(format!("{host}: devices cannot arrive: {error}; choose another address or port"))
        })?;
        let address = listener.local_addr().map_err(failed)?;
        let limits = Limits {
            connections: self.connections as usize,
            per_address: self.per_address as usize,
            idle: Duration::from_secs(self.idle.into()),
            total: Duration::from_secs(self.total.into()),
            bytes: self.bytes,
            ..Limits::default()
        };
        if self.registrars.len() > MAX_REGISTRARS {
            return Err(Failure::Usage(format!("give --registrar {MAX_REGISTRARS} times at most")));
        }
        let is_told = !self.registrars.is_empty();
        let (registrars, known) = watch::channel(self.registrars);
        let (unreachable, failures) = mpsc::channel(MAX_REGISTRARS);
        if !is_told {
            tokio::spawn(follow(Browser::new(Service::Registrar).map_err(failed)?, registrars.clone(), failures));
        }
        let announcement = self.announce.then(|| Announcement::at(Service::Proxy, "join proxy", address));
        let announcement = announcement.transpose().map_err(failed)?;
        let stop = services::stop()?;
        output::line(format_args!("listening {address}"))?;
        let counters = JoinProxy::with_registrars(listener, known, limits).report_failures(unreachable).run(stop).await;
        if let Some(announcement) = announcement {
            announcement.withdraw().await; // devices do not come any more
        }
        report(counters, json)
    }
}

fn report(counters: Counters, json: bool) -> Result<(), Failure> {
    let Counters { relayed, refused, unreachable, cut_off, bytes, .. } = counters;
    if json {
        return output::json(&json!({
            "relayed": relayed,
            "refused": refused,
            "unreachable": unreachable,
            "cut_off": cut_off,
            "bytes": bytes,
        }));
    }
    output::line(format_args!(
        "{relayed} connections passed on with {bytes} bytes, {cut_off} of them cut off; {refused} refused, {unreachable} \
         without a registrar"
    ))
}

fn failed(error: impl core::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}
