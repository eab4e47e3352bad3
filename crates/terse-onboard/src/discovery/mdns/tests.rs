use super::*;

fn at(host: &str) -> Option<Place> {
    Some(Place::new(host, 8443))
}

fn changes(known: &mut Known) -> Vec<Change> {
    known.changes.drain(..).collect()
}

#[test]
fn an_announcement_is_found_once_and_is_gone_once() {
    let mut known = Known::default();
    known.resolved("one", at("a.example"));
    known.resolved("one", at("a.example"));
    assert_eq!(changes(&mut known), [Change::Found(at("a.example").unwrap())]);
    known.removed("one");
    known.removed("one");
    assert_eq!(changes(&mut known), [Change::Gone(at("a.example").unwrap())]);
}

#[test]
fn an_announcement_that_moves_is_gone_where_it_was() {
    let mut known = Known::default();
    known.resolved("one", at("a.example"));
    known.resolved("one", at("b.example"));
    let (a, b) = (at("a.example").unwrap(), at("b.example").unwrap());
    assert_eq!(changes(&mut known), [Change::Found(a.clone()), Change::Gone(a), Change::Found(b)]);
}

#[test]
fn a_place_under_two_names_is_gone_with_the_second() {
    let mut known = Known::default();
    known.resolved("one", at("a.example"));
    known.resolved("two", at("a.example"));
    known.removed("one");
    assert!(!changes(&mut known).contains(&Change::Gone(at("a.example").unwrap())));
    known.removed("two");
    assert_eq!(changes(&mut known), [Change::Gone(at("a.example").unwrap())]);
}

#[test]
fn a_flood_of_announcements_fills_a_bounded_table() {
    let mut known = Known::default();
    for number in 0..10 * MAX_KNOWN {
        known.resolved(&format!("{number}"), at(&format!("{number}.example")));
        known.resolved(&format!("without address {number}"), None);
    }
    assert_eq!(known.places.len(), MAX_KNOWN);
    assert_eq!(changes(&mut known).len(), MAX_KNOWN);
    known.removed("0");
    known.resolved("new", at("new.example"));
    assert_eq!(
        changes(&mut known),
        [Change::Gone(at("0.example").unwrap()), Change::Found(at("new.example").unwrap())]
    );
}

#[test]
fn a_link_local_address_is_preferred() {
    let addresses =
        ["192.0.2.1", "2001:db8::1", "fe80::1"].map(|address| ScopedIp::from(address.parse::<IpAddr>().unwrap()));
    assert_eq!(addresses.iter().map(rank).collect::<Vec<_>>(), [2, 1, 0]);
}

#[test]
fn instance_names_are_cut_to_the_length_of_a_label() {
    let long = "ä".repeat(100);
    let info = info(Service::Proxy, &long, "[::]:8443".parse().unwrap()).unwrap();
    assert_eq!(info.get_type(), "_brski-proxy._tcp.local.");
    assert_eq!(info.get_port(), 8443);
    assert_eq!(info.get_fullname(), format!("{}._brski-proxy._tcp.local.", "ä".repeat(31)));
}

#[test]
fn who_listens_at_one_address_announces_that_alone() {
    let info = |address: &str| info(Service::Registrar, "plant", address.parse().unwrap()).unwrap();
    assert!(info("[::]:8443").is_addr_auto() && info("0.0.0.0:8443").is_addr_auto());
    let one = info("192.0.2.1:8443");
    assert!(!one.is_addr_auto());
    assert_eq!((one.get_addresses().len(), one.get_port()), (1, 8443));
    assert!(one.get_addresses().contains(&"192.0.2.1".parse().unwrap()));
}
