//! What losses and crashes cost caching and resumption over datagrams (docs/caching.md, 4.2): one full handshake at
//! most, and no wrong peer.

use alloc::sync::Arc;

use terse_testkit::datagrams::{DELAY, Datagram, DatagramPair};
use terse_testkit::fault::edit_extensions;
use terse_testkit::late::LateStore;
use terse_testkit::pair::{Side, at};
use terse_testkit::setup::Setup;
use terse_tls::cache::Scheme;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::resume::{ClientResumption, MemoryClientSessions, MemorySessionStore, ServerResumption, TicketKeys};
use terse_tls::summary::Mode;
use terse_tls::{Datagrams, Error, ExtensionType, Now, ProtocolVersion};

use super::attacks::{ACK, record};
use super::modes::{BOTH_VERSIONS, CHAIN, PROVIDER, mutual};

/// How both sides keep what they learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Certificates,
    /// And the request, under one ticket.
    Everything,
    Sessions,
    Tickets,
}

/// All ways of keeping things, in both versions.
pub(crate) fn all() -> impl Iterator<Item = (ProtocolVersion, Keeps)> {
    let ways = [Keeps::Certificates, Keeps::Everything, Keeps::Sessions, Keeps::Tickets];
    BOTH_VERSIONS.into_iter().flat_map(move |version| ways.map(|keeps| (version, keeps)))
}

/// The same, after so many connections.
fn all_after<const N: usize>(befores: [usize; N]) -> impl Iterator<Item = (ProtocolVersion, Keeps, usize)> {
    all().flat_map(move |(version, keeps)| befores.map(|before| (version, keeps, before)))
}

/// A client and a server that connect again and again. Datagrams are small, so that flights can be lost in part.
pub(crate) struct World {
    pub(crate) setup: Setup,
    /// The mode of a connection for which everything was kept.
    pub(crate) best: Mode,
    /// Who answers for the server's store, if that answers later, and after how many milliseconds.
    pub(crate) late: Option<(Arc<LateStore>, u64)>,
    connections: u64,
}

impl World {
    fn new(version: ProtocolVersion, keeps: Keeps) -> Self {
        let mut setup = mutual(CHAIN).over(version, Datagrams::default().max_datagram(548));
        let schemes = if keeps == Keeps::Everything { Schemes::COMPACT } else { Schemes::BITHAC };
        match keeps {
            Keeps::Certificates | Keeps::Everything => {
                setup.client.cache(Some(ClientCache::new(Arc::new(MemoryClientStore::new(4)), schemes)));
                setup.server.cache(Some(ServerCache::new(Arc::new(MemoryServerStore::new(4)), schemes)));
            }
            Keeps::Sessions | Keeps::Tickets => {
                setup.client.resumption(Some(ClientResumption::new(Arc::new(MemoryClientSessions::new(4)))));
                let store = Arc::new(MemorySessionStore::new(4));
                setup.server.resumption(Some(match keeps {
                    Keeps::Sessions => ServerResumption::Stateful { store, lifetime_seconds: 7_200 },
                    _ => {
                        let keys = TicketKeys::new(PROVIDER.tls13_suites[0].aead, 7_200, 64).expect("two hours");
                        ServerResumption::Stateless(Arc::new(keys))
                    }
                }));
            }
        }
        let best = match keeps {
            Keeps::Certificates => Mode::Cached(Scheme::Bithac),
            Keeps::Everything => Mode::Cached(Scheme::Compact),
            Keeps::Sessions | Keeps::Tickets => Mode::Resumed,
        };
        Self { setup, best, late: None, connections: 0 }
    }

    pub(crate) fn begin(&mut self) -> DatagramPair {
        self.begin_at(at(600 * (self.connections + 1)))
    }

    pub(crate) fn begin_at(&mut self, now: Now) -> DatagramPair {
        self.connections += 1;
        let (client, server) =
            (Arc::new(self.setup.client.build().unwrap()), Arc::new(self.setup.server.build().unwrap()));
        let mut pair = DatagramPair::at(&client, &server, self.connections, now);
        pair.late = self.late.clone();
        pair
    }

    /// A connection with data, and its mode.
    pub(crate) fn connect(&mut self) -> Mode {
        let mut pair = self.begin();
        pair.run_well().unwrap();
        for side in Side::BOTH {
            pair.send(side, b"data").unwrap();
        }
        pair.run_well().unwrap();
        let mode = pair.client.summary().mode;
        assert_eq!(pair.server.summary().mode, mode);
        mode
    }

