//! A manufacturer with its MASA, a domain with its registrar, and devices with their connections.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pki_types::{CertificateDer, UnixTime};
pub(crate) use terse_aws_lc::PROVIDER;
use terse_brski::artefact::{Format, Unsigned};
use terse_brski::certificate::subject;
use terse_brski::est::{CsrAttributes, UnsignedRequest, decode_body, decode_certs_only, encode_body};
use terse_brski::http::{CBOR, JSON};
use terse_brski::telemetry::Status;
use terse_brski::voucher::{Assertion, Nonce, Pin, Voucher, VoucherRequest};
use terse_brski::{SignatureRefused, cms, cose};
use terse_net::tokio::Connector;
use terse_net::{Clock, OsRng};
use terse_onboard::client::{ClientError, HttpsConnection, Incoming, Outgoing, ResponseLimits};
use terse_onboard::registrar::{InitOptions, Listening, Operator, Reloader, Service, init};
use terse_pki::{Authority, AuthorityOptions, Credential, IdevidOptions, Validity};
use terse_tls::crypto::{Rng as _, SigningKey};
use terse_tls::{CertificateType, ClientConfig, Expect, ServerAddress, Trust};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::scripted_masa::ScriptedMasa;
use crate::deadline::{Deadline, SAFETY_LIMIT, soon};

pub(crate) const SERIAL: &str = "WI-3005";

pub(crate) fn now() -> UnixTime {
    UnixTime::since_unix_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap())
}

pub(crate) fn validity() -> Validity {
    Validity::days(now().as_secs() - 3_600, 2)
}

/// A clock that is so many seconds ahead.
pub(crate) fn ahead(seconds: u64) -> Clock {
    Clock::starting_at(UnixTime::since_unix_epoch(Duration::from_secs(now().as_secs() + seconds)))
}

pub(crate) fn authority(name: &str) -> Authority {
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), Validity::without_end(now().as_secs() - 3_600));
    Authority::new(&AuthorityOptions { name: name.into(), key_identifiers: true, ..options }).unwrap()
}

pub(crate) fn tls(credential: &Credential) -> terse_tls::Credential {
    terse_tls::Credential::new(credential.chain().to_vec(), PROVIDER.load_key(credential.key()).unwrap()).unwrap()
}

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) maker: Authority,
    pub(crate) masa: ScriptedMasa,
    /// What the configuration says for the database.
    database: String,
}

/// A registrar that runs.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    /// Where health is asked for, if that is configured.
    pub(crate) health: Option<SocketAddr>,
    /// Where the list of revoked certificates is, if that is configured.
    pub(crate) crl: Option<SocketAddr>,
    /// Where the status pages are, if that is configured.
    pub(crate) pages: Option<SocketAddr>,
    /// Where devices of constrained BRSKI arrive, and the messages of stateless join proxies, if that is configured.
    pub(crate) coaps: Option<SocketAddr>,
    pub(crate) jpy: Option<SocketAddr>,
    /// Where registrars are asked for.
    pub(crate) discovery: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    /// Its own, if it can be killed.
    runtime: Option<tokio::runtime::Runtime>,
}

impl Running {
    /// Runs a registrar that listens.
    pub(crate) fn start(listening: Listening) -> Self {
        let runs = Self::of(&listening);
        let (stop, stopped) = watch::channel(false);
        Self { stop, task: tokio::spawn(listening.run(stopped)), ..runs }
    }

    /// What will run.
    fn of(listening: &Listening) -> Self {
        Self {
            address: listening.address(),
            health: listening.health_address(),
            crl: listening.crl_address(),
            pages: listening.pages_address(),
            coaps: listening.coaps_address(),
            jpy: listening.jpy_address(),
            discovery: listening.discovery_addresses().collect(),
            stop: watch::channel(false).0,
            task: tokio::spawn(async {}),
            runtime: None,
        }
    }

    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        soon(self.task).await.unwrap();
    }

    /// Ends all that runs, wherever it is.
    pub(crate) fn kill(self) {
        self.runtime.expect("it was started by `start_apart`").shutdown_background();
    }
}

impl World {
    /// A domain that takes all devices.
    pub(crate) async fn new() -> Self {
        Self::with("devices = \"all\"").await
    }

