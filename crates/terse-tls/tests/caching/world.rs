//! A client and a server have caches. A test changes their configurations, clocks and stores between connections, and looks
//! at what a connection showed on the wire.

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::Mutex;

use pki_types::UnixTime;
use terse_testkit::fault;
use terse_testkit::forge::{self, HEADER_LEN};
use terse_testkit::late::{Late, LateStore};
use terse_testkit::pair::{Failed, Pair, Side, at};
use terse_testkit::pki::{self, Pki};
use terse_tls::cache::{
    ClientCache, ClientStore, MemoryClientStore, MemoryServerStore, NotSaved, Save, Scheme, Schemes, Scope,
    ScopeRecord, ServerCache, snapshot,
};
use terse_tls::crypto::CryptoProvider;
use terse_tls::summary::{CachedObject, Mode};
use terse_tls::{
    AlertDescription, ClientAuthentication, ClientConfig, ConfigBuilder, ContentType, Event, ExtensionType, Fault,
    LearnedIssuers, Now, ProtocolVersion, ServerAddress, ServerConfig, Summary, Trust,
};

/// Both versions.
pub(crate) const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];
pub(crate) const TLS12: ProtocolVersion = ProtocolVersion::TLS_1_2;
pub(crate) const TLS13: ProtocolVersion = ProtocolVersion::TLS_1_3;

pub(crate) const PROVIDER: &CryptoProvider = &terse_rustcrypto::PROVIDER;

/// The chain of most tests.
pub(crate) const CHAIN: &str = "p256x3";

/// What both sides speak, and which schemes of caching they have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) version: ProtocolVersion,
    pub(crate) schemes: Schemes,
}

impl From<ProtocolVersion> for Setting {
    fn from(version: ProtocolVersion) -> Self {
        Self { version, schemes: Schemes::BITHAC }
    }
}

/// Both versions under `compact`.
pub(crate) const COMPACT: [Setting; 2] =
    [Setting { version: TLS13, schemes: Schemes::COMPACT }, Setting { version: TLS12, schemes: Schemes::COMPACT }];

/// Both versions under each scheme with tickets.
pub(crate) const SETTINGS: [Setting; 4] = [
    Setting { version: TLS13, schemes: Schemes::BITHAC },
    Setting { version: TLS12, schemes: Schemes::BITHAC },
    COMPACT[0],
    COMPACT[1],
];

/// All objects that are cached if the CertificateRequest is short.
pub(crate) const BOTH_CERTIFICATES: [CachedObject; 2] =
    [CachedObject::ServerCertificate, CachedObject::ClientCertificate];

/// A client and a server.
pub(crate) struct World {
    pub(crate) client: ConfigBuilder<ClientConfig>,
    pub(crate) server: ConfigBuilder<ServerConfig>,
    pub(crate) client_store: Arc<Disk>,
    pub(crate) server_store: Arc<MemoryServerStore>,
    pub(crate) address: ServerAddress,
    pub(crate) client_clock: Now,
    pub(crate) server_clock: Now,
    /// The store that answers in place of the server's own, and may answer later.
    late_store: Arc<LateStore>,
    late: Late,
    /// What both sides have at first.
    schemes: Schemes,
    seed: u64,
}

/// How far a connection gets before both sides vanish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Until {
    /// The ClientHello is lost.
    ClientHello,
    /// The server's flight is lost.
    ServerFlight,
    /// The client's last flight is lost.
    ClientFlight,
    /// The server has verified the client's Finished, and kept what it must; what it sends then is lost. In TLS 1.2 that is
    /// its own Finished; in TLS 1.3 it is nothing.
    Commit,
    /// Both sides have finished.
    Finished,
    /// The client has read application data of the server, and the other way round.
    Data,
    /// Both sides have closed.
    Closed,
}

impl World {
    /// Mutual authentication in `setting`, with `bithac` if that is only a version; nothing cached yet.
    pub(crate) fn new(setting: impl Into<Setting>) -> Self {
        Self::with(setting, PROVIDER, CHAIN)
    }

