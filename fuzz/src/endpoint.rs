//! The fuzz target `endpoint` runs a server for many clients, with datagrams on four paths, whose senders have
//! the keys of all connections.
//!
//! What must always hold: limits are kept; a path that was not validated receives at most three times the bytes
//! that came from it; a handle has no event after its end; a connection that waits has a timer.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use terse_testkit::pair::at;
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::{CryptoError, CryptoProvider};
use terse_tls::{
    AddressChange, ApiMisuse, ConfigBuilder, ConnectionHandle, ConnectionIdUsage, ContentType, Endpoint, EndpointEvent,
    EndpointLimits, Error, HandshakeType, Instant, Now, Path, ProtocolVersion, ServerConfig,
};

use crate::datagrams::{
    FRAGMENT_HEADER_LEN, Forge, Protection, RETURN_ROUTABILITY_CHECK, WITH_CID, records, server_hello, shape_of,
};
use crate::input::{Input, Operation, Shape};
use crate::machine::check_connection;
use crate::modes::{DATAGRAMS, Tweaks, choose};
use crate::provider::SIGNATURE;

/// Runs one input, an [`Input`] whose operations become datagrams: see [`crate::datagrams`].
pub fn run(data: &[u8]) {
    replay(&Input::parse(data));
}

/// Returns the server after `input`.
pub fn replay(input: &Input) -> Server {
    let (mode, tweaks) = (choose(&DATAGRAMS, input.mode), Tweaks(input.tweaks));
    let mut server = Server::new(tweaks.server(mode), tweaks, usize::from(input.mode) / DATAGRAMS.len());
    input.operations.iter().for_each(|operation| server.apply(operation));
    server.end();
    server
}

/// An endpoint under test.
pub struct Server {
    /// The number of connections that were complete.
    pub connected: usize,
    /// The application data that was received.
    pub received: Vec<Vec<u8>>,
    /// The early data that was received.
    pub early: Vec<Vec<u8>>,
    endpoint: Endpoint,
    provider: CryptoProvider,
    limits: EndpointLimits,
    max_datagram: usize,
    cid_len: usize,
    requires_extended_master_secret: bool,
    signs_at_once: bool,
    rng: SeededRng,
    now: Now,
    peers: [Peer; 4],
    /// The peer that sends.
    current: usize,
    handles: BTreeMap<ConnectionHandle, Progress>,
}

/// The peer on a path. The last two are behind one relay.
struct Peer {
    path: Path,
    forge: Forge,
    protection: Protection,
    /// The peer that got the ServerHello which `protection` is of.
    hello_went_to: usize,
    received: usize,
    sent: usize,
    /// Whether the address was validated: the peer receives what is sent to it.
    is_proven: bool,
    /// The body of a ClientHello so far, each fragment in its place: a cookie may be in two of them.
    hello: Vec<u8>,
    /// The challenges to be returned from this address (RFC 9853).
    challenges: Vec<Vec<u8>>,
    /// The connection IDs that were provided and not used yet.
    ids: VecDeque<Vec<u8>>,
    output: Vec<Vec<u8>>,
}

impl Peer {
    /// Records the fragments of a ClientHello in the body of a record. A cookie among them validates the address.
    fn hello_came(&mut self, mut body: &[u8]) {
        while let Some((header, rest)) = body.split_first_chunk::<FRAGMENT_HEADER_LEN>()
            && header[0] == HandshakeType::CLIENT_HELLO.0
        {
            let number = |at: usize| header[at..at + 3].iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
            let (start, len) = (number(6), number(9));
            let Some((fragment, after)) = rest.split_at_checked(len).filter(|_| start + len <= MAX_HELLO) else {
                return;
            };
            self.hello.resize(self.hello.len().max(start + len), 0);
            self.hello[start..start + len].copy_from_slice(fragment);
            // Later fragments may be of another message, and overwrite it.
            self.is_proven |= has_cookie(&self.hello);
            body = after;
        }
    }
}

