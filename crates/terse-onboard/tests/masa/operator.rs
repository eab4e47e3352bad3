//! What the operator sees and changes while the MASA serves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use terse_aws_lc::PROVIDER;
use terse_brski::certificate::domain_id;
use terse_brski::masa::{Buyer, Claims};
use terse_onboard::masa::{Change, DeviceOptions, MasaError, change_device, device_logs, make_idevid};

use super::scene::{Domain, SERIAL, Scene, now, refused};

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_is_released_goes_to_the_next_domain() {
    let scene = Scene::new().await;
    let masa = scene.start().await;
    let rival = Domain::new("Rival");
    assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 200);
    let asked = scene.request_of(&rival, "a nonce");
    refused(&scene.ask(masa.address, &asked).await, 403, "belongs to another domain");
    let records = change_device(&scene.config, SERIAL, Change::Release).await.unwrap();
    assert_eq!(records[0].device.owner, None);
    assert_eq!(scene.ask(masa.address, &asked).await.status, 200);
    refused(&scene.ask(masa.address, &scene.request("another nonce")).await, 403, "belongs to another domain");

    let logs = device_logs(&scene.config, SERIAL).await.unwrap();
    assert_eq!(logs.len(), 1);
    let domains: Vec<_> = logs[0].log.events.iter().map(|event| event.domain_id.clone()).collect();
    let of = |domain: &Domain| domain_id(&PROVIDER, &domain.registrar.chain[1]).unwrap();
    assert_eq!(domains, [of(&rival), of(&scene.domain)], "the newest first");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_is_blocked_gets_no_voucher() {
    let scene = Scene::new().await;
    let masa = scene.start().await;
    let request = scene.request("a nonce");
    let first = scene.ask(masa.address, &request).await;
    assert_eq!(first.status, 200);
    change_device(&scene.config, SERIAL, Change::Block).await.unwrap();
    let another = scene.request("another nonce");
    for request in [&another, &request] {
        refused(&scene.ask(masa.address, request).await, 406, "no vouchers are issued for this device");
    }
    change_device(&scene.config, SERIAL, Change::Unblock).await.unwrap();
    assert_eq!(scene.ask(masa.address, &request).await, first);
    assert_eq!(scene.ask(masa.address, &another).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_without_record_can_be_blocked_and_released() {
    let mut scene = Scene::new().await;
    scene.forget();
    scene.config.policy.devices_without_record = true;
    let masa = scene.start().await;
    let rival = Domain::new("Rival");
    let asked = scene.request_of(&rival, "a nonce");
    assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 200);
    change_device(&scene.config, SERIAL, Change::Block).await.unwrap();
    refused(&scene.ask(masa.address, &asked).await, 406, "no vouchers are issued for this device");
    change_device(&scene.config, SERIAL, Change::Unblock).await.unwrap();
    refused(&scene.ask(masa.address, &asked).await, 403, "belongs to another domain");
    change_device(&scene.config, SERIAL, Change::Release).await.unwrap();
    assert_eq!(scene.ask(masa.address, &asked).await.status, 200);
    assert_eq!(scene.log().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_audit_log_still_knows_its_first_owner() {
    let mut scene = Scene::new().await;
    scene.config.policy.claims = Claims::Always;
    scene.config.policy.max_events = 3;
    let masa = scene.start().await;
    let request = scene.request("a nonce");
    assert_eq!(scene.ask(masa.address, &request).await.status, 200);
    let rival = Domain::new("Rival");
    for number in 0..5 {
        let asked = scene.request_of(&rival, &format!("nonce {number}"));
        assert_eq!(scene.ask(masa.address, &asked).await.status, 200);
    }
    let answer = scene.ask_audit_log(masa.address, &request).await;
    let log = terse_brski::audit_log::AuditLog::from_json(&answer.body, 4_096).unwrap();
    assert_eq!(log.events.len(), 2, "one for each domain");
    assert_eq!(log.nonced_duplicates, 4);
    let logs = device_logs(&scene.config, SERIAL).await.unwrap();
    assert_eq!(logs[0].log.events.len(), 6);
    assert_eq!(logs[0].record.entries, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serial_number_is_given_once_also_by_two_factories() {
    let scene = Scene::new().await;
    let (one, other) = (scene.directory.path().join("one"), scene.directory.path().join("other"));
    let options = DeviceOptions { sold_to: vec!["plant".into()], ..DeviceOptions::default() };
    let made = tokio::join!(
        make_idevid(&scene.config, "WI-3006", &options, &one, now()),
        make_idevid(&scene.config, "WI-3006", &options, &other, now())
    );
    let (made, refused, empty) = match made {
        (Ok(made), Err(refused)) => (made, refused, other),
        (Err(refused), Ok(made)) => (made, refused, one),
        other => panic!("{other:?}"),
    };
    assert_eq!(made.len(), 4);
    assert!(matches!(refused, MasaError::Registered(serial) if serial == "WI-3006"));
    assert!(!empty.exists());
    let records = scene.store().await.devices("WI-3006").await.unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].device.sold_to, [Buyer::Customer("plant".into())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_while_a_voucher_is_signed_is_not_overwritten() {
    let scene = Scene::new().await;
    let signatures = Arc::new(AtomicUsize::new(0));
    let masa = scene.start_with(|service| {
        let (sign, signatures, config) = (service.voucher_signer(), signatures.clone(), scene.config.clone());
        service.with_voucher_signer(Arc::new(move |scheme, message| {
            let (sign, config) = (sign.clone(), config.clone());
            let is_second = signatures.fetch_add(1, Ordering::SeqCst) == 1;
            Box::pin(async move {
                if is_second {
                    change_device(&config, SERIAL, Change::Release).await.unwrap();
                }
                sign(scheme, message).await
            })
        }))
    });
    let masa = masa.await;
    assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 200);
    assert_eq!(scene.ask(masa.address, &scene.request("another nonce")).await.status, 200);
    assert_eq!(signatures.load(Ordering::SeqCst), 3, "the decision is made again, for a device without owner");
    assert_eq!(scene.log().await.len(), 2);
}