    /// A domain with these further keys for its manufacturer.
    pub(crate) async fn with(manufacturer: &str) -> Self {
        let maker = authority("Maker");
        let masa = ScriptedMasa::start(&maker).await;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("maker.pem"), maker.root_pem()).unwrap();
        let options = InitOptions::new(
            folder.path().join("registrar"),
            "registrar.plant.example".into(),
            folder.path().join("maker.pem"),
        );
        init(&options, Clock::new()).unwrap();
        let world = Self { folder, maker, masa, database: super::database::new("registrar.db") };
        let masa_url = format!("masa_url = \"{}\"", world.masa.address);
        world.configure("", &format!("{masa_url}\n{manufacturer}"));
        world
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.folder.path().join("registrar/registrar.toml")
    }

    /// Writes the configuration, with further keys of `[enrolment]` and of the manufacturer.
    pub(crate) fn configure(&self, enrolment: &str, manufacturer: &str) {
        let text = format!(
            "listen = \"127.0.0.1:0\"\nnames = [\"registrar.plant.example\"]\nchain = \"registrar.pem\"\n\
             key = \"registrar.key\"\ndatabase = \"{}\"\n[enrolment]\nca = \"ca\"\n{enrolment}\n\
             [limits]\nhold_milliseconds = 30000\nmasa_seconds = 60\nrequests_at_once = 1000000\n\
             [[manufacturer]]\nname = \"maker\"\nanchors = \"manufacturer-ca.pem\"\n{manufacturer}\n",
            self.database
        );
        std::fs::write(self.config(), text).unwrap();
    }

    /// Changes the configuration.
    pub(crate) fn change(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.config()).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(self.config(), text.replace(from, to)).unwrap();
    }

    pub(crate) async fn start(&self) -> Running {
        self.start_at(Clock::new()).await
    }

    pub(crate) async fn start_at(&self, clock: Clock) -> Running {
        Running::start(self.listen_at(clock).await)
    }

    /// A registrar that does not run yet, and what reloads it.
    pub(crate) async fn listen(&self) -> (Listening, Reloader) {
        let listening = self.listen_at(Clock::new()).await;
        let reloader = listening.reloader();
        (listening, reloader)
    }

    async fn listen_at(&self, clock: Clock) -> Listening {
        let service = Service::open(&self.config(), clock).await.unwrap_or_else(|error| panic!("{error}"));
        service.listen().await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts a registrar that can be killed.
    pub(crate) async fn start_apart(&self, clock: Clock) -> Running {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let config = self.config();
        let opened = runtime.spawn(async move {
            let service = Service::open(&config, clock).await.unwrap_or_else(|error| panic!("{error}"));
            service.listen().await.unwrap_or_else(|error| panic!("{error}"))
        });
        let listening = opened.await.unwrap();
        let runs = Running::of(&listening);
        let (stop, stopped) = watch::channel(false);
        let task = runtime.spawn(listening.run(stopped));
        Running { stop, task, runtime: Some(runtime), ..runs }
    }

    /// Opens the database beside the registrar.
    pub(crate) async fn database(&self) -> sqlx::AnyPool {
        sqlx::any::install_default_drivers();
        let url = match self.database.contains("://") {
            true => self.database.clone(),
            false => format!("sqlite:{}", self.folder.path().join("registrar").join(&self.database).display()),
        };
        // The server's own default is for transactions that fail where another one writes the same row; those of the services
        // wait, and so do these.
        let waits = match self.database.starts_with("postgres") {
            true => "SET default_transaction_isolation = 'read committed'",
            false => "PRAGMA busy_timeout = 10000",
        };
        let pool = sqlx::any::AnyPoolOptions::new().after_connect(move |connection, _| {
            Box::pin(async move { sqlx::Executor::execute(connection, waits).await.map(drop) })
        });
        pool.connect(&url).await.unwrap()
    }

    /// How many rows a table has.
    pub(crate) async fn count(&self, table: &str) -> i64 {
        let count =
            sqlx::query_scalar(&format!("SELECT COUNT(*) FROM {table}")).fetch_one(&self.database().await).await;
        count.unwrap()
    }

    /// Waits until a table has so many rows: the chores of a registrar take their time.
    pub(crate) async fn until_count(&self, table: &str, rows: i64) {
        let deadline = Deadline::new();
        loop {
            let count = self.count(table).await;
            if count == rows {
                return;
            }
            deadline.wait(format_args!("{table} has {count} rows, not {rows}")).await;
        }
    }

    pub(crate) async fn operator(&self) -> Operator {
        self.operator_at(Clock::new()).await
    }

    pub(crate) async fn operator_at(&self, clock: Clock) -> Operator {
        Operator::open(&self.config(), clock).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// A device of the manufacturer.
    pub(crate) fn device(&self, serial: &str) -> Device {
        Device::new(&self.maker, serial)
    }
}

/// A device: its IDevID, and a key for its LDevID.
pub(crate) struct Device {
    pub(crate) serial: String,
    pub(crate) idevid: Credential,
    pub(crate) key: Arc<dyn SigningKey>,
    /// The form of what it sends.
    format: Format,
}

impl Device {
    pub(crate) fn new(maker: &Authority, serial: &str) -> Self {
        Self::with(maker, &IdevidOptions::new(serial, now().as_secs() - 3_600))
    }

    pub(crate) fn with(maker: &Authority, options: &IdevidOptions) -> Self {
        let idevid = maker.issue_idevid(options).unwrap();
        // A key of any other certificate does as well as a new one.
        let key = maker.issue_idevid(&IdevidOptions::new("key", now().as_secs() - 3_600)).unwrap();
        Self {
            serial: options.serial_number.clone(),
            idevid,
            key: PROVIDER.load_key(key.key()).unwrap(),
            format: Format::CmsJson,
        }
    }

    /// Its IDevID.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.idevid.leaf().clone()
    }

    /// The same device, whose artefacts have this form.
    pub(crate) fn of(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// Connects with the IDevID.
    pub(crate) async fn connect(&self, registrar: &Running) -> Pledge {
        Pledge { format: self.format, ..Pledge::connect(registrar, Some(tls(&self.idevid))).await }
    }

    /// Asks for the health over a new connection from this address. Returns the status, unless the connection is closed
    /// before.
    pub(crate) async fn health_from(&self, address: &str, registrar: &Running) -> Option<u16> {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(address.parse().unwrap(), 0)).unwrap();
        let transport = socket.connect(registrar.address).await.unwrap();
        let mut pledge = Pledge::over(transport, registrar, Some(tls(&self.idevid))).await.ok()?;
        let outgoing = Outgoing { path: "/health", ..Outgoing::default() };
        Some(pledge.https.send(outgoing, LIMITS).await.ok()?.status)
    }

    /// Connects with an LDevID.
    pub(crate) async fn connect_with(&self, registrar: &Running, ldevid: &CertificateDer<'static>) -> Pledge {
        let credential = terse_tls::Credential::new(vec![ldevid.clone()], self.key.clone()).unwrap();
        Pledge { format: self.format, ..Pledge::connect(registrar, Some(credential)).await }
    }

    /// A voucher request for this connection, with a fresh nonce.
    pub(crate) fn voucher_request(&self, pledge: &Pledge) -> Vec<u8> {
        self.voucher_request_with(pledge, |_| {})
    }

    pub(crate) fn voucher_request_with(&self, pledge: &Pledge, change: impl FnOnce(&mut VoucherRequest)) -> Vec<u8> {
        self.voucher_request_to(pledge.registrar(), change)
    }

    /// A voucher request for a registrar with this certificate.
    pub(crate) fn voucher_request_to(
        &self,
        registrar: CertificateDer<'static>,
        change: impl FnOnce(&mut VoucherRequest),
    ) -> Vec<u8> {
        let mut random = [0; 16];
        OsRng.fill(&mut random).unwrap();
        let mut fields = VoucherRequest::new(self.serial.clone());
        fields.created_on = Some(now());
        fields.assertion = Some(Assertion::Proximity);
        fields.nonce = Some(match self.format {
            Format::CmsJson => Nonce::of_random(&random),
            Format::CoseCbor => Nonce::of_random_bytes(&random),
        });
        fields.proximity_registrar = vec![Pin::Certificate(registrar)];
        change(&mut fields);
        let key = PROVIDER.load_key(self.idevid.key()).unwrap();
        let (content, scheme) = (self.format.encode_request(&fields), key.schemes()[0]);
        let unsigned = match self.format {
            Format::CmsJson => Unsigned::new(self.format, &PROVIDER, &content, self.idevid.chain(), scheme, now()),
            Format::CoseCbor => cose::Unsigned::new(&content, self.idevid.leaf(), &[], scheme).map(Unsigned::Cose),
        };
        unsigned.unwrap().sign(&*key, &mut OsRng).unwrap()
    }

    /// A certification request with the subject of the IDevID and what the attributes ask for.
    pub(crate) fn certification_request(&self, attributes: &CsrAttributes) -> Vec<u8> {
        let subject = attributes.subject_for(subject(self.idevid.leaf()).unwrap()).unwrap();
        let scheme = self.key.schemes()[0];
        let unsigned = UnsignedRequest::new(&subject, &*self.key, scheme, &attributes.extensions).unwrap();
        unsigned.sign(&*self.key, &mut OsRng).unwrap()
    }

    /// Goes through everything up to the open gate of EST. Returns the connection.
    pub(crate) async fn join(&self, registrar: &Running) -> Pledge {
        let mut pledge = self.connect(registrar).await;
        let request = self.voucher_request(&pledge);
        let mut voucher = pledge.request_voucher(&request).await;
        let deadline = Deadline::new();
        while voucher.status == 202 {
            deadline.wait(text(&voucher)).await; // all connections to the MASA are in use
            voucher = pledge.request_voucher(&request).await;
        }
        assert_eq!(voucher.status, 200, "{}", text(&voucher));
        assert_eq!(pledge.voucher_status(true).await.status, 200);
        assert_eq!(pledge.until_decided("/.well-known/est/cacerts").await.status, 200);
        pledge
    }

    /// Joins and enrols. Returns the LDevID.
    pub(crate) async fn enrol(&self, registrar: &Running) -> CertificateDer<'static> {
        let mut pledge = self.join(registrar).await;
        let request = self.certification_request(&CsrAttributes::default());
        certificate(&pledge.enroll("simpleenroll", &request).await)
    }
}

