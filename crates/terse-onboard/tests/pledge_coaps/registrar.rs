//! A registrar with its MASA and its CA, which answers over CoAPS as a test wants.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use terse_aws_lc::PROVIDER;
use terse_brski::coap::{
    Code, IncomingRequest, MAX_DATAGRAM, Method, Payload, Resource, Response, Server, ServerConfig as CoapConfig,
    content_format, multipart,
};
use terse_brski::cose::{Signed, Unsigned};
use terse_brski::telemetry::Status;
use terse_brski::voucher::{Assertion, Pin, Voucher, VoucherRequest};
use terse_ibc::Generator;
use terse_ibc::files::KeyFile;
use terse_net::pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use terse_net::tokio::DatagramEndpoint;
use terse_net::{Clock, DatagramEvent, OsRng};
use terse_onboard::discovery::Place;
use terse_pki::{CertificationRequest, LdevidPolicy, Subject};
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityType};
use terse_tls::{
    CertificateType, ClientAuthentication, ConnectionHandle, Credential, EndpointLimits, ServerConfig, SignatureScheme,
    Trust,
};
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::pki::{PKI, validity};
use super::{datagrams, raw};

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) resource: Resource,
    pub(crate) accept: Option<u16>,
    pub(crate) payload: Vec<u8>,
    /// The certificate that the client has presented.
    pub(crate) client: CertificateDer<'static>,
    pub(crate) connection: ConnectionHandle,
    /// The version of DTLS, and the cipher suite.
    pub(crate) protocol: (String, String),
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Response(Response),
    /// It is never answered.
    Silence,
    /// The connection ends.
    Close,
}

type Hook = Box<dyn FnMut(&Seen) -> Option<Reply> + Send>;

/// What a registrar is made of.
pub(crate) struct Script {
    pub(crate) registrar: Credential,
    pub(crate) masa: Credential,
    /// Answers a request, or leaves it to the registrar.
    pub(crate) hook: Hook,
    /// Whether Uri-Path-Abbrev is understood.
    pub(crate) knows_abbreviations: bool,
    /// Whether pledges that want it get a raw public key, which vouchers pin.
    pub(crate) has_raw_public_key: bool,
}

impl Default for Script {
    fn default() -> Self {
        let (registrar, masa) = (PKI.registrar.clone(), PKI.masa.clone());
        Self { registrar, masa, hook: Box::new(|_| None), knows_abbreviations: true, has_raw_public_key: false }
    }
}

impl Script {
    pub(crate) fn answering(hook: impl FnMut(&Seen) -> Option<Reply> + Send + 'static) -> Self {
        Self { hook: Box::new(hook), ..Self::default() }
    }

    /// Answers the first requests for a resource so.
    pub(crate) fn answering_at(resource: Resource, times: usize, reply: Reply) -> Self {
        let mut left = times;
        Self::answering(move |seen| {
            let is_asked = seen.resource == resource && left > 0;
            left -= usize::from(is_asked);
            is_asked.then(|| reply.clone())
        })
    }
}

/// What tests see of a registrar.
#[derive(Default)]
struct Log {
    seen: Vec<Seen>,
    /// How many requests were refused because of Uri-Path-Abbrev.
    refused: usize,
    /// How many connections the clients have closed properly.
    closed: usize,
}

