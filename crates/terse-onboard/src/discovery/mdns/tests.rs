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

/// An announcement of a host of its own.
fn announce(known: &mut Known, number: usize) {
    known.resolved(&format!("{number}"), at(&format!("{number}.example")));
}

#[test]
fn a_flood_of_announcements_fills_bounded_tables() {
    let mut known = Known::default();
    for number in 0..10 * MAX_KNOWN {
        announce(&mut known, number);
        known.resolved(&format!("without address {number}"), None);
    }
    assert_eq!((known.places.len(), known.waiting.len()), (MAX_KNOWN, MAX_KNOWN));
    assert_eq!(changes(&mut known).len(), MAX_KNOWN);
    // Who waits has the place of one that is gone.
    let next = known.waiting[0].place.clone();
    known.removed("0");
    assert_eq!(changes(&mut known), [Change::Gone(at("0.example").unwrap()), Change::Found(next)]);
}

#[test]
fn places_that_failed_give_way_to_those_that_wait_and_have_their_turn_again() {
    let mut known = Known::default();
    (0..MAX_KNOWN).for_each(|number| announce(&mut known, number));
    changes(&mut known);
    known.resolved("true one", at("proxy.example"));
    assert_eq!(changes(&mut known), [], "there is no place, and none has failed");
    known.failed(&at("7.example").unwrap());
    let (seventh, real) = (at("7.example").unwrap(), at("proxy.example").unwrap());
    assert_eq!(changes(&mut known), [Change::Gone(seventh.clone()), Change::Found(real.clone())]);
    // One that has failed is found again when another one fails, or is gone.
    known.failed(&real);
    assert_eq!(changes(&mut known), [Change::Gone(real), Change::Found(seventh)]);
    // Without anybody who waits, a failure changes nothing.
    known.removed("true one");
    known.failed(&at("9.example").unwrap());
    assert_eq!(changes(&mut known), []);
}

#[test]
fn a_host_has_its_share_of_the_places_whatever_it_announces() {
    let mut known = Known::default();
    for number in 0..1_000 {
        known.resolved(&format!("{number}"), Some(Place::new("flood.example", 1_000 + number)));
    }
    assert_eq!((known.places.len(), known.waiting.len()), (MAX_OF_HOST, MAX_OF_HOST));
    announce(&mut known, 1);
    assert_eq!(known.places.len(), MAX_OF_HOST + 1, "others have room");
    // Who announces other ports in the name of a host does not keep the right one out: each that fails gives way.
    known.resolved("right", Some(Place::new("flood.example", 8443)));
    let right = Change::Found(Place::new("flood.example", 8443));
    changes(&mut known);
    let is_found = (0..10 * MAX_OF_HOST).any(|_| {
        let first = known.places.iter().find(|known| known.place.host() == "flood.example").unwrap().place.clone();
        known.failed(&first);
        changes(&mut known).contains(&right)
    });
    assert!(is_found);
}

#[test]
fn a_stranger_who_was_first_with_all_places_keeps_nobody_out() {
    let mut known = Known::default();
    (0..10 * MAX_KNOWN).for_each(|number| announce(&mut known, number));
    known.resolved("true one", at("proxy.example"));
    changes(&mut known);
    // Every place is false, and fails in its turn.
    let turns = (0..2 * MAX_KNOWN).position(|turn| {
        let first = known.places[0].place.clone();
        assert!(turn == 0 || first.host() != "proxy.example");
        known.failed(&first);
        changes(&mut known).contains(&Change::Found(at("proxy.example").unwrap()))
    });
    assert!(turns.is_some_and(|turns| turns < MAX_KNOWN + 1), "{turns:?}");
}

/// What was pushed out is not announced anew: it comes back because all is asked for again.
#[test]
fn an_announcement_that_later_ones_have_pushed_out_comes_back() {
    let mut known = Known::default();
    (0..MAX_KNOWN).for_each(|number| announce(&mut known, number));
    let real = at("proxy.example").unwrap();
    known.resolved("true one", Some(real.clone()));
    let mut flood = MAX_KNOWN..;
    while known.waiting.iter().any(|waiting| waiting.place == real) {
        announce(&mut known, flood.next().unwrap());
    }
    changes(&mut known);
    assert!(!known.take_missing(), "there is no room for it");
    // Every place is false, and fails in its turn; the stranger announces them for ever.
    let is_found = (0..3 * MAX_KNOWN).any(|_| {
        let first = known.places[0].place.clone();
        known.failed(&first);
        if known.take_missing() {
            (0..flood.start).for_each(|number| announce(&mut known, number));
            known.resolved("true one", Some(real.clone()));
        }
        changes(&mut known).contains(&Change::Found(real.clone()))
    });
    assert!(is_found);
    // One that is gone makes room, too.
    let mut known = Known::default();
    (0..=2 * MAX_KNOWN).for_each(|number| announce(&mut known, number));
    known.removed("0");
    assert!(known.take_missing());
    assert!(!known.take_missing());
}

#[test]
fn a_failure_before_others_came_does_not_withdraw_a_place_later() {
    let mut known = Known::default();
    (0..MAX_KNOWN).for_each(|number| announce(&mut known, number));
    known.failed(&at("7.example").unwrap());
    changes(&mut known);
    announce(&mut known, MAX_KNOWN);
    assert_eq!(changes(&mut known), [], "an attempt may go through it now");
    known.failed(&at("8.example").unwrap());
    let next = at(&format!("{MAX_KNOWN}.example")).unwrap();
    assert_eq!(changes(&mut known), [Change::Gone(at("8.example").unwrap()), Change::Found(next)]);
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

/// As it ends when there are more events than it has room for.
#[tokio::test]
async fn a_search_goes_on_after_its_subscription_has_ended() {
    let mut browser = Browser::new(Service::Proxy).unwrap();
    browser.daemon.stop_browse(Service::Proxy.name()).unwrap();
    let port = 8_000 + (std::process::id() % 1_000) as u16;
    let _announcement = Announcement::new(Service::Proxy, "after the end", port).unwrap();
    let finding = async { while !matches!(browser.next().await, Change::Found(place) if place.port() == port) {} };
    crate::deadline::soon(finding).await;
}

#[test]
fn a_place_that_answers_no_more_is_gone_after_some_rounds() {
    let place = |number: usize| Place::new(format!("{number}.example"), 1);
    let mut known = Known::default();
    known.heard(place(1), 1);
    known.heard(place(2), 1);
    known.heard(place(2), 3);
    known.heard(place(2), 2);
    assert_eq!(changes(&mut known), [Change::Found(place(1)), Change::Found(place(2))], "each once");
    known.expire(1);
    assert_eq!(changes(&mut known), []);
    known.expire(3);
    assert_eq!(changes(&mut known), [Change::Gone(place(1))]);
    // Those that wait are forgotten, too.
    (0..3 * MAX_KNOWN).for_each(|number| known.heard(place(number), 4));
    assert_eq!((known.places.len(), known.waiting.len()), (MAX_KNOWN, MAX_KNOWN));
    known.expire(5);
    assert_eq!((known.places.len(), known.waiting.len()), (0, 0));
}
