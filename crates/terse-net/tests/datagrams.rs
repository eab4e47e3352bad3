//! Tests of DTLS on UDP sockets: clients, a server, and a relay between them.
#![allow(unreachable_pub)]

mod connection;
mod endpoint;
mod hostile;
mod signing;
mod silence;
mod world;

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Mutex;
use std::thread;

use terse_net::{Clock, DatagramEvent, DatagramServer, NetError};
use terse_tls::summary::Transport;
use terse_tls::{ApiMisuse, EndpointLimits, Error, HandshakeType, Trace, TraceEvent};
use world::{EchoServer, Patience, Relay, SAFETY_LIMIT, Way, client, configs, datagrams, patient, socket};

#[test]
fn messages_go_both_ways() {
    let (config, server) = configs(patient());
    let server = EchoServer::start(server);
    let mut client = client(&config, server.address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    let longest = vec![7; client.connection().max_message()];
    let mut received = vec![0; 2_000];
    for message in [&b"hello"[..], b"x", &longest] {
        client.send(message).unwrap();
        let len = client.receive(&mut received).unwrap();
        assert_eq!(&received[..len], message);
    }
    // The message is read in parts: the next call returns what did not fit.
    client.send(b"in two parts").unwrap();
    assert_eq!(client.receive(&mut received[..6]).unwrap(), 6);
    assert_eq!(client.receive(&mut received[6..]).unwrap(), 6);
    assert_eq!(&received[..12], b"in two parts");
    let too_long = client.send(&vec![7; longest.len() + 1]);
    assert!(matches!(too_long, Err(NetError::Tls(Error::ApiMisuse(ApiMisuse::MessageTooLong)))), "{too_long:?}");
    client.close().unwrap();
    assert_eq!(client.receive(&mut received).unwrap(), 0);
    assert!(client.peer_closed());

    let summary = client.connection().summary();
    assert_eq!((summary.transport, summary.version_name().as_deref()), (Transport::Datagram, Some("DTLS 1.3")));
    assert_eq!(summary.dropped.total(), 0);
    assert_eq!(server.event().0, DatagramEvent::Connected);
    let (closed, summary) = server.event();
    assert_eq!(closed, DatagramEvent::PeerClosed);
    assert_eq!(summary.unwrap().transport, Transport::Datagram);
    assert_eq!(server.end().cookies_sent, 1);
}

/// Each side asks the other to change its keys too (RFC 9147, 8).
#[test]
fn both_sides_change_their_keys() {
    let (mut config, mut server) = configs(datagrams());
    let [by_client, by_server] = [(); 2].map(|()| Arc::new(KeyUpdates::default()));
    config.trace(by_server.clone());
    server.trace(by_client.clone());
    let socket = socket();
    let address = socket.local_addr().unwrap();
    let client = thread::spawn(move || {
        let mut client = client(&config, address);
        client.set_limit(SAFETY_LIMIT);
        client.handshake().unwrap();
        for word in [&b"before"[..], b"after"] {
            client.send(word).unwrap();
            assert_eq!(client.receive(&mut [0; 8]).unwrap(), word.len());
        }
        client.update_keys(true).unwrap();
        client.send(b"anew").unwrap();
        assert_eq!(client.receive(&mut [0; 8]).unwrap(), 4);
        client.close().unwrap();
        assert_eq!(client.receive(&mut [0; 8]).unwrap(), 0);
    });
    let mut server =
        DatagramServer::new(Arc::new(server.build().unwrap()), EndpointLimits::default(), socket, Clock::new())
            .unwrap();
    let mut updates = false;
    loop {
        let (handle, event) = server.next_event(Some(SAFETY_LIMIT)).unwrap().unwrap();
        match event {
            DatagramEvent::Data(data) => {
                if data == b"before" {
                    updates = server.update_keys(handle, true).is_ok();
                }
                server.send(handle, &data).unwrap();
            }
            DatagramEvent::PeerClosed => break server.end(handle),
            _ => {}
        }
    }
    client.join().unwrap();
    assert!(updates, "nothing is under way once the client has said something");
    assert_eq!((by_client.count(), by_server.count()), (2, 2));
}

/// Counts the KeyUpdate messages that were received.
#[derive(Default)]
struct KeyUpdates(AtomicU32);

impl KeyUpdates {
    fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Trace for KeyUpdates {
    fn event(&self, event: TraceEvent<'_>) {
        if matches!(event, TraceEvent::Received(HandshakeType::KEY_UPDATE, _)) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn many_clients_at_a_time() {
    let (config, server) = configs(datagrams());
    let server = EchoServer::start(server);
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
        match server.event().0 {
            DatagramEvent::Connected => {}
            DatagramEvent::PeerClosed => closed += 1,
            event => panic!("{event:?}"),
        }
    }
}

/// Every third datagram is lost, every fifth comes twice, every seventh after the one behind it, in both directions.
#[test]
fn a_path_that_loses_doubles_and_reorders() {
    for shift in 0..4 {
        let (config, server) = configs(datagrams().max_datagram(300));
        let server = EchoServer::start(server);
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
        let mut received = [0; 8];
        // Only the application can repeat a lost message.
        client.set_limit(Duration::from_millis(300));
        let patience = Patience::new();
        loop {
            patience.check("no echo");
            client.send(b"hello").unwrap();
            match client.receive(&mut received) {
                Ok(len) => break assert_eq!(&received[..len], b"hello"),
                Err(error) => assert!(error.is_timeout(), "{error}"),
            }
            client.set_limit(Duration::from_millis(300));
        }
        let summary = client.connection().summary();
        assert!(summary.retransmissions > 0, "{summary:?}");
        assert_eq!(server.event().0, DatagramEvent::Connected);
    }
}

#[test]
fn a_connection_that_is_idle_ends() {
    let (config, server) = configs(datagrams());
    let server = EchoServer::start_with(server, |server| server.with_idle_timeout(Duration::from_millis(200)));
    let mut client = client(&config, server.address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    assert_eq!(server.event().0, DatagramEvent::Connected);
    assert_eq!(server.event().0, DatagramEvent::Idle);
    assert_eq!(client.receive(&mut [0; 8]).unwrap(), 0); // close_notify
}

#[test]
fn a_client_that_moves_is_known_by_its_connection_id() {
    for (connection_id, is_known) in [(Some(8), true), (None, false)] {
        let (config, server) = configs(datagrams().connection_id(connection_id));
        let server = EchoServer::start(server);
        let mut client = client(&config, server.address);
        client.set_limit(SAFETY_LIMIT);
        client.handshake().unwrap();
        assert_eq!(server.event().0, DatagramEvent::Connected);
        let before = client.socket().local_addr().unwrap();
        let moved = socket();
        moved.connect(server.address).unwrap();
        let now = moved.local_addr().unwrap();
        client.move_to(moved);
        client.set_limit(if is_known { SAFETY_LIMIT } else { Duration::from_millis(500) });
        client.send(b"hello").unwrap();
        let mut received = [0; 8];
        let result = client.receive(&mut received);
        if is_known {
            assert_eq!(&received[..result.unwrap()], b"hello");
            assert_eq!(server.event().0, DatagramEvent::AddressChanged { from: before.into(), to: now.into() });
            assert_eq!(server.end().path_challenges, 2, "here, and where it was");
        } else {
            assert!(result.unwrap_err().is_timeout());
            // The server takes datagrams in their order: it has had that one when it knows another client.
            let mut another = self::world::client(&config, server.address);
            another.set_limit(SAFETY_LIMIT);
            another.handshake().unwrap();
            assert!(server.end().unknown_address > 0);
        }
    }
}

/// Each network sees another connection ID, as long as there are spare ones.
#[test]
fn a_client_that_moves_may_not_be_recognised() {
    for spare in [0, 2] {
        let (config, server) = configs(datagrams().connection_id(Some(8)));
        let server = EchoServer::start(server);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let relay = |seen: Arc<Mutex<Vec<Vec<u8>>>>| {
            Relay::start(server.address, move |way, _, datagram| {
                if way == Way::ToServer && datagram[0] & 0b1111_0000 == 0b0011_0000 {
                    seen.lock().unwrap().push(datagram[1..9].to_vec());
                }
                vec![datagram]
            })
        };
        let networks: Vec<_> = (0..4).map(|_| relay(seen.clone())).collect();
        let mut client = client(&config, networks[0].address).with_spare_connection_ids(spare);
        client.set_limit(SAFETY_LIMIT);
        client.handshake().unwrap();
        let mut ids = Vec::new();
        for (number, network) in networks.iter().enumerate() {
            if number > 0 {
                let moved = socket();
                moved.connect(network.address).unwrap();
                client.move_to(moved);
            }
            seen.lock().unwrap().clear();
            // The requested IDs arrive with the answers.
            for _ in 0..3 {
                client.send(b"hello").unwrap();
                assert_eq!(client.receive(&mut [0; 8]).unwrap(), 5);
            }
            let mut seen = core::mem::take(&mut *seen.lock().unwrap());
            seen.dedup();
            assert_eq!(seen.len(), 1, "one in each network");
            ids.extend(seen);
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), if spare > 0 { networks.len() } else { 1 });
    }
}

#[test]
fn datagrams_fit_the_path() {
    for max_datagram in [100, 548, 1_232] {
        let (config, server) = configs(datagrams().max_datagram(max_datagram));
        let server = EchoServer::start(server);
        let lengths = Arc::new(Mutex::new([0; 2]));
        let seen = lengths.clone();
        let relay = Relay::start(server.address, move |way, _, datagram| {
            let longest = &mut seen.lock().unwrap()[way as usize];
            *longest = datagram.len().max(*longest);
            vec![datagram]
        });
        let mut client = client(&config, relay.address);
        client.handshake().unwrap();
        let longest = vec![1; client.connection().max_message()];
        client.set_limit(SAFETY_LIMIT);
        client.send(&longest).unwrap();
        assert_eq!(client.receive(&mut [0; 2_000]).unwrap(), longest.len());
        let [to_server, to_client] = *lengths.lock().unwrap();
        // A record number has one byte, or two: see `Connection::max_message`.
        assert!((max_datagram - 1..=max_datagram).contains(&to_server), "a message as long as may be");
        assert!(to_client <= max_datagram);
        assert_eq!(Way::ToClient as usize, 1);
    }
}