/// A connection of a client to the registrar.
pub(crate) struct Pledge {
    pub(crate) https: HttpsConnection,
    /// The form of what it sends.
    format: Format,
}

pub(crate) const LIMITS: ResponseLimits = ResponseLimits { body: 32_768, time: SAFETY_LIMIT };

impl Pledge {
    pub(crate) async fn connect(registrar: &Running, credential: Option<terse_tls::Credential>) -> Self {
        let transport = TcpStream::connect(registrar.address).await.unwrap();
        Self::over(transport, registrar, credential).await.unwrap()
    }

    async fn over(
        transport: TcpStream,
        registrar: &Running,
        credential: Option<terse_tls::Credential>,
    ) -> Result<Self, ClientError> {
        let mut config = ClientConfig::builder(&PROVIDER);
        config.trust(Trust::unverified(&[CertificateType::X509]).unwrap()).send_server_name(false);
        config.credentials(Vec::from_iter(credential));
        let connector = Connector::new(Arc::new(config.build().unwrap()), Clock::new());
        let server = ServerAddress::new(registrar.address.ip().into(), registrar.address.port());
        let host = registrar.address.to_string();
        let https = HttpsConnection::connect(&connector, server, &host, transport).await?;
        Ok(Self { https, format: Format::CmsJson })
    }

