//! Health checks over real sockets.

use alloc::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

/// Sends a request, and returns what comes until the connection ends.
async fn send(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    crate::deadline::soon(stream.read_to_string(&mut answer)).await.unwrap();
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
    let serving = tokio::spawn(health.serve(is_well, Router::new(), stopped));
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
async fn who_holds_connections_has_few_and_for_a_while_and_keeps_nobody_out() {
    let health = Health::bind("127.0.0.1:0").await.unwrap();
    let address = health.address();
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(health.serve(|| core::future::ready(true), Router::new(), stopped));
    let mut held = Vec::new();
    for _ in 0..2 * CONNECTIONS {
        held.push(TcpStream::connect(address).await.unwrap());
        assert!(send(address, "GET /health HTTP/1.1\r\nHost: health\r\n\r\n").await.starts_with("HTTP/1.1 200"));
    }
    // Those that say nothing end, too.
    for mut stream in held {
        let mut rest = Vec::new();
        let _ = crate::deadline::soon(stream.read_to_end(&mut rest)).await; // a reset is an end as well
    }
}
