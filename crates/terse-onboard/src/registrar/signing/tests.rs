use core::time::Duration;

use super::*;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(3)
}

#[tokio::test(start_paused = true)]
async fn signatures_under_way_are_bounded_and_the_next_one_gets_its_turn() {
    let turns = Turns::default();
    let mut signing = Vec::new();
    for _ in 0..SIGNATURES {
        signing.push(turns.next(soon()).await.unwrap());
    }
    let until = soon();
    assert!(turns.next(until).await.is_none());
    assert_eq!(Instant::now(), until); // it has waited, and not longer
    let (next, ()) = tokio::join!(turns.next(soon()), async { drop(signing.pop()) });
    assert!(next.is_some());
    assert!(turns.next(soon()).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn requests_that_wait_are_bounded() {
    let turns = Arc::new(Turns::default());
    let mut signing = Vec::new();
    for _ in 0..SIGNATURES {
        signing.push(turns.next(soon()).await.unwrap());
    }
    let waiting: Vec<_> = (SIGNATURES..PLACES)
        .map(|_| {
            let turns = turns.clone();
            tokio::spawn(async move { turns.next(soon()).await.is_some() })
        })
        .collect();
    tokio::task::yield_now().await;
    let now = Instant::now();
    assert!(turns.next(soon()).await.is_none());
    assert_eq!(Instant::now(), now); // it has not waited
    for one in waiting {
        assert!(!one.await.unwrap());
    }
    drop(signing);
    assert!(turns.next(soon()).await.is_some());
}

#[test]
fn a_request_that_comes_again_takes_no_further_signature() {
    let turns = Turns::default();
    let first = turns.mark(([1; 32], [2; 32])).unwrap();
    assert!(turns.mark(([1; 32], [2; 32])).is_none());
    assert!(turns.mark(([1; 32], [3; 32])).is_some());
    drop(first);
    assert!(turns.mark(([1; 32], [2; 32])).is_some());
}

#[test]
fn a_key_that_does_not_sign_is_no_fault_of_the_device() {
    let reply = refused(&Error::Key(terse_pki::KeyError::new("the token is gone")));
    assert_eq!((reply.status, reply.retry_after), (503, Some(RETRY_SECONDS)));
    let reply = refused(&Error::Request(terse_pki::RequestError::UnsupportedKey));
    assert_eq!((reply.status, reply.retry_after), (400, None));
}
