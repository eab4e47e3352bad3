use std::format as text;
use std::string::ToString as _;

use proptest::prelude::*;

use super::*;

fn seconds(text: &str) -> Option<u64> {
    parse(text).map(|time| time.as_secs())
}

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// The examples of RFC 3339, 5.8, that are after 1970, and those of RFC 8366 and RFC 8995.
#[test]
fn examples() {
    assert_eq!(seconds("1985-04-12T23:20:50.52Z"), Some(482_196_050));
    assert_eq!(seconds("1996-12-19T16:39:57-08:00"), Some(851_042_397));
    assert_eq!(seconds("1996-12-20T00:39:57Z"), seconds("1996-12-19T16:39:57-08:00"));
    assert_eq!(seconds("2016-10-07T19:31:42Z"), Some(1_475_868_702));
    assert_eq!(seconds("2017-01-01T00:00:02.000Z"), Some(1_483_228_802));
    assert_eq!(seconds("2021-04-13T17:43:23.747-04:00"), seconds("2021-04-13T21:43:23Z"));
    assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
}

#[test]
fn letters_may_be_in_lower_case() {
    assert_eq!(seconds("2016-10-07t19:31:42z"), Some(1_475_868_702));
}

#[test]
fn an_unknown_offset_is_utc() {
    assert_eq!(seconds("2016-10-07T19:31:42-00:00"), Some(1_475_868_702)); // RFC 3339, 4.3
}

#[test]
fn a_leap_second_ends_a_day_in_utc() {
    assert_eq!(seconds("1990-12-31T23:59:60Z"), seconds("1991-01-01T00:00:00Z"));
    assert_eq!(seconds("1990-12-31T15:59:60-08:00"), seconds("1991-01-01T00:00:00Z"));
    assert_eq!(seconds("1990-12-31T15:59:60Z"), None);
    assert_eq!(seconds("1990-12-31T23:59:60-08:00"), None);
    assert_eq!(seconds("1990-12-31T23:59:61Z"), None);
}

#[test]
fn leap_years() {
    assert_eq!(seconds("2024-02-29T00:00:00Z"), Some(1_709_164_800));
    assert_eq!(seconds("2000-02-29T00:00:00Z"), Some(951_782_400));
    for none in ["2023-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2024-02-30T00:00:00Z", "2024-04-31T00:00:00Z"] {
        assert_eq!(seconds(none), None, "{none}");
    }
}

#[test]
fn what_is_no_date_is_refused() {
    for none in [
        "",
        "2016-10-07",
        "2016-10-07T19:31:42",
        "2016-10-07T19:31Z",
        "2016-10-07 19:31:42Z",
        "2016-10-07T19:31:42.Z",
        "2016-10-07T19:31:42,5Z",
        "2016-10-07T19:31:42+0100",
        "2016-10-07T19:31:42+01",
        "2016-10-07T19:31:42+24:00",
        "2016-10-07T19:31:42+01:60",
        "2016-10-07T24:00:00Z",
        "2016-10-07T19:60:42Z",
        "2016-13-07T19:31:42Z",
        "2016-00-07T19:31:42Z",
        "2016-10-00T19:31:42Z",
        "2016-10-07T19:31:42Z ",
        " 2016-10-07T19:31:42Z",
        "2016-10-07T19:31:42ZZ",
        "+016-10-07T19:31:42Z",
        "20160-10-07T19:31:42Z",
        "2016-1-007T19:31:42Z",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01",
        "２016-10-07T19:31:42Z",
    ] {
        assert_eq!(seconds(none), None, "{none}");
    }
}

#[test]
fn the_last_year_is_9999() {
    assert_eq!(format(at(253_402_300_799)), "9999-12-31T23:59:59Z");
    assert_eq!(format(at(253_402_300_800)), "9999-12-31T23:59:59Z");
    assert_eq!(format(at(u64::MAX)), "9999-12-31T23:59:59Z");
    assert_eq!(format(at(0)), "1970-01-01T00:00:00Z");
}

proptest! {
    #[test]
    fn what_is_written_is_read(time in 0_u64..253_402_300_800) {
        let written = format(at(time));
        prop_assert_eq!(seconds(&written), Some(time));
        // The library's own text is the same.
        prop_assert_eq!(&written, &DateTime::from_unix_duration(Duration::from_secs(time)).unwrap().to_string());
    }

    #[test]
    fn an_offset_changes_nothing(time in 86_400_u64..253_402_000_000, hours in 0_u64..24, minutes in 0_u64..60) {
        let offset = hours * 3600 + minutes * 60;
        let east = format(at(time + offset)).replace('Z', &text!("+{hours:02}:{minutes:02}"));
        let west = format(at(time - offset)).replace('Z', &text!("-{hours:02}:{minutes:02}"));
        prop_assert_eq!(seconds(&east), Some(time));
        prop_assert_eq!(seconds(&west), Some(time));
    }

    #[test]
    fn no_text_is_a_panic(text in "\\PC{0,40}") {
        let _ = parse(&text);
    }

    /// One changed character gives another time, or none.
    #[test]
    fn a_changed_date_is_another_one(time in 0_u64..253_402_300_800, place in 0_usize..19, digit in b'0'..=b'9') {
        let mut written = format(at(time)).into_bytes();
        let old = core::mem::replace(&mut written[place], digit);
        prop_assume!(old != digit);
        prop_assert_ne!(seconds(core::str::from_utf8(&written).unwrap()), Some(time));
    }
}