    pub(crate) fn with(setting: impl Into<Setting>, provider: &'static CryptoProvider, chain: &str) -> Self {
        let Setting { version, schemes } = setting.into();
        println!("{version}, {schemes:?}"); // is shown if a test fails
        let pki = Pki::shared(chain);
        let server_store = Arc::new(MemoryServerStore::new(STORE_CAPACITY));
        let mut world = Self {
            client: ClientConfig::builder(provider),
            server: ServerConfig::builder(provider),
            client_store: Disk::new(),
            late_store: LateStore::new(server_store.clone(), Late::Sometimes),
            late: Late::Sometimes,
            server_store,
            address: pki::server_address(),
            client_clock: at(0),
            server_clock: at(0),
            schemes,
            seed: 0,
        };
        world.client.trust(pki.trust()).credential(pki.client(provider));
        world.server.credential(pki.server(provider));
        world.server.client_authentication(ClientAuthentication::Required(pki.trust()));
        world.set_schemes(schemes, schemes);
        world.speak(&[version]);
        world
    }

    /// Returns the setting that the world was made for.
    pub(crate) fn setting(&self) -> Setting {
        Setting { version: self.version(), schemes: self.schemes }
    }

    /// Returns all objects that can be cached, in the order of a handshake of `version`.
    pub(crate) fn everything(version: ProtocolVersion) -> [CachedObject; 3] {
        let [server, client] = BOTH_CERTIFICATES;
        // In TLS 1.2 the request comes behind the server's Certificate.
        match version {
            TLS12 => [server, CachedObject::CertificateRequest, client],
            _ => [CachedObject::CertificateRequest, server, client],
        }
    }

    /// Returns the mode of a connection in which everything is cached.
    pub(crate) fn mode(&self) -> Mode {
        if self.schemes.contains(Scheme::Compact) {
            Mode::Cached(Scheme::Compact)
        } else {
            Mode::Cached(Scheme::Bithac)
        }
    }

    /// Whether the client's Certificate was cached, under the best scheme.
    pub(crate) fn is_cached(&self, client: &Summary) -> bool {
        client.mode == self.mode() && client.cached.last() == Some(&CachedObject::ClientCertificate)
    }

    /// Returns another client, at a server that shares the store of the one in `other`.
    pub(crate) fn beside(other: &Self) -> Self {
        let mut world = Self { seed: other.seed + 1000, ..Self::new(other.setting()) };
        world.server_store = other.server_store.clone();
        world.set_schemes(other.schemes, other.schemes);
        world
    }

    /// Returns a world after two connections: everything that can be cached is.
    pub(crate) fn cached(setting: impl Into<Setting>) -> Self {
        let mut world = Self::new(setting);
        assert_eq!(world.connect().unwrap().client.mode, Mode::Full);
        world.assert_cached();
        world
    }

    /// Sets what both sides speak from now on.
    pub(crate) fn speak(&mut self, versions: &[ProtocolVersion]) {
        self.client.versions(versions.to_vec());
        self.server.versions(versions.to_vec());
    }

