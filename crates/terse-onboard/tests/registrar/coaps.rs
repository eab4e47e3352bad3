//! Devices of constrained BRSKI: their way into the domain over CoAPS, and who is refused on it.

use std::net::SocketAddr;

use pki_types::CertificateDer;
use terse_brski::artefact::Format;
use terse_brski::coap::{Code, ETag, PathForm, Request, Resource, Response, content_format};
use terse_brski::est::{CsrAttributes, decode_certs_only};
use terse_brski::voucher::Assertion;
use terse_ibc::files::KeyFile;
use terse_net::Clock;
use terse_onboard::discovery::coap::{Reach, Seeker, Sought};
use terse_onboard::discovery::{Change, Discovery as _, Place};
use terse_onboard::join_proxy::{Mode, UdpLimits, UdpProxy};
use terse_onboard::registrar::Service;
use terse_pki::Authority;
use terse_tls::{CertificateType, Expect, ProtocolVersion, Trust};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::coaps_pledge::{CoapsPledge, How, refused};
use super::world::{Device, PROVIDER, SERIAL, World, authority, now, verified};
use crate::deadline::{Deadline, soon};

const COSE: Format = Format::CoseCbor;
const DTLS_1_2: How = How {
    version: ProtocolVersion::TLS_1_2,
    path_form: PathForm::WellKnown,
    max_datagram: 976,
    answers_checks: true,
    max_retransmit: 8,
    accepts: &[CertificateType::X509],
};

/// The whole way: to the certificate, with it to the report, and to the next certificate.
async fn goes_the_whole_way(world: &World, device: &Device, to: SocketAddr, how: How) {
    let mut pledge = device.connect_coaps(to, how).await;
    let request = device.voucher_request_to(pledge.registrar(), |_| {});
    let mut answer = pledge.request_voucher(&request).await;
    let deadline = Deadline::new();
    while answer.code == Code::SERVICE_UNAVAILABLE {
        deadline.wait(answer.diagnostic()).await;
        answer = pledge.request_voucher(&request).await;
    }
    assert_eq!(answer.code, Code::CHANGED, "{:?}", answer.diagnostic());
    assert_eq!(answer.content_format, Some(content_format::VOUCHER_COSE));
    let voucher = verified(world, COSE, &answer.payload);
    assert_eq!((&voucher.serial_number, voucher.assertion), (&device.serial, Assertion::Proximity));
    assert_eq!(pledge.say(Resource::VoucherStatus, true).await.code, Code::CHANGED);

    let certificates = pledge.ca_certificates().await;
    let domain = Authority::load(&world.folder.path().join("registrar/ca")).unwrap();
    let expected: Vec<_> = domain.certificates().rev().cloned().collect();
    assert_eq!(certificates, expected, "the issuer of LDevIDs first, with the root");
    let request = device.certification_request(&CsrAttributes::default());
    let answer = pledge.enroll(Resource::SimpleEnroll, &request).await;
    assert_eq!((answer.code, answer.content_format), (Code::CHANGED, Some(content_format::PKIX_CERT)));
    let ldevid = CertificateDer::from(answer.payload.to_vec());
    let anchors = Trust::new(&certificates).unwrap();
    anchors.check(&PROVIDER, std::slice::from_ref(&ldevid), Expect::Client, Some(now())).unwrap();

    let mut member = device.connect_coaps_with(to, &ldevid, how).await;
    assert_eq!(member.say(Resource::EnrollStatus, true).await.code, Code::CHANGED);
    let reports = world.operator().await.devices().await.unwrap();
    let report = reports.iter().find(|report| report.serial_number == device.serial).unwrap();
    assert_eq!((report.voucher_status, report.enroll_status), (Some(true), Some(true)));
    let renewed = member.enroll(Resource::SimpleReenroll, &request).await;
    assert_eq!(renewed.code, Code::CHANGED, "{:?}", renewed.diagnostic());
    assert_ne!(renewed.payload.to_vec(), ldevid.to_vec());
}

