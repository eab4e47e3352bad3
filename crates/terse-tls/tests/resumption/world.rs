//! A client and a server that resume. Each connection has another seed, and comes at a time of the test's choosing.

use alloc::sync::Arc;
use std::sync::Mutex;

use terse_testkit::fault::{Extension, edit_extensions};
use terse_testkit::forge::{HEADER_LEN, records};
use terse_testkit::pair::{Failed, Pair, Side, at};
use terse_testkit::setup::Setup;
use terse_tls::resume::{MemoryClientSessions, MemorySessionStore, ServerEarlyData, ServerResumption, TicketKeys};
use terse_tls::summary::{EarlyDataStatus, Mode};
use terse_tls::{ContentType, Event, ExtensionType, HandshakeType, ProtocolVersion, Trace, TraceEvent};

/// Fast, and every message has the same length in every run.
pub(crate) const CHAIN: &str = "ed25519x3";

/// How long tickets live, in seconds.
pub(crate) const LIFETIME: u32 = 7200;

/// How many bytes of early data a server accepts.
pub(crate) const EARLY_DATA: u32 = 1000;

/// Where the server keeps sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    InTickets,
    InStore,
}

impl Kept {
    pub(crate) const BOTH: [Self; 2] = [Self::InTickets, Self::InStore];
}

pub(crate) const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3];

/// Returns both versions, each with both ways of keeping sessions.
pub(crate) fn all() -> impl Iterator<Item = (ProtocolVersion, Kept)> {
    VERSIONS.into_iter().flat_map(|version| Kept::BOTH.map(|kept| (version, kept)))
}

pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) sessions: Arc<MemoryClientSessions>,
    connections: u64,
}

impl World {
    /// Makes a world with mutual authentication.
    pub(crate) fn new(kept: Kept) -> Self {
        let provider = &terse_aws_lc::EXTERNAL_RANDOMNESS;
        Self::from(Setup::mutual(provider, provider, CHAIN), kept)
    }

    /// Makes a world with mutual authentication in `version`.
    pub(crate) fn of(version: ProtocolVersion, kept: Kept) -> Self {
        Self::new(kept).only(version)
    }

    /// Has both sides speak `version` alone.
    pub(crate) fn only(mut self, version: ProtocolVersion) -> Self {
        self.setup = self.setup.only(version);
        self
    }

    /// TLS 1.3 alone, so that a changed hello leads nowhere else.
    pub(crate) fn from(setup: Setup, kept: Kept) -> Self {
        let mut world =
            Self { setup: setup.with_resumption(), sessions: Arc::new(MemoryClientSessions::new(4)), connections: 0 }
                .only(ProtocolVersion::TLS_1_3);
        world.setup.server.resumption(Some(world.server_resumption(kept, LIFETIME)));
        let sessions = world.sessions.clone();
        world.setup.client.edit_resumption(|resumption| resumption.store = sessions);
        world
    }

    /// Where a client sends early data, and a server takes it.
    pub(crate) fn with_early_data(kept: Kept) -> Self {
        let mut world = Self::new(kept);
        world.setup.server.early_data(Some(ServerEarlyData::new(EARLY_DATA)));
        world.setup.client.edit_resumption(|resumption| resumption.early_data = true);
        world
    }

    /// New keys or a new store: another server, or the same one after a restart.
    pub(crate) fn server_resumption(&self, kept: Kept, lifetime: u32) -> ServerResumption {
        match kept {
            Kept::InTickets => {
                let aead = self.setup.server.config().common().provider().tls13_suites[0].aead;
                ServerResumption::Stateless(Arc::new(TicketKeys::new(aead, lifetime, 64).expect("a valid lifetime")))
            }
            Kept::InStore => {
                ServerResumption::Stateful { store: Arc::new(MemorySessionStore::new(64)), lifetime_seconds: lifetime }
            }
        }
    }

    /// Returns a connection on which nothing was sent yet.
    pub(crate) fn pair(&mut self, seconds: u64) -> Pair {
        self.connections += 1;
        let (client, server) =
            (Arc::new(self.setup.client.build().unwrap()), Arc::new(self.setup.server.build().unwrap()));
        Pair::at(&client, &server, self.connections, at(seconds))
    }

    /// Makes a connection that must succeed.
    pub(crate) fn connect(&mut self, seconds: u64) -> Pair {
        let mut pair = self.pair(seconds);
        pair.handshake().unwrap_or_else(|failed| panic!("{failed:?}"));
        for side in Side::BOTH {
            assert_eq!(pair.carry(side, b"data").unwrap(), b"data");
        }
        pair
    }

    /// Returns the mode of a new connection, about which both sides must agree.
    pub(crate) fn mode(&mut self, seconds: u64) -> Mode {
        mode(&self.connect(seconds))
    }

    /// Puts the client's sessions back to those of some time ago.
    pub(crate) fn put_back(&mut self, sessions: &[u8]) {
        self.sessions = Arc::new(MemoryClientSessions::from_bytes(sessions, 4).expect("own encoding"));
        let sessions = self.sessions.clone();
        self.setup.client.edit_resumption(|resumption| resumption.store = sessions);
    }

    /// Makes a connection that must fail.
    pub(crate) fn refused(&mut self, seconds: u64) -> Failed {
        self.pair(seconds).run().expect_err("a connection that fails")
    }
}

