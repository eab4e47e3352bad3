//! The checks of tables and figures.

use core::ops::RangeInclusive;

use terse_sim::paper::{Bound, Targets};
use terse_sim::scenario::{Outcome, PeerKind, Protocol, Statistics};

use super::{Evaluation, Loss, Measured, all_peers, find, growth, peers};

/// What must hold, and whether it does.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// The table, if it is one of a table.
    pub(super) table: Option<u8>,
    /// The figure, if it is one of a figure.
    pub(super) figure: Option<u8>,
    /// What must hold.
    pub(super) check: String,
    /// The value here.
    pub(super) value: f64,
    /// What the paper says.
    pub(super) paper: Option<String>,
    /// Whether it holds; `None` of what is only shown beside the paper.
    pub(super) holds: Option<bool>,
}

/// A quantity of a row.
type Quantity = fn(&Measured) -> Statistics;

impl Check {
    const fn of_figure(figure: u8, check: String, value: f64, holds: bool) -> Self {
        Self { table: None, figure: Some(figure), check, value, paper: None, holds: Some(holds) }
    }

    /// Returns the check of a bound of the paper's targets.
    fn bounded(place: (Option<u8>, Option<u8>), what: &str, value: f64, bound: &Bound) -> Self {
        let range = match (bound.least, bound.most) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("{least} or more"),
            (None, Some(most)) => format!("{most} or less"),
            (None, None) => "anything".into(),
        };
        let (table, figure) = place;
        let check = format!("{what}: {}: {range}", bound.what);
        Self { table, figure, check, value, paper: bound.paper.clone(), holds: Some(bound.holds(value)) }
    }
}

impl Evaluation {
    /// Returns all checks.
    pub(super) fn all_checks(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        for (table, rows) in self.tables() {
            checks.extend(rows.iter().flat_map(|measured| of_row(table, measured)));
            checks.extend(orderings(table, rows));
        }
        checks.extend(self.of_figure_5());
        checks.extend(self.of_loss());
        checks.extend(self.of_figure_10());
        checks
    }

    /// Figure 5: TLS without the second that the dropped SYN-ACK takes, over DTLS.
    fn of_figure_5(&self) -> Vec<Check> {
        let latency = |name: &str, hops: u64, share: f64| {
            let is_it = |measured: &&Measured| {
                peers(measured) == name && (hops, share) == (hops_of(measured), duty_cycle(measured))
            };
            let latency = self.figure5.iter().find(is_it)?.latency();
            (latency.count > 0).then_some(latency.mean)
        };
        let ratio = |hops, share| Some((latency("tls", hops, share)? - DROPPED) / latency("dtls", hops, share)?);
        let mut checks = Vec::new();
        let mut shares: Vec<f64> = self.figure5.iter().map(duty_cycle).collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        shares.dedup();
        for hops in [1, 2] {
            for share in &shares {
                let name = if *share >= 0.25 { "duty-cycle-from-25" } else { "duty-cycle-at-10" };
                let (Some(value), Some(bound)) = (ratio(hops, *share), bound(name)) else { continue };
                let what = format!("{hops} hop{}, {} %", if hops > 1 { "s" } else { "" }, share * 100.0);
                checks.push(Check::bounded((None, Some(5)), &what, value, bound));
            }
        }
        if let (Some(one), Some(two)) = (ratio(1, 0.1), ratio(2, 0.1)) {
            let check = "(TLS - 1 s) / DTLS at 10 % is larger at two hops than at one".into();
            checks.push(Check::of_figure(5, check, two / one, two > one));
        }
        checks
    }

