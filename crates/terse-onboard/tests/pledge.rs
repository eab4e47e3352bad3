//! A pledge on real sockets, against a registrar that answers as a test wants.

use core::num::NonZeroU32;
use core::time::Duration;

use terse_aws_lc::PROVIDER;
use terse_brski::pledge::{AttemptFailed, EnrollmentFailed, VoucherRefused};
use terse_brski::voucher::Assertion;
use terse_net::files::{read_certificates, read_private_key};
use terse_onboard::discovery::{Change, Discovery, Fixed, Place};
use terse_onboard::join_proxy::{JoinProxy, Limits};
use terse_onboard::masa;
use terse_onboard::pledge::{CredentialDirectory, Device, GaveUp, Onboarded, Progress, Settings, onboard};
use terse_tls::{CertificateError, Credential};
use tokio::net::TcpListener;
use tokio::sync::watch;

mod pki;
mod registrar;
mod signer;

use crate::deadline::soon;
use crate::vacant::Vacant;
use pki::{PKI, SERIAL};
use registrar::{Answer, Registrar};

/// Settings of a pledge that tries once.
pub(crate) fn once() -> Settings {
    Settings { max_failures: NonZeroU32::new(1), ..Settings::default() }
}

/// What became of a pledge.
struct Outcome {
    result: Result<Onboarded, GaveUp>,
    progress: Vec<Progress>,
    credentials: CredentialDirectory,
    _folder: tempfile::TempDir,
}

async fn join(discovery: impl Discovery, settings: &Settings) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let credentials = CredentialDirectory::new(folder.path().join("credentials"));
    let mut progress = Vec::new();
    let device = PKI.device();
    let result = soon(onboard(&device, discovery, &credentials, settings, |event| progress.push(event))).await;
    Outcome { result, progress, credentials, _folder: folder }
}

impl Outcome {
    /// Returns why the only attempt has failed. Nothing is stored then.
    fn failure(self) -> AttemptFailed {
        assert!(!self.credentials.has_credential());
        match self.result {
            Err(GaveUp::Failed(_, why)) => why,
            other => panic!("{other:?}, {:?}", self.progress),
        }
    }
}

