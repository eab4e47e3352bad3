//! Devices whose requests and vouchers are in COSE, and what a MASA can send them that is wrong.

use terse_brski::artefact::Format;
use terse_brski::cose::Signed;
use terse_brski::http::{CBOR, JSON, VOUCHER_CMS_JSON, VOUCHER_COSE, VOUCHER_COSE_CBOR};
use terse_brski::telemetry::Status;
use terse_brski::voucher::{Assertion, Nonce, Pin, Voucher, VoucherRequest};
use terse_onboard::client::{Incoming, Outgoing};
use terse_pki::{Authority, AuthorityOptions, RegistrarOptions};

use super::scripted_masa::Script;
use super::world::{Device, PROVIDER, Pledge, SERIAL, World, refused, validity, voucher};

const COSE: Format = Format::CoseCbor;
const REQUEST: &str = "/.well-known/brski/requestvoucher";

async fn ask(pledge: &mut Pledge, content_type: &str, accept: Option<&str>, request: &[u8]) -> Incoming {
    let body = Some(request.to_vec());
    let content_type = Some(content_type);
    pledge.send(Outgoing { path: REQUEST, content_type, accept, body, ..Outgoing::default() }).await
}

/// The request of a device, and its nonce.
fn request_of(device: &Device, pledge: &Pledge) -> (Vec<u8>, Nonce) {
    let mut nonce = None;
    let request = device.voucher_request_with(pledge, |fields| nonce = fields.nonce.clone());
    (request, nonce.unwrap())
}

#[tokio::test]
async fn the_masa_gets_the_path_of_the_idevid_and_the_pledge_no_certificates() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL).of(COSE);
    let mut pledge = device.connect(&registrar).await;
    let (request, nonce) = request_of(&device, &pledge);
    let answer = pledge.request_voucher(&request).await;
    assert_eq!(voucher(&world, COSE, &answer).nonce, Some(nonce.clone()));
    assert_eq!(world.masa.accepts(), [Some(VOUCHER_COSE.to_owned())]);

    let signed = Signed::verify(&PROVIDER, &world.masa.last_request(), &[]).unwrap();
    assert_eq!(signed.chain[0], pledge.registrar());
    assert!(signed.chain.contains(&device.certificate()) && signed.chain.contains(world.maker.root()));
    let fields = VoucherRequest::from_cbor(&signed.content).unwrap();
    assert_eq!(fields.prior_signed_voucher_request.as_deref(), Some(&request[..]));
    assert_eq!((fields.nonce, fields.serial_number.as_str()), (Some(nonce), SERIAL));
    assert_eq!((fields.assertion, fields.proximity_registrar), (Some(Assertion::Proximity), vec![]));
    assert!(fields.created_on.is_some() && fields.idevid_issuer.is_some());
    registrar.stop().await;
}

#[tokio::test]
async fn one_request_has_one_voucher_by_either_name_of_its_type() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL).of(COSE);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    let mut bodies = Vec::new();
    for (content_type, accept, expected) in [
        (VOUCHER_COSE_CBOR, None, VOUCHER_COSE_CBOR),
        (VOUCHER_COSE, None, VOUCHER_COSE),
        (VOUCHER_COSE_CBOR, Some(VOUCHER_COSE), VOUCHER_COSE),
        (VOUCHER_COSE, Some(VOUCHER_COSE_CBOR), VOUCHER_COSE_CBOR),
    ] {
        let answer = ask(&mut pledge, content_type, accept, &request).await;
        assert_eq!((answer.status, answer.content_type.as_deref()), (200, Some(expected)));
        bodies.push(answer.body);
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!((world.masa.requests().len(), world.masa.issued()), (1, 1));
    assert_eq!(world.masa.accepts(), [Some(VOUCHER_COSE.to_owned())], "the MASA is asked by the name of today");
    for (content_type, accept, status) in [
        (VOUCHER_COSE, Some(VOUCHER_CMS_JSON), 406),
        (VOUCHER_COSE, Some("text/html"), 415),
        ("application/cose", None, 415),
        (VOUCHER_CMS_JSON, None, 403),
    ] {
        refused(&ask(&mut pledge, content_type, accept, &request).await, status, "");
    }
    registrar.stop().await;
}

#[tokio::test]
async fn devices_of_both_forms_join_side_by_side() {
    let world = World::new().await;
    let registrar = world.start().await;
    let (old, new) = (world.device(SERIAL), world.device("WI-3006").of(COSE));
    let (one, other) = tokio::join!(old.enrol(&registrar), new.enrol(&registrar));
    assert_ne!(one, other);
    assert_eq!(world.masa.issued(), 2);
    let mut devices = world.operator().await.devices().await.unwrap();
    devices.sort_by(|one, other| one.serial_number.cmp(&other.serial_number));
    for device in devices {
        assert_eq!((device.voucher_status, device.audit.as_str()), (Some(true), "good"), "{}", device.serial_number);
    }
    registrar.stop().await;
}

