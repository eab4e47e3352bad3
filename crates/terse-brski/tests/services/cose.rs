//! Requests and vouchers in COSE (draft-ietf-anima-constrained-voucher-31): what is other about them than in CMS.

use terse_brski::artefact::Format;
use terse_brski::audit_log::AuditLog;
use terse_brski::cose::{Signed, Unsigned};
use terse_brski::http::{CBOR, JSON, Posted, VOUCHER_CMS_JSON, VOUCHER_COSE, VOUCHER_COSE_CBOR};
use terse_brski::masa::{self, Context, Policy};
use terse_brski::registrar::{Answer, Decision, History, MasaResponse, PledgeRequest, Refusal, Registrar, Topic};
use terse_brski::registrar::{RequestRecord, RequestState};
use terse_brski::telemetry::Status;
use terse_brski::voucher::{Nonce, Pin, Voucher, VoucherRequest};
use terse_brski::{Malformed, SignatureRefused};
use terse_pki::{Authority, AuthorityOptions, IdevidOptions, Validity};
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;
use terse_tls::{Expect, Trust};

use super::roles::MasaService;
use super::scene::{NOW, Scene, decide, idevid, now, other, posted, sign_in};

const COSE: Format = Format::CoseCbor;

/// A nonce that is no text.
fn bytes() -> Nonce {
    Nonce::of_random_bytes(&[0xff; 16])
}

/// A pledge's request with such a nonce, by this registrar.
fn read_by(scene: &Scene, registrar: &Registrar, content_type: &str, accept: Option<&str>) -> PledgeRequest {
    let mut fields = scene.pledge_fields();
    fields.nonce = Some(bytes());
    let body = scene.pledge_request(&fields);
    let posted = Posted { content_type: Some(content_type), accept, body: &body };
    registrar.read_voucher_request(scene.idevid.chain(), &posted, now()).unwrap()
}

/// What the registrar sends to the MASA, as a service signs it.
fn forwarded(scene: &Scene, registrar: &Registrar, request: &PledgeRequest) -> Vec<u8> {
    let Decision::Forward(forward) = registrar.decide(request, None, now()).unwrap() else { panic!() };
    assert_eq!(forward.format, COSE);
    let certificates = [scene.chain(), forward.enclosed].concat();
    sign_in(COSE, &scene.registrar, &certificates, &COSE.encode_request(&forward.request))
}

fn received(registrar: &Registrar, request: &PledgeRequest, content_type: &str, body: &[u8]) -> (String, Vec<u8>) {
    let response = MasaResponse { status: 200, content_type: Some(content_type), retry_after: None, body };
    let Ok(Answer::Voucher(voucher)) = registrar.read_masa_response(request, &response, now()) else { panic!() };
    let findings = voucher.findings.unwrap();
    assert!(findings.pins_own_chain && findings.has_nonce);
    assert_eq!(findings.signer_is_known, Some(true));
    (voucher.content_type, voucher.voucher)
}

