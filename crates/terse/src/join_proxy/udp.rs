//! The datagrams of `terse join-proxy`.

use clap::Args;
use serde_json::{Value, json};
use terse_onboard::discovery::mdns::Announcement;
use terse_onboard::discovery::{Place, Service};
use terse_onboard::join_proxy::{MAX_PREFIXES, Mode, OnLink, Prefix, UdpConfig, UdpCounters, UdpLimits, UdpProxy};
use tokio::net::UdpSocket;
use tokio::sync::watch;

use super::{at_most_all, cannot_arrive, failed};
use crate::failure::Failure;
use crate::options::HostPort;
use crate::output;

#[derive(Args, Debug)]
pub(super) struct UdpArgs {
    /// Where devices send datagrams to; port 0 picks one
    #[arg(long, value_name = "HOST:PORT", requires = "udp_mode", requires = "udp_registrars")]
    udp: Option<HostPort>,
    /// How answers to datagrams find their device: stateful (by a source port for each) or stateless (by JPY messages)
    #[arg(long, value_name = "MODE", value_parser = mode, requires = "udp")]
    udp_mode: Option<Mode>,
    /// Where a registrar is for datagrams; in the stateless mode, where it takes JPY (repeatable, at most 16)
    #[arg(long = "udp-registrar", value_name = "HOST:PORT", requires = "udp")]
    udp_registrars: Vec<Place>,
    /// A prefix whose addresses devices may have that send datagrams, beside link-local ones (repeatable, at most 6)
    #[arg(long, value_name = "PREFIX", requires = "udp")]
    on_link: Vec<Prefix>,
}

/// What a join proxy does for datagrams.
pub(super) struct UdpPlan {
    mode: Mode,
    listen: HostPort,
    registrars: Vec<Place>,
    on_link: OnLink,
    limits: UdpLimits,
}

impl UdpArgs {
    pub(super) fn plan(self) -> Result<Option<UdpPlan>, Failure> {
        let Self { udp, udp_mode, udp_registrars: registrars, on_link } = self;
        let Some((listen, mode)) = udp.zip(udp_mode) else { return Ok(None) };
        at_most_all(&registrars, "--udp-registrar")?;
        let on_link = OnLink::new(on_link).ok_or_else(too_many_prefixes)?;
        Ok(Some(UdpPlan { mode, listen, registrars, on_link, limits: UdpLimits::default() }))
    }
}

impl UdpPlan {
    pub(super) fn of(config: UdpConfig) -> Result<Self, String> {
        let limits = config.limits();
        let UdpConfig { mode, listen, registrars, on_link, .. } = config;
        Ok(Self { mode, listen: listen.parse()?, registrars, on_link, limits })
    }

    pub(super) async fn bind(&self) -> Result<UdpSocket, Failure> {
        let HostPort { host, port } = &self.listen;
        UdpSocket::bind((host.as_str(), *port)).await.map_err(|error| cannot_arrive(host, &error))
    }

    /// Returns what is to be seen of the registrars without sending anything: whether their names have addresses.
    pub(super) async fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for place in &self.registrars {
            if let Err(error) = tokio::net::lookup_host((place.host(), place.port())).await {
                warnings.push(format!("the registrar {place} has no address: {error}"));
            }
        }
        warnings
    }

    /// Passes datagrams on until it is told to stop.
    pub(super) async fn serve(
        self,
        socket: UdpSocket,
        announce: bool,
        stop: watch::Receiver<bool>,
    ) -> Result<UdpCounters, Failure> {
        let (_registrars, known) = watch::channel(self.registrars);
        let proxy = UdpProxy::new(socket, self.mode, known, self.on_link, self.limits).map_err(failed)?;
        let address = proxy.local_addr();
        let announcement = announce.then(|| Announcement::at(Service::DatagramProxy, "join proxy", address));
        let announcement = announcement.transpose().map_err(failed)?;
        output::line(format_args!("udp {address}"))?;
        let counters = proxy.run(stop).await.map_err(failed)?;
        if let Some(announcement) = announcement {
            announcement.withdraw().await; // devices do not come any more
        }
        Ok(counters)
    }
}

fn too_many_prefixes() -> Failure {
    Failure::Usage(format!("give --on-link {MAX_PREFIXES} times at most"))
}

/// Parses a mode.
pub(super) fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "stateful" => Ok(Mode::Stateful),
        "stateless" => Ok(Mode::Stateless),
        _ => Err("write stateful or stateless".into()),
    }
}

pub(super) fn report(counters: UdpCounters) -> Value {
    json!({
        "passed_on": counters.passed_on,
        "answered": counters.answered,
        "refused": counters.refused,
        "off_link": counters.off_link,
        "wrong_length": counters.wrong_length,
        "not_authentic": counters.not_authentic,
        "late": counters.late,
        "unreachable": counters.unreachable,
        "unsent": counters.unsent,
    })
}

pub(super) fn line(counters: UdpCounters) -> String {
    let UdpCounters {
        passed_on,
        answered,
        refused,
        off_link,
        wrong_length,
        not_authentic,
        late,
        unreachable,
        unsent,
        ..
    } = counters;
    format!(
        "{passed_on} datagrams and {answered} answers passed on; dropped: {refused} too many, {off_link} from elsewhere, \
         {wrong_length} of a wrong length, {not_authentic} not authentic, {late} too late, {unreachable} without a registrar, \
         {unsent} unsent"
    )
}
