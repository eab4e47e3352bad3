//! Signers and stores that answer later: who waits for one stops nobody else.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::task::Poll;
use core::time::Duration;
use std::net::UdpSocket;
use std::thread;

use terse_net::pki_types::SubjectPublicKeyInfoDer;
use terse_net::tokio::{AsyncSigner, AsyncStore, Plain};
use terse_net::{Clock, DatagramEvent, NetError, OsRng};
use terse_tls::cache::{
    AddressId, ClientCache, Commit, MemoryClientStore, MemoryServerStore, NotSaved, Row, Schemes, ServerCache,
    ServerStore, StoreAnswer, StoreRequest, Ticket,
};
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::{
    ClientConfig, ConfigBuilder, Connection, Datagrams, EndpointLimits, Error, ProtocolVersion, ServerAddress,
    ServerConfig, SignatureScheme,
};

use super::super::world::{
    NAME, Patience, Relay, SAFETY_LIMIT, client, client_on, configs, configs_with, datagrams, patient, socket,
};
use super::world::{AsyncServer, exchange};

/// A key that is elsewhere.
struct Outside(Arc<dyn SigningKey>);

impl SigningKey for Outside {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Ok(Signing::Pending)
    }
}

/// Returns configurations of a client, whose key is in memory, and of a server, whose key is elsewhere, and that key.
pub(super) fn outside(
    datagrams: Datagrams,
) -> (ConfigBuilder<ClientConfig>, ConfigBuilder<ServerConfig>, Arc<dyn SigningKey>) {
    let mut key = None;
    let (mut client, server) = configs_with("Plant CA", datagrams, |inside| {
        key = Some(inside.clone());
        Arc::new(Outside(inside))
    });
    let key = key.unwrap();
    let credentials = client.config().credentials().to_vec();
    let inside = credentials
        .iter()
        .map(|credential| terse_tls::Credential::new(credential.chain().to_vec(), key.clone()).unwrap());
    client.credentials(inside.collect::<Vec<_>>());
    (client, server, key)
}

