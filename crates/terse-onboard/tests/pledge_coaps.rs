//! A pledge of constrained BRSKI on real sockets, against a registrar that answers over CoAPS as a test wants.

use core::fmt::Debug;
use core::num::NonZeroU32;

use terse_brski::coap::{Code, Resource, Response, content_format};
use terse_brski::pledge::{AttemptFailed, Coaps, Proximity, VoucherRefused};
use terse_brski::voucher::Assertion;
use terse_onboard::discovery::{Fixed, Place};
use terse_onboard::pledge::{
    CoapsSettings, CredentialDirectory, Device, DtlsVersion, GaveUp, Onboarded, Progress, Settings, onboard,
};
use terse_tls::{CertificateError, Datagrams};

mod faults;
mod identity_keys;
#[path = "pledge/pki.rs"]
mod pki;
mod raw;
mod registrar;
mod relay;
mod renewal;
mod signer;

use crate::deadline::{Deadline, soon};
use pki::PKI;
use registrar::{Registrar, Reply, Script, success};
use relay::{Relay, Way};

/// Returns timers that are quick enough for tests, and patient enough for a busy machine.
pub(crate) fn datagrams() -> Datagrams {
    let timers = Datagrams::default().initial_timeout(200).min_timeout(200).max_timeout(800).max_retransmissions(60);
    timers.max_datagram(976)
}

/// Settings of a pledge that tries once.
pub(crate) fn once() -> Settings {
    let mut coaps = CoapsSettings::default();
    coaps.datagrams = datagrams().connection_id(Some(0)).short_tags(true);
    (coaps.transmission.ack_timeout_ms, coaps.transmission.max_retransmit) = (200, 8);
    Settings { max_failures: NonZeroU32::new(1), coaps, ..Settings::default() }
}

/// Settings of a pledge that gives up soon, but not as long as a busy machine may need.
fn impatient() -> Settings {
    let mut settings = once();
    settings.coaps.datagrams = settings.coaps.datagrams.max_retransmissions(6);
    settings.coaps.transmission.max_retransmit = 4;
    settings
}

pub(crate) fn device() -> Device<Coaps> {
    PKI.device().with_form(Coaps::default()).unwrap()
}

/// What became of a pledge.
pub(crate) struct Outcome {
    pub(crate) result: Result<Onboarded, GaveUp>,
    pub(crate) progress: Vec<Progress>,
    pub(crate) credentials: CredentialDirectory,
    _folder: tempfile::TempDir,
}

pub(crate) async fn join(device: &Device<Coaps>, place: Place, settings: &Settings) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let credentials = CredentialDirectory::new(folder.path().join("credentials"));
    let mut progress = Vec::new();
    let joining = onboard(device, Fixed::new([place]), &credentials, settings, |event| progress.push(event));
    let result = soon(joining).await;
    Outcome { result, progress, credentials, _folder: folder }
}

impl Outcome {
    /// Returns why the only attempt has failed. Nothing is stored then.
    #[track_caller]
    pub(crate) fn failure(self) -> AttemptFailed {
        assert!(!self.credentials.has_credential());
        match self.result {
            Err(GaveUp::Failed(_, why)) => why,
            other => panic!("{other:?}, {:?}", self.progress),
        }
    }
}

const WHOLE: [Resource; 5] = [
    Resource::RequestVoucher,
    Resource::VoucherStatus,
    Resource::CaCerts,
    Resource::SimpleEnroll,
    Resource::EnrollStatus,
];

#[tokio::test]
async fn a_device_earns_its_credential_over_either_version_of_dtls() {
    for (version, name, suite) in [
        (DtlsVersion::Dtls13, "DTLS 1.3", "TLS_AES_128_GCM_SHA256"),
        (DtlsVersion::Dtls12, "DTLS 1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8"),
    ] {
        let registrar = Registrar::start(Script::default()).await;
        let relay = Relay::start(registrar.port(), Box::new(|_, _, datagram| vec![datagram])).await;
        let mut settings = once();
        settings.coaps.version = version;
        let outcome = join(&device(), relay.place(), &settings).await;
        let onboarded = outcome.result.unwrap();
        assert_eq!((onboarded.assertion, onboarded.is_reported), (Assertion::Proximity, true));
        let (stored, anchors) = outcome.credentials.read().unwrap();
        assert_eq!(stored.chain(), onboarded.credential.as_ref().unwrap().chain());
        assert_eq!(anchors, [PKI.domain.root().clone()]);
        assert_eq!(outcome.progress.last(), Some(&Progress::Enrolled { is_reported: true }));

        let seen = registrar.seen();
        assert_eq!(registrar.resources(), WHOLE);
        assert!(seen[..4].iter().all(|seen| seen.client == PKI.idevid.chain()[0]));
        assert_eq!(seen[4].client, stored.chain()[0]);
        assert!(seen[..4].iter().all(|other| other.connection == seen[0].connection), "one connection until then");
        assert!(seen.iter().all(|seen| seen.protocol == (name.to_owned(), suite.to_owned())), "{seen:?}");

        // Datagrams fit into packets of 1,024 bytes, and each byte is counted in its stage.
        let lengths = relay.lengths();
        assert!(lengths.iter().all(|(_, len)| *len <= 976));
        let stages: Vec<_> = onboarded.timings.stages().collect();
        let names: Vec<_> = stages.iter().map(|(stage, _)| stage.name()).collect();
        assert_eq!(names, STAGES);
        let carried = |way| {
            let lengths = relay.lengths().into_iter().filter(|(own, _)| *own == way);
            lengths.map(|(_, len)| len as u64).sum::<u64>()
        };
        // What the registrar says of the end of a connection is not read any more.
        let received = stages.iter().map(|(_, spent)| spent.received).sum::<u64>();
        assert!((carried(Way::ToPledge) - 100..=carried(Way::ToPledge)).contains(&received), "{received}");
        let sent = stages.iter().map(|(_, spent)| spent.sent).sum::<u64>();
        until(|| carried(Way::ToRegistrar), |carried| *carried >= sent).await;
        assert!(carried(Way::ToRegistrar) - sent < 100, "a close_notify comes after the end");
        assert!(stages[1].1.sent > 0 && stages[1].1.received > 0);
    }
}