#[test]
fn a_device_gets_a_voucher_without_certificates_and_is_named_in_the_log() {
    let scene = Scene::of(COSE);
    let registrar = scene.registrar(|policy| {
        policy.manufacturers[0].voucher_anchors = vec![scene.vouchers.root().to_vec()];
    });
    let masa = MasaService::new(&scene, Policy::default());
    let request = read_by(&scene, &registrar, VOUCHER_COSE, None);
    assert_eq!(request.masa_accept(), VOUCHER_COSE);
    let registrar_request = forwarded(&scene, &registrar, &request);
    let signed = Signed::verify(&PROVIDER, &registrar_request, &[]).unwrap();
    let enclosed = [scene.chain(), scene.idevid.chain().to_vec(), vec![scene.maker.root().clone()]].concat();
    assert_eq!(signed.chain, enclosed, "its own, and the path of the IDevID to the root");
    let fields = VoucherRequest::from_cbor(&signed.content).unwrap();
    assert_eq!(fields.prior_signed_voucher_request.as_deref(), Some(request.body()));
    assert_eq!((fields.nonce, fields.proximity_registrar), (Some(bytes()), vec![]));

    let issued = masa.voucher(&registrar_request, now()).unwrap();
    assert_eq!(masa.voucher(&registrar_request, now()).as_ref(), Ok(&issued), "the same again");
    let with_chain = Signed::verify(&PROVIDER, &issued, &[]).unwrap();
    let maker = Trust::new(&[scene.vouchers.root().clone()]).unwrap();
    maker.check(&PROVIDER, &with_chain.chain, Expect::AnyUsage, Some(now())).unwrap();

    let (content_type, voucher) = received(&registrar, &request, VOUCHER_COSE, &issued);
    assert_eq!(content_type, VOUCHER_COSE);
    assert_eq!(Signed::verify(&PROVIDER, &voucher, &[]).unwrap_err(), SignatureRefused::NoSigner);
    let bare = Signed::verify(&PROVIDER, &voucher, &with_chain.chain).unwrap();
    assert_eq!((bare.chain.len(), &bare.content), (1, &with_chain.content));
    let fields = Voucher::from_cbor(&bare.content).unwrap();
    assert_eq!(fields.nonce, Some(bytes()));
    assert_eq!(fields.pins, [Pin::Certificate(scene.chain()[1].clone())]);

    // The log is JSON, and has the nonce in base64.
    let log = AuditLog::from_json(&masa.audit_log(&registrar_request), 4_096).unwrap();
    let own = terse_brski::certificate::domain_id(&PROVIDER, &scene.chain()[1]).unwrap();
    let nonces = [bytes()];
    let history = History { domain_ids: &[&own], nonce: Some(&nonces[0]), nonces: Some(&nonces), nonceless: &[] };
    let policy = &registrar.manufacturer(&request).unwrap().audit;
    assert_eq!(policy.check(&log, &history), Ok(()));
    let another = [Nonce::of_random_bytes(&[0xfe; 16])];
    assert!(policy.check(&log, &History { nonce: Some(&another[0]), ..history }).is_err());
    assert!(policy.check(&log, &History { nonces: Some(&another), ..history }).is_err());
}

#[test]
fn the_older_name_of_the_type_is_taken_and_answered() {
    let scene = Scene::of(COSE);
    let registrar = scene.registrar(|policy| {
        policy.manufacturers[0].voucher_anchors = vec![scene.vouchers.root().to_vec()];
    });
    let request = read_by(&scene, &registrar, VOUCHER_COSE_CBOR, None);
    assert_eq!(request.masa_accept(), VOUCHER_COSE, "a MASA is asked by the name of today");
    let registrar_request = forwarded(&scene, &registrar, &request);
    let masa = MasaService::new(&scene, Policy::default());
    let issued = masa.voucher(&registrar_request, now()).unwrap();
    // The MASA answers by either name.
    for name in [VOUCHER_COSE, VOUCHER_COSE_CBOR] {
        assert_eq!(received(&registrar, &request, name, &issued).0, VOUCHER_COSE_CBOR);
    }
    let posted = Posted { content_type: Some(VOUCHER_COSE_CBOR), accept: None, body: &registrar_request };
    let read = scene.masa(Policy::default()).read_voucher_request(&posted, now()).unwrap();
    assert_eq!(read.voucher_type(), VOUCHER_COSE_CBOR);

    // The same bytes by the other name have the stored voucher, by that name.
    let state = RequestState::Answered {
        registrar_request,
        content_type: VOUCHER_COSE_CBOR.into(),
        voucher: b"voucher".to_vec(),
    };
    let again = read_by(&scene, &registrar, VOUCHER_COSE, None);
    let record = RequestRecord { request: *again.sha256(), received: now(), state };
    for (request, content_type) in [(&request, VOUCHER_COSE_CBOR), (&again, VOUCHER_COSE)] {
        let expected = Decision::Answer { content_type, voucher: b"voucher" };
        assert_eq!(registrar.decide(request, Some(&record), now()), Ok(expected));
    }
}

#[test]
fn what_a_pledge_accepts_is_passed_on() {
    let scene = Scene::of(COSE);
    let registrar = scene.registrar(|policy| policy.manufacturers[0].opaque_vouchers = true);
    for (accept, expected) in [
        (Some("application/voucher+cose, application/voucher-of-tomorrow"), None),
        (Some("application/voucher-of-tomorrow"), None),
        (Some(VOUCHER_COSE_CBOR), Some(VOUCHER_COSE)),
        (Some("*/*"), Some(VOUCHER_COSE)),
        (None, Some(VOUCHER_COSE)),
    ] {
        let request = read_by(&scene, &registrar, VOUCHER_COSE, accept);
        assert_eq!(Some(request.masa_accept()), expected.or(accept));
    }
}