    /// After this many connections in which everything is kept.
    pub(crate) fn after(version: ProtocolVersion, keeps: Keeps, connections: usize) -> Self {
        let mut world = Self::new(version, keeps);
        for number in 0..connections {
            assert_eq!(world.connect(), if number == 0 { Mode::Full } else { world.best });
        }
        world
    }

    /// One full handshake at most, and then none.
    pub(crate) fn recovers(&mut self, what: &str) -> Mode {
        let mode = self.connect();
        assert!(mode == self.best || mode == Mode::Full, "{what}");
        assert_eq!(self.connect(), self.best, "{what}");
        mode
    }
}

/// How many datagrams the next connection takes.
pub(crate) fn count(version: ProtocolVersion, keeps: Keeps, before: usize) -> usize {
    let mut world = World::after(version, keeps, before);
    let mut pair = world.begin();
    pair.run_well().unwrap();
    pair.sent.len()
}

/// From each datagram on, nothing arrives any more: both sides give up, or one of them believes that it is connected.
#[test]
fn a_connection_that_breaks_off_costs_a_full_handshake_at_most() {
    for (version, keeps, before) in all_after([0, 1, 2]) {
        for end in 0..=count(version, keeps, before) {
            let mut world = World::after(version, keeps, before);
            let mut pair = world.begin();
            let _ = pair.run(|datagram| if datagram.number < end { datagram.arrives() } else { Vec::new() });
            let connected = [pair.client.is_connected(), pair.server.is_connected()];
            let what = format!("D{version}, {keeps:?} after {before}, {end} datagrams: {connected:?}");
            drop(pair);
            let mode = world.recovers(&what);
            // The cache of before is still good, unless the server has committed another one. A session is used once.
            if before > 0 && world.best != Mode::Resumed && connected == [false, false] {
                assert_eq!(mode, world.best, "{what}");
            }
        }
    }
}

/// A crash of both: nobody is told, no timer runs out.
#[test]
fn a_crash_costs_a_full_handshake_at_most() {
    for (version, keeps, before) in all_after([0, 1, 2]) {
        for end in 0..=count(version, keeps, before) {
            let mut world = World::after(version, keeps, before);
            let mut pair = world.begin();
            let mut arrived = 0;
            // The next one has not been delivered when the power goes.
            while arrived < end {
                for side in Side::BOTH {
                    let mut datagrams = Vec::new();
                    pair.transmit(side, &mut |datagram: &Datagram| {
                        datagrams.push(datagram.bytes.clone());
                        Vec::new()
                    });
                    for bytes in datagrams.into_iter().take(end - arrived) {
                        pair.deliver(side.other(), bytes).unwrap();
                        arrived += 1;
                    }
                }
            }
            let connected = [pair.client.is_connected(), pair.server.is_connected()];
            drop(pair);
            world.recovers(&format!("D{version}, {keeps:?} after {before}, {end} datagrams: {connected:?}"));
        }
    }
}

/// The last words of the handshake never arrive, time after time: the client gives up each time, and the server has committed
/// each time. What the client has is good for a while (two slots), and a full handshake always works.
#[test]
fn last_flights_that_are_lost_again_and_again() {
    for (version, keeps) in all() {
        let mut world = World::after(version, keeps, 2);
        for round in 1..=6 {
            let mut pair = world.begin();
            let is_last = |datagram: &Datagram, mode| {
                if version == ProtocolVersion::TLS_1_3 {
                    return is_of_application(datagram);
                }
                let is_protected = datagram.bytes.windows(4).any(|bytes| bytes == [254, 253, 0, 1]);
                is_protected && (datagram.from == Side::Server || mode == Mode::Resumed)
            };
            let best = world.best;
            let _ = pair.run(|datagram| match is_last(datagram, best) {
                true => Vec::new(),
                false => datagram.arrives(),
            });
            assert!(!pair.client.is_connected());
            assert_eq!(pair.failure(Side::Client), Some(&Error::TimedOut), "D{version}, {keeps:?}, round {round}");
        }
        world.recovers(&format!("D{version}, {keeps:?}"));
    }
}

/// Whether a datagram of the server begins with a record of epoch 3: the acknowledgement of the client's last flight.
fn is_of_application(datagram: &Datagram) -> bool {
    datagram.from == Side::Server && datagram.bytes[0] & 0b1110_0011 == 0b0010_0011
}

