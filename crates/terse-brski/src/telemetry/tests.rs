use alloc::format;
use alloc::string::ToString;
use alloc::vec;

use proptest::prelude::*;

use super::*;

fn read(json: &str) -> Result<Status, Malformed> {
    Status::from_json(json.as_bytes())
}

#[test]
fn the_examples_of_the_rfc_are_read() {
    // RFC 8995, figure 16.
    let status = read(
        r#"{
            "version": 1,
            "status":false,
            "reason":"Informative human-readable message",
            "reason-context": { "additional" : "JSON" }
        }"#,
    )
    .unwrap();
    assert_eq!((status.version, status.status), (1, false));
    assert_eq!(status.reason.as_deref(), Some("Informative human-readable message"));
    assert_eq!(status.reason_context.as_deref(), Some(r#"{"additional":"JSON"}"#));
    assert!(status.unknown.is_empty());
    // RFC 8995, figure 20, differs in the status.
    assert_eq!(read(r#"{"version":1,"status":true}"#).unwrap(), Status::new(true, None));
}

#[test]
fn a_status_is_encoded_in_the_order_of_the_rfc() {
    assert_eq!(Status::new(true, None).to_json(), br#"{"version":1,"status":true}"#);
    let status = Status {
        reason_context: Some(r#"{"a": 1}"#.into()),
        unknown: vec!["x".into()],
        ..Status::new(false, Some("the \"pin\"\ndiffers".into()))
    };
    let json = br#"{"version":1,"status":false,"reason":"the \"pin\"\ndiffers","reason-context":{"a": 1}}"#;
    assert_eq!(status.to_json(), json);
    for no_json in ["x", "", "{} {}"] {
        let status = Status { reason_context: Some(no_json.into()), ..Status::new(false, None) };
        let read = Status::from_json(&status.to_json()).unwrap();
        assert_eq!(read.reason_context, Some(format!("{no_json:?}")));
    }
}

#[test]
fn later_versions_and_unknown_fields_are_kept_for_the_log() {
    let status = read(r#"{"version":2,"status":true,"zeal":[1],"Status":false,"attempts":3}"#).unwrap();
    assert_eq!((status.version, status.status), (2, true));
    assert_eq!(status.unknown, ["Status", "attempts", "zeal"]); // names are case-sensitive
    assert_eq!(read(r#"{"version":"1","status":true}"#).unwrap().version, 1);
}

#[test]
fn what_is_kept_is_bounded() {
    let reason = "\u{e4}".repeat(MAX_REASON_LEN);
    let fields: String = (0..40).map(|n| format!(r#","{}{n:02}":1"#, "\u{e4}".repeat(100))).collect();
    let status = read(&format!(r#"{{"version":1,"status":false,"reason":"{reason}x"{fields}}}"#)).unwrap();
    assert_eq!(status.reason.unwrap(), "\u{e4}".repeat(MAX_REASON_LEN / 2));
    assert_eq!(status.unknown, vec!["\u{e4}".repeat(MAX_NAME_LEN / 2); MAX_UNKNOWN]);
    // A character is not cut in two.
    let status = read(&format!(r#"{{"version":1,"status":false,"reason":"x{reason}"}}"#)).unwrap();
    assert_eq!(status.reason.unwrap().len(), MAX_REASON_LEN - 1);
    let long = vec![b' '; MAX_LEN + 1];
    assert_eq!(Status::from_json(&long), Err(Malformed::TooLong(MAX_LEN)));
}

#[test]
fn wrong_fields_are_told() {
    for (json, error) in [
        (r#"{"status":true}"#, Malformed::Missing("version")),
        (r#"{"version":1}"#, Malformed::Missing("status")),
        (r#"{"version":1,"status":null}"#, Malformed::Missing("status")),
        (r#"{"version":1,"status":"true"}"#, Malformed::Invalid("status")),
        (r#"{"version":1,"status":1}"#, Malformed::Invalid("status")),
        (r#"{"version":-1,"status":true}"#, Malformed::Invalid("version")),
        (r#"{"version":1,"status":true,"reason":7}"#, Malformed::Invalid("reason")),
        (r#"{"version":1,"status":true,"status":true}"#, Malformed::Duplicate("status")),
        (r#"{"version":1,"status":true,"x":1,"x":1}"#, Malformed::Duplicate("an unknown field")),
        (r#"[{"version":1,"status":true}]"#, Malformed::Json),
        (r#"{"version":1,"status":true"#, Malformed::Json),
    ] {
        assert_eq!(read(json), Err(error), "{json}");
    }
    assert_eq!(Status::from_json(b"{\"version\":1,\"status\":true,\"reason\":\"\xff\"}"), Err(Malformed::Json));
    assert_eq!(Malformed::Duplicate("status").to_string(), "it has status twice");
}

#[test]
fn a_message_cut_anywhere_is_refused() {
    let status = Status { reason_context: Some("[1]".into()), ..Status::new(false, Some("no".into())) };
    let json = status.to_json();
    for len in 0..json.len() {
        assert_eq!(Status::from_json(&json[..len]), Err(Malformed::Json), "{len}");
    }
}

proptest! {
    #[test]
    fn a_status_comes_back(version: u64, status: bool, reason in prop::option::of(".{0,20}"), context in prop::option::of(0..9_u8)) {
        let reason_context = context.map(|number| format!("[{number}]"));
        let status = Status { version, status, reason, reason_context, unknown: Vec::new() };
        prop_assert_eq!(Status::from_json(&status.to_json()).unwrap(), status);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Status::from_json(&bytes);
    }
}