#[test]
fn a_pledge_request_of_the_other_form_is_refused() {
    for format in Format::ALL {
        let scene = Scene::of(format);
        let pledge = Scene { format: other(format), ..scene };
        let pledge_request = pledge.pledge_request(&pledge.pledge_fields());
        let scene = Scene { format, ..pledge };
        let request = scene.registrar_request(&scene.registrar_fields(Some(pledge_request)));
        let refusal = decide(&scene.masa(Policy::default()), &request, &scene.context()).unwrap_err();
        assert!(matches!(refusal, masa::Refusal::PledgeSignature(SignatureRefused::Malformed(_))), "{refusal}");
        assert_eq!(refusal.status(), 403);
        // Nor is a body of one form read as the other.
        let wrong = Posted { content_type: Some(other(format).media_type()), accept: None, body: &request };
        let refusal = scene.masa(Policy::default()).read_voucher_request(&wrong, now()).unwrap_err();
        assert!(matches!(refusal, masa::Refusal::Signature(SignatureRefused::Malformed(_))), "{refusal}");
        let body = scene.pledge_request(&scene.pledge_fields());
        let wrong = Posted { body: &body, ..wrong };
        let refusal = scene.registrar(|_| {}).read_voucher_request(scene.idevid.chain(), &wrong, now()).unwrap_err();
        assert!(matches!(refusal, Refusal::Signature(SignatureRefused::Malformed(_))), "{refusal}");
    }
}

#[test]
fn the_path_of_the_idevid_must_come_with_the_registrars_request() {
    let scene = Scene::of(COSE);
    let masa = scene.masa(Policy::default());
    let pledge_request = scene.pledge_request(&scene.pledge_fields());
    let fields = COSE.encode_request(&scene.registrar_fields(Some(pledge_request)));
    let with = |certificates: &[_]| {
        let chain = [&scene.chain()[..], certificates].concat();
        decide(&masa, &sign_in(COSE, &scene.registrar, &chain, &fields), &scene.context())
    };
    with(scene.idevid.chain()).unwrap();
    let expected = masa::Refusal::PledgeSignature(SignatureRefused::Signature);
    assert_eq!(with(&[]).unwrap_err(), expected, "no certificate there has the pledge's key");
    let another = idevid(&scene.maker, "WI-3006");
    assert_eq!(with(another.chain()).unwrap_err(), expected);
    // Alone in the request, the registrar's certificate is not tried for the pledge's signature.
    let alone = sign_in(COSE, &scene.registrar, &scene.chain()[..1], &fields);
    let expected = masa::Refusal::PledgeSignature(SignatureRefused::NoSigner);
    assert_eq!(decide(&masa, &alone, &scene.context()).unwrap_err(), expected);
}

#[test]
fn certificates_in_a_pledges_request_count_for_nobody() {
    let scene = Scene::of(COSE);
    let stranger = idevid(&scene.maker, "WI-3006");
    let fields = COSE.encode_request(&scene.pledge_fields());
    // Those of the pledge are ignored, and those of a stranger are no reason to take its signature.
    let own = sign_in(COSE, &scene.idevid, scene.idevid.chain(), &fields);
    let forged = sign_in(COSE, &stranger, stranger.chain(), &fields);
    let registrar = scene.registrar(|_| {});
    let read = |body: &[u8]| {
        registrar
            .read_voucher_request(scene.idevid.chain(), &posted(body), now())
            .map(|request| request.nonce().clone())
    };
    assert_eq!(read(&own), Ok(scene.pledge_fields().nonce.unwrap()));
    assert_eq!(read(&forged), Err(Refusal::Signature(SignatureRefused::Signature)));
    let masa = scene.masa(Policy::default());
    let ask = |body| decide(&masa, &scene.registrar_request(&scene.registrar_fields(Some(body))), &scene.context());
    ask(own).unwrap();
    assert_eq!(ask(forged).unwrap_err(), masa::Refusal::PledgeSignature(SignatureRefused::Signature));
}

#[test]
fn the_certificates_of_the_domain_do_not_date_the_idevid() {
    // The IDevID has ended before the domain began.
    let options = AuthorityOptions::new("p256x3".parse().unwrap(), Validity::days(NOW - 5, 9));
    let domain = Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap();
    let mut scene = Scene { format: COSE, ..Scene::with_domain(domain) };
    let mut options = IdevidOptions::new("WI-3005", NOW - 1_000);
    options.validity.not_after = NOW - 10;
    scene.idevid = scene.maker.issue_idevid(&options).unwrap();
    decide(&scene.masa(Policy::default()), &scene.good_request(), &scene.context()).unwrap();
}

