//! What losses and crashes cost caching and resumption over datagrams (`caching`, rule 2): one full handshake at most, and
//! no wrong peer.

use alloc::sync::Arc;

use terse_testkit::datagrams::{Datagram, DatagramPair};
use terse_testkit::pair::{Side, at};
use terse_testkit::setup::Setup;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::resume::{ClientResumption, MemoryClientSessions, MemorySessionStore, ServerResumption, TicketKeys};
use terse_tls::summary::Mode;
use terse_tls::{Datagrams, Error, ProtocolVersion};

use crate::modes::{CHAIN, PROVIDER, mutual};

/// How both sides keep what they learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    Certificates,
    Sessions,
    Tickets,
}

const ALL: [Keeps; 3] = [Keeps::Certificates, Keeps::Sessions, Keeps::Tickets];

/// A client and a server that connect again and again. Datagrams are small, so that flights can be lost in part.
struct World {
    setup: Setup,
    /// The mode of a connection for which everything was kept.
    best: Mode,
    connections: u64,
}

impl World {
    fn new(keeps: Keeps) -> Self {
        let mut setup =
            mutual(CHAIN).over(ProtocolVersion::TLS_1_2, Datagrams { max_datagram: 548, ..Datagrams::default() });
        let schemes = Schemes::BITHAC;
        match keeps {
            Keeps::Certificates => {
                setup.client.cache = Some(ClientCache { store: Arc::new(MemoryClientStore::new(4)), schemes });
                setup.server.cache = Some(ServerCache { store: Arc::new(MemoryServerStore::new(4)), schemes });
            }
            Keeps::Sessions | Keeps::Tickets => {
                setup.client.resumption = Some(ClientResumption::new(Arc::new(MemoryClientSessions::new(4))));
                let store = Arc::new(MemorySessionStore::new(4));
                setup.server.resumption = Some(match keeps {
                    Keeps::Sessions => ServerResumption::Stateful { store, lifetime_seconds: 7_200 },
                    _ => {
                        let keys = TicketKeys::new(PROVIDER.tls13_suites[0].aead, 7_200, 64).expect("two hours");
                        ServerResumption::Stateless(Arc::new(keys))
                    }
                });
            }
        }
        let best = if keeps == Keeps::Certificates { Mode::Bithac } else { Mode::Resumed };
        Self { setup, best, connections: 0 }
    }

    fn begin(&mut self) -> DatagramPair {
        self.connections += 1;
        let (client, server) = (Arc::new(self.setup.client.clone()), Arc::new(self.setup.server.clone()));
        DatagramPair::at(&client, &server, self.connections, at(600 * self.connections))
    }

    /// A connection with data, and its mode.
    fn connect(&mut self) -> Mode {
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
    fn after(keeps: Keeps, connections: usize) -> Self {
        let mut world = Self::new(keeps);
        for number in 0..connections {
            assert_eq!(world.connect(), if number == 0 { Mode::Full } else { world.best });
        }
        world
    }

    /// One full handshake at most, and then none.
    fn recovers(&mut self, what: &str) -> Mode {
        let mode = self.connect();
        assert!(mode == self.best || mode == Mode::Full, "{what}");
        assert_eq!(self.connect(), self.best, "{what}");
        mode
    }
}

/// How many datagrams the next connection takes.
fn count(keeps: Keeps, before: usize) -> usize {
    let mut world = World::after(keeps, before);
    let mut pair = world.begin();
    pair.run_well().unwrap();
    pair.sent.len()
}

/// From each datagram on, nothing arrives any more: both sides give up, or one of them believes that it is connected.
#[test]
fn a_connection_that_breaks_off_costs_a_full_handshake_at_most() {
    for (keeps, before) in ALL.into_iter().flat_map(|keeps| [0, 1, 2].map(|before| (keeps, before))) {
        for end in 0..=count(keeps, before) {
            let mut world = World::after(keeps, before);
            let mut pair = world.begin();
            let _ = pair.run(|datagram| if datagram.number < end { datagram.arrives() } else { Vec::new() });
            let connected = [pair.client.is_connected(), pair.server.is_connected()];
            let what = format!("{keeps:?} after {before}, {end} datagrams: {connected:?}");
            drop(pair);
            let mode = world.recovers(&what);
            // The cache of before is still good, unless the server has committed another one. A session is used once.
            if before > 0 && keeps == Keeps::Certificates && connected == [false, false] {
                assert_eq!(mode, world.best, "{what}");
            }
        }
    }
}

/// A crash of both: nobody is told, no timer runs out.
#[test]
fn a_crash_costs_a_full_handshake_at_most() {
    for (keeps, before) in ALL.into_iter().flat_map(|keeps| [0, 1, 2].map(|before| (keeps, before))) {
        for end in 0..=count(keeps, before) {
            let mut world = World::after(keeps, before);
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
            world.recovers(&format!("{keeps:?} after {before}, {end} datagrams: {connected:?}"));
        }
    }
}

/// The server's last flight never arrives, time after time: the client gives up each time, and the server has committed
/// each time. What the client has is good for a while (two slots), and a full handshake always works.
#[test]
fn last_flights_that_are_lost_again_and_again() {
    for keeps in ALL {
        let mut world = World::after(keeps, 2);
        for round in 1..=6 {
            let mut pair = world.begin();
            let is_last = |datagram: &Datagram, mode| {
                let is_protected = datagram.bytes.windows(4).any(|bytes| bytes == [254, 253, 0, 1]);
                is_protected && (datagram.from == Side::Server || mode == Mode::Resumed)
            };
            let best = world.best;
            let _ = pair.run(|datagram| match is_last(datagram, best) {
                true => Vec::new(),
                false => datagram.arrives(),
            });
            assert!(!pair.client.is_connected());
            assert_eq!(pair.failure(Side::Client), Some(&Error::TimedOut), "{keeps:?}, round {round}");
        }
        world.recovers(&format!("{keeps:?}"));
    }
}

/// Losses that are mended cost nothing at all.
#[test]
fn a_loss_that_is_mended_costs_no_full_handshake() {
    for (keeps, before) in ALL.into_iter().flat_map(|keeps| [0, 1].map(|before| (keeps, before))) {
        for lost in 0..count(keeps, before) {
            let mut world = World::after(keeps, before);
            let mut pair = world.begin();
            pair.run(|datagram| if datagram.number == lost { Vec::new() } else { datagram.arrives() }).unwrap();
            assert!(pair.client.is_connected() && pair.server.is_connected());
            drop(pair);
            assert_eq!(world.connect(), world.best, "{keeps:?} after {before}, {lost} was lost");
        }
    }
}

/// A server that forgot everything.
#[test]
fn a_server_that_lost_its_store() {
    for keeps in ALL {
        let mut world = World::after(keeps, 2);
        let fresh = World::new(keeps).setup.server;
        world.setup.server.cache = fresh.cache;
        world.setup.server.resumption = fresh.resumption;
        let first = world.connect();
        // The client still knows the server's certificate.
        assert_ne!(first, Mode::Resumed, "{keeps:?}");
        assert_eq!(world.connect(), world.best, "{keeps:?}");
    }
}
