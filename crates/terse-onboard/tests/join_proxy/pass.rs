//! Pledges connect through a join proxy.

use core::net::SocketAddr;
use std::net::UdpSocket;
use std::thread;

use terse_brski::join_proxy::{HEADER_LEN, OnLink};
use terse_net::tokio::{Framing, Jpy, Plain};
use terse_onboard::join_proxy::{Mode, UdpLimits, UdpProxy};
use terse_tls::Path;

use super::registrar::Registrar;
use super::world::{Proxy, configs, datagrams, exchange, pledge, pledge_on, socket};
use crate::deadline::{Deadline, SAFETY_LIMIT};
use crate::vacant::{occupied_udp, vacant_udp};

/// Lets two pledges connect at once, each of which has its own answers. Returns their paths.
fn two_at_once<F: Framing + 'static>(ip: &str, mode: Mode, framing: F) -> [Path; 2] {
    let (config, server) = configs(datagrams());
    let registrar = Registrar::start(&format!("{ip}:0"), server, framing);
    let proxy = Proxy::start(&format!("{ip}:0"), mode, &[registrar.address]);
    let address = proxy.address;
    thread::scope(|scope| {
        for name in [b"one".repeat(20), b"two".repeat(20)] {
            let config = &config;
            scope.spawn(move || {
                let mut client = pledge(config, address);
                client.set_limit(SAFETY_LIMIT);
                client.handshake().unwrap();
                (0..20).for_each(|_| exchange(&mut client, &name));
            });
        }
    });
    let paths = [registrar.connected(), registrar.connected()];
    let counters = proxy.stop();
    assert!(counters.passed_on >= 40 && counters.answered >= 40, "{counters:?}");
    assert_eq!((counters.refused, counters.not_authentic, counters.off_link), (0, 0, 0), "{counters:?}");
    paths
}

#[test]
fn two_pledges_connect_at_once_through_the_stateful_mode() {
    for ip in ["127.0.0.1", "[::1]"] {
        let [one, two] = two_at_once(ip, Mode::Stateful, Plain);
        assert_ne!(one.address().port(), two.address().port(), "a source port for each");
        assert!(one.header().is_empty() && two.header().is_empty());
    }
}

#[test]
fn two_pledges_connect_at_once_through_the_stateless_mode() {
    for ip in ["127.0.0.1", "[::1]"] {
        let [one, two] = two_at_once(ip, Mode::Stateless, Jpy::new().max_header(32));
        assert_eq!(one.address(), two.address(), "one source port");
        assert_ne!(one.header(), two.header(), "a header for each");
        assert_eq!([one.header().len(), two.header().len()], [HEADER_LEN; 2]);
    }
}

/// A socket of IPv6 at an address of IPv4 has pledges in a form of their own.
#[test]
fn a_socket_of_ipv6_has_pledges_of_ipv4() {
    for mode in [Mode::Stateful, Mode::Stateless] {
        let (config, server) = configs(datagrams());
        let registrar = match mode {
            Mode::Stateful => Registrar::start("127.0.0.1:0", server, Plain),
            Mode::Stateless => Registrar::start("127.0.0.1:0", server, Jpy::new()),
        };
        let proxy = Proxy::start("[::ffff:127.0.0.1]:0", mode, &[registrar.address]);
        let mut client = pledge(&config, SocketAddr::from(([127, 0, 0, 1], proxy.address.port())));
        client.set_limit(SAFETY_LIMIT);
        client.handshake().unwrap();
        exchange(&mut client, b"mapped");
        proxy.stop();
    }
}

/// An answer from there would come from whatever address the system chooses.
#[tokio::test]
async fn a_proxy_at_every_address_is_refused() {
    for listen in ["[::]:0", "0.0.0.0:0"] {
        let socket = tokio::net::UdpSocket::bind(listen).await.unwrap();
        let (_places, known) = tokio::sync::watch::channel(Vec::new());
        let refused = UdpProxy::new(socket, Mode::Stateful, known, OnLink::default(), UdpLimits::default());
        let problem = refused.err().expect("no address").to_string();
        assert!(problem.contains("as in [fe80::1%eth0]:5684"), "{problem}");
    }
}

/// Returns a link-local address of this machine, if an interface has one.
fn link_local() -> Option<(String, u32)> {
    let text = std::fs::read_to_string("/proc/net/if_inet6").ok()?;
    let line = text.lines().find(|line| line.starts_with("fe80"))?;
    let mut fields = line.split_whitespace();
    let digits = u128::from_str_radix(fields.next()?, 16).ok()?;
    let interface = u32::from_str_radix(fields.next()?, 16).ok()?;
    Some((core::net::Ipv6Addr::from(digits).to_string(), interface))
}

