//! Tests of the values of options.

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

#[test]
fn versions_follow_from_versions_and_suites() {
    #[derive(clap::Parser)]
    struct Program {
        #[command(flatten)]
        shared: Shared,
    }
    let versions = |options: &str| {
        let words = core::iter::once("terse").chain(options.split_whitespace());
        let program: Program = clap::Parser::try_parse_from(words).unwrap();
        program.shared.versions().map_err(|failure| failure.to_string())
    };
    let (tls12, tls13) = (ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3);
    assert_eq!(versions(""), Ok(vec![tls13, tls12]));
    assert_eq!(versions("--tls 1.2 --tls 1.3"), Ok(vec![tls13, tls12]));
    assert_eq!(versions("--tls 1.2"), Ok(vec![tls12]));
    assert_eq!(versions("--tls 1.3 --suite TLS_AES_128_CCM_8_SHA256"), Ok(vec![tls13]));
    assert_eq!(versions("--suite TLS_AES_128_CCM_8_SHA256"), Ok(vec![tls13, tls12])); // the engine leaves TLS 1.2 out
    assert_eq!(versions("--dtls"), Ok(vec![tls13, tls12]));
    assert_eq!(versions("--dtls --tls 1.2 --suite TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8"), Ok(vec![tls12]));
    assert_eq!(versions("--dtls --tls 1.3 --suite TLS_AES_128_GCM_SHA256"), Ok(vec![tls13]));
    for (version, suite) in [("1.3", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), ("1.2", "TLS_AES_128_GCM_SHA256")] {
        let error = versions(&format!("--tls 1.2 --tls 1.3 --suite {suite}")).unwrap_err();
        assert!(error.contains(&format!("no --suite is one of TLS {version}; add one, such as ")), "{error}");
    }
}
