//! A MASA with a script: it issues vouchers and audit logs as `terse_brski::masa` decides, or does what a test wants.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, header};
use axum::routing::{get, post};
use pki_types::{CertificateDer, UnixTime};
use terse_brski::artefact::{Format, Unsigned};
use terse_brski::digest::Sha256;
use terse_brski::http::{JSON, Posted};
use terse_brski::masa::{Context, Decision, Device, IssuedVoucher, LogEntry, Masa, Nonceless, PinChoice, Policy};
use terse_brski::voucher::Voucher;
use terse_net::tokio::Acceptor;
use terse_net::{Clock, OsRng};
use terse_onboard::serve::{self, Limits};
use terse_pki::{Authority, Credential, LeafOptions, Usage, VoucherSignerOptions};
use terse_tls::{ClientAuthentication, ServerConfig, Trust};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use super::world::{PROVIDER, now, tls, validity};
use crate::deadline::Deadline;
use crate::vacant::Vacant;

/// For how many seconds a voucher without a nonce is valid.
pub(crate) const NONCELESS_LIFETIME: u64 = 30 * 86_400;

/// What the MASA does with a request.
#[derive(Clone, Debug, Default)]
pub(crate) enum Script {
    /// What it should.
    #[default]
    Honest,
    /// It waits for [`ScriptedMasa::release`], and does what it should.
    Slow,
    /// It answers this status and text.
    Status(u16, &'static str),
    /// It answers 503, and wants the same again after so many seconds.
    #[allow(dead_code)] // not each of those who include this file needs it
    Busy(u32),
    /// It answers 200 with this type and body.
    Answer(&'static str, Vec<u8>),
    /// It leads elsewhere.
    Redirect(String),
}

pub(crate) struct ScriptedMasa {
    pub(crate) address: SocketAddr,
    /// Keeps the address while the MASA is away.
    _place: Vacant,
    inner: Arc<Inner>,
    server: Arc<ServerConfig>,
    /// What stops it, while it is there.
    running: Mutex<Option<(watch::Sender<bool>, JoinHandle<()>)>>,
}

struct Inner {
    masa: Masa,
    signer: Credential,
    state: Mutex<State_>,
    release: Semaphore,
}

#[derive(Default)]
struct State_ {
    vouchers: Script,
    audits: Script,
    /// The SHA-256 of each voucher request, in the order in which they came.
    requests: Vec<Sha256>,
    /// The last of them, whole.
    last: Vec<u8>,
    accepts: Vec<Option<String>>,
    /// How many voucher requests have come, also those that wait.
    arrived: usize,
    audit_requests: usize,
    issued: Vec<IssuedVoucher>,
    log: Vec<(String, LogEntry)>,
    /// Whether the registrar is a customer.
    is_customer: bool,
    /// Whether the devices support raw public keys alone.
    raw_public_keys_only: bool,
}

impl ScriptedMasa {
    pub(crate) async fn start(maker: &Authority) -> Self {
        let server = LeafOptions { usage: Usage::Server, ..LeafOptions::new("127.0.0.1", validity()) };
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let server = maker.issue(&LeafOptions { names, ..server }).unwrap();
        let signer = maker.issue_voucher_signer(&VoucherSignerOptions::new("Maker vouchers", validity())).unwrap();
        let mut policy = Policy::default();
        policy.devices_without_record = true;
        policy.claims = terse_brski::masa::Claims::Always;
        policy.nonceless = Some(Nonceless { lifetime: NONCELESS_LIFETIME, pin: PinChoice::Highest });
        let masa = Masa::new(&PROVIDER, &[maker.root().clone()], policy).unwrap();
        let state = Mutex::default();
        let inner = Arc::new(Inner { masa, signer, state, release: Semaphore::new(0) });

        let mut config = ServerConfig::builder(&PROVIDER);
        let unverified = Trust::unverified(&[terse_tls::CertificateType::X509]).unwrap();
        config.credential(tls(&server)).client_authentication(ClientAuthentication::Optional(unverified));
        let place = Vacant::new();
        let address = place.address;
        let listener = TcpListener::bind(address).await.unwrap();
        let server = Arc::new(config.build().unwrap());
        let masa = Self { address, _place: place, inner, server, running: Mutex::default() };
        masa.run(listener);
        masa
    }

    fn run(&self, listener: TcpListener) {
        let acceptor = Acceptor::builder(self.server.clone(), Clock::new()).start(listener);
        let routes = Router::new()
            .route("/.well-known/brski/requestvoucher", post(request_voucher))
            .route("/.well-known/brski/requestauditlog", post(request_audit_log))
            .route("/log/{serial}", get(later_audit_log))
            .with_state(self.inner.clone());
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(serve::serve(acceptor, routes, Limits::default(), stopped));
        *self.running.lock().unwrap() = Some((stop, task));
    }

    /// Goes away: connections are refused.
    pub(crate) async fn go(&self) {
        let (stop, task) = self.running.lock().unwrap().take().unwrap();
        stop.send_replace(true);
        task.await.unwrap();
        let deadline = Deadline::new();
        while let Ok(connection) = TcpStream::connect(self.address).await {
            deadline.wait(connection).await;
        }
    }

    /// Comes back at the same address.
    pub(crate) async fn come_back(&self) {
        self.run(self.listen_silently().await);
    }

    /// Takes connections at the same address, and nothing more.
    pub(crate) async fn listen_silently(&self) -> TcpListener {
        let deadline = Deadline::new();
        loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => return listener,
                Err(error) => deadline.wait(error).await, // the old one is being closed
            }
        }
    }

