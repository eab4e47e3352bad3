//! `terse sim onboarding` onboards a device over a simulated link, in every form, and says what each step costs.
//!
//! What must always hold: two runs with one seed print the same.

use clap::Args;
use terse_brski::coap::PathForm;
use terse_brski::pledge::Proximity;
use terse_sim::compare::IpVersion;
use terse_sim::link::Link;
use terse_sim::onboarding::{self, Dtls, Outcome, Protocol, Setting};

use crate::failure::Failure;
use crate::output;

mod export;
mod hopping;
mod parties;
mod table;

/// A whole onboarding (BRSKI) on a simulated link: two handshakes, and every request between them.
///
/// The pledge, the registrar and the MASA are those of `terse-brski`, with the engine's TLS and DTLS. Registrar and MASA are one
/// host, and nobody takes time to compute: times are those of the link.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  terse sim onboarding
  terse sim onboarding --link ethernet --mtu 127 --loss 10 --seed 7
  terse sim onboarding --hops 3")]
pub(crate) struct OnboardingArgs {
    /// A link by its name: see `terse compare --link list`
    #[arg(long, value_name = "NAME", default_value = "ieee802154")]
    link: String,
    /// Through a stateless join proxy instead, in a 6TiSCH network in which the pledge is so many hops away from the root (2 to 8):
    /// an experiment, since devices join such networks by RFC 9031
    #[arg(long, value_name = "N", conflicts_with_all = ["link", "mtu"], value_parser = clap::value_parser!(u16).range(2..=8))]
    hops: Option<u16>,
    /// The largest IP packet on it; below 1280 bytes it is one of IPv4 [default: the link's]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(100..))]
    mtu: Option<u16>,
    /// How many of a hundred frames are lost, each way, each for itself; with --hops, by a mote that has acknowledged them
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=90))]
    loss: u8,
    /// What losses and timers follow from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A form of onboarding, and what it has cost.
struct Row {
    name: &'static str,
    outcome: Outcome,
}

impl OnboardingArgs {
    pub(super) fn run(&self, json: bool) -> Result<(), Failure> {
        let parties = parties::made().map_err(Failure::Failed)?;
        if let Some(hops) = self.hops {
            return hopping::run(hops, self.loss, self.seed, &parties, json);
        }
        let link = self.link()?;
        let mut rows = Vec::new();
        for (name, protocol) in forms() {
            let ip = if link.mtu < LEAST_MTU_OF_IPV6 { IpVersion::V4 } else { IpVersion::V6 };
            let setting = Setting { ip, seed: self.seed, ..Setting::new(protocol, link.clone()) };
            let outcome = onboarding::run(&setting, &parties);
            let outcome = outcome.map_err(|failed| Failure::Failed(format!("{name}: {failed}")))?;
            rows.push(Row { name, outcome });
        }
        match json {
            true => rows.iter().try_for_each(|row| output::json(&export::Object::new(row))),
            false => output::line(table::all(&rows).trim_end()),
        }
    }

    fn link(&self) -> Result<Link, Failure> {
        let link: Link = self.link.parse().map_err(|error| Failure::Usage(format!("--link: {error}")))?;
        let mtu = self.mtu.map_or(link.mtu, usize::from);
        let loss = f64::from(self.loss) / 100.0;
        Ok(Link { mtu, ..link }.with_paths(|path| path.loss = loss))
    }
}

/// Returns the forms in which a device is onboarded: constrained BRSKI with its defaults, and with each of them left out, and BRSKI
/// over HTTPS.
fn forms() -> Vec<(&'static str, Protocol)> {
    let with = |dtls, form, of_request| {
        let mut protocol = Protocol::coaps(dtls);
        if let Protocol::Coaps { path_form, proximity, .. } = &mut protocol {
            (*path_form, *proximity) = (form, of_request);
        }
        protocol
    };
    let (short, long) = (PathForm::Abbreviated, PathForm::WellKnown);
    let (hash, certificate) = (Proximity::PublicKeySha256, Proximity::Certificate);
    vec![
        ("DTLS 1.2", with(Dtls::V12, short, hash)),
        ("DTLS 1.2, whole paths", with(Dtls::V12, long, hash)),
        ("DTLS 1.2, certificate", with(Dtls::V12, short, certificate)),
        ("DTLS 1.3", with(Dtls::V13, short, hash)),
        ("DTLS 1.3, whole paths", with(Dtls::V13, long, hash)),
        ("DTLS 1.3, certificate", with(Dtls::V13, short, certificate)),
        ("HTTPS, TLS 1.3", Protocol::https()),
    ]
}

/// RFC 8200, 5.
const LEAST_MTU_OF_IPV6: usize = 1_280;
