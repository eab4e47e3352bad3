use sqlx::Row as _;

use super::lists::{bad_audits_query, ending_query, failures_query, waiting_query};
use super::*;

/// What is looked at without an index is a table that a query has made, and that has the rows of a page.
#[tokio::test]
async fn no_page_looks_through_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("registrar.db").into()).await.unwrap();
    let queries = [
        (standings_query(), ["joinings_by_serial_number", "requests_by_serial_number", "decisions_by_serial_number"]),
        (waiting_query(), ["requests_by_state", "requests_by_device", "decisions"]),
        (bad_audits_query(), ["joinings_by_audit", "requests", "decisions"]),
        (ending_query(), ["certificates_by_end", "joinings", "ldevid"]),
        (failures_query(), ["telemetry_failures", "joinings", "idevid"]),
    ];
    for (query, indices) in queries {
        let parameters = (1..=5).filter(|number| query.contains(&format!("${number}"))).count();
        let explain = format!("EXPLAIN QUERY PLAN {query}");
        let explain = (0..parameters).fold(sqlx::query(&explain), |explain, _| explain.bind(0_i64));
        let plan = explain.fetch_all(&store.pool).await.unwrap();
        let steps: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
        for index in indices {
            assert!(steps.iter().any(|step| step.contains(index)), "{index}: {steps:#?}");
        }
        let is_made = |step: &str| ["k", "every", "of_joinings", "of_requests", "of_decisions"].contains(&step);
        let scans = steps.iter().filter_map(|step| step.strip_prefix("SCAN "));
        for scan in scans {
            assert!(is_made(scan), "{scan}: {steps:#?}");
        }
    }
}

#[tokio::test]
async fn what_is_counted_is_there() {
    let folder = tempfile::tempdir().unwrap();
    for database in crate::store::tests::new_databases(folder.path()) {
        let store = Store::open(&database).await.unwrap();
        let now = super::super::rows::time(1_000_000);
        assert_eq!(store.overview(now, 30).await.unwrap(), Overview::default());
        for number in 1..=4_u8 {
            let digest = vec![number; 32];
            for query in [
                "INSERT INTO requests (request, idevid, serial_number, manufacturer, nonce, received, state) \
                 VALUES ($1, $1, 'X', 'maker', $1, 999000 + $2, 'awaiting-operator')",
                "INSERT INTO requests (request, idevid, serial_number, manufacturer, nonce, received, state) \
                 VALUES ($1 || $1, $1, 'X', 'maker', $1, 999100 + $2, 'awaiting-operator')",
                "INSERT INTO joinings (idevid, serial_number, manufacturer, request, begun, audit, audit_tried, ldevid) \
                 VALUES ($1, 'X', 'maker', $1, $2, CASE WHEN $2 > 2 THEN 'bad' ELSE 'good' END, $2, $1)",
                "INSERT INTO certificates (request, client, idevid, certificate_sha256, certificate, issued, not_after) \
                 VALUES ($1, $1, $1, $1, $1, $2, 1000000 + 1000000 * $2)",
                "INSERT INTO telemetry (idevid, number, received, topic, sender, status, needs_attention) \
                 VALUES ($1, 1, 1000000 - 40000 * $2, 'voucher', 'idevid', 0, 1)",
            ] {
                let query = sqlx::query(query).bind(&digest).bind(i64::from(number));
                query.execute(&store.pool).await.unwrap();
            }
        }
        let reject = "INSERT INTO decisions VALUES ($1, 'X', 'maker', 0, 1)";
        sqlx::query(reject).bind(vec![4_u8; 32]).execute(&store.pool).await.unwrap();
        let keep_out = "INSERT INTO kept_out VALUES ($1, 1)";
        sqlx::query(keep_out).bind(vec![1_u8; 32]).execute(&store.pool).await.unwrap();
        let counts = store.overview(now, 30).await.unwrap();
        let expected =
            Overview { waiting: 3, bad_audits: 1, joined: 4, enrolled: 4, rejected: 1, failures: 2, ending: 1 };
        assert_eq!(counts, expected, "each device counts once");
        assert_eq!(store.counts(now).await.unwrap().ending_in_month, 1);
        assert_eq!(store.ending(1_000_000, 3_592_000, None).await.unwrap().rows.len(), 1);
    }
}
