//! The acceptor gives every connection once, reports what failed, and ends as it is told.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, ErrorKind};
use std::sync::Mutex;

use terse_net::tokio::{Acceptor, AcceptorEvent, Listener, Observer};
use terse_pki::LeafOptions;
use terse_tls::{Credential, Trust};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::world::{NAME, World, authority, connect, listener, name, soon, validity};

/// Returns an observer, and what it was told, as lines.
fn observer() -> (Observer, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = lines.clone();
    (Arc::new(move |event: &AcceptorEvent<'_>| kept.lock().unwrap().push(event.to_string())), lines)
}

/// Waits until `condition` holds.
pub async fn until(mut condition: impl FnMut() -> bool) {
    soon(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_call_that_is_dropped_loses_no_connection() {
    const CLIENTS: u8 = 20;
    let world = World::new();
    let (mut acceptor, address) = world.acceptor().await;
    for number in 0..CLIENTS {
        let connector = world.connector();
        tokio::spawn(async move {
            let mut client = connector.connect(name(), TcpStream::connect(address).await.unwrap()).await.unwrap();
            client.write_all(&[number]).await.unwrap();
            client.flush().await.unwrap();
            client.read_to_end(&mut Vec::new()).await.unwrap_err(); // the server is dropped in the end
        });
    }
    let (mut seen, mut dropped) = ([false; CLIENTS as usize], 0);
    soon(async {
        while seen.contains(&false) {
            // Each call is given up as soon as it waits.
            tokio::select! {
                biased;
                accepted = acceptor.accept() => {
                    let (mut stream, peer) = accepted.unwrap();
                    assert_eq!(peer.ip(), address.ip());
                    let number = stream.read_u8().await.unwrap();
                    assert!(!core::mem::replace(&mut seen[usize::from(number)], true), "each comes once");
                }
                () = tokio::task::yield_now() => dropped += 1,
            }
        }
    })
    .await;
    assert!(dropped > 0);
    assert_eq!(acceptor.handle().counters().completed, CLIENTS.into());
}

#[tokio::test]
async fn failures_are_reported_and_end_nothing() {
    let world = World::new();
    let (observer, lines) = observer();
    let mut acceptor = Acceptor::builder(world.server_config(), world.clock)
        .with_observer(observer)
        .with_handshake_limit(Duration::from_secs(3)) // which is enough for all but the silent one, also on a busy machine
        .start(listener().await);
    let (address, handle) = (acceptor.local_addr().unwrap(), acceptor.handle());
    // One sends garbage, more than one read takes, and still gets the alert. One leaves. One is silent.
    let mut garbage = TcpStream::connect(address).await.unwrap();
    garbage.write_all(&[b'x'; 50_000]).await.unwrap();
    let mut alert = Vec::new();
    soon(garbage.read_to_end(&mut alert)).await.unwrap();
    assert_eq!(alert, [21, 3, 3, 0, 2, 2, 10]);
    let garbage_from = garbage.local_addr().unwrap();
    drop(garbage);
    drop(TcpStream::connect(address).await.unwrap());
    let silent = TcpStream::connect(address).await.unwrap();
    until(|| handle.counters().failed == 2 && handle.counters().timed_out == 1 && handle.counters().under_way == 0)
        .await;
    let told = lines.lock().unwrap().join("\n");
    assert!(told.contains(&format!("{garbage_from}: ")), "{told}");
    let expected = format!("{}: the peer did not finish the handshake in time", silent.local_addr().unwrap());
    assert!(told.contains(&expected) && told.contains("closed the connection during the handshake"), "{told}");
    let (client, _) = connect(&world.connector(), &mut acceptor, address).await;
    assert!(client.is_ok());
    let counters = handle.counters();
    assert_eq!((counters.accepted, counters.completed, counters.evicted), (4, 1, 0));
}

#[tokio::test]
async fn a_configuration_is_replaced_while_it_runs() {
    let mut world = World::new();
    let (mut acceptor, address) = world.acceptor().await;
    let old = world.connector();
    assert!(connect(&old, &mut acceptor, address).await.0.is_ok());
    // The certificate is renewed by another CA.
    let authority = authority("Other CA");
    let issued = authority.issue(&LeafOptions::new(NAME, validity())).unwrap();
    let key = terse_aws_lc::PROVIDER.load_key(issued.key()).unwrap();
    world.server.credentials(vec![Credential::new(issued.chain().to_vec(), key).unwrap()]);
    acceptor.handle().replace_config(world.server_config());
    world.client.trust(Trust::new(&[authority.root().clone()]).unwrap());
    assert!(connect(&world.connector(), &mut acceptor, address).await.0.is_ok());
    let refused = soon(old.connect(name(), TcpStream::connect(address).await.unwrap())).await;
    assert!(refused.is_err());
}

/// Connections that the application does not take fill the table, and others wait outside.
#[tokio::test]
async fn connections_that_are_not_taken_are_bounded() {
    let world = World::new();
    let mut acceptor = Acceptor::builder(world.server_config(), world.clock).with_capacity(3).start(listener().await);
    let (address, handle) = (acceptor.local_addr().unwrap(), acceptor.handle());
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let connector = world.connector();
            tokio::spawn(async move { connector.connect(name(), TcpStream::connect(address).await.unwrap()).await })
        })
        .collect();
    until(|| handle.counters().waiting >= 2).await;
    for _ in 0..50 {
        let counters = handle.counters();
        assert!(counters.waiting + counters.under_way <= 3, "{counters:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut accepted = Vec::new();
    let mut served = 0;
    for client in clients {
        let taken = async {
            while !client.is_finished() {
                tokio::select! {
                    stream = acceptor.accept() => accepted.push(stream.unwrap()),
                    () = tokio::time::sleep(Duration::from_millis(1)) => {}
                }
            }
        };
        soon(taken).await;
        served += usize::from(client.await.unwrap().is_ok());
    }
    // With a table of three, clients that come at once may push each other out.
    assert!(served >= 3 && served + handle.counters().evicted as usize >= 8, "{served}, {:?}", handle.counters());
}

/// The table is full of connections by the time at which another client comes: it waits at the listener.
#[tokio::test]
async fn a_client_is_not_evicted_by_connections_that_are_not_taken() {
    let world = World::new();
    let mut acceptor = Acceptor::builder(world.server_config(), world.clock).with_capacity(1).start(listener().await);
    let (address, handle) = (acceptor.local_addr().unwrap(), acceptor.handle());
    let first = soon(world.connector().connect(name(), TcpStream::connect(address).await.unwrap())).await;
    until(|| handle.counters().waiting == 1).await;
    let transport = TcpStream::connect(address).await.unwrap();
    let connector = world.connector();
    let second = tokio::spawn(async move { connector.connect(name(), transport).await });
    tokio::time::sleep(Duration::from_millis(50)).await; // in which it would have been evicted
    let counters = handle.counters();
    assert_eq!((counters.accepted, counters.evicted, second.is_finished()), (1, 0, false), "{counters:?}");
    drop(soon(acceptor.accept()).await.unwrap());
    soon(second).await.unwrap().unwrap();
    drop((first, soon(acceptor.accept()).await.unwrap()));
    assert_eq!(handle.counters().evicted, 0);
}

#[tokio::test]
async fn the_longest_limit_is_no_limit() {
    let world = World::new();
    let builder = Acceptor::builder(world.server_config(), world.clock).with_handshake_limit(Duration::MAX);
    let mut acceptor = builder.start(listener().await);
    let transport = TcpStream::connect(acceptor.local_addr().unwrap()).await.unwrap();
    let connector = world.connector();
    let (client, _) = tokio::join!(soon(connector.connect(name(), transport)), soon(acceptor.accept()));
    client.unwrap();
}

#[tokio::test]
async fn a_stop_lets_handshakes_end() {
    let world = World::new();
    let (mut acceptor, address) = world.acceptor().await;
    let handle = acceptor.handle();
    // One connection is not taken yet, and one handshake is under way.
    let first = soon(world.connector().connect(name(), TcpStream::connect(address).await.unwrap())).await.unwrap();
    let transport = TcpStream::connect(address).await.unwrap();
    until(|| handle.counters().waiting == 1 && handle.counters().under_way == 1).await;
    handle.stop();
    until(|| std::net::TcpStream::connect(address).is_err()).await;
    let second = soon(world.connector().connect(name(), transport)).await.unwrap();
    for client in [&first, &second] {
        let (_, peer) = soon(acceptor.accept()).await.unwrap();
        assert_eq!(peer, client.transport().local_addr().unwrap());
    }
    assert!(soon(acceptor.accept()).await.is_none());
    assert!(soon(acceptor.accept()).await.is_none(), "and so it stays");
    handle.stop();
}

#[tokio::test]
async fn an_acceptor_that_is_dropped_ends_its_handshakes() {
    let world = World::new();
    let (acceptor, address) = world.acceptor().await;
    let handle = acceptor.handle();
    let mut silent = TcpStream::connect(address).await.unwrap();
    let mut complete =
        soon(world.connector().connect(name(), TcpStream::connect(address).await.unwrap())).await.unwrap();
    until(|| handle.counters().under_way == 1 && handle.counters().waiting == 1).await;
    drop(acceptor);
    let mut received = Vec::new();
    soon(silent.read_to_end(&mut received)).await.unwrap();
    assert_eq!(soon(complete.read(&mut [0; 8])).await.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    until(|| std::net::TcpStream::connect(address).is_err()).await;
    assert_eq!(handle.counters().evicted, 0);
    until(|| handle.counters().under_way == 0 && handle.counters().waiting == 0).await;
}

/// A listener in memory, which fails as it is told.
struct Scripted {
    errors: VecDeque<io::Error>,
    transports: mpsc::UnboundedReceiver<(DuplexStream, SocketAddr)>,
    polls: Arc<AtomicUsize>,
}

impl Listener for Scripted {
    type Transport = DuplexStream;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(DuplexStream, SocketAddr)>> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        if let Some(error) = self.errors.pop_front() {
            return Poll::Ready(Err(error));
        }
        self.transports.poll_recv(cx).map(|transport| Ok(transport.expect("the test keeps the sender")))
    }
}

/// Time is virtual here: it passes when every task waits.
#[tokio::test(start_paused = true)]
async fn a_listener_that_fails_is_tried_again_after_a_pause() {
    const EMFILE: i32 = 24;
    let world = World::new();
    let (observer, lines) = observer();
    let (send, transports) = mpsc::unbounded_channel();
    let polls = Arc::new(AtomicUsize::new(0));
    let used_up = (0..20).map(|_| io::Error::from_raw_os_error(EMFILE));
    let errors = core::iter::once(ErrorKind::ConnectionAborted.into()).chain(used_up).collect();
    let scripted = Scripted { errors, transports, polls: polls.clone() };
    let mut acceptor = Acceptor::builder(world.server_config(), world.clock).with_observer(observer).start(scripted);
    let (begun, (client, server)) = (tokio::time::Instant::now(), tokio::io::duplex(10_000));
    send.send((server, "192.0.2.1:7".parse().unwrap())).unwrap();
    let client = world.connector().with_handshake_limit(Duration::from_secs(3600)).connect(name(), client);
    let (client, server) = tokio::join!(client, acceptor.accept());
    client.unwrap();
    assert_eq!(server.unwrap().1.to_string(), "192.0.2.1:7");
    // 5, 10, 20, ... 640 ms, and then a second each time.
    let pauses = Duration::from_millis((0..8).map(|doubled| 5 << doubled).sum()) + Duration::from_secs(12);
    let passed = begun.elapsed();
    assert!(passed >= pauses && passed < pauses * 2, "{passed:?}");
    assert_eq!(acceptor.handle().counters().listener_errors, 21);
    assert!(polls.load(Ordering::Relaxed) < 30, "it does not spin");
    assert_eq!(lines.lock().unwrap().len(), 21);
    // A stop ends a pause.
    acceptor.handle().stop();
    assert!(acceptor.accept().await.is_none());
}
