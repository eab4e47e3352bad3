//! A server's store that answers later: what comes meanwhile is lost, and comes again; nothing is sent, and above all
//! no ACK, before the store has what the client is told of (docs/caching.md, 4.2).

use alloc::sync::Arc;

use terse_testkit::datagrams::{DELAY, Datagram, DatagramPair, Fate};
use terse_testkit::late::{Late, LateStore};
use terse_testkit::pair::{Failed, Side};
use terse_tls::cache::Scheme;
use terse_tls::cache::{
    ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache, StoreAnswer, StoreRequest,
};
use terse_tls::summary::Mode;
use terse_tls::{ConnectionHandle, Datagrams, EndpointEvent, EndpointLimits, Error, ProtocolVersion};

use super::caching::{Keeps, World};
use super::modes::BOTH_VERSIONS;
use super::world::{self, address, setup_of};

/// How long the store takes, in milliseconds: less than a round trip, and long enough for the client to ask again, and
/// again.
const TIMES: [u64; 3] = [0, 7, 5_000];

fn all() -> impl Iterator<Item = (ProtocolVersion, Keeps)> {
    BOTH_VERSIONS.into_iter().flat_map(|version| [Keeps::Certificates, Keeps::Everything].map(|keeps| (version, keeps)))
}

/// After two connections; from here on the store answers after `time`.
fn after_two(version: ProtocolVersion, keeps: Keeps, time: u64) -> World {
    late(version, keeps, 2, time)
}

fn late(version: ProtocolVersion, keeps: Keeps, connections: usize, time: u64) -> World {
    let mut world = World::after(version, keeps, connections);
    let cache = world.setup.server.config().cache().expect("caching is on").clone();
    let store = LateStore::new(cache.store, Late::Always);
    world.setup.server.cache(ServerCache::new(store.clone(), cache.schemes));
    world.late = Some((store, time));
    world
}

/// Runs, and sees to it that a server that waits sends nothing.
fn run(pair: &mut DatagramPair, mut fate: impl FnMut(&Datagram) -> Fate) -> Result<(), Failed> {
    let from_server = |pair: &DatagramPair| pair.sent.iter().filter(|datagram| datagram.from == Side::Server).count();
    let end = pair.now.monotonic.0 + 3_600_000;
    loop {
        let (waits, sent) = (pair.server.store_request().is_some(), from_server(pair));
        match pair.step(&mut fate, end) {
            None => return Ok(()),
            Some(result) => result?,
        }
        assert!(!(waits && pair.server.store_request().is_some()) || from_server(pair) == sent, "it said something");
    }
}

/// As with a store that answers at once: the same is left out, each ticket is committed once, and the next finds it.
#[test]
fn waiting_costs_time_alone() {
    for ((version, keeps), time) in all().flat_map(|case| TIMES.map(|time| (case, time))) {
        let mut world = after_two(version, keeps, time);
        for round in 1..4 {
            let mut pair = world.begin();
            run(&mut pair, Datagram::arrives).unwrap();
            let [client, server] = [pair.client.summary(), pair.server.summary()];
            assert_eq!((client.mode, server.mode), (world.best, world.best), "{version}, {keeps:?}, {time} ms");
            assert!(pair.client.is_connected() && pair.server.is_connected());
            assert_eq!(server.retransmissions, 0, "{version}: it owes the answer, nobody else");
            let (store, _) = world.late.as_ref().expect("it is late");
            assert_eq!(store.commits().len(), round);
            pair.send(Side::Server, b"data").unwrap();
            run(&mut pair, Datagram::arrives).unwrap();
            assert_eq!(pair.received[Side::Client as usize], [b"data"]);
        }
    }
}

