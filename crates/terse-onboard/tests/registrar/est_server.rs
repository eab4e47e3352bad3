//! Certification requests are passed on to an EST server (RFC 7030), with which all goes well.

use terse_brski::est::{CsrAttributes, decode_body, decode_certs_only};
use terse_onboard::discovery::{Fixed, Place};
use terse_onboard::pledge::{CredentialDirectory, Device as PledgeDevice, Settings, onboard, renew};
use terse_pki::{IdevidOptions, KeyAlgorithm, Subject};
use terse_tls::{Expect, Trust};
use tokio::task::JoinSet;

use super::scripted_est::{EstScript, ScriptedEst, openssl};
use super::world::{Device, PROVIDER, Running, SERIAL, World, ahead, certificate, now, refused, text};
use crate::deadline::Deadline;

/// A world whose registrar passes requests on, with these further keys of `est_server`.
pub(crate) async fn with_est(further: &str) -> (World, ScriptedEst) {
    let (world, est) = (World::new().await, ScriptedEst::start("127.0.0.1").await);
    est.configure(&world, further);
    (world, est)
}

/// How many certificates the registrar has stored.
pub(crate) async fn stored(world: &World) -> i64 {
    let database = world.database().await;
    sqlx::query_scalar("SELECT COUNT(*) FROM certificates").fetch_one(&database).await.unwrap()
}

#[tokio::test]
async fn a_device_enrols_reports_and_enrols_again_with_the_ca_behind_an_est_server() {
    let (world, est) = with_est("").await;
    world.change("[limits]", "names = [\"{serial}.devices.plant.example\"]\n[limits]");
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    let cacerts = pledge.get("/.well-known/est/cacerts").await;
    let cacerts = decode_certs_only(&decode_body(&cacerts.body, "cacerts").unwrap()).unwrap();
    assert_eq!(cacerts, est.certificates());
    let csrattrs = pledge.get("/.well-known/est/csrattrs").await;
    let attributes = CsrAttributes::from_der(&decode_body(&csrattrs.body, "csrattrs").unwrap()).unwrap();
    let request = device.certification_request(&attributes);
    let ldevid = certificate(&pledge.enroll("simpleenroll", &request).await);
    let trust = Trust::new(&cacerts).unwrap();
    trust.check(&PROVIDER, std::slice::from_ref(&ldevid), Expect::Client, Some(now())).unwrap();
    let name = b"wi-3005.devices.plant.example";
    assert!(ldevid.windows(name.len()).any(|window| window == name));
    // The same request has the same certificate, also after a restart, and the EST server is left alone.
    assert_eq!(certificate(&pledge.enroll("simpleenroll", &request).await), ldevid);
    registrar.stop().await;
    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    assert_eq!(certificate(&pledge.enroll("simpleenroll", &request).await), ldevid);

    let mut member = device.connect_with(&registrar, &ldevid).await;
    assert_eq!(member.enroll_status(true).await.status, 200);
    assert_eq!(world.operator().await.devices().await.unwrap()[0].enroll_status, Some(true));
    let next = certificate(&member.enroll("simplereenroll", &request).await);
    assert_ne!(next, ldevid);
    let mut member = device.connect_with(&registrar, &next).await;
    assert_eq!(member.enroll_status(true).await.status, 200);
    assert_eq!(member.get("/.well-known/est/cacerts").await.status, 200);

    // RFC 7030, 4.2.2: a simplereenroll would be about the certificate of the registrar.
    let requests = est.requests();
    assert_eq!((requests.len(), est.issued()), (2, 2));
    assert!(requests.iter().all(|one| one.path == "/.well-known/est/simpleenroll" && one.is_ra), "{requests:?}");
    assert!(requests.iter().all(|one| decode_body(&one.body, "request").unwrap() == request));
    registrar.stop().await;
}

/// An EST server certifies what the request says, so that by default a request with the subject of the IDevID does not reach it: the
/// manufacturer has chosen that.
#[tokio::test]
async fn the_domain_decides_the_subject_behind_an_est_server_as_well() {
    let (world, est) = with_est("").await;
    world.change("subject = [\"{idevid}\"]\n", "");
    let registrar = world.start().await;
    let admin = Subject::common_name("plant-admin").unwrap();
    let options = IdevidOptions { subject: admin, ..IdevidOptions::new(SERIAL, now().as_secs() - 3_600) };
    let device = Device::with(&world.maker, &options);
    let mut pledge = device.join(&registrar).await;
    let request = device.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &request).await, 400, "subject");
    assert!(est.requests().is_empty());
    let csrattrs = pledge.get("/.well-known/est/csrattrs").await;
    let attributes = CsrAttributes::from_der(&decode_body(&csrattrs.body, "csrattrs").unwrap()).unwrap();
    let request = device.certification_request(&attributes);
    let ldevid = certificate(&pledge.enroll("simpleenroll", &request).await);
    assert_eq!(Subject::of(&ldevid).unwrap().to_string(), "O=maker, SERIALNUMBER=WI-3005");
    assert_eq!(est.issued(), 1);
    registrar.stop().await;
}

