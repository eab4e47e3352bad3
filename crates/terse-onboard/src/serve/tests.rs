//! Clients who want to stay, against the default limits, in virtual time.

use core::convert::Infallible;
use core::net::IpAddr;

use axum::http::{Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::*;

/// A client, and its connection in the server.
struct Client {
    stream: DuplexStream,
    connection: JoinHandle<Ended>,
    _stop: watch::Sender<bool>,
}

const SECOND: Duration = Duration::from_secs(1);

fn entrance() -> Entrance {
    Entrance::new(Limits::default().rules())
}

async fn answer(request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let mut response = match request.uri().path() {
        "/later" => StatusCode::ACCEPTED.into_response(),
        "/large" => vec![b'x'; 1 << 20].into_response(),
        "/slow" => {
            sleep(45 * SECOND).await;
            StatusCode::OK.into_response()
        }
        _ => StatusCode::OK.into_response(),
    };
    if request.uri().path() == "/proof" {
        response.extensions_mut().insert(Proven);
    }
    Ok(response)
}

impl Client {
    fn connect(entrance: &Entrance, address: &str) -> Self {
        let address: IpAddr = address.parse().unwrap();
        let (stream, other) = duplex(4_096);
        let (stop, stopped) = watch::channel(false);
        let admitted = entrance.admit(address);
        let connection =
            tokio::spawn(async move { admitted.serve(TokioIo::new(other), service_fn(answer), stopped).await });
        Self { stream, connection, _stop: stop }
    }

    async fn send(&mut self, path: &str) -> bool {
        let request = format!("GET {path} HTTP/1.1\r\nHost: registrar\r\n\r\n");
        self.stream.write_all(request.as_bytes()).await.is_ok()
    }

    /// Returns the status of an answer without a body, or `None` if the connection has ended.
    async fn ask(&mut self, path: &str) -> Option<u16> {
        self.send(path).await;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await.ok()?);
        }
        core::str::from_utf8(&head).unwrap().split(' ').nth(1).unwrap().parse().ok()
    }
}

/// Each address has 505 connections, and asks something on each of them often enough to keep it.
#[tokio::test(start_paused = true)]
async fn strangers_at_two_addresses_keep_nobody_out() {
    let entrance = entrance();
    let stranger = |number: usize| Client::connect(&entrance, ["192.0.2.1", "192.0.2.2"][number % 2]);
    let mut strangers: Vec<_> = (0..1_010).map(stranger).collect();
    let mut honest = Client::connect(&entrance, "192.0.2.3");
    assert_eq!(honest.ask("/").await, Some(200));
    for _ in 0..3 {
        for (number, held) in strangers.iter_mut().enumerate() {
            if held.ask("/").await.is_none() {
                *held = stranger(number); // it comes again at once
            }
        }
        assert_eq!(honest.ask("/").await, Some(200), "who is there stays");
        assert_eq!(Client::connect(&entrance, "192.0.2.4").ask("/").await, Some(200), "who comes gets in");
        sleep(20 * SECOND).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_makes_room_ends() {
    let rules =
        Rules { capacity: Capacity { connections: 2, per_network: 2, per_address: 2 }, ..Limits::default().rules() };
    let entrance = Entrance::new(rules);
    let mut proven = Client::connect(&entrance, "192.0.2.1");
    assert_eq!(proven.ask("/proof").await, Some(200));
    sleep(SECOND).await;
    let silent = Client::connect(&entrance, "192.0.2.2");
    sleep(SECOND).await;
    let mut third = Client::connect(&entrance, "192.0.2.3");
    assert!(
        matches!(silent.connection.await.unwrap(), Ended::Evicted),
        "it was idle for less time, and has proven nothing"
    );
    assert_eq!(third.ask("/").await, Some(200));
    assert_eq!(proven.ask("/").await, Some(200));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_answers_ends() {
    for others in [0, 1_000] {
        let entrance = entrance();
        let mut client = Client::connect(&entrance, "192.0.2.1");
        let begun = Instant::now();
        client.send("/large").await;
        // Further requests do not help.
        for _ in 0..others {
            tokio::select! {
                biased;
                is_sent = client.send("/") => if !is_sent { break },
                () = sleep(SECOND) => {}
            }
        }
        assert!(matches!(client.connection.await.unwrap(), Ended::TimedOut));
        assert!(begun.elapsed() >= Limits::default().write && begun.elapsed() < Limits::default().total);
    }
}

/// A head that comes byte by byte is none until it is whole.
#[tokio::test(start_paused = true)]
async fn the_head_of_a_request_has_its_time_and_longer_after_a_202() {
    let limits = Limits::default();
    for (path, time) in [("/", limits.between_requests), ("/later", limits.while_waiting)] {
        for is_trickling in [false, true] {
            let entrance = entrance();
            let mut client = Client::connect(&entrance, "192.0.2.1");
            assert!(client.ask(path).await.is_some());
            let begun = Instant::now();
            while is_trickling && client.stream.write_all(b"G").await.is_ok() {
                sleep(SECOND).await; // after which it notices the end
            }
            assert!(matches!(client.connection.await.unwrap(), Ended::TimedOut));
            assert!(begun.elapsed() >= time && begun.elapsed() <= time + 2 * SECOND, "{path}: {:?}", begun.elapsed());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_with_its_time_however_much_it_asks() {
    let entrance = entrance();
    let mut client = Client::connect(&entrance, "192.0.2.1");
    assert_eq!(client.ask("/slow").await, Some(200), "the service may take longer than the client");
    let mut asked = 0;
    while client.ask("/later").await.is_some() {
        asked += 1;
        sleep(20 * SECOND).await;
    }
    assert!(matches!(client.connection.await.unwrap(), Ended::TimedOut));
    assert!((40..=45).contains(&asked), "{asked}"); // 15 minutes
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_too_long_is_refused() {
    let entrance = entrance();
    let mut client = Client::connect(&entrance, "192.0.2.1");
    let (mut reader, mut writer) = tokio::io::split(client.stream);
    tokio::spawn(async move {
        let _ = writer.write_all(b"GET / HTTP/1.1\r\nX: ").await;
        while writer.write_all(&[b'x'; 1_000]).await.is_ok() {}
    });
    let mut answer = Vec::new();
    let _ = reader.read_to_end(&mut answer).await; // a reset is an end as well
    assert!(answer.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&answer));
    assert!(matches!((&mut client.connection).await.unwrap(), Ended::Failed(_)));
}
