//! docs/caching.md, 4.2: two slots; what confirms a ticket, and when a server commits one.

use alloc::sync::Arc;
use core::task::Poll;
use std::sync::Mutex;

use terse_testkit::fault;
use terse_testkit::forge::{Forge, KeyLogLines};
use terse_testkit::pair::Side;
use terse_tls::FallbackReason;
use terse_tls::cache::Scheme;
use terse_tls::cache::{
    AddressId, Commit, MemoryServerStore, NotSaved, Row, Schemes, ServerCache, ServerStore, Ticket,
};
use terse_tls::crypto::Rng;
use terse_tls::summary::{CachedObject, Mode};
use terse_tls::{AlertDescription, ApiMisuse, ContentType, Error, HandshakeType};

use super::issued::{issue, server_leaf};
use super::world::*;

#[test]
fn newer_is_offered_if_there_is_no_confirmed() {
    let mut world = World::new(TLS13);
    world.connect_until(Until::Commit).unwrap();
    let done = world.connect_until(Until::Commit).unwrap();
    assert_eq!((done.client.mode, &done.client.cached[..]), (Mode::Cached(Scheme::Bithac), &BOTH_CERTIFICATES[..]));
}

#[test]
fn newer_is_offered_after_confirmed_was_used_three_times() {
    let mut world = World::new(TLS13);
    world.connect().unwrap(); // makes `confirmed`
    let mut shown = Vec::new();
    for _ in 0..5 {
        let done = world.connect_until(Until::Commit).unwrap(); // the first one sets `newer`
        assert_eq!(done.client.mode, Mode::Cached(Scheme::Bithac));
        shown.push(done.offer.ticket().expect("a ticket"));
    }
    let confirmed = shown[0];
    assert_eq!(shown[..4], [confirmed; 4]);
    assert_ne!(shown[4], confirmed);
    world.assert_cached();
}

#[test]
fn newer_replaces_confirmed_when_it_was_selected() {
    let mut world = World::new(TLS13);
    world.connect().unwrap();
    for _ in 0..4 {
        world.connect_until(Until::Commit).unwrap();
    }
    let newer = world.connect_until(Until::Commit).unwrap().offer.ticket(); // is now `confirmed`
    for _ in 0..3 {
        assert_eq!(world.next_offer().ticket(), newer);
        world.connect_until(Until::Commit).unwrap();
    }
    assert_ne!(world.next_offer().ticket(), newer);
}

/// Whether `event` confirms a ticket of TLS 1.3: with a `confirmed` in store, a parallel connection, in which nothing is selected,
/// makes a second one.
fn confirms(event: impl FnOnce(&mut Link, &KeyLogLines)) -> bool {
    let mut world = World::new(TLS13);
    world.connect().unwrap();
    world.server.credentials(vec![issue(&server_leaf())]);
    let key_log = Arc::new(KeyLogLines::default());
    let mut first = world.begin();
    first.pair.transmit(Side::Client);
    let confirmed = first.offer().ticket().expect("a ticket");
    world.server.key_log(key_log.clone());
    let mut parallel = world.begin();
    parallel.run_until(Until::Finished).unwrap();
    event(&mut parallel, &key_log);
    drop((first, parallel));
    world.next_offer().ticket().expect("a ticket") != confirmed
}

/// In TLS 1.2 there is no `newer`: nothing is kept before the server's Finished, which confirms at once.
#[test]
fn confirmed_by_the_servers_finished_in_tls12() {
    for (until, confirmed) in [(Until::ClientFlight, false), (Until::Commit, false), (Until::Finished, true)] {
        let mut world = World::new(TLS12);
        world.connect_until(until).unwrap();
        assert_eq!(world.next_offer().ticket().is_some(), confirmed, "{until:?}");
        let mut world = World::cached(TLS12);
        let shown = world.connect_until(until).unwrap().offer.ticket();
        assert_eq!(world.next_offer().ticket() != shown, confirmed, "{until:?}");
        world.assert_cached();
    }
}

