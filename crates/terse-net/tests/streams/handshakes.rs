//! The connector and the acceptor in every version and mode, with each other and with rustls.

use alloc::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{RootCertStore, server::WebPkiClientVerifier};
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Scheme, Schemes, ServerCache};
use terse_tls::resume::{ClientResumption, MemoryClientSessions, ServerEarlyData, ServerResumption, TicketKeys};
use terse_tls::summary::{EarlyDataStatus, Mode};
use terse_tls::{ClientAuthentication, ProtocolVersion};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::world::{NAME, World, chain, connect, listener, name, soon};

/// Says a word each way and closes, first the client and then the server.
async fn converse(
    client: &mut (impl AsyncRead + AsyncWrite + Unpin),
    server: &mut (impl AsyncRead + AsyncWrite + Unpin),
) {
    let client = async {
        client.write_all(b"hello").await.unwrap();
        client.flush().await.unwrap();
        let mut answer = [0; 7];
        client.read_exact(&mut answer).await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(client.read_to_end(&mut Vec::new()).await.unwrap(), 0);
        answer
    };
    let server = async {
        let mut word = [0; 5];
        server.read_exact(&mut word).await.unwrap();
        server.write_all(b"goodbye").await.unwrap();
        server.flush().await.unwrap();
        assert_eq!(server.read_to_end(&mut Vec::new()).await.unwrap(), 0);
        server.shutdown().await.unwrap();
        word
    };
    let (answer, word) = soon(async { tokio::join!(client, server) }).await;
    assert_eq!((&word, &answer), (b"hello", b"goodbye"));
}

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3];

/// Lets both sides of a world resume by tickets.
fn with_resumption(world: &mut World) {
    let keys = TicketKeys::new(terse_aws_lc::PROVIDER.tls13_suites[0].aead, 3600, 8).unwrap();
    world.server.resumption(Some(ServerResumption::Stateless(Arc::new(keys))));
    world.client.resumption(Some(ClientResumption::new(Arc::new(MemoryClientSessions::new(8)))));
}

/// Makes connections one after the other. Returns what each could leave out.
async fn modes(world: &World, connections: usize) -> Vec<(Mode, Mode)> {
    let (mut acceptor, address) = world.acceptor().await;
    let connector = world.connector();
    let mut modes = Vec::new();
    for _ in 0..connections {
        let (client, mut server) = connect(&connector, &mut acceptor, address).await;
        let mut client = client.unwrap();
        converse(&mut client, &mut server).await;
        modes.push((client.connection().summary().mode, server.connection().summary().mode));
    }
    let counters = acceptor.handle().counters();
    assert_eq!((counters.completed, counters.failed, counters.waiting), (connections as u64, 0, 0));
    modes
}

#[tokio::test]
async fn full_and_resumed_and_cached() {
    for version in VERSIONS {
        let mut world = World::new();
        world.client.versions(vec![version]);
        assert_eq!(modes(&world, 2).await, [(Mode::Full, Mode::Full); 2], "{version}");
        with_resumption(&mut world);
        let resumed = (Mode::Resumed, Mode::Resumed);
        assert_eq!(modes(&world, 3).await, [(Mode::Full, Mode::Full), resumed, resumed], "{version}");

        let mut world = World::new();
        world.client.versions(vec![version]);
        world.client.cache(ClientCache::new(Arc::new(MemoryClientStore::new(8)), Schemes::COMPACT));
        world.server.cache(ServerCache::new(Arc::new(MemoryServerStore::new(8)), Schemes::COMPACT));
        let cached = (Mode::Cached(Scheme::Compact), Mode::Cached(Scheme::Compact));
        assert_eq!(modes(&world, 3).await, [(Mode::Full, Mode::Full), cached, cached], "{version}");
    }
}

