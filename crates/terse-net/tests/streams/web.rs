//! hyper and axum serve `curl` over streams of an acceptor.

use core::convert::Infallible;
use core::net::SocketAddr;
use std::fs;
use std::process::{Command, Output};

use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto;
use tempfile::TempDir;
use terse_net::tokio::{Acceptor, TlsStream};
use terse_tls::{ClientAuthentication, ProtocolVersion};
use tokio::net::TcpStream;

use super::acceptor::until;
use super::world::{NAME, World, authority, soon};

/// Whether curl is installed. If it is not, the test says so, and fails where nothing may be skipped.
fn has_curl() -> bool {
    let is_there = Command::new("curl").arg("--version").output().is_ok();
    if !is_there {
        let required = std::env::var_os("TERSE_REQUIRE_ALL").is_some_and(|value| value == "1");
        assert!(!required, "curl is required: apt-get install curl");
        println!("skipped: curl is not installed");
    }
    is_there
}

/// curl's files, and where it connects to.
struct Curl {
    files: TempDir,
    address: SocketAddr,
}

impl Curl {
    fn new(world: &World, address: SocketAddr) -> Self {
        let files = tempfile::tempdir().unwrap();
        fs::write(files.path().join("ca.pem"), world.authority.root_pem()).unwrap();
        fs::write(files.path().join("other.pem"), authority("Other CA").root_pem()).unwrap();
        fs::write(files.path().join("chain.pem"), world.issued.chain_pem()).unwrap();
        fs::write(files.path().join("key.pem"), &*world.issued.key_pem()).unwrap();
        Self { files, address }
    }

    /// Runs curl with these arguments, in which `@` before a file's name stands for its directory.
    async fn run(&self, path: &str, arguments: &str) -> Output {
        let (port, ip) = (self.address.port(), self.address.ip());
        let mut command = tokio::task::spawn_blocking({
            let mut command = Command::new("curl");
            command.args(["--silent", "--show-error", "--max-time", "300", "--noproxy", "*"]);
            command.args(["--write-out", "\n%{http_code} HTTP/%{http_version}"]);
            command.args(["--resolve", &format!("{NAME}:{port}:{ip}")]);
            for argument in arguments.split_whitespace() {
                match argument.strip_prefix('@') {
                    Some(file) => command.arg(self.files.path().join(file)),
                    None => command.arg(argument),
                };
            }
            command.arg(format!("https://{NAME}:{port}{path}"));
            move || command.output().unwrap()
        });
        soon(&mut command).await.unwrap()
    }

    /// Returns the body, and the status with the version of HTTP.
    async fn get(&self, path: &str, arguments: &str) -> (String, String) {
        let output = self.run(path, arguments).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let (body, status) = text.rsplit_once('\n').unwrap();
        (body.into(), status.into())
    }
}

fn with_http(world: &mut World) {
    world.server.alpn_protocols(["h2", "http/1.1"]);
}

/// Serves all connections of an acceptor with hyper.
async fn serve_with_hyper(mut acceptor: Acceptor<TcpStream>) {
    while let Some((stream, peer)) = acceptor.accept().await {
        let version = stream.connection().summary().version_name().unwrap_or_default();
        let service = service_fn(move |request: Request<_>| {
            let text = format!("{} from {} over {version}", request.uri().path(), peer.ip());
            core::future::ready(Ok::<_, Infallible>(Response::new(text)))
        });
        tokio::spawn(async move {
            auto::Builder::new(TokioExecutor::new())
                .serve_connection(stream, service)
                .await
                .map_err(|error| error.to_string())
        });
    }
}

#[tokio::test]
async fn hyper_serves_curl() {
    if !has_curl() {
        return;
    }
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let mut world = World::new();
        with_http(&mut world);
        world.server.versions(vec![version]);
        let (acceptor, address) = world.acceptor().await;
        let handle = acceptor.handle();
        tokio::spawn(serve_with_hyper(acceptor));
        let curl = Curl::new(&world, address);
        let mutual = "--cacert @ca.pem --cert @chain.pem --key @key.pem";
        for (option, http) in [("--http1.1", "200 HTTP/1.1"), ("--http2", "200 HTTP/2")] {
            let (body, status) = curl.get("/hello", &format!("{mutual} {option}")).await;
            assert_eq!((&*body, &*status), (&*format!("/hello from 127.0.0.1 over {version}"), http));
        }
        // A client that trusts another CA refuses, and so does a server that is shown no certificate.
        let refused = curl.run("/", "--cacert @other.pem --cert @chain.pem --key @key.pem").await;
        assert_eq!(refused.status.code(), Some(60), "{}", String::from_utf8_lossy(&refused.stderr));
        let refused = curl.run("/", "--cacert @ca.pem").await;
        assert!(!refused.status.success());
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(error.contains("alert"), "it is told why: {error}");
        // The server may learn of the last end after curl.
        until(|| handle.counters().completed + handle.counters().failed >= 4).await;
        let counters = handle.counters();
        assert_eq!((counters.completed, counters.failed), (2, 2));
    }
}

/// axum takes its connections from this, as the front page of `terse_net::tokio` has it.
struct Tls(Acceptor<TcpStream>);

impl axum::serve::Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        match self.0.accept().await {
            Some(accepted) => accepted,
            None => core::future::pending().await, // it was stopped: axum ends by its own signal
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr().ok_or_else(|| std::io::ErrorKind::AddrNotAvailable.into())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn axum_serves_curl() {
    if !has_curl() {
        return;
    }
    const LARGE: usize = 3_000_000;
    let mut world = World::new();
    with_http(&mut world);
    world.server.client_authentication(ClientAuthentication::None);
    let (acceptor, address) = world.acceptor().await;
    let app = Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/large", get(|| async { Body::from(vec![b'x'; LARGE]) }))
        .route("/length", post(|body: axum::body::Bytes| async move { body.len().to_string() }))
        .layer(axum::extract::DefaultBodyLimit::disable());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = axum::serve(Tls(acceptor), app).with_graceful_shutdown(async { drop(stopped.await) });
    let server = tokio::spawn(server.into_future());
    let curl = Curl::new(&world, address);
    fs::write(curl.files.path().join("upload"), vec![b'y'; LARGE]).unwrap();
    for (option, http) in [("--http1.1", "200 HTTP/1.1"), ("--http2", "200 HTTP/2")] {
        let trusting = format!("--cacert @ca.pem {option}");
        assert_eq!(curl.get("/", &trusting).await, ("hello".into(), http.into()));
        let (body, status) = curl.get("/large", &trusting).await;
        assert!(body.len() == LARGE && body.bytes().all(|byte| byte == b'x') && status == http);
        let upload = format!("{trusting} --request POST --upload-file @upload");
        assert_eq!(curl.get("/length", &upload).await, (LARGE.to_string(), http.into()));
    }
    let refused = curl.run("/", "--cacert @other.pem").await;
    assert_eq!(refused.status.code(), Some(60));
    stop.send(()).unwrap();
    soon(server).await.unwrap().unwrap();
}
