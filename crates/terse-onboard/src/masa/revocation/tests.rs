use tokio::time::Instant;

use super::*;

const NOW: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(1_000));

fn revocations() -> Revocations {
    Revocations::new(RevocationConfig { private_addresses: true, ..RevocationConfig::default() })
}

#[tokio::test(start_paused = true)]
async fn a_look_up_ends_in_time_whatever_the_servers_do() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let urls: Vec<_> = (0..4).map(|number| format!("http://{address}/{number}.crl")).collect();
    let (revocations, start) = (revocations(), Instant::now());
    assert!(revocations.crls(urls.iter().map(String::as_str), NOW).await.is_empty());
    assert!(start.elapsed() < TIME + Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(revocations.kept(&urls[0], NOW.as_secs()).is_some(), "that it fails is kept");
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_a_place_is_a_part_of_the_time() {
    let (revocations, start) = (revocations(), Instant::now());
    let _all = revocations.fetches.acquire_many(FETCHES as u32).await.unwrap();
    assert!(revocations.crls(["http://127.0.0.1/plant.crl"].into_iter(), NOW).await.is_empty());
    assert!(start.elapsed() < TIME + Duration::from_secs(1), "{:?}", start.elapsed());
}

#[tokio::test]
async fn urls_that_lead_nowhere_do_not_push_out_what_is_kept() {
    let revocations = revocations();
    for number in 1..MAX_KEPT as u64 {
        revocations.lock().insert(format!("{number}"), Kept { crl: None, until: 10_000 });
    }
    for url in ["nowhere", "elsewhere", "anywhere"] {
        revocations.crl(url, NOW).await;
    }
    let kept = revocations.lock();
    assert_eq!(kept.len(), MAX_KEPT);
    assert!((1..MAX_KEPT).all(|number| kept.contains_key(&number.to_string())));
}