#[tokio::test]
async fn a_device_joins_enrols_reports_and_enrols_again_over_coaps() {
    for how in [How::default(), DTLS_1_2] {
        let world = World::new().await.with_coaps();
        let registrar = world.start().await;
        let device = world.device(SERIAL).of(COSE);
        goes_the_whole_way(&world, &device, registrar.coaps.unwrap(), how).await;
        assert_eq!(world.masa.issued(), 1);
        registrar.stop().await;
    }
}

#[tokio::test]
async fn devices_of_both_forms_are_served_by_one_registrar() {
    let world = World::new().await.with_coaps();
    let registrar = world.start().await;
    let (old, new) = (world.device(SERIAL), world.device("WI-3006").of(COSE));
    let to = registrar.coaps.unwrap();
    tokio::join!(old.enrol(&registrar), goes_the_whole_way(&world, &new, to, How::default()));
    assert_eq!(world.masa.issued(), 2);
    registrar.stop().await;
}

#[tokio::test]
async fn names_of_certificates_are_added_for_those_who_cannot_be_told_to_ask_for_them() {
    let world = World::new().await.with_coaps();
    world.change("ca = \"ca\"", "ca = \"ca\"\nnames = [\"{serial}.devices.plant.example\"]");
    let registrar = world.start().await;
    let device = world.device(SERIAL).of(COSE);
    let mut pledge = joined(&device, registrar.coaps.unwrap()).await;
    let request = device.certification_request(&CsrAttributes::default());
    let answer = pledge.enroll(Resource::SimpleEnroll, &request).await;
    assert_eq!(answer.code, Code::CHANGED, "{:?}", answer.diagnostic());
    let name = b"wi-3005.devices.plant.example";
    assert!(answer.payload.windows(name.len()).any(|window| window == name));
    registrar.stop().await;
}

/// Goes up to the open gate of EST.
async fn joined(device: &Device, to: SocketAddr) -> CoapsPledge {
    let mut pledge = device.connect_coaps(to, How::default()).await;
    let request = device.voucher_request_to(pledge.registrar(), |_| {});
    assert_eq!(pledge.request_voucher(&request).await.code, Code::CHANGED);
    pledge.say(Resource::VoucherStatus, true).await;
    pledge.ca_certificates().await;
    pledge
}

#[tokio::test]
async fn each_answer_over_coaps_has_the_form_that_is_asked_for() {
    let world = World::new().await.with_coaps();
    let registrar = world.start().await;
    let device = world.device(SERIAL).of(COSE);
    let mut pledge = joined(&device, registrar.coaps.unwrap()).await;

    // All in one, unless something else is asked for.
    for accept in [None, Some(content_format::PKCS7_CERTS_ONLY)] {
        let mut request = Request::get(Resource::CaCerts);
        request.accept = accept;
        let answer = pledge.send(request).await;
        assert_eq!(answer.content_format, Some(content_format::PKCS7_CERTS_ONLY));
        assert_eq!(decode_certs_only(&answer.payload).unwrap().len(), 2);
    }
    // There are two, so that one alone will not do.
    let one = Request::get(Resource::CaCerts).accept(content_format::PKIX_CERT);
    refused(&pledge.send(one).await, Code::NOT_ACCEPTABLE, "no form that is accepted");
    // What a client has need not come again.
    let mut again = Request::get(Resource::CaCerts).accept(content_format::MULTIPART_CORE);
    let first = pledge.send(again.clone()).await;
    let etag: ETag = first.etag.unwrap();
    again.etag = Some(etag);
    assert_eq!(pledge.send(again).await.code, Code::VALID);

    let request = device.certification_request(&CsrAttributes::default());
    let answer = pledge.send(Request::post(Resource::SimpleEnroll, content_format::PKCS10, &request)).await;
    assert_eq!(answer.content_format, Some(content_format::PKCS7_CERTS_ONLY));
    let certificates = decode_certs_only(&answer.payload).unwrap();
    let same = pledge.enroll(Resource::SimpleEnroll, &request).await;
    assert_eq!(same.payload.to_vec(), certificates[0].to_vec(), "the same request has the same certificate");

    let links = pledge.send(Request::discovery("rt=brski.rv")).await;
    assert_eq!(links.content_format, Some(content_format::LINK_FORMAT));
    assert_eq!(links.payload.to_vec(), b"</b/rv>;rt=brski.rv;ct=836");
    registrar.stop().await;
}

