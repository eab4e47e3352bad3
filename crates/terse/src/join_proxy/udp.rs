//! The datagrams of `terse join-proxy`.

use core::net::SocketAddr;

use clap::Args;
use serde_json::{Value, json};
use terse_onboard::discovery::coap::{CoreResponder, Links, MAX_SOCKETS, PORT, Reach, Seeker};
use terse_onboard::discovery::mdns::Announcement;
use terse_onboard::discovery::{Place, Service};
use terse_onboard::join_proxy::{
    MAX_PREFIXES, MAX_REGISTRARS, Mode, OnLink, Prefix, UdpConfig, UdpCounters, UdpLimits, UdpProxy, follow,
};
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, watch};

use super::{at_most_all, cannot_arrive, failed};
use crate::failure::Failure;
use crate::options::HostPort;
use crate::output;

#[derive(Args, Debug)]
pub(super) struct UdpArgs {
    /// Where devices send datagrams to: an address of their link; port 0 picks one
    #[arg(long, value_name = "HOST:PORT", requires = "udp_mode")]
    udp: Option<HostPort>,
    /// How answers to datagrams find their device: stateful (by a source port for each) or stateless (by JPY messages)
    #[arg(long, value_name = "MODE", value_parser = mode, requires = "udp")]
    udp_mode: Option<Mode>,
    /// Where a registrar is for datagrams; in the stateless mode, where it takes JPY (repeatable, at most 16) [default: what
    /// answers by CoAP on the links]
    #[arg(long = "udp-registrar", value_name = "HOST:PORT", requires = "udp")]
    udp_registrars: Vec<Place>,
    /// Where to ask by CoAP which registrars there are, in place of all hosts of the links (repeatable, at most 16)
    #[arg(long, value_name = "HOST:PORT", requires = "udp", conflicts_with_all = ["udp_registrars", "udp_interfaces"])]
    udp_ask: Vec<Place>,
    /// An interface on whose link registrars are asked for, in place of all (repeatable, at most 16)
    #[arg(long = "udp-interface", value_name = "NAME", requires = "udp", conflicts_with = "udp_registrars")]
    udp_interfaces: Vec<String>,
    /// Answer devices that ask by CoAP for join proxies
    #[arg(long, requires = "udp")]
    udp_discovery: bool,
    /// The port where devices ask; 0 picks one [default: 5683]
    #[arg(long, value_name = "PORT", requires = "udp_discovery")]
    udp_discovery_port: Option<u16>,
    /// A prefix whose addresses devices may have that send datagrams, beside link-local ones (repeatable, at most 6)
    #[arg(long, value_name = "PREFIX", requires = "udp")]
    on_link: Vec<Prefix>,
}

/// What a join proxy does for datagrams.
pub(super) struct UdpPlan {
    mode: Mode,
    listen: HostPort,
    registrars: Vec<Place>,
    /// Whom to ask for registrars, if none is given.
    reach: Option<Reach>,
    /// The port where devices ask for the proxy.
    discovery: Option<u16>,
    on_link: OnLink,
    limits: UdpLimits,
}

impl UdpArgs {
    pub(super) fn plan(self) -> Result<Option<UdpPlan>, Failure> {
        let Self { udp, udp_mode, udp_registrars: registrars, udp_ask, udp_interfaces, on_link, .. } = self;
        let Some((listen, mode)) = udp.zip(udp_mode) else { return Ok(None) };
        at_most_all(&registrars, "--udp-registrar")?;
        if udp_ask.len().max(udp_interfaces.len()) > MAX_SOCKETS {
            let problem = format!("give --udp-ask and --udp-interface {MAX_SOCKETS} times at most");
            return Err(Failure::Usage(problem));
        }
        let reach = match (udp_ask.is_empty(), udp_interfaces.is_empty()) {
            _ if !registrars.is_empty() => None,
            (true, true) => Some(Reach::AllLinks),
            (true, false) => Some(Reach::Links(udp_interfaces)),
            (false, _) => Some(Reach::Hosts(udp_ask)),
        };
        let discovery = self.udp_discovery.then(|| self.udp_discovery_port.unwrap_or(PORT));
        let on_link = OnLink::new(on_link).ok_or_else(too_many_prefixes)?;
        let limits = UdpLimits::default();
        Ok(Some(UdpPlan { mode, listen, registrars, reach, discovery, on_link, limits }))
    }
}

impl UdpPlan {
    pub(super) fn of(config: UdpConfig) -> Result<Self, String> {
        let (limits, reach) = (config.limits(), config.reach());
        let discovery = config.discovery.then_some(config.discovery_port);
        let UdpConfig { mode, listen, registrars, on_link, .. } = config;
        Ok(Self { mode, listen: listen.parse()?, registrars, reach, discovery, on_link, limits })
    }

    pub(super) async fn bind(&self) -> Result<UdpSocket, Failure> {
        let HostPort { host, port } = &self.listen;
        UdpSocket::bind((host.as_str(), *port)).await.map_err(|error| cannot_arrive(host, &error))
    }

    /// Tries where devices arrive, and returns where they send to.
    pub(super) async fn check(&self) -> Result<SocketAddr, Failure> {
        let address = self.bind().await?.local_addr().map_err(failed)?;
        self.responder(address)?;
        Ok(address)
    }

    /// Returns what answers devices that ask for this proxy.
    fn responder(&self, address: SocketAddr) -> Result<Option<CoreResponder>, Failure> {
        let responder = |port| CoreResponder::new(Links::join_proxy(address.port())).beside(address, port);
        self.discovery.map(responder).transpose().map_err(failed)
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
        let address = socket.local_addr().map_err(failed)?;
        let responder = self.responder(address)?;
        let (registrars, known) = watch::channel(self.registrars);
        let (unreachable, failures) = mpsc::channel(MAX_REGISTRARS);
        if let Some(reach) = self.reach {
            let seeker = Seeker::new(&[self.mode.sought()], reach).map_err(failed)?;
            tokio::spawn(follow(seeker, registrars.clone(), failures));
        }
        let proxy = UdpProxy::new(socket, self.mode, known, self.on_link, self.limits).map_err(failed)?;
        let proxy = proxy.report_failures(unreachable);
        let announcement = announce.then(|| Announcement::at(Service::DatagramProxy, "join proxy", address));
        let announcement = announcement.transpose().map_err(failed)?;
        output::line(format_args!("udp {address}"))?;
        for address in responder.iter().flat_map(CoreResponder::local_addrs) {
            output::line(format_args!("discovery {address}"))?;
        }
        let answering = async {
            if let Some(responder) = responder {
                responder.run(stop.clone()).await;
            }
        };
        let (counters, ()) = tokio::join!(proxy.run(stop.clone()), answering);
        let counters = counters.map_err(failed)?;
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
