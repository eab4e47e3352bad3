//! Private keys and stores that answer later are awaited, and nobody else waits for them.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Poll;

use terse_net::pki_types::SubjectPublicKeyInfoDer;
use terse_net::tokio::{Acceptor, AsyncSigner, AsyncStore};
use terse_net::{NetError, OsRng};
use terse_tls::cache::{
    AddressId, ClientCache, Commit, MemoryClientStore, MemoryServerStore, NotSaved, Row, Scheme, Schemes, ServerCache,
    ServerStore, StoreAnswer, StoreRequest, Ticket,
};
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::summary::Mode;
use terse_tls::{AlertDescription, Error, ProtocolVersion, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::world::{World, connect, listener, name, soon};

/// A key elsewhere.
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

/// Returns a world whose keys are elsewhere, and the key itself.
fn with_keys_outside() -> (World, Arc<dyn SigningKey>) {
    let mut inside = None;
    let world = World::with_keys(|key| {
        inside = Some(key.clone());
        Arc::new(Outside(key))
    });
    (world, inside.unwrap())
}

/// Returns a signer that answers once `ready` says so, and counts the requests.
fn signer(key: &Arc<dyn SigningKey>, ready: &Arc<Notify>, requests: &Arc<AtomicUsize>) -> AsyncSigner {
    let (key, ready, requests) = (key.clone(), ready.clone(), requests.clone());
    Arc::new(move |request| {
        let (key, ready, requests) = (key.clone(), ready.clone(), requests.clone());
        Box::pin(async move {
            requests.fetch_add(1, Ordering::Relaxed);
            ready.notified().await;
            Ok(key.sign(request.scheme(), request.message(), &mut OsRng)?.done().expect("it is in memory"))
        })
    })
}

#[tokio::test]
async fn signatures_of_both_sides_are_awaited() {
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let (mut world, key) = with_keys_outside();
        world.client.versions(vec![version]);
        let (ready, requests) = (Arc::new(Notify::new()), Arc::default());
        let signer = signer(&key, &ready, &requests);
        let mut acceptor =
            Acceptor::builder(world.server_config(), world.clock).with_signer(signer.clone()).start(listener().await);
        let address = acceptor.local_addr().unwrap();
        let connector = world.connector().with_signer(signer);
        let unblock = async {
            for signature in 1..=2 {
                while requests.load(Ordering::Relaxed) < signature {
                    tokio::task::yield_now().await;
                }
                ready.notify_one();
            }
        };
        let ((client, mut server), ()) =
            soon(async { tokio::join!(connect(&connector, &mut acceptor, address), unblock) }).await;
        client.unwrap().write_all(b"hello").await.unwrap();
        let mut received = [0; 5];
        soon(server.read_exact(&mut received)).await.unwrap();
        assert_eq!((&received, requests.load(Ordering::Relaxed)), (b"hello", 2), "{version}");
    }
}

/// While the signature of one handshake is awaited, on the only thread, another handshake is made.
#[tokio::test]
async fn a_late_signature_holds_up_nobody_else() {
    let (mut world, key) = with_keys_outside();
    world.client.credentials(vec![]);
    world.server.client_authentication(terse_tls::ClientAuthentication::None);
    let never = Arc::new(Notify::new());
    let first = Arc::new(AtomicUsize::new(0));
    let (asked, keys) = (first.clone(), key.clone());
    let signer: AsyncSigner = Arc::new(move |request| {
        let (number, key, never) = (asked.fetch_add(1, Ordering::Relaxed), keys.clone(), never.clone());
        Box::pin(async move {
            if number == 0 {
                never.notified().await;
            }
            Ok(key.sign(request.scheme(), request.message(), &mut OsRng)?.done().expect("it is in memory"))
        })
    });
    let mut acceptor =
        Acceptor::builder(world.server_config(), world.clock).with_signer(signer).start(listener().await);
    let address = acceptor.local_addr().unwrap();
    let (connector, other) = (world.connector(), world.connector());
    let waits = tokio::spawn(async move { other.connect(name(), TcpStream::connect(address).await.unwrap()).await });
    soon(async {
        while first.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (client, _) = connect(&connector, &mut acceptor, address).await;
    assert!(client.unwrap().connection().is_connected());
    assert_eq!(acceptor.handle().counters().under_way, 1);
    waits.abort();
}

#[tokio::test]
async fn a_key_that_nobody_asks_is_an_error_of_both_sides() {
    let (world, _) = with_keys_outside();
    let (a, b) = tokio::io::duplex(10_000);
    let server = terse_net::tokio::Handshake::new(world.server_connection(), b, world.clock);
    let (client, server) = soon(async { tokio::join!(world.connector().connect(name(), a), server) }).await;
    let (client, server) = (client.unwrap_err(), server.unwrap_err());
    assert!(matches!(server, NetError::Tls(Error::Crypto(CryptoError::SigningFailed))), "{server}");
    assert!(matches!(client, NetError::Tls(Error::AlertReceived(AlertDescription::INTERNAL_ERROR))), "{client}");
}

/// A store that never answers at once.
struct Elsewhere;

impl ServerStore for Elsewhere {
    fn find(&self, _: &Ticket) -> Poll<Option<Row>> {
        Poll::Pending
    }

    fn commit(&self, _: &Commit) -> Poll<Result<(), NotSaved>> {
        Poll::Pending
    }

    fn spend(&self, _: &Ticket, _: AddressId) -> Result<bool, NotSaved> {
        Ok(false)
    }

    fn remove(&self, _: &Ticket) -> Result<(), NotSaved> {
        Ok(())
    }
}

#[tokio::test]
async fn stores_are_awaited_and_without_one_the_handshake_is_full() {
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        for is_asked in [true, false] {
            let mut world = World::new();
            world.client.versions(vec![version]);
            world.client.cache(ClientCache::new(Arc::new(MemoryClientStore::new(8)), Schemes::COMPACT));
            world.server.cache(ServerCache::new(Arc::new(Elsewhere), Schemes::COMPACT));
            let rows = Arc::new(MemoryServerStore::new(8));
            let finds = Arc::new(AtomicUsize::new(0));
            let counted = finds.clone();
            let store: AsyncStore = Arc::new(move |request| {
                let (rows, counted) = (rows.clone(), counted.clone());
                Box::pin(async move {
                    tokio::time::sleep(core::time::Duration::from_millis(5)).await;
                    match request {
                        StoreRequest::Find(ticket) => {
                            counted.fetch_add(1, Ordering::Relaxed);
                            StoreAnswer::Found(rows.find(&ticket))
                        }
                        StoreRequest::Commit(commit) => StoreAnswer::Committed(rows.commit(commit)),
                    }
                })
            });
            let mut builder = Acceptor::builder(world.server_config(), world.clock);
            if is_asked {
                builder = builder.with_store(store);
            }
            let mut acceptor = builder.start(listener().await);
            let (address, connector) = (acceptor.local_addr().unwrap(), world.connector());
            for number in 0..3 {
                let (client, mut server) = connect(&connector, &mut acceptor, address).await;
                let mut client = client.unwrap();
                server.write_all(b"ok").await.unwrap(); // which confirms the ticket
                soon(client.read_exact(&mut [0; 2])).await.unwrap();
                let expected = if is_asked && number > 0 { Mode::Cached(Scheme::Compact) } else { Mode::Full };
                assert_eq!(client.connection().summary().mode, expected, "{version}, {is_asked}, {number}");
            }
            assert_eq!(finds.load(Ordering::Relaxed), if is_asked { 2 } else { 0 });
        }
    }
}
