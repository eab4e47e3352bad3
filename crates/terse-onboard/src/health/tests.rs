//! Health checks over real sockets.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// Sends a request, and returns what comes until the connection ends.
async fn send(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn health_is_answered_and_nothing_else() {
    let health = Health::bind("127.0.0.1:0").await.unwrap();
    let address = health.address();
    let well = Arc::new(AtomicBool::new(true));
    let is_well = {
        let well = well.clone();
        move || core::future::ready(well.load(Ordering::Relaxed))
    };
    let (stop, stopped) = watch::channel(false);
    let serving = tokio::spawn(health.serve(is_well, stopped));
    let get = "GET /health HTTP/1.1\r\nHost: health\r\n\r\n";
    let good = send(address, get).await;
    assert!(good.starts_with("HTTP/1.1 200 OK\r\n") && good.ends_with("\r\n\r\nok\n"), "{good}");
    for (request, status) in [
        ("POST /health HTTP/1.1\r\nHost: health\r\nContent-Length: 0\r\n\r\n", "405"),
        ("GET / HTTP/1.1\r\nHost: health\r\n\r\n", "404"),
        ("GET /.well-known/brski/requestvoucher HTTP/1.1\r\nHost: health\r\n\r\n", "404"),
        ("garbage\r\n\r\n", "400"),
    ] {
        let answer = send(address, request).await;
        assert_eq!(answer.split(' ').nth(1), Some(status), "{request}: {answer}");
    }
    well.store(false, Ordering::Relaxed);
    tokio::time::sleep(KEPT).await;
    assert!(send(address, get).await.starts_with("HTTP/1.1 503 "));
    stop.send_replace(true);
    serving.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn who_holds_connections_has_few_and_for_a_while() {
    let health = Health::bind("127.0.0.1:0").await.unwrap();
    let address = health.address();
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(health.serve(|| core::future::ready(true), stopped));
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS / 2 {
        held.push(TcpStream::connect(address).await.unwrap());
    }
    let mut refused = TcpStream::connect(address).await.unwrap();
    // It is closed without an answer.
    assert_eq!(refused.read(&mut [0; 1]).await.unwrap_or(0), 0);
    // Those that say nothing end, too.
    for mut stream in held {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await; // a reset is an end as well
    }
    assert!(send(address, "GET /health HTTP/1.1\r\nHost: health\r\n\r\n").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test(start_paused = true)]
async fn many_checks_cost_one_look_in_a_second_also_if_nobody_waits_for_it() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let looks = Looks::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        async {
            tokio::time::sleep(LOOK_TIME / 2).await;
            true
        }
    });
    for _ in 0..10 {
        // This client goes before it has its answer.
        assert!(tokio::time::timeout(LOOK_TIME / 30, looks.is_well()).await.is_err());
    }
    let mut checks = JoinSet::new();
    for _ in 0..10 {
        let looks = looks.clone();
        checks.spawn(async move { looks.is_well().await });
    }
    assert!(checks.join_all().await.into_iter().all(|is_well| is_well));
    assert_eq!(count.load(Ordering::Relaxed), 1);
    tokio::time::advance(KEPT).await;
    assert!(looks.is_well().await);
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_database_that_hangs_is_not_well_before_the_connection_ends() {
    let looks = Looks::new(core::future::pending);
    assert_eq!(tokio::time::timeout(TIME, looks.is_well()).await, Ok(false));
}
