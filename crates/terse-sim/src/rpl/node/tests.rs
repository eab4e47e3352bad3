mod world;

use core::time::Duration;

use terse_testkit::rng::seeds;
use world::{World, address};

use super::*;
use crate::rpl::messages::{Dio, Dis};
use crate::rpl::trickle::Parameters;

/// Trickle from 1 s to 2 min, as there is one message at a time; a path lives for 20 min.
fn options(repair: Repair) -> RplOptions {
    let trickle = Parameters { interval_min: 10, doublings: 7, redundancy: 5 };
    let dodag = DodagConfiguration { trickle, default_lifetime: 20, ..RplOptions::RFC_8180.dodag };
    RplOptions { dodag, repair, ..RplOptions::RFC_8180 }
}

const GLOBAL: Repair = Repair::Global { interval: Duration::from_secs(30) };

fn minutes(minutes: u64) -> Time {
    Time::from_millis(60_000 * minutes)
}

#[test]
fn a_network_of_fifty_forms() {
    for seed in 0..4 {
        let mut world = World::grid(10, 5, 0.7, options(GLOBAL), seed);
        world.settle(minutes(10));
        assert_eq!(world.loops, []);
        // Nine hops at least lead to the far end, and not many more.
        let far = world.path(49).unwrap().len() - 1;
        assert!((9..=13).contains(&far), "{far}");
        // Trickle makes a formed network quiet: of DIOs, at most one an interval of 128 s from each node.
        world.run_until(minutes(15));
        world.sent = [0; 4];
        world.run_until(minutes(25));
        let [dis, dio, ..] = world.sent;
        assert!(dis == 0 && dio < 50 * 8, "{:?}", world.sent);
        world.settle(minutes(27));
    }
}

#[test]
fn the_network_forms_again_when_a_relay_dies() {
    for seed in 0..4 {
        let mut world = World::grid(10, 5, 0.7, options(GLOBAL), seed);
        world.settle(minutes(10));
        // The relay, other than the root, that most others need.
        let users = |relay: &usize| (1..50).filter(|at| world.path(*at).unwrap()[1..].contains(relay)).count();
        let relay = (1..50).max_by_key(users).unwrap();
        assert!(users(&relay) >= 5, "{relay} has {}", users(&relay));
        world.is_alive[relay] = false;
        world.settle(minutes(25));
        assert_eq!(world.loops, [], "seed {seed}");
    }
}

/// Lets nodes of a grid die and come back for an hour, over links that lose up to 60 %.
fn disturbed(options: RplOptions, seed: u64, forget: bool) -> World {
    let mut world = World::grid(4, 4, 0.4, options, seed);
    let mut random = crate::Random::new(seed, 2);
    for minute in 1..60 {
        world.run_until(minutes(minute));
        let at = 1 + random.next_u32() as usize % 15;
        match (world.is_alive[at], forget) {
            (true, _) => world.is_alive[at] = false,
            (false, true) => world.restart(at, options, seed + minute),
            (false, false) => world.is_alive[at] = true,
        }
    }
    for at in 1..16 {
        if !world.is_alive[at] && forget {
            world.restart(at, options, seed);
        }
        world.is_alive[at] = true;
    }
    world
}

#[test]
fn parents_never_make_a_loop_whatever_is_lost() {
    for seed in seeds(4) {
        let mut world = disturbed(options(GLOBAL), seed, false);
        world.settle(minutes(120));
        assert_eq!(world.loops, [], "seed {seed}");
    }
}

#[test]
fn loops_of_nodes_without_a_memory_end() {
    for seed in seeds(4) {
        let mut world = disturbed(options(GLOBAL), seed, true);
        world.settle(minutes(120));
        assert_eq!(world.path(15).and_then(|path| path.last().copied()), Some(0), "seed {seed}");
    }
}

#[test]
fn loops_of_local_repair_end() {
    let mut loops = 0;
    for seed in 0..4 {
        let mut world = disturbed(options(Repair::Local), seed, false);
        world.settle(minutes(120));
        loops += world.loops.len();
    }
    assert!(loops > 0, "this is what Global is for");
}