/// The certificates' ticket that the first flight of a client shows, a ClientHello in one piece or more.
fn ticket(sent: &[Datagram]) -> Vec<u8> {
    let flight = sent.iter().take_while(|datagram| datagram.from == Side::Client);
    let mut hello = sent[0].bytes[13..17].to_vec();
    flight.for_each(|datagram| hello.extend_from_slice(&datagram.bytes[13 + 12..]));
    let mut ticket = Vec::new();
    edit_extensions(&mut hello, |extensions| {
        let shown = extensions.iter().find(|(kind, _)| *kind == ExtensionType::CLIENT_CACHED_INFO);
        ticket = shown.expect("caching is offered").1.clone();
    });
    ticket
}

/// docs/caching.md, 4.2: the acknowledgement of all of the client's last flight says that the server has the new
/// ticket. That of a part does not, nor one that nobody vouches for.
#[test]
fn the_acknowledgement_of_the_last_flight_confirms_a_ticket() {
    for (name, is_confirmed) in [("all", true), ("a part", false), ("nothing", false), ("by anybody", false)] {
        let mut world = World::after(ProtocolVersion::TLS_1_3, Keeps::Certificates, 1);
        // Of three records an ACK of the server has room for two.
        for (side, max_datagram) in [(Side::Client, 79), (Side::Server, 60)] {
            world.setup.common(side).edit_datagrams(|datagrams| datagrams.max_datagram = max_datagram);
        }
        let mut pair = world.begin();
        let mut acks = 0;
        let _ = pair.run(|datagram| {
            if !is_of_application(datagram) {
                return datagram.arrives();
            }
            acks += 1;
            match name {
                "all" => datagram.arrives(),
                "a part" if acks == 1 => datagram.arrives(),
                "by anybody" => vec![(DELAY, record(ACK, 0, 77, &[&[0, 16][..], &[0; 7], &[2], &[0; 8]].concat()))],
                _ => Vec::new(),
            }
        });
        assert!(acks > 1, "the test needs a flight that is acknowledged in parts");
        assert_eq!(pair.client.is_connected(), is_confirmed, "{name}");
        assert_eq!(pair.server.summary().mode, Mode::Cached(Scheme::Bithac));
        let shown = ticket(&pair.sent);
        drop(pair);
        let mut next = world.begin();
        next.transmit(Side::Client, &mut |_: &Datagram| Vec::new());
        assert_eq!(ticket(&next.sent) != shown, is_confirmed, "{name}");
    }
}

/// A client that sends and closes, and never reads. That it is connected says that the server has the new ticket: by its
/// Finished in DTLS 1.2, by its ACK in DTLS 1.3.
#[test]
fn client_that_only_talks_shows_each_ticket_once() {
    for version in BOTH_VERSIONS {
        let mut world = World::after(version, Keeps::Certificates, 1);
        let mut tickets = Vec::new();
        for _ in 0..8 {
            let mut pair = world.begin();
            pair.run_well().unwrap();
            assert!(pair.client.is_connected() && pair.client.summary().mode == Mode::Cached(Scheme::Bithac));
            pair.client.send(b"21.5").unwrap();
            pair.client.close();
            pair.transmit(Side::Client, &mut |datagram: &Datagram| datagram.arrives());
            let shown = ticket(&pair.sent);
            assert!(!tickets.contains(&shown), "D{version}");
            tickets.push(shown);
        }
    }
}

/// Losses that are mended cost nothing at all.
#[test]
fn a_loss_that_is_mended_costs_no_full_handshake() {
    for (version, keeps, before) in all_after([0, 1]) {
        for lost in 0..count(version, keeps, before) {
            let mut world = World::after(version, keeps, before);
            let mut pair = world.begin();
            pair.run(|datagram| if datagram.number == lost { Vec::new() } else { datagram.arrives() }).unwrap();
            assert!(pair.client.is_connected() && pair.server.is_connected());
            drop(pair);
            assert_eq!(world.connect(), world.best, "D{version}, {keeps:?} after {before}, {lost} was lost");
        }
    }
}

/// A server that forgot everything.
#[test]
fn a_server_that_lost_its_store() {
    for (version, keeps) in all() {
        let mut world = World::after(version, keeps, 2);
        let fresh = World::new(version, keeps).setup.server;
        world.setup.server.cache(fresh.config().cache().cloned());
        world.setup.server.resumption(fresh.config().resumption().cloned());
        let first = world.connect();
        // The client still knows the server's certificate.
        assert_ne!(first, Mode::Resumed, "D{version}, {keeps:?}");
        assert_eq!(world.connect(), world.best, "D{version}, {keeps:?}");
    }
}
