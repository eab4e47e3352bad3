//! Ten thousand unknown clients connect: with tickets that nobody made, in every scheme, over streams and datagrams, and
//! some finish without a certificate. What they cost has a bound that does not depend on their number, and known clients
//! stay known.

use alloc::sync::Arc;
use core::net::SocketAddr;

use terse_testkit::allocator::{Heap, measure};
use terse_testkit::fault;
use terse_testkit::pair::{Side, at};
use terse_testkit::pki::server_address;
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::cache::Scheme;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::summary::Mode;
use terse_tls::{
    ClientAuthentication, ClientConfig, Connection, Datagrams, Endpoint, EndpointLimits, ExtensionType, HandshakeType,
    Now, ProtocolVersion, ServerConfig,
};

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];
const SCHEMES: [(Schemes, Mode); 3] = [
    (Schemes::RFC7924, Mode::Cached(Scheme::Rfc7924)),
    (Schemes::BITHAC, Mode::Cached(Scheme::Bithac)),
    (Schemes::COMPACT, Mode::Cached(Scheme::Compact)),
];

/// A server that knows a few clients.
struct Server {
    setup: Setup,
    store: Arc<MemoryServerStore>,
    known: Vec<Arc<MemoryClientStore>>,
    schemes: Schemes,
}

/// For as many clients as there are.
const CAPACITY: usize = 8;

impl Server {
    fn new(version: ProtocolVersion, (schemes, best): (Schemes, Mode), datagrams: bool) -> Self {
        let provider = &terse_aws_lc::PROVIDER;
        let mut setup = Setup::mutual(provider, provider, "p256x2").only(version);
        if datagrams {
            setup = setup.in_datagrams(Datagrams::default());
        }
        let store = Arc::new(MemoryServerStore::new(CAPACITY));
        setup.server.cache(Some(ServerCache::new(store.clone(), schemes)));
        let known = (0..CAPACITY).map(|_| Arc::new(MemoryClientStore::new(4))).collect();
        let mut server = Self { setup, store, known, schemes };
        for mode in [Mode::Full, best] {
            server.everybody_connects(mode);
        }
        server
    }

    /// Has all known clients connect, each in this mode.
    fn everybody_connects(&mut self, mode: Mode) {
        for (seed, store) in (0..).zip(&self.known) {
            let mut setup = self.setup.clone();
            setup.client.cache(Some(ClientCache::new(store.clone(), self.schemes)));
            let found = if setup.client.config().common().datagrams().is_some() {
                let mut pair = setup.datagram_pair(seed);
                pair.run_well().unwrap();
                pair.send(Side::Server, b"data").unwrap();
                pair.run_well().unwrap();
                pair.server.summary().mode
            } else {
                let mut pair = setup.pair(seed);
                pair.handshake().unwrap();
                pair.carry(Side::Server, b"data").unwrap();
                pair.server.summary().mode
            };
            assert_eq!(found, mode);
        }
    }

    /// Returns a client that sends what a known one would send, except for its ticket, which nobody made.
    fn stranger(&self, number: u64) -> Arc<ClientConfig> {
        let mut client = self.setup.client.clone();
        // A store of its own, of what somebody learned: what becomes of the connection changes nothing for others.
        let known = MemoryClientStore::fixed(1, 0x1000);
        let (scope, record) = self.known[0].records().remove(0);
        terse_tls::cache::ClientStore::update(&known, &scope, &mut |kept| {
            *kept = record.clone();
            terse_tls::cache::Save::Later
        })
        .unwrap();
        client.cache(Some(ClientCache::new(Arc::new(known), self.schemes)));
        client.fault(Some(fault::fault(move |_, kind, message| {
            if kind == HandshakeType::CLIENT_HELLO {
                make_up_tickets(message, number);
            }
        })));
        Arc::new(client.build().unwrap())
    }
}

/// Makes up the tickets in both extensions that have them: 8 bytes, at the end.
fn make_up_tickets(hello: &mut Vec<u8>, number: u64) {
    let ticket = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    fault::edit_extensions(hello, |extensions| {
        for (kind, body) in extensions {
            if [ExtensionType(0xff42), ExtensionType(0xff44)].contains(kind) && body.len() >= 8 {
                let start = body.len() - 8;
                body[start..].copy_from_slice(&ticket);
            }
        }
    });
}

/// A client that got no further than the server's answer.
fn comes_and_goes(client: Arc<ClientConfig>, server: &Arc<ServerConfig>, number: u64) {
    let (mut rng, mut bytes) = (SeededRng::new(number), [0; 2048]);
    let mut client = Connection::client(client, server_address(), at(0), &mut rng).unwrap();
    let mut server = Connection::server(server.clone(), at(0)).unwrap();
    let len = client.poll_transmit(at(0), &mut bytes).expect("a ClientHello");
    server.handle_input(at(0), &mut rng, &mut bytes[..len]).unwrap();
    assert!(server.poll_transmit(at(0), &mut bytes).is_some(), "the server answers");
}

