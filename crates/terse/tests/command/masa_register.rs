//! `terse masa register`: devices of a factory with a PKI of its own, from the command line.

use std::fs;

use serde_json::{Value, json};
use terse_pki::{Authority, AuthorityOptions, Credential, IdevidOptions, LeafOptions, Validity};

use super::masa::Place;

/// A CA of another factory.
fn factory(chain: &str) -> Authority {
    let options = AuthorityOptions::new(chain.parse().unwrap(), Validity::without_end(0));
    Authority::new(&AuthorityOptions { name: "Factory".into(), key_identifiers: true, ..options }).unwrap()
}

fn idevid(factory: &Authority, serial_number: &str) -> Credential {
    factory.issue_idevid(&IdevidOptions::new(serial_number, 0)).unwrap()
}

/// A MASA whose devices are those of a factory, and the factory.
fn place() -> (Place, Authority) {
    let (place, factory) = (Place::new(), factory("p256x3"));
    let anchors = fs::read_to_string(place.path("maker/ca/ca.pem")).unwrap();
    fs::write(place.path("maker/anchors.pem"), format!("{anchors}{}", factory.root_pem())).unwrap();
    place.configure("anchors = \"ca/ca.pem\"", "anchors = \"anchors.pem\"");
    (place, factory)
}

fn write(place: &Place, name: &str, credential: &Credential) {
    fs::write(place.path(name), credential.chain_pem()).unwrap();
}

#[test]
fn a_device_of_another_ca_is_registered_by_its_certificate() {
    let (place, factory) = place();
    write(&place, "one.pem", &idevid(&factory, "F-1"));
    let register = "register one.pem --config maker/masa.toml";
    assert_eq!(place.succeeds(register), "F-1  registered  one.pem\n");
    let audit = place.run("audit F-1 --config maker/masa.toml --json").object();
    assert_eq!((&audit["registered"], &audit["owner"]), (&json!(true), &json!(null)));
    // The issuer is that of the certificate, as voucher requests have it: an OCTET STRING with an AuthorityKeyIdentifier.
    assert!(audit["idevid_issuer"].as_str().unwrap().starts_with("04"), "{audit}");
    // Again, nothing changes, and nothing is wrong.
    assert_eq!(place.succeeds(register), "F-1  registered before  one.pem\n");
}

#[test]
fn many_devices_are_registered_at_once_and_what_is_wrong_keeps_out_no_other() {
    let (place, factory) = place();
    for number in 1..=20 {
        write(&place, &format!("{number}.pem"), &idevid(&factory, &format!("F-{number}")));
    }
    write(&place, "foreign.pem", &idevid(&self::factory("p256x2"), "X-1"));
    let server = LeafOptions::new("server.example", Validity::days(0, 40_000));
    write(&place, "server.pem", &factory.issue(&server).unwrap());
    fs::write(place.path("empty.pem"), "").unwrap();
    fs::write(place.path("ca.pem"), factory.root_pem()).unwrap();
    let mut files: Vec<_> = ["foreign", "server", "empty", "ca", "nowhere"].map(String::from).into();
    files.extend((1..=20).map(|number| number.to_string()));
    let files: Vec<_> = files.iter().map(|name| format!("{name}.pem")).collect();
    let words = format!("register {} --config maker/masa.toml", files.join(" "));

    let outcome = place.run(&format!("{words} --json"));
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    let lines: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<_> = lines.iter().map(|line| line["state"].as_str().unwrap()).collect();
    assert_eq!(states, [&["refused"; 5][..], &["registered"; 20]].concat());
    let named: Vec<_> = lines.iter().map(|line| line["file"].as_str().unwrap()).collect();
    assert_eq!(named, files);
    let problems: Vec<_> = lines[..5].iter().map(|line| line["problem"].as_str().unwrap()).collect();
    let parts = [
        "foreign.pem: this is no device of this manufacturer",
        "server.pem: the certificate of the pledge is no IDevID",
        "empty.pem: is empty",
        "ca.pem: ",
        "nowhere.pem: cannot be read",
    ];
    for (problem, part) in problems.iter().zip(parts) {
        assert!(problem.contains(part), "{part}: {problem}");
    }
    assert!(problems[0].contains("up to an anchor of `anchors` in [manufacturer]"), "{}", problems[0]);
    assert!(outcome.stderr.contains("5 of 25 were not registered"), "{outcome:#?}");
    place.succeeds("audit F-20 --config maker/masa.toml");
    place.run("audit X-1 --config maker/masa.toml").refused(1, &["`terse masa register` takes one"]);

    // For people: the same, and the problems on standard error.
    let outcome = place.run(&words);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert_eq!(outcome.stdout.lines().count(), 20);
    assert!(parts.iter().all(|part| outcome.stderr.contains(part)), "{outcome:#?}");
}

#[test]
fn devices_are_sold_when_they_are_registered_and_not_later() {
    let (place, factory) = place();
    write(&place, "one.pem", &idevid(&factory, "F-1"));
    write(&place, "two.pem", &idevid(&factory, "F-2"));
    let sold = "register one.pem two.pem --sold-to plant --config maker/masa.toml";
    place.run(sold).refused(2, &["maker/masa.toml: there is no customer \"plant\""]);
    place.succeeds("register two.pem --config maker/masa.toml");
    fs::write(place.path("maker/plant.secret"), "0123456789abcdef\n").unwrap();
    place.configure("[limits]", "[[customer]]\nname = \"plant\"\nsecret_file = \"plant.secret\"\n[limits]");
    let outcome = place.run(sold);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), "F-1  registered  one.pem\n"), "{outcome:#?}");
    assert!(outcome.stderr.contains("F-2 is registered already"), "{outcome:#?}");
    // The same again, as after the others were corrected.
    let outcome = place.run("register one.pem --sold-to plant --config maker/masa.toml");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "F-1  registered before  one.pem\n"), "{outcome:#?}");
    let outcome = place.run("register --config maker/masa.toml");
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(outcome.stderr.contains("FILE"), "{outcome:#?}");
}

#[test]
fn devices_with_raw_public_keys_alone_are_registered_so_and_not_later() {
    let (place, factory) = place();
    for name in ["F-1", "F-2", "F-3"] {
        write(&place, &format!("{name}.pem"), &idevid(&factory, name));
    }
    place.succeeds("register F-3.pem --config maker/masa.toml");
    let outcome = place.run("register F-1.pem F-2.pem F-3.pem --raw-public-keys --config maker/masa.toml");
    let registered = "F-1  registered  F-1.pem\nF-2  registered  F-2.pem\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), registered), "{outcome:#?}");
    assert!(outcome.stderr.contains("F-3 is registered already, as one that supports certificates"), "{outcome:#?}");
    assert!(outcome.stderr.contains("leave out --raw-public-keys"), "{outcome:#?}");
    for (name, expected) in [("F-1", true), ("F-2", true), ("F-3", false)] {
        let shown = place.run(&format!("audit {name} --config maker/masa.toml --json")).object();
        assert_eq!(shown["raw_public_keys_only"], expected, "{name}");
    }
}