#[test]
fn a_signer_without_the_usage_is_no_registrar() {
    let scene = Scene::of(COSE);
    let masa = scene.masa(Policy::default());
    // The pledge's own request, and a registrar's request that a device has signed.
    let pledge_request = scene.pledge_request(&scene.pledge_fields());
    let fields = COSE.encode_request(&scene.registrar_fields(Some(pledge_request)));
    let request = sign_in(COSE, &scene.idevid, scene.idevid.chain(), &fields);
    assert_eq!(decide(&masa, &request, &scene.context()).unwrap_err(), masa::Refusal::NotRegistrar);
    let key = PROVIDER.load_key(scene.registrar.key()).unwrap();
    let bare = Unsigned::new(&fields, scene.registrar.leaf(), &[], key.schemes()[0]).unwrap();
    let bare = bare.sign(&*key, &mut SeededRng::new(7)).unwrap();
    let expected = masa::Refusal::Signature(SignatureRefused::NoSigner);
    assert_eq!(decide(&masa, &bare, &scene.context()).unwrap_err(), expected);
}

#[test]
fn an_audit_log_is_requested_in_either_form_and_is_json() {
    let scene = Scene::of(COSE);
    let masa = scene.masa(Policy::default());
    let request = scene.good_request();
    let log = [decide(&masa, &request, &scene.context()).unwrap().entry];
    let read = |accept| {
        let posted = Posted { content_type: Some(VOUCHER_COSE), accept, body: &request };
        masa.read_audit_log_request(&posted, now())
    };
    for accept in [None, Some(JSON), Some(VOUCHER_COSE), Some(VOUCHER_COSE_CBOR)] {
        assert_eq!(masa.audit_log(&read(accept).unwrap(), &log).unwrap().events.len(), 1);
    }
    assert_eq!(read(Some(VOUCHER_CMS_JSON)).unwrap_err(), masa::Refusal::NotAcceptable);
    assert_eq!(read(Some("text/html")).unwrap_err(), masa::Refusal::AcceptNotUnderstood);
    // Who has asked in CMS before, and asks in COSE now, is the same domain.
    let cms = Scene { format: Format::CmsJson, ..scene };
    let request = masa.read_voucher_request(&posted(&cms.good_request()), now()).unwrap();
    assert_eq!(masa.audit_log(&request, &log).unwrap().events.len(), 1);
    masa.decide(&request, &Context { log: &log, ..cms.context() }, now()).unwrap();
}

#[test]
fn a_voucher_that_was_fetched_in_cms_is_none_for_a_pledge_that_reads_cose() {
    let scene = Scene::of(COSE);
    let registrar = scene.registrar(|_| {});
    for accept in [None, Some("*/*"), Some(VOUCHER_COSE)] {
        let request = read_by(&scene, &registrar, VOUCHER_COSE, accept);
        let used = registrar.use_fetched(&request, &scene.device.idevid_issuer, b"voucher", now());
        assert_eq!(used, Err(Refusal::NotAcceptable));
    }
}

#[test]
fn telemetry_is_read_in_cbor_and_in_json() {
    let scene = Scene::of(COSE);
    let registrar = scene.registrar(|_| {});
    let status = Status::new(false, Some("the pin is wrong".into()));
    let read = |topic, content_type, body: &[u8]| {
        let posted = Posted { content_type: Some(content_type), accept: None, body };
        registrar.read_status(topic, scene.idevid.chain(), &posted, None).map(|telemetry| telemetry.status)
    };
    for topic in [Topic::Voucher, Topic::Enrolment] {
        assert_eq!(read(topic, CBOR, &status.to_cbor()).as_ref(), Ok(&status));
        assert_eq!(read(topic, JSON, &status.to_json()).as_ref(), Ok(&status));
        assert_eq!(read(topic, CBOR, &status.to_json()), Err(Refusal::Status(Malformed::Cbor)));
        assert_eq!(read(topic, JSON, &status.to_cbor()), Err(Refusal::Status(Malformed::Json)));
        let refusal = read(topic, VOUCHER_COSE, &status.to_cbor()).unwrap_err();
        assert_eq!((refusal, refusal.status()), (Refusal::StatusType, 415));
    }
}