/// Returns the path of a peer.
fn path_of(host: u8) -> Path {
    let header: &[u8] = if host == 3 { b"another" } else { b"" };
    Path::new((Ipv4Addr::new(192, 0, 2, host.min(2)), 5684).into(), header).expect("a short header")
}

/// The state of a connection, by its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Connected,
    Closed,
    Failed,
    /// The connection is gone.
    Over,
}

impl Server {
    /// Creates a server without connections. `how` chooses the policy for changes of address, unless a tweak allows
    /// them.
    pub fn new(config: ConfigBuilder<ServerConfig>, tweaks: Tweaks, how: usize) -> Self {
        let change = [AddressChange::Check, AddressChange::Limited, AddressChange::Refuse][how % 3];
        let mut rng = SeededRng::new(3);
        let (provider, settings) =
            (*config.config().common().provider(), config.config().common().datagrams().expect("for datagrams"));
        let limits = EndpointLimits::default()
            .max_connections(3)
            .max_half_open(2)
            .max_first_messages(2)
            .max_received(MAX_RECEIVED)
            .require_cookie(!tweaks.has(11))
            .address_change(if tweaks.has(12) { AddressChange::Follow } else { change });
        let peers = [0, 1, 2, 3].map(|host: u8| Peer {
            path: path_of(host),
            forge: Forge::default(),
            protection: Protection::of(&provider, None, Vec::new()),
            hello_went_to: host.into(),
            received: 0,
            sent: 0,
            is_proven: false,
            hello: Vec::new(),
            challenges: Vec::new(),
            ids: VecDeque::new(),
            output: Vec::new(),
        });
        Self {
            connected: 0,
            received: Vec::new(),
            early: Vec::new(),
            endpoint: Endpoint::new(Arc::new(config.build().expect("a configuration")), limits, &mut rng)
                .expect("an endpoint"),
            provider,
            limits,
            max_datagram: settings.max_datagram,
            cid_len: settings.connection_id.unwrap_or(0).into(),
            requires_extended_master_secret: tweaks.requires_extended_master_secret(),
            signs_at_once: tweaks.signs_at_once(),
            rng,
            now: tweaks.now(),
            peers,
            current: 0,
            handles: BTreeMap::new(),
        }
    }

    /// Applies `operation`.
    pub fn apply(&mut self, operation: &Operation) {
        if shape_of(operation.shape) == Some(Shape::Call) {
            self.call(operation.kind, &operation.body);
        } else {
            let Peer { forge, protection, .. } = &mut self.peers[self.current];
            for datagram in forge.datagrams(operation, protection) {
                self.receive(datagram);
            }
        }
    }

    /// Returns the protection of records to the current peer's connection.
    pub const fn protection(&self) -> &Protection {
        &self.peers[self.current].protection
    }

