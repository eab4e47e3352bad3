//! Pledges behind a stateless join proxy, and those who send something else to the registrar's port for proxies.

use core::time::Duration;
use std::sync::mpsc;
use std::thread;

use terse_net::tokio::{Framing, Jpy};
use terse_net::{DatagramEvent, Watch};
use terse_tls::Path;

use super::super::world::{SAFETY_LIMIT, Way, client, configs, datagrams, patient, socket};
use super::world::{AsyncServer, Passing, Proxy, exchange, wrap};

const MAX_DATAGRAM: usize = 400;

#[test]
fn pledges_behind_one_proxy_do_not_mix() {
    let (config, server) = configs(patient().max_datagram(MAX_DATAGRAM));
    let server = AsyncServer::start(server, Jpy::new());
    let headers: [&[u8]; 4] = [b"one", b"two", &[7; 28], &[8; 64]];
    let proxy = Proxy::start(server.address, &headers, MAX_DATAGRAM, |_| true);
    thread::scope(|scope| {
        for (address, header) in proxy.addresses.iter().zip(headers) {
            let config = &config;
            scope.spawn(move || {
                let mut client = client(config, *address);
                client.set_limit(SAFETY_LIMIT);
                client.handshake().unwrap();
                // The longest message that the server can send comes back in one datagram.
                for len in [1, client.connection().max_message() - Jpy::new().overhead()] {
                    let message: Vec<u8> = header.iter().copied().cycle().take(len).collect();
                    client.send(&message).unwrap();
                    let mut received = [0; 1_000];
                    let len = client.receive(&mut received).unwrap();
                    assert_eq!(received[..len], message);
                }
            });
        }
    });
    let mut paths: Vec<_> =
        headers.map(|_| server.event()).into_iter().map(|happened| happened.path.unwrap()).collect();
    paths.sort();
    let mut expected = headers.map(|header| Path::new(proxy.seen_as, header).unwrap());
    expected.sort();
    assert_eq!(paths, expected, "one address, and a header for each");
    let (counters, sockets) = server.end();
    assert_eq!(counters.cookies_sent, 4);
    assert_eq!((sockets.misframed, sockets.headers_too_long), (0, 0));
}

/// A quarter of all datagrams is lost in each direction.
#[test]
fn pledges_connect_through_a_proxy_that_loses_datagrams() {
    let (config, server) = configs(datagrams().max_datagram(MAX_DATAGRAM));
    let server = AsyncServer::start(server, Jpy::new().max_header(32));
    let passes = |passing: Passing<'_>| passing.number % 4 != 1;
    let proxy = Proxy::start(server.address, &[b"one", b"two"], MAX_DATAGRAM, passes);
    thread::scope(|scope| {
        for address in &proxy.addresses {
            let config = &config;
            scope.spawn(move || {
                let mut client = client(config, *address);
                client.handshake().unwrap();
                exchange(&mut client);
            });
        }
    });
    assert_eq!([(); 2].map(|()| server.event().event), [DatagramEvent::Connected, DatagramEvent::Connected]);
}

/// The proxy has a new key, so that each header is another one: the connection goes on, after a check.
#[test]
fn a_header_that_changes_is_a_change_of_path() {
    let (config, server) = configs(datagrams().max_datagram(MAX_DATAGRAM).connection_id(Some(8)));
    let (seen, paths_seen) = mpsc::channel();
    let watch: Watch = Box::new(move |path| drop(path.map(|path| seen.send(path.clone()))));
    let server = AsyncServer::start_with(server, Jpy::new(), |server| server.with_watch(watch));
    let (rekey, rekeyed) = mpsc::channel();
    let proxy = Proxy::start(server.address, &[b"old"], MAX_DATAGRAM, move |passing| {
        if passing.way == Way::ToServer && rekeyed.try_recv().is_ok() {
            *passing.header = b"new".to_vec();
        }
        true
    });
    let mut client = client(&config, proxy.addresses[0]);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    let paths = [b"old", b"new"].map(|header| Path::new(proxy.seen_as, header).unwrap());
    let [from, to] = paths.clone();
    assert_eq!(server.event().path, Some(from.clone()));
    rekey.send(()).unwrap();
    client.send(b"hello").unwrap();
    assert_eq!(client.receive(&mut [0; 8]).unwrap(), 5);
    assert_eq!(server.event().event, DatagramEvent::AddressChanged { from, to });
    let mut seen: Vec<_> = paths_seen.try_iter().collect();
    seen.dedup();
    assert_eq!(seen, paths, "who watches sees the same");
    let (counters, _) = server.end();
    assert_eq!(counters.path_challenges, 2, "with each header");
}

/// Whatever else is sent to the port changes nothing but a counter.
#[test]
fn what_is_no_jpy_is_counted() {
    let (config, server) = configs(patient().max_datagram(MAX_DATAGRAM));
    let server = AsyncServer::start(server, Jpy::new().max_header(32));
    let hostile = socket();
    hostile.connect(server.address).unwrap();
    let misframed: [&[u8]; 9] = [
        b"",
        b"GET / HTTP/1.0\r\n\r\n",
        &[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], // DTLS without a framing
        b"\x9f\x43old\x41b\xff",
        b"\x82\x5f\x43old\xff\x41b",
        b"\x82\x43old\x5f\x41b\xff",
        b"\x82\x43old\x41b\x00", // something behind it
        b"\x83\x43old\x41b",     // an element is missing
        b"\x82\x43old\x5b\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    let too_long = [wrap(&[7; 33], b"?"), wrap(&[7; 65], b"?"), wrap(&[7; 200], b"?")];
    let malformed = [wrap(b"old", b""), wrap(b"", b"?"), wrap(&[7; 32], &[0; 1_300])];
    let all =
        misframed.iter().copied().chain(too_long.iter().map(Vec::as_slice)).chain(malformed.iter().map(Vec::as_slice));
    let all: Vec<_> = all.collect();
    for _ in 0..3 {
        for datagram in &all {
            hostile.send(datagram).unwrap();
        }
    }
    let proxy = Proxy::start(server.address, &[b"old"], MAX_DATAGRAM, |_| true);
    let mut client = client(&config, proxy.addresses[0]);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    let connected = server.event();
    assert_eq!((connected.event, connected.connections.0), (DatagramEvent::Connected, 1));
    for datagram in &all {
        hostile.send(datagram).unwrap();
    }
    client.send(b"hello").unwrap();
    assert_eq!(client.receive(&mut [0; 8]).unwrap(), 5);
    hostile.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    assert!(hostile.recv(&mut [0; 8]).is_err(), "nothing is answered");
    let (counters, sockets) = server.end();
    let times = 4; // each was handled before the data that came after it
    assert_eq!((sockets.misframed, sockets.headers_too_long), (9 * times, 3 * times));
    assert_eq!((counters.malformed, counters.refused), (3 * times, 0));
    assert_eq!(sockets.unsent, 0);
}
