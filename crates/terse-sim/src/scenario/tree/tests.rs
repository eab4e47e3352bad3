//! Tests of the tree: places, order, and what overrides what.

use super::*;

fn parse(source: &str) -> Table {
    Table::parse(source).expect("TOML")
}

#[test]
fn keys_keep_their_order_and_know_their_places() {
    let table = parse("b = 1\na = { z = 2, y = 0x10 }\n[c]\nx = 1.5");
    assert_eq!(table.entries.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["b", "a", "c"]);
    assert_eq!(table.place("b"), Some(0));
    assert_eq!(table.place("a.y"), Some(19));
    assert_eq!(table.place("a.x"), Some(6), "the table that it would be in");
    assert_eq!(table.place("d"), None);
    let Some(Value::Table(inner)) = table.entry("a").map(|entry| &entry.node.value) else { panic!("{table:?}") };
    assert_eq!(inner.entry("y").map(|entry| &entry.node.value), Some(&Value::Integer(16)));
}

#[test]
fn what_is_no_toml_is_reported_at_its_place() {
    let Err(placed) = Table::parse("a = 1\nb = = 2\n") else { panic!("this is no TOML") };
    assert_eq!(placed.at, 10);
    assert!(placed.text.starts_with("this is not TOML: "), "{placed:?}");
}

#[test]
fn later_tables_override_leaves_and_their_exclusive_groups() {
    let mut base = parse("[t]\nhops = 2\nkept = true\nlist = [1, 2]\n");
    base.merge(&parse("t.list = [3]\nt.parents = [0]\nnew = 1\n"), &[&["t.hops", "t.parents"]]);
    let values = |table: &Table| -> Vec<String> {
        table.entries.iter().map(|entry| format!("{}={}", entry.key, entry.node.written)).collect()
    };
    let Some(Value::Table(inner)) = base.entry("t").map(|entry| &entry.node.value) else { panic!("{base:?}") };
    assert_eq!(values(inner), ["kept=true", "list=[3]", "parents=[0]"]);
    assert!(base.entry("new").is_some());
}

#[test]
fn a_long_value_is_quoted_in_part() {
    let text = format!("a = \"{}\"", "x".repeat(100));
    let table = parse(&text);
    assert_eq!(table.entries[0].node.written, format!("\"{}...", "x".repeat(39)));
    assert_eq!(parse("a = [\n1,\n]").entries[0].node.written, "[...");
    assert_eq!(parse("a = 99999999999999999999").entries[0].node.value, Value::Number(f64::INFINITY));
}
