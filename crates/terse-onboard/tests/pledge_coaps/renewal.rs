//! The renewal of an LDevID by EST-coaps.

use std::fs;
use std::sync::LazyLock;

use terse_brski::coap::{Code, Method, Resource, Response, content_format, multipart};
use terse_net::NetError;
use terse_net::pki_types::CertificateDer;
use terse_onboard::client::ClientError;
use terse_onboard::pledge::{CredentialDirectory, DtlsVersion, NotRenewed, renew_over_coaps};
use terse_pki::{Authority, CertificationRequest, KeyAlgorithm, LdevidPolicy, Subject};
use terse_tls::{CertificateError, Credential, Error};

use super::pki::{PKI, authority, validity};
use super::registrar::{Registrar, Reply, Script, Seen, success};
use super::{Outcome, device, join, once};

/// A device with an LDevID of the domain.
async fn member() -> Outcome {
    let registrar = Registrar::start(Script::default()).await;
    let outcome = join(&device(), registrar.place(), &once()).await;
    assert!(outcome.result.is_ok());
    outcome
}

async fn renew(credentials: &CredentialDirectory, registrar: &Registrar) -> Result<Credential, NotRenewed> {
    renew_over_coaps(credentials, &registrar.place(), KeyAlgorithm::P256, &once().coaps).await
}

fn certificates_of(authority: &Authority) -> Response {
    let mut certificates: Vec<_> = authority.certificates().cloned().collect();
    certificates.reverse();
    let parts: Vec<multipart::Part<'_>> =
        certificates.iter().map(|certificate| (content_format::PKIX_CERT, certificate.as_ref())).collect();
    success(Method::Get, content_format::MULTIPART_CORE, &multipart::encode(&parts))
}

fn issued_by(authority: &Authority, seen: &Seen) -> CertificateDer<'static> {
    let request = CertificationRequest::from_der(&seen.payload).unwrap();
    let policy = LdevidPolicy::new(Subject::of(&seen.client).unwrap(), validity());
    authority.issue_ldevid(&request, &policy).unwrap().swap_remove(0)
}

/// Returns a registrar that has moved to another CA: this one issues, and this one is named.
fn moved(issuing: &'static Authority, named: &'static Authority) -> Script {
    Script::answering(move |seen| {
        let certificate = |seen| success(Method::Post, content_format::PKIX_CERT, &issued_by(issuing, seen));
        match seen.resource {
            Resource::CaCerts => Some(Reply::Response(certificates_of(named))),
            Resource::SimpleReenroll => Some(Reply::Response(certificate(seen))),
            _ => None,
        }
    })
}

#[tokio::test]
async fn an_ldevid_is_renewed_over_either_version_of_dtls() {
    let member = member().await;
    let (before, anchors) = member.credentials.read().unwrap();
    for version in [DtlsVersion::Dtls13, DtlsVersion::Dtls12] {
        let registrar = Registrar::start(Script::default()).await;
        let (own, _) = member.credentials.read().unwrap();
        let mut settings = once().coaps;
        settings.version = version;
        let place = registrar.place();
        let renewed = renew_over_coaps(&member.credentials, &place, KeyAlgorithm::P256, &settings).await.unwrap();
        let (stored, stored_anchors) = member.credentials.read().unwrap();
        assert_eq!((stored.chain(), stored_anchors), (renewed.chain(), anchors.clone()));
        assert_ne!(stored.key().public_key(), own.key().public_key());
        let subject = |credential: &Credential| Subject::of(&credential.chain()[0]).unwrap().to_string();
        assert_eq!(subject(&stored), subject(&before));
        assert_eq!(registrar.resources(), [Resource::SimpleReenroll, Resource::CaCerts]);
        assert!(registrar.seen().iter().all(|seen| seen.client == own.chain()[0]));
    }
}

#[tokio::test]
async fn new_anchors_come_with_an_ldevid_that_is_valid_under_them() {
    let member = member().await;
    let registrar = Registrar::start(moved(&SUCCESSOR, &SUCCESSOR)).await;
    let renewed = renew(&member.credentials, &registrar).await.unwrap();
    let (stored, anchors) = member.credentials.read().unwrap();
    assert_eq!(anchors, [SUCCESSOR.root().clone()]);
    assert_eq!(stored.chain(), renewed.chain());
    assert_eq!(registrar.resources(), [Resource::SimpleReenroll, Resource::CaCerts]);
}

