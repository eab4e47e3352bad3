//! A registrar takes a changed configuration while it runs.

use std::fs;

use terse_brski::coap::{Request, Resource, content_format};
use terse_brski::est::CsrAttributes;
use terse_ibc::Generator;
use terse_ibc::files::KeyFile;
use terse_net::{Clock, OsRng};
use terse_onboard::registrar::check;
use terse_pki::{Authority, AuthorityOptions, RegistrarOptions, Validity, to_pem};
use terse_tls::identity::IdentityAlgorithm;

use super::coaps_pledge::How;
use super::world::{Device, Running, SERIAL, World, authority, certificate, now, refused, validity};

impl World {
    /// Gives the registrar another certificate of the domain's CA, with another key.
    fn renew_certificate(&self) {
        let folder = self.folder.path().join("registrar");
        let authority = Authority::load(&folder.join("ca")).unwrap();
        let issued = authority.issue_registrar(&RegistrarOptions::new("registrar.plant.example", validity())).unwrap();
        let chain: Vec<_> = issued.chain().iter().chain([authority.root()]).cloned().collect();
        fs::write(folder.join("registrar.pem"), chain.iter().map(|one| to_pem("CERTIFICATE", one)).collect::<String>())
            .unwrap();
        fs::write(folder.join("registrar.key"), to_pem("PRIVATE KEY", issued.key().secret_der())).unwrap();
    }
}

/// What a device gets for a voucher request over a new connection.
async fn ask(device: &Device, registrar: &Running) -> terse_onboard::client::Incoming {
    let mut pledge = device.connect(registrar).await;
    let request = device.voucher_request(&pledge);
    pledge.request_voucher(&request).await
}

#[tokio::test]
async fn another_policy_counts_for_the_next_request_also_of_an_open_connection() {
    let world = World::with("devices = \"list\"").await;
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    refused(&pledge.request_voucher(&request).await, 404, "not among those that may join");
    world.change("devices = \"list\"", "devices = \"list\"\nserial_numbers = [\"WI-3005\"]");
    assert_eq!(reloader.reload().unwrap(), [""; 0]);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    refused(&ask(&world.device("WI-3006"), &registrar).await, 404, "not among those that may join");
    registrar.stop().await;
}

#[tokio::test]
async fn a_manufacturer_comes_and_goes_and_what_is_known_stays() {
    let world = World::new().await;
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    let voucher = pledge.request_voucher(&request).await;
    assert_eq!(voucher.status, 200);
    let other = authority("Other");
    let folder = world.folder.path().join("registrar");
    let known = fs::read(folder.join("manufacturer-ca.pem")).unwrap();
    fs::write(folder.join("manufacturer-ca.pem"), other.root_pem()).unwrap();
    reloader.reload().unwrap();
    refused(&ask(&world.device("WI-3006"), &registrar).await, 403, "not trusted");
    fs::write(folder.join("manufacturer-ca.pem"), known).unwrap();
    reloader.reload().unwrap();
    assert_eq!(pledge.request_voucher(&request).await, voucher, "the same voucher over the same connection");
    assert_eq!(world.masa.issued(), 1);
    registrar.stop().await;
}