/// Each datagram is lost or doubled, once, while the store takes its time, so that what comes again meets a server that
/// waits.
#[test]
fn losses_while_it_waits() {
    for ((version, keeps), time) in all().flat_map(|case| [7, 1_500].map(|time| (case, time))) {
        let mut world = after_two(version, keeps, time);
        let mut pair = world.begin();
        run(&mut pair, Datagram::arrives).unwrap();
        let count = pair.sent.len();
        drop(pair); // which holds its ticket
        for (number, is_doubled) in (0..count).flat_map(|number| [(number, false), (number, true)]) {
            let mut pair = world.begin();
            let fate = |datagram: &Datagram| match (datagram.number == number, is_doubled) {
                (false, _) => datagram.arrives(),
                (true, false) => Vec::new(),
                (true, true) => vec![(DELAY, datagram.bytes.clone()), (DELAY + time / 2, datagram.bytes.clone())],
            };
            run(&mut pair, fate).unwrap_or_else(|failed| panic!("{version}, {number}: {failed:?}"));
            assert!(pair.client.is_connected() && pair.server.is_connected(), "{version}, {number}");
            assert_eq!(pair.client.summary().mode, world.best, "{version}, {keeps:?}, {number}");
            drop(pair);
            world.recovers("after a loss");
        }
    }
}

/// A store that never answers: the client gives up, the server says goodbye, and acknowledges nothing even then.
#[test]
fn a_store_that_never_answers() {
    for ((version, keeps), skipped) in all().flat_map(|case| [0, 1].map(|skipped| (case, skipped))) {
        let mut world = after_two(version, keeps, 0);
        let mut pair = world.begin();
        let (store, _) = pair.late.take().expect("it is late");
        for _ in 0..skipped {
            while pair.server.store_request().is_none() {
                pair.step(&mut Datagram::arrives, u64::MAX).expect("something to come").unwrap();
            }
            let answer = store.answer(pair.server.store_request().expect("it waits"));
            let now = pair.now;
            let (server, rng) = pair.side(Side::Server);
            server.provide_store_answer(now, rng, answer).unwrap();
        }
        let failed = run(&mut pair, Datagram::arrives).unwrap_err();
        assert_eq!(failed, Failed { side: Side::Client, error: Error::TimedOut }, "{version}, {keeps:?}, {skipped}");
        assert!(pair.server.store_request().is_some());
        let now = pair.now;
        let sent = pair.sent.len();
        pair.server.give_up(now);
        while pair.step(&mut |_: &Datagram| Vec::new(), u64::MAX).is_some() {}
        let goodbye = &pair.sent[sent..];
        assert!(goodbye.iter().all(|datagram| datagram.from == Side::Server) && goodbye.len() == 1, "{goodbye:?}");
        drop(pair);
        let (_, time) = world.late.as_mut().expect("it is late");
        *time = 7;
        world.recovers("after a store that was not there");
    }
}

/// The client's last flight came in the wrong order, so that an ACK is due; now all of it is there, but not
/// kept. Nor does whoever closes then acknowledge it with the goodbye.
#[test]
fn an_ack_waits_and_a_goodbye_is_none() {
    for keeps in [Keeps::Certificates, Keeps::Everything] {
        let mut world = late(ProtocolVersion::TLS_1_3, keeps, 0, 0);
        let mut pair = world.begin();
        pair.late = None;
        let from_client = |pair: &DatagramPair| {
            let of_client = pair.sent.iter().filter(|datagram| datagram.from == Side::Client);
            of_client.map(|datagram| datagram.bytes.clone()).collect::<Vec<_>>()
        };
        while !pair.client.is_connected() {
            pair.step(&mut Datagram::arrives, u64::MAX).expect("something to come").unwrap();
        }
        let before = from_client(&pair).len();
        pair.transmit(Side::Client, &mut |_: &Datagram| Vec::new());
        let flight = from_client(&pair).split_off(before);
        assert!(flight.len() > 1);
        for datagram in flight.into_iter().rev() {
            pair.deliver(Side::Server, datagram).unwrap();
        }
        assert!(matches!(pair.server.store_request(), Some(StoreRequest::Commit(_))));
        let sent = pair.sent.len();
        pair.transmit(Side::Server, &mut |_: &Datagram| Vec::new());
        assert_eq!(pair.sent.len(), sent, "an ACK is due, but not yet");
        pair.server.close();
        pair.transmit(Side::Server, &mut |_: &Datagram| Vec::new());
        assert_eq!(pair.sent.len(), sent + 1, "the alert alone");
    }
}

