use std::io;

use super::*;

fn address(text: &str) -> core::net::SocketAddr {
    text.parse().unwrap()
}

fn answer(links: &Links, query: &[&str], own: &str) -> String {
    let query: Vec<_> = query.iter().map(|argument| (*argument).to_owned()).collect();
    links.answer(&query, address(own))
}

#[test]
fn a_join_proxy_has_one_link() {
    let links = Links::join_proxy(5684);
    for query in [&[][..], &["brski-jp=*"], &["brski-jp=56*"], &["brski-jp=5684"]] {
        assert_eq!(answer(&links, query, "[fe80::1%7]:5683"), "<>;brski-jp=5684", "{query:?}");
    }
    for query in [&["rt=brski"][..], &["brski-jp"], &["brski-jp=1*"], &["brski-jp=568"], &["brski-jp=*", "rt=x"], &[""]]
    {
        assert_eq!(answer(&links, query, "[fe80::1%7]:5683"), "", "{query:?}");
    }
}

#[test]
fn a_registrar_has_links_at_its_address_or_at_that_of_the_answer() {
    let (own, everywhere) = ("[fe80::1%7]:5683", address("[::]:5684"));
    let links = Links::registrar(everywhere, Some(address("192.0.2.1:5685")));
    assert_eq!(answer(&links, &["rt=brski"], own), "<coaps://[fe80::1]:5684/b>;rt=brski");
    assert_eq!(answer(&links, &["rt=brski"], "192.0.2.7:5683"), "<coaps://192.0.2.7:5684/b>;rt=brski");
    assert_eq!(answer(&links, &["rt=brski.rjp"], own), "<jpy://192.0.2.1:5685>;rt=brski.rjp");
    assert!(answer(&links, &["rt=brski*"], own).starts_with("</b>;rt=brski,</b/rv>;rt=brski.rv"));
    assert_eq!(answer(&links, &["brski-jp=*"], own), "");
    assert_eq!(answer(&Links::registrar(everywhere, None), &["rt=brski.rjp"], own), "", "it takes no JPY");
}

#[test]
fn answers_name_places_that_this_host_can_reach() {
    let from = address("[fe80::5%3]:5683");
    assert_eq!(Sought::JoinProxy.read(b"<>;brski-jp=57101,<>;brski-jp=0", from), [address("[fe80::5%3]:57101")]);
    let links = "<coaps://[fe80::9]:5684/b>;rt=brski,<coaps://[2001:db8::9]/b>;rt=brski,<coaps://[::]:1/b>;rt=brski,\
                 <coaps://[ff02::1]:1/b>;rt=brski,<coaps://[::1]:1/b>;rt=brski,<coaps://127.0.0.1:1/b>;rt=brski,\
                 <coaps://[::ffff:127.0.0.1]:1/b>;rt=brski,<coaps://255.255.255.255:1/b>;rt=brski,<jpy://[fe80::9]:7>;rt=brski.rjp";
    let places = [address("[fe80::9%3]:5684"), address("[2001:db8::9]:5684")];
    assert_eq!(Sought::Registrar.read(links.as_bytes(), from), places);
    assert_eq!(Sought::StatelessRegistrar.read(links.as_bytes(), from), [address("[fe80::9%3]:7")]);
    let routed = address("[2001:db8::5]:5683");
    assert_eq!(Sought::Registrar.read(links.as_bytes(), routed), [places[1]], "a link-local one needs an interface");
    for malformed in [&b"<"[..], b"\xff", &b"<>,".repeat(40)] {
        for sought in [Sought::JoinProxy, Sought::Registrar, Sought::StatelessRegistrar] {
            assert_eq!(sought.read(malformed, from), []);
        }
    }
}

#[tokio::test]
async fn a_responder_at_every_address_has_a_socket_for_each() {
    let refused = CoreResponder::new(Links::join_proxy(1)).at(address("[::]:0")).err().unwrap();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    let everywhere = CoreResponder::new(Links::join_proxy(1)).beside(address("[::]:5684"), 0).unwrap();
    let addresses: Vec<_> = everywhere.local_addrs().collect();
    assert!(addresses.iter().all(|address| !address.ip().is_unspecified()), "{addresses:?}");
    for link in Link::all().unwrap() {
        let has_link = |address: &core::net::SocketAddr| *address == link.address(address.port());
        assert!(addresses.iter().any(has_link), "{link:?}: {addresses:?}");
    }
    let one = CoreResponder::new(Links::join_proxy(1)).beside(address("127.0.0.1:5684"), 0).unwrap();
    assert_eq!(one.local_addrs().map(|address| address.ip().to_string()).collect::<Vec<_>>(), ["127.0.0.1"]);
    assert!(Link::named("no-such-link").unwrap_err().to_string().contains("ip -6 address"));
}