    /// Figures 6 and 7: how bytes and time grow under loss.
    fn of_loss(&self) -> Vec<Check> {
        let mut all = Vec::new();
        let dtls: Vec<&str> = all_peers(&self.figure7).into_iter().filter(|name| name.starts_with("dtls")).collect();
        let tls = all_peers(&self.figure6);
        for loss in [Loss::Fragments, Loss::Packets] {
            let under = loss.name();
            let mut checks = Vec::new();
            let quantities = [("bytes", Measured::bytes as Quantity), ("time", Measured::latency)];
            let [bytes, time] = quantities.map(|(_, of)| move |rows, name| growth(rows, name, loss, of));
            for name in &dtls {
                if let (Some(value), Some(bound)) = (time(&self.figure7, *name), bound("dtls-seconds-growth")) {
                    checks.push(Check::bounded((None, Some(7)), &format!("{name}, {under}"), value, bound));
                }
            }
            for (what, of) in quantities {
                let of_rows = |rows, name| growth(rows, name, loss, of);
                let least = dtls.iter().filter_map(|name| of_rows(&self.figure7, name)).fold(f64::MAX, f64::min);
                let most = tls.iter().filter_map(|name| of_rows(&self.figure6, name)).fold(0.0, f64::max);
                let check = format!("{under}: the {what} of every DTLS row grow more than those of any TLS row");
                checks.push(Check::of_figure(7, check, least / most, least > most));
            }
            for name in tls.iter().filter(|name| !name.ends_with("nagle")) {
                let what = format!("{name}, {under}");
                for (value, bound) in [
                    (bytes(&self.figure6, *name), bound("tls-bytes-growth-without-nagle")),
                    (time(&self.figure6, *name), bound("tls-seconds-growth-without-nagle")),
                ] {
                    if let (Some(value), Some(bound)) = (value, bound) {
                        checks.push(Check::bounded((None, Some(6)), &what, value, bound));
                    }
                }
            }
            for name in tls.iter().filter(|name| name.ends_with("nagle")) {
                let Some(value) = time(&self.figure6, *name) else { continue };
                checks.push(Check {
                    table: None,
                    figure: Some(6),
                    check: format!(
                        "{name}, {under}: growth of the latency of TLS with Nagle's algorithm; see the docs"
                    ),
                    value,
                    paper: Some("1.10 to 1.15 (section 3.3)".into()),
                    holds: None,
                });
            }
            if loss == Loss::Packets {
                // What must hold was written down for fragments; what the paper says of packets is only shown beside.
                checks.iter_mut().for_each(|check| check.holds = None);
            }
            all.extend(checks);
        }
        all
    }

    /// Figure 10: the humps of the packet buffers.
    fn of_figure_10(&self) -> Vec<Check> {
        let humps = |name: &str| {
            let measured = find(&self.figure10, name, Loss::Nothing)?;
            // The median over the runs.
            let mut counts: Vec<usize> = measured.connected().map(humps).collect();
            counts.sort_unstable();
            counts.get(counts.len() / 2).copied()
        };
        let expected = [
            ("tls mss=844 nagle", "two humps or more", 2..=usize::MAX),
            ("tls mss=336 nagle", "no first hump: one at most", 0..=1),
            ("tls mss=336", "no first hump: one at most", 0..=1),
            ("dtls mfl=1024", "two humps or more, like TLS with MSS 844 and Nagle", 2..=usize::MAX),
        ];
        let check = |(name, what, right): (&str, &str, RangeInclusive<usize>)| {
            let humps = humps(name)?;
            let check =
                format!("{name}: {what} (stretches of {HIGH} buffers or more, between which {LOW} or fewer are used)");
            Some(Check::of_figure(10, check, humps as f64, right.contains(&humps)))
        };
        expected.into_iter().filter_map(check).collect()
    }
}

/// Returns the checks of a row of a table.
fn of_row(table: u8, measured: &Measured) -> Vec<Check> {
    let (latency, bytes, paper) = (measured.latency(), measured.bytes(), measured.row.scenario.paper);
    let is_dtls =
        measured.row.scenario.peers == PeerKind::MbedTls && measured.row.scenario.mbedtls.protocol == Protocol::Dtls12;
    let of_bytes = if is_dtls { "dtls-bytes" } else { "tls-bytes" };
    let quantities = [(bytes.mean, paper.bytes, of_bytes), (latency.mean * 1e3, paper.latency_ms, "latency")];
    let check = |(ours, paper, name): (f64, Option<f64>, &str)| {
        Some(Check::bounded((Some(table), None), &measured.row.name, ours / paper?, bound(name)?))
    };
    quantities.into_iter().filter_map(check).collect()
}

