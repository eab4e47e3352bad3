//! EST is open for whom, and what it takes (RFC 8995, 5.8.3 and 5.9; RFC 7030).

use pki_types::CertificateDer;
use terse_brski::audit_log::AuditLog;
use terse_brski::est::CsrAttributes;
use terse_brski::masa::LogEntry;
use terse_brski::voucher::{Assertion, Nonce};
use terse_net::Clock;
use terse_onboard::registrar::{Operator, Service};
use terse_pki::{Authority, IdevidOptions, Subject};

use super::scripted_masa::Script;
use super::world::{Device, SERIAL, World, ahead, certificate, now, refused, text};
use crate::deadline::Deadline;

#[tokio::test]
async fn est_waits_for_the_status_of_the_voucher() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &request).await, 401, "");

    let mut pledge = device.connect(&registrar).await;
    let voucher = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&voucher).await.status, 200);
    for path in ["cacerts", "csrattrs"] {
        refused(&pledge.get(&format!("/.well-known/est/{path}")).await, 403, "voucher_status");
    }
    refused(&pledge.enroll("simpleenroll", &request).await, 403, "voucher_status");

    assert_eq!(pledge.voucher_status(false).await.status, 200);
    refused(&pledge.enroll("simpleenroll", &request).await, 403, "begin anew");
    let report = &world.operator().await.devices().await.unwrap()[0];
    assert_eq!(report.voucher_status, Some(false));
    assert_eq!(report.last_reason.as_deref(), Some("the pin is wrong"));

    // With a new voucher all is well.
    let mut pledge = device.join(&registrar).await;
    certificate(&pledge.enroll("simpleenroll", &request).await);
    registrar.stop().await;
}

#[tokio::test]
async fn a_reason_with_any_character_is_stored() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let voucher = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&voucher).await.status, 200);
    let status = br#"{"version":1,"status":false,"reason":"no\u0000pin \u001b\ufeff","reason-context":{}}"#;
    let answer = pledge.post("/.well-known/brski/voucher_status", terse_brski::http::JSON, status).await;
    assert_eq!(answer.status, 200, "{}", text(&answer));
    let report = &world.operator().await.devices().await.unwrap()[0];
    assert_eq!(report.voucher_status, Some(false));
    assert_eq!(report.last_reason.as_deref(), Some("no\u{fffd}pin \u{1b}\u{feff}"));
    registrar.stop().await;
}

#[tokio::test]
async fn est_is_for_the_certificate_that_has_the_voucher() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    device.join(&registrar).await;
    // Another IDevID with the same serial number.
    let other = world.device(SERIAL);
    let mut pledge = other.connect(&registrar).await;
    let request = other.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &request).await, 401, "another client");
    registrar.stop().await;
}

#[tokio::test]
async fn the_same_request_has_the_same_certificate() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    let request = device.certification_request(&CsrAttributes::default());
    let first = certificate(&pledge.enroll("simpleenroll", &request).await);
    assert_eq!(certificate(&pledge.enroll("simpleenroll", &request).await), first);
    registrar.stop().await;
    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    assert_eq!(certificate(&pledge.enroll("simpleenroll", &request).await), first, "after a restart");
    let another = device.certification_request(&CsrAttributes::default());
    assert_ne!(certificate(&pledge.enroll("simpleenroll", &another).await), first);
    registrar.stop().await;
}

#[tokio::test]
async fn certificates_that_have_expired_go_but_for_the_newest_of_each_device() {
    let world = World::new().await;
    let registrar = world.start().await;
    let (device, other) = (world.device(SERIAL), world.device("WI-3006"));
    let mut pledge = device.join(&registrar).await;
    for _ in 0..3 {
        certificate(&pledge.enroll("simpleenroll", &device.certification_request(&CsrAttributes::default())).await);
    }
    other.enrol(&registrar).await;
    registrar.stop().await;
    let database = world.database().await;
    let run = async |query: &str| sqlx::query(query).execute(&database).await.unwrap();
    // They are of different seconds; one ends late.
    run("UPDATE certificates SET issued = issued - 10 WHERE certificate_sha256 <> (SELECT ldevid FROM joinings \
         WHERE joinings.idevid = certificates.idevid)")
    .await;
    run("UPDATE certificates SET not_after = not_after + 86400000 WHERE certificate_sha256 = (SELECT \
         certificate_sha256 FROM certificates WHERE certificate_sha256 NOT IN (SELECT ldevid FROM joinings) LIMIT 1)")
    .await;
    let registrar = world.start_at(ahead(400 * 86_400)).await;
    let deadline = Deadline::new();
    while world.count("certificates").await == 4 {
        deadline.wait("all four are there").await;
    }
    assert_eq!(world.count("certificates").await, 3);
    let kept = "SELECT COUNT(*) FROM joinings WHERE ldevid IN (SELECT certificate_sha256 FROM certificates)";
    let kept: i64 = sqlx::query_scalar(kept).fetch_one(&database).await.unwrap();
    assert_eq!(kept, 2);
    registrar.stop().await;
}