#[tokio::test]
async fn a_pledge_comes_from_the_factory_gets_a_credential_of_the_external_ca_and_renews_it() {
    let (world, est) = with_est("").await;
    // The EST server needs its time, and the registrar does not keep the pledge.
    est.script(EstScript::Later(202, "1"));
    let registrar = world.start().await;
    let idevid = world.maker.issue_idevid(&IdevidOptions::new(SERIAL, now().as_secs() - 3_600)).unwrap();
    let file = |name: &str| world.folder.path().join(name);
    std::fs::write(file("idevid.pem"), idevid.chain_pem()).unwrap();
    std::fs::write(file("idevid.key"), idevid.key_pem().as_bytes()).unwrap();
    std::fs::write(file("anchors.pem"), terse_pki::to_pem("CERTIFICATE", &world.masa.signer()[0])).unwrap();
    let device = PledgeDevice::read(&file("idevid.pem"), &file("idevid.key"), &file("anchors.pem")).unwrap();
    let place = Place::new("127.0.0.1", registrar.address.port());
    let credentials = CredentialDirectory::new(file("credential"));
    let settings = Settings { max_failures: core::num::NonZeroU32::new(1), ..Settings::default() };
    let places = Fixed::new([place.clone()]);
    let onboarding = onboard(&device, places, &credentials, &settings, |_| {});
    let decided = async {
        est.until_requested().await;
        est.script(EstScript::WholeChain);
    };
    let (onboarded, ()) = tokio::join!(onboarding, decided);
    let onboarded = onboarded.unwrap_or_else(|why| panic!("{why}"));
    assert!(onboarded.is_reported, "over a connection with the LDevID");
    assert_eq!(onboarded.anchors, [est.ca().root().clone()]);
    let subject = Subject::of(&onboarded.credential.as_ref().unwrap().chain()[0]).unwrap();
    assert!(subject.to_string().contains(SERIAL), "{subject}");

    let renewed = renew(&credentials, &place, KeyAlgorithm::P256).await.unwrap_or_else(|why| panic!("{why}"));
    assert_ne!(renewed.chain()[0], onboarded.credential.as_ref().unwrap().chain()[0]);
    assert_eq!(Subject::of(&renewed.chain()[0]).unwrap(), subject);
    assert_eq!(est.issued(), 2);
    registrar.stop().await;
}

#[tokio::test]
async fn a_ca_of_openssl_is_one_as_well() {
    let (world, est) = with_est("").await;
    world.change("[limits]", "names = [\"{serial}.plant.example\", \"{serial}.devices.example\"]\n[limits]");
    let folder = world.folder.path();
    let ca = "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /O=Plant/CN=Root";
    if !openssl(folder, ca) {
        return;
    }
    let root = terse_net::files::read_certificates(folder.join("ca.pem")).unwrap();
    est.script_ca_certificates(EstScript::Certificates(root));
    est.script(EstScript::OpenSsl(folder.into()));
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    let csrattrs = pledge.get("/.well-known/est/csrattrs").await;
    let attributes = CsrAttributes::from_der(&decode_body(&csrattrs.body, "csrattrs").unwrap()).unwrap();
    let request = device.certification_request(&attributes);
    let ldevid = certificate(&pledge.enroll("simpleenroll", &request).await);
    let mut member = device.connect_with(&registrar, &ldevid).await;
    assert_ne!(certificate(&member.enroll("simplereenroll", &request).await), ldevid);
    registrar.stop().await;
}

#[tokio::test]
async fn only_requests_that_were_checked_are_passed_on() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let request = device.certification_request(&CsrAttributes::default());
    let mut pledge = device.connect(&registrar).await;
    refused(&pledge.enroll("simpleenroll", &request).await, 401, "");
    let mut pledge = device.join(&registrar).await;
    let mut attributes = CsrAttributes::default();
    attributes.subject = Some(Subject::common_name("admin").unwrap().der().to_vec());
    refused(&pledge.enroll("simpleenroll", &device.certification_request(&attributes)).await, 400, "subject");
    let mut damaged = request.clone();
    *damaged.last_mut().unwrap() ^= 1;
    refused(&pledge.enroll("simpleenroll", &damaged).await, 400, "");
    refused(&pledge.enroll("simplereenroll", &request).await, 403, "no LDevID yet");
    world.operator().await.reject(SERIAL, None).await.unwrap();
    refused(&pledge.enroll("simpleenroll", &request).await, 406, "rejected");
    assert!(est.requests().is_empty());
    registrar.stop().await;
}