#[tokio::test]
async fn a_registrar_without_ca_certificates_changes_no_anchors() {
    let member = member().await;
    let missing = Reply::Response(Response::new(Code::NOT_FOUND));
    let registrar = Registrar::start(Script::answering_at(Resource::CaCerts, 1, missing)).await;
    renew(&member.credentials, &registrar).await.unwrap();
    assert_eq!(member.credentials.read().unwrap().1, [PKI.domain.root().clone()]);
}

/// Returns the files of a credential.
fn files(credentials: &CredentialDirectory) -> [Vec<u8>; 2] {
    [credentials.ldevid(), credentials.anchors()].map(|path| fs::read(path).unwrap())
}

/// The registrar is told that the certificate cannot be used, and nothing changes.
#[tokio::test]
async fn an_ldevid_that_is_not_valid_under_the_anchors_changes_nothing() {
    let member = member().await;
    let before = files(&member.credentials);
    for (issuing, named) in [(&PKI.domain, &*SUCCESSOR), (&*SUCCESSOR, &PKI.domain)] {
        let registrar = Registrar::start(moved(issuing, named)).await;
        let error = renew(&member.credentials, &registrar).await.unwrap_err();
        assert!(matches!(error, NotRenewed::Chain(_)), "{error}");
        assert_eq!(files(&member.credentials), before);
        let statuses: Vec<_> = registrar.statuses().iter().map(|status| status.status).collect();
        assert_eq!(statuses, [false]);
    }
}

#[tokio::test]
async fn a_certificate_for_another_key_changes_nothing() {
    let member = member().await;
    let before = files(&member.credentials);
    let other = success(Method::Post, content_format::PKIX_CERT, &PKI.idevid.chain()[0]);
    let garbage = success(Method::Post, content_format::PKIX_CERT, b"%%%");
    for response in [other, garbage, Response::new(Code::CHANGED)] {
        let script = Script::answering_at(Resource::SimpleReenroll, 1, Reply::Response(response));
        let registrar = Registrar::start(script).await;
        let error = renew(&member.credentials, &registrar).await.unwrap_err();
        assert!(matches!(error, NotRenewed::Answer(_)), "{error}");
        assert_eq!(files(&member.credentials), before);
        assert_eq!(registrar.statuses().len(), 1);
    }
}

#[tokio::test]
async fn a_registrar_that_refuses_or_waits_says_so() {
    let member = member().await;
    let before = files(&member.credentials);
    let mut later = Response::new(Code::SERVICE_UNAVAILABLE);
    later.max_age = Some(7);
    for (response, expected) in
        [(Response::error(Code::FORBIDDEN, "revoked"), "4.03 Forbidden: revoked"), (later, "try again in 7 s")]
    {
        let script = Script::answering_at(Resource::SimpleReenroll, 1, Reply::Response(response));
        let registrar = Registrar::start(script).await;
        let error = renew(&member.credentials, &registrar).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(files(&member.credentials), before);
        assert!(registrar.statuses().is_empty());
    }
}

/// A registrar that the anchors do not vouch for learns nothing but the LDevID, and gives nothing.
#[tokio::test]
async fn a_registrar_of_another_domain_is_not_asked() {
    let member = member().await;
    let before = files(&member.credentials);
    let registrar = Registrar::start(Script { registrar: PKI.stranger_registrar.clone(), ..Script::default() }).await;
    let error = renew(&member.credentials, &registrar).await.unwrap_err();
    let NotRenewed::Connection(ClientError::Net(NetError::Tls(Error::Certificate(why)))) = error else {
        panic!("{error:?}")
    };
    assert_eq!(why, CertificateError::UnknownIssuer);
    assert!(registrar.seen().is_empty());
    assert_eq!(files(&member.credentials), before);
}

/// The CA that follows that of the domain.
static SUCCESSOR: LazyLock<Authority> = LazyLock::new(|| authority(("Plant 2", "p256x3")));
