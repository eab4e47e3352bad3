//! The statistics of a sweep are those of `terse sim run`.

use super::super::super::columns::Kind;
use super::super::plan::Shard;
use super::super::runs::{Field, Header};
use super::*;

/// Returns runs of two rows, of which the first has a run that failed after its network had formed.
fn runs() -> Runs {
    let header = Header { shard: Shard::WHOLE, sweep: String::new(), runs: 4, rows: vec!["b".into(), "a".into()] };
    let fields = vec![
        Field::always("row", Kind::Text),
        Field::always("connected", Kind::Flag),
        Field::optional("latency_s", Kind::Float),
        Field::optional("bytes", Kind::Unsigned),
        Field::optional("formed_s", Kind::Float),
        Field::optional("failure", Kind::Text),
    ];
    let line = |row: &str, latency: Option<f64>, bytes: u64, formed: Option<f64>| {
        let float = |value: Option<f64>| value.map_or(Value::Null, Value::Float);
        let failure = if latency.is_none() { Value::Text("late".into()) } else { Value::Null };
        let row = Value::Text(row.into());
        vec![row, Value::Flag(latency.is_some()), float(latency), Value::Unsigned(bytes), float(formed), failure]
    };
    let lines = vec![
        line("a", None, 7, None),
        line("b", Some(1.0), 100, Some(10.0)),
        line("b", None, 900, Some(30.0)),
        line("b", Some(3.0), 200, None),
    ];
    Runs { header, fields, lines }
}

#[test]
fn rows_are_in_their_order_and_failed_runs_do_not_count() {
    let runs = runs();
    let rows = summarize(&runs);
    let [first, second] = rows.as_slice() else { panic!("two rows: {rows:?}") };
    assert_eq!((first.row, first.runs, first.failed, first.failure), ("b", 3, 1, Some("late")));
    assert_eq!(first.quantity("latency_s").map(|quantity| quantity.statistics), Some(Statistics::of([1.0, 3.0])));
    assert_eq!(first.quantity("bytes").map(|quantity| quantity.statistics.mean), Some(150.0));
    assert_eq!(first.quantity("formed_s").map(|quantity| quantity.statistics.mean), Some(20.0), "it formed in both");
    assert_eq!((second.row, second.runs, second.failed), ("a", 1, 1));
    assert!(second.columns.is_empty(), "{second:?}");
}

#[test]
fn a_table_has_the_columns_that_have_values() {
    let runs = runs();
    let text = table(&summarize(&runs));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["runs", "failed", "seconds", "bytes"]);
    let half = Statistics::of([1.0, 3.0]).half_interval().expect("two values");
    assert!(lines[1].contains(&format!("2.000 ± {half:.3}")), "{text}");
    assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["a", "1", "1", "-", "-"]);
}

#[test]
fn json_has_the_columns_in_their_order() {
    let runs = runs();
    let text = serde_json::to_string(&summarize(&runs)[0]).expect("it is serialized");
    assert!(
        text.starts_with("{\"row\":\"b\",\"runs\":3,\"failed\":1,\"latency_s\":{\"count\":2,\"mean\":2.0,"),
        "{text}"
    );
    assert!(text.contains("\"half_interval_95\":") && text.ends_with("\"failure\":\"late\"}"), "{text}");
    assert!(text.find("\"latency_s\"") < text.find("\"bytes\"") && text.find("\"bytes\"") < text.find("\"formed_s\""));
}
