use alloc::vec;
use std::borrow::ToOwned as _;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

const REGISTRAR: &str = "[2001:db8:0:abcd::52]:5684";

/// The answers of draft-ietf-anima-constrained-join-proxy.
#[test]
fn answers_are_those_of_the_drafts() {
    let address: SocketAddr = REGISTRAR.parse().unwrap();
    assert_eq!(join_proxy(57_101), "<>;brski-jp=57101");
    assert_eq!(registrar(address), "<coaps://[2001:db8:0:abcd::52]:5684/b>;rt=brski");
    assert_eq!(stateless_registrar(address), "<jpy://[2001:db8:0:abcd::52]:5684>;rt=brski.rjp");
    assert_eq!(resources(&["rt=brski"]), "</b>;rt=brski");
    assert_eq!(
        resources(&["rt=brski*"]),
        "</b>;rt=brski,</b/rv>;rt=brski.rv;ct=836,</b/vs>;rt=brski.vs;ct=\"50 60\",</b/es>;rt=brski.es;ct=\"50 60\""
    );
    assert_eq!(resources(&["rt=ace.est.crts"]), "</e/crts>;rt=ace.est.crts;ct=\"62 281 287\"");
    assert_eq!(read(resources(&[""; 0]).as_bytes()).unwrap().len(), LINKS.len());
    for other in ["rt=core.rd", "brski-jp=*", "rt=", ""] {
        assert_eq!(resources(&[other]), "", "{other}");
    }
}

#[test]
fn the_links_name_resources() {
    for link in read(resources(&[""; 0]).as_bytes()).unwrap() {
        let segments = link.target[1..].split('/').map(str::as_bytes);
        assert_eq!(Resource::from_path(segments).is_none(), link.target == "/b", "{link:?}");
    }
}

#[test]
fn ports_of_join_proxies_are_read() {
    let answer = b"<>;brski-jp=57101,\n <>;brski-jp=57102;param1=value1;param2=\"a,b;c\"";
    assert_eq!(join_proxy_ports(answer).unwrap(), [57_101, 57_102]);
    let others = b"<>;brski-jp=0,<>;brski-jp=65536,<>;brski-jp,<coaps://[::1]>;brski-jp=7,<>;rt=x,<>;brski-jp=\"8\"";
    assert_eq!(join_proxy_ports(others).unwrap(), [8]);
}

#[test]
fn addresses_of_registrars_are_read() {
    let address: SocketAddr = REGISTRAR.parse().unwrap();
    assert_eq!(addresses(registrar(address).as_bytes(), "brski", "coaps").unwrap(), [address]);
    assert_eq!(addresses(stateless_registrar(address).as_bytes(), "brski.rjp", "jpy").unwrap(), [address]);
    let plain = b"<coaps://[2001:db8:0:abcd::52]/b>;rt=\"x brski\"";
    assert_eq!(addresses(plain, "brski", "coaps").unwrap(), [address], "the port of coaps");
    assert_eq!(
        addresses(b"<coaps://192.0.2.1>;rt=brski", "brski", "coaps").unwrap(),
        ["192.0.2.1:5684".parse().unwrap()]
    );
    let zoned: SocketAddr = "[fe80::1%3]:7".parse().unwrap();
    assert_eq!(stateless_registrar(zoned), "<jpy://[fe80::1]:7>;rt=brski.rjp");
    let others = "<jpy://[2001:db8::1]>;rt=brski.rjp,<coaps://[::1]:0>;rt=brski.rjp,<jpy://[::1]:0>;rt=brski.rjp,\
                  <jpy://[fe80::1%3]:7>;rt=brski.rjp,<jpy://name:7>;rt=brski.rjp,<jpy://[::1]:9>;rt=brski,<x>;rt=brski.rjp";
    assert_eq!(addresses(others.as_bytes(), "brski.rjp", "jpy").unwrap(), []);
}

#[test]
fn values_stand_in_quotes_or_not() {
    let links = read(br#"</a>;rt="a b";title="q\"u,o;te" ;x; RT=c , </b>"#).unwrap();
    assert_eq!(links.len(), 2);
    assert_eq!(links[0].attribute("rt"), Some("a b"));
    assert!(links[0].has("rt", "b") && !links[0].has("rt", "a b") && !links[0].has("rt", "c"));
    assert_eq!(links[0].attribute("title"), Some(r#"q\"u,o;te"#));
    assert_eq!(links[0].attribute("x"), Some(""));
    assert_eq!((links[1].target, links[1].attribute("rt")), ("/b", None));
    assert_eq!(read(b"").unwrap(), []);
}

#[test]
fn what_is_no_link_is_refused() {
    for other in ["a", "<a", "<a>b", "<a>,", ",<a>", "<a>;x=\"", "<a>;x=\"\\\"", "<a>;x=\"a\"b", "<a> <b>"] {
        assert_eq!(read(other.as_bytes()), Err(Malformed::Invalid("links")), "{other}");
    }
    assert_eq!(read(b"<\xff>"), Err(Malformed::Invalid("links")));
    assert_eq!(read(&vec![b' '; MAX_LEN + 1]), Err(Malformed::TooLong(MAX_LEN)));
    let many = |count: usize| vec!["<>"; count].join(",");
    assert_eq!(read(many(MAX_LINKS).as_bytes()).unwrap().len(), MAX_LINKS);
    assert_eq!(read(many(MAX_LINKS + 1).as_bytes()), Err(Malformed::TooMany("links")));
    assert_eq!(read(("<>".to_owned() + &";a".repeat(17)).as_bytes()), Err(Malformed::TooMany("attributes")));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[<>;,=\"\\\\ a-cé]{0,40}") {
        if let Ok(links) = read(text.as_bytes()) {
            prop_assert!(links.iter().all(|link| text.contains(link.target)));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = (join_proxy_ports(&bytes), addresses(&bytes, "brski", "coaps"));
    }

    #[test]
    fn links_are_read_as_they_were_written(links in prop::collection::vec(("[a-z/:]{0,9}", "[a-z]{1,5}", "[a-z ,;]{0,9}"), 0..9)) {
        let text = links.iter().map(|(target, name, value)| format!("<{target}>;{name}=\"{value}\"")).collect::<Vec<_>>().join(",");
        let read = read(text.as_bytes()).unwrap();
        prop_assert_eq!(read.len(), links.len());
        for (link, (target, name, value)) in read.iter().zip(&links) {
            prop_assert_eq!((link.target, link.attribute(name)), (&**target, Some(&**value)));
        }
    }
}