#[tokio::test]
async fn each_reason_to_refuse_a_request_has_its_code() {
    let world = World::new().await.with_coaps();
    let registrar = world.start().await;
    let device = world.device(SERIAL).of(COSE);
    let to = registrar.coaps.unwrap();
    let mut pledge = device.connect_coaps(to, How::default()).await;
    let request = device.voucher_request_to(pledge.registrar(), |_| {});

    let post = |resource, format, content: &[u8]| Request::post(resource, format, content);
    let voucher = |format| post(Resource::RequestVoucher, format, &request);
    for (request, code, part) in [
        (voucher(content_format::CBOR), Code::UNSUPPORTED_CONTENT_FORMAT, "voucher"),
        (voucher(0xfff0), Code::UNSUPPORTED_CONTENT_FORMAT, "Content-Format"),
        (voucher(content_format::VOUCHER_COSE).accept(content_format::JSON), Code::NOT_ACCEPTABLE, "accepted"),
        (post(Resource::RequestVoucher, content_format::VOUCHER_COSE, &[0x84]), Code::FORBIDDEN, "no CBOR"),
        (post(Resource::VoucherStatus, content_format::CBOR, &[0x84]), Code::BAD_REQUEST, ""),
        (post(Resource::SimpleEnroll, content_format::PKCS10, &[0x30]), Code::UNAUTHORIZED, "another client"),
        (Request::get(Resource::CaCerts), Code::UNAUTHORIZED, "another client"),
        (Request::get(Resource::CsrAttributes), Code::NOT_FOUND, ""),
        (post(Resource::ServerKeyGen, content_format::PKCS10, &[0x30]), Code::NOT_FOUND, ""),
        (
            post(Resource::RequestVoucher, content_format::VOUCHER_COSE, &[0; 40_000]),
            Code::REQUEST_ENTITY_TOO_LARGE,
            "",
        ),
    ] {
        refused(&pledge.send(request).await, code, part);
        if code == Code::UNAUTHORIZED {
            pledge = device.connect_coaps(to, How::default()).await; // it ends the connection
        }
    }
    assert_eq!((world.masa.requests().len(), world.count("requests").await), (0, 0));
    // And all the same the last connection serves for a good one.
    assert_eq!(pledge.request_voucher(&request).await.code, Code::CHANGED);
    // A request that names another registrar is answered, and the connection ends.
    let other = world.device("WI-3006").of(COSE);
    let mut pledge = other.connect_coaps(registrar.coaps.unwrap(), How::default()).await;
    let request = other.voucher_request_to(world.maker.root().clone(), |_| {});
    refused(&pledge.request_voucher(&request).await, Code::UNAUTHORIZED, "");
    let next = pledge.try_send(Request::get(Resource::CaCerts)).await;
    assert!(next.is_none_or(|next| next.code == Code::SERVICE_UNAVAILABLE));
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_that_waits_for_an_operator_comes_back_with_the_same_bytes() {
    let world = World::with("devices = \"ask\"").await.with_coaps();
    let registrar = world.start().await;
    let device = world.device(SERIAL).of(COSE);
    let to = registrar.coaps.unwrap();
    let mut pledge = device.connect_coaps(to, How::default()).await;
    let request = device.voucher_request_to(pledge.registrar(), |_| {});
    let answer = pledge.request_voucher(&request).await;
    refused(&answer, Code::SERVICE_UNAVAILABLE, "repeat the same request");
    assert!((1..=Response::MAX_RETRY_AFTER_S).contains(&answer.max_age.unwrap()));
    world.operator().await.accept(SERIAL, None).await.unwrap();
    // Meanwhile the join proxy has forgotten the device, and passes it on from another port.
    pledge.move_to_another_port(to);
    let answer = pledge.request_voucher(&request).await;
    assert_eq!(answer.code, Code::CHANGED, "{:?}", answer.diagnostic());
    // Over a new connection it has the same voucher.
    let mut anew = device.connect_coaps(to, How::default()).await;
    assert_eq!(anew.request_voucher(&request).await.payload, answer.payload);
    assert_eq!(world.masa.issued(), 1);
    registrar.stop().await;
}

/// From where a device has not shown that it is there, it gets three times as many bytes as it sends. An answer in blocks of the
/// usual size would come after several repetitions of the request, of which there are none here.
#[tokio::test]
async fn a_device_that_answers_no_checks_gets_long_answers_at_another_port_without_delay() {
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        let world = World::new().await.with_coaps();
        let registrar = world.start().await;
        let device = world.device(SERIAL).of(COSE);
        let to = registrar.coaps.unwrap();
        let how = How { version, answers_checks: false, max_retransmit: 0, ..How::default() };
        let mut pledge = device.connect_coaps(to, how).await;
        let request = device.voucher_request_to(pledge.registrar(), |_| {});
        pledge.move_to_another_port(to);
        let answer = pledge.request_voucher(&request).await;
        assert_eq!(answer.code, Code::CHANGED, "{:?}", answer.diagnostic());
        pledge.move_to_another_port(to);
        assert_eq!(pledge.say(Resource::VoucherStatus, true).await.code, Code::CHANGED);
        pledge.move_to_another_port(to);
        assert_eq!(pledge.ca_certificates().await.len(), 2);
        let request = device.certification_request(&CsrAttributes::default());
        pledge.move_to_another_port(to);
        let answer = pledge.enroll(Resource::SimpleEnroll, &request).await;
        assert_eq!(answer.code, Code::CHANGED, "{:?}", answer.diagnostic());
        registrar.stop().await;
    }
}

