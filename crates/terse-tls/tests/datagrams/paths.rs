//! Clients whose address changes, or seems to: a NAT forgets them, somebody copies what they send, or they lie. What the
//! server does about it is the check of RFC 9853; what each part of it is for, the same attack shows without it.

use core::net::SocketAddr;

use terse_testkit::fault::{fault, remove_extension};
use terse_testkit::setup::Setup;
use terse_tls::{
    ConnectionHandle, ContentType, Datagrams, EndpointEvent, EndpointLimits, ExtensionType, HandshakeType,
    ProtocolVersion, Undefended,
};

use super::world::{World, address, setup_of};

const CHECK: ContentType = ContentType::RETURN_ROUTABILITY_CHECK;

/// How long an endpoint waits for an answer to its check, in milliseconds.
const PATIENCE: u64 = 1_000;

fn old() -> SocketAddr {
    address(1, 4000)
}

fn new() -> SocketAddr {
    address(1, 5000)
}

/// The address of somebody else.
fn other() -> SocketAddr {
    address(66, 6666)
}

fn changed(from: SocketAddr, to: SocketAddr) -> EndpointEvent {
    EndpointEvent::AddressChanged { from: from.into(), to: to.into() }
}

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3];

fn setup(version: ProtocolVersion, connection_id: Option<u8>) -> Setup {
    setup_of(version, Datagrams::default().connection_id(connection_id))
}

/// Returns a client with a connection ID.
fn world(version: ProtocolVersion) -> (World, ConnectionHandle) {
    undefended(version, Undefended::default())
}

fn undefended(version: ProtocolVersion, undefended: Undefended) -> (World, ConnectionHandle) {
    let mut world = World::new(setup(version, Some(4)), EndpointLimits::default().undefended(undefended));
    let (_, handle) = world.connected(old());
    (world, handle)
}

impl World {
    /// Has the client send a check from that address.
    fn check_from(&mut self, from: SocketAddr, msg_type: u8, cookie: [u8; 8]) {
        self.clients[0].connection.send_record(CHECK, &[&[msg_type][..], &cookie].concat()).unwrap();
        for datagram in self.transmit(0) {
            self.hand_over(from, datagram);
        }
    }

    /// Returns the addresses that were reported.
    fn changes(&mut self) -> Vec<EndpointEvent> {
        let is_change = |event: &EndpointEvent| matches!(event, EndpointEvent::AddressChanged { .. });
        self.events.drain(..).map(|(_, event)| event).filter(is_change).collect()
    }
}

#[test]
fn a_client_that_moved_is_asked_and_then_believed() {
    for version in VERSIONS {
        let (mut world, handle) = world(version);
        world.clients[0].path = new().into();
        let datagrams = world.say(b"I am here now");
        let came: usize = datagrams.iter().map(Vec::len).sum();
        datagrams.into_iter().for_each(|datagram| world.hand_over(new(), datagram));
        world.answer(handle, &[1; 40]);
        world.answer(handle, &[2; 1000]);
        let mut sent = world.answers();
        let to: Vec<_> = sent.iter().map(|(to, _)| to.clone()).collect();
        assert_eq!(to, [old(), new(), new()], "a challenge each, and the short answer");
        let went: usize = sent.iter().filter(|(to, _)| *to == new()).map(|(_, datagram)| datagram.len()).sum();
        assert!(went <= 3 * came, "{went} B for {came} B");
        for (_, datagram) in sent.iter_mut().filter(|(to, _)| *to == new()) {
            world.hand_to_client(0, datagram);
        }
        world.run();
        assert_eq!(
            world.clients[0].received,
            [vec![1; 40], vec![2; 1000]],
            "the long answer waited for that of the client"
        );
        assert_eq!(world.changes(), [], "the client may still answer from where it was");
        world.pass(PATIENCE - 1);
        world.run();
        assert_eq!(world.changes(), []);
        world.pass(1);
        world.run();
        assert_eq!(world.changes(), [changed(old(), new())]);
        let counters = world.endpoint.counters();
        assert_eq!((counters.path_challenges, counters.path_responses_dropped), (2, 0));
        assert_eq!((counters.paths_kept, counters.paths_unproven), (0, 0));
        world.waits_for_nobody();
        world.say_from(new(), b"again");
        world.run();
        assert_eq!(world.endpoint.counters().path_challenges, 2, "nobody asks again");
    }
}