#[test]
fn a_lost_node_among_its_own_children_makes_the_root_repair() {
    // 0 - 1 - 2, and another way that is too long for 2: 0 - 3 - 4 - 5 - 2.
    let mut world = World::new(6, options(GLOBAL), 1);
    for (a, b) in [(0, 1), (1, 2), (0, 3), (3, 4), (4, 5), (5, 2)] {
        world.link(a, b, 1.0);
    }
    world.run_until(minutes(10));
    assert_eq!(world.path(2), Some(vec![2, 1, 0]));
    let (_, version) = world.nodes[2].dodag().unwrap();
    world.is_alive[1] = false;
    world.run_until(minutes(20));
    assert_eq!(world.path(2), Some(vec![2, 5, 4, 3, 0]));
    assert_eq!(world.without_route(), [0; 0]);
    let (_, later) = world.nodes[2].dodag().unwrap();
    assert!(later.is_newer_than(version));
    assert_eq!(world.loops, []);
}

/// A router below a root, after one DIO.
fn pair() -> (Node, Node, Time) {
    let options = options(GLOBAL);
    let (chance, now) = (Chance::new(1), Time::from_millis(1_000));
    let root = Node::root(options, chance, address(0), Time::ZERO);
    let router = Node::router(options, chance, address(1), Time::ZERO);
    (root, router, now)
}

