//! The whole way of a device into the domain (RFC 8995, 5), and who is refused on it.

use terse_brski::artefact::Format;
use terse_brski::est::{CsrAttributes, decode_body, decode_certs_only};
use terse_brski::http::{JSON, VOUCHER_CMS_JSON};
use terse_brski::voucher::{Assertion, Pin};
use terse_onboard::client::Outgoing;
use terse_pki::{Authority, Subject};
use terse_tls::{Expect, Trust};

use super::world::{PROVIDER, Pledge, SERIAL, World, authority, certificate, now, refused, text, tls, voucher};

#[tokio::test]
async fn a_device_joins_enrols_reports_and_enrols_again() {
    for format in Format::ALL {
        let world = World::new().await;
        world.change("ca = \"ca\"", "ca = \"ca\"\nnames = [\"{serial}.devices.plant.example\"]");
        let registrar = world.start().await;
        let device = world.device(SERIAL).of(format);
        let mut pledge = device.connect(&registrar).await;

        let request = device.voucher_request(&pledge);
        let answer = pledge.request_voucher(&request).await;
        let voucher = voucher(&world, format, &answer);
        assert_eq!((voucher.serial_number.as_str(), voucher.assertion), (SERIAL, Assertion::Proximity));
        let domain = Authority::load(&world.folder.path().join("registrar/ca")).unwrap();
        let issuer = domain.certificates().last().unwrap();
        assert_eq!(voucher.pins, [Pin::Certificate(issuer.clone())]);
        assert_eq!(world.masa.accepts(), [Some(format.media_type().to_owned())]);

        assert_eq!(pledge.voucher_status(true).await.status, 200);
        let cacerts = pledge.until_decided("/.well-known/est/cacerts").await;
        assert_eq!(cacerts.status, 200, "{}", text(&cacerts));
        assert_eq!(cacerts.content_type.as_deref(), Some("application/pkcs7-mime"));
        let mut certificates = decode_certs_only(&decode_body(&cacerts.body, "cacerts").unwrap()).unwrap();
        let mut expected: Vec<_> = domain.certificates().cloned().collect();
        certificates.sort_by(|a, b| a.as_ref().cmp(b));
        expected.sort_by(|a, b| a.as_ref().cmp(b));
        assert_eq!(certificates, expected, "with the root");

        let csrattrs = pledge.get("/.well-known/est/csrattrs").await;
        assert_eq!(csrattrs.content_type.as_deref(), Some("application/csrattrs"));
        let attributes = CsrAttributes::from_der(&decode_body(&csrattrs.body, "csrattrs").unwrap()).unwrap();
        assert_eq!(attributes.extensions.len(), 1);
        let ldevid = certificate(&pledge.enroll("simpleenroll", &device.certification_request(&attributes)).await);
        let anchors = Trust::new(&certificates).unwrap();
        let checked = |certificate| anchors.check(&PROVIDER, &[certificate], Expect::Client, Some(now())).map(|_| ());
        checked(ldevid.clone()).unwrap();
        assert!(format!("{:?}", Subject::of(&ldevid).unwrap()).contains(SERIAL));
        let (_, not_after) = terse_brski::certificate::validity(&ldevid).unwrap();
        assert_eq!((not_after.as_secs() + 60 - now().as_secs()) / 86_400, 365, "the default of days");
        let name = b"wi-3005.devices.plant.example";
        assert!(ldevid.windows(name.len()).any(|window| window == name));

        // On a new connection, with the LDevID.
        let mut member = device.connect_with(&registrar, &ldevid).await;
        assert_eq!(member.enroll_status(true).await.status, 200);
        let report = &world.operator().await.devices().await.unwrap()[0];
        assert_eq!((report.serial_number.as_str(), report.manufacturer.as_str()), (SERIAL, "maker"));
        assert_eq!((report.voucher_status, report.audit.as_str()), (Some(true), "good"));
        assert_eq!((report.enroll_status, report.is_rejected), (Some(true), false));
        assert!(report.ldevid.is_some() && report.ldevid_not_after.is_some());

        let renewed = certificate(&member.enroll("simplereenroll", &device.certification_request(&attributes)).await);
        assert_ne!(renewed, ldevid);
        checked(renewed.clone()).unwrap();
        let mut member = device.connect_with(&registrar, &renewed).await;
        assert_eq!(member.enroll_status(true).await.status, 200);
        assert_eq!(member.get("/.well-known/est/cacerts").await.body, cacerts.body);
        registrar.stop().await;
    }
}