#[tokio::test]
async fn new_connections_see_a_new_certificate_and_old_ones_go_on() {
    let world = World::new().await;
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    let device = world.device(SERIAL);
    let mut old = device.join(&registrar).await;
    let before = old.registrar();
    world.renew_certificate();
    assert_eq!(reloader.reload().unwrap(), [""; 0]);
    assert_eq!(old.get("/.well-known/est/cacerts").await.status, 200);
    let another = world.device("WI-3006");
    let pledge = another.connect(&registrar).await;
    assert_ne!(pledge.registrar(), before);
    assert_eq!(ask(&another, &registrar).await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn a_wrong_configuration_changes_nothing_and_says_what_is_wrong() {
    let world = World::new().await;
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    for (from, to, part) in [
        ("devices = \"all\"", "devices = \"none\"", "unknown variant"),
        ("chain = \"registrar.pem\"", "chain = \"nowhere.pem\"", "nowhere.pem"),
        ("key = \"registrar.key\"", "key = \"registrar.pem\"", "registrar.pem"),
        ("masa_seconds = 60", "masa_seconds = 0", "masa_seconds is 0"),
    ] {
        world.change(from, to);
        let error = reloader.reload().unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        world.change(to, from);
    }
    assert_eq!(ask(&world.device(SERIAL), &registrar).await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn what_waits_for_a_restart_is_named_and_the_rest_counts() {
    let world = World::with("devices = \"list\"").await;
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    world.change("listen = \"127.0.0.1:0\"", "listen = \"127.0.0.1:1\"\nhealth = \"127.0.0.1:2\"");
    world.change("[limits]\n", "[pages]\nlisten = \"127.0.0.1:3\"\n\n[limits]\nconnections = 5\n");
    world.change("devices = \"list\"", "devices = \"all\"");
    assert_eq!(reloader.reload().unwrap(), ["listen", "health", "pages", "limits.connections"]);
    assert_eq!(ask(&world.device(SERIAL), &registrar).await.status, 200, "at the old address");
    registrar.stop().await;
}

#[tokio::test]
async fn a_limit_of_requests_counts_at_once() {
    let world = World::new().await;
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    let mut pledge = world.device(SERIAL).connect(&registrar).await;
    assert_eq!(pledge.get("/health").await.status, 200);
    world.change("requests_at_once = 1000000", "requests_at_once = 1\nrequests_per_second = 1");
    reloader.reload().unwrap();
    pledge.until_too_many().await;
    registrar.stop().await;
}

/// The certificate of DTLS stays, and so must that of HTTPS, for which the decisions are the same.
#[tokio::test]
async fn with_coaps_another_certificate_waits_for_a_restart() {
    let world = World::new().await.with_coaps();
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    world.renew_certificate();
    let error = reloader.reload().unwrap_err();
    assert!(error.to_string().contains("with [coaps]"), "{error}");
    assert_eq!(ask(&world.device(SERIAL), &registrar).await.status, 200);
    registrar.stop().await;
}

/// With another root of the same name, LDevIDs of the former CA are renewed as long as the configuration names it, and its last
/// list is current, or is said to be the last one.
#[tokio::test]
async fn the_domain_ca_is_rolled_while_devices_renew() {
    let world = World::new().await;
    let folder = world.folder.path().join("registrar");
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    let serials = [SERIAL, "WI-3006", "WI-3007", "WI-3008", "WI-3009", "WI-3010"];
    let [device, late, listed, earlier, lost, current] = serials.map(|serial| world.device(serial));
    let first = device.enrol(&registrar).await;
    let of_late = late.enrol(&registrar).await;
    let of_listed = listed.enrol(&registrar).await;
    let of_earlier = earlier.enrol(&registrar).await;
    let of_lost = lost.enrol(&registrar).await;
    let of_current = current.enrol(&registrar).await;
    let operator = world.operator().await;
    assert_eq!(operator.revoke("WI-3008", None, None).await.unwrap().revoked, 1);
    operator.accept("WI-3008", None).await.unwrap(); // it may come back, but not with this certificate

    let former = Authority::load(&folder.join("ca")).unwrap();
    let options = AuthorityOptions::new("p256x3".parse().unwrap(), validity());
    let options = AuthorityOptions { name: "Domain".into(), key_identifiers: true, ..options };
    let another = Authority::new(&options).unwrap();
    another.save(&folder.join("another"), false).unwrap();
    // A list that is late lacks what was revoked since.
    let days_ago = |days: u64| now().as_secs() - days * 86_400;
    let is_late = Validity { not_before: days_ago(3), not_after: days_ago(1) };
    former.revoke(&folder.join("ca"), core::slice::from_ref(&of_listed), is_late).unwrap();
    // Its keys are not needed any more.
    fs::remove_file(folder.join("ca/ca.key")).unwrap();
    fs::remove_file(folder.join("ca/intermediate1.key")).unwrap();
    world.change("ca = \"ca\"", "ca = \"another\"\nformer_ca = \"ca\"");
    assert_eq!(reloader.reload().unwrap(), [""; 0]);

    let renew = async |device: &Device, ldevid| {
        let request = device.certification_request(&CsrAttributes::default());
        let mut member = device.connect_with(&registrar, ldevid).await;
        member.enroll("simplereenroll", &request).await
    };
    refused(&renew(&device, &first).await, 403, "former_ca_is_closed = true");
    refused(&renew(&listed, &of_listed).await, 403, "revoked");
    let warnings = async || check(&world.config(), Clock::new()).await.unwrap();
    assert!(warnings().await.iter().any(|warning| warning.contains("former_ca_is_closed = true")));
    // By a current one everybody is judged, and nothing need be said.
    former.revoke(&folder.join("ca"), &[], validity()).unwrap();
    assert!(!warnings().await.iter().any(|warning| warning.contains("former_ca")));
    certificate(&renew(&current, &of_current).await);
    refused(&renew(&listed, &of_listed).await, 403, "revoked");
    // A CA that is closed has no later list, so that a late one counts.
    former.revoke(&folder.join("ca"), &[], is_late).unwrap();
    refused(&renew(&device, &first).await, 403, "former_ca_is_closed = true");
    world.change("\nformer_ca = \"ca\"", "\nformer_ca = \"ca\"\nformer_ca_is_closed = true");
    assert_eq!(reloader.reload().unwrap(), [""; 0]);
    assert!(!warnings().await.iter().any(|warning| warning.contains("former_ca")));

    let second = certificate(&renew(&device, &first).await);
    assert!(another.issuer_of(&second).is_ok() && former.issuer_of(&second).is_err());
    let third = certificate(&renew(&device, &second).await);
    assert!(another.issuer_of(&third).is_ok());
    for (device, ldevid) in [(&listed, &of_listed), (&earlier, &of_earlier)] {
        refused(&renew(device, ldevid).await, 403, "revoked");
    }
    let operator = world.operator().await;
    assert_eq!(operator.revoke("WI-3009", None, None).await.unwrap().revoked, 1);
    refused(&renew(&lost, &of_lost).await, 403, "revoked");
    operator.accept("WI-3009", None).await.unwrap();
    refused(&renew(&lost, &of_lost).await, 403, "revoked");

    world.change("\nformer_ca = \"ca\"", "");
    let error = reloader.reload().unwrap_err();
    assert!(error.to_string().contains("former_ca_is_closed needs former_ca"), "{error}");
    world.change("\nformer_ca_is_closed = true", "");
    assert_eq!(reloader.reload().unwrap(), [""; 0]);
    assert_eq!(renew(&device, &third).await.status, 200);
    refused(&renew(&late, &of_late).await, 403, "LDevID");
    registrar.stop().await;
}

#[tokio::test]
async fn a_new_epoch_of_the_generator_counts_for_the_next_identity_key() {
    let world = World::new().await.with_coaps();
    let generator = world.add_generator();
    let (listening, reloader) = world.listen().await;
    let registrar = Running::start(listening);
    let device = world.device(SERIAL);
    let ldevid = device.enrol(&registrar).await;
    let mut member = device.connect_coaps_with(registrar.coaps.unwrap(), &ldevid, How::default()).await;
    let mut parameters = async || {
        let answer = member.send(Request::post(Resource::IdentityKey, content_format::IDENTITY_KEY, b"")).await;
        let file = KeyFile::from_pem(core::str::from_utf8(&answer.payload).unwrap()).unwrap();
        file.key.as_key().parameters().clone()
    };
    assert_eq!(&parameters().await, generator.parameters());
    let end = now().as_secs() + 86_400;
    let next = Generator::new(IdentityAlgorithm::Ristretto255, 2, end, &mut OsRng).unwrap();
    fs::write(world.folder.path().join("registrar/pkg/pkg.pem"), next.to_pem().as_bytes()).unwrap();
    assert_eq!(&parameters().await, generator.parameters(), "nobody has said that it is read again");
    assert_eq!(reloader.reload().unwrap(), [""; 0]);
    assert_eq!(&parameters().await, next.parameters());
    registrar.stop().await;
}
