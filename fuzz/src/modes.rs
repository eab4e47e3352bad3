//! The modes of a handshake are configurations of client and server that fit together, with everything cached, stored
//! and shared that a mode needs. No connection changes a mode, so that inputs do not depend on earlier ones.

use std::sync::{Arc, LazyLock, OnceLock};

use terse_testkit::pair::{Side, at};
use terse_testkit::setup::{FirstSecretTicket, Setup};
use terse_tls::cache::{
    ClientCache, MemoryClientStore, MemoryServerStore, NotSaved, Schemes, Scope, ServerCache, snapshot,
};
use terse_tls::crypto::CryptoProvider;
use terse_tls::identity::{IdentityAlgorithm, KnownPeers};
use terse_tls::identity_early_data::{FirstContactMemory, SecretTickets};
use terse_tls::resume::{
    ClientResumption, ClientSessionStore, ExternalPsk, MemoryClientSessions, MemoryPskStore, ServerEarlyData,
    ServerResumption, ServerSessionStore, SessionId, SessionRecord, StoredSession,
};
use terse_tls::{
    CipherSuite, ClientAuthentication, ClientConfig, ClientIdentity, Common, ConfigBuilder, Datagrams, LearnedIssuers,
    MaxFragmentLength, Now, ProtocolVersion, ServerConfig, ServerIdentity, Trust,
};

use crate::identity;
use crate::pki::{self, CLIENT, SERVER};
use crate::provider::{self, PlainIdentityKey};

/// A mode, by name.
pub struct Mode {
    /// The name, such as `resumed-tls12`.
    pub name: String,
    /// The configurations of both sides.
    pub setup: Setup,
}

/// The modes with [`provider::transparent`].
pub static TRANSPARENT: LazyLock<Vec<Mode>> = LazyLock::new(|| all(&provider::transparent()));

/// The modes with [`provider::binding`].
pub static BINDING: LazyLock<Vec<Mode>> = LazyLock::new(|| all(&provider::binding()));

/// Returns the mode that `byte` chooses.
pub fn choose(modes: &[Mode], byte: u8) -> &Mode {
    &modes[usize::from(byte) % modes.len()]
}

/// The modes over datagrams with [`provider::transparent`].
pub static DATAGRAMS: LazyLock<Vec<Mode>> = LazyLock::new(|| {
    let datagrams = Some(Datagrams::default().short_tags(true));
    let versions = [("dtls12", ONLY_12, datagrams), ("dtls13", ONLY_13, datagrams), ("dtls", BOTH, datagrams)];
    of_all(&provider::transparent(), versions)
});

fn all(provider: &CryptoProvider) -> Vec<Mode> {
    of_all(provider, [("tls13", ONLY_13, None), ("tls12", ONLY_12, None), ("both", BOTH, None)])
}

const BOTH: &[ProtocolVersion] = &[ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];
const ONLY_13: &[ProtocolVersion] = BOTH.split_at(1).0;
const ONLY_12: &[ProtocolVersion] = BOTH.split_at(1).1;

/// The end of a mode's name, the versions of both sides, and the datagrams, if it has any.
type Versions = (&'static str, &'static [ProtocolVersion], Option<Datagrams>);

/// Returns all modes. Inputs name a mode by its number, so that new ones must go to the end.
fn of_all(provider: &CryptoProvider, all: [Versions; 3]) -> Vec<Mode> {
    let of_first = all.iter().flat_map(|versions| in_versions(provider, *versions));
    let of_first = of_first.chain(all.iter().flat_map(|versions| with_compact(provider, *versions)));
    let of_first = of_first.chain(all.iter().flat_map(|versions| with_identities(provider, *versions)));
    of_first.chain(all.iter().flat_map(|versions| with_identity_early_data(provider, *versions))).collect()
}

fn limited(mut setup: Setup, versions: &[ProtocolVersion], datagrams: Option<Datagrams>) -> Setup {
    for side in Side::BOTH {
        let common = setup.common(side);
        common.set_versions(versions.to_vec());
        common.set_datagrams(datagrams);
        if datagrams.is_some() {
            // Keys of this suite protect fewer records than are reserved for retransmissions.
            common.edit_suites(|suites| suites.retain(|suite| *suite != CipherSuite::TLS_AES_256_GCM_SHA384));
        }
    }
    setup
}

