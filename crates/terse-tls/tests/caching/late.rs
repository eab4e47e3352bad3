//! A server's store that answers later, as a database does: the connection waits, and goes on as if it had not. Half of
//! the tickets of all other tests here are looked up and committed in this way, too.

use terse_testkit::fault;
use terse_testkit::late::Late;
use terse_testkit::pair::{Failed, Side};
use terse_tls::FallbackReason;
use terse_tls::cache::Scheme;
use terse_tls::cache::{
    ClientCache, ClientStore, MemoryClientStore, NotSaved, Save, ScopeRecord, StoreAnswer, StoreRequest, Ticket,
};
use terse_tls::summary::Mode;
use terse_tls::{AlertDescription, ApiMisuse, Error, Event, ExtensionType, HandshakeType};

use super::world::*;

/// What a connection showed, and what the server kept.
type Observed = (Vec<u8>, Vec<u8>, String, String, Vec<u8>);

fn connections(mut world: World, late: Late) -> (Vec<Observed>, Vec<Ticket>) {
    let store = world.set_late(late);
    let mut connection = || {
        let done = world.connect().unwrap();
        let summaries = [done.client, done.server].map(|summary| format!("{summary:?}"));
        let [client, server] = summaries;
        (done.pair.from_client, done.pair.from_server, client, server, world.rows())
    };
    let seen = (0..4).map(|_| connection()).collect();
    (seen, store.commits())
}

/// Neither bytes, nor reports, nor what is kept; and what is committed later is committed once.
#[test]
fn waiting_changes_nothing() {
    for (setting, retry) in SETTINGS.into_iter().flat_map(|setting| [false, true].map(|retry| (setting, retry))) {
        let world = || {
            let mut world = World::new(setting).with_long_request();
            if retry && setting.version == TLS13 {
                world
                    .server
                    .edit_groups(|list| list.retain(|group| *group != world.client.config().common().groups()[0]));
            }
            world
        };
        let (at_once, tickets) = connections(world(), Late::Never);
        let (late, tickets_late) = connections(world(), Late::Always);
        assert_eq!(late, at_once);
        assert_eq!((tickets_late.len(), &tickets_late), (4, &tickets));
    }
}

/// Runs until the server asks its store, past the first `skipped` questions.
fn until_asked(world: &mut World, skipped: usize) -> Link {
    let store = world.set_late(Late::Always);
    let mut link = world.begin();
    link.pair.late = None;
    for _ in 0..skipped {
        link.run().unwrap();
        let request = link.pair.server.store_request().expect("a question").clone();
        answer(&mut link, store.answer(&request)).unwrap();
    }
    link.run().unwrap();
    assert_eq!(link.pair.server.poll_event(), Some(Event::NeedStore));
    assert_eq!(link.pair.server.poll_event(), None, "an event is reported once");
    link
}

fn answer(link: &mut Link, answer: StoreAnswer) -> Result<(), Error> {
    let now = link.pair.now;
    let (server, rng) = link.pair.side(Side::Server);
    server.provide_store_answer(now, rng, answer)
}

/// The second connection of a client is asked for twice: for its ticket, and to commit the new one.
const QUESTIONS: [usize; 2] = [0, 1];

fn asked() -> impl Iterator<Item = (Link, World, usize)> {
    SETTINGS.into_iter().flat_map(|setting| QUESTIONS.map(|skipped| (setting, skipped))).map(|(setting, skipped)| {
        let mut world = World::cached(setting);
        (until_asked(&mut world, skipped), world, skipped)
    })
}

#[test]
fn is_asked_for_the_ticket_and_to_commit_and_says_nothing_meanwhile() {
    for (mut link, world, skipped) in asked() {
        let server = &link.pair.server;
        assert!(server.is_handshaking() && !server.is_connected());
        match server.store_request() {
            Some(StoreRequest::Find(Ticket(ticket))) => {
                assert_eq!((skipped, Some(*ticket)), (0, link.offer().ticket()));
            }
            Some(StoreRequest::Commit(commit)) => {
                assert_eq!((skipped, commit.parent.map(|Ticket(parent)| parent)), (1, link.offer().ticket()));
                assert_eq!(link.pair.client.is_connected(), world.version() == TLS13, "nothing tells it yet");
            }
            None => panic!("it waits"),
        }
        assert_eq!(link.pair.transmit(Side::Server), b"");
    }
}

/// Nobody knows the ticket, or nothing can be written: the connection goes on without the store.
#[test]
fn a_store_that_is_not_there_costs_the_caching_and_no_connection() {
    for (mut link, mut world, skipped) in asked() {
        while let Some(request) = link.pair.server.store_request() {
            let unavailable = StoreAnswer::unavailable(request);
            answer(&mut link, unavailable).unwrap();
            link.run().unwrap();
        }
        let done = link.done();
        assert!(done.pair.client.is_connected() && done.pair.server.is_connected());
        assert_eq!(world.is_cached(&done.client), skipped == 1);
        if skipped == 0 {
            assert_eq!(done.server.fallback, Some(FallbackReason::TicketNotFound));
        }
        drop(done);
        world.set_late(Late::Never);
        world.connect().unwrap();
        world.assert_cached();
    }
}

