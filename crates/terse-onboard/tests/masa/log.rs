//! The audit log as a chain: what a hand has changed is found, and MASAs that work at once make one chain.

use core::time::Duration;

use terse_brski::masa::{Claims, Nonceless, PinChoice};
use terse_net::Clock;
use terse_net::pki_types::UnixTime;
use terse_onboard::masa::{LogHead, LogProblem, MasaService, MasaStore, VerifyOptions};
use tokio::task::JoinSet;

use super::by_hand::{Hand, verified, verified_with};
use super::scene::{Domain, SERIAL, Scene, now};
use crate::deadline::Deadline;

/// A scene whose device has had five vouchers, two of them for another domain.
async fn scene() -> Scene {
    let mut scene = Scene::new().await;
    scene.config.policy.claims = Claims::Always;
    let masa = scene.start().await;
    let rival = Domain::new("Rival");
    for number in 1..=5 {
        let domain = if number % 2 == 0 { &rival } else { &scene.domain };
        let request = scene.request_of(domain, &format!("nonce {number}"));
        assert_eq!(scene.ask(masa.address, &request).await.status, 200);
    }
    masa.stop().await;
    scene
}

/// Runs statements by hand, each time on the same database, and checks what is found then.
async fn is_found(cases: &[(&str, LogProblem, Option<i64>)]) {
    let scene = scene().await;
    let mut hand = Hand::new(&scene).await;
    let head = verified(&scene).await.unwrap();
    assert_eq!(head.length, 5);
    hand.keep().await;
    for (statements, problem, position) in cases {
        let other = hand.bytes(&"01".repeat(32));
        hand.run(&statements.replace("OTHER", &other)).await;
        let finding = verified(&scene).await.expect_err(statements);
        assert_eq!((finding.problem, finding.position), (*problem, *position), "{statements}: {finding}");
        hand.restore().await;
        assert_eq!(verified(&scene).await, Ok(head), "{statements}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_field_that_is_changed_is_found() {
    let mut cases = Vec::new();
    let changes = [
        "serial_number = 'WI-3006'",
        "idevid_issuer = OTHER",
        "number = 7",
        "date = date + 1",
        "domain_id = OTHER",
        "domain_key = OTHER",
        "nonce = OTHER",
        "nonce = 'text'",
        "nonce = NULL",
        "assertion = 'logged'",
        "request = OTHER",
        "request = NULL",
        "voucher_sha256 = OTHER",
        "voucher_sha256 = NULL",
        "expires_on = 1",
        "hash = OTHER",
    ];
    for change in changes {
        cases.push((format!("UPDATE audit_log SET {change} WHERE position = 3"), LogProblem::Changed, Some(3)));
    }
    cases.push(("UPDATE audit_log SET nonce = OTHER WHERE position = 1".into(), LogProblem::Changed, Some(1)));
    cases.push(("UPDATE audit_log SET nonce = OTHER WHERE position = 5".into(), LogProblem::Changed, Some(5)));
    let cases: Vec<_> = cases.iter().map(|(text, problem, position)| (&**text, *problem, *position)).collect();
    is_found(&cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_that_are_removed_moved_or_inserted_are_found() {
    let swap = |one: i64, other: i64| {
        format!(
            "UPDATE audit_log SET position = -1 WHERE position = {one}; \
             UPDATE audit_log SET position = {one} WHERE position = {other}; \
             UPDATE audit_log SET position = {other} WHERE position = -1"
        )
    };
    let insert = "UPDATE audit_log SET position = 6 WHERE position = 5; UPDATE audit_log SET position = 5 WHERE position = 4; \
                  INSERT INTO audit_log SELECT serial_number, idevid_issuer, 9, date, domain_id, domain_key, nonce, assertion, \
                  4, OTHER, request, voucher_sha256, expires_on FROM audit_log WHERE position = 3";
    is_found(&[
        ("DELETE FROM audit_log WHERE position = 3", LogProblem::Missing, Some(3)),
        ("DELETE FROM audit_log WHERE position = 1", LogProblem::Missing, Some(1)),
        ("DELETE FROM audit_log WHERE position = 5", LogProblem::Missing, Some(5)),
        ("DELETE FROM audit_log", LogProblem::Missing, Some(1)),
        (
            "DELETE FROM audit_log WHERE position = 3; UPDATE audit_log SET position = 3 WHERE position = 4; \
             UPDATE audit_log SET position = 4 WHERE position = 5",
            LogProblem::Changed,
            Some(3),
        ),
        (&swap(2, 3), LogProblem::OutOfOrder(3), Some(2)),
        (&swap(2, 4), LogProblem::OutOfOrder(3), Some(2)),
        (insert, LogProblem::Changed, Some(4)),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_the_entries_is_found() {
    let last = "(SELECT request FROM audit_log WHERE position = 5)";
    is_found(&[
        ("UPDATE audit_head SET hash = OTHER", LogProblem::Head, Some(5)),
        ("UPDATE audit_head SET length = 4", LogProblem::AfterHead, Some(5)),
        ("UPDATE audit_head SET length = 6", LogProblem::Missing, Some(6)),
        (
            &format!("UPDATE issued_vouchers SET voucher = OTHER WHERE request = {last}"),
            LogProblem::VoucherChanged,
            Some(5),
        ),
        (&format!("UPDATE issued_vouchers SET expires_on = 1 WHERE request = {last}"), LogProblem::VoucherChanged, Some(5)),
        (&format!("UPDATE issued_vouchers SET request = OTHER WHERE request = {last}"), LogProblem::VoucherChanged, Some(5)),
        (&format!("DELETE FROM issued_vouchers WHERE request = {last}"), LogProblem::VoucherMissing, Some(5)),
        (
            "INSERT INTO issued_vouchers SELECT OTHER, voucher, NULL, serial_number, idevid_issuer, 6 FROM issued_vouchers \
             WHERE number = 1",
            LogProblem::VoucherUnlogged,
            None,
        ),
        ("UPDATE devices SET entries = 4", LogProblem::Entries, None),
        ("UPDATE devices SET owner = OTHER", LogProblem::Owner, None),
        ("DELETE FROM devices", LogProblem::DeviceMissing, None),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_is_cut_off_with_all_that_belongs_to_it_is_found_by_an_earlier_head() {
    let scene = scene().await;
    let mut hand = Hand::new(&scene).await;
    let head = verified(&scene).await.unwrap();
    hand.keep().await;
    hand.run(
        "DELETE FROM issued_vouchers WHERE number = 5; DELETE FROM audit_log WHERE position = 5; \
         UPDATE audit_head SET length = 4, hash = (SELECT hash FROM audit_log WHERE position = 4); \
         UPDATE devices SET entries = 4, owner = (SELECT domain_key FROM audit_log WHERE position = 4)",
    )
    .await;
    // By the database alone it is right.
    assert_eq!(verified(&scene).await.unwrap().length, 4);
    let expected = VerifyOptions::new(Some(head), None, &[]);
    let finding = verified_with(&scene, &expected).await.unwrap_err();
    assert_eq!((finding.problem, finding.position), (LogProblem::Shorter(5), Some(5)));

    // So it is with a chain that somebody has made anew who knows how.
    hand.restore().await;
    hand.run("UPDATE audit_log SET date = date - 86400 WHERE position = 3").await;
    hand.link_again(3..=5).await;
    let forged = verified(&scene).await.unwrap();
    assert_eq!(forged.length, 5);
    assert_ne!(forged, head);
    let finding = verified_with(&scene, &expected).await.unwrap_err();
    assert_eq!((finding.problem, finding.position), (LogProblem::Earlier, Some(5)));
    hand.restore().await;
    assert_eq!(verified_with(&scene, &expected).await, Ok(head));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_entries_that_follow_one_are_found() {
    let scene = scene().await;
    let mut hand = Hand::new(&scene).await;
    // As two MASAs make them that do not wait for each other: one more after the third, and the head counts it.
    hand.run(
        "INSERT INTO audit_log SELECT serial_number, idevid_issuer, 6, date, domain_id, domain_key, nonce, assertion, 6, hash, \
         request, voucher_sha256, NULL FROM audit_log WHERE position = 5; UPDATE audit_head SET length = 6",
    )
    .await;
    hand.link(6, 3).await;
    let finding = verified(&scene).await.unwrap_err();
    assert_eq!((finding.problem, finding.position, finding.number), (LogProblem::Forked(3), Some(6), Some(6)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_without_a_link_is_refused_and_found() {
    let scene = scene().await;
    let mut hand = Hand::new(&scene).await;
    // As an earlier version does, which still runs.
    let insert = "INSERT INTO audit_log (serial_number, idevid_issuer, number, date, domain_id, domain_key, nonce, assertion) \
                  SELECT serial_number, idevid_issuer, 6, date, domain_id, domain_key, nonce, assertion FROM audit_log \
                  WHERE position = 5";
    hand.try_run(insert).await.unwrap_err();
    assert_eq!(verified(&scene).await.unwrap().length, 5);
    hand.allow_entries_without_links().await;
    hand.run(insert).await;
    let finding = verified(&scene).await.unwrap_err();
    assert_eq!((finding.problem, finding.number), (LogProblem::Unlinked, Some(6)));
    assert_eq!(finding.serial_number.as_deref(), Some(SERIAL));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_that_was_replaced_after_it_expired_is_not_missing() {
    let mut scene = Scene::new().await;
    scene.add_customer("ca = \"plant-ca.pem\"");
    scene.config.policy.nonceless = Some(Nonceless { lifetime: 600, pin: PinChoice::LowestCa });
    let request = scene.nonceless_request();
    for later in [0, 700] {
        let clock = Clock::starting_at(UnixTime::since_unix_epoch(Duration::from_secs(now() + later)));
        let masa = scene.start_at(clock).await;
        assert_eq!(scene.ask(masa.address, &request).await.status, 200);
        masa.stop().await;
    }
    let head = verified(&scene).await.unwrap();
    assert_eq!(head.length, 2);
    // Of an earlier version nothing is known of the first one.
    Hand::new(&scene).await.forget_the_chain().await;
    let linked = verified(&scene).await.unwrap();
    assert_eq!(linked.length, 2);
    assert_ne!(linked, head);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_masas_with_one_database_make_one_chain() {
    let mut scene = Scene::new().await;
    scene.config.policy.claims = Claims::Always;
    let masas = [scene.start().await, scene.start().await];
    let mut requests = JoinSet::new();
    for number in 0..24 {
        let request = scene.request(&format!("nonce {number}"));
        let mut connection = scene.connect(masas[number % 2].address, None).await;
        requests.spawn(async move {
            let deadline = Deadline::new();
            loop {
                let answer = super::scene::send(&mut connection, super::scene::voucher(&request)).await.unwrap();
                match answer.status {
                    200 => return,
                    202 | 503 => deadline.wait(String::from_utf8_lossy(&answer.body)).await,
                    status => panic!("{status}: {}", String::from_utf8_lossy(&answer.body)),
                }
            }
        });
    }
    // It is right at each moment.
    while !requests.is_empty() {
        verified(&scene).await.unwrap();
        while let Some(done) = requests.try_join_next() {
            done.unwrap();
        }
    }
    assert_eq!(verified(&scene).await.unwrap().length, 24);
    for masa in masas {
        masa.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_earlier_versions_are_linked_once_and_in_order() {
    let scene = scene().await;
    let before = verified(&scene).await.unwrap();
    Hand::new(&scene).await.forget_the_chain().await;
    let mut opened = JoinSet::new();
    for _ in 0..6 {
        let database = scene.config.database.clone();
        opened.spawn(async move { MasaStore::open(&database).await.unwrap().close().await });
    }
    super::scene::soon(opened.join_all()).await;
    // One device: the order of its entries is that in which they were issued, and all of their vouchers are there.
    assert_eq!(verified(&scene).await, Ok(before));
    MasaService::open(&scene.config).await.unwrap();
    assert_eq!(verified(&scene).await, Ok(before));
    let masa = scene.start().await;
    assert_eq!(scene.ask(masa.address, &scene.request("another nonce")).await.status, 200);
    masa.stop().await;
    assert_eq!(verified(&scene).await.unwrap().length, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_was_removed_stops_vouchers_and_is_not_made_anew() {
    let scene = scene().await;
    Hand::new(&scene).await.run("DELETE FROM audit_head").await;
    let masa = scene.start().await;
    assert_eq!(scene.ask(masa.address, &scene.request("another nonce")).await.status, 503);
    masa.stop().await;
    let error =
        terse_onboard::masa::verify_log(&scene.config, &VerifyOptions::default(), &mut |_, _| ()).await.unwrap_err();
    assert!(error.to_string().contains("the head of the audit log is damaged"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_that_have_links_are_not_linked_anew() {
    let scene = scene().await;
    let mut hand = Hand::new(&scene).await;
    hand.keep().await;
    hand.run("UPDATE audit_log SET date = date - 86400 WHERE position = 3; UPDATE audit_head SET hash = NULL").await;
    let error = MasaStore::open(&scene.config.database).await.unwrap_err();
    assert!(error.to_string().contains("the head of the audit log is damaged"), "{error}");
    hand.restore().await;
    assert_eq!(verified(&scene).await.unwrap().length, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_without_entries_is_right() {
    assert_eq!(verified(&Scene::new().await).await, Ok(LogHead::EMPTY));
}
