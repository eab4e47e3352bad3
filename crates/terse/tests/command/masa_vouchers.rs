//! `terse masa` issues vouchers: also killed in the middle, and as two processes with one database.

use core::time::Duration;
use std::sync::Arc;

use serde_json::json;
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use terse_aws_lc::PROVIDER;
use terse_brski::certificate::{Idevid, SerialNumberField};
use terse_brski::cms::Unsigned;
use terse_brski::http::VOUCHER_CMS_JSON;
use terse_brski::voucher::{Assertion, Nonce, Pin, VoucherRequest};
use terse_net::files::{read_certificates, read_private_key};
use terse_net::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use terse_net::tokio::Connector;
use terse_net::{Clock, NetError, OsRng};
use terse_onboard::client::{ClientError, HttpsConnection, Incoming, Outgoing, ResponseLimits};
use terse_pki::{Authority, AuthorityOptions, RegistrarOptions};
use terse_tls::{ClientConfig, ServerAddress, Trust};
use tokio::net::TcpStream;

use super::masa::Place;
use crate::common::{SAFETY_LIMIT, now, validity};

/// A device, and the registrar of a domain.
struct Scene {
    place: Place,
    idevid: Vec<CertificateDer<'static>>,
    device_key: PrivateKeyDer<'static>,
    registrar: terse_pki::Credential,
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        place.succeeds("make-idevid WI-3005 --config maker/masa.toml --out device");
        let idevid = read_certificates(place.path("device/WI-3005.pem")).unwrap();
        let device_key = read_private_key(place.path("device/WI-3005.key"), None).unwrap().clone_key();
        let options = AuthorityOptions::new("p256x3".parse().unwrap(), validity());
        let domain = Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap();
        let registrar = domain.issue_registrar(&RegistrarOptions::new("registrar.plant.example", validity())).unwrap();
        Self { place, idevid, device_key, registrar }
    }

    /// A registrar's request, with the pledge's in it.
    fn request(&self, nonce: &str) -> Vec<u8> {
        let mut fields = VoucherRequest::new("WI-3005".into());
        fields.created_on = Some(UnixTime::since_unix_epoch(Duration::from_secs(now())));
        fields.assertion = Some(Assertion::Proximity);
        fields.nonce = Some(Nonce::new(nonce.as_bytes()).unwrap());
        let mut pledge = fields.clone();
        pledge.proximity_registrar = vec![Pin::Certificate(self.registrar.leaf().clone())];
        let pledge = sign(&self.idevid, &self.device_key, &pledge);
        fields.prior_signed_voucher_request = Some(pledge.into());
        let idevid = Idevid::read(&PROVIDER, &self.idevid[0], SerialNumberField::SubjectSerialNumber).unwrap();
        fields.idevid_issuer = idevid.issuer.map(Into::into);
        sign(self.registrar.chain(), self.registrar.key(), &fields)
    }

    async fn ask(&self, address: &str, request: &[u8]) -> Result<Incoming, ClientError> {
        let anchors = read_certificates(self.place.path("maker/ca/ca.pem")).unwrap();
        let mut config = ClientConfig::builder(&PROVIDER);
        config.trust(Trust::new(&anchors).unwrap());
        let connector = Connector::new(Arc::new(config.build().unwrap()), Clock::new());
        let transport = TcpStream::connect(address).await.map_err(|error| ClientError::Net(NetError::Io(error)))?;
        let server = ServerAddress::new("localhost".try_into().unwrap(), 443);
        let mut connection = HttpsConnection::connect(&connector, server, "localhost", transport).await?;
        let request = Outgoing {
            body: Some(request.to_vec()),
            path: "/.well-known/brski/requestvoucher",
            content_type: Some(VOUCHER_CMS_JSON),
            ..Outgoing::default()
        };
        connection.send(request, ResponseLimits { body: 16_384, time: SAFETY_LIMIT }).await
    }

    fn audit(&self) -> serde_json::Value {
        self.place.run("audit WI-3005 --config maker/masa.toml --json").object()
    }
}

