//! Clients of the registrar over CoAPS: DTLS on a socket of its own, and CoAP over it.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use pki_types::CertificateDer;
use terse_brski::coap::{self, BlockSize, ClientConfig as CoapConfig, Code, PathForm, Request, Resource, Response};
use terse_brski::coap::{content_format, multipart};
use terse_brski::telemetry::Status;
use terse_ibc::Generator;
use terse_net::{Clock, DatagramClient, NetError, OsRng};
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::{
    CertificateType, CipherSuite, ClientConfig, Connection, Datagrams, ProtocolVersion, ServerAddress, Trust,
};

use super::world::{Device, PROVIDER, World, now, tls};
use crate::deadline::Deadline;

/// A connection of a client of constrained BRSKI.
pub(crate) struct CoapsPledge {
    /// It is with the thread of a request meanwhile.
    inner: Option<Inner>,
}

struct Inner {
    dtls: DatagramClient,
    coap: coap::Client,
    clock: Clock,
    how: How,
}

/// How a client behaves.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) version: ProtocolVersion,
    pub(crate) path_form: PathForm,
    /// The size of datagrams.
    pub(crate) max_datagram: usize,
    /// Whether it answers return routability checks (RFC 9853).
    pub(crate) answers_checks: bool,
    /// How often a message of CoAP is sent again.
    pub(crate) max_retransmit: u8,
    /// Of which types the registrar's certificate may be, preferred first.
    pub(crate) accepts: &'static [CertificateType],
}

impl Default for How {
    fn default() -> Self {
        Self {
            version: ProtocolVersion::TLS_1_3,
            path_form: PathForm::Abbreviated,
            max_datagram: 976,
            answers_checks: true,
            max_retransmit: 8,
            accepts: &[CertificateType::X509],
        }
    }
}

impl World {
    /// Has the registrar serve constrained BRSKI, too.
    pub(crate) fn with_coaps(self) -> Self {
        let coaps = "[coaps]\nlisten = \"127.0.0.1:0\"\njpy = \"127.0.0.1:0\"\n[enrolment]";
        self.change("[enrolment]", coaps);
        self
    }

    /// Has the registrar give identity keys, of this generator.
    pub(crate) fn add_generator(&self) -> Generator {
        let end = now().as_secs() + 86_400;
        let generator = Generator::new(IdentityAlgorithm::Ristretto255, 1, end, &mut OsRng).unwrap();
        let pkg = self.folder.path().join("registrar/pkg");
        std::fs::create_dir(&pkg).unwrap();
        std::fs::write(pkg.join("pkg.pem"), generator.to_pem().as_bytes()).unwrap();
        self.change("[enrolment]", "[identity]\npkg = \"pkg\"\n[enrolment]");
        generator
    }
}

impl Device {
    /// Connects with the IDevID.
    pub(crate) async fn connect_coaps(&self, to: SocketAddr, how: How) -> CoapsPledge {
        CoapsPledge::connect(to, tls(&self.idevid), how).await
    }

    /// Connects with an LDevID.
    pub(crate) async fn connect_coaps_with(
        &self,
        to: SocketAddr,
        ldevid: &CertificateDer<'static>,
        how: How,
    ) -> CoapsPledge {
        let credential = terse_tls::Credential::new(vec![ldevid.clone()], self.key.clone()).unwrap();
        CoapsPledge::connect(to, credential, how).await
    }
}

impl CoapsPledge {
    pub(crate) async fn connect(to: SocketAddr, credential: terse_tls::Credential, how: How) -> Self {
        Self::try_connect(to, credential, how).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn try_connect(
        to: SocketAddr,
        credential: terse_tls::Credential,
        how: How,
    ) -> Result<Self, NetError> {
        blocking(move || {
            let clock = Clock::new();
            let mut config = ClientConfig::builder(&PROVIDER);
            config.trust(Trust::unverified(how.accepts).unwrap()).send_server_name(false);
            config.credentials(vec![credential]).versions(vec![how.version]);
            if how.version == ProtocolVersion::TLS_1_2 {
                config.suites(vec![CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8]);
            }
            let datagrams = Datagrams::default().max_datagram(how.max_datagram).connection_id(Some(0));
            let datagrams = datagrams.return_routability_check(how.answers_checks);
            config.datagrams(datagrams.initial_timeout(200).min_timeout(100));
            let server = ServerAddress::new(to.ip().into(), to.port());
            let config = Arc::new(config.build().unwrap());
            let connection = Connection::client(config, server, clock.now(), &mut OsRng).unwrap();
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(to).unwrap();
            let mut dtls = DatagramClient::new(connection, socket, clock);
            dtls.handshake()?;
            let coap = coap_client(&dtls, how);
            Ok(Self { inner: Some(Inner { dtls, coap, clock, how }) })
        })
        .await
    }

    /// The registrar's certificate.
    pub(crate) fn registrar(&self) -> CertificateDer<'static> {
        let connection = self.inner.as_ref().unwrap().dtls.connection();
        connection.presented().unwrap().chain().next().unwrap().into_owned()
    }

