//! The heap of handshakes with a cache against that without one (paper 000, V-C): of the first, which fills it, and of
//! later ones, which leave out what is in it.

use alloc::sync::Arc;
use core::array::from_fn;

use terse_testkit::allocator::measure;
use terse_testkit::pair::{Side, at};
use terse_testkit::pki::{Pki, server_address};
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::summary::Mode;
use terse_tls::{ClientAuthentication, Connection, Datagrams, Event, Now, ProtocolVersion};

/// A connection, with the heap that it has and had.
struct Watched {
    connection: Connection,
    rng: SeededRng,
    kept: i64,
    peak: i64,
}

impl Watched {
    fn new(seed: u64, make: impl FnOnce(&mut SeededRng) -> Connection) -> Self {
        let mut rng = SeededRng::new(seed);
        let (connection, heap) = measure(|| make(&mut rng));
        Self { connection, rng, kept: heap.kept, peak: heap.peak }
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut Connection, &mut SeededRng) -> T) -> T {
        let (result, heap) = measure(|| call(&mut self.connection, &mut self.rng));
        self.peak = self.peak.max(self.kept + heap.peak);
        self.kept += heap.kept;
        result
    }
}

/// Both sides, without a loss on the way.
struct Ends {
    ends: [Watched; 2],
    now: Now,
}

impl Ends {
    fn new(setup: &Setup, seed: u64) -> Self {
        let (client, server) = (Arc::new(setup.client.clone()), Arc::new(setup.server.clone()));
        let ends = [
            Watched::new(seed, |rng| Connection::client(client, server_address(), at(seed), rng).unwrap()),
            Watched::new(!seed, |_| Connection::server(server, at(seed)).unwrap()),
        ];
        Self { ends, now: at(seed) }
    }

    /// Until nobody has more to say.
    fn run(&mut self) {
        let mut out = vec![0; 0x1_0000];
        let mut data = [0; 512];
        let mut is_quiet = [false; 2];
        while is_quiet != [true; 2] {
            for from in Side::BOTH {
                let now = self.now;
                let [sender, receiver] = [from, from.other()].map(|side| side as usize);
                is_quiet[sender] = true;
                while let Some(len) = self.ends[sender].call(|connection, _| connection.poll_transmit(now, &mut out)) {
                    is_quiet[sender] = false;
                    let mut rest = &mut out[..len];
                    while !rest.is_empty() {
                        let taken = self.ends[receiver].call(|connection, rng| connection.handle_input(now, rng, rest));
                        rest = &mut rest[taken.unwrap()..];
                        while self.ends[receiver].call(|connection, _| connection.recv(&mut data)) > 0 {}
                    }
                }
            }
            self.now.monotonic.0 += 20;
        }
    }

    /// The peaks of both sides, in a connection that ends well.
    fn handshake(mut self) -> ([i64; 2], Mode) {
        self.run();
        assert_eq!(self.ends.each_mut().map(|end| end.connection.poll_event()), [Some(Event::Connected); 2]);
        let peaks = self.ends.each_ref().map(|end| end.peak);
        let mode = self.ends[0].connection.summary().mode;
        self.ends[1].connection.send(b"confirmed").unwrap();
        self.run();
        (peaks, mode)
    }
}

/// The peaks of both sides of the first handshake, and of the later one that takes most.
fn peaks(mut setup: Setup, schemes: Option<Schemes>) -> [[i64; 2]; 2] {
    if let Some(schemes) = schemes {
        setup.client.cache = Some(ClientCache { store: Arc::new(MemoryClientStore::new(8)), schemes });
        setup.server.cache = Some(ServerCache { store: Arc::new(MemoryServerStore::new(8)), schemes });
    }
    let (first, _) = Ends::new(&setup, 0).handshake();
    let mut later = [0; 2];
    for seed in 1..LATER {
        let (peaks, mode) = Ends::new(&setup, seed).handshake();
        assert_eq!(mode != Mode::Full, schemes.is_some());
        later = from_fn(|side| peaks[side].max(later[side]));
    }
    [first, later]
}

const LATER: u64 = 4;

/// Paper 000 has +3.44 % and +1.22 % of the client's memory.
#[test]
fn a_cache_takes_no_more_than_its_share() {
    for chain in ["p256x3", "rsa2048x3"] {
        for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
            for datagrams in [None, Some(Datagrams::default())] {
                let mut setup = setup(chain).only(version);
                setup.client.common.datagrams = datagrams;
                setup.server.common.datagrams = datagrams;
                peaks(setup.clone(), None); // what is made once in a process
                let off = peaks(setup.clone(), None);
                for schemes in [Schemes::RFC7924, Schemes::BITHAC, Schemes::COMPACT] {
                    let on = peaks(setup.clone(), Some(schemes));
                    let name = format!("{chain}, {version}, {datagrams:?}, {schemes:?}: {on:?}, without {off:?}");
                    println!("{name}");
                    for side in 0..2 {
                        assert!(on[0][side] * 10_000 <= off[0][side] * 10_344, "first, {name}");
                        assert!(on[1][side] * 10_000 <= off[1][side] * 10_122, "later, {name}");
                    }
                }
            }
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
    setup.client.trust = pki.trust(provider);
    setup.client.credential = Some(pki.client(signer));
    setup.server.credentials = vec![pki.server(signer)];
    setup.server.client_authentication = ClientAuthentication::Required(pki.trust(provider));
    setup
}
