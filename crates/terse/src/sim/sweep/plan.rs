//! The runs of a sweep: every row of a scenario file under each of its seeds, and which shard does which.
//!
//! What must always hold: the identifier of a run follows from its scenario and its seed alone, so that it stays when rows are
//! renamed, moved, added, or run more often; and each run belongs to exactly one shard of any number of shards.

use core::fmt;
use core::str::FromStr;
use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use terse_sim::scenario::{Key, Row, ScenarioFile};

use super::super::columns::{Column, Kind, Value};
use super::runs::{Field, Header};
use crate::failure::Failure;

/// What identifies a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RunId(u64);

/// A part of a sweep: one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shard {
    /// From 1 on.
    pub(super) number: u32,
    pub(super) of: u32,
}

/// A run that is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) id: RunId,
    /// The place of the row in the file.
    pub(super) row: usize,
    pub(super) number: u32,
    pub(super) seed: u64,
}

/// All runs of a sweep.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// In the order of rows and their runs.
    pub(super) runs: Vec<Run>,
    /// The names of rows.
    rows: Vec<Arc<str>>,
    /// The keys that differ among rows.
    keys: Vec<String>,
    /// Their values, of each row.
    values: Vec<Vec<Value>>,
    digest: String,
}

impl RunId {
    /// Returns the identifier of a run: the first 8 bytes of SHA-256 over the point and the seed.
    pub(super) fn new(point: &str, seed: u64) -> Self {
        let digest: [u8; 32] = Sha256::digest(format!("{point}run_seed = {seed}\n")).into();
        let [first, second, third, fourth, fifth, sixth, seventh, eighth, ..] = digest;
        Self(u64::from_be_bytes([first, second, third, fourth, fifth, sixth, seventh, eighth]))
    }

    /// Reads the text of an identifier.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let id = Self(u64::from_str_radix(text, 16).ok()?);
        (id.to_string() == text).then_some(id)
    }

    /// Returns the digest of a set of identifiers.
    pub(super) fn digest_of(ids: impl IntoIterator<Item = Self>) -> String {
        let mut ids: Vec<Self> = ids.into_iter().collect();
        ids.sort_unstable();
        let mut digest = Sha256::new();
        ids.iter().for_each(|id| digest.update(id.0.to_be_bytes()));
        hexadecimal(&digest.finalize())
    }
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Shard {
    /// The whole sweep.
    pub(super) const WHOLE: Self = Self { number: 1, of: 1 };

    /// Whether a run belongs to the shard.
    pub(super) fn has(self, id: RunId) -> bool {
        id.0 % u64::from(self.of) == u64::from(self.number - 1)
    }

    /// Returns the name of its files, without an ending.
    pub(super) fn file_name(self) -> String {
        format!("shard-{}-of-{}", self.number, self.of)
    }
}

impl Plan {
    /// Plans all runs of a file. Two rows that have a run in common are refused: its result would count twice.
    pub(super) fn new(file: &ScenarioFile) -> Result<Self, Failure> {
        let mut runs = Vec::new();
        for (row, Row { scenario, .. }) in file.rows.iter().enumerate() {
            let (point, repetitions) = (scenario.point(), scenario.repetitions);
            runs.extend((0..repetitions.count).map(|number| {
                let seed = repetitions.seed_of(number);
                Run { id: RunId::new(&point, seed), row, number, seed }
            }));
        }
        let name = |row: usize| file.rows.get(row).map_or("", |row| row.name.as_str());
        let mut known = HashMap::new();
        for run in &runs {
            if let Some(row) = known.insert(run.id, run.row) {
                return Err(Failure::Failed(format!(
                    "the rows {:?} and {:?} are the same scenario with the same seed: leave one of them out, or give one \
                     another seed",
                    name(row),
                    name(run.row)
                )));
            }
        }
        let (keys, values) = differing(file.rows.iter().map(|row| row.scenario.keys()).collect());
        let rows = file.rows.iter().map(|row| row.name.as_str().into()).collect();
        let digest = RunId::digest_of(runs.iter().map(|run| run.id));
        Ok(Self { runs, rows, keys, values, digest })
    }

    /// Returns what a file of a shard begins with.
    pub(super) fn header(&self, shard: Shard) -> Header {
        let rows = self.rows.iter().map(|name| (**name).to_owned()).collect();
        Header { shard, sweep: self.digest.clone(), runs: self.runs.len() as u64, rows }
    }

    /// Returns the columns of a file.
    pub(super) fn fields(&self) -> Vec<Field> {
        let always = [("id", Kind::Text), ("row", Kind::Text), ("run", Kind::Unsigned), ("seed", Kind::Unsigned)];
        let mut fields: Vec<Field> = always.map(|(name, kind)| Field::always(name, kind)).into();
        fields.extend(self.keys.iter().map(|key| Field::optional(key, Kind::Text)));
        fields.extend(result_fields());
        fields
    }

    /// Returns the line of a run with its result.
    pub(super) fn line(&self, run: &Run, result: Vec<Value>) -> Vec<Value> {
        let name = self.rows.get(run.row).cloned().unwrap_or_default();
        let mut line = vec![
            Value::Text(run.id.to_string().into()),
            Value::Text(name),
            Value::Unsigned(run.number.into()),
            Value::Unsigned(run.seed),
        ];
        line.extend(self.values.get(run.row).into_iter().flatten().cloned());
        line.extend(result);
        line
    }
}

/// Returns the columns that have the result of a run. Those of its outcome are empty if it could not be run.
pub(super) fn result_fields() -> Vec<Field> {
    let mut fields = vec![Field::always("connected", Kind::Flag)];
    fields.extend(Column::all().iter().map(|column| Field::optional(column.name, column.kind)));
    fields.push(Field::optional("failure", Kind::Text));
    fields
}

/// Returns the keys that differ among rows, and of each row their values. A row without a key has no value.
fn differing(rows: Vec<Vec<Key>>) -> (Vec<String>, Vec<Vec<Value>>) {
    let mut paths: Vec<String> = Vec::new();
    let mut tables: Vec<HashMap<String, Value>> = Vec::new();
    for keys in rows {
        // A key that only later rows have comes after the one that precedes it there.
        let mut place = 0;
        for key in &keys {
            match paths.iter().position(|path| *path == key.path) {
                Some(known) => place = known + 1,
                None => {
                    paths.insert(place, key.path.clone());
                    place += 1;
                }
            }
        }
        tables.push(keys.into_iter().map(|key| (key.path.clone(), Value::Text(key.text().into()))).collect());
    }
    let value = |table: &HashMap<String, Value>, path: &String| table.get(path).cloned().unwrap_or(Value::Null);
    paths.retain(|path| {
        let mut values = tables.iter().map(|table| table.get(path));
        let first = values.next();
        values.any(|value| Some(value) != first)
    });
    let values = tables.iter().map(|table| paths.iter().map(|path| value(table, path)).collect()).collect();
    (paths, values)
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            Some((_, of)) if of > 0 => Err(format!("there is no such shard: 1/{of} to {of}/{of}")),
            _ => Err("a shard is one of several, as 1/4, 2/4, 3/4 and 4/4".into()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests;
