//! The roles against each other: a pledge asks, the registrar decides, the MASA issues, the pledge verifies, and enrols
//! (RFC 8995, 5.2 to 5.9). Each step sends the bytes that it would send.

use core::cell::RefCell;

use pki_types::{CertificateDer, UnixTime};
use terse_brski::audit_log::AuditLog;
use terse_brski::certificate::subject;
use terse_brski::cms::Signed;
use terse_brski::digest::sha256;
use terse_brski::est::{CsrAttributes, NotAsAsked, UnsignedRequest};
use terse_brski::http::{JSON, Posted};
use terse_brski::masa::{Context, Decision as Issue, Device, IssuedVoucher, LogEntry, Masa, Policy};
use terse_brski::registrar::{
    Answer, AuditRefused, AuditState, Decision, Gate, History, Joining, MasaResponse, Refusal, Registrar,
    RequestRecord, RequestState, Sender, Topic, check_certification_request, check_reenrolment,
};
use terse_brski::telemetry::Status;
use terse_brski::voucher::{Assertion, Pin, Voucher};
use terse_pki::{
    CertificationRequest, Credential, LdevidPolicy, LeafOptions, NamePolicy, Subject, Usage, Validity,
    VoucherSignerOptions,
};
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;
use terse_tls::{CertificateError, Expect, Trust};

use super::scene::{NOW, SERIAL, Scene, at, idevid, nonce, now, posted, sign_in};

/// A MASA with what it remembers.
pub(crate) struct MasaService {
    masa: Masa,
    signer: Credential,
    device: RefCell<Device>,
    log: RefCell<Vec<LogEntry>>,
    issued: RefCell<Vec<IssuedVoucher>>,
}

impl MasaService {
    pub(crate) fn new(scene: &Scene, policy: Policy) -> Self {
        let options = VoucherSignerOptions::new("Maker MASA", Validity::days(NOW - 1, 9));
        Self {
            masa: scene.masa(policy),
            signer: scene.vouchers.issue_voucher_signer(&options).unwrap(),
            device: RefCell::new(scene.device.clone()),
            log: RefCell::default(),
            issued: RefCell::default(),
        }
    }

    pub(crate) fn voucher(&self, request: &[u8], time: UnixTime) -> Result<Vec<u8>, terse_brski::masa::Refusal> {
        let request = self.masa.read_voucher_request(&posted(request), time)?;
        let (device, issued) = (self.device.borrow().clone(), self.issued.borrow().clone());
        let log = self.log.borrow().clone();
        let context = Context {
            issued: issued.iter().find(|issued| issued.request == *request.sha256()),
            device: Some(&device),
            log: &log,
            ..Context::default()
        };
        let issuance = match self.masa.decide(&request, &context, time)? {
            Issue::Repeat(voucher) => return Ok(voucher.to_vec()),
            Issue::Issue(issuance) => issuance,
        };
        let (format, chain) = (request.format(), self.signer.chain());
        let voucher = sign_in(format, &self.signer, chain, &format.encode_voucher(&issuance.voucher));
        self.device.borrow_mut().owner = Some(issuance.entry.key);
        self.log.borrow_mut().push(issuance.entry);
        let expires_on = issuance.voucher.expires_on;
        self.issued.borrow_mut().push(IssuedVoucher {
            request: *request.sha256(),
            voucher: voucher.clone(),
            expires_on,
        });
        Ok(voucher)
    }

    pub(crate) fn audit_log(&self, request: &[u8]) -> Vec<u8> {
        let request = self.masa.read_audit_log_request(&posted(request), now()).unwrap();
        self.masa.audit_log(&request, &self.log.borrow()).unwrap().to_json()
    }
}

/// Asks the registrar's question, and returns the registrar's request and the voucher.
pub(crate) fn forward(scene: &Scene, registrar: &Registrar, masa: &MasaService) -> (Vec<u8>, Vec<u8>) {
    let request = scene.read_by(registrar);
    let Decision::Forward(forward) = registrar.decide(&request, None, now()).unwrap() else { panic!() };
    let registrar_request = scene.registrar_request(&forward.request);
    let voucher = masa.voucher(&registrar_request, now()).unwrap();
    (registrar_request, voucher)
}

