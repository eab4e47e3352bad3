//! aiocoap is a client of this crate's server, and a server for its client, over UDP on loopback: discovery, blocks both ways,
//! Uri-Path-Abbrev, separate responses and errors.
//!
//! `tools/prepare.sh` installs it in `target/python`. Without it, there or for `python3`, the tests are skipped; with
//! `TERSE_REQUIRE_ALL=1` that is a failure.

use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant as Time};

use terse_brski::coap::{
    BlockSize, Client, ClientConfig, Code, ETag, Failure, IncomingRequest, MAX_DATAGRAM, PathForm, Payload, Request,
    Resource, Response, Server, ServerConfig, content_format, link_format,
};
use terse_testkit::rng::SeededRng;
use terse_tls::{Instant, Now};

/// Returns a Python that has aiocoap.
fn python() -> Option<&'static str> {
    let prepared = concat!(env!("CARGO_TARGET_TMPDIR"), "/../python/bin/python");
    let has_aiocoap = |program: &&str| {
        let tried = Command::new(program).args(["-c", "import aiocoap"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let found = [prepared, "python3"].into_iter().find(has_aiocoap);
    if found.is_none() {
        let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
        assert!(!required, "aiocoap is required: tools/prepare.sh");
        eprintln!("skipped: aiocoap is not installed");
    }
    found
}

/// A script that runs, and is ended when this is dropped.
struct Script {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Script {
    fn spawn(python: &str, name: &str, arguments: &[&str]) -> Self {
        let path = format!("{}/tests/aiocoap/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new(python);
        command.arg("-u").arg(path).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Returns the next line that it prints, or an empty one at the end.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().into()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A socket, and the time since it was opened.
struct Link {
    socket: UdpSocket,
    start: Time,
}

impl Link {
    fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        Self { socket, start: Time::now() }
    }

    fn now(&self) -> Now {
        Now::new(Instant(self.start.elapsed().as_millis() as u64), None)
    }

    /// Returns the next datagram, if one comes soon. The first one decides who the peer is.
    fn receive(&self, buffer: &mut [u8]) -> Option<usize> {
        let (len, from) = self.socket.recv_from(buffer).ok()?;
        if self.socket.peer_addr().is_err() {
            self.socket.connect(from).unwrap();
        }
        Some(len)
    }
}

/// What the scripts take for a body of this length.
fn body(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

fn answer(request: &IncomingRequest) -> Response {
    match request.resource {
        Resource::Core => {
            let links = link_format::resources(&request.query);
            Response::success(request.method, Some(content_format::LINK_FORMAT), Payload::new(links.into_bytes()))
        }
        Resource::CaCerts => {
            let mut response = Response::success(request.method, request.accept, Payload::new(body(3_000)));
            response.etag = ETag::new(b"tag");
            response
        }
        Resource::RequestVoucher => {
            let reversed = request.payload.iter().rev().copied().collect();
            Response::success(request.method, Some(content_format::VOUCHER_COSE), Payload::new(reversed))
        }
        _ => Response::new(Code::CHANGED),
    }
}

/// Serves a script until it ends, and returns what it printed.
fn serve(python: &str, requests: &mut Vec<IncomingRequest>) -> Vec<String> {
    let link = Link::new();
    let port = link.socket.local_addr().unwrap().port().to_string();
    let mut config = ServerConfig::default();
    config.acknowledge_after_ms = 100;
    let mut rng = SeededRng::new(1);
    let mut server = Server::new(config, &mut rng).unwrap();
    let mut script = Script::spawn(python, "client.py", &[&port]);
    let (mut buffer, mut late) = (vec![0; MAX_DATAGRAM], Vec::new());
    while script.child.try_wait().unwrap().is_none() {
        if let Some(len) = link.receive(&mut buffer) {
            server.handle_input(link.now(), &buffer[..len]);
        }
        while let Some((id, request)) = server.poll_request() {
            let wait = if request.resource == Resource::EnrollStatus { 600 } else { 0 };
            late.push((link.now().monotonic.0 + wait, id, answer(&request)));
            requests.push(request);
        }
        let (due, later) = late.into_iter().partition(|(at, ..)| *at <= link.now().monotonic.0);
        late = later;
        for (_, id, response) in Vec::from_iter::<Vec<_>>(due) {
            server.respond(link.now(), &mut rng, id, response).unwrap();
        }
        server.handle_timeout(link.now());
        while let Some(len) = server.poll_transmit(link.now(), &mut buffer) {
            link.socket.send(&buffer[..len]).unwrap();
        }
    }
    std::iter::from_fn(|| Some(script.line()).filter(|line| !line.is_empty())).collect()
}

#[test]
fn aiocoap_is_a_client() {
    let Some(python) = python() else { return };
    let mut requests = Vec::new();
    let lines = serve(python, &mut requests);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let line = |name: &str, code: &str, format: &str, etag: &str, payload: &[u8]| {
        format!("{name} {code} {format} {etag} {} {}", payload.len(), hex(payload)).trim_end().to_owned()
    };
    let reversed = |len| body(len).into_iter().rev().collect::<Vec<_>>();
    let links = link_format::resources(&["rt=brski*"]);
    let expected = [
        line("discovery", "2.05", "40", "-", links.as_bytes()),
        line("small", "2.04", "-", "-", b""),
        line("block1", "2.04", "836", "own", &reversed(5_000)),
        line("block2", "2.05", "62", "746167", &body(3_000)),
        line("abbreviated", "2.05", "62", "746167", &body(3_000)),
        line("both", "2.04", "836", "own", &reversed(3_000)),
        line("unknown", "4.02", "-", "-", b"Uri-Path-Abbrev"),
        line("missing", "4.04", "-", "-", b""),
        line("method", "4.05", "-", "-", b""),
        line("long", "4.13", "-", "-", b"the request is too long"),
        line("separate", "2.04", "-", "-", b""),
        line("non", "2.04", "-", "-", b""),
    ];
    // The server tells its responses in blocks apart by entity tags of its own, of two bytes.
    let own = |line: String| match line.split(' ').nth(3) {
        Some(etag) if etag.len() == 4 => line.replacen(etag, "own", 1),
        _ => line,
    };
    assert_eq!(lines.into_iter().map(own).collect::<Vec<_>>(), expected);
    assert_eq!(requests.len(), 8, "each once, without what is refused: {requests:?}");
    assert_eq!((requests[2].payload.as_slice(), requests[2].content_format), (&*body(5_000), Some(836)));
}

/// A client on a socket to a script.
struct Asking {
    link: Link,
    client: Client,
    rng: SeededRng,
    /// How many datagrams were sent.
    sent: usize,
}

impl Asking {
    fn new(port: u16, config: ClientConfig) -> Self {
        let (link, mut rng) = (Link::new(), SeededRng::new(1));
        link.socket.connect(("127.0.0.1", port)).unwrap();
        let client = Client::new(config, &mut rng).unwrap();
        Self { link, client, rng, sent: 0 }
    }

    fn ask(&mut self, request: Request) -> Result<Response, Failure> {
        self.client.request(self.link.now(), &mut self.rng, request).unwrap();
        let mut buffer = vec![0; MAX_DATAGRAM];
        loop {
            while let Some(len) = self.client.poll_transmit(self.link.now(), &mut buffer) {
                self.link.socket.send(&buffer[..len]).unwrap();
                self.sent += 1;
            }
            if let Some(outcome) = self.client.poll_response() {
                return outcome;
            }
            if let Some(len) = self.link.receive(&mut buffer) {
                self.client.handle_input(self.link.now(), &mut self.rng, &buffer[..len]);
            }
            self.client.handle_timeout(self.link.now());
        }
    }
}

#[test]
fn aiocoap_is_a_server() {
    let Some(python) = python() else { return };
    let mut script = Script::spawn(python, "server.py", &[]);
    let port = script.line().parse().unwrap();
    let (rv, es) = (Resource::RequestVoucher, Resource::EnrollStatus);
    for path_form in [PathForm::Abbreviated, PathForm::WellKnown] {
        for size in [64, 512, 1_024] {
            let mut config = ClientConfig::default();
            (config.path_form, config.block_size) = (path_form, BlockSize::at_most(size));
            let mut asking = Asking::new(port, config);
            let response = asking.ask(Request::get(Resource::CaCerts).accept(62)).unwrap();
            assert_eq!((response.code, response.content_format), (Code::CONTENT, Some(62)));
            assert_eq!((response.etag, response.payload.as_slice()), (ETag::new(b"tag"), &*body(3_000)));
            let response = asking.ask(Request::post(rv, content_format::VOUCHER_COSE, &body(2_500))).unwrap();
            let reversed: Vec<_> = body(2_500).into_iter().rev().collect();
            assert_eq!((response.code, response.payload.as_slice()), (Code::CHANGED, &*reversed), "{size}");
            assert_eq!(asking.client.path_form(), path_form, "aiocoap knows the abbreviations");
            assert!(asking.sent >= 5_500 / size);
        }
    }
    let mut asking = Asking::new(port, ClientConfig::default());
    let links = asking.ask(Request::discovery("rt=brski")).unwrap();
    assert_eq!((links.code, links.content_format), (Code::CONTENT, Some(content_format::LINK_FORMAT)));
    link_format::read(&links.payload).unwrap();
    let later = asking.ask(Request::post(Resource::SimpleEnroll, content_format::PKCS10, b"csr")).unwrap();
    assert_eq!((later.code, later.max_age), (Code::SERVICE_UNAVAILABLE, Some(7)));
    let slow = asking.ask(Request::post(es, content_format::CBOR, b"\xa0")).unwrap();
    assert_eq!(slow.code, Code::CHANGED);
    assert_eq!(asking.ask(Request::post(Resource::IdentityKey, 1, b"")).unwrap().code, Code::NOT_FOUND);
    let printed: Vec<_> =
        std::iter::from_fn(|| Some(script.line())).take_while(|line| !line.starts_with("es")).collect();
    assert_eq!(printed.iter().filter(|line| *line == "rv 836 2500 True").count(), 6, "{printed:?}");
}