fn sign(chain: &[CertificateDer<'_>], key: &PrivateKeyDer<'_>, fields: &VoucherRequest) -> Vec<u8> {
    let key = PROVIDER.load_key(key).unwrap();
    let unsigned = Unsigned::new(&PROVIDER, &fields.to_json(), chain, key.schemes()[0], None).unwrap();
    unsigned.sign(&*key, &mut OsRng).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_with_one_database_issue_one_voucher() {
    let scene = Scene::new();
    let (one, other) = (scene.place.serve(), scene.place.serve());
    for round in 0..10 {
        let request = scene.request(&format!("nonce {round}"));
        let answers = tokio::join!(scene.ask(&one.address, &request), scene.ask(&other.address, &request));
        let (first, second) = (answers.0.unwrap(), answers.1.unwrap());
        assert_eq!(first.status, 200, "{}", String::from_utf8_lossy(&first.body));
        assert_eq!(first, second);
    }
    let audit = scene.audit();
    assert_eq!(audit["vouchers"], 10);
    assert_eq!(audit["audit_log"]["events"].as_array().unwrap().len(), 10);
    assert_eq!(audit["audit_log"]["events"][0]["nonce"], "nonce 9", "the newest first");
    let printed = scene.place.succeeds("audit WI-3005 --config maker/masa.toml");
    let lines: Vec<_> = printed.lines().collect();
    let owner = audit["owner"].as_str().unwrap();
    assert_eq!(lines[0], format!("WI-3005: owned by the domain with the key {owner}; vouchers: 10"));
    assert!(lines[1].contains("  domain ") && lines[1].ends_with("  proximity, nonce"), "{printed}");
    assert_eq!(lines.len(), 11);
    let verified = scene.place.succeeds("log verify --config maker/masa.toml");
    assert!(verified.starts_with("good; entries: 10; head: ") && verified.ends_with("@10\n"), "{verified}");
    let released = scene.place.run("release WI-3005 --config maker/masa.toml --json").object();
    assert_eq!(released["owner"], json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_masa_that_is_killed_at_any_moment_has_issued_a_voucher_or_has_not() {
    let scene = Scene::new();
    for round in 0..8 {
        let request = scene.request(&format!("nonce {round}"));
        let mut masa = scene.place.serve();
        let address = masa.address.clone();
        // How far it comes is left to chance: further in later rounds.
        let killed = async {
            for _ in 0..round * 1_500 {
                tokio::task::yield_now().await;
            }
            masa.end();
        };
        let (lost, ()) = tokio::join!(scene.ask(&address, &request), killed);
        let masa = scene.place.serve();
        let answer = scene.ask(&masa.address, &request).await.unwrap();
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        if let Ok(first) = lost {
            assert_eq!(first, answer);
        }
        assert_eq!(scene.audit()["vouchers"], round + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_was_changed_by_hand_is_named() {
    let scene = Scene::new();
    let masa = scene.place.serve();
    for round in 1..=3 {
        let answer = scene.ask(&masa.address, &scene.request(&format!("nonce {round}"))).await.unwrap();
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    }
    scene.place.succeeds("log export --out log.jsonl --config maker/masa.toml");
    let verify = "log verify --config maker/masa.toml --since log.jsonl";
    let good = scene.place.run(&format!("{verify} --json")).object();
    assert_eq!((&good["ok"], &good["length"]), (&json!(true), &json!(3)));

    let options = SqliteConnectOptions::new().filename(scene.place.path("maker/masa.db"));
    let mut database = SqliteConnection::connect_with(&options).await.unwrap();
    let changed = sqlx::raw_sql("UPDATE audit_log SET date = date - 1 WHERE position = 2").execute(&mut database).await;
    assert_eq!(changed.unwrap().rows_affected(), 1);
    let outcome = scene.place.run(&format!("{verify} --json"));
    outcome.refused(1, &["entry 2; number 2 of the device \"WI-3005\": it was changed"]);
    let text = outcome.stderr.strip_prefix("terse: ").unwrap().trim_end();
    let expected = json!({
        "ok": false, "file": null, "position": 2, "serial_number": "WI-3005", "number": 2, "problem": "changed", "text": text,
    });
    assert_eq!(outcome.lines(), [expected]);
    // An export would say that all is right.
    let export = scene.place.run("log export --out wrong.jsonl --config maker/masa.toml");
    export.refused(1, &["entry 2"]);
    assert!(!scene.place.path("wrong.jsonl").exists());

    // Another database goes on where the export ends.
    scene.place.configure("\"masa.db\"", "\"other.db\"");
    let imported = scene.place.succeeds("log import log.jsonl --config maker/masa.toml");
    assert!(imported.starts_with("imported; devices: 1; entries: 3; vouchers: 3; head: "), "{imported}");
    scene.place.succeeds(verify);
    assert_eq!(scene.audit()["vouchers"], 3);
}
