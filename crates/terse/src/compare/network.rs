//! The options of the simulated network.

use core::time::Duration;

use clap::{Args, ValueEnum};
use terse_sim::compare::IpVersion;
use terse_sim::link::{Framing, Link, PROFILES};
use terse_sim::tcp;

use crate::failure::Failure;

/// The link, and what runs on it.
#[derive(Args, Debug)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkOptions {
    /// A link by its name (repeatable): see `terse compare --link list`
    #[arg(long = "link", value_name = "NAME", default_value = "ethernet")]
    links: Vec<String>,
    /// The largest IP packet on it (repeatable) [default: the link's]
    #[arg(long = "mtu", value_name = "BYTES", value_parser = clap::value_parser!(u16).range(100..))]
    mtus: Vec<u16>,
    /// How fast each side sends [default: the link's]
    #[arg(long, value_name = "KBIT/S", value_parser = positive, allow_negative_numbers = true)]
    rate: Option<f64>,
    /// How long a frame is on its way [default: the link's]
    #[arg(long, value_name = "MS", value_parser = not_negative, allow_negative_numbers = true)]
    delay: Option<f64>,
    /// How many of a hundred frames are lost, each way, each for itself [default: the link's]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    loss: Option<f64>,
    /// The version of IP [default: 4 where the link carries it]
    #[arg(long, value_name = "VERSION")]
    ip: Option<Ip>,
    /// How TCP behaves on both sides
    #[arg(long, value_name = "PROFILE", default_value = "linux")]
    tcp: TcpProfile,
    /// When TCP waits with small segments [default: linux: off, as in terse client and terse server; constrained: on]
    #[arg(long, value_name = "WHEN")]
    nagle: Option<Nagle>,
    /// The largest segment of TCP, if the MTU allows more [default: linux: none; constrained: 844]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(48..))]
    mss: Option<u16>,
}

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ip {
    /// IPv4
    #[value(name = "4")]
    V4,
    /// IPv6
    #[value(name = "6")]
    V6,
}

/// How TCP behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TcpProfile {
    /// As a Linux of today does: timestamps, SACK, ten segments at once
    Linux,
    /// As on a device (OpenWSN): small windows, no congestion window, a first timeout of 3 s after a lost SYN
    Constrained,
}

/// When TCP waits with a segment that is not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Nagle {
    /// While anything is not acknowledged (RFC 1122)
    On,
    /// While a small segment is not: what Linux does
    Minshall,
    /// Never (TCP_NODELAY)
    Off,
}

impl NetworkOptions {
    /// Returns all links, at all MTUs.
    pub(super) fn links(&self) -> Result<Vec<Link>, Failure> {
        let mut links: Vec<Link> = Vec::new();
        for name in &self.links {
            let link: Link = name.parse().map_err(|error| Failure::Usage(format!("--link: {error}")))?;
            if self.rate.is_some() && matches!(link.framing, Framing::LoraWan(_)) {
                let cause = format!(
                    "the rate of {name} follows from its spreading factor; leave --rate out, or take another --link"
                );
                return Err(Failure::Usage(cause));
            }
            let link = link.with_paths(|path| {
                if let Some(rate) = self.rate {
                    path.rate = Some((rate * 1e3) as u64);
                }
                if let Some(delay) = self.delay {
                    path.delay = Duration::from_secs_f64(delay / 1e3);
                }
                if let Some(loss) = self.loss {
                    path.loss = loss / 100.0;
                }
            });
            let mtus = match self.mtus.as_slice() {
                [] => vec![link.mtu],
                mtus => mtus.iter().map(|mtu| usize::from(*mtu)).collect(),
            };
            for mtu in mtus {
                let link = Link { mtu, ..link.clone() };
                // A link that was named twice is compared once.
                if !links.contains(&link) {
                    links.push(link);
                }
            }
        }
        Ok(links)
    }

    /// Returns the version of IP on `link`.
    pub(super) fn ip(&self, link: &Link) -> Result<IpVersion, Failure> {
        let carries_v4 = matches!(link.framing, Framing::Ethernet | Framing::Ip);
        match self.ip {
            Some(Ip::V4) if !carries_v4 => {
                Err(Failure::Usage(format!("{} carries IPv6 only; use --ip 6, or leave it out", link.name)))
            }
            Some(Ip::V6) => Ok(IpVersion::V6),
            Some(Ip::V4) => Ok(IpVersion::V4),
            None if carries_v4 => Ok(IpVersion::V4),
            None => Ok(IpVersion::V6),
        }
    }

    /// Returns the configuration of TCP, and whether its MSS applies where the MTU would allow more.
    pub(super) fn tcp(&self) -> (tcp::Config, bool) {
        let mut config = match self.tcp {
            TcpProfile::Linux => tcp::Config::linux(),
            TcpProfile::Constrained => tcp::Config::constrained(),
        };
        config.nagle = match (self.nagle, self.tcp) {
            (Some(Nagle::On), _) => tcp::Nagle::On,
            (Some(Nagle::Minshall), _) => tcp::Nagle::Minshall,
            // Programs for Linux set TCP_NODELAY, and so does `terse_net::Timed`.
            (Some(Nagle::Off), _) | (None, TcpProfile::Linux) => tcp::Nagle::Off,
            (None, TcpProfile::Constrained) => config.nagle,
        };
        if let Some(mss) = self.mss {
            config.maximum_segment_size = mss;
        }
        (config, self.mss.is_some() || self.tcp == TcpProfile::Constrained)
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 && number < 1e9 => Ok(number),
        _ => Err("write a number above 0, such as 50 or 0.3".into()),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..1e9).contains(&number) => Ok(number),
        _ => Err("write a number from 0 on, such as 50 or 0.3".into()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..100.0).contains(&number) => Ok(number),
        _ => Err("write a number from 0 to below 100, such as 5 or 0.5".into()),
    }
}

impl NetworkOptions {
    /// Whether only the list of links is wanted.
    pub(super) fn wants_list(&self) -> bool {
        self.links.iter().any(|name| name == "list")
    }
}

/// Returns the list of links by name.
pub(super) fn list() -> String {
    let lines = PROFILES.iter().filter_map(|name| name.parse::<Link>().ok()).map(|link| {
        let rate = |rate: Option<u64>| rate.map_or("-".into(), |rate| format!("{} kbit/s", rate / 1000));
        let (name, mtu, up) = (&link.name, link.mtu, &link.up);
        let delay = up.delay.as_secs_f64() * 1e3;
        format!("{name:<16} MTU {mtu:>4} B  {:>15}  {delay:>6} ms  loss {} %", rate(up.rate), up.loss * 100.0)
    });
    lines.collect::<Vec<_>>().join("\n")
}
