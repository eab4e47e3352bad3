//! A thousand handshakes that lead nowhere stand beside honest clients, which are served.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use terse_net::tokio::{Acceptor, AcceptorCounters};
use terse_tls::Connection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::acceptor::until;
use super::world::{World, listener, name, soon};

const ATTACKERS: usize = 1_000;

/// Raises the number of open files to what a thousand connections within one process take.
fn raise_limit() -> bool {
    const FILES: u64 = 2 * ATTACKERS as u64 + 200;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < FILES) {
        let raised = Rlimit { current: Some(FILES), maximum: limit.maximum };
        if setrlimit(Resource::Nofile, raised).is_err() {
            let required = std::env::var_os("TERSE_REQUIRE_ALL").is_some_and(|value| value == "1");
            assert!(!required, "{FILES} files have to be open");
            println!("skipped: {FILES} files may not be open");
            return false;
        }
    }
    true
}

/// A connection that leads nowhere: it sends nothing, or half of a ClientHello, or that byte by byte, for ever. It ends when the
/// server closes it.
async fn attack(number: usize, from: Ipv4Addr, address: SocketAddr, hello: Vec<u8>) {
    let Ok(mut transport) = open(from, address).await else { return };
    let half = &hello[..hello.len() / 2];
    match number % 3 {
        0 => {}
        1 => drop(transport.write_all(half).await),
        _ => {
            for byte in half {
                if transport.write_all(&[*byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }
    let _ = transport.read_to_end(&mut Vec::new()).await; // until the server closes it
}

fn client_hello(world: &World) -> Vec<u8> {
    let config = world.client.build().unwrap().into();
    let mut client = Connection::client(config, name(), world.clock.now(), &mut terse_net::OsRng).unwrap();
    let mut hello = vec![0; 10_000];
    let len = client.poll_transmit(world.clock.now(), &mut hello).unwrap();
    hello.truncate(len);
    hello
}

/// Connects from an address of the machine's own network.
async fn open(from: Ipv4Addr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from.into(), 0))?;
    socket.connect(to).await
}

/// Starts an acceptor with room for `capacity`, attacks it from the addresses that `attackers_from` gives, and lets honest
/// clients in: some from the address of an attacker, some from another one.
async fn serve_honest_clients(capacity: usize, attackers_from: fn(usize) -> Ipv4Addr) -> Option<AcceptorCounters> {
    if !raise_limit() {
        return None;
    }
    let world = World::new();
    let mut acceptor = Acceptor::builder(world.server_config(), world.clock)
        .with_capacity(capacity)
        .with_handshake_limit(Duration::from_secs(3600)) // time does not help here
        .start(listener().await);
    let (address, handle) = (acceptor.local_addr().unwrap(), acceptor.handle());
    let hello = client_hello(&world);
    let mut attackers = JoinSet::new();
    for number in 0..ATTACKERS {
        attackers.spawn(attack(number, attackers_from(number), address, hello.clone()));
        // No more at once than the queue of any listener holds: the kernel forgets the others.
        if number % 50 == 49 {
            until(|| handle.counters().accepted > number as u64).await;
        }
    }
    assert!(handle.counters().under_way <= capacity);
    // Meanwhile more attackers come, one after the other.
    let (hello, reinforced) = (hello, handle.clone());
    let reinforcements = tokio::spawn(async move {
        let mut attackers = JoinSet::new();
        for number in 0..ATTACKERS / 10 {
            attackers.spawn(attack(number, attackers_from(number), address, hello.clone()));
            let before = reinforced.counters().accepted;
            until(|| reinforced.counters().accepted > before).await;
        }
        attackers
    });
    let connector = world.connector();
    let elsewhere = Ipv4Addr::new(127, 0, 0, 2);
    for from in [elsewhere, attackers_from(0), elsewhere, attackers_from(0)] {
        let client = async { connector.connect(name(), open(from, address).await.unwrap()).await };
        let (client, server) = soon(async { tokio::join!(client, acceptor.accept()) }).await;
        let (mut client, (mut server, peer)) = (client.unwrap(), server.unwrap());
        assert_eq!(peer.ip(), from);
        client.write_all(b"hello").await.unwrap();
        client.flush().await.unwrap();
        let mut received = [0; 5];
        soon(server.read_exact(&mut received)).await.unwrap();
        assert_eq!(&received, b"hello");
    }
    drop(soon(reinforcements).await.unwrap());
    let counters = handle.counters();
    assert!(counters.under_way <= capacity && counters.completed == 4, "{counters:?}");
    Some(counters)
}

fn one_address(_: usize) -> Ipv4Addr {
    Ipv4Addr::LOCALHOST
}

fn an_address_each(number: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(127, 1, 0, 1).to_bits() + number as u32)
}

#[tokio::test]
async fn beside_a_thousand_half_open_handshakes() {
    let Some(counters) = serve_honest_clients(2 * ATTACKERS, one_address).await else { return };
    assert!(counters.under_way >= ATTACKERS && counters.evicted == 0, "{counters:?}");
}

#[tokio::test]
async fn with_less_room_than_attackers_take() {
    let Some(counters) = serve_honest_clients(100, one_address).await else { return };
    assert!(counters.evicted >= 900, "{counters:?}");
}

/// Nobody has more handshakes than others, so that the oldest makes room.
#[tokio::test]
async fn with_less_room_than_attackers_take_from_many_addresses() {
    if cfg!(not(target_os = "linux")) {
        return println!("skipped: only Linux has all of 127.0.0.0/8 on its loopback");
    }
    let Some(counters) = serve_honest_clients(200, an_address_each).await else { return };
    assert!(counters.evicted >= 800, "{counters:?}");
}
