//! The formulas that a reproduction of the paper fulfils or not. Their bounds stand in `targets.toml`.
//!
//! What must always hold: a formula whose runs are missing does not hold; what has no bound is printed beside the paper's
//! number, and neither holds nor fails.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Kind, Quantity, Row, Samples, Targets};

/// A formula, and whether it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The figure or table.
    pub figure: String,
    /// The formula, in words and with its bounds.
    pub formula: String,
    /// The values that it was computed from, with their names.
    pub values: Vec<(String, f64)>,
    /// Whether it holds; `None` if it is only printed.
    pub holds: Option<bool>,
}

/// Which row of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RowKey {
    /// What is measured.
    pub peers: Kind,
    /// The MSS of TCP, or the maximum fragment length of DTLS.
    pub size: u16,
    /// Whether TCP has Nagle's algorithm.
    pub nagle: Option<bool>,
}

/// A point of figure 5: mean latencies at a duty cycle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DutyCyclePoint {
    /// Hops between the mote and the root.
    pub hops: u8,
    /// The duty cycle, in percent.
    pub percent: u8,
    /// The mean latency of TLS, with the second for the SYN-ACK that is dropped.
    pub tls_seconds: f64,
    /// The mean latency of DTLS.
    pub dtls_seconds: f64,
}

/// A curve of figure 10: how many packets of the mote's pool are taken, at each allocation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolTrace {
    /// The number of packets.
    pub taken: Vec<u8>,
    /// The first allocation for the mote's flight with its certificate.
    pub own_flight: usize,
}

/// Runs of all rows.
pub type Runs = BTreeMap<RowKey, Samples>;

/// Checks tables 2 and 3: each mean beside the paper's, and their order.
pub fn check_tables(runs: &Runs) -> Vec<Check> {
    let targets = Targets::of_paper();
    let rows = targets.rows.iter().flat_map(|row| {
        let bytes = if row.peers == Kind::Dtls { "dtls-bytes" } else { "tls-bytes" };
        [(Quantity::Seconds, "latency"), (Quantity::Bytes, bytes)].map(|(quantity, name)| {
            let mean = mean_of(runs, row, quantity);
            let of_paper = row.mean(quantity);
            let values = vec![("mean".to_owned(), mean), ("paper".to_owned(), of_paper)];
            bounded(name, &row.place, mean / of_paper, values)
        })
    });
    let orders = [Quantity::Seconds, Quantity::Bytes].into_iter().flat_map(|quantity| check_order(runs, quantity));
    rows.chain(orders).collect()
}

/// Checks that two rows of a table are in the paper's order, wherever the paper's means differ by more than the larger of
/// their deviations.
fn check_order(runs: &Runs, quantity: Quantity) -> Vec<Check> {
    let rows = &Targets::of_paper().rows;
    let pairs =
        rows.iter().enumerate().flat_map(|(index, first)| rows[..index].iter().map(move |second| [second, first]));
    let is_ordered = |[first, second]: &[&Row; 2]| {
        let deviation = first.of(quantity).deviation.max(second.of(quantity).deviation);
        (first.mean(quantity) - second.mean(quantity)).abs() > deviation
    };
    let check = |[first, second]: [&Row; 2]| {
        let [least, most] =
            if first.mean(quantity) < second.mean(quantity) { [first, second] } else { [second, first] };
        let (a, b) = (mean_of(runs, least, quantity), mean_of(runs, most, quantity));
        Check {
            figure: "tables 2 and 3".to_owned(),
            formula: format!("mean {}: {} < {}", quantity.name(), least.place, most.place),
            values: vec![(least.place.clone(), a), (most.place.clone(), b)],
            holds: Some(a < b),
        }
    };
    pairs.filter(is_ordered).map(check).collect()
}

/// Checks figures 6 and 7: how much each row of table 2 grows under loss.
pub fn check_loss(ideal: &Runs, lossy: &Runs) -> Vec<Check> {
    let rows = Targets::of_paper().rows.iter().filter(|row| row.peers != Kind::TlsPep);
    let growth = |row: &Row, quantity| {
        let (ideal, lossy) = (ideal.get(&row.key()), lossy.get(&row.key()));
        ideal.and_then(|ideal| lossy?.growth_over(ideal, quantity)).unwrap_or(f64::NAN)
    };
    let rows: Vec<&Row> = rows.collect();
    let mut checks = Vec::new();
    for quantity in [Quantity::Bytes, Quantity::Seconds] {
        for row in &rows {
            let value = growth(row, quantity);
            let bound = match (row.peers, row.nagle, quantity) {
                (Kind::Dtls, _, Quantity::Seconds) => Some("dtls-seconds-growth"),
                (Kind::Tls, Some(false), Quantity::Seconds) => Some("tls-seconds-growth-without-nagle"),
                (Kind::Tls, Some(false), Quantity::Bytes) => Some("tls-bytes-growth-without-nagle"),
                _ => None,
            };
            let of_paper = Targets::of_paper().growth(row.key(), quantity).unwrap_or(f64::NAN);
            let values = vec![("growth".to_owned(), value), ("paper".to_owned(), of_paper)];
            checks.push(match bound {
                Some(name) => bounded(name, &row.place, value, values),
                None => Check {
                    figure: if row.peers == Kind::Dtls { "figure 7" } else { "figure 6" }.to_owned(),
                    formula: format!("growth of the {} under loss: {}", quantity.name(), row.place),
                    values,
                    holds: None,
                },
            });
        }
        let of = |peers| rows.iter().filter(move |row| row.peers == peers).map(|row| growth(row, quantity));
        let (dtls, tls) = (of(Kind::Dtls).fold(f64::INFINITY, least), of(Kind::Tls).fold(0.0, most));
        checks.push(Check {
            figure: "figures 6 and 7".to_owned(),
            formula: format!(
                "the {} of each row of DTLS grow more under loss than those of any row of TLS",
                quantity.name()
            ),
            values: vec![("least of DTLS".to_owned(), dtls), ("most of TLS".to_owned(), tls)],
            holds: Some(dtls > tls),
        });
    }
    checks
}