    /// The registrar's certificate.
    pub(crate) fn registrar(&self) -> CertificateDer<'static> {
        self.https.presented().unwrap().chain().next().unwrap().into_owned()
    }

    pub(crate) async fn send(&mut self, outgoing: Outgoing<'_>) -> Incoming {
        self.https.send(outgoing, LIMITS).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn post(&mut self, path: &str, content_type: &str, body: &[u8]) -> Incoming {
        let content_type = Some(content_type);
        self.send(Outgoing { path, content_type, body: Some(body.into()), ..Outgoing::default() }).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Incoming {
        self.send(Outgoing { path, ..Outgoing::default() }).await
    }

    /// Asks for the health until that was too often.
    pub(crate) async fn until_too_many(&mut self) {
        let deadline = Deadline::new();
        while self.get("/health").await.status != 429 {
            deadline.check("no request was too many");
        }
    }

    pub(crate) async fn request_voucher(&mut self, request: &[u8]) -> Incoming {
        let content_type = Format::of_artefact(request).media_type();
        self.post("/.well-known/brski/requestvoucher", content_type, request).await
    }

    /// Asks until the voucher is there, always with the same bytes. It asks again and again, and not after the Retry-After.
    pub(crate) async fn until_voucher(&mut self, request: &[u8]) -> Incoming {
        let deadline = Deadline::new();
        loop {
            let answer = self.request_voucher(request).await;
            match answer.status {
                200 => return answer,
                status => assert_eq!(status, 202, "{}", text(&answer)),
            }
            deadline.wait(text(&answer)).await;
        }
    }

    pub(crate) async fn voucher_status(&mut self, status: bool) -> Incoming {
        let status = Status::new(status, (!status).then(|| "the pin is wrong".to_owned()));
        self.say("voucher_status", &status).await
    }

    async fn say(&mut self, path: &str, status: &Status) -> Incoming {
        let path = format!("/.well-known/brski/{path}");
        match self.format {
            Format::CmsJson => self.post(&path, JSON, &status.to_json()).await,
            Format::CoseCbor => self.post(&path, CBOR, &status.to_cbor()).await,
        }
    }

    pub(crate) async fn enroll_status(&mut self, status: bool) -> Incoming {
        self.say("enrollstatus", &Status::new(status, None)).await
    }

    pub(crate) async fn enroll(&mut self, path: &str, request: &[u8]) -> Incoming {
        self.post(&format!("/.well-known/est/{path}"), "application/pkcs10", &encode_body(request)).await
    }

    /// Sends a certification request until its certificate is there, always the same bytes, and not after the Retry-After.
    pub(crate) async fn until_enrolled(&mut self, request: &[u8]) {
        let deadline = Deadline::new();
        loop {
            let answer = self.enroll("simpleenroll", request).await;
            match answer.status {
                200 => return,
                status => assert_eq!(status, 202, "{}", text(&answer)),
            }
            deadline.wait(text(&answer)).await;
        }
    }

    /// Gets something of EST until that is there or refused: the audit log takes its time. It asks again and again, and
    /// not after the Retry-After that is checked here.
    pub(crate) async fn until_decided(&mut self, path: &str) -> Incoming {
        let deadline = Deadline::new();
        loop {
            let incoming = self.get(path).await;
            if incoming.status != 202 {
                return incoming;
            }
            let seconds = incoming.retry_after.unwrap();
            assert!((1..=5).contains(&seconds), "{seconds}");
            deadline.wait(text(&incoming)).await;
        }
    }
}

/// The fields of the voucher in an answer, after it was verified as a pledge verifies it.
pub(crate) fn voucher(world: &World, format: Format, incoming: &Incoming) -> Voucher {
    assert_eq!(incoming.status, 200, "{}", text(incoming));
    assert_eq!(incoming.content_type.as_deref(), Some(format.media_type()));
    verified(world, format, &incoming.body)
}

/// The fields of a voucher, after it was verified as a pledge verifies it. In COSE the pledge knows the signer.
pub(crate) fn verified(world: &World, format: Format, voucher: &[u8]) -> Voucher {
    let (content, chain) = match format {
        Format::CmsJson => {
            let signed = cms::Signed::verify(&PROVIDER, voucher, &[]).unwrap();
            (Voucher::from_json(&signed.content), signed.chain)
        }
        Format::CoseCbor => {
            let bare = cose::Signed::verify(&PROVIDER, voucher, &[]);
            assert_eq!(bare.unwrap_err(), SignatureRefused::NoSigner, "no certificates go to the pledge");
            let signer = world.masa.signer();
            let signed = cose::Signed::verify_by(&PROVIDER, voucher, &signer[..1]).unwrap();
            (Voucher::from_cbor(&signed.content), signer)
        }
    };
    let trust = Trust::new(&[world.maker.root().clone()]).unwrap();
    trust.check(&PROVIDER, &chain, Expect::AnyUsage, Some(now())).unwrap();
    content.unwrap()
}

pub(crate) fn text(incoming: &Incoming) -> String {
    String::from_utf8_lossy(&incoming.body).into_owned()
}

/// The certificate in an answer of EST.
pub(crate) fn certificate(incoming: &Incoming) -> CertificateDer<'static> {
    assert_eq!(incoming.status, 200, "{}", text(incoming));
    assert_eq!(incoming.content_type.as_deref(), Some("application/pkcs7-mime; smime-type=certs-only"));
    let certificates = decode_certs_only(&decode_body(&incoming.body, "certificates").unwrap()).unwrap();
    assert_eq!(certificates.len(), 1);
    certificates[0].clone()
}

/// An error is a text for people.
pub(crate) fn refused(incoming: &Incoming, status: u16, part: &str) {
    assert_eq!(incoming.status, status, "{}", text(incoming));
    assert_eq!(incoming.content_type.as_deref(), Some("text/plain; charset=utf-8"));
    assert!(text(incoming).contains(part), "{part:?} is not in {:?}", text(incoming));
}