#[tokio::test]
async fn a_device_earns_its_credential_through_a_join_proxy() {
    let registrar = Registrar::start(|_| None).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = Place::new("127.0.0.1", listener.local_addr().unwrap().port());
    let (_place, place) = watch::channel(Some(registrar.place()));
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(JoinProxy::new(listener, place, Limits::default()).run(stopped));

    let outcome = join(Fixed::new([proxy.clone()]), &once()).await;
    let onboarded = outcome.result.unwrap();
    assert_eq!(
        (onboarded.proxy.clone(), onboarded.assertion, onboarded.is_reported),
        (proxy.clone(), Assertion::Proximity, true)
    );
    // What is stored is what the domain has issued, and a credential for TLS.
    let (stored, anchors) = outcome.credentials.read().unwrap();
    assert_eq!(stored.chain(), onboarded.credential.as_ref().unwrap().chain());
    assert_eq!(anchors, [PKI.domain.root().clone()]);
    // RFC 8995, 5.9.4: the last status comes over a connection with the LDevID, all else with the IDevID.
    let requests = registrar.requests();
    let paths: Vec<_> = requests.iter().map(|request| request.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(paths, ["requestvoucher", "voucher_status", "cacerts", "csrattrs", "simpleenroll", "enrollstatus"]);
    let clients: Vec<_> = requests.iter().map(|request| &request.client).collect();
    assert!(clients[..5].iter().all(|client| **client == PKI.idevid.chain()[0]));
    assert_eq!(*clients[5], stored.chain()[0]);
    assert!(requests.iter().all(|request| request.host == onboarded.proxy.to_string()), "the host is the proxy's");
    let stages: Vec<_> = onboarded.timings.stages().map(|(stage, _)| stage.name()).collect();
    let expected = [
        "discover",
        "connect",
        "request_voucher",
        "voucher_status",
        "cacerts",
        "csrattrs",
        "make_key",
        "enroll",
        "store",
        "connect_ldevid",
        "enrollstatus",
    ];
    assert_eq!(stages, expected);
    assert_eq!(outcome.progress.last(), Some(&Progress::Enrolled { is_reported: true }));
    stop.send(true).unwrap();
    assert!(soon(running).await.unwrap().unreachable == 0);
}

/// Returns an answer for requests whose path ends so.
fn for_path(path: &'static str, answer: Answer) -> impl Fn(&registrar::Seen) -> Option<Answer> + Send + Sync + 'static {
    move |request| request.path.ends_with(path).then(|| answer.clone())
}

#[tokio::test]
async fn a_voucher_of_somebody_else_is_refused_and_the_registrar_is_told() {
    let registrar = Registrar::start_with(&PKI.stranger_masa, |_| None).await;
    let why = join(Fixed::new([registrar.place()]), &once()).await.failure();
    assert!(matches!(why, AttemptFailed::Voucher(VoucherRefused::Signature(_))), "{why}");
    let statuses = registrar.statuses();
    assert_eq!(statuses.len(), 1);
    assert!(!statuses[0].status && statuses[0].reason.is_some());
}

/// A rogue registrar has the key of the web server of a MASA that was set up with defaults.
#[tokio::test]
async fn the_key_of_the_web_server_of_a_masa_takes_no_device() {
    let folder = tempfile::tempdir().unwrap();
    let maker = folder.path().join("maker");
    let now = pki::validity().not_before + 3_600;
    let options = masa::InitOptions {
        out: maker.clone(),
        name: "localhost".into(),
        listen: "127.0.0.1:0".parse().unwrap(),
        chain: "p256x2".parse().unwrap(),
        ca_name: "Maker".into(),
        days: 30,
        now,
    };
    masa::init(&options).await.unwrap();
    let config = masa::MasaConfig::read(&maker.join("masa.toml")).unwrap();
    let made = masa::make_idevid(&config, SERIAL, &masa::DeviceOptions::default(), folder.path(), now).await;
    made.unwrap();
    let file = |ending: &str| folder.path().join(format!("{SERIAL}{ending}"));
    let device = Device::read(&file(".pem"), &file(".key"), &file("-anchors.pem")).unwrap();
    let join = async |signer: &str| {
        let chain = read_certificates(maker.join(format!("{signer}.pem"))).unwrap();
        let key = read_private_key(maker.join(format!("{signer}.key")), None).unwrap();
        let signer = Credential::new(chain, PROVIDER.load_key(&key).unwrap()).unwrap();
        let registrar = Registrar::start_with(&signer, |_| None).await;
        let credentials = CredentialDirectory::new(folder.path().join("credentials"));
        soon(onboard(&device, Fixed::new([registrar.place()]), &credentials, &once(), |_| {})).await
    };
    let refused = join("masa").await.unwrap_err();
    let GaveUp::Failed(_, AttemptFailed::Voucher(VoucherRefused::Signature(_))) = refused else { panic!("{refused}") };
    join("voucher").await.unwrap();
}

/// RFC 8995, 5.6: the pledge comes back with the identical request.
#[tokio::test]
async fn a_pledge_that_is_asked_to_wait_comes_back_with_the_same_bytes() {
    let registrar = Registrar::start({
        let mut asked = 0;
        let asked = std::sync::Mutex::new(move || {
            asked += 1;
            asked
        });
        move |request| {
            let is_first = request.path.ends_with("requestvoucher") && (asked.lock().unwrap())() == 1;
            is_first.then(|| Answer { retry_after: Some("1"), ..Answer::status(202) })
        }
    })
    .await;
    let outcome = join(Fixed::new([registrar.place()]), &once()).await;
    outcome.result.unwrap();
    let requests = registrar.requests();
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(requests[0].connection, requests[1].connection, "over the same connection");
    assert!(outcome.progress.contains(&Progress::Waiting(registrar.place())));
}

#[tokio::test]
async fn answers_that_are_wrong_end_the_attempt_with_their_reason() {
    let huge =
        Answer { content_type: Some("application/voucher-cms+json"), body: vec![0x30; 100_000], ..Answer::status(200) };
    let garbage = Answer { content_type: Some("application/pkcs7-mime"), body: b"%%%".to_vec(), ..Answer::status(200) };
    let elsewhere = Answer { location: Some("http://registrar.example/"), ..Answer::status(307) };
    for (path, answer, expected) in [
        ("requestvoucher", Answer::status(403), "HTTP status 403"),
        ("requestvoucher", Answer::status(200), "another media type"),
        ("requestvoucher", huge, "longer than 16384 bytes"),
        ("requestvoucher", elsewhere, "redirected"),
        ("cacerts", garbage.clone(), "the CA certificates are malformed"),
        (
            "csrattrs",
            Answer { content_type: Some("application/csrattrs"), ..garbage.clone() },
            "the CSR attributes are malformed",
        ),
        ("simpleenroll", Answer::status(403), "HTTP status 403"),
        ("simpleenroll", garbage, "the response with the certificate is malformed"),
    ] {
        let registrar = Registrar::start(for_path(path, answer)).await;
        let why = join(Fixed::new([registrar.place()]), &once()).await.failure();
        assert!(why.to_string().contains(expected), "{path}: {why}");
    }
}

/// A domain that issues no certificate is told why the device did not take what it got.
#[tokio::test]
async fn a_credential_that_cannot_be_stored_is_told_and_nothing_is_left() {
    let registrar = Registrar::start(|_| None).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let (device, credentials) = (PKI.device(), CredentialDirectory::new(&file));
    let mut progress = Vec::new();
    let places = Fixed::new([registrar.place()]);
    let result = soon(onboard(&device, places, &credentials, &once(), |event| progress.push(event))).await;
    let expected = AttemptFailed::Enrollment(EnrollmentFailed::NotStored);
    assert_eq!(result.unwrap_err(), GaveUp::Failed(registrar.place(), expected));
    assert!(progress.iter().any(|event| matches!(event, Progress::NotStored(problem) if problem.contains("file"))));
    let statuses = registrar.statuses();
    assert_eq!(statuses.iter().map(|status| status.status).collect::<Vec<_>>(), [true, false]);
}

/// The connection is made again, and the registrar must show the same certificates (RFC 8995, 5).
#[tokio::test]
async fn a_lost_connection_is_made_again() {
    let close = Answer { closes: true, content_type: Some("application/pkcs7-mime"), ..Answer::status(404) };
    let registrar = Registrar::start(for_path("cacerts", close)).await;
    let outcome = join(Fixed::new([registrar.place()]), &once()).await;
    let onboarded = outcome.result.unwrap();
    assert_eq!(onboarded.anchors, [PKI.domain.root().clone()], "without CA certificates the pin remains");
    let requests = registrar.requests();
    let connections: std::collections::BTreeSet<_> = requests.iter().map(|request| request.connection).collect();
    assert_eq!(connections.len(), 3);
}

#[tokio::test]
async fn a_registrar_of_another_domain_is_refused() {
    let registrar = Registrar::start_as(&PKI.stranger_registrar, |_| None).await;
    let why = join(Fixed::new([registrar.place()]), &once()).await.failure();
    let AttemptFailed::Voucher(VoucherRefused::Registrar(why)) = why else { panic!("{why}") };
    assert_eq!(why, CertificateError::UnknownIssuer);
}

/// The first proxy leads to a registrar whose domain has no voucher for this device; the next has its turn some seconds later.
#[tokio::test]
async fn the_right_domain_is_found_among_several() {
    let wrong = Registrar::start(for_path("requestvoucher", Answer::status(404))).await;
    let right = Registrar::start(|_| None).await;
    let two = Settings { max_failures: NonZeroU32::new(2), ..Settings::default() };
    let outcome = join(Fixed::new([wrong.place(), right.place()]), &two).await;
    assert_eq!(outcome.result.unwrap().proxy, right.place());
    assert!(outcome.progress.contains(&Progress::Failed(wrong.place(), AttemptFailed::NoVoucher(404))));
}

#[tokio::test]
async fn nobody_at_a_place_is_a_failed_attempt() {
    let nobody = Vacant::new();
    let place = Place::new("127.0.0.1", nobody.address.port());
    let outcome = join(Fixed::new([place.clone()]), &once()).await;
    assert_eq!(outcome.failure(), AttemptFailed::ConnectionLost);
}

#[tokio::test]
async fn a_pledge_that_finds_no_proxy_gives_up_only_if_it_may() {
    let settings = Settings { discovery_limit: Duration::from_millis(20), ..once() };
    assert_eq!(join(Fixed::new([]), &settings).await.result.unwrap_err(), GaveUp::NoProxy);
    let for_ever = Settings { max_failures: None, ..settings };
    let joining = tokio::time::timeout(Duration::from_millis(200), join(Fixed::new([]), &for_ever)).await;
    assert!(joining.is_err(), "it goes on to look");
}

/// A registrar that is announced, gone, and announced elsewhere.
struct Moving(std::collections::VecDeque<Change>);

impl Discovery for Moving {
    async fn next(&mut self) -> Change {
        match self.0.pop_front() {
            Some(change) => change,
            None => std::future::pending().await,
        }
    }
}

#[tokio::test]
async fn a_proxy_that_is_gone_is_not_tried() {
    let registrar = Registrar::start(|_| None).await;
    let gone = Place::new("gone.example", 8443);
    let changes = [Change::Gone(gone.clone()), Change::Found(registrar.place()), Change::Gone(gone)];
    join(Moving(changes.into()), &once()).await.result.unwrap();
}

#[test]
fn the_device_has_the_serial_number_of_its_idevid() {
    assert_eq!(PKI.device().serial_number(), SERIAL);
}
