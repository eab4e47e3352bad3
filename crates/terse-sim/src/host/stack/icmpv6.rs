//! What a host answers by ICMPv6 (RFC 4443): echo requests, and datagrams to ports where nobody listens.

use core::time::Duration;

use super::Stack;
use crate::Time;
use crate::network::{Cause, Verdict};
use crate::packet::Packet;

/// What a host says about the datagrams that it cannot deliver.
#[derive(Debug, Default)]
pub(super) struct PortReports {
    pub(super) enabled: bool,
    /// The time at which the allowance for further messages is whole again, if it is not.
    allowance_full: Time,
}

impl Stack {
    pub(super) fn handle_icmpv6(&mut self, packet: &Packet) -> Verdict {
        if !packet.checksum_is_right() {
            return Verdict::Dropped(Cause::Checksum);
        }
        // RFC 4443, 4.2: the reply to a request for a group comes from an address of the host's own.
        let asked = packet.destination();
        let own = if self.interfaces.is_own(asked) { Some(asked) } else { None };
        let source = own.or_else(|| self.interfaces.source_towards(packet.source()));
        let Some(reply) = source.and_then(|source| packet.echo_reply(source)) else {
            return Verdict::Dropped(Cause::NobodyListens);
        };
        self.transmit(reply);
        Verdict::Delivered
    }

    /// Sends Destination Unreachable, port unreachable, if the host does so (RFC 4443, 3.1).
    pub(super) fn report_port(&mut self, now: Time, packet: &Packet) {
        // RFC 4443, 2.4 (e): nothing is said about packets for a group.
        if self.port_reports.enabled
            && self.interfaces.is_own(packet.destination())
            && let Some(report) = packet.port_unreachable()
            && self.port_reports.take_from_allowance(now)
        {
            self.transmit(report);
        }
    }
}

impl PortReports {
    /// Whether one more message may be sent: a token bucket, with the numbers that RFC 4443, 2.4 (f), gives as an
    /// example.
    fn take_from_allowance(&mut self, now: Time) -> bool {
        let full_at = self.allowance_full.max(now) + INTERVAL;
        let allowed = full_at.since(now) <= INTERVAL * BURST;
        if allowed {
            self.allowance_full = full_at;
        }
        allowed
    }
}

/// The time in which the allowance grows by one message.
const INTERVAL: Duration = Duration::from_millis(100);
/// The messages of a whole allowance.
const BURST: u32 = 10;
