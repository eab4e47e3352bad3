//! A ticket of the cache stands for a cookie (docs/caching.md, 4.7): once, from the IP address that it was made at, and
//! for nothing more.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::net::SocketAddr;
use core::task::Poll;

use terse_pki::{LeafOptions, Usage};
use terse_testkit::pair::Side;
use terse_testkit::pki::{Pki, SERVER_NAME, credential, validity};
use terse_tls::cache::Scheme;
use terse_tls::cache::{
    AddressId, ClientCache, Commit, MemoryClientStore, MemoryServerStore, NotSaved, Row, Schemes, ServerCache,
    ServerStore, Ticket, snapshot,
};
use terse_tls::summary::{CachedObject, Mode};
use terse_tls::{
    ClientAuthentication, Datagrams, Endpoint, EndpointEvent, EndpointLimits, LearnedIssuers, NamedGroup, Path,
    ProtocolVersion, Summary, Undefended, Work,
};

use super::modes::{BOTH_VERSIONS, CHAIN, PROVIDER, mutual};
use super::world::{World, address};

/// Each version under each scheme with tickets.
fn settings() -> impl Iterator<Item = (ProtocolVersion, Schemes)> {
    BOTH_VERSIONS.into_iter().flat_map(|version| [Schemes::BITHAC, Schemes::COMPACT].map(|schemes| (version, schemes)))
}

/// Returns the mode of a connection for which everything was kept.
fn best(schemes: Schemes) -> Mode {
    if schemes == Schemes::COMPACT { Mode::Cached(Scheme::Compact) } else { Mode::Cached(Scheme::Bithac) }
}

fn without(undefended: Undefended) -> EndpointLimits {
    EndpointLimits::default().undefended(undefended)
}

/// A server with a cache, and a client that was there from there.
struct Scene {
    world: World,
    store: Arc<MemoryServerStore>,
    schemes: Schemes,
    limits: EndpointLimits,
}

const HOME: u8 = 1;

/// A connection with data, closed in order.
struct Visit {
    client: Summary,
    server: Summary,
    /// How many cookies were sent, and how many tickets were spent.
    counts: (u32, u32),
    /// How many bytes all datagrams of the handshake had.
    bytes: usize,
}

impl Scene {
    /// Nobody was there.
    fn new((version, schemes): (ProtocolVersion, Schemes), max_datagram: usize, limits: EndpointLimits) -> Self {
        println!("D{version}, {schemes:?}, {max_datagram}"); // is shown if a test fails
        let mut setup = mutual(CHAIN).over(version, Datagrams::default().max_datagram(max_datagram));
        setup.client.cache(Some(ClientCache::new(Arc::new(MemoryClientStore::new(4)), schemes)));
        let store = Arc::new(MemoryServerStore::new(8));
        setup.server.cache(Some(ServerCache::new(store.clone(), schemes)));
        Self { world: World::new(setup, limits), store, schemes, limits }
    }

    /// After a visit.
    fn visited(setting: (ProtocolVersion, Schemes), limits: EndpointLimits) -> Self {
        let mut scene = Self::new(setting, 1_232, limits);
        let first = scene.visit(address(HOME, 4000));
        assert_eq!((first.server.mode, first.counts), (Mode::Full, (1, 0)));
        scene
    }

    /// Starts other processes of the server, with what is configured now.
    fn restart(&mut self) {
        let config = Arc::new(self.world.setup.server.build().unwrap());
        self.world.endpoint = Endpoint::new(config, self.limits, &mut self.world.rng).unwrap();
    }

    fn counts(&self) -> (u32, u32) {
        let counters = self.world.endpoint.counters();
        (counters.cookies_sent, counters.tickets_spent)
    }

    fn visit(&mut self, from: impl Into<Path>) -> Visit {
        let before = self.counts();
        let client = self.world.client(from);
        self.world.run();
        self.leave(client, before)
    }