/// Waits until `is_set`, in a task.
async fn wait_for(is_set: Arc<AtomicBool>) {
    while !is_set.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A signer that answers the first request once it may, and all others after a moment.
#[derive(Clone, Default)]
struct Slow {
    may: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    answered: Arc<AtomicUsize>,
}

impl Slow {
    fn signer(&self, key: Arc<dyn SigningKey>) -> AsyncSigner {
        let slow = self.clone();
        Arc::new(move |request| {
            let number = slow.asked.fetch_add(1, Ordering::Relaxed);
            let (key, may, answered) = (key.clone(), slow.may.clone(), slow.answered.clone());
            Box::pin(async move {
                match number {
                    0 => wait_for(may).await,
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
                answered.fetch_add(1, Ordering::Relaxed);
                Ok(key.sign(request.scheme(), request.message(), &mut OsRng)?.done().expect("it is in memory"))
            })
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }

    fn release(&self) {
        self.may.store(true, Ordering::Relaxed);
    }
}

#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    let patience = Patience::new();
    while !is_so() {
        patience.check("it is not so");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Begins a handshake on `socket`, until the server `has_asked` for a signature, and says nothing more.
fn begin(config: &ConfigBuilder<ClientConfig>, socket: &UdpSocket, has_asked: impl Fn() -> bool) {
    let clock = Clock::new();
    let name = ServerAddress::new(NAME.try_into().unwrap(), 4433);
    let config = Arc::new(config.build().unwrap());
    let mut connection = Connection::client(config, name, clock.now(), &mut OsRng).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let mut buffer = [0; 2_000];
    let patience = Patience::new();
    while !has_asked() {
        patience.check("nobody was asked for a signature");
        connection.handle_timeout(clock.now()).unwrap();
        while let Some(len) = connection.poll_transmit(clock.now(), &mut buffer) {
            socket.send(&buffer[..len]).unwrap();
        }
        if let Ok(len) = socket.recv(&mut buffer) {
            connection.handle_input(clock.now(), &mut OsRng, &mut buffer[..len]).unwrap();
        }
    }
}

/// While one connection waits for its signature, others connect, and what they lose is sent again.
#[test]
fn a_slow_signature_stops_nobody_else() {
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let (mut config, server, key) = outside(datagrams());
        config.versions(vec![version]);
        let slow_key = Slow::default();
        let signer = slow_key.signer(key);
        let server = AsyncServer::start_with(server, Plain, |server| server.with_signer(signer));
        let relay = Relay::start(server.address, |_, number, datagram| match number % 4 {
            1 => vec![],
            _ => vec![datagram],
        });
        thread::scope(|scope| {
            let slow = scope.spawn(|| {
                let mut client = client(&config, server.address);
                client.handshake().unwrap();
                exchange(&mut client);
            });
            wait_until(|| slow_key.asked() == 1);
            for address in [server.address, relay.address] {
                let mut client = client(&config, address);
                client.handshake().unwrap();
                exchange(&mut client);
                let connected = server.event();
                assert_eq!(connected.event, DatagramEvent::Connected);
                assert_eq!(connected.connections.2, 1, "the slow one still waits");
                if address == relay.address {
                    let server = connected.summary.unwrap();
                    assert!(client.connection().summary().retransmissions + server.retransmissions > 0);
                }
            }
            assert!(!slow.is_finished());
            slow_key.release();
            slow.join().unwrap();
            assert_eq!(server.event().event, DatagramEvent::Connected);
        });
    }
}

#[test]
fn without_a_signer_the_handshake_fails() {
    let (config, server, _) = outside(datagrams());
    let server = AsyncServer::start(server, Plain);
    let error = client(&config, server.address).handshake().unwrap_err();
    let failed = server.event();
    assert_eq!(failed.event, DatagramEvent::Failed(Error::Crypto(CryptoError::SigningFailed)));
    assert_eq!(failed.connections, (1, 1, 0));
    assert!(matches!(error, NetError::NoAnswer(no_answer) if no_answer.alert.is_some()));
}

/// A signer that refuses or panics costs its own connection.
#[test]
fn a_signer_that_fails_fails_one_connection() {
    let (config, server, key) = outside(patient());
    let asked = Arc::new(AtomicUsize::new(0));
    let requests = asked.clone();
    let signer: AsyncSigner = Arc::new(move |request| {
        let (number, key) = (requests.fetch_add(1, Ordering::Relaxed), key.clone());
        Box::pin(async move {
            match number {
                0 => Err(CryptoError::SigningFailed),
                1 => panic!("as this test has it"),
                _ => Ok(key.sign(request.scheme(), request.message(), &mut OsRng)?.done().expect("it is in memory")),
            }
        })
    });
    let server = AsyncServer::start_with(server, Plain, |server| server.with_signer(signer));
    for number in 1..=2 {
        let socket = socket();
        socket.connect(server.address).unwrap();
        begin(&config, &socket, || asked.load(Ordering::Relaxed) == number);
        assert_eq!(server.event().event, DatagramEvent::Failed(Error::Crypto(CryptoError::SigningFailed)));
    }
    client(&config, server.address).handshake().unwrap();
    assert_eq!(server.event().event, DatagramEvent::Connected);
}

/// A client begins anew while its first handshake still waits for a signature: the answer that then comes is for nobody.
#[test]
fn an_answer_for_a_connection_that_is_gone_is_dropped() {
    let (config, server, key) = outside(patient());
    let slow = Slow::default();
    let signer = slow.signer(key);
    let server = AsyncServer::start_with(server, Plain, |server| server.with_signer(signer));
    let socket = socket();
    socket.connect(server.address).unwrap();
    begin(&config, &socket, || slow.asked() == 1);
    let mut again = client_on(&config, socket);
    again.handshake().unwrap();
    exchange(&mut again);
    let connected = server.event();
    assert_eq!((connected.event, connected.connections), (DatagramEvent::Connected, (1, 0, 1)));
    slow.release();
    wait_until(|| slow.answered() == 2);
    exchange(&mut again); // the answer is taken before what comes later
    let (_, sockets) = server.end();
    assert_eq!(sockets.late_answers, 1);
}

/// As many wait as may be half open; those who make room for others wait no longer.
#[test]
fn the_number_of_those_who_wait_is_bounded() {
    let (config, server, _) = outside(patient());
    let asked = Arc::new(AtomicUsize::new(0));
    let running = Arc::new(());
    let (requests, counted) = (asked.clone(), running.clone());
    let signer: AsyncSigner = Arc::new(move |_| {
        requests.fetch_add(1, Ordering::Relaxed);
        let running = counted.clone();
        Box::pin(async move {
            core::future::pending::<()>().await;
            drop(running);
            Err(CryptoError::SigningFailed)
        })
    });
    let limits = EndpointLimits::default().max_half_open(2);
    let server = AsyncServer::start_within(server, limits, Plain, |server| server.with_signer(signer));
    for number in 1..=6 {
        let socket = socket();
        socket.connect(server.address).unwrap();
        begin(&config, &socket, || asked.load(Ordering::Relaxed) == number);
    }
    // This test and the signer have one each, and each task.
    wait_until(|| Arc::strong_count(&running) <= 2 + 2);
    let (counters, _) = server.end();
    assert_eq!(counters.half_open_dropped, 4);
    wait_until(|| Arc::strong_count(&running) == 1); // with the endpoint all of it ends
}

/// A store on the other side of a network.
struct Elsewhere(Arc<MemoryServerStore>);

impl ServerStore for Elsewhere {
    fn find(&self, _: &Ticket) -> Poll<Option<Row>> {
        Poll::Pending
    }

    fn commit(&self, _: &Commit) -> Poll<Result<(), NotSaved>> {
        Poll::Pending
    }

    fn spend(&self, ticket: &Ticket, address: AddressId) -> Result<bool, NotSaved> {
        self.0.spend(ticket, address)
    }

    fn remove(&self, ticket: &Ticket) -> Result<(), NotSaved> {
        self.0.remove(ticket)
    }
}

/// Returns configurations with caching, and the rows of the store that is elsewhere.
fn cached() -> (ConfigBuilder<ClientConfig>, ConfigBuilder<ServerConfig>, Arc<MemoryServerStore>) {
    let (mut config, mut server) = configs(datagrams());
    let schemes = Schemes::COMPACT;
    let rows = Arc::new(MemoryServerStore::new(8));
    config.cache(Some(ClientCache::new(Arc::new(MemoryClientStore::new(4)), schemes)));
    server.cache(Some(ServerCache::new(Arc::new(Elsewhere(rows.clone())), schemes)));
    (config, server, rows)
}

fn connect(config: &ConfigBuilder<ClientConfig>, server: &AsyncServer) -> bool {
    let mut client = client(config, server.address);
    client.handshake().unwrap();
    exchange(&mut client);
    assert_eq!(server.event().event, DatagramEvent::Connected);
    !client.connection().summary().cached.is_empty()
}

#[test]
fn a_store_that_answers_later_is_awaited() {
    let (config, server, rows) = cached();
    let asked = Arc::new(AtomicUsize::new(0));
    let requests = asked.clone();
    let store: AsyncStore = Arc::new(move |request| {
        requests.fetch_add(1, Ordering::Relaxed);
        let rows = rows.clone();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            match request {
                StoreRequest::Find(ticket) => StoreAnswer::Found(rows.find(&ticket)),
                StoreRequest::Commit(commit) => StoreAnswer::Committed(rows.commit(commit)),
            }
        })
    });
    let server = AsyncServer::start_with(server, Plain, |server| server.with_store(store));
    assert!(!connect(&config, &server));
    assert!(connect(&config, &server), "what was committed is found");
    assert!(asked.load(Ordering::Relaxed) >= 3, "one commit each, and a search");
}

/// Nobody is waited for then, and nothing that comes meanwhile is lost.
#[test]
fn without_a_store_nothing_is_cached() {
    let (config, server, _) = cached();
    let server = AsyncServer::start(server, Plain);
    for _ in 0..2 {
        let mut client = client(&config, server.address);
        client.set_limit(SAFETY_LIMIT);
        client.handshake().unwrap();
        client.send(b"hello").unwrap();
        assert_eq!(client.receive(&mut [0; 8]).unwrap(), 5);
        assert_eq!(server.event().event, DatagramEvent::Connected);
        assert!(client.connection().summary().cached.is_empty());
    }
}