#[test]
fn confirmed_by_application_data() {
    assert!(confirms(|link, _| {
        link.pair.carry(Side::Server, b"data").unwrap();
    }));
}

#[test]
fn confirmed_by_close_notify() {
    assert!(confirms(|link, _| {
        link.pair.server.close();
        link.carry_on(Side::Server).unwrap();
    }));
}

/// A record that only the server can make, after the ones of its flight.
fn from_server(link: &mut Link, key_log: &KeyLogLines, content_type: ContentType, content: &[u8]) -> Result<(), Error> {
    let suite = PROVIDER.tls13_suite(link.pair.server.summary().cipher_suite.unwrap()).unwrap();
    let record = Forge::new(suite, &key_log.secret("SERVER_TRAFFIC_SECRET_0")).record(content_type, content);
    link.deliver(Side::Client, record).map_err(|failed| failed.error)
}

#[test]
fn confirmed_by_new_session_ticket() {
    let body = [0, 0, 14, 16, 1, 2, 3, 4, 1, 7, 0, 2, 5, 6, 0, 0];
    assert!(confirms(|link, key_log| {
        let message = fault::message(HandshakeType::NEW_SESSION_TICKET, &body);
        from_server(link, key_log, ContentType::HANDSHAKE, &message).unwrap();
    }));
}

#[test]
fn not_confirmed_by_a_fatal_alert() {
    for alert in [AlertDescription::INTERNAL_ERROR, AlertDescription::DECRYPT_ERROR, AlertDescription::ACCESS_DENIED] {
        assert!(!confirms(|link, key_log| {
            let failed = from_server(link, key_log, ContentType::ALERT, &[2, alert.0]).unwrap_err();
            assert_eq!(failed, Error::AlertReceived(alert));
        }));
    }
}

#[test]
fn not_confirmed_by_key_update_or_user_canceled() {
    assert!(!confirms(|link, _| {
        link.pair.server.update_keys(false).unwrap();
        link.carry_on(Side::Server).unwrap();
    }));
    assert!(!confirms(|link, key_log| {
        from_server(link, key_log, ContentType::ALERT, &[1, AlertDescription::USER_CANCELED.0]).unwrap();
    }));
}

#[test]
fn not_confirmed_by_the_end_of_the_stream_or_by_silence() {
    assert!(!confirms(|link, _| {
        let now = link.pair.now;
        assert_eq!(link.pair.client.handle_end_of_input(now), Err(Error::Truncated));
    }));
    assert!(!confirms(|link, _| link.time_out()));
    assert!(!confirms(|_, _| {}));
    // What the client sends confirms nothing either.
    assert!(!confirms(|link, _| {
        link.pair.carry(Side::Client, b"data").unwrap();
    }));
}

/// A server that does not take part makes no ticket, whatever it says afterwards.
#[test]
fn not_confirmed_by_a_server_that_did_not_negotiate_the_scheme() {
    for version in VERSIONS {
        let mut world = World::new(version);
        world.set_schemes(Schemes::BITHAC, Schemes::RFC7924);
        for _ in 0..3 {
            let done = world.connect().unwrap();
            assert_eq!(done.offer.client_cached_info, Some(Vec::new()));
            assert_eq!(
                done.client.mode,
                if done.offer.cached_info.is_some() { Mode::Cached(Scheme::Rfc7924) } else { Mode::Full }
            );
        }
        assert!(world.server_store.is_empty());
    }
}

/// Nothing that the server can send under application keys leaves before the client's Finished was verified.
#[test]
fn server_confirms_nothing_before_the_client_has_finished() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let mut link = world.begin();
        link.carry_on(Side::Client).unwrap();
        link.carry_on(Side::Server).unwrap();
        assert_eq!(link.pair.server.send(b"early"), Err(ApiMisuse::HandshakeNotFinished.into()));
        assert_eq!(link.pair.server.update_keys(false), Err(ApiMisuse::HandshakeNotFinished.into()));
        assert!(link.pair.transmit(Side::Server).is_empty());
        // The server's application loses patience; the client's Finished is still under way.
        let now = link.pair.now;
        link.pair.server.give_up(now);
        link.carry_on(Side::Server).unwrap();
        let shown = link.offer().ticket();
        drop(link);
        assert_eq!(world.next_offer().ticket(), shown, "the ticket of a handshake that the server left was confirmed");
        world.assert_cached();
    }
}

