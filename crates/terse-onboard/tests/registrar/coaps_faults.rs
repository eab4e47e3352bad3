//! What goes wrong on the way of a device of constrained BRSKI: lost datagrams, ends of the registrar, too many of them.

use std::net::SocketAddr;

use terse_brski::artefact::Format;
use terse_brski::coap::{Code, Request, Resource};
use terse_brski::est::CsrAttributes;
use terse_net::Clock;
use terse_onboard::registrar::Service;
use tokio::net::UdpSocket;
use tokio::task::AbortHandle;

use super::coaps_pledge::How;
use super::world::{SERIAL, World};
use crate::deadline::{Deadline, soon};

const COSE: Format = Format::CoseCbor;

/// A path to `server` on which each `lost`-th datagram is lost, and each `doubled`-th one comes twice.
async fn lossy(server: SocketAddr, lost: u32, doubled: u32) -> (SocketAddr, AbortHandle) {
    let near = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = near.local_addr().unwrap();
    let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    far.connect(server).await.unwrap();
    let task = tokio::spawn(async move {
        let (mut client, mut count) = (None, 0_u32);
        let (mut there, mut back) = ([0; 2_048], [0; 2_048]);
        loop {
            let (is_there, len) = tokio::select! {
                received = near.recv_from(&mut there) => {
                    let (len, from) = received.unwrap();
                    client = Some(from);
                    (true, len)
                }
                received = far.recv(&mut back) => (false, received.unwrap()),
            };
            count += 1;
            let copies = if count % lost == 0 { 0 } else { 1 + u32::from(count % doubled == 0) };
            for _ in 0..copies {
                match (is_there, client) {
                    (true, _) => drop(far.send(&there[..len]).await),
                    (false, Some(client)) => drop(near.send_to(&back[..len], client).await),
                    (false, None) => {}
                }
            }
        }
    });
    (address, task.abort_handle())
}

#[tokio::test]
async fn lost_and_doubled_datagrams_delay_a_device_and_no_more() {
    for (lost, doubled) in [(7, 2), (5, 100)] {
        let world = World::new().await.with_coaps();
        let registrar = world.start().await;
        let device = world.device(SERIAL).of(COSE);
        let (to, path) = lossy(registrar.coaps.unwrap(), lost, doubled).await;
        let how = How { max_datagram: 400, ..How::default() };
        let mut pledge = device.connect_coaps(to, how).await;
        let request = device.voucher_request_to(pledge.registrar(), |_| {});
        assert_eq!(pledge.request_voucher(&request).await.code, Code::CHANGED);
        assert_eq!(pledge.say(Resource::VoucherStatus, true).await.code, Code::CHANGED);
        pledge.ca_certificates().await;
        let request = device.certification_request(&CsrAttributes::default());
        assert_eq!(pledge.enroll(Resource::SimpleEnroll, &request).await.code, Code::CHANGED);
        assert_eq!((world.masa.requests().len(), world.masa.issued()), (1, 1), "nothing is carried out twice");
        assert_eq!(world.count("certificates").await, 1);
        path.abort();
        registrar.stop().await;
    }
}

#[tokio::test]
async fn an_end_of_the_registrar_between_request_and_answer_loses_neither() {
    let world = World::with("devices = \"ask\"").await.with_coaps();
    let registrar = world.start_apart(Clock::new()).await;
    let device = world.device(SERIAL).of(COSE);
    let mut pledge = device.connect_coaps(registrar.coaps.unwrap(), How::default()).await;
    let request = device.voucher_request_to(pledge.registrar(), |_| {});
    assert_eq!(pledge.request_voucher(&request).await.code, Code::SERVICE_UNAVAILABLE);
    registrar.kill();
    world.operator().await.accept(SERIAL, None).await.unwrap();
    let registrar = world.start().await;
    let mut pledge = device.connect_coaps(registrar.coaps.unwrap(), How::default()).await;
    let voucher = pledge.request_voucher(&request).await;
    assert_eq!(voucher.code, Code::CHANGED, "{:?}", voucher.diagnostic());
    registrar.stop().await;
    let registrar = world.start().await;
    let mut pledge = device.connect_coaps(registrar.coaps.unwrap(), How::default()).await;
    assert_eq!(pledge.request_voucher(&request).await.payload, voucher.payload);
    assert_eq!(world.masa.issued(), 1);
    registrar.stop().await;
}

#[tokio::test]
async fn an_address_has_half_of_the_connections_over_coaps_and_makes_room_for_itself_and_is_told_to_wait() {
    let world = World::new().await.with_coaps();
    world.change("[limits]", "[limits]\nconnections = 4");
    world.change("requests_at_once = 1000000", "requests_at_once = 3\nrequests_per_second = 1");
    let registrar = world.start().await;
    let device = world.device(SERIAL).of(COSE);
    let to = registrar.coaps.unwrap();
    let mut first = device.connect_coaps(to, How::default()).await;
    let mut second = device.connect_coaps(to, How::default()).await;
    assert_eq!(first.send(Request::discovery("rt=brski")).await.code, Code::CONTENT);
    let mut third = device.connect_coaps(to, How::default()).await;
    assert_eq!(third.send(Request::discovery("rt=brski")).await.code, Code::CONTENT);
    second.give_up_soon();
    assert_eq!(second.try_send(Request::discovery("rt=brski")).await, None, "it was idle longest");
    let mut codes = Vec::new();
    let deadline = Deadline::new();
    while !codes.contains(&Code::TOO_MANY_REQUESTS) {
        deadline.check(&codes);
        codes.push(first.send(Request::discovery("rt=brski")).await.code);
    }
    registrar.stop().await;
}

#[tokio::test]
async fn garbage_on_the_sockets_for_coaps_ends_nothing() {
    let world = World::new().await.with_coaps();
    let registrar = world.start().await;
    let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for to in [registrar.coaps.unwrap(), registrar.jpy.unwrap()] {
        for garbage in [&b""[..], &[0x16], &[0x82, 0x40, 0x40], &[0xff; 1_200], &[0x16, 0xfe, 0xfd, 0, 0]] {
            stranger.send_to(garbage, to).await.unwrap();
        }
    }
    drop(stranger); // what is answered to it is reported as unreachable
    let device = world.device(SERIAL).of(COSE);
    let mut pledge = device.connect_coaps(registrar.coaps.unwrap(), How::default()).await;
    let request = device.voucher_request_to(pledge.registrar(), |_| {});
    assert_eq!(pledge.request_voucher(&request).await.code, Code::CHANGED);
    registrar.stop().await;
}

#[tokio::test]
async fn a_registrar_whose_key_is_for_rsa_has_no_coaps() {
    let world = World::new().await.with_coaps();
    let ca = terse_pki::Authority::new(&terse_pki::AuthorityOptions {
        key_identifiers: true,
        ..terse_pki::AuthorityOptions::new("rsa2048x2".parse().unwrap(), super::world::validity())
    });
    let own = ca
        .unwrap()
        .issue_registrar(&terse_pki::RegistrarOptions::new("registrar.plant.example", super::world::validity()));
    let own = own.unwrap();
    let folder = world.folder.path().join("registrar");
    std::fs::write(folder.join("registrar.pem"), own.chain_pem()).unwrap();
    std::fs::write(folder.join("registrar.key"), own.key_pem().as_bytes()).unwrap();
    let error = soon(Service::open(&world.config(), Clock::new())).await.err().unwrap().to_string();
    assert!(error.contains("[coaps] needs a key for COSE"), "{error}");
}