fn with_compact(provider: &CryptoProvider, (suffix, versions, datagrams): Versions) -> Vec<Mode> {
    let cached = |setup| limited(setup, versions, datagrams).with_frozen_cache(Schemes::COMPACT);
    let mode = |name, setup| Mode { name: format!("{name}-{suffix}"), setup };
    vec![
        mode("compact", cached(mutual(provider))),
        mode("compact-raw", cached(raw(provider))),
        mode("compact-server", cached(plain(provider))),
    ]
}

/// Returns the modes of clients and servers of which at least one has an identity key, in TLS 1.3.
fn with_identities(provider: &CryptoProvider, (suffix, versions, datagrams): Versions) -> Vec<Mode> {
    if !versions.contains(&ProtocolVersion::TLS_1_3) {
        return Vec::new();
    }
    let (bls12381, ristretto255) = (IdentityAlgorithm::Bls12381, IdentityAlgorithm::Ristretto255);
    let mode = |name, setup| Mode { name: format!("{name}-{suffix}"), setup: limited(setup, versions, datagrams) };
    let alone = |algorithm, known| {
        let mut setup = identified(mutual(provider), algorithm, known);
        setup.client.trust(Trust::nobody()).credentials(Vec::new());
        setup.server.credentials(Vec::new()).client_authentication(ClientAuthentication::None);
        setup
    };
    let or_certificate = || identified(mutual(provider), ristretto255, [false; 2]);
    let (mut declined, mut missing, mut hedged) = (or_certificate(), or_certificate(), or_certificate());
    declined.server.identity(None);
    missing.client.identity(None);
    let identity = hedged.client.config().identity().cloned().expect("it has one");
    hedged.client.identity(identity.hedge(true));
    hedged.server.identity(None);
    vec![
        mode("identity", alone(bls12381, [false; 2])),
        mode("identity-parts", alone(ristretto255, [false; 2])),
        mode("identity-known", alone(ristretto255, [true; 2])),
        mode("identity-forgotten", alone(ristretto255, [true, false])),
        mode("identity-or-certificate", with_psks_on_server(or_certificate())),
        mode("identity-declined", declined),
        mode("identity-hedged", hedged),
        mode("identity-missing", missing),
    ]
}

/// Returns the modes with early data of an identity, under a ticket and at first contact, in TLS 1.3 alone.
fn with_identity_early_data(provider: &CryptoProvider, (suffix, versions, datagrams): Versions) -> Vec<Mode> {
    if versions != ONLY_13 {
        return Vec::new();
    }
    let mut setup =
        identified(limited(mutual(provider), versions, datagrams), IdentityAlgorithm::Ristretto255, [true; 2]);
    setup.client.trust(Trust::nobody()).credentials(Vec::new());
    setup.server.credentials(Vec::new()).client_authentication(ClientAuthentication::None);
    setup.server.early_data(ServerEarlyData::new(0x400));
    let client = setup.client.config().identity().cloned().expect("it has one");
    let server = setup.server.config().identity().cloned().expect("it has one");
    let (mut ticket, mut first_contact) = (setup.clone(), setup);
    let store = Arc::new(FirstSecretTicket::default());
    ticket.client.identity(client.clone().early_data(true));
    ticket.server.identity(server.tickets(SecretTickets::Stateful { store, lifetime_seconds: 60 }));
    // The ticket is kept in the stores of this one.
    match datagrams {
        None => ticket.pair(0).handshake().expect("a handshake"),
        Some(_) => ticket.datagram_pair(0).run_well().expect("a handshake"),
    }
    first_contact.client.identity(client.first_contact(0x400));
    first_contact.server.identity(meets_first(first_contact.server.config()));
    let mode = |name, setup| Mode { name: format!("{name}-{suffix}"), setup };
    vec![mode("identity-early-data", ticket), mode(FIRST_CONTACT, first_contact)]
}

/// The name of the mode with early data at first contact.
const FIRST_CONTACT: &str = "identity-first-contact";

/// Returns the identity of a server with a new memory for early data at first contact.
fn meets_first(server: &ServerConfig) -> ServerIdentity {
    let identity = server.identity().cloned().expect("it has one");
    identity.first_contact(Arc::new(FirstContactMemory::trusting_clock(2, 0)))
}

