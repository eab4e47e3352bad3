//! An EST server with a script: behind it is a CA of `terse-pki`, or it does what a test wants.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, Response, header};
use axum::routing::{get, post};
use pki_types::CertificateDer;
use terse_brski::est::{decode_body, encode_body, encode_certs_only};
use terse_net::Clock;
use terse_net::tokio::Acceptor;
use terse_onboard::serve::{self, Limits, Peer};
use terse_pki::{
    Authority, CertificationRequest, LdevidPolicy, LeafOptions, NamePolicy, RegistrarOptions, Subject, SubjectPolicy,
    Usage, Validity,
};
use terse_tls::{ClientAuthentication, Expect, KeyPurposeId, ServerConfig, Trust};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use super::world::{PROVIDER, World, authority, now, tls, validity};
use crate::deadline::Deadline;

/// What the EST server does with a request.
#[derive(Clone, Debug, Default)]
pub(crate) enum EstScript {
    /// What it should.
    #[default]
    Honest,
    /// It waits for [`ScriptedEst::release`], and does what it should.
    Slow,
    /// It answers this status and text.
    Status(u16, &'static str),
    /// It answers this status with this Retry-After.
    Later(u16, &'static str),
    /// It answers 200 with this type and body.
    Answer(&'static str, Vec<u8>),
    /// It sends these certificates.
    Certificates(Vec<CertificateDer<'static>>),
    /// It issues the certificate under these names, whatever is asked for, by another CA if there is one.
    Issue(Option<Subject>, Vec<String>, Option<Arc<Authority>>),
    /// OpenSSL issues the certificate by the CA in this folder, with the names of the request.
    OpenSsl(PathBuf),
    /// It issues a certificate that begins in so many seconds.
    Begins(u64),
    /// It sends the certificates above the one for the device, too.
    WholeChain,
    /// It sends this certificate before the one that it issues.
    After(CertificateDer<'static>),
}

/// What came with a request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
    pub(crate) authorization: Option<String>,
    /// Whether the client was a registration authority of the CA.
    pub(crate) is_ra: bool,
}

pub(crate) struct ScriptedEst {
    pub(crate) address: SocketAddr,
    pub(crate) inner: Arc<Inner>,
    /// The CA of its TLS server.
    pub(crate) anchors: Authority,
    _stop: watch::Sender<bool>,
}

pub(crate) struct Inner {
    state: Mutex<EstState>,
    release: Semaphore,
}

struct EstState {
    ca: Arc<Authority>,
    enrolment: EstScript,
    ca_certificates: EstScript,
    received: Vec<Received>,
    issued: usize,
}

impl ScriptedEst {
    /// Starts one whose server has this name.
    pub(crate) async fn start(name: &str) -> Self {
        let anchors = authority("Servers");
        let longer = Validity::days(now().as_secs() - 3_600, 30);
        let server = LeafOptions { usage: Usage::Server, ..LeafOptions::new(name, longer) };
        let server = anchors.issue(&server).unwrap();
        let state = Mutex::new(EstState {
            ca: Arc::new(authority("Plant")),
            enrolment: EstScript::Honest,
            ca_certificates: EstScript::Honest,
            received: Vec::new(),
            issued: 0,
        });
        let inner = Arc::new(Inner { state, release: Semaphore::new(0) });
        let mut config = ServerConfig::builder(&PROVIDER);
        let unverified = Trust::unverified(&[terse_tls::CertificateType::X509]).unwrap();
        config.credential(tls(&server)).client_authentication(ClientAuthentication::Optional(unverified));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let acceptor = Acceptor::builder(Arc::new(config.build().unwrap()), Clock::new()).start(listener);
        let address = acceptor.local_addr().unwrap();
        let routes = Router::new()
            .route("/.well-known/est/{*name}", get(ca_certificates).post(enroll))
            .route("/plant/{*name}", post(enroll).get(ca_certificates))
            .with_state(inner.clone());
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(serve::serve(acceptor, routes, Limits::default(), stopped));
        Self { address, inner, anchors, _stop: stop }
    }

    /// Makes it the EST server of a world's registrar, with these further keys. The registrar is one of its CA.
    pub(crate) fn configure(&self, world: &World, further: &str) {
        let folder = world.folder.path().join("registrar");
        let own = self.ca().issue_registrar(&RegistrarOptions::new("registrar.plant.example", validity())).unwrap();
        std::fs::write(folder.join("registrar.pem"), own.chain_pem() + &self.ca().root_pem()).unwrap();
        std::fs::write(folder.join("registrar.key"), own.key_pem().as_bytes()).unwrap();
        std::fs::write(folder.join("est-ca.pem"), self.anchors.root_pem()).unwrap();
        let url = format!("https://{}", self.address);
        // What devices ask for by themselves.
        let subject = "subject = [\"{idevid}\"]";
        let table = format!("{subject}\nest_server = {{ url = \"{url}\", anchors = \"est-ca.pem\"{further} }}");
        world.change("ca = \"ca\"\n", &format!("{table}\n"));
    }

    pub(crate) fn ca(&self) -> Arc<Authority> {
        self.inner.state.lock().unwrap().ca.clone()
    }

    pub(crate) fn replace_ca(&self, ca: Authority) {
        self.inner.state.lock().unwrap().ca = Arc::new(ca);
    }

    /// The certificates of its CA as a registrar sends them.
    pub(crate) fn certificates(&self) -> Vec<CertificateDer<'static>> {
        let mut certificates: Vec<_> = self.ca().certificates().cloned().collect();
        certificates.sort_by(|a, b| a.as_ref().cmp(b));
        certificates
    }

    pub(crate) fn script(&self, enrolment: EstScript) {
        self.inner.state.lock().unwrap().enrolment = enrolment;
    }

    pub(crate) fn script_ca_certificates(&self, script: EstScript) {
        self.inner.state.lock().unwrap().ca_certificates = script;
    }

    /// Lets so many requests go on that wait.
    pub(crate) fn release(&self, count: usize) {
        self.inner.release.add_permits(count);
    }

    fn received(&self, is_wanted: impl Fn(&Received) -> bool) -> Vec<Received> {
        self.inner.state.lock().unwrap().received.iter().filter(|one| is_wanted(one)).cloned().collect()
    }

    /// The certification requests that have come, also those that wait.
    pub(crate) fn requests(&self) -> Vec<Received> {
        self.received(|one| !one.path.ends_with("/cacerts"))
    }

    /// Waits until a certification request has come.
    pub(crate) async fn until_requested(&self) {
        let deadline = Deadline::new();
        while self.requests().is_empty() {
            deadline.wait(self.ca_requests().len()).await;
        }
    }

    /// Waits until so many requests for the CA certificates have come.
    pub(crate) async fn until_ca_requested(&self, count: usize) {
        let deadline = Deadline::new();
        while self.ca_requests().len() < count {
            deadline.wait(self.ca_requests().len()).await;
        }
    }

    /// The requests for the CA certificates.
    pub(crate) fn ca_requests(&self) -> Vec<Received> {
        self.received(|one| one.path.ends_with("/cacerts"))
    }

    pub(crate) fn issued(&self) -> usize {
        self.inner.state.lock().unwrap().issued
    }
}

/// Writes the CRLs of a CA in which these certificates are revoked.
pub(crate) fn write_crl(ca: &Authority, revoked: &[CertificateDer<'static>], file: &Path) {
    write_crl_of(validity(), ca, revoked, file);
}

/// Writes such CRLs, from thisUpdate to nextUpdate.
pub(crate) fn write_crl_of(validity: Validity, ca: &Authority, revoked: &[CertificateDer<'static>], file: &Path) {
    let folder = tempfile::tempdir().unwrap();
    ca.save(folder.path(), false).unwrap();
    ca.revoke(folder.path(), revoked, validity).unwrap();
    std::fs::copy(folder.path().join("crl.pem"), file).unwrap();
}

impl Inner {
    fn note(&self, path: &str, peer: &Peer, headers: &HeaderMap, body: &[u8]) -> EstScript {
        let mut state = self.state.lock().unwrap();
        let chain: Vec<_> =
            peer.presented.iter().flat_map(|presented| presented.chain()).map(CertificateDer::into_owned).collect();
        let trust = Trust::new(&state.ca.certificates().cloned().collect::<Vec<_>>()).unwrap();
        let is_ra = trust.check(&PROVIDER, &chain, Expect::Usage(KeyPurposeId::CMC_RA), Some(now())).is_ok();
        let authorization = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        state.received.push(Received { path: path.into(), body: body.into(), authorization, is_ra });
        if path.ends_with("cacerts") { state.ca_certificates.clone() } else { state.enrolment.clone() }
    }

    fn issue(
        &self,
        body: &[u8],
        policy: Option<(Option<Subject>, Vec<String>)>,
        ca: &Authority,
    ) -> Vec<CertificateDer<'static>> {
        let request = decode_body(body, "request").unwrap();
        let request = CertificationRequest::from_der(&request).unwrap();
        let any = LdevidPolicy::new(request.subject().clone(), validity());
        let policy = match policy {
            Some((subject, names)) => {
                let subject = SubjectPolicy::Fixed(subject.unwrap_or_else(|| request.subject().clone()));
                LdevidPolicy { subject, names: NamePolicy::Fixed(names), ..any }
            }
            None => LdevidPolicy { subject: SubjectPolicy::Requested, names: NamePolicy::Requested, ..any },
        };
        self.state.lock().unwrap().issued += 1;
        ca.issue_ldevid(&request, &policy).unwrap()
    }

    fn scripted(&self, script: EstScript, body: &[u8]) -> Response<Body> {
        let ca = self.state.lock().unwrap().ca.clone();
        match script {
            EstScript::Honest | EstScript::Slow => certificates(&self.issue(body, None, &ca)[..1]),
            EstScript::WholeChain => certificates(&self.issue(body, None, &ca)),
            EstScript::After(earlier) => certificates(&[earlier, self.issue(body, None, &ca)[0].clone()]),
            EstScript::Issue(subject, names, other) => {
                certificates(&self.issue(body, Some((subject, names)), &other.unwrap_or(ca))[..1])
            }
            EstScript::Begins(seconds) => {
                let begin = now().as_secs() + seconds;
                let request = CertificationRequest::from_der(&decode_body(body, "request").unwrap()).unwrap();
                let policy = LdevidPolicy::new(request.subject().clone(), Validity::days(begin, 1));
                certificates(&ca.issue_ldevid(&request, &policy).unwrap()[..1])
            }
            EstScript::OpenSsl(folder) => {
                std::fs::write(folder.join("request.der"), decode_body(body, "request").unwrap()).unwrap();
                openssl(
                    &folder,
                    "x509 -req -inform DER -in request.der -CA ca.pem -CAkey ca.key -days 1 -copy_extensions copyall \
                     -outform DER -out certificate.der",
                );
                certificates(&[std::fs::read(folder.join("certificate.der")).unwrap().into()])
            }
            other => answered(other),
        }
    }
}

/// Runs OpenSSL in a folder. Returns whether it is there; it must do what it should.
pub(crate) fn openssl(folder: &Path, arguments: &str) -> bool {
    let command = std::process::Command::new("openssl").args(arguments.split_whitespace()).current_dir(folder).output();
    let Ok(output) = command else { return false };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

async fn enroll(
    State(inner): State<Arc<Inner>>,
    Extension(peer): Extension<Peer>,
    uri: axum::http::Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    assert_eq!(headers[header::CONTENT_TYPE], "application/pkcs10");
    assert_eq!(headers["content-transfer-encoding"], "base64");
    let script = inner.note(uri.path(), &peer, &headers, &body);
    if matches!(script, EstScript::Slow) {
        inner.release.acquire().await.unwrap().forget();
    }
    inner.scripted(script, &body)
}

async fn ca_certificates(
    State(inner): State<Arc<Inner>>,
    Extension(peer): Extension<Peer>,
    uri: axum::http::Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let script = inner.note(uri.path(), &peer, &headers, &[]);
    let ca = inner.state.lock().unwrap().ca.clone();
    match script {
        EstScript::Honest => certificates(&ca.certificates().cloned().collect::<Vec<_>>()),
        EstScript::Slow => {
            inner.release.acquire().await.unwrap().forget();
            certificates(&ca.certificates().cloned().collect::<Vec<_>>())
        }
        other => answered(other),
    }
}

fn answered(script: EstScript) -> Response<Body> {
    match script {
        EstScript::Status(status, text) => answer(status, "text/plain; charset=utf-8", text),
        EstScript::Later(status, seconds) => {
            let mut response = answer(status, "text/plain", "");
            response.headers_mut().insert(header::RETRY_AFTER, seconds.parse().unwrap());
            response
        }
        EstScript::Answer(content_type, body) => answer(200, content_type, body),
        EstScript::Certificates(sent) => certificates(&sent),
        _ => answer(500, "text/plain", "no such script here"),
    }
}

/// Certificates in lines, as many servers send them.
fn certificates(sent: &[CertificateDer<'_>]) -> Response<Body> {
    let body = encode_body(&encode_certs_only(sent));
    let lines: Vec<&[u8]> = body.chunks(64).collect();
    answer(200, "application/pkcs7-mime; smime-type=certs-only", lines.join(&b"\r\n"[..]))
}

fn answer(status: u16, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    Response::builder().status(status).header(header::CONTENT_TYPE, content_type).body(body.into()).unwrap()
}
