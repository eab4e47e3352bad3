//! These tests compare the heap of handshakes with a cache to that without one (BiTHaC, V-C), for the first handshake,
//! which fills the cache, and for later ones, which leave out what is in it.

use alloc::sync::Arc;
use core::array::from_fn;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};

use terse_testkit::allocator::measure;
use terse_testkit::pair::{Side, at};
use terse_testkit::pki::{Pki, server_address};
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::summary::Mode;
use terse_tls::{
    ClientAuthentication, Connection, ConnectionHandle, Datagrams, Endpoint, EndpointEvent, EndpointLimits, Event,
    NamedGroup, Now, ProtocolVersion, SignatureScheme,
};

/// A side, with the heap that it has now and had at its peak.
struct Watched<T> {
    side: T,
    rng: SeededRng,
    kept: i64,
    peak: i64,
}

impl<T> Watched<T> {
    fn new(seed: u64, make: impl FnOnce(&mut SeededRng) -> T) -> Self {
        let mut rng = SeededRng::new(seed);
        let (side, heap) = measure(|| make(&mut rng));
        Self { side, rng, kept: heap.kept, peak: heap.peak }
    }

    fn call<R>(&mut self, call: impl FnOnce(&mut T, &mut SeededRng) -> R) -> R {
        let (result, heap) = measure(|| call(&mut self.side, &mut self.rng));
        self.peak = self.peak.max(self.kept + heap.peak);
        self.kept += heap.kept;
        result
    }
}

/// A client; and a server for one connection, or one over datagrams that wants to see a cookie.
enum End {
    Connection(Connection),
    Endpoint(Endpoint, Option<ConnectionHandle>),
}

impl End {
    fn transmit(&mut self, now: Now, out: &mut [u8]) -> Option<usize> {
        match self {
            Self::Connection(connection) => connection.poll_transmit(now, out),
            Self::Endpoint(endpoint, _) => endpoint.poll_transmit(now, out).map(|(_, len)| len),
        }
    }

    /// Feeds bytes, and returns how many of them were taken.
    fn take(&mut self, now: Now, rng: &mut SeededRng, input: &mut [u8]) -> usize {
        match self {
            Self::Connection(connection) => {
                let taken = connection.handle_input(now, rng, input).unwrap();
                while connection.recv(&mut [0; 512]) > 0 {}
                taken
            }
            Self::Endpoint(endpoint, _) => {
                endpoint.handle_datagram(now, rng, CLIENT, input);
                input.len()
            }
        }
    }

    fn is_connected(&mut self) -> bool {
        match self {
            Self::Connection(connection) => connection.poll_event() == Some(Event::Connected),
            Self::Endpoint(endpoint, connected) => {
                let event = endpoint.poll_event();
                *connected = event.as_ref().map(|(handle, _)| *handle);
                matches!(event, Some((_, EndpointEvent::Connected)))
            }
        }
    }

    fn connection(&mut self) -> &mut Connection {
        match self {
            Self::Connection(connection) => connection,
            Self::Endpoint(endpoint, connected) => connected.and_then(|handle| endpoint.connection(handle)).unwrap(),
        }
    }
}

const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 5683);

/// Both sides of a connection, between which nothing is lost.
pub(crate) struct Ends {
    ends: [Watched<End>; 2],
    now: Now,
}

impl Ends {
    pub(crate) fn new(setup: &Setup, cookie: bool, seed: u64) -> Self {
        let (client, server) = (Arc::new(setup.client.build().unwrap()), Arc::new(setup.server.build().unwrap()));
        let ends = [
            Watched::new(seed, |rng| {
                End::Connection(Connection::client(client, server_address(), at(seed), rng).unwrap())
            }),
            Watched::new(!seed, |rng| match cookie {
                true => End::Endpoint(Endpoint::new(server, EndpointLimits::default(), rng).unwrap(), None),
                false => End::Connection(Connection::server(server, at(seed)).unwrap()),
            }),
        ];
        Self { ends, now: at(seed) }
    }

    /// Carries bytes until nobody has more to say.
    fn run(&mut self) {
        let mut out = vec![0; 0x1_0000];
        let mut is_quiet = [false; 2];
        while is_quiet != [true; 2] {
            for from in Side::BOTH {
                let now = self.now;
                let [sender, receiver] = [from, from.other()].map(|side| side as usize);
                is_quiet[sender] = true;
                while let Some(len) = self.ends[sender].call(|end, _| end.transmit(now, &mut out)) {
                    is_quiet[sender] = false;
                    let mut rest = &mut out[..len];
                    while !rest.is_empty() {
                        let taken = self.ends[receiver].call(|end, rng| end.take(now, rng, rest));
                        rest = &mut rest[taken..];
                    }
                }
            }
            self.now.monotonic.0 += 20;
        }
    }

