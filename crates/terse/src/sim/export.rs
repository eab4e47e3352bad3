//! Rows for machines: JSON, an object a row, and comma-separated values, a line a run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use terse_sim::scenario::{Charge, Forming, Outcome, Standing, Statistics};

use super::columns::{Column, Value, peak};
use super::fleet::{self, json::FleetObject};
use super::measure::{Measured, bytes, seconds};
use crate::compare::files;
use crate::failure::Failure;
use crate::output;

/// A row in JSON.
#[derive(Serialize)]
pub(super) struct Object<'a> {
    row: &'a str,
    runs: usize,
    failed: usize,
    latency_s: Quantity,
    bytes: Quantity,
    acknowledgement_bytes: Statistics,
    frames: Statistics,
    packets: Statistics,
    retransmissions: Statistics,
    pool_peak: Statistics,
    marked: Statistics,
    network_bytes: Statistics,
    #[serde(skip_serializing_if = "Option::is_none")]
    energy: Option<EnergyObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forming: Option<FormingObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<FleetObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kpis: Option<serde_json::Value>,
    dropped: BTreeMap<String, u64>,
    failure: Option<&'a str>,
}

/// What handshakes took of batteries.
#[derive(Serialize)]
struct EnergyObject {
    client_charge_mc: Statistics,
    client_computing_mc: Statistics,
    all_charge_mc: Statistics,
    client_duty_cycle: Statistics,
    client_battery_days: Statistics,
    least_battery_days: Statistics,
    /// Each mote in the first run.
    motes: Vec<Mote>,
}

/// What a mote takes of its battery to stay in the network.
#[derive(Serialize)]
struct Mote {
    mote: u16,
    hops: Option<u8>,
    microamperes: f64,
    duty_cycle: f64,
    battery_days: f64,
}

/// How networks formed themselves.
#[derive(Serialize)]
struct FormingObject {
    time_s: Statistics,
    frames: Statistics,
    bytes: Statistics,
    charge_mc: Statistics,
    hops: Statistics,
    tunnel_s: Statistics,
    tunnel_cells: Statistics,
}

/// A quantity, beside the paper's value.
#[derive(Serialize)]
struct Quantity {
    #[serde(flatten)]
    statistics: Statistics,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<f64>,
}

impl<'a> Object<'a> {
    pub(super) fn new(measured: &'a Measured) -> Self {
        let statistics = |of: &dyn Fn(&Outcome) -> f64| Statistics::of(measured.values(of));
        // What is counted of a single client only has no values in a whole network, rather than zeros.
        let of_client = |of: &dyn Fn(&Outcome) -> f64| match measured.row.scenario.is_whole() {
            true => Statistics::default(),
            false => statistics(of),
        };
        let paper = measured.row.scenario.paper;
        let mut dropped = BTreeMap::new();
        for (cause, number) in measured.outcomes.iter().flat_map(|outcome| &outcome.drops) {
            *dropped.entry(snake_case(&format!("{cause:?}"))).or_default() += number;
        }
        let of_run = || measured.outcomes.iter().find_map(|outcome| outcome.failure.as_deref());
        Self {
            row: &measured.row.name,
            runs: measured.outcomes.len(),
            failed: measured.outcomes.len() - measured.connected().count(),
            latency_s: Quantity { statistics: statistics(&seconds), paper: paper.latency_ms.map(|ms| ms / 1e3) },
            bytes: Quantity { statistics: statistics(&|outcome| bytes(outcome)), paper: paper.bytes },
            acknowledgement_bytes: of_client(&|outcome| outcome.air.acknowledgement_bytes as f64),
            frames: statistics(&|outcome| outcome.air.frames as f64),
            packets: of_client(&|outcome| outcome.air.packets as f64),
            retransmissions: of_client(&|outcome| outcome.retransmissions as f64),
            pool_peak: of_client(&|outcome| f64::from(peak(outcome))),
            marked: of_client(&|outcome| outcome.marked as f64),
            network_bytes: statistics(&|outcome| outcome.air.network_bytes as f64),
            energy: EnergyObject::new(measured),
            forming: FormingObject::new(measured),
            fleet: FleetObject::new(measured),
            kpis: fleet::kpis::of_row(measured),
            dropped,
            failure: measured.failure.as_deref().or_else(of_run),
        }
    }
}

