//! What a whole network does, in which every mote is a device that connects: what happens to it, what devices report, and how they
//! connect again.

use core::time::Duration;

use super::Contradiction;
use crate::compare::Mode;
use crate::scenario::visit::{Named, Visitor, choice, field, milliseconds, small};

/// What happens to the network.
#[derive(Clone, Debug, PartialEq)]
pub struct EventOptions {
    /// What it is.
    pub kind: EventKind,
    /// For so long all devices are connected before it happens. A power cut is the beginning of the run.
    pub after: Duration,
    /// How long it lasts: the server is away, devices renew their certificates one after the other, or links are weak.
    pub lasts: Duration,
    /// The share of links that fade, both ways.
    pub share: f64,
    /// What is left of their share of frames that arrive.
    pub delivery: f64,
    /// The bytes of a request to enrol again.
    pub enrol_request: u16,
    /// The bytes of the answer, with the new certificate.
    pub enrol_reply: u16,
    /// For so long the network is observed once all devices are connected: for batteries and reports.
    pub observed: Duration,
}

/// An event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventKind {
    /// Power returns to everything at the same time: the network forms itself anew, and nobody is connected.
    #[default]
    PowerCut,
    /// The server behind the gateway begins anew, and has lost all connections.
    ServerRestart,
    /// Every device gets a new certificate, and connects with it.
    Renewal,
    /// Links get worse for a while.
    LinkFade,
}

/// What devices report while they are connected.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficOptions {
    /// The time between two reports of a device; zero for none.
    pub period: Duration,
    /// The bytes of a report, before it is protected.
    pub request: u16,
    /// The bytes of its answer.
    pub reply: u16,
    /// After so long without an answer a report is sent again; the time doubles then.
    pub timeout: Duration,
    /// How often it is sent again before the connection is given up.
    pub retries: u8,
}

/// How devices connect.
#[derive(Clone, Debug, PartialEq)]
pub struct ReconnectOptions {
    /// A device that can connect waits for a random time up to this before it does.
    pub spread: Duration,
    /// After a handshake that failed a device waits for half to one and a half of this time. The time doubles with each failure.
    pub wait: Duration,
    /// The most that it grows to.
    pub longest_wait: Duration,
}

impl Named for EventKind {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self::PowerCut, "power-cut"),
        (Self::ServerRestart, "server-restart"),
        (Self::Renewal, "renewal"),
        (Self::LinkFade, "link-fade"),
    ];
}

impl EventKind {
    /// Returns the name, as scenario files have it.
    pub fn text(self) -> &'static str {
        Named::name(self)
    }
}

impl Default for EventOptions {
    fn default() -> Self {
        Self {
            kind: EventKind::PowerCut,
            after: Duration::from_secs(600),
            lasts: Duration::from_secs(60),
            share: 1.0,
            delivery: 0.5,
            enrol_request: 350,
            enrol_reply: 500,
            observed: Duration::from_secs(600),
        }
    }
}

impl Default for TrafficOptions {
    fn default() -> Self {
        Self { period: Duration::ZERO, request: 32, reply: 8, timeout: Duration::from_secs(30), retries: 3 }
    }
}

impl Default for ReconnectOptions {
    fn default() -> Self {
        Self { spread: Duration::ZERO, wait: Duration::from_secs(30), longest_wait: Duration::from_secs(600) }
    }
}

impl EventOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        choice(visitor, field("kind", "kind of event", ""), &mut self.kind);
        let time = |key| field(key, "time", "milliseconds");
        milliseconds(visitor, time("after_ms"), &mut self.after, 0.0..=LONGEST);
        milliseconds(visitor, time("lasts_ms"), &mut self.lasts, 0.0..=LONGEST);
        visitor.number(field("share", "share of links", ""), &mut self.share, 0.0..=1.0);
        visitor.number(field("delivery", "share of frames", ""), &mut self.delivery, 0.0..=1.0);
        let bytes = |key| field(key, "number of bytes", "bytes");
        small(visitor, bytes("enrol_request_bytes"), &mut self.enrol_request, 16..=4_096);
        small(visitor, bytes("enrol_reply_bytes"), &mut self.enrol_reply, 8..=4_096);
        milliseconds(visitor, time("observed_ms"), &mut self.observed, 0.0..=LONGEST);
    }

    /// Checks what contradicts itself, beside this traffic and handshakes of this mode.
    pub(super) fn check(&self, traffic: &TrafficOptions, mode: Mode, found: &mut Vec<Contradiction>) {
        if self.kind == EventKind::Renewal && !mode.has_certificates() {
            let text =
                format!("there are no certificates to renew in mode {mode}: full, compact or another one with them");
            found.push(("event.kind", text));
        }
        let needs_reports = matches!(self.kind, EventKind::ServerRestart | EventKind::LinkFade);
        if !traffic.period.is_zero() && traffic.period < SHORTEST_PERIOD {
            let least = SHORTEST_PERIOD.as_millis();
            found.push((
                "traffic.period_ms",
                format!("a device that reports has a period of {least} at least: 0 for none"),
            ));
        }
        if needs_reports && traffic.period.is_zero() {
            let kind = self.kind.text();
            let text = format!("devices notice a {kind} by reports without an answer only: traffic.period_ms above 0");
            found.push(("event.kind", text));
        }
    }
}

impl TrafficOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        let time = |key| field(key, "time", "milliseconds");
        milliseconds(visitor, time("period_ms"), &mut self.period, 0.0..=LONGEST);
        let bytes = |key| field(key, "number of bytes", "bytes");
        small(visitor, bytes("request_bytes"), &mut self.request, 16..=900);
        small(visitor, bytes("reply_bytes"), &mut self.reply, 8..=900);
        milliseconds(visitor, time("timeout_ms"), &mut self.timeout, 100.0..=LONGEST);
        small(visitor, field("retries", "number of retries", "retries"), &mut self.retries, 0..=20);
    }
}

impl ReconnectOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        let time = |key| field(key, "time", "milliseconds");
        milliseconds(visitor, time("spread_ms"), &mut self.spread, 0.0..=LONGEST);
        milliseconds(visitor, time("wait_ms"), &mut self.wait, 100.0..=LONGEST);
        milliseconds(visitor, time("longest_wait_ms"), &mut self.longest_wait, 100.0..=LONGEST);
    }

    pub(super) fn check(&self, found: &mut Vec<Contradiction>) {
        let [first, most] = [self.wait, self.longest_wait].map(|time| time.as_millis());
        if first > most {
            found.push(("reconnect.wait_ms", format!("{first} is more than longest_wait_ms: 100 to {most}")));
        }
    }
}

/// The shortest time between two reports of a device: ten slots of 10 ms, in which hardly more than one gets through.
const SHORTEST_PERIOD: Duration = Duration::from_millis(100);

/// The longest time in milliseconds: ten days.
const LONGEST: f64 = 864_000_000.0;