    /// The client says something, and leaves.
    fn leave(&mut self, client: usize, before: (u32, u32)) -> Visit {
        let world = &mut self.world;
        let connected = world.events.iter().rfind(|(_, event)| *event == EndpointEvent::Connected);
        let handle = connected.expect("a connection").0;
        world.events.clear();
        let [to, from] = world.clients[client].traffic;
        assert_eq!(world.heard_by(handle, b"data"), [client]);
        let server = world.endpoint.connection(handle).unwrap().summary().clone();
        world.clients[client].connection.close();
        world.run();
        world.endpoint.remove(handle);
        let client = world.clients.remove(client).connection.summary().clone();
        let counts = self.counts();
        Visit { client, server, counts: (counts.0 - before.0, counts.1 - before.1), bytes: to + from }
    }

    /// Returns the first ClientHello of a client that comes back to `from`, which an attacker has seen and held up.
    fn seen_hello(&mut self, from: impl Into<Path>) -> (usize, Vec<u8>) {
        let client = self.world.client(from);
        let mut hello = self.world.transmit(client);
        assert_eq!(hello.len(), 1);
        (client, hello.remove(0))
    }

    /// Returns whether a ClientHello from there begins a handshake. What is sent there is bounded.
    fn begins(&mut self, from: impl Into<Path>, hello: &[u8]) -> bool {
        let before = self.world.endpoint.connections().0;
        self.world.hand_over(from, hello.to_vec());
        let sent: usize = self.world.answers().iter().map(|(_, datagram)| datagram.len()).sum();
        assert!(sent <= 3 * hello.len(), "{sent} B for {} B", hello.len());
        self.world.endpoint.connections().0 > before
    }

    /// Checks that the attacked client connects all the same, with everything cached.
    fn assert_served(&mut self, client: usize, hello: Vec<u8>, counts: (u32, u32)) {
        let before = self.counts();
        self.world.hand_over(self.world.clients[client].path.clone(), hello);
        self.world.run();
        let visit = self.leave(client, before);
        assert_eq!((visit.server.mode, visit.counts), (best(self.schemes), counts));
    }
}

/// Returns another ClientHello with the same ticket and another random.
fn with_the_ticket_of(hello: &[u8]) -> Vec<u8> {
    let mut hello = hello.to_vec();
    hello[13 + 12 + 2] ^= 1;
    hello
}

#[test]
fn who_comes_back_saves_the_round_trip() {
    for setting in settings() {
        let (version, schemes) = setting;
        let mut scene = Scene::visited(setting, EndpointLimits::default());
        let trips = |counts: (u32, u32)| counts.0 + if version == ProtocolVersion::TLS_1_3 { 1 } else { 2 };
        // A NAT gives other ports, which a ticket does not know. From elsewhere it still leaves out.
        let mapped = SocketAddr::from(([0, 0, 0, 0, 0, 0xffff, 0xc000, 0x0200 | u16::from(HOME)], 4004));
        for (from, counts) in [
            (address(HOME, 4000), (0, 1)),
            (address(HOME, 4001), (0, 1)),
            (address(2, 4000), (1, 0)),
            (address(2, 4000), (0, 1)),
            (address(HOME, 4000), (1, 0)),
            (mapped, (0, 1)),
        ] {
            let visit = scene.visit(from);
            for summary in [&visit.server, &visit.client] {
                assert_eq!((summary.mode, summary.version), (best(schemes), Some(version)), "{from}");
                assert_eq!((summary.retransmissions, summary.dropped.total()), (0, 0), "{from}");
            }
            assert_eq!(visit.counts, counts, "{from}");
            assert_eq!(visit.client.round_trips, trips(counts), "{from}");
            println!("{from}: {} B in {} round trips", visit.bytes, visit.client.round_trips);
        }
    }
}

/// `bithac` and `compact` without client authentication, where only what the server shows is left out.
/// The connection goes on with what was parsed and chosen when the ticket was spent.
#[test]
fn a_client_hello_is_parsed_and_negotiated_once() {
    for setting in settings() {
        let mut scene = Scene::visited(setting, EndpointLimits::default());
        let (client, hello) = scene.seen_hello(address(HOME, 4000));
        let before = Work::so_far();
        scene.assert_served(client, hello, (0, 1));
        let work = Work::since(before);
        assert_eq!((work.client_hellos_parsed, work.client_hellos_negotiated), (1, 1));
    }
}