/// The first datagrams after the move are lost in every possible way.
#[test]
fn challenges_and_answers_may_be_lost() {
    for version in VERSIONS {
        let mut moved = [0; 2];
        for lost in 0..1_u32 << 7 {
            let (mut world, handle) = world(version);
            world.clients[0].path = new().into();
            world.clients[0].connection.send(b"I am here now").unwrap();
            let mut left = lost;
            let mut arrives = || {
                let is_lost = left & 1 == 1;
                left >>= 1;
                !is_lost
            };
            world.run_over(&mut arrives);
            while let Some(time) = world.endpoint.poll_timeout() {
                world.pass(time.0 - world.now.monotonic.0);
                world.run_over(&mut arrives);
            }
            let has_moved = world.endpoint.address(handle) == Some(new());
            assert_eq!(world.changes().len(), usize::from(has_moved), "{lost:b}");
            if !has_moved {
                assert_eq!(world.endpoint.address(handle), Some(old()), "{lost:b}");
            }
            moved[usize::from(has_moved)] += 1;
            // Whatever became of it, the next datagram does it.
            world.say_from(new(), b"again");
            world.run();
            world.run_out();
            assert_eq!(world.endpoint.address(handle), Some(new()), "{lost:b}");
            assert_eq!(world.heard_by(handle, &[7; 1000]), [0], "{lost:b}");
        }
        // The first one is lost (2^6), or in each of three attempts the challenge or its answer (2^6 * (1/2 + 1/4)^3).
        assert_eq!(moved, [64 + 27, 64 - 27]);
    }
}

#[test]
fn a_client_that_cannot_be_reached_stays_where_it_was() {
    for version in VERSIONS {
        let (mut world, handle) = world(version);
        world.say_from(new(), b"from there nothing comes back");
        world.answer(handle, b"where are you?");
        let mut asked = [0; 2];
        for _ in 0..3 {
            let sent = world.answers();
            asked = [old(), new()].map(|address| sent.iter().filter(|(to, _)| *to == address).count());
            assert_eq!(world.endpoint.address(handle), Some(new()));
            world.pass(PATIENCE);
        }
        assert_eq!(asked, [1, 1], "each time");
        world.answers();
        world.waits_for_nobody();
        assert_eq!(world.endpoint.address(handle), Some(old()));
        assert_eq!(world.changes(), []);
        assert_eq!((world.endpoint.counters().paths_unproven, world.endpoint.counters().path_challenges), (1, 6));
        assert_eq!(world.heard_by(handle, &[7; 1000]), [0], "without a limit");
    }
}

#[test]
fn a_client_that_is_heard_of_where_it_was_is_there() {
    for version in VERSIONS {
        let (mut world, handle) = world(version);
        world.say_from(new(), b"one");
        assert_eq!(world.endpoint.address(handle), Some(new()));
        world.say_from(old(), b"two");
        assert_eq!(world.endpoint.address(handle), Some(old()));
        assert_eq!(world.heard_by(handle, &[7; 1000]), [0], "without a limit");
        world.run_out();
        assert_eq!((world.endpoint.address(handle), world.changes()), (Some(old()), vec![]));
    }
}

#[test]
fn a_client_that_moves_again_meanwhile_is_asked_again() {
    for version in VERSIONS {
        let (mut world, handle) = world(version);
        world.say_from(new(), b"one");
        world.answers();
        world.clients[0].path = other().into();
        world.say_from(other(), b"two");
        world.run();
        world.run_out();
        assert_eq!((world.endpoint.address(handle), world.changes()), (Some(other()), vec![changed(old(), other())]));
        let mut world = self::world(version).0;
        world.say_from(new(), b"one");
        world.answers();
        world.say_from(other(), b"two");
        world.answers();
        world.wait_in_vain();
        assert_eq!(world.heard_by(handle, &[7; 1000]), [0], "back where it was at first");
    }
}

