//! Outages on a clock that stands still unless everybody waits.

use super::*;

fn masa() -> Masa {
    masa_at("https://masa.example/.well-known/brski")
}

fn masa_at(base: &str) -> Masa {
    Masa { manufacturer: "maker".into(), base: base.into() }
}

const HOLD: Duration = Duration::from_secs(3);

async fn attempt(outages: &Arc<Outages>) -> Result<Attempt, Duration> {
    Outages::attempt(outages, masa(), Instant::now() + HOLD).await
}

#[tokio::test(start_paused = true)]
async fn the_time_between_attempts_doubles_up_to_a_minute() {
    let outages = Arc::new(Outages::default());
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
        let delay = Duration::from_secs(seconds);
        assert_eq!(attempt(&outages).await.ok().unwrap().failed(), delay);
        assert_eq!(attempt(&outages).await.err(), Some(delay));
        assert!(Outages::try_attempt(&outages, masa_at("https://other.example")).is_some());
        tokio::time::advance(delay - Duration::from_millis(1)).await;
        assert!(Outages::try_attempt(&outages, masa()).is_none());
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    attempt(&outages).await.ok().unwrap().answered();
    assert!(outages.lock().outages.is_empty());
    assert_eq!(attempt(&outages).await.ok().unwrap().failed(), Duration::from_secs(1), "it begins anew");
}

#[tokio::test(start_paused = true)]
async fn attempts_that_fail_at_once_count_once() {
    let outages = Arc::new(Outages::default());
    let mut attempts = Vec::new();
    for _ in 0..100 {
        attempts.push(attempt(&outages).await.ok().unwrap());
    }
    let waits: Vec<_> = attempts.into_iter().map(Attempt::failed).collect();
    assert!(waits.iter().all(|wait| *wait == Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn one_tries_and_the_others_wait_for_it() {
    let outages = Arc::new(Outages::default());
    attempt(&outages).await.ok().unwrap().failed();
    tokio::time::advance(Duration::from_secs(1)).await;
    let probe = attempt(&outages).await.ok().unwrap();
    assert!(Outages::try_attempt(&outages, masa()).is_none());
    assert_eq!(attempt(&outages).await.err(), Some(WHILE_TRIED), "it waits no longer than that");
    let waiting = tokio::spawn({
        let outages = outages.clone();
        async move { attempt(&outages).await.map(Attempt::answered) }
    });
    tokio::task::yield_now().await;
    probe.answered();
    assert_eq!(waiting.await.unwrap(), Ok(()));

    // One that is given up says nothing, and makes room.
    attempt(&outages).await.ok().unwrap().failed();
    tokio::time::advance(Duration::from_secs(1)).await;
    drop(attempt(&outages).await.ok().unwrap());
    assert_eq!(attempt(&outages).await.ok().unwrap().failed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn an_old_answer_in_between_leaves_no_masa_locked() {
    let outages = Arc::new(Outages::default());
    let slow = attempt(&outages).await.ok().unwrap();
    attempt(&outages).await.ok().unwrap().failed();
    tokio::time::advance(Duration::from_secs(1)).await;
    let probe = attempt(&outages).await.ok().unwrap();
    slow.answered();
    assert_eq!(probe.failed(), Duration::from_secs(1), "it is the first failure of another outage");
    for seconds in [1, 2] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        drop(attempt(&outages).await.ok().unwrap());
        let next = attempt(&outages).await.ok().unwrap();
        assert_eq!(next.failed(), Duration::from_secs(2 * seconds));
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_attempt_does_not_end_the_probe_of_another_outage() {
    let outages = Arc::new(Outages::default());
    let slow = attempt(&outages).await.ok().unwrap();
    attempt(&outages).await.ok().unwrap().failed();
    tokio::time::advance(Duration::from_secs(1)).await;
    let old = attempt(&outages).await.ok().unwrap();
    slow.answered();
    attempt(&outages).await.ok().unwrap().failed();
    tokio::time::advance(Duration::from_secs(1)).await;
    let probe = attempt(&outages).await.ok().unwrap();
    drop(old);
    assert!(Outages::try_attempt(&outages, masa()).is_none(), "one tries");
    assert_eq!(probe.failed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_masa_is_told_when_it_is_due_and_when_it_answers() {
    let outages = Arc::new(Outages::default());
    let due = tokio::spawn({
        let outages = outages.clone();
        async move { outages.until_due(None).await }
    });
    tokio::task::yield_now().await;
    let begun = Instant::now();
    attempt(&outages).await.ok().unwrap().failed();
    let next = due.await.unwrap();
    assert_eq!((next, Instant::now()), (Some(begun + Duration::from_secs(1)), begun + Duration::from_secs(1)));

    let early = attempt(&outages).await.ok().unwrap();
    let due = tokio::spawn({
        let outages = outages.clone();
        async move { outages.until_due(next).await }
    });
    tokio::task::yield_now().await;
    assert!(!due.is_finished(), "each time counts once");
    early.answered();
    assert_eq!(due.await.unwrap(), next);
}

#[tokio::test(start_paused = true)]
async fn the_table_is_bounded() {
    let outages = Arc::new(Outages::default());
    for number in 0..3 * MAX_OUTAGES {
        Outages::try_attempt(&outages, masa_at(&format!("https://{number}.example"))).unwrap().failed();
    }
    assert_eq!(outages.lock().outages.len(), MAX_OUTAGES);

    // What is being tried stays, and is counted.
    tokio::time::advance(Duration::from_secs(1)).await;
    let last = format!("https://{}.example", 3 * MAX_OUTAGES - 1);
    let probe = Outages::try_attempt(&outages, masa_at(&last)).unwrap();
    for number in 0..MAX_OUTAGES {
        Outages::try_attempt(&outages, masa_at(&format!("https://new-{number}.example"))).unwrap().failed();
    }
    assert!(Outages::try_attempt(&outages, masa_at(&last)).is_none());
    assert_eq!(probe.failed(), Duration::from_secs(2));
    assert_eq!(outages.lock().outages.len(), MAX_OUTAGES);
}

#[tokio::test(start_paused = true)]
async fn the_outages_of_one_manufacturer_are_not_those_of_another() {
    let outages = Arc::new(Outages::default());
    let other = Masa { manufacturer: "other".into(), ..masa() };
    Outages::try_attempt(&outages, other.clone()).unwrap().failed();
    assert!(Outages::try_attempt(&outages, masa()).is_some(), "it has other anchors and credentials");
    for number in 0..2 * MAX_OUTAGES {
        Outages::try_attempt(&outages, masa_at(&format!("https://{number}.example"))).unwrap().failed();
    }
    assert!(Outages::try_attempt(&outages, other).is_none(), "it is remembered");
    assert_eq!(outages.lock().outages.len(), MAX_OUTAGES + 1);
}

#[test]
fn retry_after_is_at_least_a_second_and_at_most_a_minute() {
    let seconds = |milliseconds| retry_after(Duration::from_millis(milliseconds));
    assert_eq!((seconds(0), seconds(1), seconds(1_000), seconds(1_001)), (1, 1, 1, 2));
    assert_eq!(retry_after(Duration::MAX), 60);
    assert_eq!(delay(u32::MAX), MAX_DELAY);
}
