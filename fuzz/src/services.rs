//! The fuzz target `services` takes any bytes for whole requests to a registrar and to a MASA, for the answers between them,
//! and for the certificates that come along. Signatures are accepted unless they end in a zero, and so is the digest of
//! changed content.
//!
//! ```text
//! what(1) policy(1) { length(2) bytes }*
//! ```
//!
//! The first item is the body; those after it are certificates, or the text of an Accept.

use pki_types::CertificateDer;
use terse_brski::artefact::Format;
use terse_brski::http::{JSON, Posted};
use terse_brski::masa::{self, Context, Decision, Issuance, Masa, RegistrarRequest, RevocationStatus};
use terse_brski::registrar::{self, Answer, Joining, MasaResponse, PledgeRequest, Registrar, Sender, Topic};
use terse_brski::voucher::{MAX_LEN, Voucher, VoucherRequest};

use crate::certificates::items;
use crate::onboarding::{self, device, domain_chain, is_for_people, now, sign};
use crate::pki::{IDEVID, MAKER};

/// How far an input came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Whether the registrar has verified a pledge's request.
    pub is_pledge_request: bool,
    /// Whether the MASA has verified a registrar's request.
    pub is_registrar_request: bool,
    /// Whether the MASA has issued a voucher.
    pub is_issued: bool,
    /// Whether the registrar has passed on a voucher.
    pub is_passed_on: bool,
}

/// Runs one input.
pub fn run(data: &[u8]) -> Reached {
    let mut reached = Reached::default();
    let Some(([what, policy], rest)) = data.split_first_chunk() else { return reached };
    let items = items(rest);
    let body = items.first().copied().unwrap_or_default();
    let others = items.get(1..).unwrap_or_default();
    match what % 4 {
        0 => pledge(body, others, what & 0x10 != 0, *policy, &mut reached),
        1 => registrar(body, others, *policy, &mut reached),
        2 => answer(body, others, what & 0x10 != 0, *policy, &mut reached),
        _ => status(body, what & 0x10 != 0),
    }
    reached
}

/// A request of a pledge is refused with a text, or is for the device of the connection. What the registrar makes of it,
/// the MASA reads as a request for the same device and nonce; the voucher for it is one that the registrar passes on.
fn pledge(body: &[u8], others: &[&[u8]], has_accept: bool, policy: u8, reached: &mut Reached) {
    let registrar = onboarding::registrar();
    let (accept, others) = match others.split_first() {
        Some((accept, others)) if has_accept => (core::str::from_utf8(accept).ok(), others),
        _ => (None, others),
    };
    let posted = Posted { accept, ..onboarding::posted(body) };
    let presented = presented(others);
    let Some(request) = accepted(registrar.read_voucher_request(&presented, &posted, now())) else { return };
    reached.is_pledge_request = true;
    assert_eq!(request.certificate(), &*presented[0], "the device of the connection");
    assert_eq!(request.body(), body);
    assert!(!request.idevid().serial_number.is_empty());
    let Some(decision) = accepted(registrar.decide(&request, None, now())) else { return };
    let registrar::Decision::Forward(forward) = decision else { panic!("{decision:?} for a new request") };
    assert_eq!(forward.request.nonce.as_ref(), Some(request.nonce()));
    assert_eq!(forward.request.serial_number, request.idevid().serial_number);
    let mut chain = domain_chain();
    chain.extend(forward.enclosed.iter().cloned());
    let sent = sign(forward.format, &forward.format.encode_request(&forward.request), &chain);
    let masa = masa(policy);
    let posted = Posted { accept: Some(request.masa_accept()), ..onboarding::posted(&sent) };
    let Some(of_masa) = of_masa(masa.read_voucher_request(&posted, now())) else { return };
    reached.is_registrar_request = true;
    assert!(of_masa.has_pledge_request());
    assert_eq!((of_masa.serial_number(), of_masa.nonce()), (&*request.idevid().serial_number, Some(request.nonce())));
    let Some(issuance) = issued(&masa, &of_masa, reached) else { return };
    let voucher = sign(of_masa.format(), &of_masa.format().encode_voucher(&issuance.voucher), &[MAKER.into()]);
    let response =
        MasaResponse { status: 200, content_type: Some(of_masa.voucher_type()), retry_after: None, body: &voucher };
    match registrar.read_masa_response(&request, &response, now()) {
        Ok(Answer::Voucher(received)) => {
            reached.is_passed_on = true;
            let findings = received.findings.expect("it is of a form that is understood");
            assert!(findings.pins_own_chain && findings.has_nonce, "{findings:?}");
        }
        other => panic!("the voucher for a request is not passed on: {other:?}"),
    }
}