#[test]
fn the_application_may_know_better() {
    for version in VERSIONS {
        let (mut world, handle) = world(version);
        world.clients[0].path = new().into();
        world.say_from(new(), b"here is a cookie of my own");
        assert!(!world.endpoint.needs_confirmation(handle), "a check is under way");
        world.endpoint.confirm_address(handle);
        world.answers();
        assert_eq!(world.changes(), [changed(old(), new())]);
        assert_eq!(world.heard_by(handle, &[7; 1000]), [0], "without a limit");
        world.run_out();
        assert_eq!(world.endpoint.address(handle), Some(new()));
    }
}

/// The KeyUpdate of the client came, but the acknowledgement goes to where the client was: the client sends under keys that
/// are not the newest.
#[test]
fn a_client_that_moves_while_it_changes_keys() {
    let (mut world, handle) = world(ProtocolVersion::TLS_1_3);
    world.clients[0].connection.update_keys(false).unwrap();
    for datagram in world.transmit(0) {
        world.hand_over(old(), datagram);
    }
    world.clients[0].path = new().into();
    world.say_from(new(), b"I am here now");
    world.run();
    world.run_out();
    assert_eq!((world.endpoint.address(handle), world.changes()), (Some(new()), vec![changed(old(), new())]));
}

/// Paths are checked only if both sides said so, and only with connection IDs (RFC 9853, 3).
#[test]
fn both_sides_agree_on_it() {
    for version in VERSIONS {
        for (client, server) in [(false, true), (true, false), (false, false)] {
            let mut setup = setup(version, Some(4));
            setup.client.edit_datagrams(|datagrams| datagrams.return_routability_check = client);
            setup.server.edit_datagrams(|datagrams| datagrams.return_routability_check = server);
            let mut world = World::new(setup, EndpointLimits::default());
            let (_, handle) = world.connected(old());
            world.clients[0].path = new().into();
            world.say_from(new(), b"I am here now");
            world.answers();
            assert_eq!(world.changes(), [changed(old(), new())], "at once");
            assert_eq!(world.heard_by(handle, &[1; 1000]), [0_usize; 0], "within limits");
            world.endpoint.confirm_address(handle);
            assert_eq!(world.heard_by(handle, &[1; 1000]), [0]);
            assert_eq!(world.endpoint.counters().path_challenges, 0);
            world.check_from(new(), 0, [7; 8]);
            assert_eq!(world.answers(), [], "a challenge is not answered");
            let dropped = world.endpoint.connection(handle).unwrap().summary().dropped;
            assert_eq!((dropped.not_due, dropped.total()), (1, 1));
        }
    }
}

fn says_rrc(datagrams: &[Vec<u8>]) -> bool {
    datagrams.iter().any(|datagram| datagram.windows(4).any(|bytes| bytes == [0, 61, 0, 0]))
}

#[test]
fn it_goes_with_connection_ids() {
    for version in VERSIONS {
        for (connection_id, offers) in [(None, false), (Some(0), true), (Some(4), true)] {
            let mut world = World::new(setup(version, connection_id), EndpointLimits::default());
            world.connected(old());
            assert_eq!(says_rrc(&world.clients[0].sent), offers);
        }
        for (removed, answers) in
            [(ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP, true), (ExtensionType::CONNECTION_ID, false)]
        {
            let mut setup = setup(version, Some(4));
            // This includes the ClientHello with the cookie.
            setup.client.fault(Some(fault(move |_, kind, message| {
                if kind == HandshakeType::CLIENT_HELLO {
                    remove_extension(message, removed);
                }
            })));
            let mut world = World::new(setup, EndpointLimits::default());
            let client = world.client(old());
            for _ in 0..2 {
                for datagram in world.transmit(client) {
                    assert!(says_rrc(core::slice::from_ref(&datagram)));
                    world.hand_over(old(), datagram);
                }
                for (_, mut datagram) in world.answers() {
                    assert_eq!(
                        says_rrc(core::slice::from_ref(&datagram)),
                        answers && world.endpoint.connections().0 == 1
                    );
                    world.hand_to_client(client, &mut datagram);
                }
            }
            assert_eq!(world.endpoint.connections().0, 1, "there was a ServerHello");
        }
    }
}

