//! A registrar with its MASA and its CA, which answers over HTTPS as a test wants.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::{Extension, Request};
use axum::http::{Response, header};
use axum::{Router, body};
use terse_aws_lc::PROVIDER;
use terse_brski::cms::{Signed, Unsigned};
use terse_brski::est::{decode_body, encode_body, encode_certs_only};
use terse_brski::telemetry::Status;
use terse_brski::voucher::{Assertion, Pin, Voucher, VoucherRequest};
use terse_net::pki_types::CertificateDer;
use terse_net::tokio::Acceptor;
use terse_net::{Clock, OsRng};
use terse_onboard::discovery::Place;
use terse_onboard::serve::{Limits, Peer, serve};
use terse_pki::{CertificationRequest, LdevidPolicy, Subject};
use terse_tls::{CertificateType, ClientAuthentication, Credential, ServerConfig, SignatureScheme, Trust};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::pki::{PKI, validity};

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) host: String,
    pub(crate) body: Vec<u8>,
    /// The certificate that the client has presented.
    pub(crate) client: CertificateDer<'static>,
    /// The port of the client, by which connections differ.
    pub(crate) connection: u16,
}

/// A response.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) retry_after: Option<&'static str>,
    pub(crate) location: Option<&'static str>,
    pub(crate) body: Vec<u8>,
    /// Whether the connection is closed then.
    pub(crate) closes: bool,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    fn ok(content_type: &'static str, body: Vec<u8>) -> Self {
        Self { content_type: Some(content_type), body, ..Self::status(200) }
    }

    fn response(self) -> Response<Body> {
        let mut response = Response::builder().status(self.status);
        let fields = [
            (header::CONTENT_TYPE, self.content_type),
            (header::RETRY_AFTER, self.retry_after),
            (header::LOCATION, self.location),
            (header::CONNECTION, self.closes.then_some("close")),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                response = response.header(name, value);
            }
        }
        response.body(self.body.into()).unwrap()
    }
}

type Hook = Box<dyn Fn(&Seen) -> Option<Answer> + Send + Sync>;

struct Shared {
    masa: Credential,
    /// Answers a request, or leaves it to the registrar.
    hook: Hook,
    seen: Mutex<Vec<Seen>>,
    chain: Vec<CertificateDer<'static>>,
}

/// A registrar that runs until it is dropped.
pub(crate) struct Registrar {
    shared: Arc<Shared>,
    port: u16,
    _stop: watch::Sender<bool>,
}

impl Registrar {
    pub(crate) async fn start(hook: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static) -> Self {
        Self::with(&PKI.registrar, &PKI.masa, Box::new(hook)).await
    }

    /// Starts a registrar whose vouchers are signed by `masa`.
    pub(crate) async fn start_with(
        masa: &Credential,
        hook: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        Self::with(&PKI.registrar, masa, Box::new(hook)).await
    }

    /// Starts a registrar with this certificate.
    pub(crate) async fn start_as(
        registrar: &Credential,
        hook: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        Self::with(registrar, &PKI.masa, Box::new(hook)).await
    }

    async fn with(registrar: &Credential, masa: &Credential, hook: Hook) -> Self {
        let mut config = ServerConfig::builder(&PROVIDER);
        let anybody = Trust::unverified(&[CertificateType::X509]).unwrap();
        config.credential(registrar.clone()).client_authentication(ClientAuthentication::Required(anybody));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = Acceptor::builder(Arc::new(config.build().unwrap()), Clock::new()).start(listener);
        let chain = registrar.chain().to_vec();
        let shared = Arc::new(Shared { masa: masa.clone(), hook, seen: Mutex::default(), chain });
        let answering = shared.clone();
        let routes = Router::new().fallback(move |Extension(peer): Extension<Peer>, request: Request| {
            let shared = answering.clone();
            async move { shared.answer(peer, request).await }
        });
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(serve(acceptor, routes, Limits::default(), stopped));
        Self { shared, port, _stop: stop }
    }

    pub(crate) fn place(&self) -> Place {
        Place::new("127.0.0.1", self.port)
    }

    /// Returns the requests that came.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// Returns what the pledge said about its voucher and its enrollment.
    pub(crate) fn statuses(&self) -> Vec<Status> {
        let requests = self.requests();
        let statuses = requests.iter().filter(|request| request.path.ends_with("status"));
        statuses.map(|request| Status::from_json(&request.body).unwrap()).collect()
    }
}

impl Shared {
    async fn answer(&self, peer: Peer, request: Request) -> Response<Body> {
        let (head, content) = request.into_parts();
        let seen = Seen {
            path: head.uri.path().to_owned(),
            host: head.headers[header::HOST].to_str().unwrap().to_owned(),
            body: body::to_bytes(content, 100_000).await.unwrap().to_vec(),
            client: peer.presented.as_ref().unwrap().chain().next().unwrap().into_owned(),
            connection: peer.address.port(),
        };
        self.seen.lock().unwrap().push(seen.clone());
        let answer = (self.hook)(&seen).unwrap_or_else(|| match seen.path.rsplit('/').next().unwrap() {
            "requestvoucher" => self.voucher(&seen.body),
            "cacerts" => certs_only(&PKI.domain.certificates().cloned().collect::<Vec<_>>()),
            "csrattrs" => Answer::status(204),
            "simpleenroll" => enroll(&seen.body),
            "voucher_status" | "enrollstatus" => Answer::status(200),
            _ => Answer::status(404),
        });
        answer.response()
    }

    /// Answers as the MASA would, after it has verified the request.
    fn voucher(&self, request: &[u8]) -> Answer {
        let signed = Signed::verify(&PROVIDER, request, &[PKI.maker.root().clone()]).unwrap();
        let asked = VoucherRequest::from_json(&signed.content).unwrap();
        assert_eq!(asked.proximity_registrar, [Pin::Certificate(self.chain[0].clone())]);
        let mut voucher = Voucher::new(asked.serial_number, Assertion::Proximity);
        (voucher.nonce, voucher.created_on) = (asked.nonce, asked.created_on);
        voucher.pins = vec![Pin::Certificate(PKI.domain.root().clone())];
        let (scheme, time) = (SignatureScheme::ECDSA_SECP256R1_SHA256, Clock::new().now().unix);
        let unsigned = Unsigned::new(&PROVIDER, &voucher.to_json(), self.masa.chain(), scheme, time).unwrap();
        Answer::ok("application/voucher-cms+json", unsigned.sign(self.masa.key(), &mut OsRng).unwrap())
    }
}

/// Issues the LDevID that is asked for.
fn enroll(request: &[u8]) -> Answer {
    let request = CertificationRequest::from_der(&decode_body(request, "request").unwrap()).unwrap();
    let subject = Subject::of(&PKI.idevid.chain()[0]).unwrap();
    assert!(request.subject().matches(&subject));
    certs_only(&PKI.domain.issue_ldevid(&request, &LdevidPolicy::new(subject, validity())).unwrap())
}

fn certs_only(certificates: &[CertificateDer<'_>]) -> Answer {
    Answer::ok("application/pkcs7-mime; smime-type=certs-only", encode_body(&encode_certs_only(certificates)))
}