/// A join proxy in front of the registrar: its address, and how it is stopped.
async fn join_proxy(
    mode: Mode,
    registrar: SocketAddr,
    limits: UdpLimits,
) -> (SocketAddr, watch::Sender<bool>, JoinHandle<()>) {
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let place = Place::new(registrar.ip().to_string(), registrar.port());
    let (_known, registrars) = watch::channel(vec![place]);
    let on_link = terse_brski::join_proxy::OnLink::new(vec!["127.0.0.0/8".parse().unwrap()]).unwrap();
    let proxy = UdpProxy::new(socket, mode, registrars, on_link, limits).unwrap();
    let (stop, stopped) = watch::channel(false);
    let address = proxy.local_addr();
    (
        address,
        stop,
        tokio::spawn(async move {
            proxy.run(stopped).await.unwrap();
        }),
    )
}

#[tokio::test]
async fn a_device_joins_through_a_join_proxy_of_each_mode() {
    for mode in [Mode::Stateful, Mode::Stateless] {
        let world = World::new().await.with_coaps();
        let registrar = world.start().await;
        let behind = match mode {
            Mode::Stateful => registrar.coaps.unwrap(),
            Mode::Stateless => registrar.jpy.unwrap(),
        };
        let (proxy, stop, task) = join_proxy(mode, behind, UdpLimits { per_address: 8, ..UdpLimits::default() }).await;
        let (one, other) = (world.device(SERIAL).of(COSE), world.device("WI-3006").of(COSE));
        tokio::join!(
            goes_the_whole_way(&world, &one, proxy, How::default()),
            goes_the_whole_way(&world, &other, proxy, DTLS_1_2),
        );
        stop.send_replace(true);
        soon(task).await.unwrap();
        registrar.stop().await;
    }
}

