//! The file of runs that are done while a shard is not complete: a line for each, written as soon as the run has ended.
//!
//! The first line says which version of the program writes the file, and the columns. Every line begins with a check: the
//! first 8 bytes of SHA-256 over the rest. The rest is a list in JSON: the identifier of the run, then a text for each value,
//! whose first letter is its type. A float is its 64 bits.
//!
//! What must always hold: a value is read back as it was, bit for bit; a line that was torn or damaged is no result, and its
//! run is done again; and only one process at a time has the file open.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::super::columns::Value;
use super::plan::{RunId, hexadecimal, result_fields};
use super::runs::Field;
use super::{FORMAT, PROGRAM, cannot_write};
use crate::failure::Failure;

/// A file that this process may append to.
#[derive(Debug)]
pub(super) struct Partial {
    file: Mutex<File>,
    path: PathBuf,
}

/// The results that were in the file, by run.
pub(super) type Results = HashMap<RunId, Vec<Value>>;

impl Partial {
    /// Opens the file, or creates it, and reads which runs are done. A torn end is removed, so that lines can follow.
    pub(super) fn open(path: &Path) -> Result<(Self, Results), Failure> {
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).append(true).create(true).open(path).map_err(|error| cannot_write(path, &error))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Failure::Failed(format!(
                "another process writes {}: wait until it has ended, or do another shard meanwhile",
                path.display()
            )),
            TryLockError::Error(error) => Failure::Failed(format!(
                "cannot lock {}: {error}; try a folder of another file system for --out",
                path.display()
            )),
        })?;
        let found = Found::read(&mut file, &result_fields()).map_err(|error| {
            Failure::Failed(format!("cannot read {}: {error}; remove it, and its runs are done again", path.display()))
        })?;
        let Some(Found { results, len, is_begun }) = found else {
            return Err(Failure::Failed(format!(
                "{} was not begun by this version of terse ({PROGRAM}): finish it with the version that did, or remove it, and \
                 its runs are done again",
                path.display()
            )));
        };
        let mut begin = || {
            file.set_len(len)?;
            if is_begun { Ok(()) } else { file.write_all(header(&result_fields()).as_bytes()) }
        };
        begin().map_err(|error| cannot_write(path, &error))?;
        Ok((Self { file: Mutex::new(file), path: path.into() }, results))
    }

    /// Appends the result of a run.
    pub(super) fn append(&self, id: RunId, result: &[Value]) -> Result<(), Failure> {
        let line = to_line(id, result);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(|error| cannot_write(&self.path, &error))
    }
}

/// What was in a file.
#[derive(Debug)]
struct Found {
    results: Results,
    /// The length up to the end of the last whole line.
    len: u64,
    /// Whether the file has its first line.
    is_begun: bool,
}

impl Found {
    /// Reads a file; `None` if another version has begun it.
    fn read(file: &mut File, fields: &[Field]) -> io::Result<Option<Self>> {
        file.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        let header = header(fields);
        let mut found = Self { results: Results::new(), len: 0, is_begun: line == header.as_bytes() };
        if !found.is_begun {
            // The process was killed while it wrote the first line, if that is so far the right one.
            return Ok(header.as_bytes().starts_with(&line).then_some(found));
        }
        while line.ends_with(b"\n") {
            found.len += line.len() as u64;
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            if let Some((id, result)) = of_line(&line, fields) {
                found.results.insert(id, result);
            }
        }
        Ok(Some(found))
    }
}

/// Returns the first line of a file.
fn header(fields: &[Field]) -> String {
    let columns: Vec<String> = fields.iter().map(|field| format!("{} {:?}", field.name, field.kind)).collect();
    with_check(&serde_json::json!({ "format": FORMAT, "program": PROGRAM, "columns": columns }).to_string())
}

/// Returns the line of a run.
fn to_line(id: RunId, result: &[Value]) -> String {
    let mut cells = vec![Some(id.to_string())];
    cells.extend(result.iter().map(to_text));
    with_check(&serde_json::Value::from_iter(cells).to_string())
}

/// Reads the line of a run; `None` if the line is not as it was written.
fn of_line(line: &[u8], fields: &[Field]) -> Option<(RunId, Vec<Value>)> {
    let line = str::from_utf8(line).ok()?;
    let (_, content) = line.strip_suffix('\n')?.split_once(' ')?;
    if with_check(content) != line {
        return None;
    }
    let cells: Vec<Option<String>> = serde_json::from_str(content).ok()?;
    let (id, cells) = cells.split_first()?;
    let id = RunId::parse(id.as_deref()?)?;
    let value = |(cell, field): (&Option<String>, &Field)| match cell {
        Some(text) => of_text(text).filter(|value| value.kind() == Some(field.kind)),
        None => field.is_optional.then_some(Value::Null),
    };
    let result: Option<Vec<Value>> = cells.iter().zip(fields).map(value).collect();
    (cells.len() == fields.len()).then_some((id, result?))
}

/// Returns content as a line that begins with its check.
fn with_check(content: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(content).into();
    let check = digest.split_at(CHECK_LENGTH).0;
    format!("{} {content}\n", hexadecimal(check))
}

fn to_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Text(text) => format!("t{text}"),
        Value::Unsigned(integer) => format!("u{integer}"),
        Value::Signed(integer) => format!("i{integer}"),
        Value::Float(float) => format!("f{:016x}", float.to_bits()),
        Value::Flag(flag) => format!("b{flag}"),
    })
}

fn of_text(text: &str) -> Option<Value> {
    let (kind, rest) = text.split_at_checked(1)?;
    match kind {
        "t" => Some(Value::Text(rest.into())),
        "u" => rest.parse().ok().map(Value::Unsigned),
        "i" => rest.parse().ok().map(Value::Signed),
        "f" => u64::from_str_radix(rest, 16).ok().map(|bits| Value::Float(f64::from_bits(bits))),
        "b" => rest.parse().ok().map(Value::Flag),
        _ => None,
    }
}

/// The bytes of a check.
const CHECK_LENGTH: usize = 8;

#[cfg(test)]
mod tests;