#[test]
fn a_device_gets_a_voucher_and_enrols() {
    let scene = Scene::new();
    let registrar = scene.registrar(|policy| {
        policy.manufacturers[0].voucher_anchors = vec![scene.vouchers.root().to_vec()];
    });
    let masa = MasaService::new(&scene, Policy::default());
    let request = scene.read_by(&registrar);
    let (registrar_request, voucher) = forward(&scene, &registrar, &masa);

    // The registrar passes it on.
    let response = MasaResponse {
        status: 200,
        content_type: Some("application/voucher-cms+json"),
        retry_after: None,
        body: &voucher,
    };
    let Answer::Voucher(received) = registrar.read_masa_response(&request, &response, now()).unwrap() else { panic!() };
    let findings = received.findings.unwrap();
    assert_eq!((findings.signer_is_known, findings.pins_own_chain), (Some(true), true));

    // The pledge verifies it.
    let maker = Trust::new(&[scene.vouchers.root().clone()]).unwrap();
    let signed = Signed::verify(&PROVIDER, &voucher, &[]).unwrap();
    maker.check(&PROVIDER, &signed.chain, Expect::AnyUsage, Some(now())).unwrap();
    let fields = Voucher::from_json(&signed.content).unwrap();
    assert_eq!((fields.serial_number.as_str(), fields.assertion), (SERIAL, Assertion::Proximity));
    assert_eq!(fields.nonce, nonce("base64-or-not"));
    assert_eq!(fields.idevid_issuer.as_deref(), Some(scene.device.idevid_issuer.as_slice()));
    let [Pin::Certificate(pin)] = &fields.pins[..] else { panic!("{:?}", fields.pins) };
    let domain = Trust::new(std::slice::from_ref(pin)).unwrap();
    domain.check(&PROVIDER, scene.registrar.chain(), Expect::AnyUsage, Some(now())).unwrap();

    // It says so, and the audit log is good.
    let joining = Joining::new(*request.client());
    let said = Status::new(true, None).to_json();
    let telemetry = telemetry(&registrar, Topic::Voucher, scene.idevid.chain(), &said, Some(&joining));
    assert_eq!((telemetry.sender, telemetry.needs_attention), (Sender::Idevid, false));
    let mut joining = telemetry.joining.unwrap();
    assert_eq!(joining.gate(&PROVIDER, scene.idevid.chain()), Ok(Gate::Wait { retry_after: 5 }));
    let log = AuditLog::from_json(&masa.audit_log(&registrar_request), 16_384).unwrap();
    let own = findings.domain_id.unwrap();
    let nonces = [request.nonce().clone()];
    let history = History { domain_ids: &[&own], nonce: Some(request.nonce()), nonces: Some(&nonces), nonceless: &[] };
    assert_eq!(registrar.manufacturer(&request).unwrap().audit.check(&log, &history), Ok(()));
    joining.audit = AuditState::Good;
    assert_eq!(joining.gate(&PROVIDER, scene.idevid.chain()), Ok(Gate::Open));

    // It enrols.
    let csr = certification_request(&scene.idevid, subject(scene.idevid.leaf()).unwrap(), &[]);
    check_certification_request(&csr, &CsrAttributes::default()).unwrap();
    let policy = LdevidPolicy::new(Subject::of(scene.idevid.leaf()).unwrap(), Validity::days(NOW - 1, 9));
    let csr = CertificationRequest::from_der(&csr).unwrap();
    let ldevid = scene.domain.issue_ldevid(&csr, &policy).unwrap();
    joining.ldevid = Some(sha256(&PROVIDER, &ldevid[0]));

    // Over the new connection.
    let telemetry = self::telemetry(&registrar, Topic::Enrolment, &ldevid, &said, Some(&joining));
    assert_eq!((telemetry.sender, telemetry.needs_attention), (Sender::Ldevid, false));
    assert_eq!(telemetry.joining.unwrap().enroll_status, Some(true));
}

