use super::*;

#[test]
fn a_base_url_is_taken_apart() {
    let of = |authority, host, port, path| Some(Target { authority, host, port, path });
    let cases = [
        ("https://masa.example/.well-known/brski", of("masa.example", "masa.example", 443, "/.well-known/brski")),
        ("https://masa.example:9443/a", of("masa.example:9443", "masa.example", 9443, "/a")),
        ("https://[2001:db8::1]:9443/a", of("[2001:db8::1]:9443", "2001:db8::1", 9443, "/a")),
        ("https://[2001:db8::1]/a", of("[2001:db8::1]", "2001:db8::1", 443, "/a")),
        ("http://masa.example/a", None),
        ("https://masa.example:x/a", None),
        ("https://masa.example", None),
    ];
    for (base, expected) in cases {
        assert_eq!(Target::of(base), expected, "{base}");
    }
}