    /// Knows the registrar, which may have vouchers without a nonce then.
    pub(crate) fn know_customer(&self) {
        self.inner.state.lock().unwrap().is_customer = true;
    }

    /// Knows that the devices support raw public keys alone.
    pub(crate) fn know_raw_public_keys(&self) {
        self.inner.state.lock().unwrap().raw_public_keys_only = true;
    }

    pub(crate) fn script(&self, vouchers: Script) {
        self.inner.state.lock().unwrap().vouchers = vouchers;
    }

    pub(crate) fn script_audits(&self, audits: Script) {
        self.inner.state.lock().unwrap().audits = audits;
    }

    /// Lets one request go on that waits.
    pub(crate) fn release(&self) {
        self.inner.release.add_permits(1);
    }

    pub(crate) fn requests(&self) -> Vec<Sha256> {
        self.inner.state.lock().unwrap().requests.clone()
    }

    /// How many voucher requests have come, also those that wait.
    pub(crate) fn arrived(&self) -> usize {
        self.inner.state.lock().unwrap().arrived
    }

    /// Waits until so many voucher requests have come.
    pub(crate) async fn until_arrived(&self, count: usize) {
        let deadline = Deadline::new();
        while self.arrived() < count {
            deadline.wait(self.arrived()).await;
        }
    }

    pub(crate) fn accepts(&self) -> Vec<Option<String>> {
        self.inner.state.lock().unwrap().accepts.clone()
    }

    pub(crate) fn audit_requests(&self) -> usize {
        self.inner.state.lock().unwrap().audit_requests
    }

    /// How many vouchers were issued.
    pub(crate) fn issued(&self) -> usize {
        self.inner.state.lock().unwrap().issued.len()
    }

    /// A voucher that the MASA signs, whatever it says.
    pub(crate) fn signed(&self, format: Format, voucher: &Voucher) -> Vec<u8> {
        sign(format, &self.inner.signer, &format.encode_voucher(voucher))
    }

    /// The certificates of the voucher signer.
    pub(crate) fn signer(&self) -> Vec<CertificateDer<'static>> {
        self.inner.signer.chain().to_vec()
    }

    /// The last voucher request, as it came.
    pub(crate) fn last_request(&self) -> Vec<u8> {
        self.inner.state.lock().unwrap().last.clone()
    }

    /// How many events the audit log of a device has.
    pub(crate) fn logged(&self, serial: &str) -> usize {
        self.inner.state.lock().unwrap().log.iter().filter(|(of, _)| of == serial).count()
    }

    /// Adds what another domain has had.
    pub(crate) fn log(&self, serial: &str, entry: LogEntry) {
        self.inner.state.lock().unwrap().log.push((serial.to_owned(), entry));
    }
}

impl Inner {
    fn posted<'a>(headers: &'a HeaderMap, body: &'a [u8]) -> Posted<'a> {
        let field = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Posted { content_type: field(header::CONTENT_TYPE), accept: field(header::ACCEPT), body }
    }

