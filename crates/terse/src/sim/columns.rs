//! The columns that say what a run came to: the one list that CSV files, Parquet files and their summaries share.
//!
//! What must always hold: the list alone decides the names, the order and the types of these columns. A type is that of the
//! function that reads the column from an outcome, so that both cannot differ.

use std::sync::{Arc, LazyLock};

use serde::{Serialize, Serializer};
use terse_sim::scenario::fleet::{Device, Fleet};
use terse_sim::scenario::{Outcome, Statistics, Tunnel};

/// All columns, in the order of files. A new column is a line here, and one in `docs/sweeps.md`.
static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    vec![
        Column::new("latency_s", |run| run.latency.map(|latency| latency.as_secs_f64())).in_tables("seconds", 3),
        Column::new("bytes", |run| run.air.bytes).in_tables("bytes", 0),
        Column::new("acknowledgement_bytes", |run| of_client(run, run.air.acknowledgement_bytes)),
        Column::new("frames", |run| run.air.frames),
        Column::new("packets", |run| of_client(run, run.air.packets)),
        Column::new("retransmissions", |run| of_client(run, run.retransmissions)),
        Column::new("dropped", |run| run.drops.values().sum::<u64>()),
        Column::new("pool_peak", |run| of_client(run, peak(run))),
        Column::new("marked", |run| of_client(run, run.marked)),
        Column::new("network_bytes", |run| run.air.network_bytes),
        Column::new("client_charge_mc", |run| run.charge.map(|charge| charge.client)).in_tables("client mC", 2),
        Column::new("all_charge_mc", |run| fleet(run, |fleet| fleet.charge).or(run.charge.map(|charge| charge.all)))
            .of_failed_runs(),
        Column::new("formed_s", |run| run.forming.map(|forming| forming.time.as_secs_f64())).of_failed_runs(),
        Column::new("formed_bytes", |run| run.forming.map(|forming| forming.bytes)).of_failed_runs(),
        Column::new("formed_charge_mc", |run| run.forming.and_then(|forming| forming.charge)).of_failed_runs(),
        Column::new("tunnel_s", |run| tunnel(run).map(|tunnel| tunnel.time.as_secs_f64())).of_failed_runs(),
        Column::new("tunnel_cells", |run| tunnel(run).map(|tunnel| tunnel.cells)).of_failed_runs(),
        Column::new("hops", |run| run.hops).of_failed_runs(),
        Column::new("devices", |run| fleet(run, |fleet| Some(fleet.devices.len() as u64))).of_failed_runs(),
        Column::new("connected_devices", |run| fleet(run, |fleet| Some(fleet.connected() as u64)))
            .of_failed_runs()
            .in_tables("connected", 0),
        Column::new("connected_50_s", |run| time_until(run, 0.5)).of_failed_runs().in_tables("50 % s", 0),
        Column::new("connected_95_s", |run| time_until(run, 0.95)).of_failed_runs().in_tables("95 % s", 0),
        Column::new("handshake_s_median", |run| handshakes(run, |times| times.median)).of_failed_runs(),
        Column::new("handshake_s_p95", |run| handshakes(run, |times| times.p95)).of_failed_runs(),
        Column::new("device_bytes_median", |run| median(run, |device| Some(device.bytes as f64))).of_failed_runs(),
        Column::new("device_charge_mc_median", |run| median(run, |device| device.charge)).of_failed_runs(),
        Column::new("handshakes", |run| fleet(run, |fleet| Some(fleet.attempts()))).of_failed_runs(),
        Column::new("handshakes_failed", |run| fleet(run, |fleet| Some(fleet.failures))).of_failed_runs(),
        Column::new("fallbacks", |run| fleet(run, |fleet| Some(fleet.fallbacks))).of_failed_runs(),
        Column::new("reports_sent", |run| fleet(run, |fleet| Some(fleet.reports.sent))).of_failed_runs(),
        Column::new("reports_received", |run| fleet(run, |fleet| Some(fleet.reports.received))).of_failed_runs(),
        Column::new("battery_days_median", |run| median(run, |device| Some(device.observed?.days))).of_failed_runs(),
    ]
});

/// Returns what is counted of a single client only: a whole network has nothing there, rather than zero.
fn of_client<T>(run: &Outcome, value: T) -> Option<T> {
    run.fleet.is_none().then_some(value)
}

/// Returns something of a whole network, if the run is of one.
fn fleet<T>(run: &Outcome, of: impl Fn(&Fleet) -> Option<T>) -> Option<T> {
    run.fleet.as_ref().and_then(of)
}

/// Returns the seconds until this share of the devices was connected.
fn time_until(run: &Outcome, share: f64) -> Option<f64> {
    fleet(run, |fleet| fleet.time_until(share)).map(|time| time.as_secs_f64())
}

/// Returns the median of a quantity over the devices that have it.
fn median(run: &Outcome, of: impl Fn(&Device) -> Option<f64>) -> Option<f64> {
    fleet(run, |fleet| Some(fleet.statistics(&of))).filter(|values| values.count > 0).map(|values| values.median)
}

