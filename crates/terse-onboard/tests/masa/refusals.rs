//! Each refusal has its status, and a text that says what to do.

use core::time::Duration;

use pki_types::UnixTime;
use terse_brski::artefact::Format;
use terse_brski::audit_log::AuditLog;
use terse_brski::masa::Claims;
use terse_brski::voucher::Assertion;
use terse_onboard::client::Outgoing;
use terse_onboard::masa::{Change, change_device};

use super::scene::{Domain, SERIAL, Scene, issued, now, refused, send, voucher};
use crate::deadline::Deadline;

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_another_domain_has_is_not_given_away() {
    for format in Format::ALL {
        let scene = Scene::of(format).await;
        let masa = scene.start().await;
        assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 200);
        let rival = Domain::new("Rival");
        let answer = scene.ask(masa.address, &scene.request_of(&rival, "a nonce")).await;
        refused(&answer, 403, "the device belongs to another domain; its owner must have it released");
        assert_eq!(scene.log().await.len(), 1);
    }
}

/// A stranger has kept the request of a device that was near to his registrar, whose certificates he has made himself.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_kept_gets_no_voucher() {
    for format in Format::ALL {
        let scene = Scene::of(format).await;
        let masa = scene.start().await;
        let stranger = Domain::new("Stranger");
        let pledge_request = |days: Option<u64>| {
            let mut fields = scene.pledge_fields(&stranger, "a nonce");
            fields.created_on = days.map(|days| UnixTime::since_unix_epoch(Duration::from_secs(now() - days * 86_400)));
            scene.sign_as_pledge(&fields)
        };
        let request = |domain: &Domain, pledge_request: &[u8]| {
            let mut fields = scene.fields(domain, "a nonce");
            fields.prior_signed_voucher_request = Some(pledge_request.into());
            scene.sign_as(domain, &fields)
        };
        let kept = request(&stranger, &pledge_request(Some(400)));
        refused(&scene.ask(masa.address, &kept).await, 403, "too long ago");
        assert!(scene.log().await.is_empty());
        // Nobody knows how old this one is. It shows which device it is, and not where.
        let undated = pledge_request(None);
        let voucher = issued(&scene, &scene.ask(masa.address, &request(&stranger, &undated)).await);
        assert_eq!(voucher.assertion, Assertion::Logged);
        // Nor does it serve a second time, when the device is free again.
        change_device(&scene.config, SERIAL, Change::Release).await.unwrap();
        let again = request(&scene.domain, &undated);
        refused(&scene.ask(masa.address, &again).await, 403, "has served for a voucher before");
        assert_eq!(scene.log().await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_see_no_audit_log() {
    for format in Format::ALL {
        let mut scene = Scene::of(format).await;
        scene.config.policy.claims = Claims::Always;
        let masa = scene.start().await;
        let stranger = Domain::new("Stranger");
        let request = scene.request("a nonce");
        refused(&scene.ask_audit_log(masa.address, &request).await, 404, "there is no audit log");
        assert_eq!(scene.ask(masa.address, &request).await.status, 200);
        let asked = scene.request_of(&stranger, "a nonce");
        refused(&scene.ask_audit_log(masa.address, &asked).await, 404, "there is no audit log");
        // Who has had the device sees who has it now, and the other way round.
        assert_eq!(scene.ask(masa.address, &asked).await.status, 200);
        for request in [&request, &asked] {
            let answer = scene.ask_audit_log(masa.address, request).await;
            assert_eq!(AuditLog::from_json(&answer.body, 4_096).unwrap().events.len(), 2);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_fields_of_http_say_counts() {
    for format in Format::ALL {
        let scene = Scene::of(format).await;
        let masa = scene.start().await;
        let mut connection = scene.connect(masa.address, None).await;
        let request = voucher(&scene.request("a nonce"));
        let cases = [
            (Outgoing { content_type: Some("application/json"), ..request.clone() }, 415, "Content-Type"),
            (Outgoing { content_type: None, ..request.clone() }, 415, "Content-Type"),
            (Outgoing { accept: Some("application/voucher-jws+json"), ..request.clone() }, 406, format.media_type()),
            (Outgoing { accept: Some("text/html"), ..request.clone() }, 415, "Accept"),
            (Outgoing { path: "/", ..request.clone() }, 404, "a MASA is at /.well-known/brski"),
            (Outgoing { path: "/.well-known/brski/requestvoucher", ..Outgoing::default() }, 405, "send a POST"),
            (Outgoing { path: "/health", ..request.clone() }, 405, "a GET for /health"),
        ];
        for (request, status, part) in cases {
            refused(&send(&mut connection, request).await.unwrap(), status, part);
        }
        assert_eq!(scene.log().await, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_of_another_manufacturer_is_not_known() {
    for format in Format::ALL {
        let scene = Scene::of(format).await;
        let other = Scene::of(format).await; // its CA has the same name, and its device the same serial number
        let masa = scene.start().await;
        let request = other.sign_as(&scene.domain, &other.fields(&scene.domain, "a nonce"));
        refused(&scene.ask(masa.address, &request).await, 404, "this is no device of this manufacturer");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_without_record_counts_if_the_policy_says_so() {
    for format in Format::ALL {
        let mut scene = Scene::of(format).await;
        scene.forget();
        let masa = scene.start().await;
        let request = scene.request("a nonce");
        refused(&scene.ask(masa.address, &request).await, 404, "no such device is known here");
        assert_eq!(scene.store().await.devices(super::scene::SERIAL).await.unwrap(), [], "nothing was written");
        masa.stop().await;

        scene.config.policy.devices_without_record = true;
        let masa = scene.start().await;
        let answer = scene.ask(masa.address, &request).await;
        assert_eq!(answer.status, 200);
        assert_eq!(scene.ask(masa.address, &request).await, answer);
        let rival = Domain::new("Rival");
        refused(&scene.ask(masa.address, &scene.request_of(&rival, "a nonce")).await, 403, "belongs to another domain");
        assert_eq!(scene.ask(masa.address, &scene.request("another nonce")).await.status, 200);
        assert_eq!(scene.log().await.len(), 2);
        masa.stop().await;

        // It was proof enough then, and is no record now.
        scene.config.policy.devices_without_record = false;
        let masa = scene.start().await;
        refused(&scene.ask(masa.address, &scene.request("a third nonce")).await, 404, "no such device is known here");
        assert_eq!(scene.ask(masa.address, &request).await, answer, "what was issued stays issued");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_from_one_address_and_vouchers_for_one_device_are_limited() {
    let mut scene = Scene::new().await;
    scene.config.limits.vouchers_per_device_and_day = 2;
    scene.config.limits.requests_per_minute = 5;
    let masa = scene.start().await;
    let mut connection = scene.connect(masa.address, None).await;
    let requests: Vec<_> = (0..3).map(|number| scene.request(&format!("nonce {number}"))).collect();
    for request in &requests[..2] {
        assert_eq!(send(&mut connection, voucher(request)).await.unwrap().status, 200);
    }
    let answer = send(&mut connection, voucher(&requests[2])).await.unwrap();
    refused(&answer, 429, "too many vouchers for this device");
    assert_eq!(send(&mut connection, voucher(&requests[0])).await.unwrap().status, 200, "a repetition is no new one");
    assert_eq!(scene.log().await.len(), 2);
    // The fifth request is admitted, and one of the next as well if a minute's fifth has passed.
    let mut statuses = Vec::new();
    let deadline = Deadline::new();
    while !statuses.contains(&429) {
        deadline.check(&statuses);
        let answer = send(&mut connection, Outgoing { path: "/health", ..Outgoing::default() }).await.unwrap();
        statuses.push(answer.status);
        if answer.status == 429 {
            refused(&answer, 429, "too many requests from this address");
            assert!(answer.retry_after.is_some_and(|seconds| (1..=13).contains(&seconds)), "{answer:?}");
        }
    }
    assert_eq!(statuses[0], 200);
}
