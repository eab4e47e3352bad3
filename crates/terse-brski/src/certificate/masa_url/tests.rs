use alloc::format;

use proptest::prelude::*;

use super::*;

#[test]
fn an_authority_gets_scheme_and_path() {
    for (masa_url, base) in [
        ("masa.example:9443", "https://masa.example:9443/.well-known/brski"),
        ("masa.example", "https://masa.example/.well-known/brski"),
        ("192.0.2.7:443", "https://192.0.2.7:443/.well-known/brski"),
        ("[2001:db8::7]:65535", "https://[2001:db8::7]:65535/.well-known/brski"),
        ("[::1]", "https://[::1]/.well-known/brski"),
    ] {
        assert_eq!(masa_base_url(masa_url).unwrap(), base);
    }
}

#[cfg(feature = "services")]
#[test]
fn an_est_server_has_its_own_path() {
    for (url, base) in [
        ("est.example:8443", "https://est.example:8443/.well-known/est"),
        ("https://est.example/", "https://est.example/.well-known/est"),
        ("https://est.example/.well-known/est/plant", "https://est.example/.well-known/est/plant"),
    ] {
        assert_eq!(est_base_url(url).unwrap(), base);
    }
    for url in ["http://est.example", "https://a@est.example", "https://est.example/?a", ""] {
        assert_eq!(est_base_url(url), Err(Malformed::Invalid("EST URL")), "{url}");
    }
}

#[test]
fn a_url_keeps_its_path() {
    for (masa_url, base) in [
        ("https://masa.example/.well-known/brski", "https://masa.example/.well-known/brski"),
        ("https://masa.example:9443/a/b%20c/", "https://masa.example:9443/a/b%20c"),
        ("HTTPS://[2001:db8::7]/x", "https://[2001:db8::7]/x"),
        ("https://masa.example/", "https://masa.example/.well-known/brski"),
        ("https://masa.example", "https://masa.example/.well-known/brski"),
    ] {
        assert_eq!(masa_base_url(masa_url).unwrap(), base);
    }
}

#[test]
fn what_could_lead_elsewhere_is_refused() {
    for masa_url in [
        "",
        "/",
        "//masa.example",
        "/.well-known/brski",
        "masa.example/brski",
        "http://masa.example/",
        "ldap://masa.example/",
        "ftp://masa.example/",
        "https:/masa.example",
        "https://",
        "https:///brski",
        "https://:443/",
        "https://user@masa.example/",
        "https://user:secret@masa.example/",
        "user@masa.example",
        "masa.example@192.0.2.7",
        "https://masa.example/#fragment",
        "https://masa.example/?query",
        "masa.example?query",
        "masa.example#fragment",
        "masa.example\\other.example",
        "https://masa.example\\@other.example/",
        "masa.example:0",
        "masa.example:65536",
        "masa.example:",
        "masa.example:+1",
        "masa.example:44 3",
        "masa.example:443:443",
        "masa.example.",
        ".masa.example",
        "masa..example",
        "[2001:db8::7",
        "[2001:db8::7]443",
        "2001:db8::7",
        "[fe80::1%25eth0]",
        "[masa.example]",
        " masa.example",
        "masa.example\r\nHost: other.example",
        "masa.exam\0ple",
        "m\u{e4}sa.example",
        "https://masa.example/%2",
        "https://masa.example/%zz",
        "https://masa.example/a b",
    ] {
        assert_eq!(masa_base_url(masa_url), Err(Malformed::Invalid("MASA URL")), "{masa_url:?}");
    }
}

#[test]
fn a_url_has_at_most_512_bytes() {
    let url = |len: usize| format!("https://masa.example/{}", "x".repeat(len - 21));
    assert_eq!(masa_base_url(&url(512)).unwrap(), url(512));
    assert_eq!(masa_base_url(&url(513)), Err(Malformed::Invalid("MASA URL")));
}

proptest! {
    #[test]
    fn what_is_taken_is_a_plain_https_url(masa_url in "(https://)?[a-z0-9.:@#?%/\\[\\] -]{0,24}") {
        if let Ok(base) = masa_base_url(&masa_url) {
            prop_assert!(base.starts_with("https://") && !base.ends_with('/'));
            prop_assert!(base.bytes().all(|c| c.is_ascii_graphic()) && !base.contains(['?', '#']));
            let authority = base[8..].split('/').next().unwrap();
            prop_assert!(!authority.is_empty() && !authority.contains('@'));
            // It is a URL, which is taken as it is.
            prop_assert_eq!(masa_base_url(&base).unwrap(), base);
        }
    }
}
