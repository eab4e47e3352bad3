//! `terse cache` tells what files hold.

use std::fs;

use crate::common::{self, CLIENT, Outcome, Pki, SERVER, Server, run};
use serde_json::{Value, json};

const MUTUAL: &str = "--client-ca @ca.pem --require-client-cert --echo --cache-file @server.cache";
const DEVICE: &str = "--cert @client.pem --key @client.key --send hello --expect 5 --cache-file @client.cache";

/// Returns the PKI and the server, whose cache files were used for this many connections.
fn used(connections: usize) -> (Pki, Server) {
    let pki = Pki::new();
    let server = pki.server(MUTUAL);
    pki.client(&server, &format!("{DEVICE} --repeat {connections}")).objects();
    (pki, server)
}

fn cache(pki: &Pki, options: &str) -> Outcome {
    run(pki.command("cache", options))
}

#[test]
fn both_sides_are_listed() {
    let (pki, server) = used(2);
    let port: u16 = server.address.rsplit(':').next().unwrap().parse().unwrap();
    let object = cache(&pki, "list @client.cache --json").object();
    let expected = json!({
        "role": "server", "server": SERVER, "port": port, "transport": "stream", "peer": SERVER, "scheme": "compact",
        "signatures_saved": 2, "certificate_requests": 1, "health": "working", "tickets": 1, "fallback": null,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&object[name], value, "{name}: {object}");
    }
    let now = common::now();
    let time = |name: &str| object[name].as_u64().unwrap();
    assert!(time("not_before") < now && now < time("not_after"), "{object}");
    assert!(now - 600 < time("made") && time("made") <= time("last_used") && time("last_used") <= now, "{object}");

    let kept = cache(&pki, "list @server.cache --json").object();
    let told = ["role", "server", "peer", "signatures_saved"].map(|name| &kept[name]);
    assert_eq!(told, [&json!("client"), &json!(SERVER), &json!(CLIENT), &json!(2)], "{kept}");
    assert_eq!(kept["fingerprint"], object["own_certificate"]);
    assert!(kept.get("port").is_none() && kept["tickets"].as_u64().unwrap() > 0);

    let text = cache(&pki, "list @client.cache").stdout;
    assert!(text.starts_with(&format!("server {SERVER}:{port}  1 ticket; compact; used 20")), "{text}");
    let text = cache(&pki, "list @server.cache").stdout;
    assert!(text.starts_with(&format!("client {CLIENT}  ")) && text.lines().count() == 1, "{text}");
}

#[test]
fn why_it_was_not_used_is_told() {
    let (pki, server) = used(1);
    let later = common::now() + 100 * 86_400;
    pki.client(&server, &format!("{DEVICE} --at {later}")).refused(1, &["expired on"]);
    let object = cache(&pki, "list @client.cache --json").object();
    assert_eq!((&object["fallback"], &object["peer"]), (&json!("entry expired"), &Value::Null), "{object}");
    let text = cache(&pki, &format!("show @client.cache {SERVER}")).stdout;
    assert!(text.contains("\n  last time       entry expired\n"), "{text}");
}

#[test]
fn one_is_shown_by_name_place_or_fingerprint() {
    let (pki, server) = used(2);
    let port = server.address.rsplit(':').next().unwrap();
    let fingerprint = cache(&pki, "list @client.cache --json").object()["fingerprint"].as_str().unwrap().to_owned();
    for peer in [SERVER, &format!("{SERVER}:{port}"), &fingerprint[..8], &fingerprint.to_uppercase()] {
        let text = cache(&pki, &format!("show @client.cache {peer}")).stdout;
        assert!(text.contains(&format!("\n  fingerprint     {fingerprint}\n")), "{text}");
    }
    for peer in [&fingerprint[..7], &format!("{SERVER}:1"), "plant.example", CLIENT] {
        let outcome = cache(&pki, &format!("show @client.cache {peer}"));
        outcome.refused(1, &["nothing is kept of", peer, "terse cache list"]);
    }
}

#[test]
fn what_is_dropped_is_learned_again() {
    let (pki, server) = used(2);
    let listed = |file: &str| cache(&pki, &format!("list {file} --json")).objects().len();
    let text = cache(&pki, &format!("drop @client.cache {SERVER}")).stdout;
    assert!(text.starts_with(&format!("dropped: server {SERVER}:")), "{text}");
    assert_eq!((listed("@client.cache"), listed("@server.cache")), (0, 1));
    assert_eq!(cache(&pki, "list @client.cache").stdout, "nothing is kept\n");
    assert_eq!(pki.client(&server, DEVICE).object()["mode"], "full");
    assert_eq!(pki.client(&server, DEVICE).object()["mode"], "compact");

    let address = server.address.clone();
    drop(server);
    let dropped = cache(&pki, "drop @server.cache --all --json").objects();
    assert_eq!(dropped.iter().filter(|object| object["peer"] == CLIENT).count(), dropped.len());
    assert_eq!(listed("@server.cache"), 0);
    let server = Server::start(
        pki.command(&format!("server --listen {address} --cert @server.pem --key @server.key --json"), MUTUAL),
    );
    let object = pki.client(&server, DEVICE).object();
    assert_eq!((&object["mode"], &object["fallback"]), (&json!("full"), &json!("the server does not know the ticket")));
}

#[test]
fn files_that_cannot_be_used_are_refused() {
    let (pki, _server) = used(1);
    cache(&pki, "list @none.cache").refused(1, &["there is no cache file", "none.cache", "--cache-file"]);
    assert!(!pki.path("none.cache").exists());
    let before = fs::read(pki.path("client.cache")).unwrap();
    let damaged = (&before[..45], ["client.cache: it", "afresh"]);
    let something_else = (&b"something else"[..], ["client.cache is no cache file", "name another file"]);
    for (content, message) in [damaged, something_else] {
        fs::write(pki.path("client.cache"), content).unwrap();
        for command in ["list @client.cache", "drop @client.cache --all"] {
            cache(&pki, command).refused(1, &message);
            assert_eq!(fs::read(pki.path("client.cache")).unwrap(), content, "left as it was");
        }
    }
    let outcome = cache(&pki, "drop @client.cache");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("<PEER>"), "{outcome:?}");
}