/// A registrar that runs until it is dropped.
pub(crate) struct Registrar {
    log: Arc<Mutex<Log>>,
    port: u16,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Registrar {
    pub(crate) async fn start(script: Script) -> Self {
        let mut config = ServerConfig::builder(&PROVIDER);
        let anybody = Trust::unverified(&[CertificateType::X509]).unwrap();
        config.credential(script.registrar.clone());
        if script.has_raw_public_key {
            config.credential(Credential::raw_public_key(Arc::new(KeyOf(script.registrar.clone()))).unwrap());
        }
        config.client_authentication(ClientAuthentication::Required(anybody));
        config.datagrams(datagrams().connection_id(Some(8)).short_tags(true));
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let config = Arc::new(config.build().unwrap());
        let endpoint = DatagramEndpoint::new(config, EndpointLimits::default(), socket, Clock::new()).unwrap();
        let log = Arc::<Mutex<Log>>::default();
        let (stop, mut stopped) = watch::channel(false);
        let mut running = Running { script, endpoint, log: log.clone(), servers: BTreeMap::new(), clock: Clock::new() };
        let task = tokio::spawn(async move {
            tokio::select! {
                _ = stopped.wait_for(|is_stopped| *is_stopped) => {}
                () = running.run() => {}
            }
        });
        Self { log, port, stop, task }
    }

    pub(crate) fn place(&self) -> Place {
        Place::new("127.0.0.1", self.port)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Stops, without a word to anybody, and returns when the port is free.
    pub(crate) async fn vanish(self) {
        let _ = self.stop.send(true);
        self.task.await.unwrap();
    }

    /// Returns the requests that came.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log.lock().unwrap().seen.clone()
    }

    pub(crate) fn resources(&self) -> Vec<Resource> {
        self.seen().iter().map(|seen| seen.resource).collect()
    }

    /// Returns what was sent to this resource.
    pub(crate) fn payloads(&self, resource: Resource) -> Vec<Vec<u8>> {
        self.seen().into_iter().filter(|seen| seen.resource == resource).map(|seen| seen.payload).collect()
    }

    pub(crate) fn refused(&self) -> usize {
        self.log.lock().unwrap().refused
    }

    pub(crate) fn closed(&self) -> usize {
        self.log.lock().unwrap().closed
    }

    /// Returns what the pledge said about its voucher and its enrollment.
    pub(crate) fn statuses(&self) -> Vec<Status> {
        let is_status = |seen: &Seen| matches!(seen.resource, Resource::VoucherStatus | Resource::EnrollStatus);
        let statuses = self.seen().into_iter().filter(is_status);
        statuses.map(|seen| Status::from_cbor(&seen.payload).unwrap()).collect()
    }
}

struct Running {
    script: Script,
    endpoint: DatagramEndpoint,
    log: Arc<Mutex<Log>>,
    servers: BTreeMap<ConnectionHandle, Server>,
    clock: Clock,
}

impl Running {
    async fn run(&mut self) {
        loop {
            let timeout = self.servers.values().filter_map(Server::poll_timeout).min();
            let timeout = timeout.map(|timeout| timeout.since(self.clock.now().monotonic)).unwrap_or(1_000_000);
            tokio::select! {
                event = self.endpoint.next_event() => {
                    let (handle, event) = event.unwrap();
                    self.handle(handle, event);
                }
                () = tokio::time::sleep(Duration::from_millis(timeout)) => {
                    let now = self.clock.now();
                    self.servers.values_mut().for_each(|server| server.handle_timeout(now));
                }
            }
            self.answer();
            self.transmit();
        }
    }

    fn handle(&mut self, handle: ConnectionHandle, event: DatagramEvent) {
        match event {
            DatagramEvent::Connected => {
                self.servers.insert(handle, Server::new(CoapConfig::default(), &mut OsRng).unwrap());
            }
            DatagramEvent::Data(data) => self.take(handle, &data),
            DatagramEvent::PeerClosed => {
                self.log.lock().unwrap().closed += 1;
                self.end(handle);
            }
            DatagramEvent::Failed(_) | DatagramEvent::Idle => self.end(handle),
            _ => {}
        }
    }

    fn take(&mut self, handle: ConnectionHandle, data: &[u8]) {
        if !self.script.knows_abbreviations
            && let Some(refusal) = raw::refusal_of_abbreviation(data)
        {
            self.log.lock().unwrap().refused += 1;
            self.endpoint.send(handle, &refusal).unwrap();
            return;
        }
        if let Some(server) = self.servers.get_mut(&handle) {
            server.handle_input(self.clock.now(), data);
        }
    }

    fn answer(&mut self) {
        let handles: Vec<_> = self.servers.keys().copied().collect();
        for handle in handles {
            while let Some((id, request)) = self.servers.get_mut(&handle).and_then(Server::poll_request) {
                let seen = self.seen(handle, request);
                self.log.lock().unwrap().seen.push(seen.clone());
                let own = |script: &Script| Reply::Response(script.response(&seen));
                match (self.script.hook)(&seen).unwrap_or_else(|| own(&self.script)) {
                    Reply::Silence => {}
                    Reply::Close => self.end(handle),
                    Reply::Response(response) => {
                        let server = self.servers.get_mut(&handle).unwrap();
                        server.respond(self.clock.now(), &mut OsRng, id, response).unwrap();
                    }
                }
            }
        }
    }

    fn seen(&mut self, handle: ConnectionHandle, request: IncomingRequest) -> Seen {
        let connection = self.endpoint.connection(handle).unwrap();
        let summary = connection.summary();
        Seen {
            resource: request.resource,
            accept: request.accept,
            payload: request.payload.to_vec(),
            client: connection.presented().unwrap().chain().next().unwrap().into_owned(),
            connection: handle,
            protocol: (summary.version_name().unwrap(), summary.cipher_suite.unwrap().to_string()),
        }
    }

