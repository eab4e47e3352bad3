//! A kernel's packets are compared with the simulator's.
//!
//! All packets but pure acknowledgements must be the same, header for header and segment for segment. How many segments
//! only acknowledge depends on how long a program computes before it answers, which takes no time in the simulator.

use serde_json::Value;
use terse_sim::ledger::Layers;

use super::traffic::{Sum, Traffic};

/// A connection, and its simulated counterpart.
pub(crate) struct Agreement<'s> {
    pub(crate) real: Traffic,
    pub(crate) simulated: &'s Traffic,
}

pub(crate) const HEADING: &str = "\
| | MTU | mode | segments | records | TCP | IP | Ethernet | pure ACKs |
|---|---|---|---|---|---|---|---|---|";

impl Agreement<'_> {
    /// Returns a difference that must not be.
    pub(crate) fn difference(&self) -> Option<String> {
        let (real, simulated) = (&self.real, self.simulated);
        if real.retransmissions.packets + real.resets.packets > 0 {
            return Some(format!("{} retransmissions, {} resets", real.retransmissions.packets, real.resets.packets));
        }
        let invariant = |traffic: &Traffic| {
            let Traffic { syn, data, fin, from_client, from_server, .. } = traffic.clone();
            (syn, data, fin, from_client, from_server)
        };
        (invariant(real) != invariant(simulated))
            .then(|| format!("the kernel sent {real:?}, the simulator {simulated:?}"))
    }

    /// Returns a line of a table: the kernel's numbers, and the simulator's where they differ.
    pub(crate) fn row(&self, version: &str, mtu: u16, mode: &str) -> String {
        let (real, simulated) = (self.real.counted(), self.simulated.counted());
        let both = |of: fn(Sum) -> usize| match (of(real), of(simulated)) {
            (real, simulated) if real == simulated => real.to_string(),
            (real, simulated) => format!("{real} / {simulated}"),
        };
        let columns = [
            both(|sum| sum.packets),
            both(|sum| sum.layers.application),
            both(|sum| sum.layers.transport),
            both(|sum| sum.layers.network),
            both(|sum| sum.layers.link),
        ];
        let (theirs, ours) = (self.real.pure_acks.packets, self.simulated.pure_acks.packets);
        let more = theirs as isize - ours as isize;
        format!("| {version} | {mtu} | {mode} | {} | {theirs} / {ours} ({more:+}) |", columns.join(" | "))
    }
}

/// Asserts that a row of `terse compare --json` has the numbers of the packets in its capture.
pub(crate) fn assert_describes(row: &Value, capture: &Traffic) {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok()).expect("a number");
    let bytes = |layer: &str| number(&row["bytes"][layer]);
    let all = capture.counted() + capture.pure_acks;
    let Layers { application, transport, network, link } = all.layers;
    assert_eq!([bytes("tls") + bytes("application"), bytes("transport")], [application, transport], "{row}");
    assert_eq!([bytes("network"), bytes("link"), bytes("total")], [network, link, all.layers.sum()], "{row}");
    let [packets, pure_acks] = ["packets", "pure_acks"].map(|name| number(&row[name]));
    assert_eq!([packets, pure_acks], [all.packets, capture.pure_acks.packets], "{row}");
}