#[test]
fn an_answer_that_nobody_asked_for() {
    for (mut link, _, skipped) in asked() {
        let other = match skipped {
            0 => StoreAnswer::Committed(Err(NotSaved)),
            _ => StoreAnswer::Found(None),
        };
        assert_eq!(answer(&mut link, other.clone()), Err(ApiMisuse::NoStoreAnswerDue.into()));
        assert!(link.pair.server.store_request().is_some(), "the connection is as it was");
        let now = link.pair.now;
        let (client, rng) = link.pair.side(Side::Client);
        assert_eq!(client.provide_store_answer(now, rng, other), Err(ApiMisuse::NoStoreAnswerDue.into()));
    }
}

/// Whoever does not want to wait any longer says so to the client; the answer then comes too late, and the next
/// connection finds all as it was.
#[test]
fn the_end_of_a_connection_that_waits() {
    for end in ["close", "give up", "end of input"] {
        for (mut link, mut world, skipped) in asked() {
            let before = world.rows();
            let now = link.pair.now;
            let request = link.pair.server.store_request().cloned().expect("it waits");
            match end {
                "close" => link.pair.server.close(),
                "give up" => link.pair.server.give_up(now),
                _ => assert_eq!(link.pair.server.handle_end_of_input(now), Err(Error::Truncated)),
            }
            assert!(link.pair.server.store_request().is_none() && !link.pair.server.is_handshaking());
            let late = world.late_store().answer(&request);
            assert_eq!(answer(&mut link, late), Err(ApiMisuse::NoStoreAnswerDue.into()), "{end}");
            assert_eq!(link.pair.transmit(Side::Server).is_empty(), end == "end of input", "{end}");
            assert!(!link.pair.server.is_connected());
            assert_eq!(world.rows() == before, skipped == 0, "the application wrote what it was asked to");
            drop(link);
            world.set_late(Late::Never);
            world.connect().unwrap();
            world.connect().unwrap();
            world.assert_cached();
        }
    }
}

/// What the client says meanwhile is heard afterwards: here that it has given up, and that it does not like what it
/// got.
#[test]
fn what_comes_meanwhile_waits_as_well() {
    for (mut link, world, skipped) in asked() {
        link.pair.client.close();
        let goodbye = link.pair.transmit(Side::Client);
        assert!(!goodbye.is_empty());
        let now = link.pair.now;
        let (server, rng) = link.pair.side(Side::Server);
        assert_eq!(server.handle_input(now, rng, &mut goodbye.clone()), Ok(0));
        let request = link.pair.server.store_request().cloned().expect("it waits");
        let late = world.late_store().answer(&request);
        answer(&mut link, late).unwrap();
        let result = link.deliver(Side::Server, goodbye);
        // After the client's Finished, a goodbye is a close_notify.
        if skipped == 1 {
            result.unwrap();
            assert!(link.pair.server.is_connected());
        } else {
            let refused = Error::AlertReceived(AlertDescription::CLOSE_NOTIFY);
            assert_eq!(result, Err(Failed { side: Side::Server, error: refused }));
        }
    }
}

/// A client of ours has one ticket; of one that has more, eight are looked up, each once, and the first that is known
/// counts.
#[test]
fn each_of_many_tickets_is_asked_for_once() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let store = world.set_late(Late::Always);
        let own = world.next_offer().ticket().expect("it is cached");
        let tickets: Vec<[u8; 8]> = core::iter::once(own).chain((1..10).map(|n| [n; 8])).collect();
        let objects: Vec<u8> = tickets.iter().flat_map(|ticket| [&[1, 8][..], ticket].concat()).collect();
        let body = [&(objects.len() as u16).to_be_bytes()[..], &objects].concat();
        world.client.fault(Some(fault::first(HandshakeType::CLIENT_HELLO, move |message| {
            fault::set_extension(message, ExtensionType::CLIENT_CACHED_INFO, &body);
        })));
        let mut link = world.begin();
        link.pair.late = None;
        let mut asked = Vec::new();
        loop {
            link.run().unwrap();
            let Some(request) = link.pair.server.store_request().cloned() else { break };
            if let StoreRequest::Find(Ticket(ticket)) = &request {
                asked.push(*ticket);
            }
            answer(&mut link, store.answer(&request)).unwrap();
        }
        assert_eq!(asked, tickets[..8]);
        assert_eq!(link.done().client.mode, Mode::Cached(Scheme::Bithac));
    }
}

/// The other side of the matter: a client loads what it has for a server, and begins the connection then.
#[test]
fn a_client_loads_its_record_before_it_begins() {
    for setting in SETTINGS {
        let mut world = World::new(setting);
        let scope = world.client.config().scope(&world.address);
        let mut database = Vec::new();
        for round in 0..4 {
            let memory = alloc::sync::Arc::new(MemoryClientStore::new(1));
            if round > 0 {
                let (loaded, record) = ScopeRecord::from_bytes(&database).unwrap();
                assert_eq!(loaded, scope);
                let load = &mut |kept: &mut ScopeRecord| {
                    *kept = record.clone();
                    Save::Later
                };
                memory.update(&scope, load).unwrap();
            }
            world.client.cache(Some(ClientCache::new(memory.clone(), setting.schemes)));
            let done = world.connect().unwrap();
            assert_eq!(world.is_cached(&done.client), round > 0);
            let [(kept, record)] = &memory.records()[..] else { panic!("one scope") };
            assert_eq!(*kept, scope);
            database = record.to_bytes(kept).unwrap();
        }
    }
}