    /// Returns the heap peaks of both sides, in a connection that ends well.
    pub(crate) fn handshake(mut self) -> ([i64; 2], Mode) {
        self.run();
        assert_eq!(self.ends.each_mut().map(|end| end.side.is_connected()), [true; 2]);
        let peaks = self.ends.each_ref().map(|end| end.peak);
        let mode = self.ends[0].side.connection().summary().mode;
        self.ends[1].side.connection().send(b"confirmed").unwrap();
        self.run();
        (peaks, mode)
    }
}

/// Returns the heap peaks of both sides, of the first handshake and of the later one that takes most.
fn peaks(mut setup: Setup, cookie: bool, schemes: Option<Schemes>) -> [[i64; 2]; 2] {
    if let Some(schemes) = schemes {
        setup.client.cache(Some(ClientCache::new(Arc::new(MemoryClientStore::new(8)), schemes)));
        setup.server.cache(Some(ServerCache::new(Arc::new(MemoryServerStore::new(8)), schemes)));
    }
    let (first, _) = Ends::new(&setup, cookie, 0).handshake();
    let mut later = [0; 2];
    for seed in 1..LATER {
        let (peaks, mode) = Ends::new(&setup, cookie, seed).handshake();
        assert_eq!(mode != Mode::Full, schemes.is_some());
        later = from_fn(|side| peaks[side].max(later[side]));
    }
    [first, later]
}

const LATER: u64 = 4;

/// BiTHaC has +3.44 % and +1.22 % of the client's memory. A client that has only what it needs takes less while it
/// verifies a chain, and may take most at the end of the handshake, when the cache has grown.
#[test]
fn a_cache_takes_no_more_than_its_share() {
    let transports = [(None, false), (Some(Datagrams::default()), false), (Some(Datagrams::default()), true)];
    for chain in ["p256x3", "rsa2048x3"] {
        for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
            for (datagrams, cookie) in transports {
                for is_least in [false, true] {
                    let mut setup = setup(chain).only(version);
                    for side in Side::BOTH {
                        let common = setup.common(side);
                        common.set_datagrams(datagrams);
                        if is_least {
                            common.set_groups(vec![NamedGroup::SECP256R1]);
                            common.edit_signature_schemes(|schemes| schemes.retain(|scheme| LEAST.contains(scheme)));
                        }
                    }
                    let datagrams = datagrams.is_some();
                    let name = format!("{chain}, {version}, datagrams {datagrams}, cookie {cookie}, least {is_least}");
                    takes_no_more_than_its_share(&name, &setup, cookie);
                }
            }
        }
    }
}

const LEAST: [SignatureScheme; 3] =
    [SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::RSA_PSS_RSAE_SHA256, SignatureScheme::RSA_PKCS1_SHA256];

fn takes_no_more_than_its_share(name: &str, setup: &Setup, cookie: bool) {
    peaks(setup.clone(), cookie, None); // what is made once in a process
    let off = peaks(setup.clone(), cookie, None);
    for schemes in [Schemes::RFC7924, Schemes::BITHAC, Schemes::COMPACT] {
        let on = peaks(setup.clone(), cookie, Some(schemes));
        let name = format!("{name}, {schemes:?}: {on:?}, without {off:?}");
        println!("{name}");
        for side in 0..2 {
            assert!(on[0][side] * 10_000 <= off[0][side] * 10_344, "first, {name}");
            assert!(on[1][side] * 10_000 <= off[1][side] * 10_122, "later, {name}");
        }
    }
}

/// Mutual authentication. RustCrypto verifies with RSA keys, and does not sign with them.
fn setup(chain: &str) -> Setup {
    let provider = &terse_rustcrypto::PROVIDER;
    if !chain.starts_with("rsa") {
        return Setup::mutual(provider, provider, chain);
    }
    let (pki, signer) = (Pki::shared(chain), &terse_aws_lc::PROVIDER);
    let mut setup = Setup::new(provider, provider, "p256x3");
    setup.client.trust(pki.trust());
    setup.client.credentials(vec![pki.client(signer)]);
    setup.server.credentials(vec![pki.server(signer)]);
    setup.server.client_authentication(ClientAuthentication::Required(pki.trust()));
    setup
}