#[tokio::test]
async fn early_data_arrives_apart() {
    let mut world = World::new();
    with_resumption(&mut world);
    let resumption = ClientResumption::new(Arc::new(MemoryClientSessions::new(8))).early_data(true);
    world.client.resumption(Some(resumption));
    world.server.early_data(Some(ServerEarlyData::new(10_000)));
    world.server.client_authentication(ClientAuthentication::None);
    let (mut acceptor, address) = world.acceptor().await;
    let connector = world.connector();
    for (expected, status) in [(0, EarlyDataStatus::None), (4_000, EarlyDataStatus::Accepted)] {
        let early = [b'e'; 4_000];
        let client = async {
            let transport = TcpStream::connect(address).await.unwrap();
            connector.connect_with_early_data(name(), transport, &early).await.unwrap()
        };
        let (client, server) = soon(async { tokio::join!(client, acceptor.accept()) }).await;
        let ((mut client, sent), (mut server, _)) = (client, server.unwrap());
        assert_eq!(sent, expected);
        assert_eq!(client.connection().summary().early_data, status);
        assert_eq!(server.take_early_data(), early[..expected]);
        assert!(server.take_early_data().is_empty(), "it is taken once");
        converse(&mut client, &mut server).await;
    }
}

/// Both sides have more to send than their transport holds: each reads while it writes.
#[tokio::test]
async fn early_data_and_a_long_flight_meet_in_a_tiny_transport() {
    let mut world = World::new();
    with_resumption(&mut world);
    let resumption = ClientResumption::new(Arc::new(MemoryClientSessions::new(8))).early_data(true);
    world.client.resumption(Some(resumption));
    world.server.early_data(Some(ServerEarlyData::new(10_000)));
    world.server.client_authentication(ClientAuthentication::None);
    let (connector, config) = (world.connector(), world.server_config());
    for expected in [0, 9_000] {
        let (a, b) = tokio::io::duplex(16);
        let connection = terse_tls::Connection::server(config.clone(), world.clock.now()).unwrap();
        let server = terse_net::tokio::Handshake::new(connection, b, world.clock);
        let client = connector.connect_with_early_data(name(), a, &[b'e'; 9_000]);
        let (client, server) = soon(async { tokio::join!(client, server) }).await;
        let ((mut client, sent), mut server) = (client.unwrap(), server.unwrap());
        assert_eq!((sent, server.take_early_data().len()), (expected, expected));
        converse(&mut client, &mut server).await;
    }
}

fn roots(world: &World) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(world.authority.root().clone()).unwrap();
    Arc::new(roots)
}

fn rustls_server(world: &World) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(roots(world), provider.clone()).build().unwrap();
    let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_client_cert_verifier(clients);
    let config = builder.with_single_cert(chain(&world.issued), world.issued.key().clone_key()).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn rustls_client(world: &World) -> TlsConnector {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots(world));
    let config = builder.with_client_auth_cert(chain(&world.issued), world.issued.key().clone_key()).unwrap();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn with_a_server_of_rustls() {
    for version in VERSIONS {
        let mut world = World::new();
        world.client.versions(vec![version]);
        world.client.resumption(Some(ClientResumption::new(Arc::new(MemoryClientSessions::new(8)))));
        let (connector, acceptor, listener) = (world.connector(), rustls_server(&world), listener().await);
        let address = listener.local_addr().unwrap();
        for expected in [Mode::Full, Mode::Resumed] {
            let server = async { acceptor.accept(listener.accept().await.unwrap().0).await.unwrap() };
            let client = async { connector.connect(name(), TcpStream::connect(address).await.unwrap()).await.unwrap() };
            let (mut client, mut server) = soon(async { tokio::join!(client, server) }).await;
            converse(&mut client, &mut server).await;
            assert_eq!(
                (client.connection().summary().version, client.connection().summary().mode),
                (Some(version), expected)
            );
        }
    }
}

#[tokio::test]
async fn with_a_client_of_rustls() {
    for version in VERSIONS {
        let mut world = World::new();
        world.server.versions(vec![version]);
        with_resumption(&mut world);
        let (mut acceptor, address) = world.acceptor().await;
        let connector = rustls_client(&world);
        for expected in [Mode::Full, Mode::Resumed] {
            let name = ServerName::try_from(NAME).unwrap();
            let client = async { connector.connect(name, TcpStream::connect(address).await.unwrap()).await.unwrap() };
            let (mut client, server) = soon(async { tokio::join!(client, acceptor.accept()) }).await;
            let (mut server, _) = server.unwrap();
            converse(&mut client, &mut server).await;
            assert_eq!(
                (server.connection().summary().version, server.connection().summary().mode),
                (Some(version), expected)
            );
        }
    }
}