    /// The raw public key that the registrar has presented, if it is one.
    pub(crate) fn raw_public_key(&self) -> Option<Vec<u8>> {
        let presented = self.inner.as_ref().unwrap().dtls.connection().presented().unwrap();
        let is_raw = presented.certificate_type() == CertificateType::RAW_PUBLIC_KEY;
        is_raw.then(|| presented.public_key().to_vec())
    }

    /// Continues from another port, as behind a join proxy that has forgotten the pledge.
    pub(crate) fn move_to_another_port(&mut self, to: SocketAddr) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(to).unwrap();
        self.inner.as_mut().unwrap().dtls.move_to(socket);
    }

    /// From now on it sends a message of CoAP twice at most: for one that nobody answers.
    pub(crate) fn give_up_soon(&mut self) {
        let inner = self.inner.as_mut().unwrap();
        inner.coap = coap_client(&inner.dtls, How { max_retransmit: 1, ..inner.how });
    }

    /// Sends a request, and waits for its response; `None` if the registrar closes the connection, has forgotten it, or does not
    /// answer.
    pub(crate) async fn try_send(&mut self, request: Request) -> Option<Response> {
        let mut inner = self.inner.take().unwrap();
        let (inner, response) = blocking(move || {
            let response = inner.send(request);
            (inner, response)
        })
        .await;
        self.inner = Some(inner);
        response
    }

    pub(crate) async fn send(&mut self, request: Request) -> Response {
        self.try_send(request).await.expect("the registrar is there")
    }

    pub(crate) async fn request_voucher(&mut self, request: &[u8]) -> Response {
        self.send(Request::post(Resource::RequestVoucher, content_format::VOUCHER_COSE, request)).await
    }

    pub(crate) async fn say(&mut self, resource: Resource, status: bool) -> Response {
        let status = Status::new(status, (!status).then(|| "the pin is wrong".to_owned()));
        self.send(Request::post(resource, content_format::CBOR, &status.to_cbor())).await
    }

    pub(crate) async fn enroll(&mut self, resource: Resource, request: &[u8]) -> Response {
        let request = Request::post(resource, content_format::PKCS10, request).accept(content_format::PKIX_CERT);
        self.send(request).await
    }

    /// Gets the CA certificates when the audit log has come.
    pub(crate) async fn ca_certificates(&mut self) -> Vec<CertificateDer<'static>> {
        let request = Request::get(Resource::CaCerts).accept(content_format::MULTIPART_CORE);
        let mut response = self.send(request.clone()).await;
        let deadline = Deadline::new();
        while response.code == Code::SERVICE_UNAVAILABLE {
            deadline.wait(response.diagnostic()).await;
            assert!((1..=Response::MAX_RETRY_AFTER_S).contains(&response.max_age.unwrap()));
            response = self.send(request.clone()).await;
        }
        assert_eq!((response.code, response.content_format), (Code::CONTENT, Some(content_format::MULTIPART_CORE)));
        let parts = multipart::decode(&response.payload, 8).unwrap();
        let certificate = |(format, der): (u16, &[u8])| {
            assert_eq!(format, content_format::PKIX_CERT);
            CertificateDer::from(der.to_vec())
        };
        parts.into_iter().map(certificate).collect()
    }
}

impl Inner {
    fn send(&mut self, request: Request) -> Option<Response> {
        self.coap.request(self.clock.now(), &mut OsRng, request).unwrap();
        let mut buffer = [0; 2_048];
        loop {
            match self.coap.poll_response() {
                Some(Ok(response)) => return Some(response),
                Some(Err(coap::Failure::Unreachable)) => return None,
                Some(Err(failure)) => panic!("{failure:?}"),
                None => {}
            }
            while let Some(len) = self.coap.poll_transmit(self.clock.now(), &mut buffer) {
                self.dtls.send(&buffer[..len]).ok()?;
            }
            let due = self.coap.poll_timeout().unwrap().0.saturating_sub(self.clock.now().monotonic.0);
            self.dtls.set_limit(Duration::from_millis(due.max(1)));
            match self.dtls.receive(&mut buffer) {
                Ok(0) => return None,
                Ok(len) => self.coap.handle_input(self.clock.now(), &mut OsRng, &buffer[..len]),
                Err(NetError::NoAnswer(_)) => self.coap.handle_timeout(self.clock.now()),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn coap_client(dtls: &DatagramClient, how: How) -> coap::Client {
    let mut config = CoapConfig::default();
    config.path_form = how.path_form;
    config.transmission.max_retransmit = how.max_retransmit;
    config.transmission.ack_timeout_ms = if how.max_retransmit == 0 { 60_000 } else { 300 };
    let room = BlockSize::for_datagram(dtls.connection().max_message());
    config.block_size = config.block_size.min(room);
    coap::Client::new(config, &mut OsRng).unwrap()
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// An error has this code, and a text for people.
pub(crate) fn refused(response: &Response, code: Code, part: &str) {
    let text = response.diagnostic().unwrap_or_default();
    assert_eq!(response.code, code, "{text}");
    assert!(text.contains(part), "{part:?} is not in {text:?}");
}
