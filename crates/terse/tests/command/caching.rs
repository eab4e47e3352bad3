//! Cached handshakes run through the command line, across processes and in spite of damage.

use std::fs;

use crate::common::{self, Pki, mode};
use serde_json::{Value, json};
use terse_pki::LeafOptions;

const MUTUAL: &str = "--client-ca @ca.pem --require-client-cert --ca-names --echo";
const DEVICE: &str = "--cert @client.pem --key @client.key --send hello --expect 5";

fn modes(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(|object| object["mode"].as_str().unwrap()).collect()
}

#[test]
fn repeated_connections_leave_out_what_is_known() {
    let pki = Pki::new();
    let server = pki.server(MUTUAL);
    let objects = pki.client(&server, &format!("{DEVICE} --repeat 4")).objects();
    assert_eq!(modes(&objects), ["full", "compact", "compact", "compact"]);
    let (full, cached) = (&objects[0], &objects[1]);
    assert_eq!(cached["peer"]["authenticated_by"], "cached_certificate");
    assert_eq!(cached["peer"]["name"], full["peer"]["name"]);
    assert_eq!(full["cached"], json!([]));
    assert_eq!((&cached["signatures_verified"], &cached["signatures_saved"]), (&json!(0), &json!(2)));
    assert!(cached["fallback"].is_null(), "{cached}");
    assert_eq!(cached["cached"], json!(["certificate_request", "server_certificate", "client_certificate"]));
    let certificates = |object: &Value| {
        ["sent", "received"].map(|direction| object[direction]["messages"]["Certificate"].as_u64().unwrap_or_default())
    };
    assert_eq!(certificates(cached), [0, 0]);
    assert!(certificates(full).iter().all(|len| *len > 500));
    // A server reports each connection when it has closed it, so that one may overtake the one before it.
    let mut reports: Vec<_> = (0..4).map(|_| server.report()).collect();
    reports.sort_by_key(|report| report["mode"] != "full");
    assert_eq!(modes(&reports), ["full", "compact", "compact", "compact"]);
    assert_eq!(reports[3]["peer"]["name"], common::CLIENT);
    assert_eq!(reports[3]["cached"], objects[3]["cached"]);
    assert_eq!((&reports[3]["signatures_verified"], &reports[3]["signatures_saved"]), (&json!(0), &json!(2)));
    // With `bithac` a Certificate has a header, a context, and one entry: empty, or the fingerprint.
    let objects = pki.client(&server, &format!("{DEVICE} --repeat 2 --cache bithac")).objects();
    assert_eq!((modes(&objects), certificates(&objects[1])), (vec!["full", "bithac"], [13, 45]));
}

#[test]
fn a_cache_file_outlives_both_programs() {
    let pki = Pki::new();
    let options = format!("{MUTUAL} --cache-file @server.cache");
    let device = format!("{DEVICE} --cache-file @client.cache");
    let mut address = None;
    for expected in ["full", "compact", "compact"] {
        // The port is part of the cache's scope: the server must return to it.
        let listen = address.clone().unwrap_or_else(|| "127.0.0.1:0".to_owned());
        let server = common::Server::start(
            pki.command(&format!("server --listen {listen} --cert @server.pem --key @server.key --json"), &options),
        );
        address = Some(server.address.clone());
        assert_eq!(pki.client(&server, &device).object()["mode"], expected);
        assert_eq!(server.report()["mode"], expected);
        assert_eq!(mode(pki.path("server.cache")), 0o600);
        assert_eq!(mode(pki.path("client.cache")), 0o600);
    }
}

#[test]
fn a_damaged_cache_file_is_reported_and_costs_one_full_handshake() {
    let pki = Pki::new();
    let server = pki.server(MUTUAL);
    let device = format!("{DEVICE} --cache-file @client.cache");
    assert_eq!(pki.client(&server, &device).object()["mode"], "full");
    let mut bytes = fs::read(pki.path("client.cache")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(pki.path("client.cache"), bytes).unwrap();
    let outcome = pki.client(&server, &device);
    assert_eq!(outcome.object()["mode"], "full");
    assert!(outcome.stderr.contains("client.cache"), "{outcome:?}");
    let outcome = pki.client(&server, &device);
    assert_eq!(outcome.object()["mode"], "compact");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn a_cache_that_cannot_be_saved_is_reported_and_lasts_as_long_as_the_program() {
    let pki = Pki::new();
    fs::create_dir(pki.path("state")).unwrap();
    let mut server = pki.server(&format!("{MUTUAL} --cache-file @state/server.cache"));
    fs::remove_dir_all(pki.path("state")).unwrap();
    let objects = pki.client(&server, &format!("{DEVICE} --repeat 2")).objects();
    assert_eq!(modes(&objects), ["full", "compact"]);
    server.report();
    server.report();
    assert!(server.end().contains("server.cache"));
}

#[test]
fn each_side_may_allow_less() {
    let pki = Pki::new();
    for (server_mode, client, expected) in [
        ("off", "bithac", "full"),
        ("bithac", "off", "full"),
        ("rfc7924", "bithac", "rfc7924"),
        ("bithac", "rfc7924", "rfc7924"),
        ("compact", "bithac", "bithac"),
        ("bithac", "compact", "bithac"),
        ("rfc7924", "compact", "rfc7924"),
        ("off", "compact", "full"),
    ] {
        let server = pki.server(&format!("{MUTUAL} --cache {server_mode}"));
        let objects = pki.client(&server, &format!("{DEVICE} --repeat 3 --cache {client}")).objects();
        assert_eq!(modes(&objects)[1..], [expected, expected]);
        // A client is told why it got less than its offer.
        let offers_more = ["bithac", "compact"].contains(&client) && expected != "bithac";
        assert_eq!(objects[2]["fallback"].is_string(), offers_more, "{objects:?}");
    }
}

#[test]
fn a_new_server_certificate_is_sent_and_verified() {
    let pki = Pki::new();
    let start = |listen: &str| {
        common::Server::start(pki.command(
            &format!("server --listen {listen} --cert @server.pem --key @server.key --json"),
            &format!("{MUTUAL} --cache-file @server.cache"),
        ))
    };
    let device = format!("{DEVICE} --cache-file @client.cache");
    let server = start("127.0.0.1:0");
    let address = server.address.clone();
    pki.client(&server, &device).object();
    assert_eq!(pki.client(&server, &device).object()["mode"], "compact");
    drop(server);
    pki.issue("server", &LeafOptions::new(common::SERVER, common::validity()));
    let server = start(&address);
    let object = pki.client(&server, &device).object();
    assert_eq!(object["peer"]["authenticated_by"], "certificate");
    assert_eq!(object["signatures_verified"], 2);
    let cached = object["cached"].as_array().unwrap();
    assert!(!cached.contains(&json!("server_certificate")), "{object}");
}

#[test]
fn an_expired_entry_is_not_used() {
    let pki = Pki::new();
    let server = pki.server(MUTUAL);
    let device = format!("{DEVICE} --cache-file @client.cache");
    assert_eq!(pki.client(&server, &device).object()["mode"], "full");
    let later = common::now() + 100 * 86_400;
    let outcome = pki.client(&server, &format!("{device} --at {later}"));
    outcome.refused(1, &["certificate of broker.plant.example expired on"]);
}