/// A request of a registrar is refused with a text, or leads to no more than a voucher for the device that it names.
fn registrar(body: &[u8], others: &[&[u8]], policy: u8, reached: &mut Reached) {
    let masa = masa(policy);
    let accept = others.first().and_then(|accept| core::str::from_utf8(accept).ok());
    let posted = Posted { accept, ..onboarding::posted(body) };
    let voucher_request = masa.read_voucher_request(&posted, now());
    // A body that may have a voucher may have the audit log.
    assert!(voucher_request.is_err() || masa.read_audit_log_request(&posted, now()).is_ok());
    let Some(request) = of_masa(voucher_request) else { return };
    reached.is_registrar_request = true;
    let path = request.path();
    assert!((1..=7).contains(&path.certificates().len()), "the registrar's certificate, and those of six CAs at most");
    assert!(path.revocation_urls().count() <= 8 * path.certificates().len());
    assert!(path.revocation_urls().all(|url| url.is_ascii()), "an IA5String");
    issued(&masa, &request, reached);
}

/// A MASA's answer is passed on only if it is for this request: for its serial number, and for its nonce or none.
fn answer(body: &[u8], others: &[&[u8]], is_cose: bool, policy: u8, reached: &mut Reached) {
    let registrar = onboarding::registrar();
    let format = if is_cose { Format::CoseCbor } else { Format::CmsJson };
    let request = known_request(&registrar, format);
    let content_type = others.first().map_or(Some(format.media_type()), |text| core::str::from_utf8(text).ok());
    let status = [200, 200, 200, 202, 403, 429, 503, 600][usize::from(policy % 8)];
    let retry_after = (policy & 0x40 != 0).then_some(u64::from(policy) << 24);
    let response = MasaResponse { status, content_type, retry_after, body };
    match accepted(registrar.read_masa_response(&request, &response, now())) {
        Some(Answer::Voucher(received)) => {
            reached.is_passed_on = true;
            assert_eq!(status, 200);
            assert!(body.len() <= MAX_LEN);
            assert_eq!(received.content_type, request.voucher_type());
            assert!(format == Format::CoseCbor || received.voucher == body, "a voucher in CMS is not changed");
            assert!(received.voucher.len() <= body.len());
        }
        Some(Answer::Later { retry_after }) => assert!((1..=60).contains(&retry_after) && status != 200),
        None => {}
    }
}

/// What a stranger says changes no record, and what the device says changes only what it was asked for.
fn status(body: &[u8], is_json: bool) {
    let registrar = onboarding::registrar();
    let joining = Joining::new(*known_request(&registrar, Format::CmsJson).client());
    let content_type = Some(if is_json { JSON } else { terse_brski::http::CBOR });
    let posted = Posted { content_type, accept: None, body };
    let of_stranger = registrar.read_status(Topic::Voucher, &[], &posted, Some(&joining));
    if let Ok(telemetry) = &of_stranger {
        assert!(telemetry.joining.is_none() && telemetry.needs_attention && telemetry.sender == Sender::Other);
    }
    let of_device = registrar.read_status(Topic::Voucher, &[IDEVID.into()], &posted, Some(&joining));
    assert_eq!(of_device.is_ok(), of_stranger.is_ok());
    let Some(telemetry) = accepted(of_device) else { return };
    if let Some(changed) = telemetry.joining {
        assert_eq!(changed, Joining { voucher_status: Some(telemetry.status.status), ..joining });
    }
}