/// Gives both sides identity keys. `known` says whether the client and the server have confirmed the public parts of
/// both keys before.
fn identified(mut setup: Setup, algorithm: IdentityAlgorithm, known: [bool; 2]) -> Setup {
    let [client, server] = [identity::client(), identity::server()]
        .map(|identity| PlainIdentityKey::shared(algorithm, identity, identity::NOT_AFTER));
    setup.client.identity(ClientIdentity::new(client));
    setup.server.identity(ServerIdentity::new([server]));
    if known != [false; 2] {
        // Everything is kept in the stores of this one.
        setup.pair(0).handshake().expect("a handshake");
        let (client, server) = (setup.client.config().identity().cloned(), setup.server.config().identity().cloned());
        let forget = || Arc::new(KnownPeers::new(KNOWN));
        if let Some(client) = client.filter(|_| !known[0]) {
            setup.client.identity(client.known_peers(forget()));
        }
        if let Some(server) = server.filter(|_| !known[1]) {
            setup.server.identity(server.known_peers(forget()));
        }
    }
    setup
}

/// The most peers of a store.
const KNOWN: usize = 4;

/// Returns a copy, which a connection may change.
fn copy(known: &KnownPeers) -> Arc<KnownPeers> {
    Arc::new(KnownPeers::from_snapshot(KNOWN, &known.snapshot()).expect("its own snapshot"))
}

fn in_versions(provider: &CryptoProvider, (suffix, versions, datagrams): Versions) -> Vec<Mode> {
    let mut modes = Vec::new();
    let in_versions = |setup| limited(setup, versions, datagrams);
    let [plain, mutual] = [plain(provider), mutual(provider)].map(in_versions);
    let mut add = |name: &str, setup| modes.push(Mode { name: format!("{name}-{suffix}"), setup });
    add("full", plain.clone());
    add("mutual", mutual.clone());
    add("optional", optional(mutual.clone()));
    add("retry", plain.clone().with_hello_retry(false));
    add("cookie", mutual.clone().with_hello_retry(true));
    add("rfc7924", mutual.clone().with_frozen_cache(Schemes::RFC7924));
    add("bithac", mutual.clone().with_frozen_cache(Schemes::BITHAC));
    add("resumed", plain.clone().with_frozen_session());
    add("resumed-mutual", stored(mutual.clone()));
    add("resumed-or-cached", stored(mutual.clone().with_frozen_cache(Schemes::BITHAC)));
    add("slow", in_versions(slow(provider)));
    add("psk", in_versions(psk(provider)));
    add("psk-or-certificate", with_psks(mutual.clone()));
    add("raw", in_versions(raw(provider)));
    add("raw-cached", in_versions(raw(provider)).with_frozen_cache(Schemes::BITHAC));
    if versions.contains(&ProtocolVersion::TLS_1_3) {
        add("early", early(plain.clone()));
        add("early-rejected", rejecting(early(mutual.clone())));
        add("psk-imported", in_versions(imported(provider)));
    }
    modes
}

fn plain(provider: &CryptoProvider) -> Setup {
    let mut setup = Setup {
        client: ClientConfig::builder(provider),
        server: ServerConfig::builder(provider),
        early_data: Vec::new(),
        keeps: false,
        identities: None,
        meets_first: false,
    };
    setup.client.trust(pki::trust()).credential(pki::credential(CLIENT, false));
    setup.server.credential(pki::credential(SERVER, false));
    setup
}

fn mutual(provider: &CryptoProvider) -> Setup {
    let mut setup = plain(provider);
    setup.server.client_authentication(ClientAuthentication::Required(pki::trust()));
    setup
}

/// Lets the client have no certificate.
fn optional(mut setup: Setup) -> Setup {
    let trust = pki::trust_with_crl();
    setup.server.client_authentication(ClientAuthentication::Optional(trust));
    setup.client.credentials(Vec::new());
    setup
}

/// Lets both keys be in secure elements.
fn slow(provider: &CryptoProvider) -> Setup {
    let mut setup = mutual(provider);
    setup.client.credentials(vec![pki::credential(CLIENT, true)]);
    setup.server.credentials(vec![pki::credential(SERVER, true)]);
    setup
}

fn raw(provider: &CryptoProvider) -> Setup {
    let mut setup = plain(provider);
    setup.client.trust(pki::raw_trust(SERVER));
    setup.client.credentials(vec![pki::raw_credential(CLIENT)]);
    setup.server.credentials(vec![pki::raw_credential(SERVER)]);
    setup.server.client_authentication(ClientAuthentication::Required(pki::raw_trust(CLIENT)));
    setup
}

fn key() -> ExternalPsk {
    ExternalPsk::new(b"device-7", &[7; 16]).expect("16 bytes are enough")
}