/// Waits until something holds of a registrar or a relay, which is told if it never does.
pub(crate) async fn until<S: Debug>(look: impl Fn() -> S, holds: impl Fn(&S) -> bool) {
    let deadline = Deadline::new();
    loop {
        let seen = look();
        if holds(&seen) {
            return;
        }
        deadline.wait(seen).await;
    }
}

const STAGES: [&str; 10] = [
    "discover",
    "connect",
    "request_voucher",
    "voucher_status",
    "cacerts",
    "make_key",
    "enroll",
    "store",
    "connect_ldevid",
    "enrollstatus",
];

#[tokio::test]
async fn a_voucher_request_names_the_registrar_as_is_wanted() {
    for proximity in [Proximity::PublicKeySha256, Proximity::PublicKey, Proximity::Certificate] {
        let registrar = Registrar::start(Script::default()).await; // it checks the field
        let device = PKI.device().with_form(Coaps::default().with_proximity(proximity)).unwrap();
        let outcome = join(&device, registrar.place(), &once()).await;
        // The voucher pins a certificate alone, which counts for each kind.
        outcome.result.unwrap();
    }
}

#[tokio::test]
async fn a_registrar_without_uri_path_abbrev_is_asked_by_paths() {
    let registrar = Registrar::start(Script { knows_abbreviations: false, ..Script::default() }).await;
    join(&device(), registrar.place(), &once()).await.result.unwrap();
    assert_eq!(registrar.resources(), WHOLE);
    assert_eq!(registrar.refused(), 2, "once on each connection");
}

#[tokio::test]
async fn a_voucher_of_somebody_else_is_refused_and_the_registrar_is_told() {
    let registrar = Registrar::start(Script { masa: PKI.stranger_masa.clone(), ..Script::default() }).await;
    let why = join(&device(), registrar.place(), &once()).await.failure();
    assert!(matches!(why, AttemptFailed::Voucher(VoucherRefused::Signature(_))), "{why}");
    let statuses = registrar.statuses();
    assert_eq!(statuses.len(), 1);
    assert!(!statuses[0].status && statuses[0].reason.is_some());
}

#[tokio::test]
async fn a_registrar_of_another_domain_is_refused() {
    let registrar = Registrar::start(Script { registrar: PKI.stranger_registrar.clone(), ..Script::default() }).await;
    let why = join(&device(), registrar.place(), &once()).await.failure();
    assert_eq!(why, AttemptFailed::Voucher(VoucherRefused::Registrar(CertificateError::UnknownIssuer)));
}

/// 5.03 with Max-Age (RFC 9148, 5.7).
#[tokio::test]
async fn a_pledge_that_is_asked_to_wait_comes_back_with_the_same_bytes() {
    for resource in [Resource::RequestVoucher, Resource::SimpleEnroll] {
        let mut wait = Response::new(Code::SERVICE_UNAVAILABLE);
        wait.max_age = Some(1);
        let registrar = Registrar::start(Script::answering_at(resource, 2, Reply::Response(wait))).await;
        let outcome = join(&device(), registrar.place(), &once()).await;
        outcome.result.unwrap();
        let payloads = registrar.payloads(resource);
        assert_eq!(payloads.len(), 3);
        assert!(payloads.iter().all(|payload| *payload == payloads[0]));
        let seen = registrar.seen();
        assert!(seen[..6].iter().all(|other| other.connection == seen[0].connection), "over the same connection");
        assert!(outcome.progress.contains(&Progress::Waiting(registrar.place())));
    }
}

#[tokio::test]
async fn answers_that_are_wrong_end_the_attempt_with_their_reason() {
    let (method, format) = (terse_brski::coap::Method::Post, content_format::PKIX_CERT);
    let garbage = success(method, format, b"%%%");
    for (resource, response, expected) in [
        (Resource::RequestVoucher, Response::error(Code::FORBIDDEN, "no"), "403"),
        (Resource::RequestVoucher, Response::new(Code::CHANGED), "another media type"),
        (Resource::CaCerts, success(method, content_format::MULTIPART_CORE, b"%%%"), "CA certificates are malformed"),
        (Resource::SimpleEnroll, Response::error(Code::FORBIDDEN, "no"), "403"),
        (Resource::SimpleEnroll, garbage, "the response with the certificate is malformed"),
    ] {
        let registrar = Registrar::start(Script::answering_at(resource, 1, Reply::Response(response))).await;
        let why = join(&device(), registrar.place(), &once()).await.failure();
        assert!(why.to_string().contains(expected), "{resource:?}: {why}");
    }
}

/// A stranger cannot make a pledge read more than a voucher may have.
#[tokio::test]
async fn a_response_that_is_too_long_ends_the_attempt() {
    let huge = success(terse_brski::coap::Method::Post, content_format::VOUCHER_COSE, &[0; 20_000]);
    let registrar = Registrar::start(Script::answering_at(Resource::RequestVoucher, 1, Reply::Response(huge))).await;
    let why = join(&device(), registrar.place(), &once()).await.failure();
    assert_eq!(why, AttemptFailed::ConnectionLost);
    assert_eq!(registrar.resources(), [Resource::RequestVoucher]);
}