fn telemetry(
    registrar: &Registrar,
    topic: Topic,
    presented: &[CertificateDer<'_>],
    body: &[u8],
    joining: Option<&Joining>,
) -> terse_brski::registrar::Telemetry {
    let posted = Posted { content_type: Some(JSON), accept: None, body };
    registrar.read_status(topic, presented, &posted, joining).unwrap()
}

/// A certification request with the key of `holder`.
fn certification_request(holder: &Credential, subject: &[u8], extensions: &[Vec<u8>]) -> Vec<u8> {
    let key = PROVIDER.load_key(holder.key()).unwrap();
    let unsigned = UnsignedRequest::new(subject, &*key, key.schemes()[0], extensions).unwrap();
    unsigned.sign(&*key, &mut SeededRng::new(8)).unwrap()
}

#[test]
fn a_repeated_request_has_one_voucher_and_one_entry() {
    let scene = Scene::new();
    let registrar = scene.registrar(|_| {});
    let masa = MasaService::new(&scene, Policy::default());
    let (registrar_request, voucher) = forward(&scene, &registrar, &masa);
    // The registrar died after it had stored its request: another replica sends the same.
    let request = scene.read_by(&registrar);
    let state =
        RequestState::Forwarded { created_on: now(), sent: now(), registrar_request: registrar_request.clone() };
    let record = RequestRecord { request: *request.sha256(), received: now(), state };
    let later = at(NOW + 120);
    let Decision::Resend { registrar_request: again, .. } = registrar.decide(&request, Some(&record), later).unwrap()
    else {
        panic!()
    };
    assert_eq!(masa.voucher(again, later), Ok(voucher));
    assert_eq!(masa.log.borrow().len(), 1);
    // The same pledge with a new nonce is another attempt.
    let mut fields = scene.pledge_fields();
    fields.nonce = nonce("another nonce");
    let mut fields = scene.registrar_fields(Some(scene.pledge_request(&fields)));
    fields.nonce = nonce("another nonce");
    masa.voucher(&scene.registrar_request(&fields), now()).unwrap();
    let nonces: Vec<_> = masa.log.borrow().iter().map(|entry| entry.nonce.clone()).collect();
    assert_eq!(nonces, [nonce("base64-or-not"), nonce("another nonce")]);
}

#[test]
fn an_earlier_owner_is_found_in_the_log() {
    let scene = Scene::new();
    let registrar = scene.registrar(|_| {});
    let masa = MasaService::new(&scene, Policy::default());
    let stranger = LogEntry {
        date: at(NOW - 9),
        domain_id: b"stranger".to_vec(),
        key: [9; 32],
        nonce: nonce("theirs"),
        assertion: Assertion::Logged,
    };
    masa.log.borrow_mut().push(stranger);
    let (registrar_request, _) = forward(&scene, &registrar, &masa);
    let log = AuditLog::from_json(&masa.audit_log(&registrar_request), 16_384).unwrap();
    let own = masa.log.borrow().last().unwrap().domain_id.clone();
    let request = scene.read_by(&registrar);
    let history = History { domain_ids: &[&own], nonce: Some(request.nonce()), nonces: None, nonceless: &[] };
    let policy = &registrar.manufacturer(&request).unwrap().audit;
    assert_eq!(policy.check(&log, &history), Err(AuditRefused::UnknownDomain));
}

#[test]
fn est_is_closed_until_voucher_and_audit_log_are_good() {
    let scene = Scene::new();
    let presented = scene.idevid.chain();
    let new = Joining::new(sha256(&PROVIDER, scene.idevid.leaf()));
    let gate = |voucher_status, audit| Joining { voucher_status, audit, ..new.clone() }.gate(&PROVIDER, presented);
    for audit in [AuditState::Requested, AuditState::Good, AuditState::Bad] {
        assert_eq!(gate(None, audit), Err(Refusal::NoVoucherStatus));
        assert_eq!(gate(Some(false), audit), Err(Refusal::VoucherRejected));
    }
    assert_eq!(gate(Some(true), AuditState::Requested), Ok(Gate::Wait { retry_after: 5 }));
    assert_eq!(gate(Some(true), AuditState::Bad), Err(Refusal::AuditLog));
    assert_eq!(gate(Some(true), AuditState::Good), Ok(Gate::Open));
    for refusal in [Refusal::NoVoucherStatus, Refusal::VoucherRejected, Refusal::AuditLog] {
        assert_eq!((refusal.status(), refusal.closes()), (403, false));
    }
    // For the device with the voucher, and nobody else.
    let good = Joining { voucher_status: Some(true), audit: AuditState::Good, ..new };
    let other = idevid(&scene.maker, "WI-3006");
    for (presented, expected) in [(other.chain(), Refusal::OtherClient), (&[][..], Refusal::NoCertificate)] {
        assert_eq!(good.gate(&PROVIDER, presented), Err(expected));
        assert!(expected.closes());
    }
}

#[test]
fn what_a_stranger_says_changes_nothing() {
    let scene = Scene::new();
    let registrar = scene.registrar(|_| {});
    let device = scene.idevid.chain();
    let stranger = idevid(&scene.maker, "WI-3006");
    let ldevid = registrar_leaf(&scene);
    let joining =
        Joining { ldevid: Some(sha256(&PROVIDER, &ldevid[0])), ..Joining::new(sha256(&PROVIDER, scene.idevid.leaf())) };
    let good = Status::new(true, None).to_json();
    let bad = Status::new(false, Some("no".into())).to_json();
    let read = |topic, presented: &[CertificateDer<'_>], body: &[u8], joining| {
        let telemetry = telemetry(&registrar, topic, presented, body, joining);
        let said = telemetry.joining.map(|joining| (joining.voucher_status, joining.enroll_status));
        (telemetry.sender, telemetry.needs_attention, said)
    };
    let all = Some(&joining);
    assert_eq!(read(Topic::Voucher, device, &good, all), (Sender::Idevid, false, Some((Some(true), None))));
    assert_eq!(read(Topic::Voucher, device, &bad, all), (Sender::Idevid, true, Some((Some(false), None))));
    assert_eq!(read(Topic::Enrolment, device, &bad, all), (Sender::Idevid, true, Some((None, Some(false)))));
    assert_eq!(read(Topic::Enrolment, &ldevid, &good, all), (Sender::Ldevid, false, Some((None, Some(true)))));
    // An LDevID is later than a voucher.
    assert_eq!(read(Topic::Voucher, &ldevid, &good, all), (Sender::Ldevid, true, None));
    for topic in [Topic::Voucher, Topic::Enrolment] {
        assert_eq!(read(topic, stranger.chain(), &good, all), (Sender::Other, true, None));
        assert_eq!(read(topic, &[], &good, all), (Sender::Other, true, None));
        assert_eq!(read(topic, device, &good, None), (Sender::Other, true, None));
    }
    // A later version is for people.
    let later = br#"{"version":2,"status":true}"#;
    assert_eq!(read(Topic::Voucher, device, later, all), (Sender::Idevid, true, None));

    let posted = Posted { content_type: Some("text/plain"), accept: None, body: &good };
    let refusal = registrar.read_status(Topic::Voucher, device, &posted, all).unwrap_err();
    assert_eq!((refusal, refusal.status()), (Refusal::StatusType, 415));
    let posted = Posted { content_type: Some(JSON), body: b"{}", ..posted };
    let refusal = registrar.read_status(Topic::Voucher, device, &posted, all).unwrap_err();
    assert!(matches!(refusal, Refusal::Status(_)), "{refusal}");
    assert_eq!(refusal.status(), 400);
}

fn registrar_leaf(scene: &Scene) -> Vec<CertificateDer<'static>> {
    scene.registrar.chain().to_vec()
}

