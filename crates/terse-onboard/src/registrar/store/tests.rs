use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use terse_brski::digest::Sha256;
use terse_pki::Revocation;

use super::super::audit::KnownVouchers;
use super::audits::AUDIT_SECONDS;
use super::history::{MAX_PRUNED, PRUNE};
use super::revocation::{CrlState, StoredCrl};
use super::*;
use crate::store::tests::new_databases;

#[tokio::test]
async fn old_requests_are_found_without_those_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("registrar.db").into()).await.unwrap();
    let query = format!("EXPLAIN QUERY PLAN {PRUNE}");
    let plan = sqlx::query(&query).bind(0_i64).bind(0_i64);
    let plan = plan.fetch_all(&store.pool).await.unwrap();
    let steps: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
    let is_there = |part: &str| steps.iter().any(|step| step.contains(part));
    assert!(is_there("requests_by_state (state=? AND received<?)"), "{steps:?}");
    assert!(is_there("joinings_by_request"), "of the foreign key: {steps:?}");
    assert!(!steps.iter().any(|step| step.starts_with("SCAN")), "{steps:?}");
}

#[tokio::test]
async fn more_old_requests_go_than_one_transaction_removes() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let store = Store::open(&database).await.unwrap();
        let mut transaction = store.begin().await.unwrap();
        for number in 0..2 * MAX_PRUNED {
            let one = "INSERT INTO requests (request, idevid, serial_number, manufacturer, nonce, received, state) \
                       VALUES ($1, $1, 'X', 'maker', $1, 0, 'awaiting-operator')";
            let digest = number.to_be_bytes().repeat(4);
            sqlx::query(one).bind(digest).execute(&mut *transaction).await.unwrap();
        }
        transaction.commit().await.unwrap();
        store.prune(rows::time(FORGOTTEN_AFTER)).await.unwrap();
        let count = async || sqlx::query("SELECT COUNT(*) FROM requests").fetch_one(&store.pool).await.unwrap();
        assert_eq!(count().await.get::<i64, _>(0), 2 * MAX_PRUNED, "they are not old yet");
        store.prune(rows::time(FORGOTTEN_AFTER + 1)).await.unwrap();
        assert_eq!(count().await.get::<i64, _>(0), 0);
    }
}

/// Stores devices whose audit logs the MASA could not take, each a second after the one before.
async fn unsent_audits(store: &Store, count: u8) {
    for number in 1..=count {
        for query in [
            "INSERT INTO requests (request, idevid, serial_number, manufacturer, nonce, received, state, registrar_request, \
             sent) VALUES ($1, $1, 'X', 'maker', $1, $2, 'forwarded', $1, 7)",
            "INSERT INTO joinings (idevid, serial_number, manufacturer, request, begun, audit, audit_tried, audit_unsent) \
             VALUES ($1, 'X', 'maker', $1, 0, 'requested', $2, 1)",
        ] {
            let query = sqlx::query(query).bind([number; 32].to_vec()).bind(i64::from(number));
            query.execute(&store.pool).await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_audit_log_is_due_at_once_unless_the_masa_has_answered_something_else() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let store = Store::open(&database).await.unwrap();
        unsent_audits(&store, 1).await;
        let task = async || store.audit_task(&[1; 32]).await.unwrap().unwrap();
        assert_eq!(task().await.due, rows::time(0));
        store.audit_did_not_come(&task().await, "the MASA answers 503", false, rows::time(100)).await.unwrap();
        assert_eq!(task().await.due, rows::time(100 + AUDIT_SECONDS));
        store.audit_did_not_come(&task().await, "the host takes no connection", true, rows::time(200)).await.unwrap();
        assert_eq!(task().await.due, rows::time(0));
    }
}

#[tokio::test]
async fn audit_logs_that_cannot_be_asked_for_do_not_keep_back_the_others() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let store = Store::open(&database).await.unwrap();
        unsent_audits(&store, 40).await;
        let mut seen = Vec::new();
        loop {
            let tasks = store.audits_unsent("maker", rows::time(100)).await.unwrap();
            assert!(store.audits_unsent("other", rows::time(100)).await.unwrap().is_empty());
            for task in &tasks {
                seen.push(task.idevid[0]);
                store.move_back(task, rows::time(100)).await.unwrap();
            }
            if tasks.len() < MAX_UNSENT {
                break;
            }
            assert!(seen.len() <= 40, "some come again: {seen:?}");
        }
        assert_eq!(seen, (1..=40).collect::<Vec<u8>>(), "each once");
        assert_eq!(store.audits_unsent("maker", rows::time(101)).await.unwrap().len(), MAX_UNSENT);
    }
}

#[tokio::test]
async fn a_late_refusal_is_not_one_of_the_request_that_was_sent_since() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let store = Store::open(&database).await.unwrap();
        unsent_audits(&store, 1).await;
        let status = async || {
            let row = sqlx::query("SELECT failure_status FROM requests").fetch_one(&store.pool).await.unwrap();
            row.get::<Option<i64>, _>(0)
        };
        assert!(store.resend(&[1; 32], rows::time(7), rows::time(70)).await.unwrap());
        store.failed(&[1; 32], rows::time(7), 403, "not yours").await.unwrap();
        assert_eq!(status().await, None);
        store.failed(&[1; 32], rows::time(70), 403, "not yours").await.unwrap();
        assert_eq!(status().await, Some(403));
    }
}

const CA: Sha256 = [7; 32];

fn revocations(serials: core::ops::Range<u8>) -> Vec<Revocation> {
    serials.map(|serial| Revocation::of_serial_number(&[serial], 100)).collect()
}

fn list(number: u64, this_update: u64, complete_to: u64) -> StoredCrl {
    StoredCrl { state: CrlState { number, this_update, next_update: 900, complete_to }, crl: vec![1] }
}