#[tokio::test]
async fn requests_at_once_are_one_request_and_have_one_certificate() {
    let (world, est) = with_est("").await;
    let registrars = [world.start().await, world.start().await];
    let device = world.device(SERIAL);
    device.join(&registrars[0]).await;
    est.script(EstScript::Slow);
    let request = device.certification_request(&CsrAttributes::default());
    let mut tasks = JoinSet::new();
    for registrar in registrars.iter().cycle().take(8) {
        let (mut pledge, request) = (device.connect(registrar).await, request.clone());
        tasks.spawn(async move {
            let deadline = Deadline::new();
            loop {
                let answer = pledge.enroll("simpleenroll", &request).await;
                if answer.status != 202 {
                    return certificate(&answer);
                }
                assert_eq!(answer.retry_after, Some(5));
                deadline.wait(text(&answer)).await;
            }
        });
    }
    est.until_requested().await;
    est.release(8);
    let certificates = tasks.join_all().await;
    assert!(certificates.iter().all(|one| *one == certificates[0]));
    assert_eq!((est.requests().len(), est.issued(), stored(&world).await), (1, 1, 1));
    registrars.map(Running::stop).into_iter().collect::<JoinSet<_>>().join_all().await;
}

#[tokio::test]
async fn a_restart_between_202_and_the_answer_loses_nothing() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    est.script(EstScript::Later(202, "600"));
    let request = device.certification_request(&CsrAttributes::default());
    let answer = pledge.enroll("simpleenroll", &request).await;
    assert_eq!((answer.status, answer.retry_after), (202, Some(600)));
    assert!(text(&answer).contains("has not decided yet"), "{}", text(&answer));
    registrar.stop().await;
    est.script(EstScript::Honest);
    // RFC 7030, 4.2.3: not before that time.
    let registrar = world.start_at(ahead(300)).await;
    let mut pledge = device.connect(&registrar).await;
    let answer = pledge.enroll("simpleenroll", &request).await;
    assert_eq!(answer.status, 202);
    assert!(answer.retry_after.is_some_and(|seconds| (200..=300).contains(&seconds)), "{answer:?}");
    assert_eq!(est.requests().len(), 1);
    registrar.stop().await;
    let registrar = world.start_at(ahead(610)).await;
    let mut pledge = device.connect(&registrar).await;
    certificate(&pledge.enroll("simpleenroll", &request).await);
    let requests = est.requests();
    assert_eq!((requests.len(), est.issued()), (2, 1));
    assert_eq!(requests[0].body, requests[1].body);
    registrar.stop().await;
}

#[tokio::test]
async fn an_end_while_a_request_is_under_way_loses_nothing() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    device.join(&registrar).await;
    registrar.stop().await;
    world.change("hold_milliseconds = 30000", "hold_milliseconds = 1");
    est.script(EstScript::Slow);
    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    let request = device.certification_request(&CsrAttributes::default());
    assert_eq!(pledge.enroll("simpleenroll", &request).await.status, 202);
    est.until_requested().await;
    registrar.stop().await;
    est.script(EstScript::Honest);
    world.change("hold_milliseconds = 1", "hold_milliseconds = 30000");
    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    assert_eq!(pledge.enroll("simpleenroll", &request).await.status, 202, "it may still be under way");
    registrar.stop().await;
    let registrar = world.start_at(ahead(126)).await;
    let mut pledge = device.connect(&registrar).await;
    certificate(&pledge.enroll("simpleenroll", &request).await);
    assert_eq!(est.requests().len(), 2);
    registrar.stop().await;
}

#[tokio::test]
async fn a_slow_est_server_holds_up_nobody() {
    let (world, est) = with_est("").await;
    world.change("hold_milliseconds = 30000", "hold_milliseconds = 1\nest_connections = 1");
    let registrar = world.start().await;
    let (device, other) = (world.device(SERIAL), world.device("WI-3006"));
    let (mut pledge, mut other_pledge) = (join(&device, &registrar).await, join(&other, &registrar).await);
    est.script(EstScript::Slow);
    let request = device.certification_request(&CsrAttributes::default());
    let other_request = other.certification_request(&CsrAttributes::default());
    let answer = pledge.enroll("simpleenroll", &request).await;
    assert_eq!((answer.status, answer.retry_after), (202, Some(5)));
    // The one connection is in use; everything else goes on.
    let answer = other_pledge.enroll("simpleenroll", &other_request).await;
    assert_eq!((answer.status, answer.retry_after), (202, Some(5)));
    for path in ["/.well-known/est/cacerts", "/health"] {
        assert_eq!(other_pledge.get(path).await.status, 200, "{path}");
    }
    est.release(2);
    for (pledge, request) in [(&mut pledge, &request), (&mut other_pledge, &other_request)] {
        pledge.until_enrolled(request).await;
    }
    assert_eq!((est.requests().len(), stored(&world).await), (2, 2));
    registrar.stop().await;
}

/// Joins at a registrar that keeps nobody waiting.
async fn join(device: &Device, registrar: &Running) -> super::world::Pledge {
    let mut pledge = device.connect(registrar).await;
    let request = device.voucher_request(&pledge);
    pledge.until_voucher(&request).await;
    assert_eq!(pledge.voucher_status(true).await.status, 200);
    assert_eq!(pledge.until_decided("/.well-known/est/cacerts").await.status, 200);
    pledge
}