fn psk(provider: &CryptoProvider) -> Setup {
    let mut setup = plain(provider);
    setup.client = ClientConfig::builder(provider);
    setup.client.psks(vec![key()]);
    setup.server = ServerConfig::builder(provider);
    setup.server.psks(Arc::new(MemoryPskStore::new([key()])));
    setup
}

fn imported(provider: &CryptoProvider) -> Setup {
    let mut setup = psk(provider);
    let key = key().imported(b"context").expect("a short context");
    setup.client.psks(vec![key.clone()]);
    setup.server.psks(Arc::new(MemoryPskStore::new([key])));
    setup
}

fn with_psks(mut setup: Setup) -> Setup {
    setup.client.psks(vec![key()]);
    setup.server.psks(Arc::new(MemoryPskStore::new([key()])));
    setup
}

fn with_psks_on_server(mut setup: Setup) -> Setup {
    setup.server.psks(Arc::new(MemoryPskStore::new([key()])));
    setup
}

/// Lets every handshake resume one session, which the server finds in a store.
fn stored(mut setup: Setup) -> Setup {
    let store = Arc::new(OneRecord::default());
    setup.server.resumption(Some(ServerResumption::Stateful { store, lifetime_seconds: 7200 }));
    let mut resumption = ClientResumption::new(Arc::new(OneSession::default()));
    resumption.early_data = setup.server.config().early_data().is_some();
    setup.client.resumption(Some(resumption));
    setup.pair(0).handshake().expect("a handshake");
    setup
}

fn early(mut setup: Setup) -> Setup {
    setup.server.early_data(Some(ServerEarlyData::new(0x1000)));
    stored(setup)
}

/// Lets the server prefer another key share, and so reject early data.
fn rejecting(setup: Setup) -> Setup {
    setup.with_hello_retry(false)
}

/// A client's store that keeps the first session, and returns it for every scope.
#[derive(Default)]
struct OneSession(OnceLock<Vec<u8>>);

impl ClientSessionStore for OneSession {
    fn put(&self, _: &Scope, session: StoredSession) {
        self.0.get_or_init(|| session.to_bytes().to_vec());
    }

    fn take(&self, _: &Scope) -> Option<StoredSession> {
        self.0.get().map(|bytes| StoredSession::from_bytes(bytes).expect("what a session gave"))
    }
}

/// A server's store that finds the first session under every name.
#[derive(Default)]
struct OneRecord(OnceLock<SessionRecord>);

impl ServerSessionStore for OneRecord {
    fn put(&self, _: SessionId, record: SessionRecord) -> Result<(), NotSaved> {
        self.0.get_or_init(|| record);
        Ok(())
    }

    fn find(&self, _: &SessionId) -> Option<SessionRecord> {
        self.0.get().cloned()
    }

    fn take(&self, id: &SessionId) -> Option<SessionRecord> {
        self.find(id)
    }
}

/// Changes of a mode, by two bytes; zeros change nothing.
#[derive(Clone, Copy, Debug)]
pub struct Tweaks(pub [u8; 2]);

impl Tweaks {
    /// Whether a bit is set.
    pub const fn has(self, bit: usize) -> bool {
        self.0[bit / 8] >> (bit % 8) & 1 == 1
    }

    /// Returns the time of the connection, which lacks the wall clock if a bit says so.
    pub fn now(self) -> Now {
        Now::new(at(0).monotonic, at(0).unix.filter(|_| !self.has(8)))
    }

    /// Whether a key outside answers at once, rather than by a call of the fuzzer.
    pub const fn signs_at_once(self) -> bool {
        !self.has(9)
    }

    /// Whether TLS 1.2 is refused without the extended master secret.
    pub const fn requires_extended_master_secret(self) -> bool {
        !self.has(13)
    }

    /// Returns the configuration of the client of `mode`.
    pub fn client(self, mode: &Mode) -> ConfigBuilder<ClientConfig> {
        let mut config = mode.setup.client.clone();
        self.common(config.common_mut());
        config.max_fragment_length(self.has(6).then_some(MaxFragmentLength::from_bytes(512)).flatten());
        config.compatibility_mode(self.has(7));
        config.send_server_name(!self.has(11));
        if self.has(10) {
            let trust = config.config().trust().clone();
            config.trust(trust.accept_without_clock());
        }
        if let Some(resumption) = config.config().resumption().cloned() {
            config.resumption(resumption.offers_cached_objects(self.has(12)));
        }
        if let Some(identity) = config.config().identity().cloned() {
            let known_peers = copy(identity.store());
            config.identity(identity.known_peers(known_peers).accept_without_clock(self.has(8)));
        }
        config
    }