/// A DER Extension: a subjectAltName with a DNS name.
fn dns_name(name: &str) -> Vec<u8> {
    let tlv = |tag: u8, parts: &[&[u8]]| {
        let contents = parts.concat();
        [&[tag, contents.len() as u8][..], &contents].concat()
    };
    let names = tlv(0x30, &[&tlv(0x82, &[name.as_bytes()])]);
    tlv(0x30, &[&tlv(0x06, &[&[0x55, 29, 17]]), &tlv(0x04, &[&names])])
}

#[test]
fn a_certification_request_has_what_was_asked_for_and_no_other_name() {
    let scene = Scene::new();
    let own = subject(scene.idevid.leaf()).unwrap();
    let other = subject(scene.registrar.leaf()).unwrap();
    let mut asked = CsrAttributes::default();
    asked.extensions = vec![dns_name("wi-3005.plant.example")];
    let check = |attributes: &CsrAttributes, subject: &[u8], extensions: &[Vec<u8>]| {
        let csr = certification_request(&scene.idevid, subject, extensions);
        check_certification_request(&csr, attributes)
    };
    let nothing = CsrAttributes::default();
    assert_eq!(check(&nothing, own, &[]), Ok(()));
    assert_eq!(check(&asked, own, &asked.extensions), Ok(()));
    assert_eq!(check(&nothing, other, &[]), Ok(()), "the domain decides the subject");
    assert_eq!(check(&nothing, own, &asked.extensions), Err(Refusal::NameNotAsked));
    for wrong in [vec![], vec![dns_name("registrar.plant.example")]] {
        let refusal = check(&asked, own, &wrong).unwrap_err();
        assert!(matches!(refusal, Refusal::CertificationRequest(NotAsAsked::Extension(_))), "{refusal}");
        assert_eq!(refusal.status(), 400);
    }
    // The domain may choose another subject.
    let mut renamed = CsrAttributes::default();
    renamed.subject = Some(other.into());
    assert_eq!(check(&renamed, other, &[]), Ok(()));
    assert_eq!(check(&renamed, own, &[]), Err(Refusal::CertificationRequest(NotAsAsked::Subject)));
    for garbage in [&b""[..], b"garbage", &[0x30; 16_385]] {
        let refusal = check_certification_request(garbage, &nothing).unwrap_err();
        assert!(matches!(refusal, Refusal::CertificationRequest(NotAsAsked::Malformed(_))), "{refusal}");
    }
}