impl EnergyObject {
    fn new(measured: &Measured) -> Option<Self> {
        let of = |of: &dyn Fn(&Charge) -> f64| {
            Statistics::of(measured.connected().filter_map(|outcome| outcome.charge.as_ref()).map(of))
        };
        let client_charge_mc = of(&|charge| charge.client);
        (client_charge_mc.count > 0).then(|| Self {
            client_charge_mc,
            client_computing_mc: of(&|charge| charge.computing),
            all_charge_mc: of(&|charge| charge.all),
            client_duty_cycle: of(&|charge| charge.duty_cycle),
            client_battery_days: of(&|charge| charge.days),
            least_battery_days: of(&|charge| charge.least_days),
            motes: measured
                .outcomes
                .first()
                .into_iter()
                .flat_map(|outcome| &outcome.standing)
                .map(Mote::from)
                .collect(),
        })
    }
}

impl From<&Standing> for Mote {
    fn from(standing: &Standing) -> Self {
        let Standing { mote, hops, microamperes, duty_cycle, days } = *standing;
        Self { mote, hops, microamperes, duty_cycle, battery_days: days }
    }
}

impl FormingObject {
    fn new(measured: &Measured) -> Option<Self> {
        let of = |of: &dyn Fn(&Forming) -> f64| Statistics::of(measured.forming().map(of));
        let time_s = of(&|forming| forming.time.as_secs_f64());
        (time_s.count > 0).then(|| Self {
            time_s,
            frames: of(&|forming| forming.frames as f64),
            bytes: of(&|forming| forming.bytes as f64),
            charge_mc: Statistics::of(measured.forming().filter_map(|forming| forming.charge)),
            hops: Statistics::of(measured.outcomes.iter().filter_map(|outcome| outcome.hops).map(f64::from)),
            tunnel_s: Statistics::of(
                measured.forming().filter_map(|forming| forming.tunnel).map(|tunnel| tunnel.time.as_secs_f64()),
            ),
            tunnel_cells: Statistics::of(
                measured.forming().filter_map(|forming| forming.tunnel).map(|tunnel| tunnel.cells.into()),
            ),
        })
    }
}

/// Writes a line for each run of each row.
pub(super) fn write_csv(path: &Path, measured: &[Measured]) -> Result<(), Failure> {
    let names: Vec<&str> = OF_EACH_RUN.into_iter().chain(Column::all().iter().map(|column| column.name)).collect();
    let lines = measured.iter().flat_map(|measured| {
        let name: Arc<str> = measured.row.name.as_str().into();
        measured.outcomes.iter().enumerate().map(move |(run, outcome)| {
            let mut line = vec![
                Value::Text(name.clone()),
                Value::Unsigned(run as u64),
                Value::Unsigned(outcome.seed),
                Value::Flag(outcome.is_connected()),
            ];
            line.extend(Column::all().iter().map(|column| column.of(outcome)));
            line
        })
    });
    write_lines(path, &names, lines)
}

/// Writes comma-separated values (RFC 4180): the names of columns, and lines of values. Without lines there are no names
/// either. The path `-` is standard output.
pub(super) fn write_lines<L: AsRef<[Value]>>(
    path: &Path,
    names: &[&str],
    lines: impl IntoIterator<Item = L>,
) -> Result<(), Failure> {
    let failed = |error: &dyn core::fmt::Display| Failure::Failed(format!("cannot write {}: {error}", path.display()));
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    for (number, line) in lines.into_iter().enumerate() {
        if number == 0 {
            writer.write_record(names).map_err(|error| failed(&error))?;
        }
        writer.serialize(line.as_ref()).map_err(|error| failed(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    match files::is_standard_output(path) {
        true => output::line(String::from_utf8_lossy(&bytes).trim_end()),
        false => files::write(path, &bytes),
    }
}

/// The columns of each run that come before those of its outcome.
const OF_EACH_RUN: [&str; 4] = ["row", "run", "seed", "connected"];

/// Returns the name of a cause as the other names in JSON.
fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(character.to_lowercase());
    }
    text
}