    /// Returns when the next timer of any connection expires.
    pub fn timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }

    /// Returns the forge of the current peer.
    pub const fn forge(&self) -> &Forge {
        &self.peers[self.current].forge
    }

    /// Takes the datagrams that were sent to the current peer.
    pub fn take_output(&mut self) -> Vec<Vec<u8>> {
        core::mem::take(&mut self.peers[self.current].output)
    }

    fn receive(&mut self, mut datagram: Vec<u8>) {
        let peer = &mut self.peers[self.current];
        peer.received += datagram.len();
        let records = records(&datagram, self.cid_len).0;
        records.iter().filter(|record| record.epoch == 0).for_each(|record| peer.hello_came(record.body));
        peer.is_proven |= has_cookie(&datagram);
        let mut authentic = records.iter().filter_map(|record| peer.protection.authentic(record)).peekable();
        // A peer that has keys received the ServerHello, which may have gone to the address before; but a complete
        // connection may be at an address that was not validated.
        let has_keys = authentic.peek().is_some() && self.endpoint.connections().1 > 0;
        peer.is_proven |= has_keys;
        peer.is_proven |= authentic.any(|(kind, content)| {
            let cookie = content.strip_prefix(&[PATH_RESPONSE]).filter(|_| kind == RETURN_ROUTABILITY_CHECK);
            cookie.is_some_and(|cookie| peer.challenges.iter().any(|challenge| challenge == cookie))
        });
        let (from, hello_went_to) = (peer.path.clone(), peer.hello_went_to);
        self.peers[hello_went_to].is_proven |= has_keys;
        self.endpoint.handle_datagram(self.now, &mut self.rng, from, &mut datagram);
        self.settle();
    }

    /// Makes a call that an application could make, lets time pass, or moves a peer to another address.
    fn call(&mut self, kind: u8, body: &[u8]) {
        let first = usize::from(body.first().copied().unwrap_or_default());
        let handle = self.handles.keys().copied().nth(first % self.handles.len().max(1));
        match (kind % 16, handle) {
            (0, Some(handle)) => {
                let connection = self.endpoint.connection(handle);
                if let Some(Err(error)) = connection.map(|connection| connection.send(body)) {
                    assert!(matches!(error, Error::ApiMisuse(_)), "{error:?}");
                }
            }
            (1, Some(handle)) => {
                if let Some(connection) = self.endpoint.connection(handle) {
                    connection.close();
                }
            }
            (2, Some(handle)) => self.remove(handle),
            (3, Some(handle)) => {
                self.endpoint.confirm_address(handle);
                self.prove(handle);
            }
            (4, Some(handle)) => self.sign(handle, if first == 0 { Err(CryptoError::SigningFailed) } else { Ok(body) }),
            (5, _) => self.pass(u64::from(kind) * 250),
            (6, _) => {
                if let Some(Instant(deadline)) = self.endpoint.poll_timeout() {
                    self.pass(deadline.saturating_sub(self.now.monotonic.0));
                }
                self.expire();
            }
            (7, _) => self.expire(),
            (8, _) => assert!(!format!("{:?} {:?}", self.endpoint, self.endpoint.counters().by_name()).is_empty()),
            (9 | 10, _) => self.current = first % self.peers.len(),
            (13, Some(handle)) => self.update_keys(handle, body.len() > 1),
            (14, Some(handle)) => self.connection_ids(handle, body.get(1).copied().unwrap_or_default()),
            (15, _) if body.is_empty() => self.use_next_id(),
            (15, _) => self.answer_challenge(body[0]),
            (11 | 12, _) => {
                let other = first % self.peers.len();
                if let Ok([here, there]) = self.peers.get_disjoint_mut([self.current, other]) {
                    core::mem::swap(&mut here.forge, &mut there.forge);
                    core::mem::swap(&mut here.protection, &mut there.protection);
                    core::mem::swap(&mut here.hello_went_to, &mut there.hello_went_to);
                    core::mem::swap(&mut here.ids, &mut there.ids);
                }
            }
            _ => {}
        }
        self.settle();
    }

    /// Ends the input; the application makes no more calls.
    fn end(&mut self) {
        for _ in 0..MAX_EXPIRIES {
            self.call(6, &[]);
        }
        assert_eq!(self.endpoint.poll_timeout(), None, "a flight is sent again for ever");
        for handle in self.handles.keys().copied().collect::<Vec<_>>() {
            self.remove(handle);
        }
        let complete = self.endpoint.connections();
        assert_eq!(complete.0, complete.1, "a connection that nobody was told of");
    }

    fn update_keys(&mut self, handle: ConnectionHandle, request_peer: bool) {
        let Some(connection) = self.endpoint.connection(handle) else { return };
        match connection.update_keys(request_peer) {
            Ok(()) => assert_eq!(connection.summary().version, Some(ProtocolVersion::TLS_1_3)),
            Err(Error::ApiMisuse(ApiMisuse::KeyUpdateUnderWay)) => {
                // A change of keys may wait until an address that is being checked may be sent to.
                assert!(self.endpoint.poll_timeout().is_some(), "a change of keys waits for ever");
            }
            Err(error) => assert!(matches!(error, Error::ApiMisuse(_)), "{error:?}"),
        }
    }

    /// Requests or provides connection IDs, or uses another one.
    fn connection_ids(&mut self, handle: ConnectionHandle, what: u8) {
        let Some(connection) = self.endpoint.connection(handle) else { return };
        let (count, was_connected) = (what >> 2, connection.is_connected());
        let result = match what & 3 {
            0 => connection.request_connection_ids(count),
            1 => self.endpoint.issue_connection_ids(handle, count, ConnectionIdUsage::CidSpare, &mut self.rng),
            2 => self.endpoint.issue_connection_ids(handle, count, ConnectionIdUsage::CidImmediate, &mut self.rng),
            _ => {
                connection.path_changed();
                return;
            }
        };
        match result {
            Ok(()) => assert!(was_connected),
            Err(error) => assert!(matches!(error, Error::ApiMisuse(_)), "{error:?}"),
        }
    }

    /// Lets the current peer use the next connection ID that was provided to it.
    fn use_next_id(&mut self) {
        let peer = &mut self.peers[self.current];
        if let Some(id) = peer.ids.pop_front() {
            peer.protection.cid = id;
        }
    }

    /// Lets the current peer answer the newest challenge that it received.
    fn answer_challenge(&mut self, how: u8) {
        let Some(cookie) = self.peers[self.current].challenges.last() else { return };
        let with_cid = if self.cid_len > 0 { WITH_CID } else { 0 };
        let (shape, body) = (Shape::Sealed as u8 | with_cid, [&[how], &cookie[..]].concat());
        self.apply(&Operation { shape, kind: RETURN_ROUTABILITY_CHECK.0, body });
    }

    fn remove(&mut self, handle: ConnectionHandle) {
        self.endpoint.remove(handle);
        self.handles.insert(handle, Progress::Over);
        assert!(self.endpoint.connection(handle).is_none() && self.endpoint.path(handle).is_none());
    }

    fn prove(&mut self, handle: ConnectionHandle) {
        let path = self.endpoint.path(handle);
        self.peers.iter_mut().filter(|peer| Some(&peer.path) == path).for_each(|peer| peer.is_proven = true);
    }

    fn sign(&mut self, handle: ConnectionHandle, signature: Result<&[u8], CryptoError>) {
        let Some(connection) = self.endpoint.connection(handle) else { return };
        if connection.signature_request().is_some() {
            let result = connection.provide_signature(self.now, &mut self.rng, signature);
            assert!(!matches!(result, Err(Error::ApiMisuse(_))), "{result:?}");
        }
    }

    fn pass(&mut self, milliseconds: u64) {
        let Instant(now) = self.now.monotonic;
        let time = now.saturating_add(milliseconds);
        let unix = at((time / 1000).min(3_600)).unix; // never so far that what a mode begins with is over
        self.now = Now::new(Instant(time), self.now.unix.and(unix));
    }

    fn expire(&mut self) {
        self.endpoint.handle_timeout(self.now);
        self.transmit();
        let next = self.endpoint.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now.monotonic), "what has expired is still due");
    }

    fn settle(&mut self) {
        self.transmit();
        self.report();
        self.transmit();
        let (all, half_open) = self.endpoint.connections();
        assert!(all <= self.limits.max_connections && half_open <= self.limits.max_half_open);
        for (handle, progress) in &self.handles {
            if let (Some(connection), Progress::Connected) = (self.endpoint.connection(*handle), progress) {
                check_connection(connection, self.requires_extended_master_secret);
            }
        }
        self.transmit();
    }

    fn transmit(&mut self) {
        let (mut out, mut count) = (vec![0; self.max_datagram], 0);
        while let Some((to, len)) = self.endpoint.poll_transmit(self.now, &mut out) {
            let datagram = &out[..len];
            let index = self.peers.iter().position(|peer| to == peer.path).expect("a path on which something came");
            let peer = &mut self.peers[index];
            peer.sent += len;
            count += 1;
            assert!(len > 0 && count < MAX_DATAGRAMS, "more waits to be sent than was promised");
            let allowed = 3 * peer.received;
            assert!(peer.is_proven || peer.sent <= allowed, "{} bytes to {to} for {}", peer.sent, peer.received);
            if let Some((suite, cid)) = server_hello(datagram) {
                peer.protection = Protection::of(&self.provider, Some(suite), cid);
                peer.hello_went_to = index;
                peer.ids.clear();
            }
            for record in records(datagram, self.cid_len).0 {
                match peer.protection.authentic(&record) {
                    Some((RETURN_ROUTABILITY_CHECK, [PATH_CHALLENGE, cookie @ ..])) => {
                        peer.challenges.push(cookie.to_vec());
                    }
                    Some((ContentType::HANDSHAKE, content)) => peer.ids.extend(new_connection_ids(content)),
                    _ => {}
                }
            }
            peer.output.push(datagram.to_vec());
        }
    }

    fn report(&mut self) {
        let mut waits = 0;
        while let Some((handle, event)) = self.endpoint.poll_event() {
            let before = self.handles.get(&handle).copied();
            let is_over = before == Some(Progress::Failed) && event != EndpointEvent::Replaced;
            assert!(!is_over && before != Some(Progress::Over), "{event:?} after the end");
            let progress = match event {
                EndpointEvent::Connected => {
                    assert_eq!(before, None, "connected twice");
                    self.connected += 1;
                    Some(Progress::Connected)
                }
                EndpointEvent::Data(data) => {
                    waits += data.len();
                    assert!(before.is_some() && !data.is_empty() && waits <= MAX_RECEIVED);
                    self.received.push(data);
                    before
                }
                EndpointEvent::EarlyData(data) => {
                    waits += data.len();
                    assert!(before.is_none() && !data.is_empty() && waits <= MAX_RECEIVED);
                    self.early.push(data);
                    before
                }
                EndpointEvent::PeerClosed => {
                    assert_eq!(before, Some(Progress::Connected), "closed twice");
                    Some(Progress::Closed)
                }
                EndpointEvent::AddressChanged { from, to } => {
                    assert!(from != to && before.is_some());
                    if self.limits.address_change == AddressChange::Follow {
                        self.prove(handle);
                    }
                    before
                }
                EndpointEvent::NeedSignature => {
                    if self.signs_at_once {
                        self.sign(handle, Ok(SIGNATURE));
                    }
                    before
                }
                EndpointEvent::Failed(error) => {
                    assert!(!matches!(error, Error::ApiMisuse(_)), "{error:?}");
                    Some(Progress::Failed)
                }
                EndpointEvent::Replaced => Some(Progress::Over),
                event => panic!("an unknown event: {event:?}"),
            };
            if let Some(progress) = progress {
                self.handles.insert(handle, progress);
            }
        }
    }
}