pub(crate) fn mode(pair: &Pair) -> Mode {
    let [client, server] = [&pair.client, &pair.server].map(|side| side.summary().mode);
    assert_eq!(client, server);
    client
}

/// Returns the ClientHellos of a connection, each of which is in one record.
pub(crate) fn hellos(pair: &Pair) -> Vec<Vec<u8>> {
    let records = records(&pair.from_client).into_iter();
    records.filter(|record| record[0] == ContentType::HANDSHAKE.0).map(|record| record[HEADER_LEN..].to_vec()).collect()
}

pub(crate) fn extensions_of(mut hello: Vec<u8>) -> Vec<Extension> {
    let mut extensions = Vec::new();
    edit_extensions(&mut hello, |all| extensions = all.clone());
    extensions
}

/// Returns the extensions of the ClientHello that opened the connection.
pub(crate) fn hello_extensions(pair: &Pair) -> Vec<Extension> {
    extensions_of(hellos(pair).remove(0))
}

pub(crate) fn hello_has(pair: &Pair, kind: ExtensionType) -> bool {
    hello_extensions(pair).iter().any(|(found, _)| *found == kind)
}

/// Returns the ticket that the ClientHello shows first, if there is one.
pub(crate) fn shown_ticket(pair: &Pair) -> Option<Vec<u8>> {
    let extensions = hello_extensions(pair);
    let (_, body) = extensions.iter().find(|(kind, _)| *kind == ExtensionType::PRE_SHARED_KEY)?;
    Some(body[4..4 + usize::from(u16::from_be_bytes([body[2], body[3]]))].to_vec())
}

/// Returns the session id of the ClientHello, and the content of its session ticket extension of TLS 1.2, if there is one.
pub(crate) fn shown12(pair: &Pair) -> (Vec<u8>, Option<Vec<u8>>) {
    let hello = hellos(pair).remove(0);
    let session_id = hello[39..39 + usize::from(hello[38])].to_vec();
    let ticket = hello_extensions(pair).into_iter().find(|(kind, _)| *kind == ExtensionType::SESSION_TICKET);
    (session_id, ticket.map(|(_, ticket)| ticket))
}

/// Whether the ClientHello shows a session: as a key in TLS 1.3, under an id in TLS 1.2.
pub(crate) fn shows_session(pair: &Pair) -> bool {
    shown_ticket(pair).is_some() || !shown12(pair).0.is_empty()
}

/// Returns all events that wait.
pub(crate) fn events(pair: &mut Pair, side: Side) -> Vec<Event> {
    core::iter::from_fn(|| pair.side(side).0.poll_event()).collect()
}

/// Records all messages that one side sends, with their lengths.
#[derive(Debug, Default)]
pub(crate) struct Sent(Mutex<Vec<(HandshakeType, usize)>>);

impl Sent {
    pub(crate) fn of(&self, kind: HandshakeType) -> Vec<usize> {
        let sent = self.0.lock().expect("no test panicked with it");
        sent.iter().filter(|(other, _)| *other == kind).map(|(_, len)| *len).collect()
    }
}

impl Trace for Sent {
    fn event(&self, event: TraceEvent<'_>) {
        if let TraceEvent::Sent(kind, len) = event {
            self.0.lock().expect("no test panicked with it").push((kind, len));
        }
    }
}

/// What a side received.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) early: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

/// Hands `bytes` to `side`, whose application reads whatever comes.
pub(crate) fn deliver(pair: &mut Pair, side: Side, mut bytes: Vec<u8>) -> Result<Received, Failed> {
    let (now, stretch) = (pair.now, pair.stretch);
    let (connection, rng) = pair.side(side);
    let mut received = Received::default();
    for stretch in bytes.chunks_mut(stretch) {
        let mut rest = stretch;
        while !rest.is_empty() {
            let taken = connection.handle_input(now, rng, rest).map_err(|error| Failed { side, error })?;
            rest = &mut rest[taken..];
            let mut buffer = [0; 0x100];
            // `recv` first: it must not give early data away.
            let len = connection.recv(&mut buffer);
            received.data.extend_from_slice(&buffer[..len]);
            let len = connection.recv_early_data(&mut buffer);
            received.early.extend_from_slice(&buffer[..len]);
        }
    }
    Ok(received)
}

/// Carries bytes both ways until nobody has more to say. Returns what the server received.
pub(crate) fn run(pair: &mut Pair) -> Result<Received, Failed> {
    let mut all = Received::default();
    for _ in 0..64 {
        let (to_server, to_client) = (pair.transmit(Side::Client), pair.transmit(Side::Server));
        if to_server.is_empty() && to_client.is_empty() {
            return Ok(all);
        }
        let received = deliver(pair, Side::Server, to_server)?;
        all.early.extend(received.early);
        all.data.extend(received.data);
        deliver(pair, Side::Client, to_client)?;
    }
    panic!("the two do not stop talking");
}

/// Returns what both sides say about early data, on which they must agree.
pub(crate) fn early_data(pair: &Pair) -> EarlyDataStatus {
    let [client, server] = [&pair.client, &pair.server].map(|side| side.summary().early_data);
    assert_eq!(client, server);
    client
}
