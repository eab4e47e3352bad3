use super::*;

#[tokio::test]
async fn old_requests_are_found_without_those_that_were_answered() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("registrar.db")).await.unwrap();
    let plan = sqlx::query(&format!("EXPLAIN QUERY PLAN {PRUNE}")).bind(0).fetch_all(&store.pool).await.unwrap();
    let steps: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
    let [own, joinings] = &steps[..] else { panic!("{steps:?}") };
    assert!(own.contains("requests_by_state (state=? AND received<?)"), "{own}");
    assert!(joinings.contains("joinings_by_request"), "of the foreign key: {joinings}");
}
