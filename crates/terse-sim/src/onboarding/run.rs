//! An onboarding on a link, from the first packet to the last.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::cell::RefCell;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use smoltcp::wire::{IPV4_HEADER_LEN, IPV6_HEADER_LEN, UDP_HEADER_LEN};
use terse_brski::certificate::SerialNumberField;
use terse_brski::pledge::{Coaps, Form, Https, PledgeConfig};
use terse_tls::Datagrams;

use super::clock::Clock;
use super::coaps::{self, CoapsLink, CoapsOptions, CoapsRegistrar, LONGEST_DATAGRAM, Port};
use super::count::{Bytes, StepCount, count};
use super::https::{self, HttpsLink, HttpsRegistrar};
use super::journal::{Journal, Shared};
use super::parties::Parties;
use super::pledge::PledgeProgram;
use super::services::Services;
use super::setting::{Protocol, Setting};
use super::{Failed, link};
use crate::compare::IpVersion;
use crate::host::{Application, Host};
use crate::network::{Cause, LinkId, Network};
use crate::{Random, Time, tcp};

/// What an onboarding has cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The steps that were taken, in their order.
    pub steps: Vec<StepCount>,
    /// When the pledge was done: when it had the answer to its last status, or no longer tried to report it.
    pub enrolled: Duration,
    /// Whether the registrar was told that the pledge is enrolled.
    pub is_reported: bool,
    /// How many attempts and connections failed on the way, and were repeated.
    pub failures: usize,
    /// How many frames were lost on the link.
    pub lost: usize,
}

impl Outcome {
    /// Returns the bytes of all steps, from the pledge and to it.
    pub fn total(&self) -> [Bytes; 2] {
        self.steps.iter().fold([Bytes::default(); 2], |[up, down], step| [up + step.up, down + step.down])
    }
}

/// Runs an onboarding.
pub fn run(setting: &Setting, parties: &Parties) -> Result<Outcome, Failed> {
    let journal = Shared::default();
    let [pledge, registrar] = programs(setting, parties, &journal)?;
    let random = |stream| Random::new(setting.seed, RANDOM + stream);
    let [here, there] = addresses(setting.ip);
    let mut network: Network<Host<Box<dyn Application>>> = Network::new(setting.seed);
    let registrar = network.add(Host::new(there, registrar, random(0)));
    let pledge = network.add(Host::new(here, pledge, random(1)));
    let link = network.connect(pledge, registrar, setting.link.clone());
    let end = Time::ZERO + setting.limit;
    while network.next_time().is_some_and(|next| next <= end) && !is_over(&journal.borrow()) {
        network.step();
    }
    let journal_now = journal.borrow();
    let (enrolled, is_reported) = match (&journal_now.broken, journal_now.enrolled) {
        (Some(cause), _) => return Err(Failed::Parties(cause.clone())),
        (None, Some(enrolled)) => enrolled,
        (None, None) => return Err(Failed::NotEnrolled(journal_now.failures.join("; "))),
    };
    drop(journal_now);
    // The last packets, and what closes the connection.
    network.run_for(SETTLING);
    outcome(&network, link, &journal.borrow(), (enrolled, is_reported))
}

pub(super) fn is_over(journal: &Journal) -> bool {
    journal.broken.is_some() || journal.enrolled.is_some()
}

fn outcome(
    network: &Network<Host<Box<dyn Application>>>,
    link: LinkId,
    journal: &Journal,
    (enrolled, is_reported): (Time, bool),
) -> Result<Outcome, Failed> {
    let (ledger, conservation) = (network.ledger(link), network.conservation());
    if !conservation.holds() {
        return Err(Failed::Conservation(conservation.to_string()));
    }
    if conservation.packets.dropped_for(Cause::QueueFull) > 0 {
        return Err(Failed::QueueFull);
    }
    let steps = count(ledger, journal, enrolled);
    let outcome = Outcome {
        steps,
        enrolled: enrolled.since(Time::ZERO),
        is_reported,
        failures: journal.failures.len(),
        lost: conservation.frames.dropped_for(Cause::Lost) as usize,
    };
    let counted: usize = outcome.total().iter().map(Bytes::sum).sum();
    if counted != ledger.total().bytes() {
        return Err(Failed::Conservation(format!("{counted} bytes of {}", ledger.total().bytes())));
    }
    Ok(outcome)
}