#[tokio::test]
async fn what_is_not_there_and_what_is_too_long_is_said() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    refused(&pledge.get("/").await, 404, "nothing here");
    refused(&pledge.get("/.well-known/brski/requestvoucher").await, 405, "method");
    assert_eq!(pledge.get("/health").await.status, 200);
    refused(&pledge.post("/.well-known/brski/requestvoucher", JSON, b"{}").await, 415, "voucher-cms+json");
    refused(&pledge.post("/.well-known/brski/voucher_status", VOUCHER_CMS_JSON, b"{}").await, 415, "json");
    refused(&pledge.post("/.well-known/brski/voucher_status", JSON, b"{}").await, 400, "version");
    refused(&pledge.request_voucher(b"garbage").await, 403, "");
    let too_long = vec![0x30; 16_385];
    refused(&pledge.request_voucher(&too_long).await, 413, "too long");
    assert!(world.masa.requests().is_empty());
    registrar.stop().await;
}

#[tokio::test]
async fn each_reason_to_refuse_a_request_has_its_status() {
    for format in Format::ALL {
        let world = World::new().await;
        let registrar = world.start().await;
        let device = world.device(SERIAL).of(format);

        // Somebody is between pledge and registrar: the connection ends.
        let mut pledge = device.connect(&registrar).await;
        let seen = world.maker.root().clone();
        let request =
            device.voucher_request_with(&pledge, |fields| fields.proximity_registrar = vec![Pin::Certificate(seen)]);
        refused(&pledge.request_voucher(&request).await, 401, "another registrar");
        assert!(
            pledge.https.send(Outgoing { path: "/health", ..Outgoing::default() }, super::world::LIMITS).await.is_err()
        );

        let mut pledge = device.connect(&registrar).await;
        let request = device.voucher_request_with(&pledge, |fields| fields.serial_number = "WI-3006".into());
        refused(&pledge.request_voucher(&request).await, 403, "serial numbers");
        let request = device.voucher_request_with(&pledge, |fields| fields.nonce = None);
        refused(&pledge.request_voucher(&request).await, 403, "nonce");

        // A device of nobody, and another device's request.
        let stranger = super::world::Device::new(&authority("Other"), SERIAL).of(format);
        let mut strange = stranger.connect(&registrar).await;
        let request = stranger.voucher_request(&strange);
        refused(&strange.request_voucher(&request).await, 403, "manufacturer");
        let other = world.device("WI-3006").of(format);
        let mut pledge = other.connect(&registrar).await;
        let request = device.voucher_request(&pledge);
        let (status, part) = match format {
            Format::CmsJson => (401, "another certificate"),
            Format::CoseCbor => (403, "the signature is wrong"), // it names no signer
        };
        refused(&pledge.request_voucher(&request).await, status, part);
        assert!(world.masa.requests().is_empty());
        assert!(world.operator().await.devices().await.unwrap().is_empty());
        registrar.stop().await;
    }
}

#[tokio::test]
async fn a_stranger_learns_nothing_and_leaves_nothing() {
    let world = World::new().await;
    let registrar = world.start().await;
    let member = world.maker.issue(&terse_pki::LeafOptions::new("stranger", super::world::validity())).unwrap();
    let mut stranger = Pledge::connect(&registrar, Some(tls(&member))).await;
    assert_eq!(stranger.voucher_status(true).await.status, 200);
    assert_eq!(stranger.enroll_status(true).await.status, 200);
    refused(&stranger.get("/.well-known/est/cacerts").await, 401, "another client");
    assert!(world.operator().await.devices().await.unwrap().is_empty());
    registrar.stop().await;
}