    /// Returns the version of the world's connections.
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.server.config().common().versions()[0]
    }

    /// Turns caching on, with the stores of this world.
    pub(crate) fn set_schemes(&mut self, client: Schemes, server: Schemes) {
        self.client.cache(Some(ClientCache::new(self.client_store.clone(), client)));
        self.server.cache(Some(ServerCache::new(self.late_store.clone(), server)));
        self.set_server_store(self.server_store.clone());
    }

    /// The server keeps what it keeps there from now on, and answers later for some tickets.
    pub(crate) fn set_server_store(&mut self, store: Arc<MemoryServerStore>) {
        self.late_store = LateStore::new(store.clone(), self.late);
        self.server_store = store;
        if let Some(cache) = self.server.config().cache() {
            let schemes = cache.schemes;
            self.server.cache(ServerCache::new(self.late_store.clone(), schemes));
        }
    }

    /// When the server's store answers at once.
    pub(crate) fn set_late(&mut self, late: Late) -> Arc<LateStore> {
        self.late = late;
        self.set_server_store(self.server_store.clone());
        self.late_store.clone()
    }

    /// Returns the store that answers in place of the server's own.
    pub(crate) fn late_store(&self) -> &LateStore {
        &self.late_store
    }

    /// Starts the client's process anew, with what it saved.
    pub(crate) fn restart_client(&mut self) {
        self.client_store = self.client_store.restart();
        let schemes = self.client.config().cache().expect("caching is on").schemes;
        self.client.cache(ClientCache::new(self.client_store.clone(), schemes));
    }

    /// Starts the server's process anew, with its store or without.
    pub(crate) fn restart_server(&mut self, with_store: bool) {
        let rows = if with_store { self.rows() } else { MemoryServerStore::new(0).snapshot() };
        let (_, store, _) = snapshot::decode(&rows, STORE_CAPACITY).expect("own encoding");
        self.set_server_store(Arc::new(store));
    }

    /// Returns all entries that the server keeps.
    pub(crate) fn rows(&self) -> Vec<u8> {
        self.server_store.snapshot()
    }

    /// Sets both clocks, in seconds after [`pki::NOW`].
    pub(crate) fn set_clocks(&mut self, seconds: u64) {
        self.client_clock = at(seconds);
        self.server_clock = at(seconds);
    }

    pub(crate) fn server_trust(&mut self, trust: Trust) {
        self.server.client_authentication(ClientAuthentication::Required(trust));
    }

    /// Has the server name its client CAs, so that its CertificateRequest is long enough to be cached.
    pub(crate) fn with_long_request(mut self) -> Self {
        self.server.certificate_authorities(true);
        self
    }

    /// Begins a new connection, before anything is sent.
    pub(crate) fn begin(&mut self) -> Link {
        self.seed += 1;
        let (client, server) = self.configurations();
        let mut pair = Pair::to(self.address.clone(), &client, &server, self.seed, self.client_clock);
        pair.late = Some(self.late_store.clone());
        Link { pair, client_clock: self.client_clock, server_clock: self.server_clock }
    }

    /// Both sides' configurations; where the server asks no client for a certificate, it names no authorities either.
    pub(crate) fn configurations(&self) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
        let mut server = self.server.clone();
        if server.config().client_authentication().trust().is_none() {
            server.certificate_authorities(false);
        }
        (Arc::new(self.client.build().unwrap()), Arc::new(server.build().unwrap()))
    }

    /// Another client than those of worlds with the same seeds.
    pub(crate) fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// The seed of the connection that [`Self::begin`] gave last.
    pub(crate) fn last_seed(&self) -> u64 {
        self.seed
    }

    /// Makes a connection with data both ways, closed in order.
    pub(crate) fn connect(&mut self) -> Result<Done, Failed> {
        self.connect_until(Until::Closed)
    }

    /// Makes a connection that gets so far. Afterwards both sides vanish without a close_notify.
    pub(crate) fn connect_until(&mut self, until: Until) -> Result<Done, Failed> {
        let mut link = self.begin();
        link.run_until(until)?;
        Ok(link.done())
    }

    /// Makes a connection that `side` causes to fail, by `fault`.
    pub(crate) fn connect_with(&mut self, side: Side, fault: Arc<dyn Fault>) -> (Link, Result<(), Failed>) {
        let common = self.common(side);
        common.set_fault(Some(fault));
        let mut link = self.begin();
        self.common(side).set_fault(None);
        let result = link.run();
        (link, result)
    }

    fn common(&mut self, side: Side) -> &mut terse_tls::Common {
        match side {
            Side::Client => self.client.common_mut(),
            Side::Server => self.server.common_mut(),
        }
    }

    /// Returns what the next connection would offer. The client changes its mind and does not connect.
    pub(crate) fn next_offer(&mut self) -> Offer {
        self.connect_until(Until::ClientHello).expect("nothing can fail yet").offer
    }

    /// Makes a connection in which everything is cached that can be, and both sides agree about that.
    pub(crate) fn assert_cached(&mut self) -> Done {
        let done = self.connect().unwrap();
        let with_request = self.server.config().names_authorities() || self.mode() == Mode::Cached(Scheme::Compact);
        let everything = Self::everything(done.client.version.expect("negotiated"));
        let all = if with_request { everything.to_vec() } else { BOTH_CERTIFICATES.to_vec() };
        assert_eq!((done.client.mode, &done.client.cached), (self.mode(), &all));
        assert_eq!((done.server.mode, &done.server.cached), (self.mode(), &done.client.cached));
        done
    }

    /// Makes a connection in which nothing is cached, and both sides agree about that.
    pub(crate) fn assert_full(&mut self) -> Done {
        let done = self.connect().unwrap();
        assert_eq!((done.client.mode, &done.client.cached[..]), (Mode::Full, &[][..]));
        assert_eq!((done.server.mode, &done.server.cached[..]), (Mode::Full, &[][..]));
        done
    }

    /// Checks that `fault` on `side` makes the other side refuse with `alert`, and that nothing on the server changes.
    /// Afterwards, with both sides honest, the next connection works, and at the latest the one after it is cached again.
    pub(crate) fn assert_refused(
        &mut self,
        side: Side,
        fault: Arc<dyn Fault>,
        alert: AlertDescription,
        what: &str,
    ) -> Link {
        let before = self.rows();
        let (mut link, result) = self.connect_with(side, fault);
        let failed = result.expect_err(what);
        assert_eq!((failed.side, failed.error.alert()), (side.other(), Some(alert)), "{what}: {:?}", failed.error);
        let heard = link.pair.failure(side);
        assert_eq!(heard, Some(&terse_tls::Error::AlertReceived(alert)), "{what}: the alert must arrive");
        // In TLS 1.2 the server has finished first.
        let finished = core::iter::from_fn(|| link.pair.server.poll_event()).any(|event| event == Event::Connected);
        assert!(finished || self.rows() == before, "{what}: a failed handshake changed the server's store");
        self.connect().unwrap_or_else(|failed| panic!("after {what}: {failed:?}"));
        self.assert_cached();
        link
    }
}

