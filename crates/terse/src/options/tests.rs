//! The values of options.

use super::*;

#[test]
fn host_and_port() {
    let split = |text: &str| text.parse::<HostPort>().map(|HostPort { host, port }| (host, port));
    assert_eq!(split("broker.example:8883"), Ok(("broker.example".into(), 8883)));
    assert_eq!(split("127.0.0.1:0"), Ok(("127.0.0.1".into(), 0)));
    assert_eq!(split("[::1]:443"), Ok(("::1".into(), 443)));
    for wrong in ["", "broker", "broker:", ":443", "[]:443", "::1", "::1:443", "broker:65536", "broker:https"] {
        assert!(split(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn dates() {
    let seconds = |text| date(text).map(|time| time.as_secs());
    assert_eq!(seconds("1772323200"), Ok(1_772_323_200));
    assert_eq!(seconds("2026-03-01"), Ok(1_772_323_200));
    assert_eq!(seconds("2026-03-01T01:30:00+01:00"), Ok(1_772_325_000));
    for wrong in ["", "-5", "tomorrow", "2026-13-01", "1969-12-31", "2026-03-01 12:00"] {
        assert!(seconds(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    assert_eq!(group("x25519"), Ok(NamedGroup::X25519));
    let error = group("x448").unwrap_err();
    assert!(error.contains("x448") && error.contains("x25519") && error.contains("secp256r1"), "{error}");
    assert!(suite("TLS_RSA_WITH_AES_128_CBC_SHA").is_err());
    assert!(signature_scheme("sha1").is_err());
}