#[test]
fn clients_without_a_certificate_save_the_round_trip_as_well() {
    for version in BOTH_VERSIONS {
        let mut scene = Scene::new((version, Schemes::COMPACT), 1_232, EndpointLimits::default());
        scene.world.setup.server.client_authentication(ClientAuthentication::None);
        scene.restart();
        let visits = [0; 3].map(|_| scene.visit(address(HOME, 4000)));
        assert_eq!(visits.map(|visit| visit.counts), [(1, 0), (0, 1), (0, 1)]);
    }
}

#[test]
fn proof_by_ticket_can_be_turned_off() {
    for setting in settings() {
        let limits = EndpointLimits::default().tickets_prove_addresses(false);
        let mut scene = Scene::visited(setting, limits);
        for _ in 0..2 {
            let visit = scene.visit(address(HOME, 4000));
            assert_eq!((visit.server.mode, visit.counts), (best(setting.1), (1, 0)));
        }
    }
}

/// A ticket that was made without an endpoint proves no address.
#[test]
fn a_ticket_of_a_connection_without_endpoint_proves_nothing() {
    for setting in settings() {
        let mut scene = Scene::new(setting, 1_232, EndpointLimits::default());
        let mut pair = scene.world.setup.datagram_pair(1);
        pair.run_well().unwrap();
        pair.send(Side::Server, b"confirmed").unwrap();
        pair.run_well().unwrap();
        drop(pair);
        let visit = scene.visit(address(HOME, 4000));
        assert_eq!((visit.server.mode, visit.counts), (best(setting.1), (1, 0)));
    }
}

/// An attacker sees a ClientHello, and shows its ticket in the name of others, who did not ask for anything.
#[test]
fn a_seen_ticket_proves_no_other_address() {
    for setting in settings() {
        let attack = |undefended| {
            let mut scene = Scene::visited(setting, without(undefended));
            let (client, hello) = scene.seen_hello(address(HOME, 4000));
            let begun = (10..20).filter(|last| scene.begins(address(*last, 4000), &with_the_ticket_of(&hello))).count();
            if undefended == Undefended::default() {
                scene.assert_served(client, hello, (0, 1));
            }
            begun
        };
        assert_eq!(attack(Undefended::default()), 0);
        assert_eq!(attack(Undefended { ticket_addresses: true, ..Undefended::default() }), 1);
    }
}

/// A ticket that was made behind a relay proves the header that it was made with, wherever the relay's port is now, and
/// no other header at the same address, nor the address itself.
#[test]
fn a_ticket_of_one_header_proves_no_other() {
    let relay = |port, header: &[u8]| Path::new(address(HOME, port), header).unwrap();
    for setting in settings() {
        let mut scene = Scene::new(setting, 1_232, EndpointLimits::default());
        for (from, counts) in [
            (relay(4000, b"one"), (1, 0)),
            (relay(4000, b"one"), (0, 1)),
            (relay(4001, b"one"), (0, 1)),
            (relay(4000, b"other"), (1, 0)),
            (relay(4000, b"other"), (0, 1)),
            (relay(4000, b""), (1, 0)),
            (address(HOME, 4000).into(), (0, 1)),
            (relay(4000, b"one"), (1, 0)),
        ] {
            assert_eq!(scene.visit(from.clone()).counts, counts, "{from}");
        }
    }
}

/// An attacker shows a seen ticket from the client's own address, after the client.
#[test]
fn a_spent_ticket_proves_nothing() {
    for setting in settings() {
        let attack = |undefended| {
            let mut scene = Scene::visited(setting, without(undefended));
            let (client, hello) = scene.seen_hello(address(HOME, 4000));
            assert!(scene.begins(address(HOME, 4000), &hello));
            let again = with_the_ticket_of(&hello);
            let before_it_is_done = (1..9).filter(|port| scene.begins(address(HOME, *port), &again)).count();
            let before = scene.counts();
            scene.world.pass(1_000);
            scene.world.run();
            assert_eq!(scene.leave(client, before).counts, (0, 0), "it joins");
            let after_it = (11..19).filter(|port| scene.begins(address(HOME, *port), &again)).count();
            before_it_is_done + after_it
        };
        assert_eq!(attack(Undefended::default()), 0);
        assert!(attack(Undefended { spent_tickets: true, ..Undefended::default() }) >= 8);
    }
}