const STORE_CAPACITY: usize = 64;

/// A connection.
pub(crate) struct Link {
    pub(crate) pair: Pair,
    client_clock: Now,
    server_clock: Now,
}

impl Link {
    /// Hands `bytes` to `side`, by that side's clock.
    pub(crate) fn deliver(&mut self, side: Side, bytes: Vec<u8>) -> Result<(), Failed> {
        self.pair.now = match side {
            Side::Client => self.client_clock,
            Side::Server => self.server_clock,
        };
        self.pair.deliver(side, bytes)
    }

    /// Carries what `side` has to send to its peer.
    pub(crate) fn carry_on(&mut self, side: Side) -> Result<(), Failed> {
        let bytes = self.pair.transmit(side);
        self.deliver(side.other(), bytes)
    }

    /// Carries bytes until nobody has more to say. Returns the first error.
    pub(crate) fn run(&mut self) -> Result<(), Failed> {
        let mut first = Ok(());
        loop {
            let bytes = Side::BOTH.map(|side| self.pair.transmit(side));
            if bytes.iter().all(Vec::is_empty) {
                return first;
            }
            for (side, bytes) in Side::BOTH.into_iter().zip(bytes) {
                let result = self.deliver(side.other(), bytes);
                first = first.and(result);
            }
        }
    }

    pub(crate) fn run_until(&mut self, until: Until) -> Result<(), Failed> {
        if until < Until::Finished {
            // One flight after the other, so that the last one can be lost. After a HelloRetryRequest there are more.
            let mut flights = Side::BOTH.into_iter().cycle();
            flights.by_ref().take(until as usize).try_for_each(|side| self.carry_on(side))?;
            flights.next().map(|side| self.pair.transmit(side));
            assert!(until < Until::Commit || self.pair.server.is_connected());
            return Ok(());
        }
        self.run()?;
        assert!(self.pair.client.is_connected() && self.pair.server.is_connected());
        if until >= Until::Data {
            for side in [Side::Server, Side::Client] {
                assert_eq!(self.pair.carry(side, b"data")?, b"data");
            }
        }
        if until == Until::Closed {
            self.pair.close()?;
        }
        Ok(())
    }

    /// The time is up for the client.
    pub(crate) fn time_out(&mut self) {
        self.pair.client.give_up(self.client_clock);
    }

    pub(crate) fn offer(&self) -> Offer {
        self.hellos().pop().expect("a ClientHello")
    }

    /// Of each ClientHello, of which there are two after HelloRetryRequest.
    pub(crate) fn hellos(&self) -> Vec<Offer> {
        let plain = |record: &Vec<u8>| record[0] == ContentType::HANDSHAKE.0;
        let fragments = forge::records(&self.pair.from_client).into_iter().filter(plain);
        let stream: Vec<u8> = fragments.flat_map(|record| record[HEADER_LEN..].to_vec()).collect();
        let mut rest = &stream[..];
        let mut hellos = Vec::new();
        while let [1, a, b, c, ..] = rest {
            let (hello, after) = rest.split_at(4 + u32::from_be_bytes([0, *a, *b, *c]) as usize);
            hellos.push(Offer::read(hello));
            rest = after;
        }
        let is_tls12 = self.pair.client.summary().version == Some(TLS12);
        assert!(rest.is_empty() || is_tls12, "only ClientHellos are sent in the clear");
        hellos
    }