/// Strangers hold all connections behind a join proxy, and go on coming. The registrar sees the address of the proxy.
#[tokio::test]
async fn strangers_behind_a_stateless_join_proxy_keep_no_device_out() {
    let world = World::new().await.with_coaps();
    world.change("[limits]", "[limits]\nconnections = 8");
    let registrar = world.start().await;
    let (proxy, stop, task) = join_proxy(Mode::Stateless, registrar.jpy.unwrap(), UdpLimits::default()).await;
    let stranger = super::world::Device::new(&authority("Other"), "stranger");
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(stranger.connect_coaps(proxy, How::default()).await);
    }
    let device = world.device(SERIAL).of(COSE);
    tokio::select! {
        () = goes_the_whole_way(&world, &device, proxy, How::default()) => {}
        () = async {
            loop {
                held.push(stranger.connect_coaps(proxy, How::default()).await);
                tokio::time::sleep(core::time::Duration::from_millis(200)).await;
            }
        } => {}
    }
    stop.send_replace(true);
    soon(task).await.unwrap();
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_gets_the_identity_key_of_its_serial_number() {
    let world = World::new().await.with_coaps();
    let generator = world.add_generator();
    let registrar = world.start().await;
    let (device, to) = (world.device(SERIAL).of(COSE), registrar.coaps.unwrap());
    let ask = || Request::post(Resource::IdentityKey, content_format::IDENTITY_KEY, b"");

    let mut stranger = device.connect_coaps(to, How::default()).await;
    refused(&stranger.send(ask()).await, Code::UNAUTHORIZED, "");
    let mut pledge = joined(&device, to).await;
    let request = device.certification_request(&CsrAttributes::default());
    let ldevid = pledge.enroll(Resource::SimpleEnroll, &request).await.payload.to_vec().into();
    let mut member = device.connect_coaps_with(to, &ldevid, How::default()).await;
    refused(&member.send(ask().accept(content_format::CBOR)).await, Code::NOT_ACCEPTABLE, "");
    let answer = member.send(ask()).await;
    assert_eq!((answer.code, answer.content_format), (Code::CHANGED, Some(content_format::IDENTITY_KEY)));
    let file = KeyFile::from_pem(core::str::from_utf8(&answer.payload).unwrap()).unwrap();
    let key = file.key.as_key();
    assert_eq!((key.identity().to_string(), key.parameters()), (format!("device:{SERIAL}"), generator.parameters()));
    assert_eq!(member.send(ask()).await.payload, answer.payload, "and the same again");
    let report = world.operator().await.devices().await.unwrap().remove(0);
    assert!(report.ldevid.is_some() && report.identity_key.is_some());
    world.operator().await.reject(SERIAL, None).await.unwrap();
    refused(&member.send(ask()).await, Code::NOT_ACCEPTABLE, "rejected");
    registrar.stop().await;
}

#[tokio::test]
async fn identity_keys_of_two_manufacturers_have_names_of_their_own() {
    let world = World::new().await.with_coaps();
    std::fs::write(world.folder.path().join("registrar/other.pem"), authority("Other").root_pem()).unwrap();
    world.change("[enrolment]", "[identity]\npkg = \"pkg\"\n[enrolment]");
    world.change("[[manufacturer]]", "[[manufacturer]]\nname = \"other\"\nanchors = \"other.pem\"\n[[manufacturer]]");
    let problem = async || Service::open(&world.config(), Clock::new()).await.err().unwrap().to_string();
    let problem_of_names = problem().await;
    assert!(problem_of_names.contains("{manufacturer}"), "{problem_of_names}");
    world.change("pkg = \"pkg\"", "pkg = \"pkg\"\nname = \"{manufacturer}/{serial}\"");
    assert!(problem().await.contains("terse pkg init"));
}

#[tokio::test]
async fn join_proxies_find_the_registrar_by_coap() {
    let world = World::new().await.with_coaps();
    world.change("[coaps]", "[coaps]\ndiscovery = true\ndiscovery_port = 0");
    let registrar = world.start().await;
    let asked = registrar.discovery[0];
    let host = Place::new(asked.ip().to_string(), asked.port());
    for (sought, address) in
        [(Sought::Registrar, registrar.coaps.unwrap()), (Sought::StatelessRegistrar, registrar.jpy.unwrap())]
    {
        let mut seeker = Seeker::new(&[sought], Reach::Hosts(vec![host.clone()])).unwrap();
        let found = soon(seeker.next()).await;
        let Change::Found(place) = found else { panic!("{found:?}") };
        assert_eq!((place.host(), place.port()), (address.ip().to_string().as_str(), address.port()));
    }
    registrar.stop().await;
}