/// Checks are no news about where a peer is: otherwise a copied answer would begin the next check, and so on.
#[test]
fn a_check_moves_nobody_and_is_answered_where_it_came_from() {
    for version in VERSIONS {
        let (mut world, handle) = world(version);
        world.check_from(new(), 0, [7; 8]);
        let sent = world.answers();
        assert_eq!(sent.iter().map(|(to, _)| to.clone()).collect::<Vec<_>>(), [new()]);
        assert_eq!(world.endpoint.address(handle), Some(old()));
        for (msg_type, cookie) in [(1, [7; 8]), (2, [7; 8])] {
            world.check_from(new(), msg_type, cookie);
        }
        assert_eq!(world.answers(), []);
        assert_eq!(world.endpoint.counters().path_responses_dropped, 2);
        assert_eq!(world.endpoint.address(handle), Some(old()));
        world.waits_for_nobody();
        if version == ProtocolVersion::TLS_1_3 {
            continue; // its last record has no length, so none can be added
        }
        // The check is then in a datagram with data, which shows where the client is.
        world.clients[0].connection.send_record(CHECK, &[0, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let mut datagram = world.transmit(0).remove(0);
        datagram.extend(world.say(b"data").remove(0));
        world.hand_over(new(), datagram);
        let to: Vec<_> = world.answers().iter().map(|(to, _)| to.clone()).collect();
        assert_eq!(to, [old(), new(), new()], "two challenges and an answer");
    }
}

/// Unknown messages are ignored (RFC 9853, 4).
#[test]
fn other_checks_are_ignored() {
    for version in VERSIONS {
        let (mut world, handle) = world(version);
        for content in [&[3, 1, 2, 3, 4, 5, 6, 7, 8][..], &[255], &[0, 1], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[]] {
            world.clients[0].connection.send_record(CHECK, content).unwrap();
        }
        world.run();
        assert_eq!(world.heard_by(handle, b"still there"), [0]);
        assert_eq!(world.endpoint.connection(handle).unwrap().summary().dropped.malformed, 5);
    }
}

/// A client answers each challenge once, and keeps few that it cannot answer yet.
#[test]
fn challenges_without_end_fill_nothing() {
    for version in VERSIONS {
        let (mut world, handle) = world(version);
        let challenge = [&[0][..], &[7; 8]].concat();
        for _ in 0..100 {
            world.endpoint.connection(handle).unwrap().send_record(CHECK, &challenge).unwrap();
            world.run();
        }
        assert_eq!(world.endpoint.counters().path_responses_dropped, 100, "all came, and nobody had asked");
        for _ in 0..1_000 {
            world.endpoint.connection(handle).unwrap().send_record(CHECK, &challenge).unwrap();
        }
        for (_, mut datagram) in world.answers() {
            world.hand_to_client(0, &mut datagram);
        }
        assert!(world.transmit(0).len() <= 16);
    }
}

/// Somebody who sees what the client sends copies it, and is faster; what comes back it hands on, if that helps. Where the
/// server then believes the client.
fn raced(version: ProtocolVersion, defences: Undefended, hands_on: bool) -> (World, Option<SocketAddr>) {
    let (mut world, handle) = undefended(version, defences);
    let copy = |world: &mut World, datagrams: Vec<Vec<u8>>| {
        for datagram in datagrams {
            world.hand_over(other(), datagram.clone());
            world.hand_over(old(), datagram);
        }
    };
    for _ in 0..3 {
        let datagrams = world.say(b"data");
        copy(&mut world, datagrams);
        loop {
            let sent = world.answers();
            if sent.is_empty() {
                break;
            }
            for (to, mut datagram) in sent {
                if to == old() || hands_on {
                    world.hand_to_client(0, &mut datagram);
                }
            }
            let answers = world.transmit(0);
            copy(&mut world, answers);
        }
        world.pass(PATIENCE);
    }
    let address = world.endpoint.address(handle);
    (world, address)
}

/// RFC 9853, 8.1.2
#[test]
fn whoever_is_faster_does_not_get_the_connection() {
    for version in VERSIONS {
        for hands_on in [false, true] {
            let (mut world, address) = raced(version, Undefended::default(), hands_on);
            assert_eq!((address, world.changes()), (Some(old()), vec![]));
            assert_eq!(world.endpoint.counters().paths_kept, 3);
        }
        let (mut world, address) = raced(version, Undefended { old_path: true, ..Undefended::default() }, true);
        assert_eq!((address, world.changes()), (Some(other()), vec![changed(old(), other())]));
    }
}

/// A copy that comes later is a replay: it does not even make the server check the path.
#[test]
fn whoever_is_slower_changes_nothing() {
    for version in VERSIONS {
        let attack = |defences| {
            let (mut world, _) = undefended(version, defences);
            for datagram in world.say(b"data") {
                world.hand_over(old(), datagram.clone());
                world.hand_over(other(), datagram);
            }
            world.answers();
            world.endpoint.counters().path_challenges
        };
        assert_eq!(attack(Undefended::default()), 0);
        assert!(attack(Undefended { old_records: true, ..Undefended::default() }) > 0);
    }
}

/// While the old path answers, an attacker that is faster makes the client answer no more than once in a while.
#[test]
fn a_client_is_not_asked_all_the_time() {
    for version in VERSIONS {
        let (mut world, _) = world(version);
        for _ in 0..50 {
            for datagram in world.say(b"data") {
                world.hand_over(other(), datagram.clone());
                world.hand_over(old(), datagram);
            }
            world.run();
        }
        assert_eq!(world.endpoint.counters().path_challenges, 2);
        world.pass(PATIENCE);
        world.say_from(other(), b"data");
        world.run();
        assert_eq!(world.endpoint.counters().path_challenges, 4);
    }
}

/// A client sends in the name of a victim, which does not answer, and cannot see what the victim gets.
#[test]
fn nobody_answers_for_a_victim() {
    for version in VERSIONS {
        let attack = |defences| {
            let (mut world, handle) = undefended(version, defences);
            // Cookies that were good once, and the records with them.
            world.clients[0].path = new().into();
            world.say_from(new(), b"data");
            world.run();
            world.run_out();
            assert_eq!(world.endpoint.address(handle), Some(new()));
            let before = world.clients[0].sent.clone();
            world.changes();
            let victim = other();
            world.say_from(victim, b"send me much");
            world.answers();
            for guess in 0..=255 {
                world.check_from(victim, 1, [guess; 8]);
            }
            for datagram in before {
                world.hand_over(victim, datagram);
            }
            world.answers();
            let is_asked = world.endpoint.poll_timeout().is_some();
            world.wait_in_vain();
            (is_asked, world.endpoint.address(handle) == Some(victim))
        };
        assert_eq!(attack(Undefended::default()), (true, false));
        assert_eq!(attack(Undefended { path_responses: true, ..Undefended::default() }), (false, true));
    }
}

/// RFC 9853, 8.1.1: neither with data, nor with checks, nor with what is not authentic.
#[test]
fn a_victim_gets_no_more_than_three_times_what_came_in_its_name() {
    for version in VERSIONS {
        let attack = |defences| {
            let (mut world, handle) = undefended(version, defences);
            let victim = other();
            let (mut came, mut went, mut worst) = (0, 0, 0);
            for round in 0..20_u8 {
                let request = world.say(&[round]);
                let mut forged = request[0].clone();
                *forged.last_mut().unwrap() ^= 1;
                for datagram in request {
                    came += datagram.len();
                    world.hand_over(victim, datagram);
                }
                for _ in 0..10 {
                    world.hand_over(victim, forged.clone());
                }
                world.check_from(victim, 0, [round; 8]);
                came += world.clients[0].sent.last().unwrap().len();
                world.answer(handle, &[7; 1000]);
                world.answer(handle, &[7; 60]);
                let sent = world.answers();
                went += sent.iter().filter(|(to, _)| *to == victim).map(|(_, datagram)| datagram.len()).sum::<usize>();
                worst = worst.max(went * 100 / came);
                if round % 5 == 4 {
                    world.pass(PATIENCE);
                }
            }
            worst
        };
        let worst = attack(Undefended::default());
        assert!(worst <= 300, "{worst}%");
        assert!(attack(Undefended { amplification: true, ..Undefended::default() }) > 300);
    }
}