/// Returns the programs of pledge and registrar.
fn programs(setting: &Setting, parties: &Parties, journal: &Shared) -> Result<[Box<dyn Application>; 2], Failed> {
    let clock = Clock { begins: parties.begins };
    let random = |stream| Random::new(setting.seed, RANDOM + 2 + stream);
    let both = || (parties.clone(), setting.protocol.clone());
    let services = Services::new(parties, random(0)).map_err(Failed::Parties)?;
    let services = Rc::new(RefCell::new(services));
    let [_, there] = addresses(setting.ip);
    match &setting.protocol {
        Protocol::Coaps { dtls, path_form, proximity, transmission, datagrams } => {
            let datagrams = fitting(*datagrams, setting)?;
            let options = CoapsOptions {
                dtls: *dtls,
                path_form: *path_form,
                transmission: *transmission,
                datagrams,
                remote: SocketAddr::new(there, coaps::PORT),
            };
            let config = parties.server(&setting.protocol, Some(datagrams)).map_err(failed)?;
            let registrar = CoapsRegistrar::new(
                options.clone(),
                (config, Port::Coaps(coaps::PORT)),
                services,
                clock,
                random(1),
                journal.clone(),
            );
            let carrier = CoapsLink::new(options, both(), clock, random(2), journal.clone());
            let pledge = pledge(Coaps::default().with_proximity(*proximity), carrier, parties, random(3), journal)?;
            Ok([pledge, Box::new(registrar.map_err(failed)?)])
        }
        Protocol::Https { tcp } => {
            let tcp = fitting_tcp(tcp, setting);
            let config = parties.server(&setting.protocol, None).map_err(failed)?;
            let registrar = HttpsRegistrar::new((config, tcp.clone()), services, clock, random(1), journal.clone());
            let remote = SocketAddr::new(there, https::PORT);
            let carrier = HttpsLink::new((remote, tcp), both(), clock, random(2), journal.clone());
            Ok([pledge(Https, carrier, parties, random(3), journal)?, Box::new(registrar)])
        }
    }
}

/// Returns the program of a pledge.
pub(super) fn pledge<F: Form + 'static>(
    form: F,
    carrier: impl link::Link + 'static,
    parties: &Parties,
    random: Random,
    journal: &Shared,
) -> Result<Box<dyn Application>, Failed> {
    let signer = parties.masa.chain().first().ok_or_else(|| failed("the voucher signer has no certificate"))?;
    let config = PledgeConfig::with_form(
        form,
        &parties.provider,
        parties.idevid.clone(),
        vec![signer.clone()],
        SerialNumberField::default(),
    );
    let keys = (parties.idevid.clone(), parties.ldevid_key.clone());
    let clock = Clock { begins: parties.begins };
    Ok(Box::new(PledgeProgram::new(config.map_err(failed)?, carrier, keys, clock, random, journal.clone())))
}

/// Returns these settings with the longest datagram that fits the link.
fn fitting(datagrams: Datagrams, setting: &Setting) -> Result<Datagrams, Failed> {
    let fits = setting.link.mtu.checked_sub(header_len(setting.ip) + UDP_HEADER_LEN).ok_or(Failed::LinkTooNarrow)?;
    match fits.min(LONGEST_DATAGRAM) {
        fits if fits >= Datagrams::LEAST_DATAGRAM => Ok(datagrams.max_datagram(fits)),
        _ => Err(Failed::LinkTooNarrow),
    }
}

/// Returns this configuration with the longest segment that fits the link.
fn fitting_tcp(tcp: &tcp::Config, setting: &Setting) -> tcp::Config {
    let mtu = u16::try_from(setting.link.mtu).unwrap_or(u16::MAX);
    tcp.clone().for_mtu(mtu, header_len(setting.ip) as u16)
}

const fn header_len(ip: IpVersion) -> usize {
    match ip {
        IpVersion::V4 => IPV4_HEADER_LEN,
        IpVersion::V6 => IPV6_HEADER_LEN,
    }
}

/// Returns the addresses of pledge and registrar: link-local ones of IPv6, since the pledge has no other, and of IPv4 those of a
/// block for documentation (RFC 5737).
const fn addresses(ip: IpVersion) -> [IpAddr; 2] {
    match ip {
        IpVersion::V4 => [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 17)), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))],
        IpVersion::V6 => [
            IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0x1615, 0x92cc, 0, 2)),
            IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0x1615, 0x92cc, 0, 1)),
        ],
    }
}

pub(super) fn failed(cause: impl core::fmt::Display) -> Failed {
    Failed::Parties(cause.to_string())
}

/// How long the link is watched after the pledge is enrolled.
const SETTLING: Duration = Duration::from_secs(5);

/// The first random stream that is not the network's.
pub(super) const RANDOM: u64 = 1 << 36;
