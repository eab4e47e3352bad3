//! Parquet files are read as they were written.

use super::super::plan::Plan;
use super::*;
use terse_sim::scenario::ScenarioFile;

/// Returns runs with values of every type that are easily lost, and so many lines.
fn runs(lines: usize) -> Runs {
    let header =
        Header { shard: Shard::WHOLE, sweep: "ab".into(), runs: 2, rows: vec!["a \"b\", ü".into(), "c\n".into()] };
    let kinds = [Kind::Text, Kind::Unsigned, Kind::Signed, Kind::Float, Kind::Flag];
    let mut fields: Vec<Field> = kinds.map(|kind| Field::optional(&format!("some.{kind:?}"), kind)).into();
    fields.extend(kinds.map(|kind| Field::always(&format!("{kind:?}"), kind)));
    let values = |text: &str, unsigned, signed, float, flag| {
        [
            Value::Text(text.into()),
            Value::Unsigned(unsigned),
            Value::Signed(signed),
            Value::Float(float),
            Value::Flag(flag),
        ]
    };
    let one = values("a \"b\", ü\n\0", u64::MAX, i64::MIN, -0.0, true);
    let other = values("", 0, -1, 0.1 + 0.2, false);
    let none = [const { Value::Null }; 5];
    let line = |number: usize| match number % 3 {
        0 => [one.clone(), other.clone()].concat(),
        1 => [none.clone(), one.clone()].concat(),
        _ => [values("x", 1, 1, f64::INFINITY, true), other.clone()].concat(),
    };
    Runs { header, fields, lines: (0..lines).map(line).collect() }
}

#[test]
fn what_is_read_is_what_was_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.parquet");
    for lines in [0, 1, 7, LINES_IN_GROUP + 5] {
        let runs = runs(lines);
        write(&path, &runs).expect("it is written");
        let found = read(&path).expect("it is read");
        assert_eq!(found, runs, "{lines}");
        assert_eq!(to_bytes(&found).expect("bytes"), fs::read(&path).expect("the file"), "{lines}");
        let bits = |runs: &Runs| match runs.lines.first().and_then(|line| line.get(3)) {
            Some(Value::Float(float)) => Some(float.to_bits()),
            _ => None,
        };
        assert_eq!(bits(&found), bits(&runs), "the sign of zero");
    }
    assert!(!beside(&path).exists(), "the other name is gone");
}

#[test]
fn a_not_a_number_is_kept() {
    let mut runs = runs(1);
    runs.lines[0][3] = Value::Float(f64::NAN);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.parquet");
    write(&path, &runs).expect("it is written");
    assert!(matches!(read(&path).expect("it is read").lines[0][3], Value::Float(float) if float.is_nan()));
}

#[test]
fn other_files_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.parquet");
    let message = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("the directory is there");
        read(&path).expect_err("it is refused").to_string()
    };
    let whole = to_bytes(&runs(5)).expect("bytes");
    for bytes in [&b""[..], b"PAR1", &whole[..whole.len() - 1], &whole[..whole.len() / 2]] {
        assert!(message(bytes).contains("is no Parquet file, or is damaged"), "{}", message(bytes));
    }
    let replaced = |from: &str, to: &str| {
        let place = whole.windows(from.len()).position(|part| part == from.as_bytes()).expect("it is there");
        let mut bytes = [&whole[..place], to.as_bytes(), &whole[place + from.len()..]].concat();
        seal::close(&mut bytes);
        bytes
    };
    for at in (0..whole.len()).step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, bytes).expect("the directory is there");
        assert!(read(&path).is_err(), "{at}: a bit has changed");
    }
    assert!(message(&replaced("terse.sweep", "other.sweep")).contains("is not of terse sim sweep"));
    let later = replaced("\u{18}\x0dterse.program\u{18}\u{5}0.1.0", "\u{18}\x0dterse.program\u{18}\u{5}9.9.9");
    assert!(
        message(&later).contains("was written by terse 9.9.9 in format 1, and this is 0.1.0"),
        "{}",
        message(&later)
    );
    assert!(read(&directory.path().join("none")).expect_err("there is none").to_string().contains("cannot read"));
}

#[test]
fn the_file_of_a_plan_has_its_columns() {
    let file = ScenarioFile::parse("scenario.toml", "repetitions = 2\n").expect("a scenario");
    let plan = Plan::new(&file).expect("a plan");
    let runs = Runs { header: plan.header(Shard::WHOLE), fields: plan.fields(), lines: Vec::new() };
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.parquet");
    write(&path, &runs).expect("it is written");
    assert_eq!(read(&path).expect("it is read"), runs);
}
