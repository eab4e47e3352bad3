use super::*;

const NOW: Time = Time::from_millis(1_000);

fn address(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xBBBB, 0, 0, 0, 0, 0, 0, number)
}

fn transit(parent: u16, path_sequence: u8) -> Transit {
    let parent = Some(address(parent));
    Transit { is_external: false, path_control: 0x80, path_sequence, path_lifetime: 10, parent }
}

fn routes(capacity: usize) -> Routes {
    Routes::new(address(0), capacity, 33)
}

/// A chain: the root, 1, 2, and so on.
fn chain(len: u16) -> Routes {
    let mut routes = routes(100);
    for node in (1..=len).rev() {
        assert_eq!(routes.update(NOW, address(node), &[transit(node - 1, 240)], 60), Ok(true));
    }
    routes
}

#[test]
fn a_route_follows_the_parents() {
    let routes = chain(3);
    assert_eq!(routes.route(NOW, address(3)), Ok(vec![address(1), address(2), address(3)]));
    assert_eq!(routes.route(NOW, address(1)), Ok(vec![address(1)]));
    assert_eq!(routes.route(NOW, address(0)), Ok(vec![]));
    assert_eq!(routes.route(NOW, address(9)), Err(NoRoute::Unknown(address(9))));
    assert_eq!(chain(33).route(NOW, address(33)).map(|route| route.len()), Ok(33));
    assert_eq!(chain(34).route(NOW, address(34)), Err(NoRoute::TooLong));
}

#[test]
fn a_circle_gives_no_route() {
    let mut routes = chain(3);
    // 1 has moved below 3, whose own DAO is not here yet.
    assert_eq!(routes.update(NOW, address(1), &[transit(3, 241)], 60), Ok(true));
    for node in 1..=3 {
        assert_eq!(routes.route(NOW, address(node)), Err(NoRoute::Loop));
    }
    // It comes: 3 is below the root.
    assert_eq!(routes.update(NOW, address(3), &[transit(0, 241)], 60), Ok(true));
    assert_eq!(routes.route(NOW, address(2)), Ok(vec![address(3), address(1), address(2)]));
    assert_eq!(routes.update(NOW, address(2), &[transit(2, 241)], 60), Err(Refused::Parent), "its own parent");
    assert_eq!(routes.update(NOW, address(0), &[transit(2, 241)], 60), Err(Refused::Parent), "the root has none");
    assert_eq!(routes.update(NOW, address(2), &[], 60), Err(Refused::Parent));
}

#[test]
fn an_old_path_sequence_changes_nothing() {
    let mut routes = chain(3);
    for sequence in [240, 239] {
        assert_eq!(routes.update(NOW, address(3), &[transit(0, sequence)], 60), Err(Refused::Stale));
    }
    assert_eq!(routes.update(NOW, address(3), &[transit(2, 240)], 60), Ok(true), "the same again");
    assert_eq!(routes.parent(NOW, address(3)), Some(address(2)));
    assert_eq!(routes.update(NOW, address(3), &[transit(0, 241)], 60), Ok(true));
    assert_eq!(routes.parent(NOW, address(3)), Some(address(0)));
    // After its lifetime nothing is newer than anything.
    let later = NOW + Duration::from_secs(600);
    assert_eq!(routes.update(later, address(3), &[transit(2, 200)], 60), Ok(true));
}

#[test]
fn a_path_ends_with_its_lifetime_or_with_a_no_path() {
    let mut routes = chain(2);
    let until = NOW + Duration::from_secs(600);
    assert!(routes.route(Time::from_millis(600_999), address(2)).is_ok());
    assert_eq!(routes.route(until, address(2)), Err(NoRoute::Unknown(address(2))));
    let forever = Transit { path_lifetime: 0xFF, ..transit(0, 242) };
    assert_eq!(routes.update(NOW, address(1), &[forever], 60), Ok(true));
    assert!(routes.route(Time::from_nanos(u64::MAX), address(1)).is_ok());
    let no_path = Transit { path_lifetime: 0, ..transit(0, 243) };
    assert_eq!(routes.update(NOW, address(1), &[no_path], 60), Ok(false));
    assert_eq!(routes.route(NOW, address(2)), Err(NoRoute::Unknown(address(1))));
}

#[test]
fn the_best_parent_is_that_of_the_best_path_control() {
    let mut routes = chain(2);
    let second = Transit { path_control: 0x40, ..transit(2, 240) };
    assert_eq!(routes.update(NOW, address(7), &[second, transit(1, 240), transit(0, 240)], 60), Ok(true));
    assert_eq!(routes.parent(NOW, address(7)), Some(address(1)));
}

#[test]
fn there_is_room_for_so_many_nodes() {
    let mut routes = routes(3);
    for node in 1..=3 {
        assert_eq!(routes.update(NOW, address(node), &[transit(0, 240)], 60), Ok(true));
    }
    assert_eq!(routes.update(NOW, address(4), &[transit(0, 240)], 60), Err(Refused::Full));
    assert_eq!(routes.update(NOW, address(3), &[transit(2, 241)], 60), Ok(true), "known");
    let later = NOW + Duration::from_secs(600);
    assert_eq!(routes.update(later, address(4), &[transit(0, 240)], 60), Ok(true), "the others are gone");
    assert_eq!(routes.len(), 1);
}
