//! Identity keys on real sockets: beside a certificate, and alone from a registrar with a raw public key.

use std::fs;

use terse_brski::coap::{Code, Method, Resource, Response, content_format};
use terse_brski::pledge::{AttemptFailed, Coaps, Credentials, EnrollmentFailed};
use terse_ibc::files::{AnyKey, KeyFile};
use terse_onboard::pledge::{CredentialDirectory, Device, DtlsVersion, Progress};

use super::pki::PKI;
use super::registrar::{IDENTITY, Registrar, Reply, Script, success};
use super::{impatient, join, once};

fn device(credentials: Credentials) -> Device<Coaps> {
    PKI.device().with_form(Coaps::default().with_credentials(credentials)).unwrap()
}

/// Returns the name of the identity key that is stored.
fn stored(credentials: &CredentialDirectory) -> String {
    let path = credentials.identity_key();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let file = KeyFile::<AnyKey>::from_pem(&fs::read_to_string(path).unwrap()).unwrap();
    file.key.as_key().identity().to_string()
}

#[tokio::test]
async fn a_device_earns_an_identity_key_beside_its_certificate() {
    let registrar = Registrar::start(Script::default()).await;
    let outcome = join(&device(Credentials::CertificateAndIdentityKey), registrar.place(), &once()).await;
    let onboarded = outcome.result.unwrap();
    assert_eq!(stored(&outcome.credentials), format!("device:{IDENTITY}"));
    assert_eq!(onboarded.identity.unwrap().to_string(), format!("device:{IDENTITY}"));
    let (credential, _) = outcome.credentials.read().unwrap();
    assert_eq!(credential.chain(), onboarded.credential.unwrap().chain());
    let seen = registrar.seen();
    let resources: Vec<_> = seen[4..].iter().map(|seen| seen.resource).collect();
    assert_eq!(resources, [Resource::IdentityKey, Resource::EnrollStatus]);
    assert!(seen[4..].iter().all(|seen| seen.client == credential.chain()[0]), "with the LDevID");
    let stages: Vec<_> = onboarded.timings.stages().map(|(stage, _)| stage.name()).collect();
    assert_eq!(stages[7..], ["store", "connect_ldevid", "identity_key", "store_identity_key", "enrollstatus"]);
}

#[tokio::test]
async fn a_device_without_certificates_earns_an_identity_key_over_either_version_of_dtls() {
    for version in [DtlsVersion::Dtls13, DtlsVersion::Dtls12] {
        let registrar = Registrar::start(Script { has_raw_public_key: true, ..Script::default() }).await;
        let mut settings = once();
        settings.coaps.version = version;
        let outcome = join(&device(Credentials::IdentityKey), registrar.place(), &settings).await;
        let onboarded = outcome.result.unwrap();
        assert!(onboarded.credential.is_none() && onboarded.anchors.is_empty());
        assert_eq!(stored(&outcome.credentials), format!("device:{IDENTITY}"));
        assert!(outcome.credentials.has_credential() && outcome.credentials.read().is_err());
        let seen = registrar.seen();
        let resources: Vec<_> = seen.iter().map(|seen| seen.resource).collect();
        let expected =
            [Resource::RequestVoucher, Resource::VoucherStatus, Resource::IdentityKey, Resource::EnrollStatus];
        assert_eq!(resources, expected);
        assert!(seen.iter().all(|other| other.connection == seen[0].connection), "one connection");
        assert!(registrar.statuses().iter().all(|status| status.status));
    }
}

#[tokio::test]
async fn a_device_without_certificates_does_not_connect_to_a_registrar_that_has_nothing_else() {
    let registrar = Registrar::start(Script::default()).await;
    let outcome = join(&device(Credentials::IdentityKey), registrar.place(), &impatient()).await;
    assert_eq!(outcome.failure(), AttemptFailed::ConnectionLost);
    assert!(registrar.seen().is_empty());
}

#[tokio::test]
async fn what_is_no_identity_key_is_not_stored() {
    let nonsense = success(Method::Post, content_format::IDENTITY_KEY, b"-----BEGIN TERSE IDENTITY KEY-----");
    let script = || Script::answering_at(Resource::IdentityKey, 1, Reply::Response(nonsense.clone()));
    let registrar = Registrar::start(script()).await;
    let outcome = join(&device(Credentials::CertificateAndIdentityKey), registrar.place(), &once()).await;
    assert!(outcome.result.unwrap().identity.is_none());
    assert!(outcome.credentials.read().is_ok() && !outcome.credentials.identity_key().exists());
    assert!(outcome.progress.iter().any(|progress| matches!(progress, Progress::NotStored(_))));
    let refused = Progress::NoIdentityKey(EnrollmentFailed::IdentityKeyNotStored);
    assert!(outcome.progress.contains(&refused), "{:?}", outcome.progress);

    let registrar = Registrar::start(Script { has_raw_public_key: true, ..script() }).await;
    let outcome = join(&device(Credentials::IdentityKey), registrar.place(), &once()).await;
    assert_eq!(outcome.failure(), AttemptFailed::Enrollment(EnrollmentFailed::IdentityKeyNotStored));
    assert!(!registrar.statuses().last().unwrap().status);
}

#[tokio::test]
async fn a_registrar_without_identity_keys_leaves_the_device_with_its_certificate() {
    let refusal = Reply::Response(Response::new(Code::NOT_FOUND));
    let registrar = Registrar::start(Script::answering_at(Resource::IdentityKey, 1, refusal)).await;
    let outcome = join(&device(Credentials::CertificateAndIdentityKey), registrar.place(), &once()).await;
    assert!(outcome.progress.contains(&Progress::NoIdentityKey(EnrollmentFailed::Refused(404))));
    assert!(outcome.result.unwrap().is_reported && outcome.credentials.read().is_ok());
}
