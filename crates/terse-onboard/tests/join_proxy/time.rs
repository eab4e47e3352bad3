//! What changes in the middle of a connection: the proxy is restarted, its key is renewed, a pledge is forgotten.

use core::time::Duration;
use std::net::UdpSocket;
use std::thread;

use terse_net::tokio::{Jpy, Plain};
use terse_onboard::join_proxy::Mode;

use super::registrar::Registrar;
use super::world::{Proxy, configs, datagrams, exchange, pledge};
use crate::deadline::SAFETY_LIMIT;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// A proxy that starts again has another key and another source port. What it had passed on before is not answered, and the
/// pledge sends it again.
#[test]
fn a_pledge_goes_on_when_a_stateless_proxy_is_restarted_during_its_handshake() {
    let (config, server) = configs(datagrams());
    let swallowing = UdpSocket::bind("127.0.0.1:0").unwrap();
    swallowing.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
    let first = Proxy::start("127.0.0.1:0", Mode::Stateless, &[swallowing.local_addr().unwrap()]);
    let address = first.address;
    let mut client = pledge(&config, address);
    client.set_limit(SAFETY_LIMIT);
    let connecting = thread::spawn(move || {
        client.handshake().unwrap();
        exchange(&mut client, b"hello");
    });
    swallowing.recv_from(&mut [0; 2_000]).unwrap();
    first.stop();
    let registrar = Registrar::start("127.0.0.1:0", server, Jpy::new());
    let second = Proxy::start(&address.to_string(), Mode::Stateless, &[registrar.address]);
    connecting.join().unwrap();
    registrar.connected();
    second.stop();
}

#[test]
fn a_connection_with_a_connection_id_survives_a_restart_of_the_proxy_and_another_one_begins_again() {
    for (mode, has_id) in
        [(Mode::Stateless, true), (Mode::Stateless, false), (Mode::Stateful, true), (Mode::Stateful, false)]
    {
        let (config, server) = configs(datagrams().connection_id(has_id.then_some(8)));
        let registrar = match mode {
            Mode::Stateful => Registrar::start("127.0.0.1:0", server, Plain),
            Mode::Stateless => Registrar::start("127.0.0.1:0", server, Jpy::new()),
        };
        let first = Proxy::start("127.0.0.1:0", mode, &[registrar.address]);
        let address = first.address;
        let mut client = pledge(&config, address);
        client.set_limit(SAFETY_LIMIT);
        client.handshake().unwrap();
        exchange(&mut client, b"before");
        let path = registrar.connected();
        first.stop();
        let second = Proxy::start(&address.to_string(), mode, &[registrar.address]);
        if has_id {
            let (from, to) = registrar.moved(&mut client);
            assert!(from == path && to != path);
        } else {
            client.send(b"after").unwrap();
            // What is sent after it is answered, and it is not.
            let mut again = pledge(&config, address);
            again.set_limit(SAFETY_LIMIT);
            again.handshake().unwrap();
            exchange(&mut again, b"again");
            client.set_limit(Duration::from_millis(1));
            assert!(client.receive(&mut [0; 16]).unwrap_err().is_timeout());
        }
        second.stop();
    }
}

#[test]
fn answers_with_the_header_of_the_key_before_arrive_for_a_day_more() {
    let (config, server) = configs(datagrams().connection_id(Some(8)));
    let registrar = Registrar::start("127.0.0.1:0", server, Jpy::new());
    let proxy = Proxy::start("127.0.0.1:0", Mode::Stateless, &[registrar.address]);
    let mut client = pledge(&config, proxy.address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    exchange(&mut client, b"hello");
    let path = registrar.connected();
    proxy.advance(DAY);
    registrar.say(b"with the key before");
    client.set_limit(SAFETY_LIMIT);
    let mut received = [0; 64];
    let len = client.receive(&mut received).unwrap();
    assert_eq!(&received[..len], b"with the key before");
    proxy.advance(DAY);
    registrar.say(b"too late");
    let (from, to) = registrar.moved(&mut client); // and nothing came before that
    assert!(from == path && to.address() == path.address() && to.header() != path.header());
    let counters = proxy.stop();
    assert!(counters.not_authentic >= 1, "{counters:?}");
}

/// A pledge that is silent for 30 seconds is forgotten, also if an answer comes after three minutes: then it goes on from
/// another source port.
#[test]
fn an_answer_after_three_minutes_is_nobodys_and_a_connection_id_goes_on_from_another_port() {
    let (config, server) = configs(datagrams().connection_id(Some(8)));
    let registrar = Registrar::start("127.0.0.1:0", server, Plain);
    let proxy = Proxy::start("127.0.0.1:0", Mode::Stateful, &[registrar.address]);
    let mut client = pledge(&config, proxy.address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    exchange(&mut client, b"hello");
    let path = registrar.connected();
    // 29 seconds are not enough, counted from the last datagram in either direction.
    for message in [b"first", b"again"] {
        proxy.advance(Duration::from_secs(29));
        registrar.say(message);
        client.set_limit(SAFETY_LIMIT);
        let mut received = [0; 64];
        let len = client.receive(&mut received).unwrap();
        assert_eq!(&received[..len], message);
    }
    proxy.advance(Duration::from_secs(180));
    registrar.say(b"too late");
    let (from, to) = registrar.moved(&mut client); // and nothing came before that
    assert!(from == path && to.address().ip() == path.address().ip() && to.address().port() != path.address().port());
    proxy.stop();
}