fn dio_of(node: &mut Node) -> Dio {
    node.send_dio(ALL_RPL_NODES);
    match node.poll_transmit() {
        Some(Transmit { message: Message::Dio(dio), .. }) => dio,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_router_joins_with_the_first_dio_and_sends_a_dao() {
    let (mut root, mut router, now) = pair();
    assert_eq!((router.rank(), router.join_metric()), (INFINITE_RANK, None));
    assert_eq!((root.rank(), root.dag_rank(), root.join_metric()), (256, 1, Some(0)));
    let dio = dio_of(&mut root);
    assert_eq!((dio.rank, dio.mode_of_operation, dio.is_grounded), (256, 1, true));
    router.handle_message(now, link_local(address(0)), ALL_RPL_NODES, &Message::Dio(dio));
    let parent = Some(link_local(address(0)));
    assert_eq!(router.poll_event(), Some(Event::Parent { old: None, new: parent }));
    // DEFAULT_STEP_OF_RANK.
    assert_eq!((router.parent(), router.rank(), router.join_metric()), (parent, 256 + 3 * 256, Some(3)));
    let due = router.dao.next_time().unwrap();
    assert!((1_750..2_250).contains(&due.as_millis()), "{due:?}");
    router.handle_timeout(due);
    let mut output = core::iter::from_fn(|| router.poll_transmit());
    let transmit = output.find(|transmit| matches!(transmit.message, Message::Dao(_))).unwrap();
    assert_eq!((transmit.source, transmit.destination, transmit.next_hop), (address(1), address(0), parent));
    let Message::Dao(dao) = &transmit.message else { unreachable!("found as one") };
    let advertisement = &dao.advertisements[0];
    assert_eq!(advertisement.targets[0].prefix, address(1));
    assert_eq!(advertisement.transits[0].parent, Some(address(0)), "global");
    // Without an answer it is sent again, the same; with one, it is not.
    let again = router.dao.next_time().unwrap();
    assert_eq!(again.since(due), Duration::from_secs(30));
    router.handle_timeout(again);
    let output: Vec<_> = core::iter::from_fn(|| router.poll_transmit()).collect();
    assert!(output.contains(&transmit), "{output:?}");
    root.handle_message(again, address(1), address(0), &transmit.message);
    assert_eq!(root.routes().unwrap().route(again, address(1)), Ok(vec![address(1)]));
    let answer = root.poll_transmit().unwrap();
    assert_eq!((answer.destination, answer.next_hop), (address(1), None));
    router.handle_message(again, address(0), address(1), &answer.message);
    let renewal = router.dao.next_time().unwrap().since(again).as_secs();
    assert!((450..750).contains(&renewal), "about half of 20 min: {renewal}");
}

#[test]
fn a_node_that_has_started_anew_overtakes_its_path_sequence() {
    for earlier in [241, 248, 255, 3, 20, 127] {
        let (mut root, mut router, mut now) = pair();
        let transit = crate::rpl::options::Transit {
            is_external: false,
            path_control: 0x80,
            path_sequence: earlier,
            path_lifetime: 20,
            parent: Some(address(7)),
        };
        assert_eq!(root.root.as_mut().unwrap().routes.update(now, address(1), &[transit], 60), Ok(true));
        router.handle_message(now, link_local(address(0)), ALL_RPL_NODES, &Message::Dio(dio_of(&mut root)));
        let mut tries = 0;
        while root.routes().unwrap().parent(now, address(1)) != Some(address(0)) {
            now = router.dao.next_time().unwrap();
            router.handle_timeout(now);
            while let Some(transmit) = router.poll_transmit() {
                if matches!(transmit.message, Message::Dao(_)) {
                    tries += 1;
                    root.handle_message(now, address(1), address(0), &transmit.message);
                    let answer = root.poll_transmit().unwrap();
                    router.handle_message(now, address(0), address(1), &answer.message);
                }
            }
            assert!(tries <= 4, "after {earlier}");
        }
    }
}

#[test]
fn a_dis_to_all_resets_trickle_and_one_to_a_node_is_answered() {
    let (mut root, router, _) = pair();
    let now = minutes(10);
    root.handle_timeout(now);
    while root.poll_transmit().is_some() {}
    let asking = router.link_local();
    let all = |solicited| Message::Dis(Dis { solicited });
    let far = root.poll_timeout().unwrap();
    // Another instance is asked for.
    let other = crate::rpl::options::SolicitedInformation { instance: Some(9), ..Default::default() };
    root.handle_message(now, asking, ALL_RPL_NODES, &all(Some(other)));
    root.handle_message(now, asking, root.link_local(), &all(Some(other)));
    assert_eq!((root.poll_timeout(), root.poll_transmit()), (Some(far), None));
    root.handle_message(now, asking, root.link_local(), &all(None));
    let answer = root.poll_transmit().unwrap();
    assert!(matches!(answer.message, Message::Dio(Dio { configuration: Some(_), .. })));
    assert_eq!((answer.next_hop, root.poll_timeout()), (Some(asking), Some(far)), "8.3: no reset");
    root.handle_message(now, asking, ALL_RPL_NODES, &all(None));
    assert!(root.poll_timeout().unwrap().since(now) < Duration::from_millis(1_025));
}

#[test]
fn a_node_whose_parent_poisons_poisons_too() {
    let (mut root, mut router, now) = pair();
    let dio = dio_of(&mut root);
    let source = link_local(address(0));
    router.handle_message(now, source, ALL_RPL_NODES, &Message::Dio(dio));
    let later = minutes(5);
    router.handle_timeout(later);
    let poison = Dio { rank: INFINITE_RANK, ..dio };
    router.handle_message(later, source, ALL_RPL_NODES, &Message::Dio(poison));
    assert_eq!((router.parent(), router.rank(), router.join_metric()), (None, INFINITE_RANK, None));
    assert_eq!(dio_of_last(&mut router).rank, INFINITE_RANK);
    assert!(router.poll_timeout().unwrap().since(later) < Duration::from_millis(1_025), "soon");
    // L is remembered: the same version at a greater Rank is refused, and a new one taken.
    let deep = Dio { rank: 5_000, ..dio };
    router.handle_message(later, link_local(address(7)), ALL_RPL_NODES, &Message::Dio(deep));
    assert_eq!(router.parent(), None);
    let next = Dio { version: dio.version.next(), ..deep };
    router.handle_message(later, link_local(address(7)), ALL_RPL_NODES, &Message::Dio(next));
    assert_eq!(router.parent(), Some(link_local(address(7))));
}

#[test]
fn a_parent_that_cannot_be_reached_is_left_and_forgotten_after_a_while() {
    let (mut root, mut router, now) = pair();
    let [first, second] = [0, 7].map(|number| link_local(address(number)));
    let dio = dio_of(&mut root);
    router.handle_message(now, first, ALL_RPL_NODES, &Message::Dio(dio));
    router.handle_message(now, second, ALL_RPL_NODES, &Message::Dio(Dio { rank: 600, ..dio }));
    assert_eq!(router.parent(), Some(first));
    router.handle_unreachable(now, first);
    // 600 is below L = 1024.
    assert_eq!((router.parent(), router.rank()), (Some(second), 600 + 3 * 256));
    // A DIO does not make the link better, until what was measured is forgotten.
    router.handle_message(minutes(5), first, ALL_RPL_NODES, &Message::Dio(dio));
    assert_eq!(router.parent(), Some(second));
    assert!(router.neighbours.next_time() == Some(now + Duration::from_secs(600)));
    router.handle_timeout(minutes(11));
    router.handle_message(minutes(11), first, ALL_RPL_NODES, &Message::Dio(dio));
    // 600 + 768 is not worth a switch to 256 + 768; a good link is.
    assert_eq!(router.parent(), Some(second));
    (0..20).for_each(|_| router.handle_transmission(minutes(11), first, true));
    assert_eq!((router.parent(), router.rank()), (Some(first), 512));
}

fn dio_of_last(node: &mut Node) -> Dio {
    while node.poll_transmit().is_some() {}
    dio_of(node)
}

#[test]
fn a_dtsn_that_grows_makes_all_below_send_daos() {
    let (mut root, mut router, now) = pair();
    let source = link_local(address(0));
    let dio = dio_of(&mut root);
    router.handle_message(now, source, ALL_RPL_NODES, &Message::Dio(dio));
    router.handle_timeout(minutes(1));
    while router.poll_transmit().is_some() {}
    let before = (dio_of(&mut router).dtsn, router.dao.next_time().unwrap());
    root.refresh_routes(minutes(1));
    let dio = dio_of(&mut root);
    router.handle_message(minutes(1), source, ALL_RPL_NODES, &Message::Dio(dio));
    assert_eq!(dio_of(&mut router).dtsn, before.0.next());
    assert!(router.dao.next_time().unwrap() < before.1);
}

#[test]
fn a_packet_that_goes_the_wrong_way_twice_is_dropped() {
    let (mut root, mut router, now) = pair();
    router.handle_message(now, link_local(address(0)), ALL_RPL_NODES, &Message::Dio(dio_of(&mut root)));
    let own = router.rank();
    // Up, from a node below; down, from one above.
    assert_eq!(router.forward(now, false, false, own + 256), Forwarding::Forward { rank_error: false });
    assert_eq!(router.forward(now, true, false, own - 256), Forwarding::Forward { rank_error: false });
    assert_eq!(router.forward(now, false, false, own), Forwarding::Forward { rank_error: true });
    assert_eq!(router.forward(now, true, false, own + 256), Forwarding::Forward { rank_error: true });
    let later = minutes(10);
    router.handle_timeout(later);
    assert_eq!(router.forward(later, false, true, own), Forwarding::Drop);
    assert!(router.poll_timeout().unwrap().since(later) < Duration::from_millis(1_025), "Trickle is reset");
}

#[test]
fn tables_and_queues_have_bounds() {
    let options = RplOptions { neighbours: 4, ..options(GLOBAL) };
    let mut root = Node::root(options, Chance::new(1), address(0), Time::ZERO);
    let mut router = Node::router(options, Chance::new(1), address(1), Time::ZERO);
    let dio = dio_of(&mut root);
    for number in 0..200 {
        let dio = Dio { rank: 60_000 - 200 * (number as u16), ..dio };
        router.handle_message(minutes(1), link_local(address(number)), ALL_RPL_NODES, &Message::Dio(dio));
        router.handle_message(
            minutes(1),
            link_local(address(number)),
            router.link_local(),
            &Message::Dis(Dis::default()),
        );
    }
    assert_eq!(router.neighbours.iter().count(), 4);
    assert!(router.output.len() <= MOST_WAITING && router.events.len() <= MOST_WAITING);
    // The best of them are those that came last.
    assert_eq!(router.neighbours.iter().map(|neighbour| neighbour.rank).min(), Some(60_000 - 200 * 199));
}

#[test]
fn the_same_seed_makes_the_same_network() {
    let run = || {
        let mut world = World::grid(5, 4, 0.6, options(GLOBAL), 9);
        world.run_until(minutes(20));
        (world.sent, (0..20).map(|at| (world.nodes[at].rank(), world.nodes[at].parent())).collect::<Vec<_>>())
    };
    assert_eq!(run(), run());
}
