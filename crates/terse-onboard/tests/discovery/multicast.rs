//! Both sides on a link, by multicast.

use core::net::SocketAddr;
use std::net::UdpSocket;

use terse_onboard::discovery::coap::{CoreResponder, GROUP, Link, Links, PORT, Reach, Seeker, Sought};
use terse_onboard::discovery::{Change, Discovery as _, Place};

use super::world::{Running, is_on_link, question};
use crate::deadline::{SAFETY_LIMIT, soon};

#[tokio::test(flavor = "multi_thread")]
async fn a_seeker_finds_a_join_proxy_and_a_registrar_of_one_host_by_multicast() {
    if !is_on_link("discovery::multicast::a_seeker_finds_a_join_proxy_and_a_registrar_of_one_host_by_multicast") {
        return;
    }
    let link = Link::named("link0").unwrap();
    let proxy = CoreResponder::new(Links::join_proxy(5684)).beside(link.address(5684), PORT).unwrap();
    // It has the group alone: the join proxy has the port of the address.
    let registrar = Links::registrar("[::]:5685".parse().unwrap(), Some("[2001:db8::1]:5686".parse().unwrap()));
    let registrar = CoreResponder::new(registrar).on_link(&link, PORT).unwrap();
    let (proxy, registrar) = (Running::start(proxy), Running::start(registrar));
    assert_eq!(proxy.address, link.address(PORT));
    assert_ne!(registrar.address.port(), PORT);
    let own = format!("fe80::a%{}", link.index());
    for (sought, places) in [
        (&[Sought::JoinProxy][..], &[Place::new(own.clone(), 5684)][..]),
        (&[Sought::JoinProxy, Sought::Registrar], &[Place::new(own.clone(), 5684), Place::new(own.clone(), 5685)]),
        (&[Sought::StatelessRegistrar], &[Place::new("2001:db8::1", 5686)]),
    ] {
        for reach in [Reach::AllLinks, Reach::Links(vec!["missing".into(), "link0".into()])] {
            let (mut seeker, mut found) = (Seeker::new(sought, reach).unwrap(), Vec::new());
            while found.len() < places.len() {
                match soon(seeker.next()).await {
                    Change::Found(place) => found.push(place),
                    Change::Gone(place) => panic!("{place} is there"),
                }
            }
            assert!(places.iter().all(|place| found.contains(place)), "{found:?}");
        }
    }
    assert!(proxy.stop().await.answered > 0 && registrar.stop().await.answered > 0);
}

/// RFC 7252, 8.1: what asks for an acknowledgement is not answered, nor is an error told.
#[tokio::test(flavor = "multi_thread")]
async fn only_right_questions_by_multicast_are_answered_and_by_unicast() {
    if !is_on_link("discovery::multicast::only_right_questions_by_multicast_are_answered_and_by_unicast") {
        return;
    }
    let link = Link::named("link0").unwrap();
    let running = Running::start(CoreResponder::new(Links::join_proxy(5684)).on_link(&link, PORT).unwrap());
    let socket = UdpSocket::bind(link.address(0)).unwrap();
    socket.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
    let group: SocketAddr = core::net::SocketAddrV6::new(GROUP, PORT, 0, link.index()).into();
    let mut right = question("brski-jp=*");
    let mut confirmable = right.next_datagram();
    confirmable[0] = 0x48;
    let [wrong, ping] = [question("rt=brski").next_datagram().to_vec(), vec![0x40, 0, 0, 1]];
    for datagram in [&confirmable[..], &wrong, &ping, b"\xff"] {
        socket.send_to(datagram, group).unwrap();
    }
    socket.send_to(&right.next_datagram(), group).unwrap();
    let mut buffer = [0; 2_048];
    let (len, from) = socket.recv_from(&mut buffer).unwrap();
    assert_eq!(from, link.address(PORT), "an address of its own");
    assert_eq!(*right.read(&buffer[..len]).expect("the answer").links, b"<>;brski-jp=5684");
    let counters = running.stop().await;
    assert_eq!((counters.answered, counters.ignored), (1, 4));
}
