//! What is outside of the mesh: the serial line, the gateway, the Internet; the timers of DTLS; and a paper's values.

use core::net::Ipv6Addr;
use core::time::Duration;

use super::Contradiction;
use crate::scenario::visit::{Visitor, field, milliseconds, small};

/// The serial line between the root and the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialOptions {
    /// The time that a frame to the gateway takes.
    pub up: Duration,
    /// The time between two frames to the root.
    pub down: Duration,
}

/// The network between the gateway and the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InternetOptions {
    /// The server's address.
    pub server: Ipv6Addr,
    /// The delay of each way.
    pub delay: Duration,
    /// The probability that a packet is lost.
    pub loss: f64,
    /// Bits per second; `None` is a line on which sending takes no time.
    pub rate: Option<f64>,
}

/// The gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayOptions {
    /// Whether it is a performance enhancing proxy (RFC 3135, 3.1.1), which ends TCP connections of both sides.
    pub proxy: bool,
}

/// DTLS on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DtlsOptions {
    /// The client's first timeout.
    pub client_timeout: Duration,
    /// The server's first timeout.
    pub server_timeout: Duration,
    /// The most that a timeout grows to.
    pub longest_timeout: Duration,
    /// The largest datagram that the engine sends. Datagrams of Mbed TLS follow from the maximum fragment length.
    pub datagram: u16,
}

/// What a paper measured, to be shown beside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PaperValues {
    /// The time until the client is connected, in milliseconds.
    pub latency_ms: Option<f64>,
    /// The bytes on the air.
    pub bytes: Option<f64>,
}

impl Default for SerialOptions {
    fn default() -> Self {
        Self { up: Duration::from_millis(10), down: Duration::from_millis(10) }
    }
}

impl Default for InternetOptions {
    fn default() -> Self {
        Self { server: Ipv6Addr::new(0xbbbb, 0, 0, 0, 0, 0, 0, 1), delay: Duration::ZERO, loss: 0.0, rate: None }
    }
}

impl Default for DtlsOptions {
    fn default() -> Self {
        Self {
            client_timeout: Duration::from_secs(3),
            server_timeout: Duration::from_secs(4),
            longest_timeout: Duration::from_secs(60),
            datagram: 1_037,
        }
    }
}

impl SerialOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        let time = |key| field(key, "time", "milliseconds");
        milliseconds(visitor, time("up_ms"), &mut self.up, 0.0..=10_000.0);
        milliseconds(visitor, time("down_ms"), &mut self.down, 0.0..=10_000.0);
    }
}

impl InternetOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        let mut server = self.server.to_string();
        let parse = |text: &str| text.parse::<Ipv6Addr>();
        visitor.text(field("server", "address", ""), &mut server, &|text| {
            parse(text).map(drop).map_err(|_| "an IPv6 address, such as \"bbbb::1\"".into())
        });
        self.server = parse(&server).unwrap_or(self.server);
        milliseconds(visitor, field("delay_ms", "delay", "milliseconds"), &mut self.delay, 0.0..=60_000.0);
        visitor.number(field("loss", "probability", ""), &mut self.loss, 0.0..=1.0);
        visitor.optional(field("rate_bit_per_s", "rate", "bits per second"), &mut self.rate, 1.0..=1e12);
    }
}

impl GatewayOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        visitor.flag(field("proxy", "flag", ""), &mut self.proxy);
    }
}

impl DtlsOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        let time = |key| field(key, "timeout", "milliseconds");
        milliseconds(visitor, time("client_timeout_ms"), &mut self.client_timeout, 10.0..=600_000.0);
        milliseconds(visitor, time("server_timeout_ms"), &mut self.server_timeout, 10.0..=600_000.0);
        milliseconds(visitor, time("longest_timeout_ms"), &mut self.longest_timeout, 10.0..=600_000.0);
        small(visitor, field("datagram_bytes", "size of a datagram", "bytes"), &mut self.datagram, 100..=1_377);
    }

    pub(super) fn check(&self, found: &mut Vec<Contradiction>) {
        for (key, first) in
            [("dtls.client_timeout_ms", self.client_timeout), ("dtls.server_timeout_ms", self.server_timeout)]
        {
            if first > self.longest_timeout {
                let (first, most) = (first.as_millis(), self.longest_timeout.as_millis());
                found.push((key, format!("{first} is more than longest_timeout_ms: 10 to {most}")));
            }
        }
    }
}

impl PaperValues {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        visitor.optional(field("latency_ms", "time", "milliseconds"), &mut self.latency_ms, 0.0..=1e9);
        visitor.optional(field("bytes", "number of bytes", "bytes"), &mut self.bytes, 0.0..=1e9);
    }
}