#[test]
fn made_up_tickets_cost_nothing_that_lasts() {
    const EACH: u64 = 1_000; // in each of six ways
    for version in VERSIONS {
        for scheme in SCHEMES {
            let mut server = Server::new(version, scheme, false);
            let config = Arc::new(server.setup.server.build().unwrap());
            let before = server.store.lineages();
            let strangers: Vec<_> = (0..EACH).map(|number| server.stranger(number)).collect();
            let ((), heap) = measure(|| {
                for (number, client) in (0..).zip(&strangers) {
                    comes_and_goes(client.clone(), &config, number);
                }
            });
            assert!(heap.kept == 0 && heap.peak < 0x1_0000, "{version}: {heap:?}");
            assert_eq!(server.store.lineages(), before, "and not even what goes first has changed");
            server.everybody_connects(scheme.1);
        }
    }
}

/// Clients that complete a handshake without a certificate make tickets that push out only each other.
#[test]
fn clients_without_a_certificate_push_out_each_other() {
    const EACH: u64 = 500;
    for version in VERSIONS {
        let mut server = Server::new(version, SCHEMES[2], false);
        let mut setup = server.setup.clone();
        setup
            .server
            .client_authentication(ClientAuthentication::Optional(terse_testkit::pki::Pki::shared("p256x2").trust()));
        setup.client.credentials(Vec::new());
        let before = server.store.lineages();
        let finish = |numbers: core::ops::Range<u64>| {
            for number in numbers {
                let mut setup = setup.clone();
                let schemes = server.schemes;
                setup.client.cache(Some(ClientCache::new(Arc::new(MemoryClientStore::new(1)), schemes)));
                setup.pair(number).handshake().unwrap();
            }
        };
        finish(0..20);
        let ((), heap) = measure(|| finish(20..EACH));
        let after = server.store.lineages();
        assert_eq!((after.len(), &after[..CAPACITY]), (2 * CAPACITY, &before[..]));
        assert!(after[CAPACITY..].iter().all(|lineage| lineage.entry().is_none()));
        assert_eq!(heap.kept, 0, "{version}: there were as many before");
        server.everybody_connects(Mode::Cached(Scheme::Compact));
    }
}

/// Each from an address of its own; those who must show it do.
fn flood(server: &Server, require_cookie: bool, numbers: core::ops::Range<u64>) -> Heap {
    let limits = EndpointLimits::default().max_half_open(16).require_cookie(require_cookie);
    let config = Arc::new(server.setup.server.build().unwrap());
    let strangers: Vec<_> = numbers.map(|number| (number, server.stranger(number))).collect();
    let ((), heap) = measure(|| {
        let mut rng = SeededRng::new(1);
        let mut endpoint = Endpoint::new(config.clone(), limits, &mut rng).unwrap();
        for (number, client) in strangers.iter().map(|(number, client)| (*number, client)) {
            let from = SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 5684));
            let mut client = Connection::client(client.clone(), server_address(), at(0), &mut rng).unwrap();
            for _ in 0..if require_cookie { 2 } else { 1 } {
                exchange(&mut endpoint, &mut client, from, at(0), &mut rng);
            }
            assert!(endpoint.connections().1 <= 16);
            while endpoint.poll_event().is_some() {}
        }
        assert_eq!(endpoint.connections().1, 16, "they got as far as to hold a place");
    });
    heap
}

fn exchange(endpoint: &mut Endpoint, client: &mut Connection, from: SocketAddr, now: Now, rng: &mut SeededRng) {
    let mut bytes = [0; 2048];
    while let Some(len) = client.poll_transmit(now, &mut bytes) {
        endpoint.handle_datagram(now, rng, from, &mut bytes[..len]);
    }
    while let Some((to, len)) = endpoint.poll_transmit(now, &mut bytes) {
        if to == from {
            client.handle_input(now, rng, &mut bytes[..len]).unwrap();
        }
    }
}

#[test]
fn made_up_tickets_cost_nothing_over_datagrams_either() {
    const EACH: u64 = 400; // in each of twelve
    for version in VERSIONS {
        for scheme in SCHEMES {
            let mut server = Server::new(version, scheme, true);
            let before = server.store.lineages();
            for require_cookie in [true, false] {
                let few = flood(&server, require_cookie, 0..20);
                let many = flood(&server, require_cookie, 20..EACH);
                assert_eq!(many.kept, 0, "{version}: {many:?}");
                assert!(many.peak < 2 * few.peak, "{version}: {many:?}, {few:?}");
            }
            assert_eq!(server.store.lineages(), before);
            server.everybody_connects(scheme.1);
        }
    }
}
