//! Devices whose LDevIDs are revoked, by the domain's own CA or by that behind an EST server.

use terse_brski::est::CsrAttributes;
use terse_pki::Authority;

use super::enrolment::until_good;
use super::est_server::with_est;
use super::scripted_est::{EstScript, ScriptedEst, write_crl, write_crl_of};
use super::world::{Device, Running, SERIAL, World, ahead, authority, certificate, now, refused};

#[tokio::test]
async fn a_device_whose_ldevid_is_revoked_does_not_come_back_with_its_idevid() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let ldevid = device.enrol(&registrar).await;
    let ca = world.folder.path().join("registrar/ca");
    Authority::load(&ca).unwrap().revoke(&ca, &[ldevid], super::world::validity()).unwrap();
    let mut pledge = device.connect(&registrar).await;
    let request = device.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &request).await, 403, "revoked");
    // Neither does a new voucher help, nor time.
    let voucher = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&voucher).await.status, 200);
    assert_eq!(pledge.voucher_status(true).await.status, 200);
    refused(&pledge.enroll("simpleenroll", &request).await, 403, "revoked");
    until_good(&world.operator().await).await;
    registrar.stop().await;
    let registrar = world.start_at(ahead(400 * 86_400)).await;
    let mut pledge = device.connect(&registrar).await;
    refused(&pledge.until_decided("/.well-known/est/cacerts").await, 403, "revoked");

    // An operator may change that.
    world.operator_at(ahead(60)).await.accept(SERIAL, None).await.unwrap();
    certificate(&pledge.enroll("simpleenroll", &request).await);
    registrar.stop().await;
}

#[tokio::test]
async fn each_ldevid_of_one_second_keeps_the_device_out_once_it_is_revoked() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    let request = || device.certification_request(&CsrAttributes::default());
    let first = certificate(&pledge.enroll("simpleenroll", &request()).await);
    let second = certificate(&pledge.enroll("simpleenroll", &request()).await);
    let database = world.database().await;
    let same = "UPDATE certificates SET issued = (SELECT MIN(issued) FROM certificates)";
    sqlx::query(same).execute(&database).await.unwrap();
    let ca = world.folder.path().join("registrar/ca");
    for revoked in [first, second] {
        let _ = std::fs::remove_file(ca.join("crl.pem")); // there is none at first
        Authority::load(&ca).unwrap().revoke(&ca, &[revoked], super::world::validity()).unwrap();
        refused(&pledge.enroll("simpleenroll", &request()).await, 403, "revoked");
    }
    registrar.stop().await;
}

#[tokio::test]
async fn a_revoked_certificate_of_the_external_ca_is_not_renewed() {
    let (world, est) = with_est(", crl = \"est-crl.pem\"").await;
    let crl = world.folder.path().join("registrar/est-crl.pem");
    let other = authority_of(&est, "WI-3006");
    write_crl(&est.ca(), &[other], &crl);
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let ldevid = device.enrol(&registrar).await;
    let mut member = device.connect_with(&registrar, &ldevid).await;
    let request = device.certification_request(&CsrAttributes::default());
    certificate(&member.enroll("simplereenroll", &request).await);
    write_crl(&est.ca(), std::slice::from_ref(&ldevid), &crl);
    refused(&member.enroll("simplereenroll", &request).await, 403, "revoked");
    std::fs::write(&crl, "damaged").unwrap();
    refused(&member.enroll("simplereenroll", &request).await, 403, "revoked");
    registrar.stop().await;
}

#[tokio::test]
async fn crls_that_are_late_stop_renewals_alone() {
    let (world, est) = with_est(", crl = \"est-crl.pem\"").await;
    let crl = world.folder.path().join("registrar/est-crl.pem");
    let (begin, end) = (now().as_secs() - 86_400, now().as_secs() - 3_600);
    let past = terse_pki::Validity { not_before: begin, not_after: end };
    write_crl_of(past, &est.ca(), &[authority_of(&est, "WI-3006")], &crl);
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let ldevid = device.enrol(&registrar).await;
    let mut member = device.connect_with(&registrar, &ldevid).await;
    let request = device.certification_request(&CsrAttributes::default());
    refused(&member.enroll("simplereenroll", &request).await, 403, "re-enrolment needs an LDevID");
    write_crl(&est.ca(), &[authority_of(&est, "WI-3006")], &crl);
    certificate(&member.enroll("simplereenroll", &request).await);
    registrar.stop().await;
}

/// A device with its IDevID is refused, although its voucher and its audit log are good.
async fn stays_out(device: &Device, registrar: &Running) {
    let mut pledge = device.connect(registrar).await;
    let request = device.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &request).await, 403, "an LDevID of the device is revoked");
}

#[tokio::test]
async fn a_revoked_device_stays_out_when_the_clock_of_the_ca_was_ahead() {
    let (world, est) = with_est(", crl = \"est-crl.pem\"").await;
    let crl = world.folder.path().join("registrar/est-crl.pem");
    write_crl(&est.ca(), &[authority_of(&est, "WI-3006")], &crl);
    est.script(EstScript::Begins(40));
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let ldevid = device.enrol(&registrar).await;
    write_crl(&est.ca(), &[ldevid], &crl);
    stays_out(&device, &registrar).await;
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_that_was_revoked_under_an_earlier_ca_stays_out() {
    let (world, est) = with_est(", crl = \"est-crl.pem\"").await;
    let crl = world.folder.path().join("registrar/est-crl.pem");
    write_crl(&est.ca(), &[authority_of(&est, "WI-3006")], &crl);
    let registrar = world.start().await;
    let (device, other) = (world.device(SERIAL), world.device("WI-3006"));
    let ldevid = device.enrol(&registrar).await;
    write_crl(&est.ca(), &[ldevid], &crl);
    est.replace_ca(authority("Plant 2"));
    other.enrol(&registrar).await;
    stays_out(&device, &registrar).await;
    registrar.stop().await;
    let registrar = world.start().await;
    stays_out(&device, &registrar).await;
    registrar.stop().await;
}

/// A certificate of the CA that is of no importance.
fn authority_of(est: &ScriptedEst, name: &str) -> pki_types::CertificateDer<'static> {
    let options = terse_pki::LeafOptions::new(name, super::world::validity());
    est.ca().issue(&options).unwrap().leaf().clone()
}
