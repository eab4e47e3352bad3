use core::time::Duration;

use rustix::io::Errno;

use super::*;
use crate::discovery::Place;

/// Whoever can send an ICMP message would else change the source port, and thereby the connection, of all pledges.
#[tokio::test]
async fn the_source_port_stays_whatever_the_socket_reports() {
    let front = Front::new(UdpSocket::bind("127.0.0.1:0").await.unwrap()).unwrap();
    let (_places, known) = watch::channel(vec![Place::new("127.0.0.1", 5684)]);
    let registrars = Registrars::start(known, None, Duration::from_secs(30));
    tokio::task::yield_now().await;
    let limits = StatelessLimits { max_content: 1_194, datagrams_per_second: 1_000 };
    let decisions = Stateless::new(limits, OnLink::default(), key().unwrap(), seed().unwrap(), registrars.now());
    let mut proxy = Proxy { front, registrars, decisions, back: None, counters: UdpCounters::default() };
    proxy.find_registrar().await.expect("an address");
    let port = |proxy: &Proxy| proxy.back.as_ref().unwrap().socket.local_addr().unwrap();
    let before = port(&proxy);
    for errno in [Errno::ACCESS, Errno::PROTO, Errno::MSGSIZE, Errno::NOPROTOOPT, Errno::NOBUFS, Errno::IO] {
        proxy.answer(Err(io::Error::from_raw_os_error(errno.raw_os_error())), &[]);
        proxy.find_registrar().await.expect("an address");
        assert_eq!(port(&proxy), before, "{errno}");
    }
    assert_eq!(proxy.counters.unsent, 1, "one was too long");
}
