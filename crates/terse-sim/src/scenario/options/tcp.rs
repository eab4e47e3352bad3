//! TCP on both sides: a profile, and every constant that scenarios change.

use core::time::Duration;

use super::Contradiction;
use crate::gateway::ProxyConfig;
use crate::scenario::visit::{Named, Visitor, choice, field, milliseconds, small};
use crate::tcp::{Acknowledgements, Config, EcnMode, Nagle};

/// TCP on both sides, and of the proxy towards the mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpOptions {
    /// Whether the server's first SYN and ACK is dropped before it is on the way, so that the server begins with a timeout of
    /// 3 s (the paper's section 5).
    pub drop_first_syn_ack: bool,
    /// The client.
    pub client: TcpSide,
    /// The server.
    pub server: TcpSide,
    /// The proxy towards the mesh, if the gateway is one. Towards the server it is a current Linux kernel.
    pub proxy: TcpSide,
}

/// TCP on one side.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSide {
    /// The profile that the constants come from, unless they were changed.
    pub profile: TcpProfile,
    /// The constants.
    pub config: Config,
}

/// A set of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpProfile {
    /// OpenWSN's TCP: [`Config::constrained`].
    Constrained,
    /// A current Linux kernel: [`Config::linux`].
    Linux,
    /// A proxy towards a mesh: [`ProxyConfig`].
    Proxy,
}

impl Named for TcpProfile {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Constrained, "constrained"), (Self::Linux, "linux"), (Self::Proxy, "proxy")];
}

impl Named for EcnMode {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Off, "off"), (Self::WhenAsked, "when-asked"), (Self::On, "on")];
}

impl Named for Nagle {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Off, "off"), (Self::On, "on"), (Self::Minshall, "minshall")];
}

impl TcpProfile {
    fn config(self) -> Config {
        match self {
            Self::Constrained => Config::constrained(),
            // IPv6 over a link of 1500 bytes.
            Self::Linux => Config::linux().for_mtu(1500, 40),
            Self::Proxy => ProxyConfig::default().mesh.for_mtu(1280, 40),
        }
    }
}

impl TcpSide {
    /// Returns a side with all constants of a profile.
    pub fn new(profile: TcpProfile) -> Self {
        Self { profile, config: profile.config() }
    }

    fn visit(&mut self, visitor: &mut dyn Visitor) {
        if choice(visitor, field("profile", "profile of TCP", ""), &mut self.profile) {
            self.config = self.profile.config();
        }
        let config = &mut self.config;
        let bytes = |key, what| field(key, what, "bytes");
        small(visitor, bytes("mss_bytes", "segment size"), &mut config.maximum_segment_size, 48..=1_440);
        choice(visitor, field("nagle", "use of Nagle's algorithm", ""), &mut config.nagle);
        visit_acknowledgements(&mut config.acknowledgements, visitor);
        visitor.flag(field("sack", "flag", ""), &mut config.sack_sender);
        config.sack_receiver = config.sack_sender;
        visitor.flag(field("timestamps", "flag", ""), &mut config.timestamps);
        choice(visitor, field("ecn", "use of ECN", ""), &mut config.ecn);
        visitor.flag(field("congestion_control", "flag", ""), &mut config.congestion_control);
        let window = field("initial_window_segments", "window", "segments");
        small(visitor, window, &mut config.initial_window, 1..=100);
        visitor.flag(field("loss_probe", "flag", ""), &mut config.loss_probe);
        let time = |key| field(key, "timeout", "milliseconds");
        milliseconds(visitor, time("rto_initial_ms"), &mut config.rto_initial, 1.0..=600_000.0);
        milliseconds(visitor, time("rto_minimum_ms"), &mut config.rto_minimum, 1.0..=600_000.0);
        milliseconds(visitor, time("rto_maximum_ms"), &mut config.rto_maximum, 1.0..=600_000.0);
        milliseconds(visitor, time("rto_granularity_ms"), &mut config.rto_granularity, 0.0..=600_000.0);
        // 0 leaves the timeout as it was.
        let mut after = config.rto_after_lost_syn.unwrap_or_default();
        milliseconds(visitor, time("rto_after_lost_syn_ms"), &mut after, 0.0..=600_000.0);
        config.rto_after_lost_syn = (!after.is_zero()).then_some(after);
        let retries = |key| field(key, "number of retries", "retries");
        small(visitor, retries("syn_retries"), &mut config.syn_retries, 0..=100);
        small(visitor, retries("retries"), &mut config.retries, 0..=100);
        small(visitor, bytes("send_buffer_bytes", "buffer"), &mut config.send_buffer, 128..=1_000_000);
        small(visitor, bytes("receive_window_bytes", "window"), &mut config.receive_window, 128..=1_000_000);
        let in_flight = field("segments_in_flight", "number of segments", "segments");
        small(visitor, in_flight, &mut config.maximum_in_flight, 1..=10_000);
    }