/// Returns what the MASA decides for a device that nobody has had: a voucher has a nonce or it expires, it can be read, and
/// the audit log that is stored with it names the domain to its registrar.
fn issued(masa: &Masa, request: &RegistrarRequest, reached: &mut Reached) -> Option<Issuance> {
    let device = device();
    let revocation = RevocationStatus::Good;
    let context = Context { device: Some(&device), customer: Some("Plant"), revocation, ..Context::default() };
    let Decision::Issue(issuance) = of_masa(masa.decide(request, &context, now()))? else {
        panic!("nothing was issued before")
    };
    reached.is_issued = true;
    let Issuance { voucher, entry } = &*issuance;
    assert_eq!(voucher.serial_number, request.serial_number());
    assert_eq!(voucher.nonce.as_ref(), request.nonce());
    assert!(voucher.nonce.is_some() || voucher.expires_on.is_some(), "it could be used for ever");
    assert_eq!(voucher.pins.len(), 1);
    let again = match request.format() {
        Format::CmsJson => Voucher::from_json(&voucher.to_json()),
        Format::CoseCbor => Voucher::from_cbor(&voucher.to_cbor()),
    };
    assert_eq!(again.as_ref(), Ok(voucher));
    assert!(request.path().has_key(&entry.key));
    let log = masa.audit_log(request, core::slice::from_ref(entry)).expect("it has had the device");
    assert_eq!(log.events.len(), 1);
    Some(*issuance)
}

/// The MASA, with a policy of any kind.
fn masa(policy: u8) -> Masa {
    let mut own = masa::Policy::default();
    own.devices_without_record = policy & 1 != 0;
    own.pledge_request_is_required = policy & 2 == 0;
    own.serial_numbers_are_unique = policy & 4 != 0;
    own.proximity = [masa::Proximity::NotContradicted, masa::Proximity::Required, masa::Proximity::Optional]
        [usize::from(policy >> 3) % 3];
    own.nonceless = (policy & 0x20 != 0).then_some(masa::Nonceless { lifetime: 3600, pin: masa::PinChoice::Highest });
    own.pin = if policy & 0x40 != 0 { masa::PinChoice::RegistrarKey } else { masa::PinChoice::LowestCa };
    own.max_age = (policy & 0x80 == 0).then_some(86_400);
    onboarding::masa(own)
}

/// The request of the pledge as it should be.
fn known_request(registrar: &Registrar, format: Format) -> PledgeRequest {
    let fields: VoucherRequest = onboarding::pledge_fields();
    let body = onboarding::pledge_request(format, &fields);
    let request = registrar.read_voucher_request(&[IDEVID.into()], &onboarding::posted(&body), now());
    request.expect("it is as it should be")
}

/// The certificates of the connection: those of the input, or that of the device.
fn presented<'a>(others: &[&'a [u8]]) -> Vec<CertificateDer<'a>> {
    let chain: Vec<_> = others.iter().map(|der| CertificateDer::from(*der)).collect();
    if chain.is_empty() { vec![IDEVID.into()] } else { chain }
}

fn accepted<T>(result: Result<T, registrar::Refusal>) -> Option<T> {
    result.map_err(|refusal| assert_refusal(refusal.status(), &refusal)).ok()
}

fn of_masa<T>(result: Result<T, masa::Refusal>) -> Option<T> {
    result.map_err(|refusal| assert_refusal(refusal.status(), &refusal)).ok()
}

fn assert_refusal(status: u16, text: &dyn core::fmt::Display) {
    assert!((400..600).contains(&status), "{status}");
    is_for_people(text);
}