/// An attacker shows a seen ticket before the client does: the client then needs a cookie, and pays no more.
#[test]
fn whoever_is_faster_costs_the_client_a_round_trip() {
    for setting in settings() {
        let mut scene = Scene::visited(setting, EndpointLimits::default());
        let (client, hello) = scene.seen_hello(address(HOME, 4000));
        let begun = (1..9).filter(|port| scene.begins(address(HOME, *port), &with_the_ticket_of(&hello))).count();
        assert_eq!(begun, 1, "it is good for one");
        scene.assert_served(client, hello, (1, 0));
    }
}

/// A mere copy of a ClientHello, from the same address and port, begins the handshake that the client would have begun.
#[test]
fn a_copy_of_the_first_message_changes_nothing() {
    for setting in settings() {
        let mut scene = Scene::visited(setting, EndpointLimits::default());
        let (client, hello) = scene.seen_hello(address(HOME, 4000));
        for _ in 0..5 {
            scene.world.hand_over(address(HOME, 4000), hello.clone());
        }
        assert_eq!(scene.world.endpoint.connections(), (1, 1));
        scene.assert_served(client, hello, (0, 0));
        assert_eq!(scene.counts(), (1, 1));
    }
}

/// RFC 9147, 5.11: an attacker who saw the ticket of one client ends no connection of another at the same IP address.
#[test]
fn a_seen_ticket_ends_no_connection() {
    for setting in settings() {
        let attack = |undefended| {
            let mut scene = Scene::visited(setting, without(undefended));
            let (client, hello) = scene.seen_hello(address(HOME, 4000));
            let (_, handle) = scene.world.connected(address(HOME, 5000));
            let mut copy = hello.clone();
            for attempt in 0..3 {
                copy[13 + 12 + 2] ^= 1 + attempt;
                scene.world.hand_over(address(HOME, 5000), copy.clone());
                scene.world.answers();
            }
            let is_replaced = scene.world.events.contains(&(handle, EndpointEvent::Replaced));
            if !is_replaced {
                assert_eq!(scene.world.heard_by(handle, b"still there"), [client + 1]);
                scene.assert_served(client, hello, (0, 1));
            }
            is_replaced
        };
        assert!(!attack(Undefended::default()));
        assert!(attack(Undefended { replacement: true, ..Undefended::default() }));
    }
}

/// The server saves that a ticket is spent before it answers.
#[test]
fn a_spent_ticket_stays_spent_over_a_restart() {
    for setting in settings() {
        for is_saved in [true, false] {
            let mut scene = Scene::visited(setting, EndpointLimits::default());
            let saved = |scene: &Scene| {
                snapshot::encode(&MemoryClientStore::new(0), &scene.store, &LearnedIssuers::new()).unwrap()
            };
            let before = saved(&scene);
            let (_, hello) = scene.seen_hello(address(HOME, 4000));
            assert!(scene.begins(address(HOME, 4000), &hello));
            let kept = if is_saved { saved(&scene) } else { before };
            let (_, store, _) = snapshot::decode(&kept, 8).unwrap();
            let mut cache = scene.world.setup.server.config().cache().unwrap().clone();
            cache.store = Arc::new(store);
            scene.world.setup.server.cache(cache);
            scene.restart();
            // With the store from before, the attack works: what counts is that the spent ticket was saved.
            assert_eq!(scene.begins(address(HOME, 4000), &with_the_ticket_of(&hello)), !is_saved);
        }
    }
}

/// A store cannot save that a ticket is spent, or does not know whether it is.
struct Unsure(Arc<MemoryServerStore>);

impl ServerStore for Unsure {
    fn find(&self, ticket: &Ticket) -> Poll<Option<Row>> {
        Poll::Ready(self.0.find(ticket))
    }

    fn commit(&self, commit: &Commit) -> Poll<Result<(), NotSaved>> {
        Poll::Ready(self.0.commit(commit.clone()))
    }

    fn spend(&self, ticket: &Ticket, address: AddressId) -> Result<bool, NotSaved> {
        self.0.spend(ticket, address).and(Err(NotSaved))
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        self.0.remove(ticket)
    }
}