/// Returns whether rows have the paper's order, by bytes and by latency. Pairs of rows that are as close to each other in the
/// paper as its own deviations have no order, and are only counted.
fn orderings(table: u8, rows: &[Measured]) -> Vec<Check> {
    let bytes = |measured: &Measured| Some((measured.bytes().mean, measured.row.scenario.paper.bytes?));
    let latency = |measured: &Measured| Some((measured.latency().mean, measured.row.scenario.paper.latency_ms? / 1e3));
    let order = |what: &str, alike: Option<f64>, of: &dyn Fn(&Measured) -> Option<(f64, f64)>| {
        let values: Vec<(f64, f64)> = rows.iter().filter_map(of).collect();
        let pairs = values.iter().enumerate().flat_map(|(place, a)| values.iter().skip(place + 1).map(move |b| (a, b)));
        let differing = pairs.filter(|(a, b)| (a.1 - b.1).abs() > alike.unwrap_or(0.0));
        let wrong = differing.filter(|(a, b)| (a.0 < b.0) != (a.1 < b.1)).count();
        let which = alike.map_or("all pairs".into(), |alike| format!("those that differ by more than {alike}: none"));
        Check {
            table: Some(table),
            figure: None,
            check: format!("pairs of rows whose order by {what} is not the paper's, of {which}"),
            value: wrong as f64,
            paper: None,
            holds: alike.map(|_| wrong == 0),
        }
    };
    vec![
        order("bytes", Some(20.0), &bytes),
        order("seconds", Some(GREATEST_DEVIATION), &latency),
        order("bytes", None, &bytes),
        order("seconds", None, &latency),
    ]
}

/// Counts the humps in the occupancy of the packet buffers.
fn humps(outcome: &Outcome) -> usize {
    let mut humps = 0;
    let mut is_high = false;
    for used in &outcome.pool {
        if *used >= HIGH && !is_high {
            (humps, is_high) = (humps + 1, true);
        } else if *used <= LOW {
            is_high = false;
        }
    }
    humps
}

fn bound(name: &str) -> Option<&'static Bound> {
    Targets::of_paper().bounds.get(name)
}

/// Returns the duty cycle of a row.
pub(super) fn duty_cycle(measured: &Measured) -> f64 {
    match measured.row.scenario.schedule.length {
        terse_sim::scenario::Length::DutyCycle(share) => share,
        terse_sim::scenario::Length::Slots(_) => 0.0,
    }
}

/// Returns the hops of a row.
pub(super) fn hops_of(measured: &Measured) -> u64 {
    measured.row.scenario.topology.depth(measured.row.scenario.topology.client)
}

/// The greatest standard deviation of a latency in the paper's tables, in seconds.
const GREATEST_DEVIATION: f64 = 0.125;

/// The time that the dropped SYN-ACK takes, in seconds: the initial timeout of the server.
const DROPPED: f64 = 1.0;

/// From how many buffers on a hump begins: a segment of 336 bytes takes four.
const HIGH: u8 = 5;

/// At how many buffers a hump is over.
const LOW: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn humps_are_counted_by_hand() {
        for (pool, expected) in [
            (&[][..], 0),
            (&[1, 2, 3, 4, 4, 1], 0),
            (&[1, 6, 7, 6, 3, 8, 1], 1),
            (&[1, 6, 7, 2, 3, 4, 5, 4, 1], 2),
            (&[9, 9, 9], 1),
        ] {
            let outcome = Outcome { pool: pool.to_vec(), ..Outcome::default() };
            assert_eq!(humps(&outcome), expected, "{pool:?}");
        }
    }
}
