//! Runs in a Parquet file, written and read.
//!
//! What must always hold: the bytes of a file are a function of its runs and of the version of this program; what is read
//! equals what was written, every bit of a float included; a file is there as a whole or not at all; and one in which a
//! single bit has changed is refused before it is decoded.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field as Read;
use parquet::schema::types::Type;

use super::super::columns::{Kind, Value};
use super::plan::Shard;
use super::runs::{Field, Header, Runs};
use super::{FORMAT, PROGRAM, cannot_write};
use crate::failure::Failure;

mod seal;

/// Writes runs beside `path` under another name, which becomes `path` when everything is on the disk.
pub(super) fn write(path: &Path, runs: &Runs) -> Result<(), Failure> {
    let bytes = to_bytes(runs).map_err(|error| Failure::Failed(format!("cannot make {}: {error}", path.display())))?;
    let beside = beside(path);
    let written = || {
        let mut file = File::create(&beside)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        // The new name is on the disk, too, when the folder is.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    };
    written().map_err(|error| {
        // What is left of it is of no use, and may be what fills the disk. If it cannot be removed, it may stay.
        let _ = fs::remove_file(&beside);
        cannot_write(path, &error)
    })
}

/// Reads runs that this version of the program wrote.
pub(super) fn read(path: &Path) -> Result<Runs, Failure> {
    let name = path.display();
    let cannot_read = |error| Failure::Failed(format!("cannot read {name}: {error}"));
    let bytes = fs::read(path).map_err(cannot_read)?;
    let file = File::open(path).map_err(cannot_read)?;
    let damaged = |error: ParquetError| {
        Failure::Failed(format!(
            "{name} is no Parquet file, or is damaged: {error}; if it is of a sweep, remove it and run its shard again"
        ))
    };
    if seal::is_broken(&bytes) {
        return Err(damaged(ParquetError::General("its digest is another one".into())));
    }
    drop(bytes);
    let reader = SerializedFileReader::new(file).map_err(damaged)?;
    let metadata = reader.metadata().file_metadata();
    let header = header(metadata.key_value_metadata()).map_err(|other| {
        Failure::Failed(match other {
            Other::Version(version) => format!(
                "{name} was written by terse {version}, and this is {PROGRAM}: use that version, or remove the file and run \
                 its shard again"
            ),
            Other::NotOfSweep => format!("{name} is not of terse sim sweep: name files that it has written"),
        })
    })?;
    let fields: Option<Vec<Field>> = metadata.schema().get_fields().iter().map(|column| field(column)).collect();
    let not_ours = || damaged(ParquetError::General("a column has a type that terse does not write".into()));
    let fields = fields.ok_or_else(not_ours)?;
    let mut lines = Vec::new();
    for row in reader.get_row_iter(None).map_err(damaged)? {
        let columns = row.map_err(damaged)?.into_columns();
        let line: Option<Vec<Value>> = columns.into_iter().map(|(_, read)| value(read)).collect();
        lines.push(line.ok_or_else(not_ours)?);
    }
    Ok(Runs { header, fields, lines })
}

/// Returns the name under which a file is written.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// Returns the bytes of a file.
pub(super) fn to_bytes(runs: &Runs) -> Result<Vec<u8>, ParquetError> {
    let columns: Result<Vec<_>, _> = runs.fields.iter().map(|field| column(field).map(Arc::new)).collect();
    let schema = Type::group_type_builder("runs").with_fields(columns?).build()?;
    let properties = WriterProperties::builder()
        .set_created_by(format!("terse version {PROGRAM}"))
        .set_key_value_metadata(Some(metadata(&runs.header)))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    for lines in runs.lines.chunks(LINES_IN_GROUP) {
        let mut group = writer.next_row_group()?;
        let mut place = 0;
        while let Some(mut column) = group.next_column()? {
            let is_optional = runs.fields.get(place).is_some_and(|field| field.is_optional);
            let values: Vec<&Value> = lines.iter().filter_map(|line| line.get(place)).collect();
            write_column(column.untyped(), &values, is_optional)?;
            column.close()?;
            place += 1;
        }
        group.close()?;
    }
    let mut bytes = writer.into_inner()?;
    seal::close(&mut bytes);
    Ok(bytes)
}

fn write_column(writer: &mut ColumnWriter<'_>, values: &[&Value], is_optional: bool) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(**value != Value::Null)).collect();
    let levels = is_optional.then_some(levels.as_slice());
    match writer {
        ColumnWriter::BoolColumnWriter(writer) => {
            let flag = |value: &&Value| if let Value::Flag(flag) = value { Some(*flag) } else { None };
            let values: Vec<bool> = values.iter().filter_map(flag).collect();
            writer.write_batch(&values, levels, None)?;
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            let integer = |value: &&Value| match value {
                // Parquet keeps both in the same 64 bits; the schema says which one it is.
                Value::Unsigned(integer) => Some(integer.cast_signed()),
                Value::Signed(integer) => Some(*integer),
                _ => None,
            };
            let values: Vec<i64> = values.iter().filter_map(integer).collect();
            writer.write_batch(&values, levels, None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let values: Vec<f64> = values
                .iter()
                .filter_map(|value| if let Value::Float(value) = value { Some(*value) } else { None })
                .collect();
            writer.write_batch(&values, levels, None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let text =
                |value: &&Value| if let Value::Text(text) = value { Some(ByteArray::from(&**text)) } else { None };
            let values: Vec<ByteArray> = values.iter().filter_map(text).collect();
            writer.write_batch(&values, levels, None)?;
        }
        _ => return Err(ParquetError::General("a column has a type that the schema does not have".into())),
    }
    Ok(())
}

/// Returns the type of a column in the schema.
fn column(field: &Field) -> Result<Type, ParquetError> {
    let (physical, logical) = match field.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Signed => (Physical::INT64, Some(LogicalType::integer(64, true))),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Flag => (Physical::BOOLEAN, None),
    };
    let repetition = if field.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(&field.name, physical);
    builder.with_logical_type(logical).with_repetition(repetition).build()
}

/// Returns the column that has a type of the schema; `None` if this program writes no such column.
fn field(column: &Type) -> Option<Field> {
    if !column.is_primitive() {
        return None;
    }
    let info = column.get_basic_info();
    let is_unsigned = info.logical_type_ref() == Some(&LogicalType::integer(64, false));
    let kind = match column.get_physical_type() {
        Physical::BYTE_ARRAY => Kind::Text,
        Physical::INT64 if is_unsigned => Kind::Unsigned,
        Physical::INT64 => Kind::Signed,
        Physical::DOUBLE => Kind::Float,
        Physical::BOOLEAN => Kind::Flag,
        _ => return None,
    };
    let is_optional = match info.repetition() {
        Repetition::REPEATED => return None,
        repetition => repetition == Repetition::OPTIONAL,
    };
    Some(Field { name: info.name().into(), kind, is_optional })
}

fn value(read: Read) -> Option<Value> {
    Some(match read {
        Read::Null => Value::Null,
        Read::Bool(value) => Value::Flag(value),
        Read::ULong(value) => Value::Unsigned(value),
        Read::Long(value) => Value::Signed(value),
        Read::Double(value) => Value::Float(value),
        Read::Str(value) => Value::Text(value.into()),
        _ => return None,
    })
}

fn metadata(header: &Header) -> Vec<KeyValue> {
    let Header { shard, sweep, runs, rows } = header;
    let rows = serde_json::Value::from(rows.as_slice()).to_string();
    [
        ("terse.format", FORMAT.to_string()),
        ("terse.program", PROGRAM.to_owned()),
        ("terse.shard", shard.number.to_string()),
        ("terse.shards", shard.of.to_string()),
        ("terse.sweep", sweep.clone()),
        ("terse.runs", runs.to_string()),
        ("terse.rows", rows),
        (seal::KEY, seal::OPEN.to_owned()),
    ]
    .map(|(key, value)| KeyValue::new(key.into(), value))
    .into()
}

/// Why a file is not one of this version.
enum Other {
    Version(String),
    NotOfSweep,
}

fn header(metadata: Option<&Vec<KeyValue>>) -> Result<Header, Other> {
    let value = |key: &str| {
        let found = metadata.into_iter().flatten().find(|pair| pair.key == key);
        found.and_then(|pair| pair.value.as_deref()).ok_or(Other::NotOfSweep)
    };
    let (format, program) = (value("terse.format")?, value("terse.program")?);
    if format != FORMAT.to_string() || program != PROGRAM {
        return Err(Other::Version(format!("{program} in format {format}")));
    }
    value(seal::KEY)?; // without it nothing was checked
    let shard = format!("{}/{}", value("terse.shard")?, value("terse.shards")?);
    Ok(Header {
        shard: shard.parse::<Shard>().map_err(|_| Other::NotOfSweep)?,
        sweep: value("terse.sweep")?.into(),
        runs: value("terse.runs")?.parse().map_err(|_| Other::NotOfSweep)?,
        rows: serde_json::from_str(value("terse.rows")?).map_err(|_| Other::NotOfSweep)?,
    })
}

/// The lines of a row group, of which a reader may have to hold one in memory.
const LINES_IN_GROUP: usize = 1 << 16;

#[cfg(test)]
mod tests;