#[test]
fn a_store_that_is_not_sure_costs_the_round_trip() {
    for setting in settings() {
        let mut scene = Scene::visited(setting, EndpointLimits::default());
        let mut cache = scene.world.setup.server.config().cache().unwrap().clone();
        cache.store = Arc::new(Unsure(scene.store.clone()));
        scene.world.setup.server.cache(cache);
        scene.restart();
        for _ in 0..2 {
            let visit = scene.visit(address(HOME, 4000));
            assert_eq!((visit.server.mode, visit.counts), (best(setting.1), (1, 0)));
        }
    }
}

/// The server needs a share in another group: its HelloRetryRequest has a cookie, and that alone says where the client is.
#[test]
fn another_group_is_asked_for_with_a_cookie() {
    for schemes in [Schemes::BITHAC, Schemes::COMPACT] {
        let mut scene = Scene::visited((ProtocolVersion::TLS_1_3, schemes), EndpointLimits::default());
        scene.world.setup.server.groups(vec![NamedGroup::SECP256R1]);
        scene.restart();
        for (from, spoil, is_good) in [(HOME, 0, true), (2, 0, false), (HOME, 1, false)] {
            let (client, hello) = scene.seen_hello(address(HOME, 4000));
            assert!(!scene.begins(address(HOME, 4000), &hello), "nothing is kept");
            scene.world.hand_over(address(HOME, 4000), hello);
            for (_, mut answer) in scene.world.answers() {
                scene.world.hand_to_client(client, &mut answer);
            }
            let mut second = scene.world.transmit(client).remove(0);
            let cookie = second.windows(6).position(|bytes| bytes == [0, 44, 0, 46, 0, 44]).expect("a cookie") + 6;
            second[cookie + 43] ^= spoil;
            assert_eq!(scene.begins(address(from, 4000), &second), is_good, "{from}, {spoil}");
            assert_eq!(scene.counts().1, 0, "no ticket is spent");
            scene.world.clients.clear();
            scene.restart();
        }
        let visit = scene.visit(address(HOME, 4000));
        assert_eq!((visit.server.mode, visit.server.group), (best(schemes), Some(NamedGroup::SECP256R1)));
        assert_eq!(visit.counts, (1, 0));
    }
}

/// Who showed no more than a ticket asks again itself, if nothing comes: what is sent unasked goes to a stranger.
#[test]
fn nothing_is_sent_unasked() {
    for setting in settings() {
        let mut scene = Scene::visited(setting, EndpointLimits::default());
        let (client, hello) = scene.seen_hello(address(HOME, 4000));
        assert!(scene.begins(address(HOME, 4000), &hello));
        for _ in 0..20 {
            scene.world.wait(60_000);
            scene.world.endpoint.handle_timeout(scene.world.now);
            assert_eq!(scene.world.answers(), []);
        }
        assert_eq!(scene.world.endpoint.connections().1, 0, "it is given up");
        // Data that is asked for again is sent again.
        let mut scene = Scene::visited(setting, EndpointLimits::default());
        let again = scene.seen_hello(address(HOME, 4000)).0;
        assert!(again == client && scene.begins(address(HOME, 4000), &scene.world.clients[again].sent[0].clone()));
        scene.world.pass(1_000);
        assert_eq!(scene.world.answers(), []);
        scene.world.run();
        assert!(scene.world.clients[again].connection.is_connected());
    }
}