#[tokio::test]
async fn of_lists_that_are_signed_at_once_one_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let store = Store::open(&database).await.unwrap();
        assert_eq!(store.crl_state(&CA).await.unwrap(), (None, 0));
        assert!(store.store_crl(&CA, None, &list(5, 100, 0)).await.unwrap());
        assert!(!store.store_crl(&CA, None, &list(6, 100, 0)).await.unwrap());
        assert!(store.store_crl(&CA, Some(5), &list(6, 100, 0)).await.unwrap());
        assert!(!store.store_crl(&CA, Some(5), &list(7, 100, 0)).await.unwrap());
        assert_eq!(store.crl(&CA).await.unwrap(), Some(list(6, 100, 0)));
        assert_eq!(store.crl(&[8; 32]).await.unwrap(), None);
    }
}

#[tokio::test]
async fn what_was_listed_beyond_its_end_is_removed_and_its_number_does_not_come_again() {
    let folder = tempfile::tempdir().unwrap();
    let day = 86_400;
    for database in new_databases(folder.path()) {
        let store = Store::open(&database).await.unwrap();
        assert_eq!(store.add_revoked(&CA, &revocations(1..4), 10 * day).await.unwrap(), 3);
        assert_eq!(store.add_revoked(&CA, &revocations(1..6), 90 * day).await.unwrap(), 2, "the others are there");
        assert!(store.is_revoked(&CA, &[5]).await.unwrap());
        assert!(!store.is_revoked(&CA, &[6]).await.unwrap() && !store.is_revoked(&[8; 32], &[5]).await.unwrap());
        let all = store.revoked(&CA, None).await.unwrap();
        assert_eq!((all.entries, all.last, all.unlisted.len()), (revocations(1..6), 5, 5));
        let remaining = async || {
            store.prune_revoked(&CA, 2).await.unwrap();
            let all = store.revoked(&CA, store.crl_state(&CA).await.unwrap().0).await.unwrap();
            (all.entries.len(), all.unlisted.len())
        };
        assert_eq!(remaining().await, (5, 5), "nothing is listed yet");
        assert!(store.store_crl(&CA, None, &list(1, 12 * day, 2)).await.unwrap());
        assert_eq!(remaining().await, (5, 3), "two days are not over");
        assert!(store.store_crl(&CA, Some(1), &list(2, 12 * day + 1, 2)).await.unwrap());
        assert_eq!(remaining().await, (3, 3), "the third one is in no list yet");
        assert!(store.store_crl(&CA, Some(2), &list(3, 93 * day, 5)).await.unwrap());
        assert_eq!(remaining().await, (0, 0));
        store.add_revoked(&CA, &revocations(9..10), 95 * day).await.unwrap();
        assert_eq!(store.crl_state(&CA).await.unwrap().1, 6);
    }
}

#[tokio::test]
async fn a_certificate_that_is_issued_while_its_device_is_revoked_is_not_given() {
    let folder = tempfile::tempdir().unwrap();
    for database in new_databases(folder.path()) {
        let store = Store::open(&database).await.unwrap();
        let key = RequestKey { request: [1; 32], client: [2; 32], idevid: [3; 32] };
        let record = Issued { key, sha256: [4; 32], certificate: &[5], not_after: 900 };
        let keep_out = sqlx::query("INSERT INTO kept_out (idevid, since) VALUES ($1, 7)").bind(vec![3_u8; 32]);
        keep_out.execute(&store.pool).await.unwrap();
        assert!(matches!(store.issue(&record, rows::time(100)).await.unwrap(), Stored::Revoked));
        let device = Device { idevid: [3; 32], serial_number: "X".into(), manufacturer: "maker".into() };
        store.decide(&device, false, rows::time(200)).await.unwrap();
        assert!(matches!(store.issue(&record, rows::time(300)).await.unwrap(), Stored::Rejected));
        store.decide(&device, true, rows::time(300)).await.unwrap();
        assert!(matches!(store.issue(&record, rows::time(300)).await.unwrap(), Stored::Certificate(_)));
    }
}

/// The file was written by version 0002 of the tables: a device has two vouchers, and a certificate that it refuses.
#[tokio::test]
async fn a_database_of_an_earlier_version_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registrar.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true).foreign_keys(false);
    let mut old = SqliteConnection::connect_with(&options).await.unwrap();
    let tables = include_str!("../../../tests/old/registrar.sql");
    sqlx::raw_sql(tables).execute(&mut old).await.unwrap();
    old.close().await.unwrap();

    let store = Store::open(&path.into()).await.unwrap();
    let reports = store.devices().await.unwrap();
    assert_eq!((reports.len(), &*reports[0].serial_number, &*reports[0].audit), (1, "WI-3005", "good"));
    assert_eq!((reports[0].enroll_status, reports[0].identity_key), (Some(false), None));
    let device = store.devices_named("WI-3005").await.unwrap().remove(0);
    let KnownVouchers { domain_ids, nonces, .. } = store.history(&device.idevid).await.unwrap();
    assert_eq!((domain_ids.len(), nonces.len()), (1, 2));
    assert_eq!(store.standing_ldevids(&device.idevid, rows::time(0)).await.unwrap().len(), 1);
    let rows = sqlx::query("SELECT state, request FROM requests ORDER BY state").fetch_all(&store.pool).await.unwrap();
    let states: Vec<String> = rows.iter().map(|row| row.get("state")).collect();
    assert_eq!(states, ["answered", "superseded"]);
    let newest: Sha256 = rows::digest(&rows[0], "request").unwrap();
    let Some(Known::Joining(joining)) = store.client(&device.idevid).await.unwrap() else { panic!("it is unknown") };
    assert_eq!(joining.request, newest);
}
