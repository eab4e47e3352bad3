//! The pledge's state machine with a registrar and a MASA that decide by these functions: everything is sent as it would be
//! over HTTPS.

use std::sync::Arc;

use pki_types::CertificateDer;
use terse_brski::audit_log::AuditLog;
use terse_brski::digest::sha256;
use terse_brski::est::{CsrAttributes, decode_body, encode_body, encode_certs_only};
use terse_brski::http::{Posted, VOUCHER_CMS_JSON};
use terse_brski::masa::{Context, Decision as Issue, Device, LogEntry, Masa, Policy};
use terse_brski::pledge::{
    Command, ConnectionId, Enrollment, Event, Identity, Input, Pledge, PledgeConfig, Presented, Proxy, Request,
    Response,
};
use terse_brski::registrar::{
    Answer, AuditState, Decision, Devices, Gate, History, Joining, MasaResponse, Registrar, RequestRecord,
    RequestState, Topic, check_certification_request,
};
use terse_pki::{CertificationRequest, Credential, LdevidPolicy, LeafOptions, Subject, Validity, VoucherSignerOptions};
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;
use terse_tls::{Instant, Now};

use super::scene::{NOW, Scene, now, posted, sign};

/// A registrar and a MASA with what they remember.
struct Services {
    scene: Scene,
    registrar: Registrar,
    masa: Masa,
    masa_signer: Credential,
    device: Device,
    log: Vec<LogEntry>,
    record: Option<RequestRecord>,
    joining: Option<Joining>,
}

impl Services {
    fn new(devices: Devices) -> Self {
        let scene = Scene::new();
        let registrar = scene.registrar(|policy| policy.manufacturers[0].devices = devices);
        let signer = VoucherSignerOptions::new("Maker MASA", Validity::days(NOW - 1, 9));
        Self {
            registrar,
            masa: scene.masa(Policy::default()),
            masa_signer: scene.vouchers.issue_voucher_signer(&signer).unwrap(),
            device: scene.device.clone(),
            log: Vec::new(),
            record: None,
            joining: None,
            scene,
        }
    }

