//! The same request again: at once, after a restart, and at another process on the same database.

use terse_brski::artefact::Format;
use terse_brski::est::CsrAttributes;
use tokio::task::JoinSet;

use super::scripted_masa::Script;
use super::world::{Device, Running, SERIAL, World, ahead, certificate};
use crate::deadline::Deadline;

#[tokio::test]
async fn the_same_request_has_the_same_voucher_everywhere() {
    for format in Format::ALL {
        let world = World::new().await;
        let (first, second) = (world.start().await, world.start().await);
        let device = world.device(SERIAL).of(format);
        let mut pledge = device.connect(&first).await;
        let request = device.voucher_request(&pledge);
        let voucher = pledge.request_voucher(&request).await;
        assert_eq!(voucher.status, 200);
        assert_eq!(pledge.request_voucher(&request).await, voucher);
        assert_eq!(device.connect(&second).await.request_voucher(&request).await, voucher, "another process");
        first.stop().await;
        second.stop().await;
        let third = world.start().await;
        assert_eq!(device.connect(&third).await.request_voucher(&request).await, voucher, "after a restart");
        assert_eq!((world.masa.requests().len(), world.masa.issued()), (1, 1));
        third.stop().await;
    }
}

/// Sends a request eight times at once, four times to each registrar, and each is told to come again.
async fn send_at_once(registrars: &[Running; 2], device: &Device, request: &[u8]) {
    let mut pledges = Vec::new();
    for registrar in registrars.iter().cycle().take(8) {
        pledges.push(device.connect(registrar).await);
    }
    let mut tasks = JoinSet::new();
    for mut pledge in pledges {
        let request = request.to_vec();
        tasks.spawn(async move { pledge.request_voucher(&request).await.status });
    }
    assert!(tasks.join_all().await.iter().all(|status| *status == 202));
}

#[tokio::test]
async fn a_device_that_is_rejected_while_the_masa_takes_its_time_gets_no_voucher() {
    for format in Format::ALL {
        let world = World::new().await;
        let registrar = world.start().await;
        let device = world.device(SERIAL).of(format);
        world.masa.script(Script::Slow);
        let mut pledge = device.connect(&registrar).await;
        let request = device.voucher_request(&pledge);
        let rejected = async {
            world.masa.until_arrived(1).await;
            world.operator().await.reject(SERIAL, None).await.unwrap();
            world.masa.release();
        };
        let (answer, ()) = tokio::join!(pledge.request_voucher(&request), rejected);
        assert_eq!((answer.status, world.masa.issued()), (202, 1));
        super::world::refused(&pledge.request_voucher(&request).await, 406, "rejected");
        assert_eq!(world.count("joinings").await, 0);
        registrar.stop().await;
    }
}

#[tokio::test]
async fn requests_at_once_are_one_request() {
    for format in Format::ALL {
        let world = World::new().await;
        world.change("hold_milliseconds = 30000", "hold_milliseconds = 1");
        world.masa.script(Script::Slow);
        let device = world.device(SERIAL).of(format);
        let registrars = [world.start().await, world.start().await];
        let request = device.voucher_request(&device.connect(&registrars[0]).await);
        send_at_once(&registrars, &device, &request).await;
        registrars.map(Running::stop).into_iter().collect::<JoinSet<_>>().join_all().await;

        // The MASA has not answered for a minute: it is asked once more, and answers both.
        let registrars = [world.start_at(ahead(120)).await, world.start_at(ahead(120)).await];
        send_at_once(&registrars, &device, &request).await;
        world.masa.release();
        world.masa.release();
        let mut pledge = device.connect(&registrars[1]).await;
        pledge.until_voucher(&request).await;
        assert_eq!((world.masa.arrived(), world.masa.issued()), (2, 1));
        registrars.map(Running::stop).into_iter().collect::<JoinSet<_>>().join_all().await;
    }
}

#[tokio::test]
async fn certification_requests_at_once_have_one_certificate() {
    let world = World::new().await;
    let registrars = [world.start().await, world.start().await];
    let device = world.device(SERIAL);
    device.join(&registrars[0]).await;
    let request = device.certification_request(&CsrAttributes::default());
    let mut tasks = JoinSet::new();
    for registrar in registrars.iter().cycle().take(8) {
        let (mut pledge, request) = (device.connect(registrar).await, request.clone());
        tasks.spawn(async move { certificate(&pledge.enroll("simpleenroll", &request).await) });
    }
    let certificates = tasks.join_all().await;
    assert!(certificates.iter().all(|one| *one == certificates[0]));
    for registrar in registrars {
        registrar.stop().await;
    }
}

#[tokio::test]
async fn a_device_has_so_many_requests_a_day() {
    let world = World::with("devices = \"ask\"").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    for _ in 0..64 {
        let request = device.voucher_request(&pledge);
        assert_eq!(pledge.request_voucher(&request).await.status, 202);
    }
    let request = device.voucher_request(&pledge);
    super::world::refused(&pledge.request_voucher(&request).await, 429, "tomorrow");
    assert_eq!(world.operator().await.pending().await.unwrap().len(), 1, "it is one device");
    registrar.stop().await;
}

#[tokio::test]
async fn an_address_has_so_many_requests() {
    let world = World::new().await;
    world.change("requests_at_once = 1000000", "requests_at_once = 3\nrequests_per_second = 1");
    let registrar = world.start().await;
    let mut pledge = world.device(SERIAL).connect(&registrar).await;
    let mut statuses = Vec::new();
    let deadline = Deadline::new();
    while !statuses.contains(&429) {
        deadline.check(&statuses);
        statuses.push(pledge.get("/health").await.status);
    }
    assert_eq!(statuses[..3], [200, 200, 200]);
    registrar.stop().await;
}
