//! Devices of constrained BRSKI that support raw public keys alone: they see the registrar's key, get a voucher that pins it, and an
//! identity key in place of a certificate.

use std::net::SocketAddr;

use terse_brski::artefact::Format;
use terse_brski::certificate::public_key;
use terse_brski::coap::{Code, Request, Resource, Response, content_format};
use terse_brski::digest::sha256;
use terse_brski::masa::LogEntry;
use terse_brski::voucher::{Assertion, Nonce, Pin};
use terse_ibc::Generator;
use terse_ibc::files::KeyFile;
use terse_net::files::read_certificates;
use terse_onboard::registrar::DeviceReport;
use terse_tls::{CertificateType, ProtocolVersion};

use super::coaps_pledge::{CoapsPledge, How, refused};
use super::world::{Device, PROVIDER, SERIAL, World, now, tls, verified};
use crate::deadline::Deadline;

const RAW: How = How {
    version: ProtocolVersion::TLS_1_3,
    path_form: terse_brski::coap::PathForm::Abbreviated,
    max_datagram: 976,
    answers_checks: true,
    max_retransmit: 8,
    accepts: &[CertificateType::RAW_PUBLIC_KEY],
};

/// A domain whose registrar gives identity keys, and whose MASA knows that the devices support raw public keys alone.
async fn world() -> (World, Generator) {
    let world = World::new().await.with_coaps();
    let generator = world.add_generator();
    world.masa.know_raw_public_keys();
    (world, generator)
}

/// Names the registrar by the SHA-256 of its key.
fn digest(key: &[u8]) -> Pin {
    Pin::PublicKeySha256(sha256(&PROVIDER, key))
}

fn whole(key: &[u8]) -> Pin {
    Pin::PublicKey(key.into())
}

/// Connects without certificates of the registrar, and gets a voucher that pins its key as the request has named it.
async fn with_voucher(world: &World, device: &Device, to: SocketAddr, how: How, name: fn(&[u8]) -> Pin) -> CoapsPledge {
    let mut pledge = device.connect_coaps(to, how).await;
    let key = pledge.raw_public_key().expect("it is no certificate");
    let chain = read_certificates(world.folder.path().join("registrar/registrar.pem")).unwrap();
    assert_eq!(key, public_key(&chain[0]).unwrap());
    let named = |fields: &mut terse_brski::voucher::VoucherRequest| fields.proximity_registrar = vec![name(&key)];
    let request = device.voucher_request_to(chain[0].clone(), named);
    let mut answer = pledge.request_voucher(&request).await;
    let deadline = Deadline::new();
    while answer.code == Code::SERVICE_UNAVAILABLE {
        deadline.wait(answer.diagnostic()).await;
        answer = pledge.request_voucher(&request).await;
    }
    assert_eq!(answer.code, Code::CHANGED, "{:?}", answer.diagnostic());
    let voucher = verified(world, Format::CoseCbor, &answer.payload);
    assert_eq!((voucher.pins, voucher.assertion), (vec![name(&key)], Assertion::Proximity));
    pledge
}

async fn ask_for_identity_key(pledge: &mut CoapsPledge) -> Response {
    let request = || Request::post(Resource::IdentityKey, content_format::IDENTITY_KEY, b"");
    let mut answer = pledge.send(request()).await;
    let deadline = Deadline::new();
    while answer.code == Code::SERVICE_UNAVAILABLE {
        deadline.wait(answer.diagnostic()).await;
        answer = pledge.send(request()).await;
    }
    answer
}

async fn report(world: &World, serial: &str) -> DeviceReport {
    let reports = world.operator().await.devices().await.unwrap();
    reports.into_iter().find(|report| report.serial_number == serial).unwrap()
}

/// The whole way, over the one connection with the IDevID.
async fn goes_the_whole_way(world: &World, generator: &Generator, serial: &str, to: SocketAddr, how: How) {
    let name = if how.version == ProtocolVersion::TLS_1_3 { digest } else { whole };
    let device = world.device(serial).of(Format::CoseCbor);
    let mut pledge = with_voucher(world, &device, to, how, name).await;
    assert_eq!(pledge.say(Resource::VoucherStatus, true).await.code, Code::CHANGED);
    let answer = ask_for_identity_key(&mut pledge).await;
    assert_eq!(answer.code, Code::CHANGED, "{:?}", answer.diagnostic());
    assert_eq!(answer.content_format, Some(content_format::IDENTITY_KEY));
    let file = KeyFile::from_pem(core::str::from_utf8(&answer.payload).unwrap()).unwrap();
    let key = file.key.as_key();
    assert_eq!((key.identity().to_string(), key.parameters()), (format!("device:{serial}"), generator.parameters()));
    assert_eq!(pledge.say(Resource::EnrollStatus, true).await.code, Code::CHANGED);

    let report = report(world, serial).await;
    assert_eq!((report.voucher_status, report.audit.as_str()), (Some(true), "good"));
    assert_eq!((report.ldevid, report.enroll_status), (None, Some(true)));
    assert!(report.identity_key.is_some_and(|given| given.abs_diff(now().as_secs()) < 3_600));
    assert_eq!(report.last_reason, None);
}