#[tokio::test]
async fn each_thing_that_is_wrong_with_a_voucher_keeps_it_from_the_pledge() {
    type Change = fn(&mut Voucher);
    let fields: [(Change, &str); 2] = [
        (|voucher| voucher.serial_number = "WI-3006".into(), "another serial number or nonce"),
        (|voucher| voucher.nonce = Some(Nonce::new(b"another nonce").unwrap()), "another serial number or nonce"),
    ];
    for format in Format::ALL {
        let world = World::new().await;
        let registrar = world.start().await;
        let device = world.device(SERIAL).of(format);
        let good = |pledge: &Pledge, nonce: Nonce| {
            let mut voucher = Voucher::new(SERIAL.into(), Assertion::Proximity);
            voucher.nonce = Some(nonce);
            voucher.pins = vec![Pin::Certificate(pledge.registrar())];
            voucher
        };
        for (change, part) in fields {
            let mut pledge = device.connect(&registrar).await;
            let (request, nonce) = request_of(&device, &pledge);
            let mut changed = good(&pledge, nonce);
            change(&mut changed);
            world.masa.script(Script::Answer(format.media_type(), world.masa.signed(format, &changed)));
            refused(&pledge.request_voucher(&request).await, 502, part);
        }
        let mut pledge = device.connect(&registrar).await;
        let (request, nonce) = request_of(&device, &pledge);
        let mut damaged = world.masa.signed(format, &good(&pledge, nonce));
        *damaged.last_mut().unwrap() ^= 1;
        world.masa.script(Script::Answer(format.media_type(), damaged));
        refused(&pledge.request_voucher(&request).await, 502, "a bad signature");
        // The form that the pledge does not read, by its own name and by that of the other form.
        for (named, sent, part) in [
            (other(format), other(format), "no voucher of an accepted type"),
            (format, other(format), "a bad signature"),
        ] {
            let (request, nonce) = request_of(&device, &pledge);
            let voucher = world.masa.signed(sent, &good(&pledge, nonce));
            world.masa.script(Script::Answer(named.media_type(), voucher));
            refused(&pledge.request_voucher(&request).await, 502, part);
        }
        assert_eq!(world.count("joinings").await, 0, "{format:?}");
        // And a good one, by the older name as well.
        let name = if format == COSE { VOUCHER_COSE_CBOR } else { VOUCHER_CMS_JSON };
        let (request, nonce) = request_of(&device, &pledge);
        world.masa.script(Script::Answer(name, world.masa.signed(format, &good(&pledge, nonce.clone()))));
        assert_eq!(voucher(&world, format, &pledge.request_voucher(&request).await).nonce, Some(nonce));
        registrar.stop().await;
    }
}

const fn other(format: Format) -> Format {
    match format {
        Format::CmsJson => Format::CoseCbor,
        Format::CoseCbor => Format::CmsJson,
    }
}

#[tokio::test]
async fn telemetry_is_taken_in_cbor_and_in_json() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL).of(COSE);
    let mut pledge = device.join(&registrar).await;
    let status = Status::new(false, Some("no room".into()));
    for path in ["/.well-known/brski/voucher_status", "/.well-known/brski/enrollstatus"] {
        for (content_type, body) in [(CBOR, status.to_cbor()), (JSON, status.to_json())] {
            assert_eq!(pledge.post(path, content_type, &body).await.status, 200);
        }
        refused(&pledge.post(path, CBOR, &status.to_json()).await, 400, "CBOR");
        refused(&pledge.post(path, VOUCHER_COSE, &status.to_cbor()).await, 415, "application/cbor");
    }
    let report = &world.operator().await.devices().await.unwrap()[0];
    assert_eq!((report.voucher_status, report.enroll_status), (Some(false), Some(false)));
    registrar.stop().await;
}

#[tokio::test]
async fn a_registrar_with_a_key_for_rsa_takes_requests_in_cms_alone() {
    let world = World::new().await;
    let options = AuthorityOptions::new("rsa2048x2".parse().unwrap(), validity());
    let domain = Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap();
    let own = domain.issue_registrar(&RegistrarOptions::new("registrar.plant.example", validity())).unwrap();
    let chain = format!("{}{}", own.chain_pem(), domain.root_pem());
    std::fs::write(world.config().with_file_name("registrar.pem"), chain).unwrap();
    std::fs::write(world.config().with_file_name("registrar.key"), own.key_pem().as_bytes()).unwrap();
    world.change("[enrolment]\nca = \"ca\"", "");
    let registrar = world.start().await;
    let device = world.device(SERIAL).of(COSE);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    refused(&pledge.request_voucher(&request).await, 406, "signs no voucher requests in COSE");
    assert_eq!((world.masa.arrived(), world.count("requests").await), (0, 0));
    let device = device.of(Format::CmsJson);
    let request = device.voucher_request(&pledge);
    voucher(&world, Format::CmsJson, &pledge.request_voucher(&request).await);
    registrar.stop().await;
}