#[tokio::test]
async fn wrong_requests_are_refused() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    let good = device.certification_request(&CsrAttributes::default());

    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    refused(&pledge.enroll("simpleenroll", &damaged).await, 400, "");
    refused(&pledge.enroll("simpleenroll", b"garbage").await, 400, "");
    refused(&pledge.post("/.well-known/est/simpleenroll", "application/pkcs10", b"!").await, 400, "base64");
    refused(&pledge.post("/.well-known/est/simpleenroll", "text/plain", b"AA==").await, 415, "pkcs10");
    refused(&pledge.enroll("simplereenroll", &good).await, 403, "no LDevID yet");
    assert!(world.operator().await.devices().await.unwrap()[0].ldevid.is_none());

    // A name that nobody asked for.
    let request = request_for_another_name(&device);
    refused(&pledge.enroll("simpleenroll", &request).await, 400, "subjectAltName");
    certificate(&pledge.enroll("simpleenroll", &good).await);
    registrar.stop().await;
}

/// A request for the name of somebody else: the DER of a subjectAltName with `broker.plant.example`.
fn request_for_another_name(device: &super::world::Device) -> Vec<u8> {
    let name = b"broker.plant.example";
    let names = [&[0x30, name.len() as u8 + 2, 0x82, name.len() as u8][..], name].concat();
    let value = [&[4, names.len() as u8][..], &names].concat();
    let fields = [&[6, 3, 0x55, 0x1d, 0x11][..], &value].concat();
    let mut attributes = CsrAttributes::default();
    attributes.extensions.push([&[0x30, fields.len() as u8][..], &fields].concat());
    device.certification_request(&attributes)
}

fn subject_of(certificate: &CertificateDer<'_>) -> String {
    Subject::of(certificate).unwrap().to_string()
}

/// The subject of a certificate is for others to decide by. A manufacturer must not choose it, nor a device.
#[tokio::test]
async fn the_domain_decides_the_subject() {
    let world = World::new().await;
    let registrar = world.start().await;
    let admin = Subject::common_name("plant-admin").unwrap();
    let options = IdevidOptions { subject: admin.clone(), ..IdevidOptions::new(SERIAL, now().as_secs() - 3_600) };
    let device = Device::with(&world.maker, &options);
    assert_eq!(subject_of(&device.certificate()), "CN=plant-admin, SERIALNUMBER=WI-3005");
    let mut pledge = device.join(&registrar).await;
    let own = "O=maker, SERIALNUMBER=WI-3005";
    // With the subject of the IDevID, as constrained devices ask for it, and with another one.
    let mut asked = CsrAttributes::default();
    let request = device.certification_request(&asked);
    let ldevid = certificate(&pledge.enroll("simpleenroll", &request).await);
    assert_eq!(subject_of(&ldevid), own);
    asked.subject = Some(admin.der().to_vec());
    let request = device.certification_request(&asked);
    assert_eq!(subject_of(&certificate(&pledge.enroll("simpleenroll", &request).await)), own);
    // Nor when it is renewed.
    let mut member = device.connect_with(&registrar, &ldevid).await;
    let renewed = certificate(&member.enroll("simplereenroll", &device.certification_request(&asked)).await);
    assert_eq!(subject_of(&renewed), own);
    registrar.stop().await;
    // Only an EST server can be told to take it.
    world.change("ca = \"ca\"", "subject = [\"{idevid}\"]\nca = \"ca\"");
    let error = Service::open(&world.config(), Clock::new()).await.err().unwrap();
    assert!(error.to_string().contains("takes no subject from an IDevID"), "{error}");
}

#[tokio::test]
async fn re_enrolment_is_for_members_and_their_own_names() {
    let world = World::new().await;
    let registrar = world.start().await;
    let (device, other) = (world.device(SERIAL), world.device("WI-3006"));
    let ldevid = device.enrol(&registrar).await;
    let mut member = device.connect_with(&registrar, &ldevid).await;
    let foreign = other.certification_request(&CsrAttributes::default());
    assert_eq!(subject_of(&certificate(&member.enroll("simplereenroll", &foreign).await)), subject_of(&ldevid));
    let request = device.certification_request(&CsrAttributes::default());
    refused(&member.enroll("simpleenroll", &request).await, 403, "simplereenroll");

    // A member of the domain whose certificate this registrar has not issued.
    let domain = Authority::load(&world.folder.path().join("registrar/ca")).unwrap();
    let leaf = domain.issue(&terse_pki::LeafOptions::new("broker.plant.example", super::world::validity())).unwrap();
    let mut broker = super::world::Pledge::connect(&registrar, Some(super::world::tls(&leaf))).await;
    refused(&broker.enroll("simplereenroll", &request).await, 401, "");

    // A revoked one, at once.
    domain
        .revoke(&world.folder.path().join("registrar/ca"), core::slice::from_ref(&ldevid), super::world::validity())
        .unwrap();
    refused(&member.enroll("simplereenroll", &request).await, 403, "revoked");
    refused(&member.get("/.well-known/est/cacerts").await, 403, "revoked");
    // A damaged list leaves the last one in force.
    std::fs::write(world.folder.path().join("registrar/ca/crl.pem"), "damaged").unwrap();
    refused(&member.enroll("simplereenroll", &request).await, 403, "revoked");
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_whose_manufacturer_is_gone_does_not_enrol() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    device.join(&registrar).await;
    registrar.stop().await;
    world.change("name = \"maker\"", "name = \"another\"");
    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    let request = device.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &request).await, 403, "manufacturer");
    registrar.stop().await;
}