#[tokio::test]
async fn devices_with_raw_public_keys_alone_join_and_each_gets_its_identity_key() {
    let (world, generator) = world().await;
    let registrar = world.start().await;
    let to = registrar.coaps.unwrap();
    let older = How { version: ProtocolVersion::TLS_1_2, ..RAW };
    tokio::join!(
        goes_the_whole_way(&world, &generator, SERIAL, to, RAW),
        goes_the_whole_way(&world, &generator, "WI-3006", to, older),
    );
    // With its next voucher a device begins anew.
    let device = world.device("WI-3007").of(Format::CoseCbor);
    for _ in 0..2 {
        let mut pledge = with_voucher(&world, &device, to, RAW, digest).await;
        assert_eq!(report(&world, "WI-3007").await.identity_key, None);
        pledge.say(Resource::VoucherStatus, true).await;
        assert_eq!(ask_for_identity_key(&mut pledge).await.code, Code::CHANGED);
        assert!(report(&world, "WI-3007").await.identity_key.is_some());
    }
    registrar.stop().await;
}

#[tokio::test]
async fn a_registrar_without_a_ca_gives_identity_keys() {
    let (world, generator) = world().await;
    world.change("[enrolment]\nca = \"ca\"\n", "");
    let registrar = world.start().await;
    let to = registrar.coaps.unwrap();
    goes_the_whole_way(&world, &generator, SERIAL, to, RAW).await;
    let mut pledge = world.device(SERIAL).of(Format::CoseCbor).connect_coaps(to, How::default()).await;
    refused(&pledge.send(Request::get(Resource::CaCerts)).await, Code::NOT_FOUND, "has no CA");
    registrar.stop().await;
}

#[tokio::test]
async fn no_identity_key_is_given_before_the_voucher_and_the_audit_log_are_good() {
    let (world, _) = world().await;
    let registrar = world.start().await;
    let to = registrar.coaps.unwrap();
    let device = world.device(SERIAL).of(Format::CoseCbor);
    let mut pledge = device.connect_coaps(to, RAW).await;
    refused(&ask_for_identity_key(&mut pledge).await, Code::UNAUTHORIZED, "another client");
    let mut pledge = with_voucher(&world, &device, to, RAW, digest).await;
    refused(&ask_for_identity_key(&mut pledge).await, Code::FORBIDDEN, "has not said");
    pledge.say(Resource::VoucherStatus, false).await;
    refused(&ask_for_identity_key(&mut pledge).await, Code::FORBIDDEN, "is not good");
    assert_eq!(report(&world, SERIAL).await.identity_key, None);

    let other = world.device("WI-3006").of(Format::CoseCbor);
    let (key, date, nonce) = ([1; 32], now(), Some(Nonce::of_random(&[9; 16])));
    let entry = LogEntry { date, domain_id: vec![1; 20], key, nonce, assertion: Assertion::Logged };
    world.masa.log("WI-3006", entry);
    let mut pledge = with_voucher(&world, &other, to, RAW, digest).await;
    pledge.say(Resource::VoucherStatus, true).await;
    refused(&ask_for_identity_key(&mut pledge).await, Code::FORBIDDEN, "earlier owners");
    assert_eq!(report(&world, "WI-3006").await.identity_key, None);
    registrar.stop().await;
}

#[tokio::test]
async fn the_raw_public_key_is_for_those_alone_who_accept_no_certificates_where_there_are_identity_keys() {
    let world = World::new().await.with_coaps();
    let device = world.device(SERIAL).of(Format::CoseCbor);
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let registrar = world.start().await;
        let how = How { version, ..RAW };
        let refused = CoapsPledge::try_connect(registrar.coaps.unwrap(), tls(&device.idevid), how).await;
        let error = refused.err().expect("there are no identity keys").to_string();
        assert!(error.contains("unsupported_certificate"), "{error}");
        registrar.stop().await;
    }
    world.add_generator();
    let registrar = world.start().await;
    let both = &[CertificateType::RAW_PUBLIC_KEY, CertificateType::X509];
    for accepts in [&both[1..], both] {
        let pledge = device.connect_coaps(registrar.coaps.unwrap(), How { accepts, ..RAW }).await;
        assert_eq!(pledge.raw_public_key(), None);
    }
    registrar.stop().await;
}
