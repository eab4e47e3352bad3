//! Tests of the endpoint on tokio's sockets: the same as of the blocking server, and that nobody waits for another.

mod cancelled;
mod jpy;
mod later;
mod world;

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::thread;

use terse_net::tokio::{DatagramEndpoint, Framing, Jpy, Misframed, Plain};
use terse_net::{Clock, DatagramEvent, NetError};
use terse_tls::{ApiMisuse, EndpointLimits, Error, Path};
use world::{AsyncServer, exchange, runtime};

use super::world::{Relay, SAFETY_LIMIT, client, configs, datagrams, patient, socket};

#[test]
fn many_clients_at_a_time() {
    let (config, server) = configs(patient());
    let server = AsyncServer::start(server, Plain);
    let address = server.address;
    thread::scope(|scope| {
        for number in 0..6_u8 {
            let config = &config;
            scope.spawn(move || {
                let mut client = client(config, address);
                client.set_limit(SAFETY_LIMIT);
                client.handshake().unwrap();
                for round in 0..5 {
                    client.send(&[number, round]).unwrap();
                    let mut received = [0; 8];
                    assert_eq!(client.receive(&mut received).unwrap(), 2);
                    assert_eq!(received[..2], [number, round]);
                }
                client.close().unwrap();
                assert_eq!(client.receive(&mut [0; 8]).unwrap(), 0);
            });
        }
    });
    let mut closed = 0;
    while closed < 6 {
        match server.event().event {
            DatagramEvent::Connected => {}
            DatagramEvent::PeerClosed => closed += 1,
            event => panic!("{event:?}"),
        }
    }
    let (counters, sockets) = server.end();
    assert_eq!(counters.cookies_sent, 6);
    assert_eq!(sockets, Default::default());
}

/// Every third datagram is lost, every fifth comes twice, every seventh after the one behind it, in both directions.
#[test]
fn a_path_that_loses_doubles_and_reorders() {
    for shift in 0..4 {
        let (config, server) = configs(datagrams().max_datagram(300));
        let server = AsyncServer::start(server, Plain);
        let mut held: [Option<Vec<u8>>; 2] = [None, None];
        let relay = Relay::start(server.address, move |way, number, datagram| {
            assert!(datagram.len() <= 300);
            let held = &mut held[way as usize];
            match number + shift {
                n if n % 3 == 0 => vec![],
                n if n % 7 == 0 => {
                    *held = Some(datagram);
                    vec![]
                }
                n if n % 5 == 0 => vec![datagram.clone(), datagram],
                _ => core::iter::once(datagram).chain(held.take()).collect(),
            }
        });
        let mut client = client(&config, relay.address);
        client.handshake().unwrap();
        exchange(&mut client);
        assert_eq!(server.event().event, DatagramEvent::Connected);
        assert!(client.connection().summary().retransmissions > 0);
    }
}

#[test]
fn a_connection_that_is_idle_ends() {
    let (config, server) = configs(datagrams());
    let server = AsyncServer::start_with(server, Plain, |server| server.with_idle_timeout(Duration::from_millis(200)));
    let mut client = client(&config, server.address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    assert_eq!(server.event().event, DatagramEvent::Connected);
    assert_eq!(server.event().event, DatagramEvent::Idle);
    assert_eq!(client.receive(&mut [0; 8]).unwrap(), 0); // close_notify
}

/// Somebody sends nonsense without end, as fast as possible: the idle time of a client ends all the same.
#[test]
fn a_flood_holds_up_no_timer() {
    let (config, server) = configs(datagrams());
    let server = AsyncServer::start_with(server, Plain, |server| server.with_idle_timeout(Duration::from_secs(2)));
    let stop = Arc::new(AtomicBool::new(false));
    let (stopping, address) = (stop.clone(), server.address);
    let mut client = client(&config, address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    assert_eq!(server.event().event, DatagramEvent::Connected);
    let flood = thread::spawn(move || {
        let from = socket();
        while !stopping.load(Ordering::Relaxed) {
            let _ = from.send_to(b"GET / HTTP/1.0\r\n\r\n", address); // an error counts as a loss
        }
    });
    assert_eq!(server.event().event, DatagramEvent::Idle);
    stop.store(true, Ordering::Relaxed);
    flood.join().unwrap();
    assert!(server.end().0.malformed > 64);
}

#[test]
fn a_client_that_moves_is_known_by_its_connection_id() {
    let (config, server) = configs(datagrams().connection_id(Some(8)));
    let server = AsyncServer::start(server, Plain);
    let mut client = client(&config, server.address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    assert_eq!(server.event().event, DatagramEvent::Connected);
    let before = client.socket().local_addr().unwrap();
    let moved = socket();
    moved.connect(server.address).unwrap();
    let now = moved.local_addr().unwrap();
    client.move_to(moved);
    client.set_limit(SAFETY_LIMIT);
    client.send(b"hello").unwrap();
    assert_eq!(client.receive(&mut [0; 8]).unwrap(), 5);
    assert_eq!(server.event().event, DatagramEvent::AddressChanged { from: before.into(), to: now.into() });
}

/// What the socket sends is bounded by the configured size, whatever the framing adds.
#[test]
fn a_framing_needs_its_room() {
    let endpoint = |max_datagram: usize, jpy: Jpy| {
        let (_, server) = configs(datagrams().max_datagram(max_datagram));
        let _runtime = runtime();
        let _guard = _runtime.enter();
        let socket = socket();
        socket.set_nonblocking(true).unwrap();
        let socket = tokio::net::UdpSocket::from_std(socket).unwrap();
        let config = server.build().unwrap().into();
        DatagramEndpoint::with_framing(config, EndpointLimits::default(), socket, Clock::new(), jpy).map(drop)
    };
    assert!(endpoint(1_232, Jpy::new()).is_ok());
    let refused = endpoint(100, Jpy::new());
    assert!(matches!(refused, Err(NetError::Tls(Error::ApiMisuse(ApiMisuse::DatagramOutOfRange)))), "{refused:?}");
    assert!(endpoint(100, Jpy::new().max_header(16)).is_ok());
}

/// A framing that is wrong in one way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    /// It finds datagrams where none are.
    Range,
    /// It writes nothing.
    Mute,
    /// It says that it wrote more than it had room for.
    Length,
}

impl Framing for Wrong {
    fn overhead(&self) -> usize {
        4
    }

    fn read(&self, from: SocketAddr, datagram: &[u8]) -> Result<(Path, Range<usize>), Misframed> {
        let end = if *self == Self::Range { usize::MAX } else { datagram.len() };
        Ok((from.into(), 0..end))
    }

    fn write(&self, _: &Path, _: usize, _: &mut [u8]) -> Option<usize> {
        (*self == Self::Length).then_some(5)
    }
}

/// Whatever a framing does wrong is counted, and nobody panics.
#[test]
fn what_a_framing_does_wrong_is_counted() {
    for wrong in [Wrong::Range, Wrong::Mute, Wrong::Length] {
        let (config, server) = configs(datagrams().initial_timeout(500).max_retransmissions(1));
        let server = AsyncServer::start(server, wrong);
        assert!(matches!(client(&config, server.address).handshake(), Err(NetError::NoAnswer(_))));
        let (_, sockets) = server.end();
        assert_eq!((sockets.misframed > 0, sockets.unsent > 0), (wrong == Wrong::Range, wrong != Wrong::Range));
    }
}