#[tokio::test]
async fn the_audit_log_decides() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let nonce = Some(Nonce::of_random(&[9; 16]));
    let (key, date) = ([1; 32], now());
    let other = LogEntry { date, domain_id: vec![1; 20], key, nonce, assertion: Assertion::Logged };
    world.masa.log(SERIAL, other);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    pledge.voucher_status(true).await;
    refused(&pledge.until_decided("/.well-known/est/cacerts").await, 403, "earlier owners");

    let operator = world.operator().await;
    let pending = operator.pending().await.unwrap();
    assert_eq!(pending.len(), 1);
    let terse_onboard::registrar::PendingReason::AuditLog(reason) = &pending[0].reason else { panic!("{pending:?}") };
    assert_eq!(reason, "another domain has had the device");
    assert_eq!(operator.accept(SERIAL, None).await.unwrap(), "maker");
    let cacerts = pledge.get("/.well-known/est/cacerts").await;
    assert_eq!(cacerts.status, 200, "{}", text(&cacerts));
    assert!(operator.pending().await.unwrap().is_empty());
    registrar.stop().await;
}

#[tokio::test]
async fn an_audit_log_that_does_not_come_keeps_est_closed() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    let database = world.database().await;
    for audits in [
        Script::Status(503, "not now"),
        Script::Status(401, "who are you?"),
        Script::Answer("text/html", b"<html>".to_vec()),
        Script::Answer("application/json", b"{".to_vec()),
        Script::Answer("application/json", vec![b' '; 300_000]),
        Script::Redirect("https://elsewhere.example/log/WI-3005".into()),
    ] {
        world.masa.script_audits(audits.clone());
        let before = world.masa.audit_requests();
        pledge.voucher_status(true).await;
        // Each request of the pledge asks again after a while, unless it is being asked.
        let deadline = Deadline::new();
        while world.masa.audit_requests() < before + 2 {
            deadline.check((&audits, world.masa.audit_requests() - before));
            sqlx::query("UPDATE joinings SET audit_tried = 0").execute(&database).await.unwrap();
            assert_eq!(pledge.get("/.well-known/est/cacerts").await.status, 202, "{audits:?}");
        }
    }
    let operator = world.operator().await;
    let why = "the MASA says that the audit log is on another server";
    let deadline = Deadline::new();
    loop {
        let report = operator.devices().await.unwrap().remove(0);
        assert_eq!(report.audit, "requested");
        if report.audit_reason.as_deref() == Some(why) {
            break;
        }
        deadline.check(&report);
        sqlx::query("UPDATE joinings SET audit_tried = 0").execute(&database).await.unwrap();
        pledge.get("/.well-known/est/cacerts").await; // the answers to earlier requests come first
    }
    // The log is at another place of the same server.
    world.masa.script_audits(Script::Redirect("/log/WI-3005".into()));
    assert_eq!(pledge.until_decided("/.well-known/est/cacerts").await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn a_log_without_this_domain_is_refused() {
    let world = World::new().await;
    let registrar = world.start().await;
    let empty = {
        let mut log = AuditLog::default();
        log.version = 1;
        log.to_json()
    };
    for (serial, audits) in [("A", Script::Answer("application/json", empty)), ("B", Script::Status(404, "never"))] {
        world.masa.script_audits(audits);
        let device = world.device(serial);
        let mut pledge = device.connect(&registrar).await;
        let request = device.voucher_request(&pledge);
        assert_eq!(pledge.request_voucher(&request).await.status, 200);
        pledge.voucher_status(true).await;
        refused(&pledge.until_decided("/.well-known/est/csrattrs").await, 403, "earlier owners");
    }
    registrar.stop().await;
}

/// Waits for the good audit log of the only device.
pub(crate) async fn until_good(operator: &Operator) {
    let deadline = Deadline::new();
    loop {
        let report = operator.devices().await.unwrap().remove(0);
        if report.audit == "good" {
            return;
        }
        deadline.wait(report).await;
    }
}

#[tokio::test]
async fn a_late_audit_log_is_fetched_after_a_restart_without_the_device() {
    let world = World::new().await;
    world.masa.script_audits(Script::Status(503, "not now"));
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    registrar.stop().await;
    world.masa.script_audits(Script::Honest);
    let registrar = world.start_at(super::world::ahead(120)).await;
    let operator = world.operator().await;
    until_good(&operator).await;
    assert_eq!(world.masa.audit_requests(), 1);
    registrar.stop().await;
}

#[tokio::test]
async fn a_domain_without_a_ca_gives_vouchers_alone() {
    let world = World::new().await;
    world.change("[enrolment]\nca = \"ca\"\n", "");
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    refused(&pledge.get("/.well-known/est/cacerts").await, 404, "has no CA");
    registrar.stop().await;
}
