use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinSet;

use super::*;

const KEPT: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn many_checks_cost_one_look_in_a_second_also_if_nobody_waits_for_it() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let looks = Looks::new(KEPT, false, move || {
        counted.fetch_add(1, Ordering::Relaxed);
        async {
            tokio::time::sleep(LOOK_TIME / 2).await;
            true
        }
    });
    for _ in 0..10 {
        // This client goes before it has its answer.
        assert!(tokio::time::timeout(LOOK_TIME / 30, looks.value()).await.is_err());
    }
    let mut checks = JoinSet::new();
    for _ in 0..10 {
        let looks = looks.clone();
        checks.spawn(async move { looks.value().await });
    }
    assert!(checks.join_all().await.into_iter().all(|is_well| is_well));
    assert_eq!(count.load(Ordering::Relaxed), 1);
    tokio::time::advance(KEPT).await;
    assert!(looks.value().await);
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_database_that_hangs_is_not_well_after_a_while() {
    let looks = Looks::new(KEPT, false, core::future::pending);
    assert_eq!(tokio::time::timeout(2 * LOOK_TIME, looks.value()).await, Ok(false));
}