fn has_cookie(bytes: &[u8]) -> bool {
    bytes.windows(COOKIE.len()).any(|window| window == COOKIE)
}

/// Returns the connection IDs in a NewConnectionId, if a record begins with one (RFC 9147, 9).
fn new_connection_ids(content: &[u8]) -> Vec<Vec<u8>> {
    let is_one = content.first() == Some(&HandshakeType::NEW_CONNECTION_ID.0);
    let list = content.get(FRAGMENT_HEADER_LEN + 2..).filter(|_| is_one).unwrap_or_default();
    let (mut ids, mut rest) = (Vec::new(), list);
    while let Some((len, next)) = rest.split_first()
        && let Some((id, next)) = next.split_at_checked((*len).into())
        && !id.is_empty()
    {
        ids.push(id.to_vec());
        rest = next;
    }
    ids
}

/// The cookie of every client, by the transparent provider.
const COOKIE: [u8; 8] = [0x5c; 8];

/// The length of the longest ClientHello that is reassembled.
const MAX_HELLO: usize = 4_096;

/// The first byte of a `return_routability_check` (RFC 9853, 4).
const PATH_CHALLENGE: u8 = 0;
const PATH_RESPONSE: u8 = 1;

/// The limit is small, so that the fuzzer reaches it.
const MAX_RECEIVED: usize = 0x200;

/// The most datagrams: the longest flights of all connections, in the smallest datagrams.
const MAX_DATAGRAMS: usize = 1_000;

/// The most expiries: more than the retransmissions of all flights.
const MAX_EXPIRIES: usize = 100;
