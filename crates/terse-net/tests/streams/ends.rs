//! How connections end: properly, by a cut, by an error, by a time limit, and by an application that does not wait.

use alloc::sync::Arc;
use core::time::Duration;
use std::io::ErrorKind;

use terse_net::tokio::Handshake;
use terse_net::{Clock, NetError, OsRng};
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::summary::Mode;
use terse_tls::{AlertDescription, ApiMisuse, CertificateError, Connection, Error, ProtocolVersion, Trust};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::world::{World, authority, name, soon};

/// Returns the [`NetError`] inside of an error of reading or writing.
fn inner(error: &std::io::Error) -> &NetError {
    error.get_ref().and_then(|inner| inner.downcast_ref()).expect("a stream's error")
}

#[tokio::test]
async fn after_a_shutdown_the_peer_may_go_on() {
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let mut world = World::new();
        world.client.versions(vec![version]);
        let (client, server) = world.pair(100).await;
        for (mut first, mut second) in [(client, server), {
            let (client, server) = world.pair(100).await;
            (server, client)
        }] {
            soon(async {
                first.shutdown().await.unwrap();
                assert_eq!(second.read(&mut [0; 8]).await.unwrap(), 0);
                assert!(second.peer_closed() && !first.peer_closed());
                let more = async {
                    second.write_all(&[7; 1_000]).await.unwrap();
                    second.shutdown().await.unwrap();
                };
                let mut received = Vec::new();
                let (read, ()) = tokio::join!(first.read_to_end(&mut received), more);
                assert_eq!((read.unwrap(), received), (1_000, vec![7; 1_000]));
                let refused = first.write(b"more").await.unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::BrokenPipe);
                assert!(matches!(inner(&refused), NetError::Tls(Error::ApiMisuse(ApiMisuse::Closed))));
                first.shutdown().await.unwrap(); // again
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_transport_that_ends_early_is_never_a_proper_end() {
    let (mut client, mut server) = World::new().pair(10_000).await;
    server.write_all(b"said before").await.unwrap();
    server.flush().await.unwrap();
    drop(server);
    let mut received = [0; 11];
    client.read_exact(&mut received).await.unwrap();
    assert_eq!(&received, b"said before");
    for _ in 0..3 {
        let error = client.read(&mut received).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(matches!(inner(&error), NetError::Tls(Error::Truncated)));
    }
}

/// What arrived whole is read, and then comes the error, also when a record is cut in the middle.
#[tokio::test]
async fn a_record_that_is_cut_is_an_error() {
    let world = World::new();
    let (a, mut b) = tokio::io::duplex(10_000);
    let (mut c, d) = tokio::io::duplex(10_000);
    // What the server sends is counted, and cut within its last record.
    let server = Handshake::new(world.server_connection(), d, world.clock);
    let connector = world.connector();
    let client = connector.connect(name(), a);
    let relay = async {
        let (mut to_client, mut to_server) = ([0; 5_000], [0; 5_000]);
        let mut last = 0;
        loop {
            tokio::select! {
                len = b.read(&mut to_server) => c.write_all(&to_server[..len.unwrap()]).await.unwrap(),
                len = c.read(&mut to_client) => {
                    let len = len.unwrap();
                    if len == 0 { return drop(b); }
                    last += 1;
                    let keep = if last > 1 && len < 60 { len - 1 } else { len };
                    b.write_all(&to_client[..keep]).await.unwrap();
                }
            }
        }
    };
    let converse = async {
        let (client, server) = tokio::join!(client, server);
        let (mut client, mut server) = (client.unwrap(), server.unwrap());
        server.write_all(b"whole").await.unwrap_or_default();
        server.flush().await.unwrap();
        drop(server);
        client.read(&mut [0; 8]).await.unwrap_err()
    };
    let (error, ()) = soon(async { tokio::join!(converse, relay) }).await;
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn a_peer_that_leaves_during_the_handshake() {
    let world = World::new();
    let (a, mut b) = tokio::io::duplex(10_000);
    let leaves = async move { drop(b.read(&mut [0; 100]).await) };
    let (result, ()) = soon(async { tokio::join!(world.connector().connect(name(), a), leaves) }).await;
    assert!(matches!(result, Err(NetError::ClosedInHandshake)));
}

/// Both sides have the error: the one that found it sends its alert before it returns.
#[tokio::test]
async fn a_certificate_that_is_refused() {
    let mut world = World::new();
    world.client.trust(Trust::new(&[authority("Other CA").root().clone()]).unwrap());
    for buffer in [5, 10_000] {
        let (a, b) = tokio::io::duplex(buffer);
        let server = Handshake::new(world.server_connection(), b, world.clock);
        let (client, server) = soon(async { tokio::join!(world.connector().connect(name(), a), server) }).await;
        assert!(
            matches!(client, Err(NetError::Tls(Error::Certificate(CertificateError::UnknownIssuer)))),
            "{client:?}"
        );
        let told = server.unwrap_err();
        assert!(matches!(told, NetError::Tls(Error::AlertReceived(AlertDescription::UNKNOWN_CA))), "{told}");
    }
}

/// A client of TLS 1.3 is done before the server has seen its certificate, and learns of the refusal when it reads.
#[tokio::test]
async fn an_alert_after_the_handshake_comes_with_the_next_read() {
    let mut world = World::new();
    world.client.credentials(vec![]);
    let (a, b) = tokio::io::duplex(10_000);
    let server = Handshake::new(world.server_connection(), b, world.clock);
    let (client, server) = soon(async { tokio::join!(world.connector().connect(name(), a), server) }).await;
    assert!(matches!(server, Err(NetError::Tls(Error::Certificate(CertificateError::Required)))));
    let mut client = client.unwrap();
    let error = soon(client.read(&mut [0; 8])).await.unwrap_err();
    let required = AlertDescription::CERTIFICATE_REQUIRED;
    assert!(matches!(inner(&error), NetError::Tls(Error::AlertReceived(alert)) if *alert == required), "{error}");
}

/// A write that fails because the peer hung up finds the alert that says why.
#[tokio::test]
async fn a_write_to_a_peer_that_hung_up_finds_its_alert() {
    let mut world = World::new();
    world.client.credentials(vec![]);
    let (mut acceptor, address) = world.acceptor().await;
    let transport = tokio::net::TcpStream::connect(address).await.unwrap();
    let mut client = soon(world.connector().connect(name(), transport)).await.unwrap();
    let handle = acceptor.handle();
    soon(async {
        while handle.counters().failed == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(acceptor.accept()); // nothing is there to accept
    drop(acceptor);
    let error = soon(async {
        loop {
            if let Err(error) = client.write_all(b"hello").await {
                break error;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let required = AlertDescription::CERTIFICATE_REQUIRED;
    assert!(matches!(inner(&error), NetError::Tls(Error::AlertReceived(alert)) if *alert == required), "{error}");
}

/// A peer may answer and hang up while this side still writes: the answer is not lost.
#[tokio::test]
async fn an_answer_outlives_a_write_that_fails() {
    let (mut client, mut server) = World::new().pair(5_000).await;
    server.write_all(b"too large").await.unwrap();
    server.shutdown().await.unwrap();
    drop(server);
    let error = soon(async {
        loop {
            if let Err(error) = client.write_all(&[1; 1_000]).await {
                break error;
            }
        }
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    let mut answer = Vec::new();
    soon(client.read_to_end(&mut answer)).await.unwrap();
    assert_eq!(answer, b"too large");
}

/// Garbage from the peer ends the connection, with an alert, and stays an error.
#[tokio::test]
async fn garbage_is_answered_with_an_alert() {
    let world = World::new();
    let (a, b) = tokio::io::duplex(10_000);
    let connection = world.server_connection();
    let handshake = Handshake::new(connection, b, world.clock);
    let mut peer = a;
    peer.write_all(&[b'x'; 500]).await.unwrap();
    let error = soon(handshake).await.unwrap_err();
    assert!(matches!(error, NetError::Tls(Error::InvalidMessage(_))), "{error}");
    let mut received = Vec::new();
    peer.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, [21, 3, 3, 0, 2, 2, AlertDescription::UNEXPECTED_MESSAGE.0]);

    let (mut client, mut server) = world.pair(10_000).await;
    let transport: &mut DuplexStream = client.transport_mut();
    transport.write_all(&[23, 3, 3, 0, 30]).await.unwrap();
    transport.write_all(&[0; 30]).await.unwrap();
    for _ in 0..2 {
        let error = soon(server.read(&mut [0; 8])).await.unwrap_err();
        assert!(matches!(inner(&error), NetError::Tls(_)), "{error}");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
    let told = soon(client.read(&mut [0; 8])).await.unwrap_err();
    assert!(matches!(inner(&told), NetError::Tls(Error::AlertReceived(AlertDescription::BAD_RECORD_MAC))), "{told}");
}

/// Returns a world with caches, whose client has cached the server, and the client's store.
async fn with_cache() -> (World, Arc<MemoryClientStore>) {
    let mut world = World::new();
    let store = Arc::new(MemoryClientStore::new(8));
    world.client.cache(ClientCache::new(store.clone(), Schemes::COMPACT));
    world.server.cache(ServerCache::new(Arc::new(MemoryServerStore::new(8)), Schemes::COMPACT));
    for _ in 0..2 {
        let (mut client, mut server) = world.pair(10_000).await;
        server.write_all(b"ok").await.unwrap();
        client.read_exact(&mut [0; 2]).await.unwrap();
    }
    assert_eq!(health(&store), "working");
    (world, store)
}

fn health(store: &MemoryClientStore) -> &'static str {
    store.records()[0].1.health()
}

/// Reads a ClientHello, and never answers. The transport is kept.
async fn silent() -> (DuplexStream, DuplexStream) {
    tokio::io::duplex(10_000)
}

/// Two connections with an offer that the application has given up, and the client alternates (docs/caching.md, 4.2).
#[tokio::test]
async fn a_connection_that_is_dropped_in_its_handshake_is_one_that_got_no_answer() {
    let (world, store) = with_cache().await;
    let connector = world.connector();
    for expected in ["working", "alternating"] {
        let (transport, mut peer) = silent().await;
        {
            let mut hello = [0; 2_000];
            let mut connect = core::pin::pin!(connector.connect(name(), transport));
            tokio::select! {
                biased;
                _ = &mut connect => panic!("nobody answers"),
                len = peer.read(&mut hello) => assert!(len.unwrap() > 0, "the ClientHello has left"),
            }
        }
        assert_eq!(health(&store), expected);
        let mut alert = Vec::new();
        soon(peer.read_to_end(&mut alert)).await.unwrap();
        assert_eq!(alert[..7], [21, 3, 3, 0, 2, 1, AlertDescription::USER_CANCELED.0], "and the peer is told");
    }
    // A future that was never polled has offered nothing.
    let (transport, _peer) = silent().await;
    drop(connector.connect(name(), transport));
    assert_eq!(health(&store), "alternating");
    let (client, _server) = world.pair(10_000).await;
    assert_eq!(client.connection().summary().mode, Mode::Full);
}

#[tokio::test]
async fn a_connection_that_takes_too_long_is_one_that_got_no_answer() {
    let (world, store) = with_cache().await;
    let connector = world.connector().with_handshake_limit(Duration::from_millis(20));
    for expected in ["working", "alternating"] {
        let (transport, _peer) = silent().await;
        let result = soon(connector.connect(name(), transport)).await;
        assert!(matches!(result, Err(NetError::TimedOut { in_handshake: true })));
        assert_eq!(health(&store), expected);
    }
}

/// A handshake that is dropped after it was complete, or after it failed by itself, is not given up.
#[tokio::test]
async fn a_connection_that_is_dropped_later_is_not_given_up() {
    let (world, store) = with_cache().await;
    for _ in 0..3 {
        drop(world.pair(10_000).await);
        assert_eq!(health(&store), "working");
    }
}

/// The time limit is one of the handshake as a whole: bytes that come now and then do not prolong it.
#[tokio::test(start_paused = true)]
async fn a_peer_that_dribbles_meets_the_limit() {
    let world = World::new();
    let (a, mut peer) = tokio::io::duplex(10_000);
    let connection =
        Connection::client(Arc::new(world.client.build().unwrap()), name(), world.clock.now(), &mut OsRng).unwrap();
    let handshake = tokio::time::timeout(Duration::from_secs(5), Handshake::new(connection, a, Clock::new()));
    let dribble = async {
        peer.write_all(&[22, 3, 3, 0x40, 0, 2]).await.unwrap();
        for sent in 0.. {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if peer.write_all(&[0]).await.is_err() {
                return sent;
            }
        }
        unreachable!("a transport ends")
    };
    let (result, sent) = tokio::join!(handshake, dribble);
    assert!(result.is_err());
    assert!(sent <= 6, "{sent}");
}
