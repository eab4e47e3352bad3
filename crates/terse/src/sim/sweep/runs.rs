//! A table of runs: what a Parquet file holds, of a shard or of a whole sweep.
//!
//! What must always hold: two files whose headers differ in no more than the shard are of the same sweep.

use std::collections::BTreeMap;

use super::super::columns::{Kind, Value};
use super::plan::{RunId, Shard};

/// The runs of a shard, or of a whole sweep.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Runs {
    pub(super) header: Header,
    pub(super) fields: Vec<Field>,
    /// A line for each run, with a value for each field.
    pub(super) lines: Vec<Vec<Value>>,
}

/// What the lines belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) shard: Shard,
    /// The digest of the identifiers of all runs of the sweep.
    pub(super) sweep: String,
    /// How many runs the whole sweep has.
    pub(super) runs: u64,
    /// The names of rows, in the order of the scenario file.
    pub(super) rows: Vec<String>,
}

/// A column of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Whether runs may be without a value.
    pub(super) is_optional: bool,
}

impl Runs {
    /// Returns the place of a column.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Returns the identifier of the run of each line; `None` if one has none.
    pub(super) fn ids(&self) -> Option<Vec<RunId>> {
        let column = self.column("id")?;
        let id = |line: &Vec<Value>| match line.get(column) {
            Some(Value::Text(id)) => RunId::parse(id),
            _ => None,
        };
        self.lines.iter().map(id).collect()
    }

    /// Sorts lines by the place of their row in the scenario file, then by the number of the run.
    pub(super) fn sort(&mut self) {
        let places: BTreeMap<&str, usize> =
            self.header.rows.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let (row, run) = (self.column("row"), self.column("run"));
        self.lines.sort_by_cached_key(|line| {
            let row = match row.and_then(|column| line.get(column)) {
                Some(Value::Text(name)) => places.get(&**name).copied(),
                _ => None,
            };
            let number = match run.and_then(|column| line.get(column)) {
                Some(Value::Unsigned(number)) => Some(*number),
                _ => None,
            };
            (row, number)
        });
    }
}

impl Header {
    /// Whether both are of the same sweep.
    pub(super) fn is_of_sweep_of(&self, other: &Self) -> bool {
        let Self { shard: _, sweep, runs, rows } = self;
        (sweep, runs, rows) == (&other.sweep, &other.runs, &other.rows)
    }
}

impl Field {
    /// Returns a column in which every run has a value.
    pub(super) fn always(name: &str, kind: Kind) -> Self {
        Self { name: name.into(), kind, is_optional: false }
    }

    /// Returns a column in which runs may be without a value.
    pub(super) fn optional(name: &str, kind: Kind) -> Self {
        Self { name: name.into(), kind, is_optional: true }
    }
}