    /// Answers a request of a pledge: status, Content-Type and content.
    fn answer(&mut self, presented: &[CertificateDer<'_>], request: &Request) -> (u16, &'static str, Vec<u8>) {
        let posted = Posted { content_type: request.content_type, accept: request.accept, body: &request.body };
        match &*request.path {
            "/.well-known/brski/requestvoucher" => self.request_voucher(presented, &posted),
            "/.well-known/brski/voucher_status" => self.status(Topic::Voucher, presented, &posted),
            "/.well-known/brski/enrollstatus" => self.status(Topic::Enrolment, presented, &posted),
            path => match self.joining.as_ref().unwrap().gate(&PROVIDER, presented) {
                Ok(Gate::Open) => self.enrol(presented, path, &request.body),
                Ok(Gate::Wait { .. }) => (503, "text/plain", Vec::new()),
                Err(refusal) => (refusal.status(), "text/plain", refusal.to_string().into()),
            },
        }
    }

    fn request_voucher(
        &mut self,
        presented: &[CertificateDer<'_>],
        posted: &Posted<'_>,
    ) -> (u16, &'static str, Vec<u8>) {
        let request = match self.registrar.read_voucher_request(presented, posted, now()) {
            Ok(request) => request,
            Err(refusal) => return (refusal.status(), "text/plain", refusal.to_string().into()),
        };
        let forward = match self.registrar.decide(&request, self.record.as_ref(), now()) {
            Ok(Decision::Forward(forward)) => forward,
            Ok(Decision::Wait { record, .. }) => {
                self.record = record.or(self.record.take());
                return (202, "text/plain", Vec::new());
            }
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => return (refusal.status(), "text/plain", refusal.to_string().into()),
        };
        let registrar_request = self.scene.registrar_request(&forward.request);
        let voucher = match self.issue(&registrar_request) {
            Ok(voucher) => voucher,
            Err(refusal) => return (refusal.status(), "text/plain", refusal.to_string().into()),
        };
        let response =
            MasaResponse { status: 200, content_type: Some(VOUCHER_CMS_JSON), retry_after: None, body: &voucher };
        let Ok(Answer::Voucher(received)) = self.registrar.read_masa_response(&request, &response, now()) else {
            panic!()
        };
        // The audit log is fetched at once.
        let read = self.masa.read_audit_log_request(&self::posted(&registrar_request), now()).unwrap();
        let log = self.masa.audit_log(&read, &self.log).unwrap().to_json();
        let log = AuditLog::from_json(&log, 16_384).unwrap();
        let own = received.findings.unwrap().domain_id.unwrap();
        let history = History { domain_ids: &[&own], nonce: Some(request.nonce()), nonces: None, nonceless: &[] };
        let audit = match self.registrar.manufacturer(&request).unwrap().audit.check(&log, &history) {
            Ok(()) => AuditState::Good,
            Err(_) => AuditState::Bad,
        };
        self.joining = Some(Joining { audit, ..Joining::new(*request.client()) });
        (200, VOUCHER_CMS_JSON, voucher)
    }

    fn issue(&mut self, request: &[u8]) -> Result<Vec<u8>, terse_brski::masa::Refusal> {
        let request = self.masa.read_voucher_request(&posted(request), now())?;
        let context = Context { device: Some(&self.device), log: &self.log, ..Context::default() };
        let Issue::Issue(issuance) = self.masa.decide(&request, &context, now())? else { panic!() };
        self.device.owner = Some(issuance.entry.key);
        self.log.push(issuance.entry);
        Ok(sign(&self.masa_signer, self.masa_signer.chain(), &issuance.voucher.to_json()))
    }

    fn status(
        &mut self,
        topic: Topic,
        presented: &[CertificateDer<'_>],
        posted: &Posted<'_>,
    ) -> (u16, &'static str, Vec<u8>) {
        match self.registrar.read_status(topic, presented, posted, self.joining.as_ref()) {
            Ok(telemetry) => {
                self.joining = telemetry.joining.or(self.joining.take());
                (200, "text/plain", Vec::new())
            }
            Err(refusal) => (refusal.status(), "text/plain", refusal.to_string().into()),
        }
    }

    fn enrol(&mut self, presented: &[CertificateDer<'_>], path: &str, body: &[u8]) -> (u16, &'static str, Vec<u8>) {
        let certs_only = "application/pkcs7-mime; smime-type=certs-only";
        match path {
            "/.well-known/est/cacerts" => {
                let all: Vec<_> = self.scene.domain.certificates().cloned().collect();
                (200, certs_only, encode_body(&encode_certs_only(&all)))
            }
            "/.well-known/est/csrattrs" => (204, "application/csrattrs", Vec::new()),
            "/.well-known/est/simpleenroll" => {
                let der = decode_body(body, "CertificationRequest").unwrap();
                check_certification_request(&der, &CsrAttributes::default()).unwrap();
                let subject = Subject::of(&presented[0]).unwrap();
                let policy = LdevidPolicy::new(subject, Validity::days(NOW - 1, 9));
                let csr = CertificationRequest::from_der(&der).unwrap();
                let ldevid = self.scene.domain.issue_ldevid(&csr, &policy).unwrap();
                self.joining.as_mut().unwrap().ldevid = Some(sha256(&PROVIDER, &ldevid[0]));
                (200, certs_only, encode_body(&encode_certs_only(&ldevid[..1])))
            }
            _ => (404, "text/plain", Vec::new()),
        }
    }
}

/// A pledge with its connection, until it can do nothing but wait.
struct Client {
    pledge: Pledge,
    rng: SeededRng,
    time: u64,
    connection: Option<(ConnectionId, Vec<CertificateDer<'static>>)>,
    enrollment: Option<Box<Enrollment>>,
    events: Vec<Event>,
    statuses: Vec<u16>,
}

impl Client {
    fn new(services: &Services) -> Self {
        let scene = &services.scene;
        let key = PROVIDER.load_key(scene.idevid.key()).unwrap();
        let idevid = terse_tls::Credential::new(scene.idevid.chain().to_vec(), key).unwrap();
        let config = PledgeConfig::new(&PROVIDER, idevid, vec![scene.vouchers.root().clone()]).unwrap();
        Self {
            pledge: Pledge::new(Arc::new(config)),
            rng: SeededRng::new(1),
            time: 0,
            connection: None,
            enrollment: None,
            events: Vec::new(),
            statuses: Vec::new(),
        }
    }

    fn handle(&mut self, input: Input<'_>) -> Vec<Command> {
        self.pledge.handle(Now::new(Instant(self.time), Some(now())), &mut self.rng, input)
    }

    /// Runs until `steps` commands are done, or nothing is to be done but to wait for a timer: that is waited for.
    fn run(&mut self, services: &mut Services, steps: usize) {
        let mut commands: Vec<Command> = self.handle(Input::Found(&[Proxy(1)]));
        for _ in 0..steps {
            if commands.is_empty() {
                let Some(Instant(due)) = self.pledge.poll_timeout() else { return };
                self.time = self.time.max(due);
                commands = self.handle(Input::Timer);
                continue;
            }
            let command = commands.remove(0);
            commands.extend(self.execute(services, command));
        }
    }

    fn execute(&mut self, services: &mut Services, command: Command) -> Vec<Command> {
        match command {
            Command::Connect { connection, identity, .. } => {
                let shown = match (identity, &self.enrollment) {
                    (Identity::Ldevid, Some(enrollment)) => enrollment.credential.chain().to_vec(),
                    _ => services.scene.idevid.chain().to_vec(),
                };
                self.connection = Some((connection, shown));
                let chain = services.scene.registrar.chain().to_vec();
                self.handle(Input::Connected { connection, presented: Presented::Chain(&chain) })
            }
            Command::Send(connection, request) => {
                let Some((open, shown)) = self.connection.clone() else { return Vec::new() };
                assert_eq!(open, connection);
                let (status, content_type, body) = services.answer(&shown, &request);
                self.statuses.push(status);
                let mut response = Response::new(status, &body);
                response.content_type = Some(content_type.as_bytes());
                self.handle(Input::Response { connection, response })
            }
            Command::Close(_) => {
                self.connection = None;
                Vec::new()
            }
            Command::MakeKey => {
                let options = LeafOptions::new("key.example", Validity::days(NOW - 1, 9));
                let key = PROVIDER.load_key(services.scene.domain.issue(&options).unwrap().key()).unwrap();
                self.handle(Input::Key(Ok(key)))
            }
            Command::Store(enrollment) => {
                self.enrollment = Some(enrollment);
                self.handle(Input::Stored(true))
            }
            Command::Inform(event) => {
                self.events.push(event);
                Vec::new()
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_pledge_enrols_in_a_domain() {
    let mut services = Services::new(Devices::All);
    let mut device = Client::new(&services);
    device.run(&mut services, 100);
    assert!(matches!(device.events.last(), Some(Event::Enrolled { is_reported: true })), "{:?}", device.events);
    assert_eq!(device.statuses, [200, 200, 200, 204, 200, 200]);
    let joining = services.joining.unwrap();
    assert_eq!((joining.voucher_status, joining.enroll_status), (Some(true), Some(true)));
    let enrollment = device.enrollment.unwrap();
    assert_eq!(joining.ldevid, Some(sha256(&PROVIDER, &enrollment.credential.chain()[0])));
    assert_eq!(enrollment.anchors, [services.scene.domain.root().clone()]);
    assert_eq!(services.log.len(), 1);
}

#[test]
fn a_pledge_waits_for_an_operator() {
    let mut services = Services::new(Devices::ListedOrAsked(vec![]));
    let mut device = Client::new(&services);
    device.run(&mut services, 40);
    assert!(device.statuses.len() > 2 && device.statuses.iter().all(|status| *status == 202), "{:?}", device.statuses);
    assert!(services.log.is_empty());
    // The pledge has repeated the same bytes: the operator's answer is for all of them.
    services.record.as_mut().unwrap().state = RequestState::Allowed;
    device.run(&mut services, 100);
    assert!(matches!(device.events.last(), Some(Event::Enrolled { is_reported: true })), "{:?}", device.events);
}

#[test]
fn a_pledge_of_a_device_that_was_used_before_does_not_enrol() {
    let mut services = Services::new(Devices::All);
    services.log.push(LogEntry {
        date: now(),
        domain_id: b"stranger".to_vec(),
        key: [9; 32],
        nonce: None,
        assertion: terse_brski::voucher::Assertion::Logged,
    });
    let mut device = Client::new(&services);
    device.run(&mut services, 12);
    // Its voucher is good, and EST is closed.
    assert_eq!(device.statuses[..3], [200, 200, 403]);
    assert!(device.enrollment.is_none());
    assert_eq!(services.joining.unwrap().audit, AuditState::Bad);
}
