//! `terse masa log`: the audit log is verified, exported and imported, from the command line.

use std::fs;

use serde_json::json;

use super::masa::Place;
use crate::common::mode;

const EMPTY: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const VERIFY: &str = "log verify --config maker/masa.toml";
const EXPORT: &str = "log export --config maker/masa.toml";

/// A place with a device that has had no voucher.
fn place() -> Place {
    let place = Place::new();
    place.succeeds("make-idevid WI-3005 --config maker/masa.toml --out device");
    place
}

#[test]
fn a_log_without_entries_is_verified_against_heads() {
    let place = place();
    assert_eq!(place.succeeds(VERIFY), format!("good; entries: 0; head: {EMPTY}@0\n"));
    assert_eq!(place.run(&format!("{VERIFY} --json")).object(), json!({ "ok": true, "length": 0, "head": EMPTY }));
    place.succeeds(&format!("{VERIFY} --expect-head {EMPTY}@0"));
    let later = place.run(&format!("{VERIFY} --expect-head {EMPTY}@3 --json"));
    assert_eq!(later.code, Some(1), "{later:#?}");
    let object = later.lines().pop().unwrap();
    assert_eq!(object["problem"], "shorter");
    assert_eq!((&object["ok"], &object["position"]), (&json!(false), &json!(1)));
    assert!(later.stderr.contains("entry 1: it is missing: there were 3 entries before"), "{later:#?}");
    place.run(&format!("{VERIFY} --expect-head 12@{EMPTY}")).refused(2, &["a head is HASH@LENGTH"]);
    // The command for one device takes any serial number, also these.
    for word in ["verify", "export", "log"] {
        place.run(&format!("audit {word} --config maker/masa.toml")).refused(1, &[&format!("no device \"{word}\"")]);
    }
}

#[test]
fn an_export_is_written_once_verified_and_imported() {
    let place = place();
    let export = format!("{EXPORT} --out log.jsonl");
    assert_eq!(place.succeeds(&export), format!("log.jsonl: written; entries: 0; head: {EMPTY}@0\n"));
    assert_eq!(mode(place.path("log.jsonl")), 0o600, "it has vouchers");
    place.run(&export).refused(1, &["log.jsonl: cannot be written"]);
    let printed = place.succeeds(EXPORT);
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let (printed, written) = (lines(&printed), lines(&fs::read_to_string(place.path("log.jsonl")).unwrap()));
    assert_eq!((printed.len(), &printed[..2]), (3, &written[..2]), "the format, the device, and an end with its time");

    // The device has a certificate of the same CA as the voucher signer.
    let verify = |signer: &str| place.run(&format!("log verify --file log.jsonl --signer {signer}"));
    assert_eq!(verify("maker/voucher.pem").code, Some(0));
    verify("device/WI-3005.pem").refused(1, &["log.jsonl: somebody else has signed it"]);
    place.succeeds("log verify --file log.jsonl --config maker/masa.toml");
    place.succeeds(&format!("{VERIFY} --since log.jsonl"));

    let import = "log import log.jsonl --config maker/masa.toml";
    place.run(import).refused(1, &["maker/masa.db: the database has devices already"]);
    place.configure("\"masa.db\"", "\"other.db\"");
    let imported = place.run(&format!("{import} --json")).object();
    assert_eq!(imported, json!({ "devices": 1, "vouchers": 0, "length": 0, "head": EMPTY }));
    assert_eq!(place.succeeds("audit WI-3005 --config maker/masa.toml"), "WI-3005: owned by nobody; vouchers: 0\n");

    let text = fs::read_to_string(place.path("log.jsonl")).unwrap();
    fs::write(place.path("log.jsonl"), text.replace("WI-3005", "WI-3006")).unwrap();
    verify("maker/voucher.pem").refused(1, &["log.jsonl: it was changed after it was signed"]);
    place.configure("\"other.db\"", "\"third.db\"");
    place.run(import).refused(1, &["log.jsonl: it was changed after it was signed"]);
    assert!(!place.path("maker/third.db").exists());
}

#[test]
fn an_export_that_fails_leaves_no_file() {
    let place = place();
    place.configure("\"masa.db\"", "\"nowhere.db\"");
    place.run(&format!("{EXPORT} --out log.jsonl")).refused(1, &["nowhere.db: there is no such database"]);
    assert!(!place.path("log.jsonl").exists());
}
