use super::*;

#[test]
fn authorities_and_https_urls_are_taken() {
    for good in [
        "masa.maker.example",
        "masa.maker.example:9443",
        "highway-test.example.com:9443", // RFC 8995, appendix C
        "192.0.2.7",
        "192.0.2.7:8443",
        "[2001:db8::7]",
        "[2001:db8::7]:8443",
        "https://masa.maker.example",
        "HTTPS://masa.maker.example/",
        "https://masa.maker.example:9443/.well-known/brski",
        "https://[2001:db8::7]/a%20b/~c;d=1",
    ] {
        let parsed: MasaUrl = good.parse().unwrap_or_else(|error| panic!("{good}: {error}"));
        assert_eq!(parsed.as_str(), good);
        assert_eq!(parsed.to_string(), good);
    }
}

#[test]
fn what_a_registrar_could_not_or_should_not_follow_is_refused() {
    let long = "a".repeat(MAX_LEN);
    for bad in [
        "",
        "/",
        "https://",
        "https:///path",
        "http://masa.maker.example/",
        "masa.maker.example/brski",
        "//masa.maker.example",
        "masa.maker.example:",
        "masa.maker.example:0",
        "masa.maker.example:65536",
        "masa.maker.example:+1",
        "masa.maker.example.",
        "masa.maker.example:1:2",
        "user@masa.maker.example",
        "https://user:secret@masa.maker.example/",
        "https://masa.maker.example/?query",
        "https://masa.maker.example/#fragment",
        "https://masa.maker.example/a b",
        "https://masa.maker.example/\u{7f}",
        "masa maker.example",
        "masa.maker.example\n",
        "masa.mäker.example",
        "https://masa.maker.example/ä",
        "[2001:db8::7",
        "[192.0.2.7]",
        "2001:db8::7",
        "é/",
        &long,
    ] {
        assert!(matches!(bad.parse::<MasaUrl>(), Err(Error::InvalidMasaUrl(_))), "{bad:?}");
    }
}

#[test]
fn the_extension_is_an_ia5_string_and_not_critical() {
    let extension = "masa.example".parse::<MasaUrl>().unwrap().extension();
    assert!(!extension.criticality());
    assert_eq!(extension.oid_components().collect::<Vec<_>>(), [1, 3, 6, 1, 5, 5, 7, 1, 32]);
    assert_eq!(extension.content(), [&[0x16, 12][..], b"masa.example"].concat());
}