/// A store that can fail, and that tells when it is written to.
struct Watched {
    rows: MemoryServerStore,
    saves: bool,
    commits: Mutex<Vec<Commit>>,
    /// How often randomness was lent.
    seeds: Mutex<usize>,
}

impl Watched {
    fn install(world: &mut World, saves: bool) -> Arc<Self> {
        let store = Arc::new(Self {
            rows: MemoryServerStore::new(8),
            saves,
            commits: Mutex::default(),
            seeds: Mutex::default(),
        });
        world.server.cache(Some(ServerCache::new(store.clone(), world.setting().schemes)));
        store
    }

    fn commits(&self) -> usize {
        self.commits.lock().unwrap().len()
    }
}

impl ServerStore for Watched {
    fn find(&self, ticket: &Ticket) -> Poll<Option<Row>> {
        Poll::Ready(self.rows.find(ticket))
    }

    fn commit(&self, commit: &Commit) -> Poll<Result<(), NotSaved>> {
        self.commits.lock().unwrap().push(commit.clone());
        Poll::Ready(if self.saves { self.rows.commit(commit.clone()) } else { Err(NotSaved) })
    }

    fn spend(&self, ticket: &Ticket, address: AddressId) -> Result<bool, NotSaved> {
        self.rows.spend(ticket, address)
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        self.rows.remove(ticket)
    }

    fn seed(&self, _: &mut dyn Rng) {
        assert_eq!(*self.seeds.lock().unwrap(), self.commits());
        *self.seeds.lock().unwrap() += 1;
    }
}

/// A client can make tickets that it likes, so that a store must have the key of its hash before there is one.
#[test]
fn server_lends_its_store_randomness_before_each_row() {
    for setting in SETTINGS {
        let mut world = World::new(setting);
        let store = Watched::install(&mut world, true);
        for round in 1..4 {
            world.connect().unwrap();
            assert_eq!((*store.seeds.lock().unwrap(), store.commits()), (round, round));
        }
    }
}

#[test]
fn server_commits_before_it_can_send_and_never_earlier() {
    for setting in SETTINGS {
        let mut world = World::new(setting);
        let store = Watched::install(&mut world, true);
        for round in 0..3 {
            let mut link = world.begin();
            link.carry_on(Side::Client).unwrap();
            link.carry_on(Side::Server).unwrap();
            assert_eq!(store.commits(), round);
            // The last flight comes in two pieces: all but the last byte of Finished is not enough.
            let mut flight = link.pair.transmit(Side::Client);
            let last = flight.split_off(flight.len() - 1);
            link.deliver(Side::Server, flight).unwrap();
            assert!(!link.pair.server.is_connected());
            assert_eq!(store.commits(), round);
            link.deliver(Side::Server, last).unwrap();
            assert!(link.pair.server.is_connected());
            assert_eq!(store.commits(), round + 1);
            // In TLS 1.2 the server's Finished follows, which says so.
            let follows = link.pair.transmit(Side::Server);
            assert_eq!(follows.is_empty(), setting.version == TLS13);
            link.deliver(Side::Client, follows).unwrap();
            link.pair.carry(Side::Server, b"data").unwrap();
        }
        let commits = store.commits.lock().unwrap();
        let parents: Vec<_> = commits.iter().map(|commit| commit.parent).collect();
        assert_eq!(parents, [None, Some(commits[0].ticket), Some(commits[1].ticket)]);
        assert_eq!(store.rows.len(), 2);
    }
}

