use alloc::format;
use alloc::vec;
use core::time::Duration;

use proptest::prelude::*;

use super::*;

const MAX: usize = 1 << 20;

fn read(json: &str) -> Result<AuditLog, Malformed> {
    AuditLog::from_json(json.as_bytes(), MAX)
}

fn time(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn nonce(text: &str) -> Option<Nonce> {
    Some(Nonce::new(text.as_bytes()).unwrap())
}

/// Returns a log with one event that has these fields.
fn event(fields: &str) -> Result<Event, Malformed> {
    read(&format!(r#"{{"version":1,"events":[{{{fields}}}]}}"#)).map(|mut log| log.events.remove(0))
}

#[test]
fn the_example_of_the_rfc_is_read() {
    // RFC 8995, figure 18.
    let log = read(
        r#"{
          "version":"1",
          "events":[
            {
                "date":"2019-05-15T17:25:55.644-04:00",
                "domainID":"BduJhdHPpfhQLyponf48JzXSGZ8=",
                "nonce":"VOUFT-WwrEv0NuAQEHoV7Q",
                "assertion":"proximity",
                "truncated":"0"
            },
            {
                "date":"2017-05-15T17:25:55.644-04:00",
                "domainID":"BduJhdHPpfhQLyponf48JzXSGZ8=",
                "nonce":"f4G6Vi1t8nKo/FieCVgpBg==",
                "assertion":"proximity"
            }
          ],
          "truncation": {
            "nonced duplicates": "0",
            "nonceless duplicates": "1",
            "arbitrary": "2"
          }
        }"#,
    )
    .unwrap();
    assert_eq!(log.version, 1);
    assert_eq!((log.nonced_duplicates, log.nonceless_duplicates, log.arbitrary), (0, 1, 2));
    let [newer, older] = &log.events[..] else { panic!("{log:?}") };
    assert_eq!(newer.date, time(1_557_955_555));
    assert_eq!(older.date, time(1_494_883_555));
    assert_eq!(newer.nonce, nonce("VOUFT-WwrEv0NuAQEHoV7Q"));
    assert_eq!(older.nonce, nonce("f4G6Vi1t8nKo/FieCVgpBg=="));
    assert_eq!(newer.assertion, Assertion::Proximity);
    assert_eq!((newer.truncated, older.truncated), (0, 0));
    assert_eq!(newer.domain_id_hex(), "05db8985d1cfa5f8502f2a689dfe3c2735d2199f");
}

#[test]
fn a_log_is_encoded_with_numbers_and_without_zeros() {
    let first = Event::new(time(1_764_079_686), vec![0, 0x0f, 0xff], nonce("a"), Assertion::Proximity);
    let log = AuditLog { version: 1, events: vec![first], ..AuditLog::default() };
    let json = r#"{"version":1,"events":[{"date":"2025-11-25T14:08:06Z","domainID":"AA//","nonce":"a","assertion":"proximity"}]}"#;
    assert_eq!(core::str::from_utf8(&log.to_json()).unwrap(), json);
    let second = Event { truncated: 3, ..Event::new(time(0), vec![1], None, Assertion::Logged) };
    let log = AuditLog { events: vec![second], nonceless_duplicates: 3, version: 1, ..AuditLog::default() };
    let json = r#"{"version":1,"events":[{"date":"1970-01-01T00:00:00Z","domainID":"AQ==","nonce":null,"assertion":"logged","truncated":3}],"truncation":{"nonceless duplicates":3}}"#;
    assert_eq!(core::str::from_utf8(&log.to_json()).unwrap(), json);
    // A nonce of CBOR.
    let nonce = Some(Nonce::new(&[0xff; 8]).unwrap());
    let log = AuditLog { events: vec![Event::new(time(0), vec![1], nonce, Assertion::Verified)], ..log };
    assert_eq!(AuditLog::from_json(&log.to_json(), MAX).unwrap().events[0].nonce, self::nonce("//////////8="));
}

#[test]
fn the_newest_event_comes_first() {
    let json =
        |date| format!(r#"{{"date":"{date}-01-01T00:00:00Z","domainID":"AQ==","nonce":null,"assertion":"logged"}}"#);
    let events = [json(2020), json(2022), json(2021)].join(",");
    let log = read(&format!(r#"{{"version":1,"events":[{events}],"more":{{}}}}"#)).unwrap();
    assert!(log.events.is_sorted_by(|newer, older| newer.date > older.date));
    assert_eq!(log.events.len(), 3);
}

#[test]
fn assertions_are_names_or_their_values() {
    let of = |json: &str| event(&format!(r#""date":"2020-01-01T00:00:00Z","domainID":"AQ==","assertion":{json}"#));
    for (value, assertion) in Assertion::ALL.into_iter().enumerate() {
        for json in [format!("\"{}\"", assertion.name()), format!("{value}"), format!("\"{value}\"")] {
            assert_eq!(of(&json).unwrap().assertion, assertion, "{json}");
        }
    }
    for json in ["4", "-1", "1.0", "\"\"", "\"Proximity\"", "\"+1\"", "\"4\"", "true", "[0]"] {
        assert_eq!(of(json), Err(Malformed::Invalid("assertion")), "{json}");
    }
    assert_eq!(of("null"), Err(Malformed::Missing("assertion")));
}

#[test]
fn wrong_events_are_told() {
    let good = r#""date":"2020-01-01T00:00:00Z","domainID":"AQ==","assertion":"logged""#;
    assert_eq!(event(good).unwrap(), Event::new(time(1_577_836_800), vec![1], None, Assertion::Logged));
    assert_eq!(event(&format!(r#"{good},"nonce":null,"future":[1]"#)), event(good));
    for (fields, error) in [
        (r#""domainID":"AQ==","assertion":"logged""#, Malformed::Missing("date")),
        (r#""date":"2020-01-01T00:00:00Z","assertion":"logged""#, Malformed::Missing("domainID")),
        (r#""date":"2020-01-01","domainID":"AQ==","assertion":"logged""#, Malformed::Invalid("date")),
        (r#""date":1577836800,"domainID":"AQ==","assertion":"logged""#, Malformed::Invalid("date")),
        (r#""date":"2020-01-01T00:00:00Z","domainID":"01:02","assertion":"logged""#, Malformed::Base64("domainID")),
        (r#""date":"2020-01-01T00:00:00Z","domainID":"","assertion":"logged""#, Malformed::Invalid("domainID")),
        (&format!(r#"{good},"nonce":"""#), Malformed::Invalid("nonce")),
        (&format!(r#"{good},"nonce":7"#), Malformed::Invalid("nonce")),
        (&format!(r#"{good},"nonce":"{}""#, "x".repeat(65)), Malformed::Invalid("nonce")),
        (&format!(r#"{good},"truncated":-1"#), Malformed::Invalid("truncated")),
        (&format!(r#"{good},"assertion":"logged""#), Malformed::Duplicate("assertion")),
        (&format!(r#"{good},"x":1,"x":1"#), Malformed::Duplicate("an unknown field")),
    ] {
        assert_eq!(event(fields), Err(error), "{fields}");
    }
    let long = |bytes: usize| {
        let domain_id = text(&vec![7; bytes]);
        event(&format!(r#""date":"2020-01-01T00:00:00Z","domainID":"{domain_id}","assertion":"logged""#))
    };
    assert_eq!(long(MAX_DOMAIN_ID_LEN).unwrap().domain_id.len(), MAX_DOMAIN_ID_LEN);
    assert_eq!(long(MAX_DOMAIN_ID_LEN + 1), Err(Malformed::Invalid("domainID")));
}

#[test]
fn wrong_logs_are_told() {
    for (json, error) in [
        (r#"{"events":[]}"#, Malformed::Missing("version")),
        (r#"{"version":1}"#, Malformed::Missing("events")),
        (r#"{"version":1,"events":{}}"#, Malformed::Invalid("events")),
        (r#"{"version":1,"events":[1]}"#, Malformed::Json),
        (r#"{"version":1,"events":[],"events":[]}"#, Malformed::Duplicate("events")),
        (r#"{"version":1,"events":[],"truncation":7}"#, Malformed::Json),
        (r#"{"version":1,"events":[],"truncation":{"arbitrary":"x"}}"#, Malformed::Invalid("arbitrary")),
        (r#"{"version":1,"events":[],"truncation":{"arbitrary":1,"arbitrary":1}}"#, Malformed::Duplicate("arbitrary")),
        ("[]", Malformed::Json),
    ] {
        assert_eq!(read(json), Err(error), "{json}");
    }
    let later = read(r#"{"version":2,"events":[],"truncation":null}"#).unwrap();
    assert_eq!(later, AuditLog { version: 2, ..AuditLog::default() });
    assert_eq!(AuditLog::from_json(b"\xff", MAX), Err(Malformed::Json));
}

#[test]
fn a_log_is_bounded() {
    let of = |count| {
        let events = vec![Event::new(time(0), vec![1], None, Assertion::Logged); count];
        AuditLog { version: 1, events, ..AuditLog::default() }.to_json()
    };
    let json = of(MAX_EVENTS);
    assert_eq!(AuditLog::from_json(&json, json.len()).unwrap().events.len(), MAX_EVENTS);
    assert_eq!(AuditLog::from_json(&json, json.len() - 1), Err(Malformed::TooLong(json.len() - 1)));
    assert_eq!(AuditLog::from_json(&of(MAX_EVENTS + 1), MAX), Err(Malformed::TooMany("events")));
}

#[test]
fn a_log_cut_anywhere_is_refused() {
    let events = vec![Event::new(time(7), vec![1], nonce("a"), Assertion::Logged)];
    let json = AuditLog { version: 1, events, arbitrary: 7, ..AuditLog::default() }.to_json();
    for len in 0..json.len() {
        assert_eq!(AuditLog::from_json(&json[..len], MAX), Err(Malformed::Json), "{len}");
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    let domain_id = prop::collection::vec(any::<u8>(), 1..=MAX_DOMAIN_ID_LEN);
    let assertion = prop::sample::select(Assertion::ALL.to_vec());
    // Up to the end of the year 9999.
    (0..=253_402_300_799_u64, domain_id, prop::option::of(".{1,16}"), assertion, any::<u64>()).prop_map(
        |(seconds, domain_id, nonce, assertion, truncated)| {
            let nonce = nonce.map(|text| Nonce::new(text.as_bytes()).unwrap());
            Event { truncated, ..Event::new(time(seconds), domain_id, nonce, assertion) }
        },
    )
}

proptest! {
    #[test]
    fn a_log_comes_back(mut events in prop::collection::vec(any_event(), 0..5), version: u64, counts: [u64; 3]) {
        events.sort_by_key(|event| Reverse(event.date));
        let [nonced_duplicates, nonceless_duplicates, arbitrary] = counts;
        let log = AuditLog { version, events, nonced_duplicates, nonceless_duplicates, arbitrary };
        prop_assert_eq!(AuditLog::from_json(&log.to_json(), MAX).unwrap(), log);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = AuditLog::from_json(&bytes, MAX);
    }
}