/// Checks figure 5: TLS beside DTLS at each duty cycle.
pub fn check_duty_cycles(points: &[DutyCyclePoint]) -> Vec<Check> {
    let ratio = |point: &DutyCyclePoint| (point.tls_seconds - 1.0) / point.dtls_seconds;
    let bounds = points.iter().filter_map(|point| {
        let name = match point.percent {
            25.. => "duty-cycle-from-25",
            10 => "duty-cycle-at-10",
            _ => return None,
        };
        let values = vec![("TLS".to_owned(), point.tls_seconds), ("DTLS".to_owned(), point.dtls_seconds)];
        Some(bounded(name, &format!("{} %, hops: {}", point.percent, point.hops), ratio(point), values))
    });
    let at = |hops| {
        let point = points.iter().find(|point| (point.hops, point.percent) == (hops, 10));
        point.map_or(f64::NAN, ratio)
    };
    let (one, two) = (at(1), at(2));
    let farther = Check {
        figure: "figure 5".to_owned(),
        formula: "(TLS - 1 s) / DTLS at a duty cycle of 10 % is larger at two hops than at one".to_owned(),
        values: vec![("one hop".to_owned(), one), ("two hops".to_owned(), two)],
        holds: Some(two > one),
    };
    bounds.chain([farther]).collect()
}

/// Checks figure 10: where the mote's pool of packets is full, for TLS with Nagle's algorithm at an MSS of 844 and 336, and
/// for DTLS.
pub fn check_pool(mss_844: &PoolTrace, mss_336: &PoolTrace, dtls: &PoolTrace) -> Vec<Check> {
    let check = |name: &str, trace: &PoolTrace, formula: &str, holds: fn(usize, usize) -> bool| {
        let (before, after) = trace.humps();
        Check {
            figure: "figure 10".to_owned(),
            formula: format!("{name}: {formula}"),
            values: vec![
                ("humps of the server's flight".to_owned(), before as f64),
                ("of the mote's".to_owned(), after as f64),
            ],
            holds: Some(holds(before, after)),
        }
    };
    let both = |before, after| before > 0 && after > 0;
    vec![
        check("TLS, MSS 844, Nagle", mss_844, "a hump for each flight", both),
        check("TLS, MSS 336, Nagle", mss_336, "no hump for the server's flight", |before, _| before == 0),
        check("DTLS", dtls, "a hump for each flight, as with an MSS of 844", both),
    ]
}

impl PoolTrace {
    /// Returns the number of humps before and after the mote's own flight begins.
    ///
    /// A hump is a local maximum that rises by more than four packets above the valleys on both sides (its prominence).
    pub fn humps(&self) -> (usize, usize) {
        let maxima = humps(&self.taken);
        let before = maxima.iter().filter(|at| **at < self.own_flight).count();
        (before, maxima.len() - before)
    }
}

/// Returns where a curve has humps. Before and after the curve the pool is empty; of equal maxima without a valley between
/// them the last one counts.
fn humps(taken: &[u8]) -> Vec<usize> {
    // The lowest value on the way to the first that stops it; 0 if none does.
    let valley = |way: &mut dyn Iterator<Item = u8>, value: u8, stops: fn(u8, u8) -> bool| {
        let mut lowest = value;
        for other in way {
            if stops(other, value) {
                return lowest;
            }
            lowest = lowest.min(other);
        }
        0
    };
    let is_hump = |at: &usize| {
        let (before, value, after) = (&taken[..*at], taken[*at], &taken[at + 1..]);
        let left = valley(&mut before.iter().rev().copied(), value, |other, value| other > value);
        let right = valley(&mut after.iter().copied(), value, |other, value| other >= value);
        value - left.max(right) > SMALL
    };
    (0..taken.len()).filter(is_hump).collect()
}

impl RowKey {
    /// Returns the key of TLS with this MSS.
    pub const fn tls(mss: u16, nagle: bool) -> Self {
        Self { peers: Kind::Tls, size: mss, nagle: Some(nagle) }
    }

    /// Returns the key of DTLS with this maximum fragment length.
    pub const fn dtls(maximum_fragment_length: u16) -> Self {
        Self { peers: Kind::Dtls, size: maximum_fragment_length, nagle: None }
    }
}

/// Returns the mean of a row's runs; not a number, if there are none: no comparison with it holds.
fn mean_of(runs: &Runs, row: &Row, quantity: Quantity) -> f64 {
    runs.get(&row.key()).and_then(|samples| samples.measured(quantity)).map_or(f64::NAN, |measured| measured.mean)
}

/// Returns the check that `value` is within the bounds of this name.
fn bounded(name: &str, place: &str, value: f64, values: Vec<(String, f64)>) -> Check {
    let Some(bound) = Targets::of_paper().bounds.get(name) else {
        return Check {
            figure: String::new(),
            formula: format!("there is no bound {name}"),
            values,
            holds: Some(false),
        };
    };
    let range = match (bound.least, bound.most) {
        (Some(least), Some(most)) => format!("within {least} and {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "anything".to_owned(),
    };
    let formula = format!("{}: {range} ({place})", bound.what);
    Check { figure: bound.figure.clone(), formula, values, holds: Some(bound.holds(value)) }
}

/// The lesser of two numbers; not a number, if one of them is none.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }
}

fn most(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// The fragments of a full segment with an MSS of 336: what comes and goes with one of them is no hump.
const SMALL: u8 = 4;
