//! Results survive whatever happens to the file, or are known to be lost.

use std::fs;

use super::*;

struct Place {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        Self { path: directory.path().join("shard-1-of-1.partial"), _directory: directory }
    }

    fn open(&self) -> (Partial, Results) {
        Partial::open(&self.path).expect("it is opened")
    }

    fn read(&self) -> Vec<u8> {
        fs::read(&self.path).expect("the file is there")
    }

    fn write(&self, bytes: &[u8]) {
        fs::write(&self.path, bytes).expect("the directory is there");
    }
}

fn id(number: u32) -> RunId {
    RunId::new("", number.into())
}

/// Returns a result with values that are easily lost, by the number of the run.
fn result(number: u32) -> Vec<Value> {
    let value = |field: &Field| match field.name.as_str() {
        "connected" => Value::Flag(number.is_multiple_of(2)),
        "latency_s" => Value::Float(f64::from(number) * 0.1 + 0.2),
        "bytes" => Value::Unsigned(u64::MAX - u64::from(number)),
        "client_charge_mc" => Value::Float(-0.0),
        "failure" if !number.is_multiple_of(2) => Value::Text("a \"b\",\n\tü".into()),
        _ => Value::Null,
    };
    result_fields().iter().map(value).collect()
}

fn written(numbers: core::ops::Range<u32>) -> Place {
    let place = Place::new();
    let (partial, before) = place.open();
    assert!(before.is_empty());
    for number in numbers {
        partial.append(id(number), &result(number)).expect("it is written");
    }
    place
}

#[test]
fn results_are_read_back_as_they_were() {
    let place = written(0..5);
    let (_, results) = place.open();
    assert_eq!(results.len(), 5);
    for number in 0..5 {
        assert_eq!(results[&id(number)], result(number), "{number}");
    }
    let charge = result_fields().iter().position(|field| field.name == "client_charge_mc").expect("a column");
    assert!(matches!(results[&id(0)][charge], Value::Float(float) if float.is_sign_negative()), "every bit");
}

#[test]
fn values_of_every_type_are_texts() {
    let values = [
        Value::Text("".into()),
        Value::Signed(i64::MIN),
        Value::Float(f64::NEG_INFINITY),
        Value::Float(5e-324),
        Value::Flag(true),
    ];
    for value in values {
        assert_eq!(of_text(&to_text(&value).expect("a value")), Some(value));
    }
    let nan = of_text(&to_text(&Value::Float(f64::NAN)).expect("a value"));
    assert!(matches!(nan, Some(Value::Float(float)) if float.to_bits() == f64::NAN.to_bits()));
    for text in ["", "x1", "u-1", "fxyz", "b1", "ü"] {
        assert_eq!(of_text(text), None, "{text}");
    }
}

#[test]
fn a_file_that_is_cut_anywhere_loses_no_more_than_the_line_that_was_cut() {
    let whole = written(0..3).read();
    let ends: Vec<usize> = (0..whole.len()).filter(|place| whole[*place] == b'\n').map(|place| place + 1).collect();
    let near_an_end = |length: &usize| ends.iter().any(|end| length.abs_diff(*end) <= 2);
    for length in (0..whole.len()).filter(|length| length % 29 == 0 || near_an_end(length)) {
        let place = Place::new();
        place.write(&whole[..length]);
        let (partial, results) = place.open();
        let lines = ends.iter().filter(|end| **end <= length).count();
        assert_eq!(results.len(), lines.saturating_sub(1), "{length} of {}", whole.len());
        // What follows is not glued to the torn line.
        partial.append(id(9), &result(9)).expect("it is written");
        drop(partial);
        assert_eq!(place.open().1.len(), lines.saturating_sub(1) + 1, "{length}");
    }
}

#[test]
fn a_damaged_line_is_dropped_and_no_other() {
    let whole = written(0..3).read();
    let header = whole.iter().position(|byte| *byte == b'\n').expect("a header") + 1;
    for at in (header..whole.len()).step_by(5).filter(|at| whole[*at] != b'\n') {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let place = Place::new();
        place.write(&bytes);
        let found = place.open().1;
        assert!(
            found.iter().all(|(id, found)| (0..3).any(|number| *id == self::id(number) && *found == result(number)))
        );
        assert_eq!(found.len(), 2, "{at}");
    }
    let place = Place::new();
    place.write(&[&whole[..], &[0; 4096]].concat());
    assert_eq!(place.open().1.len(), 3, "zeros, which a crash of the machine may leave");
}

#[test]
fn a_result_of_other_columns_is_none() {
    let fields = result_fields();
    let line = |result: &[Value]| of_line(to_line(id(1), result).as_bytes(), &fields);
    assert_eq!(line(&result(1)), Some((id(1), result(1))));
    assert_eq!(line(&result(1)[1..]), None, "a value too few");
    assert_eq!(line(&[result(1), vec![Value::Null]].concat()), None, "a value too many");
    let mut other = result(1);
    other[0] = Value::Null;
    assert_eq!(line(&other), None, "a value that every run has");
    other[0] = Value::Unsigned(1);
    assert_eq!(line(&other), None, "a value of another type");
}

#[test]
fn the_file_of_another_version_is_refused() {
    let whole = String::from_utf8(written(0..1).read()).expect("text");
    let place = Place::new();
    let (_, rest) = whole.split_once('\n').expect("two lines");
    let other = with_check(&serde_json::json!({ "format": FORMAT, "program": "9.9.9", "columns": [] }).to_string());
    for bytes in [other + rest, "something else".into(), whole.replacen('a', "b", 1)] {
        place.write(bytes.as_bytes());
        let message = Partial::open(&place.path).expect_err("it is refused").to_string();
        assert!(
            message.contains("was not begun by this version of terse") && message.contains("remove it"),
            "{message}"
        );
        assert_eq!(place.read(), bytes.as_bytes(), "it is left as it is");
    }
}

#[test]
fn one_process_at_a_time_has_the_file() {
    let place = written(0..1);
    let first = place.open();
    let message = Partial::open(&place.path).expect_err("it is locked").to_string();
    assert!(message.contains("another process writes") && message.contains("wait"), "{message}");
    drop(first);
    assert_eq!(place.open().1.len(), 1);
}
