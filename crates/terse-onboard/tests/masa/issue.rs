//! Vouchers and audit logs; the same request again, after a restart, and at two MASAs at once.

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use terse_aws_lc::PROVIDER;
use terse_brski::artefact::Format;
use terse_brski::audit_log::AuditLog;
use terse_brski::certificate::domain_id;

use terse_brski::digest::public_key_sha256;
use terse_brski::http::JSON;
use terse_brski::masa::{Claims, Nonceless, PinChoice};
use terse_brski::voucher::{Assertion, Nonce, Pin};
use terse_net::Clock;
use terse_net::pki_types::UnixTime;
use terse_onboard::masa::{MasaService, VoucherSigner};

use tokio::sync::{Barrier, Notify, Semaphore};
use tokio::task::JoinSet;

use super::scene::{Domain, SERIAL, Scene, issued, now, refused, send, soon, voucher};
use crate::deadline::Deadline;

#[tokio::test(flavor = "multi_thread")]
async fn a_device_gets_a_voucher_that_leads_to_its_anchors() {
    for format in Format::ALL {
        let scene = Scene::of(format).await;
        let masa = scene.start().await;
        let answer = scene.ask(masa.address, &scene.request("a nonce")).await;
        let voucher = issued(&scene, &answer);
        let lowest_ca = &scene.domain.registrar.chain[1];
        assert_eq!(voucher.serial_number, SERIAL);
        assert_eq!(voucher.assertion, Assertion::Proximity);
        assert_eq!(voucher.nonce, Some(Nonce::new(b"a nonce").unwrap()));
        assert_eq!(voucher.pins, [Pin::Certificate(lowest_ca.clone())]);

        // The audit log, and the owner.
        let answer = scene.ask_audit_log(masa.address, &scene.request("a nonce")).await;
        assert_eq!((answer.status, answer.content_type.as_deref()), (200, Some(JSON)));
        let log = AuditLog::from_json(&answer.body, 4_096).unwrap();
        assert_eq!(log.events.len(), 1);
        assert_eq!(log.events[0].domain_id, domain_id(&PROVIDER, lowest_ca).unwrap());
        assert_eq!(log.events[0].nonce, voucher.nonce);
        masa.stop().await;
        let records = scene.store().await.devices(SERIAL).await.unwrap();
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].device.owner, Some(public_key_sha256(&PROVIDER, lowest_ca).unwrap()));
        assert_eq!(records[0].entries, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_get_the_same_voucher_also_after_a_restart() {
    for format in Format::ALL {
        let scene = Scene::of(format).await;
        let request = scene.request("a nonce");
        let masa = scene.start().await;
        let first = scene.ask(masa.address, &request).await;
        assert_eq!(first.status, 200);
        assert_eq!(scene.ask(masa.address, &request).await, first);
        masa.stop().await;
        let masa = scene.start().await;
        assert_eq!(scene.ask(masa.address, &request).await, first);
        assert_eq!(scene.log().await.len(), 1);
        // Another request of the same domain is another voucher, and another entry.
        let second = scene.ask(masa.address, &scene.request("another nonce")).await;
        assert_eq!(second.status, 200);
        assert_ne!(second.body, first.body);
        assert_eq!(scene.log().await.len(), 2);
        masa.stop().await;
    }
}

/// A signer that waits until so many have come to sign.
fn meeting(service: &MasaService, meeting: &Arc<Barrier>, signatures: &Arc<AtomicUsize>) -> VoucherSigner {
    let (sign, meeting, signatures) = (service.voucher_signer(), meeting.clone(), signatures.clone());
    Arc::new(move |scheme, message| {
        let (sign, meeting) = (sign.clone(), meeting.clone());
        // Who has lost signs again alone, if it does.
        let is_first = signatures.fetch_add(1, Ordering::SeqCst) < 2;
        Box::pin(async move {
            if is_first {
                meeting.wait().await;
            }
            sign(scheme, message).await
        })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn two_masas_with_one_database_issue_one_voucher_for_one_request() {
    for format in Format::ALL {
        let scene = Scene::of(format).await;
        let (both, signatures) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
        let start = || {
            scene.start_with(|service| {
                let signer = meeting(&service, &both, &signatures);
                service.with_voucher_signer(signer)
            })
        };
        let (one, other) = (start().await, start().await);
        let request = scene.request("a nonce");
        let answers =
            soon(async { tokio::join!(scene.ask(one.address, &request), scene.ask(other.address, &request)) });
        let (first, second) = answers.await;
        assert_eq!(first.status, 200, "{}", String::from_utf8_lossy(&first.body));
        assert_eq!(first, second);
        assert_eq!(signatures.load(Ordering::SeqCst), 2, "both have signed, and one was stored");
        assert_eq!(scene.log().await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_domains_at_once_one_gets_the_device() {
    for format in Format::ALL {
        let scene = Scene::of(format).await;
        let rival = Domain::new("Rival");
        let (both, signatures) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
        let masa = scene.start_with(|service| {
            let signer = meeting(&service, &both, &signatures);
            service.with_voucher_signer(signer)
        });
        let masa = masa.await;
        let requests = (scene.request("a nonce"), scene.request_of(&rival, "a nonce"));
        let answers =
            async { tokio::join!(scene.ask(masa.address, &requests.0), scene.ask(masa.address, &requests.1)) };
        let (own, rival) = soon(answers).await;
        let (got, refused_one) = if own.status == 200 { (own, rival) } else { (rival, own) };
        assert_eq!(got.status, 200);
        refused(&refused_one, 403, "belongs to another domain");
        assert_eq!(scene.log().await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_all_that_ask_two_masas_at_once_each_gets_one_voucher() {
    let mut scene = Scene::new().await;
    scene.config.policy.claims = Claims::Always;
    let domains: Vec<_> = (0..4).map(|number| Domain::new(&format!("Plant {number}"))).collect();
    let masas = [scene.start().await, scene.start().await];
    let scene = Arc::new(scene);
    // Each request is posted to both MASAs, which have one database, while the other domains do the same.
    let mut asking = JoinSet::new();
    for domain in domains {
        let (scene, addresses) = (scene.clone(), masas.each_ref().map(|masa| masa.address));
        asking.spawn(async move {
            for round in 0..10 {
                let request = scene.request_of(&domain, &format!("nonce {round}"));
                let (one, other) = tokio::join!(scene.ask(addresses[0], &request), scene.ask(addresses[1], &request));
                assert_eq!(one.status, 200, "{}", String::from_utf8_lossy(&one.body));
                assert_eq!(one, other);
            }
            public_key_sha256(&PROVIDER, &domain.registrar.chain[1]).unwrap()
        });
    }
    let keys = soon(asking.join_all()).await;
    let log = scene.log().await;
    assert_eq!(log.len(), 40, "one entry for each request");
    for key in keys {
        assert_eq!(log.iter().filter(|entry| entry.key == key).count(), 10);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_that_has_expired_is_replaced_for_the_same_request() {
    for format in Format::ALL {
        let mut scene = Scene::of(format).await;
        scene.add_customer("ca = \"plant-ca.pem\"");
        scene.config.policy.nonceless = Some(Nonceless { lifetime: 600, pin: PinChoice::LowestCa });
        let request = scene.nonceless_request();
        let masa = scene.start().await;
        let first = scene.ask(masa.address, &request).await;
        assert_eq!(first.status, 200, "{}", String::from_utf8_lossy(&first.body));
        masa.stop().await;

        // Ten minutes later it is repeated for the last time.
        let later = |seconds| Clock::starting_at(UnixTime::since_unix_epoch(Duration::from_secs(now() + seconds)));
        let masa = scene.start_at(later(500)).await;
        assert_eq!(scene.ask(masa.address, &request).await, first);
        masa.stop().await;
        let masa = scene.start_at(later(700)).await;
        let second = scene.ask(masa.address, &request).await;
        assert_eq!(second.status, 200);
        assert_ne!(second.body, first.body);
        assert_eq!(scene.ask(masa.address, &request).await, second);
        assert_eq!(scene.log().await.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_signer_is_at_work_the_registrar_is_told_to_come_back() {
    let mut scene = Scene::new().await;
    scene.config.limits.voucher_seconds = 0;
    let (release, signatures) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let masa = scene.start_with(|service| {
        let (sign, release, signatures) = (service.voucher_signer(), release.clone(), signatures.clone());
        service.with_voucher_signer(Arc::new(move |scheme, message| {
            let (sign, release) = (sign.clone(), release.clone());
            signatures.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move {
                release.acquire().await.unwrap().forget();
                sign(scheme, message).await
            })
        }))
    });
    let masa = masa.await;
    let request = scene.request("a nonce");
    for _ in 0..3 {
        let answer = scene.ask(masa.address, &request).await;
        refused(&answer, 202, "send the same request again");
        assert_eq!(answer.retry_after, Some(10));
    }
    assert_eq!(scene.log().await, []);
    release.add_permits(1);
    // The registrar has hung up; the voucher is issued nonetheless.
    let deadline = Deadline::new();
    let answer = loop {
        let answer = scene.ask(masa.address, &request).await;
        if answer.status != 202 {
            break answer;
        }
        deadline.wait(String::from_utf8_lossy(&answer.body)).await;
    };
    assert_eq!(answer.status, 200);
    assert_eq!(signatures.load(Ordering::SeqCst), 1, "the signer was asked once");
    assert_eq!(scene.log().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_lets_a_request_under_way_finish() {
    let scene = Scene::new().await;
    let (began, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let masa = scene.start_with(|service| {
        let (sign, began, go_on) = (service.voucher_signer(), began.clone(), go_on.clone());
        service.with_voucher_signer(Arc::new(move |scheme, message| {
            let (sign, began, go_on) = (sign.clone(), began.clone(), go_on.clone());
            Box::pin(async move {
                began.notify_one();
                go_on.notified().await;
                sign(scheme, message).await
            })
        }))
    });
    let masa = masa.await;
    let mut connection = scene.connect(masa.address, None).await;
    let request = voucher(&scene.request("a nonce"));
    let asked = tokio::spawn(async move { send(&mut connection, request).await });
    soon(began.notified()).await;
    let stopped = tokio::spawn(masa.stop());
    go_on.notify_one();
    assert_eq!(soon(asked).await.unwrap().unwrap().status, 200);
    soon(stopped).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_device_does_not_take_all_places() {
    let mut scene = Scene::new().await;
    scene.config.limits.voucher_seconds = 0;
    let masa =
        scene.start_with(|service| service.with_voucher_signer(Arc::new(|_, _| Box::pin(core::future::pending()))));
    let masa = masa.await;
    let requests: Vec<_> = (0..8).map(|number| scene.request(&format!("nonce {number}"))).collect();
    for request in &requests {
        refused(&scene.ask(masa.address, request).await, 202, "not signed yet");
    }
    refused(&scene.ask(masa.address, &scene.request("another nonce")).await, 503, "too much is under way");
    refused(&scene.ask(masa.address, &requests[0]).await, 202, "not signed yet");
}
