//! A manufacturer with a MASA and a device, as the factory makes them; and domains with registrars.

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use terse_aws_lc::PROVIDER;
use terse_brski::artefact::{Format, Unsigned};
use terse_brski::certificate::{Idevid, SerialNumberField};
use terse_brski::masa::LogEntry;
use terse_brski::voucher::{Assertion, Nonce, Pin, Voucher, VoucherRequest};
use terse_brski::{cms, cose};
use terse_net::files::{read_certificates, read_private_key};
use terse_net::pki_types::{CertificateDer, UnixTime};
use terse_net::tokio::Connector;
use terse_net::{Clock, OsRng};
use terse_onboard::client::{ClientError, HttpsConnection, Incoming, Outgoing, ResponseLimits};
use terse_onboard::masa::{DeviceOptions, InitOptions, MasaConfig, MasaService, MasaStore, init, make_idevid};
use terse_onboard::store::Database;
use terse_pki::{Authority, AuthorityOptions, RegistrarOptions, Validity, to_pem};
use terse_tls::crypto::SigningKey;
use terse_tls::{ClientConfig, Credential, Expect, ServerAddress, Trust};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::deadline::SAFETY_LIMIT;
pub(crate) use crate::deadline::soon;

pub(crate) const SERIAL: &str = "WI-3005";

/// The password of the customer.
pub(crate) const SECRET: &str = "0123456789abcdef";

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn time() -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(now()))
}

/// Somebody with a certificate and its key.
pub(crate) struct Party {
    /// Leaf first, up to the highest that is sent along.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: Arc<dyn SigningKey>,
}