/// Pledges with link-local addresses need no configuration; the answer goes to their interface. A machine without such an
/// address has nothing to test.
#[test]
fn link_local_pledges_are_answered_on_their_interface() {
    let Some((ip, interface)) = link_local() else { return };
    for mode in [Mode::Stateful, Mode::Stateless] {
        let (config, server) = configs(datagrams());
        let registrar = match mode {
            Mode::Stateful => Registrar::start("127.0.0.1:0", server, Plain),
            Mode::Stateless => Registrar::start("127.0.0.1:0", server, Jpy::new()),
        };
        let limits = UdpLimits::default();
        let proxy =
            Proxy::start_with(&format!("[{ip}%{interface}]:0"), mode, &[registrar.address], OnLink::default(), limits);
        let own = SocketAddr::V6(core::net::SocketAddrV6::new(ip.parse().unwrap(), 0, 0, interface));
        let socket = UdpSocket::bind(own).unwrap();
        let SocketAddr::V6(mut to) = own else { unreachable!() };
        to.set_port(proxy.address.port());
        socket.connect(to).unwrap();
        let mut client = pledge_on(&config, socket);
        client.set_limit(SAFETY_LIMIT);
        client.handshake().unwrap();
        exchange(&mut client, b"here");
        proxy.stop();
    }
}

/// Nobody has the port of the first one, which the network reports; the second one is silent; the third one answers.
#[test]
fn the_next_registrar_is_used_when_one_is_gone_or_silent() {
    for mode in [Mode::Stateful, Mode::Stateless] {
        let (config, server) = configs(datagrams());
        let (_nobody, gone) = vacant_udp();
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        silent.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
        let registrar = match mode {
            Mode::Stateful => Registrar::start("127.0.0.1:0", server, Plain),
            Mode::Stateless => Registrar::start("127.0.0.1:0", server, Jpy::new()),
        };
        let all = [gone, silent.local_addr().unwrap(), registrar.address];
        let proxy = Proxy::start("127.0.0.1:0", mode, &all);
        let mut client = pledge(&config, proxy.address);
        client.set_limit(SAFETY_LIMIT);
        let connecting = thread::spawn(move || {
            client.handshake().unwrap();
            exchange(&mut client, b"hello");
        });
        silent.recv_from(&mut [0; 2_000]).expect("the silent one has its turn");
        proxy.advance(core::time::Duration::from_secs(3));
        connecting.join().unwrap();
        registrar.connected();
        proxy.stop();
    }
}

/// A proxy without a registrar drops what comes, and goes on when there is one.
#[test]
fn a_registrar_that_starts_later_is_used() {
    let (config, server) = configs(datagrams());
    let (_nobody, reserved) = vacant_udp();
    let proxy = Proxy::start("127.0.0.1:0", Mode::Stateless, &[reserved]);
    let early = socket(proxy.address.ip(), proxy.address);
    for _ in 0..10 {
        early.send(b"is anybody there?").unwrap();
    }
    let registrar = Registrar::on(occupied_udp(reserved), server, Jpy::new());
    let mut client = pledge(&config, proxy.address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    registrar.connected();
    proxy.stop();
}

/// A pledge that was answered, and goes on sending when its registrar is gone, comes to the next one.
#[test]
fn a_pledge_whose_registrar_is_gone_comes_to_the_next_one() {
    let (first, second) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let all = [first.local_addr().unwrap(), second.local_addr().unwrap()];
    let proxy = Proxy::start("127.0.0.1:0", Mode::Stateful, &all);
    let pledge = socket(proxy.address.ip(), proxy.address);
    let from = arrive(&pledge, &first);
    first.send_to(b"answer", from).unwrap();
    pledge.recv(&mut [0; 100]).expect("an answer");
    drop(first);
    proxy.advance(core::time::Duration::from_secs(3));
    arrive(&pledge, &second);
    proxy.stop();
}

/// Sends until something arrives at a registrar. Returns from where.
fn arrive(pledge: &UdpSocket, registrar: &UdpSocket) -> SocketAddr {
    registrar.set_read_timeout(Some(core::time::Duration::from_millis(50))).unwrap();
    let deadline = Deadline::new();
    loop {
        pledge.send(b"hello").unwrap();
        if let Ok((_, from)) = registrar.recv_from(&mut [0; 100]) {
            return from;
        }
        deadline.check("nothing arrives");
    }
}