    fn check(&self, keys: [&'static str; 2], found: &mut Vec<Contradiction>) {
        let Config { rto_initial, rto_minimum, rto_maximum, .. } = self.config;
        let [minimum, initial] = keys;
        let ms = |time: Duration| time.as_millis();
        if rto_minimum > rto_maximum {
            found.push((minimum, format!("{} is more than rto_maximum_ms: 1 to {}", ms(rto_minimum), ms(rto_maximum))));
        }
        if rto_initial > rto_maximum {
            found.push((initial, format!("{} is more than rto_maximum_ms: 1 to {}", ms(rto_initial), ms(rto_maximum))));
        }
    }
}

impl Default for TcpOptions {
    fn default() -> Self {
        let side = TcpSide::new;
        Self {
            drop_first_syn_ack: false,
            client: side(TcpProfile::Constrained),
            server: side(TcpProfile::Linux),
            proxy: side(TcpProfile::Proxy),
        }
    }
}

impl TcpOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        visitor.flag(field("drop_first_syn_ack", "flag", ""), &mut self.drop_first_syn_ack);
        visitor.table("client", &mut |visitor| self.client.visit(visitor));
        visitor.table("server", &mut |visitor| self.server.visit(visitor));
        visitor.table("proxy", &mut |visitor| self.proxy.visit(visitor));
    }

    pub(super) fn check(&self, found: &mut Vec<Contradiction>) {
        self.client.check(["tcp.client.rto_minimum_ms", "tcp.client.rto_initial_ms"], found);
        self.server.check(["tcp.server.rto_minimum_ms", "tcp.server.rto_initial_ms"], found);
        self.proxy.check(["tcp.proxy.rto_minimum_ms", "tcp.proxy.rto_initial_ms"], found);
    }
}

fn visit_acknowledgements(acknowledgements: &mut Acknowledgements, visitor: &mut dyn Visitor) {
    const NAMES: [&str; 3] = ["immediate", "delayed", "adaptive"];
    let mut number = match acknowledgements {
        Acknowledgements::Immediate => 0,
        Acknowledgements::Delayed { .. } => 1,
        Acknowledgements::Adaptive { .. } => 2,
    };
    let before = number;
    visitor.choice(field("acknowledgements", "policy for acknowledgements", ""), &NAMES, &mut number);
    if number != before {
        *acknowledgements = match number {
            0 => Acknowledgements::Immediate,
            1 => Config::constrained().acknowledgements,
            _ => Config::linux().acknowledgements,
        };
    }
    if let Acknowledgements::Delayed { delay, segments, full_sized } = acknowledgements {
        milliseconds(visitor, field("ack_delay_ms", "delay", "milliseconds"), delay, 0.0..=500.0);
        small(visitor, field("ack_segments", "number of segments", "segments"), segments, 1..=100);
        visitor.flag(field("ack_full_segments_only", "flag", ""), full_sized);
    } else {
        visitor.without_meaning(&["ack_delay_ms", "ack_segments", "ack_full_segments_only"]);
    }
}
