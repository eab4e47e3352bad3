//! An attacker can send datagrams to a port, or change those on their way, but has no keys.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::mpsc;
use std::thread;

use terse_net::{DatagramEvent, NetError};

use super::world::{EchoServer, Relay, SAFETY_LIMIT, client, configs, datagrams, socket};

/// A fatal alert, which anybody can forge.
const FORGED_ALERT: [u8; 15] = [21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40];

#[test]
fn damaged_doubled_and_forged_datagrams_change_nothing() {
    let (config, server) = configs(datagrams());
    let server = EchoServer::start(server);
    let relay = Relay::start(server.address, |_, _, datagram| {
        let mut damaged = datagram.clone();
        if let Some(last) = damaged.last_mut() {
            *last ^= 1;
        }
        let cut = datagram[..datagram.len() / 2].to_vec();
        let is_protected = datagram[4] == 1; // the epoch
        let mut all = vec![FORGED_ALERT.to_vec(), b"?".to_vec(), cut];
        // A handshake is not protected yet: damage to it is found at its end.
        if is_protected {
            all.push(damaged);
        }
        all.extend([datagram.clone(), datagram]);
        all
    });
    let mut client = client(&config, relay.address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    let mut received = [0; 16];
    for message in [&b"hello"[..], b"again", b"and again"] {
        client.send(message).unwrap();
        let len = client.receive(&mut received).unwrap();
        assert_eq!(&received[..len], message); // once, and unchanged
    }
    let dropped = client.connection().summary().dropped;
    assert!(dropped.malformed > 0 && dropped.not_authentic > 0 && dropped.replayed > 0, "{dropped:?}");
    assert!(dropped.unprotected_alert > 0, "{dropped:?}");
    assert_eq!(server.event().0, DatagramEvent::Connected);
    client.close().unwrap();
    let (event, summary) = server.event();
    assert_eq!(event, DatagramEvent::PeerClosed);
    let dropped = summary.unwrap().dropped;
    assert!(dropped.not_authentic > 0 && dropped.replayed > 0, "{dropped:?}");
}

#[test]
fn a_flood_of_nonsense_does_not_stop_the_clock() {
    let flooding = socket();
    let (config, _) = configs(datagrams().initial_timeout(20).min_timeout(20).max_retransmissions(2));
    let mut client = client(&config, flooding.local_addr().unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = stop.clone();
    let victim = client.socket().local_addr().unwrap();
    let flood = thread::spawn(move || {
        while !stopping.load(Ordering::Relaxed) {
            let _ = flooding.send_to(&[22, 254, 253, 0, 0], victim); // an error counts as a loss
        }
    });
    let Err(NetError::NoAnswer(no_answer)) = client.handshake() else { panic!("nobody answers") };
    stop.store(true, Ordering::Relaxed);
    flood.join().unwrap();
    assert_eq!((no_answer.asked, no_answer.heard), (3, false));
    assert!(no_answer.dropped > 0);
}

#[test]
fn a_flood_at_the_server_stops_no_client() {
    let (config, server) = configs(datagrams());
    let server = EchoServer::start(server);
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = stop.clone();
    let address = server.address;
    let (started, has_started) = mpsc::channel();
    let flood = thread::spawn(move || {
        let from = socket();
        let mut number = 0_u8;
        while !stopping.load(Ordering::Relaxed) {
            number = number.wrapping_add(1);
            for nonsense in [&b"GET / HTTP/1.0\r\n\r\n"[..], &[22, 254, 255, 0, 0, 0, 0, 0, 0, 0, number, 0, 1, 1]] {
                let _ = from.send_to(nonsense, address); // an error counts as a loss
            }
            let _ = started.send(());
            thread::sleep(Duration::from_micros(200)); // the socket's buffer is shared by all clients
        }
    });
    has_started.recv_timeout(SAFETY_LIMIT).unwrap();
    let mut client = client(&config, address);
    client.handshake().unwrap();
    client.close().unwrap();
    stop.store(true, Ordering::Relaxed);
    flood.join().unwrap();
    assert_eq!(server.event().0, DatagramEvent::Connected);
    let counters = server.end();
    assert!(counters.malformed + counters.unknown_address > 0 && counters.cookies_sent > 0, "{counters:?}");
}

#[test]
fn alerts_on_the_way_stop_no_handshake() {
    let (config, server) = configs(datagrams());
    let server = EchoServer::start(server);
    // Each datagram is preceded by an alert that looks as if the other side had sent it.
    let relay = Relay::start(server.address, |_, _, datagram| vec![FORGED_ALERT.to_vec(), datagram]);
    let mut client = client(&config, relay.address);
    client.handshake().unwrap();
    assert!(client.connection().summary().dropped.unprotected_alert > 0);
    assert_eq!(server.event().0, DatagramEvent::Connected);
}
