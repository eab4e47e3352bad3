use alloc::format;
use alloc::vec;

use proptest::prelude::*;

use super::*;
use crate::cbor::MAX_DEPTH;

/// draft-ietf-anima-constrained-voucher-31, "enrollstatus".
#[test]
fn the_examples_of_the_draft() {
    let success = b"\xa2\x67version\x01\x66status\xf5";
    assert_eq!(success.len(), 18);
    assert_eq!(Status::new(true, None).to_cbor(), success);
    assert_eq!(Status::cbor_without_context(true, None), success);
    assert_eq!(Status::from_cbor(success), Ok(Status::new(true, None)));
    let failure = b"\xa3\x67version\x01\x66status\xf4\x66reason\x78\x2a<Informative human readable error message>";
    let status = Status::new(false, Some("<Informative human readable error message>".into()));
    assert_eq!(failure.len(), 69);
    assert_eq!(status.to_cbor(), failure);
    assert_eq!(Status::cbor_without_context(false, status.reason.as_deref()), failure);
    assert_eq!(Status::from_cbor(failure), Ok(status));
    // "voucher_status", whose reason-context has a number as a key.
    let context =
        b"\xa4\x67version\x01\x66status\xf4\x66reason\x61x\x6ereason-context\xa1\x00\x76Additional information";
    let status = Status::from_cbor(context).unwrap();
    assert_eq!(status.reason_context.as_deref(), Some(r#"{"0":"Additional information"}"#));
}

fn context(cbor: &[u8]) -> Result<Option<String>, Malformed> {
    let message = [b"\xa3\x67version\x01\x66status\xf4\x6ereason-context", cbor].concat();
    Status::from_cbor(&message).map(|status| status.reason_context)
}

#[test]
fn a_context_is_read_as_json() {
    for (cbor, json) in [
        (&b"\xa0"[..], "{}"),
        (b"\x80", "[]"),
        (b"\xf5", "true"),
        (b"\xf7", "null"),
        (b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff", "-18446744073709551616"),
        (b"\x43\xfb\xff\x00", r#""-_8A""#),
        (b"\xc1\x01", "1"),
        (b"\x65a\"\\\n\x7f", "\"a\\\"\\\\\\n\x7f\""),
        // Half-precision numbers, most of them of RFC 8949, Appendix A.
        (b"\xf9\x00\x00", "0.0"),
        (b"\xf9\x80\x00", "-0.0"),
        (b"\xf9\x3c\x00", "1.0"),
        (b"\xf9\x3e\x00", "1.5"),
        (b"\xf9\x7b\xff", "65504.0"),
        (b"\xf9\x02\x00", "3.0517578125e-5"),
        (b"\xf9\x04\x00", "6.103515625e-5"),
        (b"\xf9\xc4\x00", "-4.0"),
        (b"\xf9\x7c\x00", "null"),
        (b"\xf9\xfc\x00", "null"),
        (b"\xf9\x7e\x00", "null"),
        (b"\xfa\x3f\x80\x00\x00", "1.0"),
        (b"\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00", "null"),
        (b"\xa2\x61a\x82\x01\x20\x20\xbf\x61b\x9f\xff\xff", r#"{"a":[1,-1],"-1":{"b":[]}}"#),
    ] {
        assert_eq!(context(cbor), Ok(Some(json.into())), "{cbor:x?}");
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        // What is JSON comes back as the same, if its numbers fit.
        let status = Status { reason_context: Some(json.into()), ..Status::new(true, None) };
        let again = Status::from_cbor(&status.to_cbor()).unwrap().reason_context.unwrap_or("null".into());
        let again: serde_json::Value = serde_json::from_str(&again).unwrap();
        assert_eq!(again.to_string(), value.to_string());
    }
    assert_eq!(context(b"\xf9\x00\x01"), Ok(Some("5.960464477539063e-8".into())));
    assert_eq!(context(b"\xf6"), Ok(None));
    for cbor in [&b"\xa1\x40\x00"[..], b"\xa1\xf6\x00", b"\xa1\x80\x00"] {
        assert_eq!(context(cbor), Err(Malformed::Invalid("reason-context")), "{cbor:x?}");
    }
    assert_eq!(context(b"\xff"), Err(Malformed::Cbor));
}

#[test]
fn a_context_is_bounded() {
    let nested = |depth: usize| [&b"\x81".repeat(depth)[..], b"\x00"].concat();
    assert_eq!(context(&nested(MAX_DEPTH)), Ok(Some(format!("{}0{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH)))));
    assert_eq!(context(&nested(MAX_DEPTH + 1)), Err(Malformed::Invalid("reason-context")));
    assert_eq!(context(&b"\xa1\x00".repeat(5000)), Err(Malformed::Invalid("reason-context")));
    // Each of these is six characters in JSON.
    let mut writer = Writer::with_capacity(0);
    writer.text(&"\0".repeat(MAX_LEN / 2));
    assert_eq!(context(&writer.into_vec()), Err(Malformed::Invalid("reason-context")));
}

#[test]
fn what_is_no_json_is_sent_as_text() {
    for no_json in ["x", "", "{} {}", "[1,", "{\"a\":1e999}"] {
        let status = Status { reason_context: Some(no_json.into()), ..Status::new(false, None) };
        let read = Status::from_cbor(&status.to_cbor()).unwrap();
        assert_eq!(read.reason_context, Some(format!("{no_json:?}")));
    }
}

#[test]
fn later_versions_and_unknown_fields_are_kept_for_the_log() {
    let status = Status::from_cbor(
        b"\xbf\x67version\x02\x66status\xf5\x64zeal\x81\x01\x66Status\xf4\x68attempts\x03\x18\x2a\xf6\x66reason\xf6\xff",
    )
    .unwrap();
    assert_eq!((status.version, status.status, status.reason), (2, true, None));
    assert_eq!(status.unknown, ["42", "Status", "attempts", "zeal"]);
    let mut writer = Writer::with_capacity(0);
    writer.map(43);
    writer.text("version");
    writer.integer(1_u8);
    writer.text("status");
    writer.boolean(false);
    writer.text("reason");
    writer.text(&"\u{e4}".repeat(MAX_REASON_LEN));
    for number in 0..40 {
        writer.text(&format!("{}{number:02}", "\u{e4}".repeat(100)));
        writer.null();
    }
    let status = Status::from_cbor(&writer.into_vec()).unwrap();
    assert_eq!(status.reason.unwrap(), "\u{e4}".repeat(MAX_REASON_LEN / 2));
    assert_eq!(status.unknown, vec!["\u{e4}".repeat(MAX_NAME_LEN / 2); MAX_UNKNOWN]);
}

#[test]
fn wrong_fields_are_told() {
    for (cbor, error) in [
        (&b"\xa1\x66status\xf5"[..], Malformed::Missing("version")),
        (b"\xa1\x67version\x01", Malformed::Missing("status")),
        (b"\xa2\x67version\x01\x66status\xf6", Malformed::Invalid("status")),
        (b"\xa2\x67version\x01\x66status\x01", Malformed::Invalid("status")),
        (b"\xa2\x67version\x20\x66status\xf5", Malformed::Invalid("version")),
        (b"\xa2\x67version\x611\x66status\xf5", Malformed::Invalid("version")),
        (b"\xa3\x67version\x01\x66status\xf5\x66reason\x07", Malformed::Invalid("reason")),
        (b"\xa3\x67version\x01\x66status\xf5\x66status\xf5", Malformed::Duplicate("status")),
        (b"\xa3\x67version\x01\x66reason\xf6\x66reason\xf6", Malformed::Duplicate("reason")),
        (b"\xa4\x67version\x01\x66status\xf5\x01\x01\x18\x01\x01", Malformed::Duplicate("an unknown field")),
        (b"\x81\xa2\x67version\x01\x66status\xf5", Malformed::Cbor),
        (b"\xa2\x67version\x01\x66status\xf5\x00", Malformed::Cbor),
        (b"\xa2\x67version\x01\x40\xf5", Malformed::Cbor),
        (b"\xa3\x67version\x01\x66status\xf5\x66reason\x61\xff", Malformed::Cbor),
    ] {
        assert_eq!(Status::from_cbor(cbor), Err(error), "{cbor:x?}");
    }
    assert_eq!(Status::from_cbor(&[0; MAX_LEN + 1]), Err(Malformed::TooLong(MAX_LEN)));
}

#[test]
fn a_message_cut_anywhere_is_refused() {
    let status = Status { reason_context: Some("{\"a\":[1]}".into()), ..Status::new(false, Some("no".into())) };
    let cbor = status.to_cbor();
    for len in 0..cbor.len() {
        assert_eq!(Status::from_cbor(&cbor[..len]), Err(Malformed::Cbor), "{len}");
    }
}

proptest! {
    #[test]
    fn a_status_comes_back(version: u64, status: bool, reason in prop::option::of(".{0,20}"), context in prop::option::of(0..9_u8)) {
        let reason_context = context.map(|number| format!("{{\"a\":[{number}]}}"));
        let status = Status { version, status, reason, reason_context, unknown: Vec::new() };
        prop_assert_eq!(Status::from_cbor(&status.to_cbor()).unwrap(), status);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Status::from_cbor(&bytes);
        if let Ok(Some(json)) = context(&bytes) {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{}", json);
        }
    }
}
