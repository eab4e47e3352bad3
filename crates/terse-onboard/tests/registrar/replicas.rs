//! Registrars with one database, certificate and key: where one is killed, another one goes on.

use terse_brski::artefact::Format;
use terse_brski::coap::{Code, Request, Resource, content_format};
use terse_brski::est::CsrAttributes;
use terse_net::Clock;

use super::coaps_pledge::How;
use super::scripted_masa::Script;
use super::world::{Device, Pledge, Running, SERIAL, World, ahead, certificate};

/// Asks until the voucher is there, always with the same bytes. Returns it, and the connection.
async fn voucher(device: &Device, registrar: &Running, request: &[u8]) -> (Vec<u8>, Pledge) {
    let mut pledge = device.connect(registrar).await;
    let answer = pledge.until_voucher(request).await;
    (answer.body.to_vec(), pledge)
}

/// The device joins and enrols at replicas that are killed after each step, and leaves one of everything behind.
async fn goes_on(world: &World, device: &Device, request: &[u8]) {
    let second = world.start_apart(ahead(120)).await;
    let (first_answer, _pledge) = voucher(device, &second, request).await;
    second.kill();
    let third = world.start_apart(ahead(120)).await;
    let (answer, mut pledge) = voucher(device, &third, request).await;
    assert_eq!(answer, first_answer);
    assert_eq!((world.masa.issued(), world.masa.logged(SERIAL)), (1, 1));
    assert_eq!(pledge.voucher_status(true).await.status, 200);
    assert_eq!(pledge.until_decided("/.well-known/est/cacerts").await.status, 200);
    let csr = device.certification_request(&CsrAttributes::default());
    let ldevid = certificate(&pledge.enroll("simpleenroll", &csr).await);
    third.kill();

    let fourth = world.start_at(ahead(120)).await;
    let again = certificate(&device.connect(&fourth).await.enroll("simpleenroll", &csr).await);
    assert_eq!(again, ldevid);
    assert_eq!(device.connect_with(&fourth, &ldevid).await.enroll_status(true).await.status, 200);
    fourth.stop().await;
    assert_eq!((world.count("requests").await, world.count("certificates").await), (1, 1));
    assert_eq!((world.count("joinings").await, world.count("history").await), (1, 1));
    assert_eq!((world.masa.issued(), world.masa.logged(SERIAL)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_for_the_masa_is_answered_by_another_replica() {
    let world = World::new().await;
    world.change("hold_milliseconds = 30000", "hold_milliseconds = 1");
    world.masa.script(Script::Slow);
    let device = world.device(SERIAL);
    let first = world.start_apart(Clock::new()).await;
    let mut pledge = device.connect(&first).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    world.masa.until_arrived(1).await;
    first.kill();
    assert_eq!(world.masa.issued(), 0);
    world.masa.script(Script::Honest);
    goes_on(&world, &device, &request).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_for_the_operator_is_answered_by_another_replica() {
    let world = World::with("devices = \"ask\"").await;
    let device = world.device(SERIAL);
    let first = world.start_apart(Clock::new()).await;
    let mut pledge = device.connect(&first).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    first.kill();
    assert_eq!(world.operator().await.accept(SERIAL, None).await.unwrap(), "maker");
    goes_on(&world, &device, &request).await;
}

/// A load balancer that leads a device from another port to another replica: that one does not know the connection ID, and the device
/// gets the same voucher over a new connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_over_coaps_begins_anew_at_another_replica_with_the_same_voucher() {
    let world = World::new().await.with_coaps();
    let (first, second) = (world.start().await, world.start().await);
    let device = world.device(SERIAL).of(Format::CoseCbor);
    let mut pledge = device.connect_coaps(first.coaps.unwrap(), How::default()).await;
    let request = device.voucher_request_to(pledge.registrar(), |_| {});
    let answer = pledge.request_voucher(&request).await;
    assert_eq!(answer.code, Code::CHANGED, "{:?}", answer.diagnostic());

    pledge.move_to_another_port(second.coaps.unwrap());
    pledge.give_up_soon();
    let again = Request::post(Resource::RequestVoucher, content_format::VOUCHER_COSE, &request);
    assert!(pledge.try_send(again).await.is_none(), "nobody answers there");
    let mut anew = device.connect_coaps(second.coaps.unwrap(), How::default()).await;
    assert_eq!(anew.request_voucher(&request).await.payload, answer.payload);
    assert_eq!(world.masa.issued(), 1);
    first.stop().await;
    second.stop().await;
}