    fn issue(&self, headers: &HeaderMap, body: &[u8]) -> Response<Body> {
        let time: UnixTime = now();
        let request = match self.masa.read_voucher_request(&Self::posted(headers, body), time) {
            Ok(request) => request,
            Err(refusal) => return answer(refusal.status(), "text/plain", refusal.to_string()),
        };
        let mut state = self.state.lock().unwrap();
        let State_ { issued, log, requests, last, accepts, is_customer, raw_public_keys_only, .. } = &mut *state;
        requests.push(terse_brski::digest::sha256(&PROVIDER, body));
        *last = body.to_vec();
        accepts.push(Self::posted(headers, body).accept.map(str::to_owned));
        let serial = request.serial_number().to_owned();
        let device = request.idevid_issuer().map(|issuer| Device {
            raw_public_keys_only: *raw_public_keys_only,
            ..Device::new(serial.clone(), issuer.into())
        });
        let own: Vec<LogEntry> = log.iter().filter(|(of, _)| *of == serial).map(|(_, entry)| entry.clone()).collect();
        let earlier = issued.iter().find(|one| one.request == *request.sha256()).cloned();
        let customer = is_customer.then_some("plant");
        let context =
            Context { issued: earlier.as_ref(), device: device.as_ref(), log: &own, customer, ..Context::default() };
        match self.masa.decide(&request, &context, time) {
            Ok(Decision::Repeat(voucher)) => answer(200, request.voucher_type(), voucher.to_vec()),
            Ok(Decision::Issue(issuance)) => {
                let format = request.format();
                let voucher = sign(format, &self.signer, &format.encode_voucher(&issuance.voucher));
                issued.push(IssuedVoucher {
                    request: *request.sha256(),
                    voucher: voucher.clone(),
                    expires_on: issuance.voucher.expires_on,
                });
                log.push((serial, issuance.entry));
                answer(200, request.voucher_type(), voucher)
            }
            Err(refusal) => answer(refusal.status(), "text/plain", refusal.to_string()),
        }
    }

    fn audit_log(&self, serial: &str) -> Vec<u8> {
        let state = self.state.lock().unwrap();
        let mut log = terse_brski::audit_log::AuditLog::default();
        log.version = 1;
        for (_, entry) in state.log.iter().filter(|(of, _)| of == serial) {
            let nonce = entry.nonce.clone();
            let event = terse_brski::audit_log::Event::new(entry.date, entry.domain_id.clone(), nonce, entry.assertion);
            log.events.push(event);
        }
        log.to_json()
    }
}

async fn request_voucher(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let script = {
        let mut state = inner.state.lock().unwrap();
        state.arrived += 1;
        state.vouchers.clone()
    };
    match script {
        Script::Honest => inner.issue(&headers, &body),
        Script::Slow => {
            inner.release.acquire().await.unwrap().forget();
            inner.issue(&headers, &body)
        }
        other => {
            let digest = terse_brski::digest::sha256(&PROVIDER, &body);
            inner.state.lock().unwrap().requests.push(digest);
            scripted(other)
        }
    }
}

async fn request_audit_log(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let script = {
        let mut state = inner.state.lock().unwrap();
        state.audit_requests += 1;
        state.audits.clone()
    };
    match script {
        Script::Honest => match inner.masa.read_audit_log_request(&Inner::posted(&headers, &body), now()) {
            Ok(request) => answer(200, JSON, inner.audit_log(request.serial_number())),
            Err(refusal) => answer(refusal.status(), "text/plain", refusal.to_string()),
        },
        other => scripted(other),
    }
}

async fn later_audit_log(
    State(inner): State<Arc<Inner>>,
    axum::extract::Path(serial): axum::extract::Path<String>,
) -> Response<Body> {
    answer(200, JSON, inner.audit_log(&serial))
}

fn scripted(script: Script) -> Response<Body> {
    match script {
        Script::Status(status, text) => answer(status, "text/plain; charset=utf-8", text),
        Script::Busy(seconds) => {
            let mut response = answer(503, "text/plain", "not now");
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            response
        }
        Script::Answer(content_type, body) => answer(200, content_type, body),
        Script::Redirect(location) => {
            // A log that is elsewhere is a 201, and everything else is moved.
            let status = if location.contains("/log/") { 201 } else { 307 };
            let mut response = answer(status, "text/plain", "");
            response.headers_mut().insert(header::LOCATION, location.parse().unwrap());
            response
        }
        Script::Honest | Script::Slow => answer(500, "text/plain", "no such script here"),
    }
}

fn answer(status: u16, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    Response::builder().status(status).header(header::CONTENT_TYPE, content_type).body(body.into()).unwrap()
}

fn sign(format: Format, signer: &Credential, content: &[u8]) -> Vec<u8> {
    let key = PROVIDER.load_key(signer.key()).unwrap();
    let unsigned = Unsigned::new(format, &PROVIDER, content, signer.chain(), key.schemes()[0], now()).unwrap();
    unsigned.sign(&*key, &mut OsRng).unwrap()
}