impl Party {
    /// Signs with all of its certificates, and others.
    pub(crate) fn sign(&self, format: Format, others: &[CertificateDer<'static>], content: &[u8]) -> Vec<u8> {
        let chain = [&self.chain, others].concat();
        let unsigned = Unsigned::new(format, &PROVIDER, content, &chain, self.key.schemes()[0], time()).unwrap();
        unsigned.sign(&*self.key, &mut OsRng).unwrap()
    }

    /// Signs in COSE without certificates, as a pledge does.
    pub(crate) fn sign_bare(&self, content: &[u8]) -> Vec<u8> {
        let unsigned = cose::Unsigned::new(content, &self.chain[0], &[], self.key.schemes()[0]).unwrap();
        unsigned.sign(&*self.key, &mut OsRng).unwrap()
    }

    pub(crate) fn credential(&self) -> Credential {
        Credential::new(self.chain.clone(), self.key.clone()).unwrap()
    }
}

/// A domain.
pub(crate) struct Domain {
    pub(crate) authority: Authority,
    pub(crate) registrar: Party,
}

impl Domain {
    pub(crate) fn new(name: &str) -> Self {
        let validity = Validity::days(now() - 86_400, 30);
        let options = AuthorityOptions::new("p256x3".parse().unwrap(), validity);
        let authority =
            Authority::new(&AuthorityOptions { name: name.into(), key_identifiers: true, ..options }).unwrap();
        let issued = authority.issue_registrar(&RegistrarOptions::new("registrar.plant.example", validity)).unwrap();
        let mut chain = issued.chain().to_vec();
        chain.push(authority.root().clone());
        let registrar = Party { chain, key: PROVIDER.load_key(issued.key()).unwrap() };
        Self { authority, registrar }
    }
}

pub(crate) struct Scene {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) config: MasaConfig,
    pub(crate) device: Party,
    pub(crate) domain: Domain,
    /// The form of requests.
    pub(crate) format: Format,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::of(Format::CmsJson).await
    }

    /// A scene whose requests have this form.
    pub(crate) async fn of(format: Format) -> Self {
        Self::with_keys(format, "p256x2").await
    }

    /// A scene whose manufacturer has these keys.
    pub(crate) async fn with_keys(format: Format, chain: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions {
            out: directory.path().join("masa"),
            name: "localhost".into(),
            listen: "127.0.0.1:0".parse().unwrap(),
            chain: chain.parse().unwrap(),
            ca_name: "Maker".into(),
            days: 30,
            now: now(),
        };
        init(&options).await.unwrap();
        let path = directory.path().join("masa/masa.toml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"masa.db\"", &format!("{:?}", super::database::new("masa.db")))).unwrap();
        let mut config = MasaConfig::read(&path).unwrap();
        config.limits.voucher_seconds = 120; // also on a busy machine a voucher comes meanwhile
        let out = directory.path().join("device");
        let options = DeviceOptions { sold_to: vec!["plant".into()], ..DeviceOptions::default() };
        make_idevid(&config, SERIAL, &options, &out, now()).await.unwrap();
        let key = read_private_key(out.join("WI-3005.key"), None).unwrap();
        let device =
            Party { chain: read_certificates(out.join("WI-3005.pem")).unwrap(), key: PROVIDER.load_key(&key).unwrap() };
        Self { directory, config, device, domain: Domain::new("Plant"), format }
    }

    /// Adds the customer "plant" to the configuration, as its file would.
    pub(crate) fn add_customer(&mut self, lines: &str) {
        let path = self.directory.path().join("masa/masa.toml");
        fs::write(path.with_file_name("plant.secret"), format!("{SECRET}\n")).unwrap();
        fs::write(path.with_file_name("plant-ca.pem"), to_pem("CERTIFICATE", self.domain.authority.root())).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}\n[[customer]]\nname = \"plant\"\n{lines}\n")).unwrap();
        self.config = MasaConfig::read(&path).unwrap();
    }

    /// Goes on with another database, in which the factory has registered nothing.
    pub(crate) fn forget(&mut self) {
        let database = Database::try_from(super::database::new("empty.db")).unwrap();
        self.config.database = database.beside(&self.directory.path().join("masa.toml"));
    }

    /// The roots of IDevIDs and of the MASA's server.
    pub(crate) fn roots(&self) -> Vec<CertificateDer<'static>> {
        read_certificates(self.directory.path().join("masa/ca/ca.pem")).unwrap()
    }

    /// The certificates by which the device verifies vouchers.
    pub(crate) fn anchors(&self) -> Vec<CertificateDer<'static>> {
        read_certificates(self.directory.path().join("device/WI-3005-anchors.pem")).unwrap()
    }

    pub(crate) fn issuer(&self) -> Vec<u8> {
        let idevid = Idevid::read(&PROVIDER, &self.device.chain[0], SerialNumberField::SubjectSerialNumber).unwrap();
        idevid.issuer.unwrap()
    }

    /// The pledge's request, in which it has seen this registrar.
    pub(crate) fn pledge_request(&self, domain: &Domain, nonce: &str) -> Vec<u8> {
        self.sign_as_pledge(&self.pledge_fields(domain, nonce))
    }

    pub(crate) fn sign_as_pledge(&self, fields: &VoucherRequest) -> Vec<u8> {
        let content = self.format.encode_request(fields);
        match self.format {
            Format::CmsJson => self.device.sign(self.format, &[], &content),
            Format::CoseCbor => self.device.sign_bare(&content),
        }
    }

    pub(crate) fn pledge_fields(&self, domain: &Domain, nonce: &str) -> VoucherRequest {
        let mut fields = VoucherRequest::new(SERIAL.into());
        fields.created_on = Some(time());
        fields.assertion = Some(Assertion::Proximity);
        fields.nonce = Some(Nonce::new(nonce.as_bytes()).unwrap());
        fields.proximity_registrar = vec![Pin::Certificate(domain.registrar.chain[0].clone())];
        fields
    }

    /// The fields of a registrar's request.
    pub(crate) fn fields(&self, domain: &Domain, nonce: &str) -> VoucherRequest {
        let mut fields = VoucherRequest::new(SERIAL.into());
        fields.created_on = Some(time());
        fields.assertion = Some(Assertion::Proximity);
        fields.nonce = Some(Nonce::new(nonce.as_bytes()).unwrap());
        fields.idevid_issuer = Some(self.issuer().into());
        fields.prior_signed_voucher_request = Some(self.pledge_request(domain, nonce).into());
        fields
    }

    /// A request as it should be.
    pub(crate) fn request(&self, nonce: &str) -> Vec<u8> {
        self.request_of(&self.domain, nonce)
    }

    pub(crate) fn request_of(&self, domain: &Domain, nonce: &str) -> Vec<u8> {
        // A pledge has another nonce for each registrar.
        let nonce = match domain.registrar.chain[0] == self.domain.registrar.chain[0] {
            true => nonce.to_owned(),
            false => {
                let [.., last, end] = *domain.registrar.chain[0] else { panic!() };
                format!("{nonce} {last:02x}{end:02x}")
            }
        };
        self.sign_as(domain, &self.fields(domain, &nonce))
    }

    /// Signs as the registrar of a domain does: in COSE with the path of the IDevID.
    pub(crate) fn sign_as(&self, domain: &Domain, fields: &VoucherRequest) -> Vec<u8> {
        let others = match self.format {
            Format::CmsJson => Vec::new(),
            Format::CoseCbor => [self.device.chain.clone(), self.roots()].concat(),
        };
        domain.registrar.sign(self.format, &others, &self.format.encode_request(fields))
    }

    /// A request for a voucher without a nonce, and without a pledge.
    pub(crate) fn nonceless_request(&self) -> Vec<u8> {
        let mut fields = VoucherRequest::new(SERIAL.into());
        fields.created_on = Some(time());
        fields.idevid_issuer = Some(self.issuer().into());
        self.sign_as(&self.domain, &fields)
    }

    pub(crate) async fn start(&self) -> Running {
        self.start_with(|service| service).await
    }

    /// Starts a MASA that takes it to be another time.
    pub(crate) async fn start_at(&self, clock: Clock) -> Running {
        self.serve(MasaService::open_at(&self.config, clock).await.unwrap()).await
    }

    pub(crate) async fn start_with(&self, change: impl FnOnce(MasaService) -> MasaService) -> Running {
        self.serve(change(MasaService::open(&self.config).await.unwrap())).await
    }

    pub(crate) async fn serve(&self, mut service: MasaService) -> Running {
        let pages = service.listen_for_pages(&self.config).await.unwrap();
        let listener = TcpListener::bind(self.config.listen).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        Running { address, pages, stop, task: tokio::spawn(service.serve(listener, stopped)) }
    }

    /// Connects as a registrar does, with a client certificate if there is one.
    pub(crate) async fn connect(&self, address: SocketAddr, client: Option<&Party>) -> HttpsConnection {
        soon(self.try_connect(address, client)).await.unwrap()
    }

    pub(crate) async fn try_connect(
        &self,
        address: SocketAddr,
        client: Option<&Party>,
    ) -> Result<HttpsConnection, ClientError> {
        let transport = TcpStream::connect(address).await.unwrap();
        let server = ServerAddress::new("localhost".try_into().unwrap(), address.port());
        HttpsConnection::connect(&self.connector(client), server, "localhost", transport).await
    }

    pub(crate) fn connector(&self, client: Option<&Party>) -> Connector {
        let mut config = ClientConfig::builder(&PROVIDER);
        config.trust(Trust::new(&self.roots()).unwrap());
        if let Some(client) = client {
            config.credential(client.credential());
        }
        Connector::new(Arc::new(config.build().unwrap()), Clock::new())
    }

    /// Posts a request for a voucher over a connection of its own.
    pub(crate) async fn ask(&self, address: SocketAddr, request: &[u8]) -> Incoming {
        send(&mut self.connect(address, None).await, voucher(request)).await.unwrap()
    }

    /// Asks for twenty vouchers, one after the other.
    pub(crate) async fn ask_often(&self, address: SocketAddr) {
        for number in 0..20 {
            let nonce = format!("nonce {number}");
            assert_eq!(self.ask(address, &self.request(&nonce)).await.status, 200);
        }
    }

    pub(crate) async fn ask_audit_log(&self, address: SocketAddr, request: &[u8]) -> Incoming {
        let path = "/.well-known/brski/requestauditlog";
        send(&mut self.connect(address, None).await, Outgoing { path, ..voucher(request) }).await.unwrap()
    }

    /// Opens the database beside the MASA.
    pub(crate) async fn pool(&self) -> sqlx::AnyPool {
        sqlx::any::install_default_drivers();
        sqlx::AnyPool::connect(&self.database_url()).await.unwrap()
    }

    pub(crate) fn database_url(&self) -> String {
        let text = fs::read_to_string(self.directory.path().join("masa/masa.toml")).unwrap();
        let url = text.lines().find_map(|line| line.strip_prefix("database = \"")?.strip_suffix('"')).unwrap();
        match url.contains("://") {
            true => url.to_owned(),
            false => format!("sqlite:{}", self.directory.path().join("masa").join(url).display()),
        }
    }

    pub(crate) async fn store(&self) -> MasaStore {
        MasaStore::open(&self.config.database).await.unwrap()
    }

    /// The audit log of the device, as it is in the database.
    pub(crate) async fn log(&self) -> Vec<LogEntry> {
        let store = self.store().await;
        let records = store.devices(SERIAL).await.unwrap();
        let log = store.newest(&records[0].device, 100).await.unwrap();
        store.close().await;
        log
    }
}