/// Whatever the server has to send: of a renewed certificate the whole chain. The client gets it all, with a pause.
#[test]
fn until_the_client_answers_it_gets_three_times_what_it_sent() {
    let setting = (ProtocolVersion::TLS_1_3, Schemes::COMPACT);
    let renewed = |undefended| {
        let mut scene = Scene::visited(setting, without(undefended));
        let pki = Pki::shared(CHAIN);
        let mut options = LeafOptions { usage: Usage::Server, ..LeafOptions::new(SERVER_NAME, validity()) };
        options.names.extend((0..40).map(|n| format!("alias{n}.example")));
        let renewed = pki.authority.renew(&pki.server, &options).unwrap();
        scene.world.setup.server.credentials(vec![credential(PROVIDER, &renewed)]);
        scene.restart();
        scene
    };
    let attack = |undefended| {
        let mut scene = renewed(undefended);
        let (_, hello) = scene.seen_hello(address(HOME, 4000));
        scene.world.hand_over(address(HOME, 4000), hello.clone());
        let mut sent = 0;
        for _ in 0..10 {
            sent += scene.world.answers().iter().map(|(_, datagram)| datagram.len()).sum::<usize>();
            scene.world.wait(60_000);
            scene.world.endpoint.handle_timeout(scene.world.now);
        }
        (sent <= 3 * hello.len(), scene.world.endpoint.counters().amplification > 0)
    };
    assert_eq!(attack(Undefended::default()), (true, true));
    assert_eq!(attack(Undefended { amplification: true, ..Undefended::default() }), (false, false));
    let mut scene = renewed(Undefended::default());
    let client = scene.world.client(address(HOME, 4000));
    for _ in 0..5 {
        scene.world.run();
        scene.world.pass(1_000);
    }
    let visit = scene.leave(client, (0, 0));
    assert_eq!((visit.server.mode, visit.counts), (Mode::Cached(Scheme::Compact), (0, 1)));
    assert_eq!(visit.server.cached, [CachedObject::CertificateRequest, CachedObject::ClientCertificate]);
}

/// What happens to a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Lost,
    Doubled,
    BehindTheNext,
    AfterATimeout,
}

impl Scene {
    /// A handshake, of which one datagram has a `fate`. Returns the client, and how many datagrams there were.
    fn disturbed(&mut self, victim: usize, fate: Fate) -> (usize, usize) {
        let world = &mut self.world;
        let client = world.client(address(HOME, 4000));
        let (mut number, mut late) = (0, None);
        let mut path: VecDeque<(Path, Vec<u8>)> = VecDeque::new();
        let server = Path::from(address(99, 5684));
        for _ in 0..200 {
            let sent =
                world.transmit(client).into_iter().map(|datagram| (server.clone(), datagram)).collect::<Vec<_>>();
            for datagram in sent.into_iter().chain(world.answers()) {
                match fate {
                    _ if number != victim => path.push_back(datagram),
                    Fate::Lost => {}
                    Fate::Doubled => path.extend([datagram.clone(), datagram]),
                    Fate::BehindTheNext | Fate::AfterATimeout => late = Some(datagram),
                }
                number += 1;
                if fate == Fate::BehindTheNext && number > victim + 1 {
                    path.extend(late.take());
                }
            }
            let next = match path.pop_front() {
                Some(datagram) => Some(datagram),
                None if fate == Fate::BehindTheNext => late.take(),
                None => None,
            };
            if let Some((to, mut datagram)) = next {
                match to == server {
                    true => world.hand_over(address(HOME, 4000), datagram),
                    false => world.hand_to_client(client, &mut datagram),
                }
                continue;
            }
            let timers = [world.endpoint.poll_timeout(), world.clients[client].connection.poll_timeout()];
            let Some(timer) = timers.into_iter().flatten().min() else { break };
            world.pass(timer.0.saturating_sub(world.now.monotonic.0));
            path.extend(late.take());
        }
        (client, number)
    }
}

/// What is sent again finds the handshake that it belongs to: a loss does not cost the cookie.
#[test]
fn every_datagram_may_be_lost_doubled_and_late() {
    for setting in settings() {
        for max_datagram in [99, 548, 1_232] {
            let scene = || {
                let mut scene = Scene::new(setting, max_datagram, EndpointLimits::default());
                scene.visit(address(HOME, 4000));
                let before = scene.counts();
                (scene, before)
            };
            let count = scene().0.disturbed(usize::MAX, Fate::Lost).1;
            assert!(count >= 3, "{count}");
            for number in 0..count {
                for fate in [Fate::Lost, Fate::Doubled, Fate::BehindTheNext, Fate::AfterATimeout] {
                    let (mut scene, before) = scene();
                    let client = scene.disturbed(number, fate).0;
                    let visit = scene.leave(client, before);
                    let found = (visit.server.mode, visit.client.mode, visit.counts);
                    assert_eq!(found, (best(setting.1), best(setting.1), (0, 1)), "{number} {fate:?}");
                    assert_eq!(scene.visit(address(HOME, 4000)).counts, (0, 1), "after {number} {fate:?}");
                }
            }
        }
    }
}