    fn transmit(&mut self) {
        let mut datagram = [0; MAX_DATAGRAM];
        for (handle, server) in &mut self.servers {
            while let Some(len) = server.poll_transmit(self.clock.now(), &mut datagram) {
                let _ = self.endpoint.send(*handle, &datagram[..len]); // what is refused is as good as lost
            }
        }
    }

    fn end(&mut self, handle: ConnectionHandle) {
        self.endpoint.end(handle);
        self.servers.remove(&handle);
    }
}

impl Script {
    fn response(&self, seen: &Seen) -> Response {
        match seen.resource {
            Resource::RequestVoucher => self.voucher(&seen.payload, &seen.client),
            Resource::VoucherStatus | Resource::EnrollStatus => Response::new(Code::CHANGED),
            Resource::CaCerts => ca_certificates(),
            Resource::SimpleEnroll | Resource::SimpleReenroll => enroll(seen),
            Resource::IdentityKey => identity_key(),
            _ => Response::new(Code::NOT_FOUND),
        }
    }

    /// Answers as the MASA would, after it has verified the request.
    fn voucher(&self, request: &[u8], device: &CertificateDer<'static>) -> Response {
        let signed = Signed::verify(&PROVIDER, request, std::slice::from_ref(device)).unwrap();
        let asked = VoucherRequest::from_cbor(&signed.content).unwrap();
        let leaf = &self.registrar.chain()[0];
        let key = terse_brski::certificate::public_key(leaf).unwrap();
        let is_own = match &asked.proximity_registrar[..] {
            [Pin::PublicKeySha256(digest)] => digest[..] == *PROVIDER.sha256.hash(&[key]).as_ref(),
            [Pin::PublicKey(own)] => own[..] == *key,
            [Pin::Certificate(own)] => own == leaf,
            _ => false,
        };
        assert!(is_own, "{:?}", asked.proximity_registrar);
        let mut voucher = Voucher::new(asked.serial_number, Assertion::Proximity);
        (voucher.nonce, voucher.created_on) = (asked.nonce, asked.created_on);
        voucher.pins = match self.has_raw_public_key {
            true => vec![Pin::PublicKey(key.into())],
            false => vec![Pin::Certificate(PKI.domain.root().clone())],
        };
        success(Method::Post, content_format::VOUCHER_COSE, &self.sign(&voucher.to_cbor()))
    }

    fn sign(&self, voucher: &[u8]) -> Vec<u8> {
        let (chain, scheme) = (self.masa.chain(), SignatureScheme::ECDSA_SECP256R1_SHA256);
        let unsigned = Unsigned::new(voucher, &chain[0], chain, scheme).unwrap();
        unsigned.sign(self.masa.key(), &mut OsRng).unwrap()
    }
}

pub(crate) fn success(method: Method, content_format: u16, payload: &[u8]) -> Response {
    Response::success(method, Some(content_format), Payload::new(payload.to_vec()))
}

/// Returns the certificates of the domain, the issuer of LDevIDs first.
fn ca_certificates() -> Response {
    let mut certificates: Vec<_> = PKI.domain.certificates().cloned().collect();
    certificates.reverse();
    let parts: Vec<multipart::Part<'_>> =
        certificates.iter().map(|certificate| (content_format::PKIX_CERT, certificate.as_ref())).collect();
    success(Method::Get, content_format::MULTIPART_CORE, &multipart::encode(&parts))
}

/// The key of a credential.
struct KeyOf(Credential);

impl SigningKey for KeyOf {
    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn schemes(&self) -> &[SignatureScheme] {
        self.0.key().schemes()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        self.0.key().sign(scheme, message, rng)
    }
}

/// The name of each device's identity key here.
pub(crate) const IDENTITY: &str = "sensor-17.plant";

/// Gives an identity key of a new generator.
fn identity_key() -> Response {
    let identity = Identity::new(IdentityType::DEVICE_NAME, IDENTITY.as_bytes()).unwrap();
    let generator = Generator::new(IdentityAlgorithm::Ristretto255, 1, u64::MAX, &mut OsRng).unwrap();
    let key = generator.extract(&identity).unwrap();
    let file = KeyFile { key, known_peers: Vec::new() }.to_pem().unwrap();
    success(Method::Post, content_format::IDENTITY_KEY, file.as_bytes())
}

/// Issues the LDevID that is asked for.
fn enroll(seen: &Seen) -> Response {
    let request = CertificationRequest::from_der(&seen.payload).unwrap();
    let subject = Subject::of(&seen.client).unwrap();
    assert!(request.subject().matches(&subject));
    assert_eq!(seen.accept, Some(content_format::PKIX_CERT));
    let chain = PKI.domain.issue_ldevid(&request, &LdevidPolicy::new(subject, validity())).unwrap();
    success(Method::Post, content_format::PKIX_CERT, &chain[0])
}