/// One write at most: what a connection does after its commit is no business of the store.
#[test]
fn server_writes_once_for_each_handshake() {
    for setting in SETTINGS {
        let mut world = World::new(setting);
        let store = Watched::install(&mut world, true);
        for round in 1..4 {
            world.connect().unwrap();
            assert_eq!(store.commits(), round);
        }
    }
}

#[test]
fn server_that_cannot_save_goes_on() {
    for setting in SETTINGS {
        let mut world = World::new(setting);
        let store = Watched::install(&mut world, false);
        for round in 1..4 {
            let done = world.connect().unwrap();
            let expected = usize::from(round > 1 && world.mode() == Mode::Cached(Scheme::Bithac)); // a fingerprint needs no row
            assert_eq!(done.client.cached, &[CachedObject::ServerCertificate][..expected]);
            assert_eq!(store.commits(), round);
        }
    }
}

#[test]
fn authenticated_unknown_drops_the_offered_ticket() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.restart_server(false);
        let done = world.connect_until(Until::Finished).unwrap();
        let unknown = done.offer.ticket().expect("a ticket");
        assert_eq!(done.client.fallback, Some(FallbackReason::TicketUnknown));
        drop(done);
        let offered = world.next_offer().ticket().expect("the ticket of the last handshake");
        assert_ne!(offered, unknown);
        world.assert_cached();
    }
}

/// Until the server's Finished was verified, anybody may have said so.
#[test]
fn unknown_that_is_not_authenticated_drops_nothing() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.restart_server(false);
        let mut link = world.begin();
        link.carry_on(Side::Client).unwrap();
        if setting.version == TLS12 {
            link.carry_on(Side::Server).unwrap();
            link.carry_on(Side::Client).unwrap();
        }
        let mut flight = link.pair.transmit(Side::Server);
        flight.truncate(flight.len() - 1); // without the end of Finished
        link.deliver(Side::Client, flight).unwrap();
        let shown = link.offer().ticket();
        drop(link);
        assert_eq!(world.next_offer().ticket(), shown);
    }
}

#[test]
fn parallel_connections_offer_empty() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let mut first = world.begin();
        first.pair.transmit(Side::Client);
        assert!(first.offer().ticket().is_some());
        for _ in 0..2 {
            let done = world.connect().unwrap();
            assert_eq!(done.offer.ticket(), None);
            let is_bithac = world.mode() == Mode::Cached(Scheme::Bithac);
            assert_eq!(done.offer.cached_info.is_some(), is_bithac, "fingerprints do not tell connections apart");
            assert_eq!(done.client.fallback, Some(FallbackReason::TicketInUse));
        }
        drop(first);
        world.assert_cached();
    }
}

/// A connection that is open holds the ticket that it made.
#[test]
fn open_connection_holds_its_ticket() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let open = world.connect_until(Until::Data).unwrap();
        assert_eq!(world.next_offer().ticket(), None);
        drop(open);
        assert!(world.next_offer().ticket().is_some());
        world.assert_cached();
    }
}

/// Each client: the ticket that it used, and the one that it got. Whatever is lost in between.
#[test]
fn rows_of_a_lineage_are_bounded() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let ends =
            [Until::Commit, Until::Data, Until::ClientFlight, Until::Finished, Until::Closed, Until::ServerFlight];
        for (round, until) in ends.iter().cycle().take(36).enumerate() {
            let done = world.connect_until(*until).unwrap();
            assert!(done.offer.ticket().is_some(), "round {round}");
            assert!(world.server_store.len() <= 2, "round {round}: {} rows", world.server_store.len());
        }
        world.assert_cached();
    }
}

/// Two devices with one certificate do not disturb each other.
#[test]
fn rows_are_per_ticket_and_not_per_certificate() {
    for setting in SETTINGS {
        let mut first = World::cached(setting);
        let mut second = World::beside(&first);
        second.assert_full();
        for _ in 0..3 {
            second.assert_cached();
            first.assert_cached();
        }
        assert_eq!(first.server_store.len(), 4);
    }
}
