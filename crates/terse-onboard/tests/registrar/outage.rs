//! A MASA that goes away and comes back: pledges and audit logs do not wait for longer than that.

use std::time::Duration;

use terse_onboard::client::Incoming;
use tokio::task::JoinSet;

use super::enrolment::until_good;
use super::scripted_masa::Script;
use super::world::{Device, Pledge, Running, SERIAL, World, text};
use crate::deadline::{Deadline, soon};

/// Sends a voucher request again and again, each time after the Retry-After, until it has another answer than that.
async fn until_answered(pledge: &mut Pledge, request: &[u8]) -> Incoming {
    let deadline = Deadline::new();
    loop {
        let answer = pledge.request_voucher(request).await;
        if answer.status != 202 {
            return answer;
        }
        deadline.check(text(&answer));
        wait(&answer).await;
    }
}

async fn wait(answer: &Incoming) {
    let seconds = answer.retry_after.unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test]
async fn a_pledge_has_its_voucher_as_soon_as_the_masa_is_back() {
    let world = World::new().await;
    let registrar = world.start().await;
    world.masa.go().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    let answer = pledge.request_voucher(&request).await;
    assert_eq!((answer.status, answer.retry_after), (202, Some(1)));
    wait(&answer).await;
    let answer = pledge.request_voucher(&request).await;
    assert_eq!((answer.status, answer.retry_after), (202, Some(2)), "it was tried again");
    world.masa.come_back().await;
    assert_eq!(until_answered(&mut pledge, &request).await.status, 200);
    assert_eq!((world.masa.arrived(), world.masa.issued()), (1, 1));
    // Another one does not wait any more.
    let other = world.device("WI-3006");
    let mut pledge = other.connect(&registrar).await;
    let request = other.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    registrar.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_pledges_wait_for_a_masa_and_each_has_one_voucher() {
    let world = World::new().await;
    let registrar = std::sync::Arc::new(world.start().await);
    world.masa.go().await;
    let mut pledges = JoinSet::new();
    let (waiting, mut told) = tokio::sync::mpsc::channel(64);
    for number in 0..50 {
        let (device, registrar) = (world.device(&format!("D-{number}")), registrar.clone());
        let waiting = waiting.clone();
        pledges.spawn(async move {
            let mut pledge = device.connect(&registrar).await;
            let request = device.voucher_request(&pledge);
            let answer = pledge.request_voucher(&request).await;
            assert_eq!(answer.status, 202);
            waiting.send(()).await.unwrap();
            wait(&answer).await;
            until_answered(&mut pledge, &request).await.status
        });
    }
    for _ in 0..50 {
        soon(told.recv()).await.unwrap();
    }
    world.masa.come_back().await;
    assert!(pledges.join_all().await.iter().all(|status| *status == 200));
    assert_eq!((world.masa.arrived(), world.masa.issued()), (50, 50));
}

#[tokio::test]
async fn two_registrars_send_one_request_when_the_masa_is_back() {
    let world = World::new().await;
    let registrars = [world.start().await, world.start().await];
    world.masa.go().await;
    let device = world.device(SERIAL);
    let request = device.voucher_request(&device.connect(&registrars[0]).await);
    for registrar in &registrars {
        assert_eq!(device.connect(registrar).await.request_voucher(&request).await.status, 202);
    }
    world.masa.come_back().await;
    let mut tasks = JoinSet::new();
    for registrar in registrars.iter().cycle().take(6) {
        let (mut pledge, request) = (device.connect(registrar).await, request.clone());
        tasks.spawn(async move { until_answered(&mut pledge, &request).await.body });
    }
    let vouchers = tasks.join_all().await;
    assert!(vouchers.iter().all(|voucher| *voucher == vouchers[0]));
    assert_eq!((world.masa.arrived(), world.masa.issued()), (1, 1));
    registrars.map(Running::stop).into_iter().collect::<JoinSet<_>>().join_all().await;
}

#[tokio::test]
async fn a_masa_that_refuses_is_not_asked_again_at_once() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    for script in [Script::Status(503, "not now"), Script::Status(403, "not yours")] {
        world.masa.script(script);
        let request = device.voucher_request(&pledge);
        let before = world.masa.arrived();
        let answer = pledge.request_voucher(&request).await;
        assert_eq!(pledge.request_voucher(&request).await.status, answer.status);
        assert_eq!(world.masa.arrived(), before + 1);
    }
    // What it has said is no outage: others ask it.
    world.masa.script(Script::Honest);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn a_masa_that_has_no_audit_log_is_not_asked_again_at_once() {
    let world = World::new().await;
    world.masa.script_audits(Script::Status(503, "not now"));
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    for _ in 0..15 {
        assert_eq!(pledge.voucher_status(true).await.status, 200);
        let answer = pledge.get("/.well-known/est/cacerts").await;
        assert!(answer.status == 202 && (1..=5).contains(&answer.retry_after.unwrap()));
    }
    assert!(world.masa.audit_requests() < 10, "{}", world.masa.audit_requests());
    world.masa.script_audits(Script::Honest);
    let mut answer = pledge.get("/.well-known/est/cacerts").await;
    let deadline = Deadline::new();
    while answer.status == 202 {
        deadline.check(text(&answer));
        wait(&answer).await;
        answer = pledge.get("/.well-known/est/cacerts").await;
    }
    assert_eq!(answer.status, 200);
    registrar.stop().await;
}

/// Gets a voucher, and loses the MASA before its audit log is asked for.
async fn joined_without_log(world: &World, registrar: &Running, device: &Device) -> Pledge {
    let mut pledge = device.connect(registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    world.masa.go().await;
    assert_eq!(pledge.voucher_status(true).await.status, 200);
    pledge
}

#[tokio::test]
async fn a_device_waits_for_its_audit_log_as_long_as_the_masa_is_away() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = joined_without_log(&world, &registrar, &device).await;
    let answer = pledge.get("/.well-known/est/cacerts").await;
    assert_eq!(answer.status, 202);
    wait(&answer).await;
    world.masa.come_back().await;
    let deadline = Deadline::new();
    loop {
        let answer = pledge.get("/.well-known/est/cacerts").await;
        if answer.status == 200 {
            break;
        }
        deadline.check(text(&answer));
        assert_eq!(answer.status, 202);
        wait(&answer).await;
    }
    registrar.stop().await;
}

#[tokio::test]
async fn an_audit_log_comes_when_the_masa_is_back_without_the_device() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let operator = world.operator().await;
    drop(joined_without_log(&world, &registrar, &device).await);
    let report = async || operator.devices().await.unwrap().remove(0);
    let deadline = Deadline::new();
    while report().await.audit_reason.is_none() {
        deadline.wait(report().await).await;
    }
    assert_eq!(report().await.audit, "requested");
    world.masa.come_back().await;
    until_good(&operator).await;
    assert_eq!(operator.devices().await.unwrap()[0].audit_reason, None);
    registrar.stop().await;
}