/// A MASA that serves.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    /// Where the status pages are, if that is configured.
    pub(crate) pages: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        soon(self.task).await.unwrap();
    }
}

/// Checks the voucher in an answer, and returns its fields.
pub(crate) fn issued(scene: &Scene, answer: &Incoming) -> Voucher {
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    assert_eq!(answer.content_type.as_deref(), Some(scene.format.media_type()));
    // As the pledge and the registrar verify it.
    let (content, chain) = match scene.format {
        Format::CmsJson => {
            let signed = cms::Signed::verify(&PROVIDER, &answer.body, &[]).unwrap();
            (Voucher::from_json(&signed.content), signed.chain)
        }
        Format::CoseCbor => {
            let signed = cose::Signed::verify(&PROVIDER, &answer.body, &[]).unwrap();
            (Voucher::from_cbor(&signed.content), signed.chain)
        }
    };
    let trust = Trust::new(&scene.anchors()).unwrap();
    trust.check(&PROVIDER, &chain, Expect::Unrestricted, Some(time())).unwrap();
    content.unwrap()
}

pub(crate) fn voucher(request: &[u8]) -> Outgoing<'static> {
    let own = Some(Format::of_artefact(request).media_type());
    Outgoing {
        body: Some(request.to_vec()),
        path: "/.well-known/brski/requestvoucher",
        content_type: own,
        accept: own,
        authorization: None,
    }
}

pub(crate) async fn send(connection: &mut HttpsConnection, request: Outgoing<'_>) -> Result<Incoming, ClientError> {
    connection.send(request, ResponseLimits { body: 65_536, time: SAFETY_LIMIT }).await
}

/// Checks that an answer is a text for people with this status, which says `part`.
#[track_caller]
pub(crate) fn refused(answer: &Incoming, status: u16, part: &str) {
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    assert_eq!(answer.status, status, "{text}");
    assert_eq!(answer.content_type.as_deref(), Some("text/plain; charset=utf-8"));
    assert!(text.contains(part), "{text}");
}
