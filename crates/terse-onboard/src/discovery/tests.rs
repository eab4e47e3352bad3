use super::*;

#[test]
fn places_are_read_and_printed() {
    for (text, host, port, authority) in [
        ("registrar.plant.example:8443", "registrar.plant.example", 8443, "registrar.plant.example:8443"),
        ("192.0.2.1:443", "192.0.2.1", 443, "192.0.2.1:443"),
        ("[::1]:8443", "::1", 8443, "[::1]:8443"),
        ("[fe80::1%eth0]:8443", "fe80::1%eth0", 8443, "[fe80::1]:8443"),
    ] {
        let place: Place = text.parse().unwrap();
        assert_eq!((place.host(), place.port()), (host, port));
        assert_eq!(place.authority(), authority);
        assert_eq!(place.to_string(), text);
    }
}

#[test]
fn the_place_of_an_address_has_its_interface() {
    for text in ["192.0.2.1:443", "[::1]:8443", "[fe80::1%7]:8443"] {
        let place = Place::from(text.parse::<SocketAddr>().unwrap());
        assert_eq!((&place, place.to_string()), (&text.parse().unwrap(), text.to_owned()));
    }
}

#[test]
fn what_is_no_place_is_refused_with_an_example() {
    for text in
        ["", ":443", "host", "host:", "host:0", "host:65536", "::1:443", "[host]:443", "[::1:443", "a b:1", "a/b:1"]
    {
        assert!(text.parse::<Place>().unwrap_err().contains("registrar.plant.example:8443"), "{text}");
    }
}

#[tokio::test]
async fn fixed_places_are_found_once() {
    let places = [Place::new("a.example", 1), Place::new("b.example", 2)];
    let mut fixed = Fixed::new(places.clone());
    for place in places {
        assert_eq!(fixed.next().await, Change::Found(place));
    }
    tokio::select! {
        biased;
        change = fixed.next() => panic!("{change:?}"),
        () = tokio::task::yield_now() => {}
    }
}

#[test]
fn services_have_the_names_of_the_rfc() {
    assert_eq!(Service::Proxy.name(), "_brski-proxy._tcp.local.");
    assert_eq!(Service::DatagramProxy.name(), "_brski-proxy._udp.local.");
    assert_eq!(Service::Registrar.name(), "_brski-registrar._tcp.local.");
}

#[tokio::test]
async fn a_place_that_two_ways_have_found_is_gone_when_both_have_lost_it() {
    let [one, other] = ["one.example", "other.example"].map(|host| Place::new(host, 5684));
    let mut together = Together::new(Fixed::new([one.clone()]), Fixed::new([one.clone(), other.clone()]));
    let mut found = vec![together.next().await, together.next().await];
    found.sort_by_key(|change| format!("{change:?}"));
    assert_eq!(found, [Change::Found(one.clone()), Change::Found(other.clone())]);
    // Only now has the second way had a turn for certain.
    let nothing = tokio::time::timeout(core::time::Duration::ZERO, together.next()).await;
    assert!(nothing.is_err());
    assert_eq!(together.change(Change::Gone(one.clone())), None);
    assert_eq!(together.change(Change::Gone(one.clone())), Some(Change::Gone(one)));
    assert_eq!(together.change(Change::Gone(other.clone())), Some(Change::Gone(other)));
}