/// Returns something of the times of the handshakes that connected devices.
fn handshakes(run: &Outcome, of: impl Fn(&Statistics) -> f64) -> Option<f64> {
    let seconds = |device: &Device| device.handshake.map(|time| time.as_secs_f64());
    fleet(run, |fleet| Some(fleet.statistics(seconds))).filter(|values| values.count > 0).map(|values| of(&values))
}

/// A column.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Whether statistics of the column include runs that were not connected, where these have a value.
    pub(super) is_of_failed_runs: bool,
    /// The heading in tables for people, and the digits after the point, if the column is in these tables.
    pub(super) heading: Option<(&'static str, usize)>,
    of: Box<dyn Fn(&Outcome) -> Value + Send + Sync>,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Unsigned,
    Signed,
    Float,
    Flag,
}

/// A value of a run in a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Text(Arc<str>),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Flag(bool),
}

impl Column {
    /// Returns all columns.
    pub(super) fn all() -> &'static [Self] {
        &COLUMNS
    }

    /// Returns the value of a run.
    pub(super) fn of(&self, outcome: &Outcome) -> Value {
        (self.of)(outcome)
    }

    fn new<C: Cell>(name: &'static str, of: impl Fn(&Outcome) -> C + Send + Sync + 'static) -> Self {
        let of = Box::new(move |outcome: &Outcome| of(outcome).value());
        Self { name, kind: C::KIND, is_of_failed_runs: false, heading: None, of }
    }

    fn of_failed_runs(self) -> Self {
        Self { is_of_failed_runs: true, ..self }
    }

    fn in_tables(self, heading: &'static str, digits: usize) -> Self {
        Self { heading: Some((heading, digits)), ..self }
    }
}

impl Value {
    /// Returns the type of the value; `None` of no value.
    pub(super) const fn kind(&self) -> Option<Kind> {
        match self {
            Self::Null => None,
            Self::Text(_) => Some(Kind::Text),
            Self::Unsigned(_) => Some(Kind::Unsigned),
            Self::Signed(_) => Some(Kind::Signed),
            Self::Float(_) => Some(Kind::Float),
            Self::Flag(_) => Some(Kind::Flag),
        }
    }

    /// Returns the value as a number, if it is one.
    pub(super) const fn number(&self) -> Option<f64> {
        match self {
            Self::Unsigned(value) => Some(*value as f64),
            Self::Signed(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Null | Self::Text(_) | Self::Flag(_) => None,
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Text(value) => serializer.serialize_str(value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Signed(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Flag(value) => serializer.serialize_bool(*value),
        }
    }
}

/// What the function of a column may return.
trait Cell {
    const KIND: Kind;

    fn value(self) -> Value;
}

impl<C: Cell> Cell for Option<C> {
    const KIND: Kind = C::KIND;

    fn value(self) -> Value {
        self.map_or(Value::Null, C::value)
    }
}

impl Cell for u8 {
    const KIND: Kind = Kind::Unsigned;

    fn value(self) -> Value {
        Value::Unsigned(self.into())
    }
}

impl Cell for u64 {
    const KIND: Kind = Kind::Unsigned;

    fn value(self) -> Value {
        Value::Unsigned(self)
    }
}

impl Cell for i64 {
    const KIND: Kind = Kind::Signed;

    fn value(self) -> Value {
        Value::Signed(self)
    }
}

impl Cell for f64 {
    const KIND: Kind = Kind::Float;

    fn value(self) -> Value {
        Value::Float(self)
    }
}

impl Cell for bool {
    const KIND: Kind = Kind::Flag;

    fn value(self) -> Value {
        Value::Flag(self)
    }
}

impl Cell for String {
    const KIND: Kind = Kind::Text;

    fn value(self) -> Value {
        Value::Text(self.into())
    }
}

/// Returns how many buffers of the client's mote were in use at most.
pub(super) fn peak(outcome: &Outcome) -> u8 {
    outcome.pool.iter().copied().max().unwrap_or(0)
}

fn tunnel(outcome: &Outcome) -> Option<Tunnel> {
    outcome.forming.and_then(|forming| forming.tunnel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_a_name_of_its_own_and_the_type_of_its_values() {
        let outcome = Outcome { latency: Some(core::time::Duration::from_millis(1_500)), ..Outcome::default() };
        let page = include_str!("../../../../docs/sweeps.md");
        let mut names = std::collections::BTreeSet::new();
        for column in Column::all() {
            assert!(names.insert(column.name), "{} is there twice", column.name);
            assert!(page.contains(&format!("`{}`", column.name)), "{} is not in docs/sweeps.md", column.name);
            let kind = column.of(&outcome).kind();
            assert!(kind.is_none_or(|kind| kind == column.kind), "{}: {kind:?}", column.name);
        }
        assert_eq!(Column::all()[0].of(&outcome), Value::Float(1.5));
    }
}