    pub(crate) fn done(self) -> Done {
        Done {
            client: self.pair.client.summary().clone(),
            server: self.pair.server.summary().clone(),
            offer: self.offer(),
            pair: self.pair,
        }
    }
}

/// A connection that got as far as it should.
pub(crate) struct Done {
    pub(crate) client: Summary,
    pub(crate) server: Summary,
    pub(crate) offer: Offer,
    pub(crate) pair: Pair,
}

/// The caching extensions of a ClientHello, each of which is `None` if it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) cached_info: Option<Vec<u8>>,
    pub(crate) client_cached_info: Option<Vec<u8>>,
    pub(crate) compact_cache: Option<Vec<u8>>,
}

impl Offer {
    const SILENT: Self = Self { cached_info: None, client_cached_info: None, compact_cache: None };

    fn read(hello: &[u8]) -> Self {
        let (mut hello, mut offer) = (hello.to_vec(), Self::SILENT);
        fault::edit_extensions(&mut hello, |extensions| {
            for (kind, body) in extensions {
                match *kind {
                    ExtensionType::CACHED_INFO => offer.cached_info = Some(body.clone()),
                    ExtensionType::CLIENT_CACHED_INFO => offer.client_cached_info = Some(body.clone()),
                    ExtensionType::COMPACT_CACHE => offer.compact_cache = Some(body.clone()),
                    _ => {}
                }
            }
        });
        offer
    }

    /// Returns the ticket. A client of ours sends one at most, and nothing of another scheme beside it.
    pub(crate) fn ticket(&self) -> Option<[u8; 8]> {
        let of_bithac = match self.client_cached_info.as_deref().unwrap_or_default() {
            [] => None,
            [0, 10, 1, 8, ticket @ ..] => Some(ticket.try_into().expect("8 bytes")),
            other => panic!("not the one form of client_cached_info: {other:x?}"),
        };
        match self.compact_cache.as_deref().unwrap_or_default() {
            [] => of_bithac,
            ticket => {
                assert!(of_bithac.is_none() && self.cached_info.is_none(), "two offers: {self:x?}");
                Some(ticket.try_into().expect("8 bytes"))
            }
        }
    }

    /// Returns whether the offer says only which schemes with tickets are supported.
    pub(crate) fn is_first_contact(&self) -> bool {
        let is_empty = |body: &Vec<u8>| body.is_empty();
        self.cached_info.is_none()
            && self.client_cached_info.as_ref().is_some_and(is_empty)
            && self.compact_cache.as_ref().is_none_or(is_empty)
    }

    /// Returns whether the offer says nothing at all.
    pub(crate) fn is_silent(&self) -> bool {
        *self == Self::SILENT
    }
}

/// A client's store whose contents survive a restart.
pub(crate) struct Disk {
    pub(crate) memory: MemoryClientStore,
    saved: Mutex<Vec<u8>>,
}

impl Disk {
    pub(crate) fn new() -> Arc<Self> {
        let memory = MemoryClientStore::new(STORE_CAPACITY);
        let saved = Mutex::new(snapshot_of(&memory));
        Arc::new(Self { memory, saved })
    }

    /// Returns what the next process finds.
    fn restart(&self) -> Arc<Self> {
        let saved = self.saved.lock().unwrap().clone();
        let (memory, ..) = snapshot::decode(&saved, STORE_CAPACITY).expect("own encoding");
        Arc::new(Self { memory, saved: Mutex::new(saved) })
    }
}

impl ClientStore for Disk {
    fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved> {
        let mut save = Save::Later;
        self.memory.update(scope, &mut |record| {
            save = change(record);
            save
        })?;
        if save == Save::Now {
            *self.saved.lock().unwrap() = snapshot_of(&self.memory);
        }
        Ok(())
    }
}

fn snapshot_of(memory: &MemoryClientStore) -> Vec<u8> {
    snapshot::encode(memory, &MemoryServerStore::new(0), &LearnedIssuers::new()).expect("small")
}

trait Snapshot {
    fn snapshot(&self) -> Vec<u8>;
}

impl Snapshot for MemoryServerStore {
    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&MemoryClientStore::new(0), self, &LearnedIssuers::new()).expect("small")
    }
}

/// A clock that shows 1970.
pub(crate) fn at_boot() -> Now {
    Now::new(at(0).monotonic, Some(UnixTime::since_unix_epoch(Duration::from_secs(3600))))
}

/// No clock at all.
pub(crate) fn no_clock() -> Now {
    Now::new(at(0).monotonic, None)
}