#[test]
fn a_re_enrolment_keeps_the_names() {
    let scene = Scene::new();
    let domain = Trust::new(&[scene.domain.root().clone()]).unwrap();
    let ldevid = |name: Option<&str>| {
        let subject = Subject::of(scene.idevid.leaf()).unwrap();
        let mut policy = LdevidPolicy::new(subject, Validity::days(NOW - 1, 9));
        policy.names = NamePolicy::Fixed(name.into_iter().map(Into::into).collect());
        let csr =
            certification_request(&scene.idevid, terse_brski::certificate::subject(scene.idevid.leaf()).unwrap(), &[]);
        scene.domain.issue_ldevid(&CertificationRequest::from_der(&csr).unwrap(), &policy).unwrap()
    };
    let check = |presented: &[CertificateDer<'_>], subject: &[u8], extensions: &[Vec<u8>], time| {
        let csr = certification_request(&scene.idevid, subject, extensions);
        check_reenrolment(&PROVIDER, &domain, presented, &csr, at(time))
    };
    let own = subject(scene.idevid.leaf()).unwrap();
    let other = subject(scene.registrar.leaf()).unwrap();
    let name = dns_name("wi-3005.plant.example");
    let (plain, named) = (ldevid(None), ldevid(Some("wi-3005.plant.example")));
    assert_eq!(check(&plain, own, &[], NOW), Ok(()));
    assert_eq!(check(&named, own, std::slice::from_ref(&name), NOW), Ok(()));
    assert_eq!(check(&plain, other, &[], NOW), Ok(()), "the domain decides the subject");
    assert_eq!(check(&plain, own, std::slice::from_ref(&name), NOW), Err(Refusal::NameNotAsked));
    for wrong in [vec![], vec![dns_name("registrar.plant.example")]] {
        let refusal = check(&named, own, &wrong, NOW).unwrap_err();
        assert!(matches!(refusal, Refusal::CertificationRequest(NotAsAsked::Extension(_))), "{refusal}");
    }
    // The IDevID, an expired LDevID, one of a server, and nobody.
    let unknown = Refusal::Ldevid(CertificateError::UnknownIssuer);
    assert_eq!(check(scene.idevid.chain(), own, &[], NOW), Err(unknown));
    assert_eq!(unknown.status(), 403);
    let refusal = check(&plain, own, &[], NOW + 10 * 86_400).unwrap_err();
    assert!(matches!(refusal, Refusal::Ldevid(CertificateError::Expired { .. })), "{refusal}");
    let options = LeafOptions { usage: Usage::Server, ..LeafOptions::new("a.example", Validity::days(NOW - 1, 9)) };
    let server = scene.domain.issue(&options).unwrap();
    assert_eq!(check(server.chain(), own, &[], NOW), Err(Refusal::Ldevid(CertificateError::WrongUsage)));
    assert_eq!(check(&[], own, &[], NOW), Err(Refusal::NoCertificate));
}
