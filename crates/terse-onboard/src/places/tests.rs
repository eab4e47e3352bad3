use proptest::prelude::*;

use super::*;

/// The default limits of registrar and MASA.
const DEFAULT: Capacity = Capacity::half_for_one(1_000);

fn origin(address: &str) -> Origin {
    Origin::of(address.parse().unwrap())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Adds one from everywhere that `origins` name. Returns their numbers.
fn fill(places: &mut Places<()>, now: Duration, origins: impl IntoIterator<Item = Origin>) -> Vec<PlaceId> {
    origins.into_iter().map(|origin| places.enter(now, origin, ()).0).collect()
}

fn is_there<T>(places: &Places<T>, id: PlaceId) -> bool {
    places.entries.contains_key(&id.0)
}

#[test]
fn what_is_one_network_and_what_is_one_address() {
    let network = |address: &str| origin(address).network;
    assert_eq!(network("2001:db8:0:1::1"), network("2001:db8:0:1:ffff::2"));
    assert_ne!(network("2001:db8:0:1::1"), network("2001:db8:0:2::1"));
    assert_eq!(network("fe80::1"), network("fe80::2"), "a host on a link has as many as it likes");
    assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    assert_eq!(origin("::ffff:192.0.2.1"), origin("192.0.2.1"));
}

/// Two addresses hold all places, and ask something on each connection once a minute. A third one is served all the same.
#[test]
fn strangers_at_two_addresses_with_all_places_keep_nobody_out() {
    let mut places = Places::new(DEFAULT);
    let strangers = ["192.0.2.1", "192.0.2.2"].map(origin);
    let held = fill(&mut places, seconds(0), (0..1_010).map(|number| strangers[number % 2].clone()));
    assert_eq!(places.entries.len(), 1_000);
    let (honest, evicted) = places.enter(seconds(1), origin("192.0.2.3"), ());
    assert!(evicted.is_some() && is_there(&places, honest));
    // It proves nothing for five minutes, and strangers come and ask without end: they push out each other.
    for minute in 0..5 {
        held.iter().for_each(|id| places.active(seconds(60 * minute), *id));
        fill(&mut places, seconds(60 * minute), (0..1_010).map(|number| strangers[number % 2].clone()));
        assert!(is_there(&places, honest), "minute {minute}");
    }
}

/// Strangers in many networks, each of which has one place: the one that was idle longest makes room, and those that have proven
/// something keep theirs.
#[test]
fn a_newcomer_gets_in_beside_strangers_of_all_networks_and_keeps_its_place_when_it_has_proven_something() {
    let mut places = Places::new(DEFAULT);
    let stranger = |number: u32| Origin::of(IpAddr::from(number.to_be_bytes()));
    fill(&mut places, seconds(0), (0..1_000).map(stranger));
    let (honest, _) = places.enter(seconds(1), origin("192.0.2.3"), ());
    fill(&mut places, seconds(2), (1_000..1_999).map(stranger));
    assert!(is_there(&places, honest), "all others were idle longer");
    places.prove(honest);
    fill(&mut places, seconds(3), (2_000..4_000).map(stranger));
    assert!(is_there(&places, honest));
}

/// Thieves of one certificate each prove something on all their connections. A quarter of the places remains for newcomers.
#[test]
fn those_who_have_proven_something_leave_a_quarter_to_newcomers() {
    let mut places = Places::new(DEFAULT);
    let thieves = (0..1_000u32).map(|number| Origin::of(IpAddr::from(number.to_be_bytes())));
    for id in fill(&mut places, seconds(0), thieves) {
        places.prove(id);
    }
    let newcomers = (0..250u32).map(|number| Origin::of(IpAddr::from((1 << 24 | number).to_be_bytes())));
    let newcomers = fill(&mut places, seconds(1), newcomers);
    assert!(newcomers.iter().all(|id| is_there(&places, *id)));
    assert_eq!((places.all.proven, places.all.unproven), (750, 250));
    let (last, _) = places.enter(seconds(2), origin("192.0.2.3"), ());
    assert!(is_there(&places, last) && !is_there(&places, newcomers[0]), "the one that was idle longest");
    assert_eq!(places.all.proven, 750, "strangers push out no more of them");
}

/// Behind a stateless join proxy, all have its address. A stranger has many connections, and devices have one each.
#[test]
fn behind_a_join_proxy_places_are_counted_by_device() {
    let mut places = Places::new(Capacity::half_for_one(8));
    let device = |name: &str| Origin::behind("192.0.2.1".parse().unwrap(), name.as_bytes());
    let devices = fill(&mut places, seconds(0), ["one", "two"].map(device));
    fill(&mut places, seconds(1), (0..20).map(|_| device("stranger")));
    assert!(devices.iter().all(|id| is_there(&places, *id)), "though they were idle longer");
    let (third, _) = places.enter(seconds(2), device("three"), ());
    assert!(is_there(&places, third));
    assert_eq!(places.entries.len(), 4, "the address has its share");
}

/// The default limits of the TCP join proxy, on a link where a host has as many addresses as it likes.
#[test]
fn a_host_with_all_addresses_of_a_link_keeps_no_device_out() {
    let mut places = Places::new(Capacity { connections: 256, per_network: 256, per_address: 4 });
    let stranger = |number: u32| Origin::of(IpAddr::from((0xfe80 << 112 | u128::from(number)).to_be_bytes()));
    fill(&mut places, seconds(0), (0..256).map(|number| stranger(number / 4)));
    let (device, _) = places.enter(seconds(1), origin("fe80::ffff:1"), ());
    fill(&mut places, seconds(2), (0..255).map(|number| stranger(1_000 + number)));
    assert!(is_there(&places, device), "all others were idle longer, or are of an address that has more");
}

#[test]
fn an_address_makes_room_for_itself() {
    let mut places = Places::new(Capacity { connections: 3, per_network: 3, per_address: 2 });
    let [first, second] = ["fe80::1", "fe80::2"].map(origin);
    let one = fill(&mut places, seconds(0), [first.clone(), first.clone()]);
    let other = fill(&mut places, seconds(1), [second.clone()]);
    places.active(seconds(2), one[0]);
    let (newcomer, _) = places.enter(seconds(3), first, ());
    assert!(is_there(&places, one[0]) && !is_there(&places, one[1]), "the one that was idle longest");
    assert!(is_there(&places, other[0]) && is_there(&places, newcomer));
    assert!(places.leave(newcomer).is_some() && places.leave(newcomer).is_none());
    let (_, evicted) = places.enter(seconds(4), second, ());
    assert!(evicted.is_none(), "a place that was left is free");
}

#[test]
fn a_place_is_free_when_it_is_dropped_and_zero_places_are_one() {
    let table = Table::new(Capacity { connections: 0, per_network: 0, per_address: 0 });
    let (place, none) = Table::enter(&table, seconds(0), origin("192.0.2.1"), 'a');
    assert_eq!(none, None);
    drop(place);
    let (_second, none) = Table::enter(&table, seconds(0), origin("192.0.2.2"), 'b');
    assert_eq!(none, None);
    let (_third, evicted) = Table::enter(&table, seconds(0), origin("192.0.2.3"), 'c');
    assert_eq!(evicted, Some('b'));
}

/// What can happen to a table.
#[derive(Clone, Debug)]
enum Step {
    Enter(u8, u8),
    Leave(usize),
    Active(usize),
    Prove(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..6u8, 0..3u8).prop_map(|(address, device)| Step::Enter(address, device)),
        1 => any::<usize>().prop_map(Step::Leave),
        1 => any::<usize>().prop_map(Step::Active),
        1 => any::<usize>().prop_map(Step::Prove),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(41), ..ProptestConfig::default() })]

    #[test]
    fn counts_are_those_of_the_entries_and_no_limit_is_passed(
        steps in steps(),
        (connections, per_network, per_address) in (0..9usize, 0..9usize, 0..9usize),
    ) {
        let mut places = Places::new(Capacity { connections, per_network, per_address });
        let mut ids: Vec<PlaceId> = Vec::new();
        for (now, step) in steps.into_iter().enumerate() {
            let now = seconds(now as u64);
            let one = |number: usize| ids.get(number % ids.len().max(1)).copied();
            match step {
                Step::Enter(address, device) => {
                    let from = IpAddr::from([0x20, 1, 0, 0, 0, 0, 0, address / 3, 0, 0, 0, 0, 0, 0, 0, address % 3]);
                    let (id, _) = places.enter(now, Origin::behind(from, &[device]), ());
                    prop_assert!(is_there(&places, id), "a newcomer has a place");
                    ids.push(id);
                }
                Step::Leave(number) => drop(one(number).map(|id| places.leave(id))),
                Step::Active(number) => drop(one(number).map(|id| places.active(now, id))),
                Step::Prove(number) => drop(one(number).map(|id| places.prove(id))),
            }
            let mut counts = HashMap::<Group, Count>::new();
            for entry in places.entries.values() {
                for group in entry.groups {
                    *counts.entry(places.groups.list[group].0.clone()).or_default().change(entry.is_proven) += 1;
                }
            }
            prop_assert_eq!(counts.len(), places.groups.by_name.len());
            prop_assert_eq!(counts.len() + places.groups.free.len(), places.groups.list.len());
            for (group, index) in &places.groups.by_name {
                prop_assert_eq!(counts.get(group), Some(&places.groups.list[*index].1));
            }
            prop_assert_eq!(places.all.total(), places.entries.len());
            prop_assert!(places.entries.len() <= connections.max(1));
            for (group, count) in counts {
                let limit = match group {
                    Group::Network(_) => per_network,
                    Group::Address(_) => per_address,
                    Group::Device(..) => continue,
                };
                prop_assert!(count.total() <= limit.max(1));
            }
        }
    }
}