    /// Returns the configuration of the server of `mode`.
    pub fn server(self, mode: &Mode) -> ConfigBuilder<ServerConfig> {
        let mut config = mode.setup.server.clone();
        self.common(config.common_mut());
        if self.has(6) {
            config.hello_retry_cookie(true);
        }
        let asks = config.config().client_authentication().trust().is_some();
        config.certificate_authorities(self.has(7) && asks);
        if self.has(10) && config.config().resumption().is_none() {
            // The store is not shared: its content ends with the connection.
            let store = Arc::new(OneRecord::default());
            config.resumption(Some(ServerResumption::Stateful { store, lifetime_seconds: 60 }));
        }
        if let Some(identity) = config.config().identity().cloned() {
            let known_peers = copy(identity.store());
            config.identity(identity.known_peers(known_peers).accept_without_clock(self.has(9)));
        }
        if mode.name.starts_with(FIRST_CONTACT) {
            let identity = meets_first(config.config());
            config.identity(identity);
        }
        config
    }

    fn common(self, common: &mut Common) {
        if self.has(0) {
            common.set_record_size_limit(Some(64));
        }
        if self.has(1) {
            common.set_alpn_protocols(vec![b"mqtt".to_vec(), b"coap".to_vec()]);
        }
        if self.has(2) {
            common.set_max_handshake_message(0x200);
        }
        if self.has(3) {
            common.set_max_send_buffer(0x100);
        }
        if self.has(4) {
            common.edit_suites(|suites| suites.rotate_left(1));
        }
        if self.has(5) {
            common.edit_suites(|suites| suites.reverse());
        }
        if common.datagrams().is_some() {
            common.edit_datagrams(|datagrams| {
                datagrams.connection_id = self.has(14).then_some(3);
                if self.has(15) {
                    datagrams.max_datagram = 200;
                }
            });
        }
        common.set_require_extended_master_secret(self.requires_extended_master_secret());
    }
}

/// Returns what both sides keep after handshakes in several modes, as bytes: the client's cache, the server's, the
/// client's sessions, one of them, and a server's record.
pub fn saved() -> Vec<(String, [Vec<u8>; 5])> {
    let schemes = Schemes::COMPACT;
    let modes = TRANSPARENT
        .iter()
        .filter(|mode| ["mutual-", "raw-tls", "full-"].iter().any(|name| mode.name.starts_with(name)));
    let mut saved = Vec::new();
    for Mode { name, setup } in modes {
        let [client_cache, other_client_cache] = [0; 2].map(|_: u8| Arc::new(MemoryClientStore::new(4)));
        let [server_cache, other_server_cache] = [0; 2].map(|_: u8| Arc::new(MemoryServerStore::new(4)));
        let (sessions, session, record) =
            (Arc::new(MemoryClientSessions::new(4)), Arc::new(OneSession::default()), Arc::new(OneRecord::default()));
        let mut setup = setup.clone();
        setup.client.cache(Some(ClientCache::new(client_cache.clone(), schemes)));
        setup.server.cache(Some(ServerCache::new(server_cache.clone(), schemes)));
        let issuers = LearnedIssuers::new();
        let trust = setup.client.config().trust().clone();
        setup.client.trust(trust.with_issuers(&issuers));
        setup.server.resumption(Some(ServerResumption::Stateful { store: record.clone(), lifetime_seconds: 7200 }));
        let stores: [Arc<dyn ClientSessionStore>; 2] = [sessions.clone(), session.clone()];
        for (seed, store) in stores.into_iter().enumerate() {
            setup.client.resumption(Some(ClientResumption::new(store)));
            let mut pair = setup.pair(seed as u64);
            pair.handshake().expect("a handshake");
            pair.carry(Side::Server, b"confirmed").expect("data");
        }
        let issuers = &issuers;
        let encode = |client: &MemoryClientStore, server: &MemoryServerStore| {
            snapshot::encode(client, server, issuers).expect("less than 4 GiB")
        };
        saved.push((
            name.clone(),
            [
                encode(&client_cache, &other_server_cache),
                encode(&other_client_cache, &server_cache),
                sessions.to_bytes().to_vec(),
                session.0.get().cloned().unwrap_or_default(),
                record.0.get().map_or_else(Vec::new, |record| record.to_bytes().to_vec()),
            ],
        ));
    }
    saved
}