/// A server for many, with a store that answers later, and a client that comes back.
fn endpoint(version: ProtocolVersion) -> (world::World, Arc<LateStore>) {
    let mut setup = setup_of(version, Datagrams::default());
    let schemes = Schemes::COMPACT;
    setup.client.cache(Some(ClientCache::new(Arc::new(MemoryClientStore::new(4)), schemes)));
    let store = LateStore::new(Arc::new(MemoryServerStore::new(4)), Late::Always);
    setup.server.cache(Some(ServerCache::new(store.clone(), schemes)));
    (world::World::new(setup, EndpointLimits::default()), store)
}

/// Answers what is asked, as long as anything is.
fn serve(world: &mut world::World, store: &LateStore) -> usize {
    let mut answers = 0;
    loop {
        world.run();
        let asks = |(_, event): &(ConnectionHandle, EndpointEvent)| *event == EndpointEvent::NeedStore;
        let Some(index) = world.events.iter().position(asks) else { return answers };
        let (handle, _) = world.events.remove(index);
        let request = world.endpoint.connection(handle).and_then(|connection| connection.store_request().cloned());
        let answer = store.answer(&request.expect("it waits"));
        world.endpoint.provide_store_answer(world.now, &mut world.rng, handle, answer).unwrap();
        answers += 1;
    }
}

/// A ticket that cannot be spent at once is no cookie; what it names is left out all the same.
#[test]
fn an_endpoint_asks_for_a_cookie_and_then_the_store() {
    for version in BOTH_VERSIONS {
        let (mut world, store) = endpoint(version);
        for (round, expected) in [(1, Mode::Full), (2, Mode::Cached(Scheme::Compact))] {
            let client = world.client(address(1, 4000 + round));
            let answers = serve(&mut world, &store);
            assert_eq!(answers, round as usize, "the new ticket, and before it the old one");
            let events: Vec<_> = world.events.drain(..).collect();
            let [(handle, EndpointEvent::Connected)] = events[..] else { panic!("{events:?}") };
            let server = world.endpoint.connection(handle).expect("it is there");
            assert_eq!(server.summary().mode, expected);
            server.send(b"data").unwrap();
            world.run();
            assert_eq!(world.clients[client].received, [b"data"]);
            world.clients.clear(); // or it would hold its ticket
        }
        let counters = world.endpoint.counters();
        assert_eq!((counters.tickets_spent, counters.cookies_sent), (0, 2));
        assert_eq!(world.endpoint.connections(), (2, 0));
    }
}

/// Who waits is half open: the oldest goes when there are too many, and its answer comes too late.
#[test]
fn those_who_wait_are_half_open() {
    for version in BOTH_VERSIONS {
        let (mut world, store) = endpoint(version);
        let limits = EndpointLimits::default().max_half_open(2);
        world = world::World::new(world.setup, limits);
        let mut handles = Vec::new();
        for port in 0..4 {
            world.client(address(1, 4000 + port));
            world.run();
            let events: Vec<_> = world.events.drain(..).collect();
            let [(handle, EndpointEvent::NeedStore)] = events[..] else { panic!("{events:?}") };
            handles.push(handle);
        }
        assert_eq!(world.endpoint.connections(), (2, 2));
        for (nth, handle) in handles.into_iter().enumerate() {
            let request = world.endpoint.connection(handle).and_then(|connection| connection.store_request().cloned());
            assert_eq!(request.is_some(), nth >= 2);
            let answer = request.map_or(StoreAnswer::Committed(Ok(())), |request| store.answer(&request));
            let result = world.endpoint.provide_store_answer(world.now, &mut world.rng, handle, answer);
            assert_eq!(result.is_ok(), nth >= 2, "{result:?}");
        }
        world.run();
        assert_eq!((world.endpoint.connections(), store.commits().len()), ((2, 0), 2));
    }
}
