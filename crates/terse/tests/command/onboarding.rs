//! Onboarding by the command: a manufacturer, a domain, a join proxy and a device, each with files of its own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Outcome, Server, run, terse};

const SERIAL: &str = "WI-3005";

/// The services that run, and where their files are.
struct Plant {
    folder: tempfile::TempDir,
    registrar: Server,
    proxy: Server,
    _masa: Server,
}

impl Plant {
    fn start() -> Self {
        Self::with("p256", "2")
    }

    /// Starts a plant whose manufacturer has keys of this algorithm, and so many certificates from an IDevID to the root.
    fn with(algorithm: &str, chain: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let init = ["masa", "init", "--algorithm", algorithm, "--chain", chain, "--out", &at("maker")];
        ok(&[&init[..], &["--name", "localhost", "--listen", "127.0.0.1:0"]].concat());
        let maker = at("maker/masa.toml");
        ok(&["masa", "make-idevid", SERIAL, "--config", &maker, "--out", &at("device")]);
        let masa = start(&["masa", "--config", &maker]);
        let ca = at("maker/ca/ca.pem");
        ok(&["registrar", "init", "--out", &at("plant"), "--name", "registrar.example", "--manufacturer-ca", &ca]);
        let port = masa.address.rsplit(':').next().unwrap();
        configure(&folder.path().join("plant/registrar.toml"), port);
        let registrar = start(&["registrar", "--config", &at("plant/registrar.toml")]);
        let proxy = start(&["join-proxy", "--listen", "127.0.0.1:0", "--registrar", &registrar.address, "--json"]);
        Self { folder, registrar, proxy, _masa: masa }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn pledge(&self, options: &[&str]) -> Outcome {
        let device = |ending: &str| self.path(&format!("device/{SERIAL}{ending}"));
        let mut command = terse();
        command.args(["pledge", "--idevid"]).arg(device(".pem")).arg("--key").arg(device(".key"));
        command.arg("--masa-ca").arg(device("-anchors.pem")).arg("--out").arg(self.path("credential"));
        command.args(options);
        run(command)
    }
}

/// Lets the registrar take all devices, and the MASA in the own network.
fn configure(path: &Path, masa_port: &str) {
    let text = fs::read_to_string(path).unwrap();
    let text = text.replace("[::]:8443", "127.0.0.1:0").replace("devices = \"ask\"", "devices = \"all\"");
    fs::write(path, format!("{text}masa_url = \"localhost:{masa_port}\"\n")).unwrap();
}

fn ok(arguments: &[&str]) {
    let mut command = terse();
    command.args(arguments);
    let outcome = run(command);
    assert_eq!(outcome.code, Some(0), "{arguments:?}: {outcome:#?}");
}

fn start(arguments: &[&str]) -> Server {
    let mut command = terse();
    command.args(arguments);
    Server::start(command)
}

#[test]
fn a_device_is_onboarded_uses_its_credential_and_renews_it() {
    let plant = Plant::start();
    let report = plant.pledge(&["--registrar", &plant.proxy.address, "--once", "--json"]).object();
    assert_eq!((&report["enrolled"], &report["reported"]), (&true.into(), &true.into()), "{report}");
    assert_eq!((report["serial_number"].as_str(), report["assertion"].as_str()), (Some(SERIAL), Some("proximity")));
    assert!(report["subject"].as_str().unwrap().contains(SERIAL));
    let phases: Vec<_> =
        report["phases"].as_array().unwrap().iter().map(|one| one["phase"].as_str().unwrap()).collect();
    for phase in ["connect", "request_voucher", "voucher_status", "cacerts", "csrattrs", "enroll", "connect_ldevid"] {
        assert!(phases.contains(&phase), "{phase}: {phases:?}");
    }
    // Every byte is one of a phase.
    let bytes = |phase: &str, way: &str| {
        let phases = report["phases"].as_array().unwrap();
        phases.iter().find(|one| one["phase"] == phase).and_then(|one| one[way].as_u64()).unwrap()
    };
    assert!(bytes("connect", "sent") > 500 && bytes("connect", "received") > 500, "{report}");
    assert!(bytes("request_voucher", "sent") > 1_000 && bytes("request_voucher", "received") > 1_000, "{report}");
    assert_eq!((bytes("make_key", "sent"), bytes("store", "received")), (0, 0));
    let sum: f64 = report["phases"].as_array().unwrap().iter().map(|one| one["ms"].as_f64().unwrap()).sum();
    assert!((sum - report["ms"].as_f64().unwrap()).abs() < 1.0, "{report}");
    #[cfg(unix)]
    assert_eq!(crate::common::mode(plant.path("credential/ldevid.pem")), 0o600);

    // It is not replaced, but renewed.
    let again = plant.pledge(&["--registrar", &plant.proxy.address, "--once"]);
    again.refused(1, &["ldevid.pem", "--renew"]);
    let before = fs::read(plant.path("credential/ldevid.pem")).unwrap();
    let mut renew = terse();
    renew.args(["pledge", "--renew", "--registrar", &plant.registrar.address, "--json", "--out"]);
    renew.arg(plant.path("credential"));
    let renewed = run(renew).object();
    assert_eq!((&renewed["renewed"], &renewed["subject"]), (&true.into(), &report["subject"]));
    assert_ne!(fs::read(plant.path("credential/ldevid.pem")).unwrap(), before);

    // It is a credential for TLS: a server of the domain knows the device by it.
    let [ldevid, ca] = ["credential/ldevid.pem", "credential/domain-ca.pem"].map(|name| plant.path(name));
    ok_issue(&plant);
    let mut server = terse();
    server.args(["server", "--listen", "127.0.0.1:0", "--require-client-cert", "--json", "--max-connections", "1"]);
    server.arg("--cert").arg(plant.path("broker.pem")).arg("--key").arg(plant.path("broker.key"));
    let server = Server::start({
        server.arg("--client-ca").arg(&ca);
        server
    });
    let mut client = terse();
    client.args(["client", "--connect", &server.address, "--server-name", "broker.plant.example", "--json"]);
    client.arg("--ca").arg(&ca).arg("--cert").arg(&ldevid).arg("--key").arg(&ldevid);
    run(client).object();
    assert_eq!(server.report()["peer"]["authenticated_by"], "certificate");

    #[cfg(unix)]
    {
        let (code, _) = plant.proxy.terminate();
        assert_eq!(code, Some(0));
    }
}

/// The chains of the IDevID, of the MASA and of the voucher are as long as those of `--chain`.
#[test]
fn a_device_with_the_longest_chain_is_onboarded() {
    let plant = Plant::with("p256", "8");
    let report = plant.pledge(&["--registrar", &plant.proxy.address, "--once", "--json"]).object();
    assert_eq!((&report["enrolled"], &report["reported"]), (&true.into(), &true.into()), "{report}");
    let idevid = fs::read_to_string(plant.path(&format!("device/{SERIAL}.pem"))).unwrap();
    assert_eq!(idevid.matches("BEGIN CERTIFICATE").count(), 7, "the root is not among them");
}

#[test]
fn a_device_of_a_manufacturer_with_ed25519_is_onboarded() {
    let plant = Plant::with("ed25519", "2");
    let options = ["--registrar", &plant.proxy.address, "--once", "--algorithm", "ed25519", "--json"];
    let report = plant.pledge(&options).object();
    assert_eq!((&report["enrolled"], &report["reported"]), (&true.into(), &true.into()), "{report}");
}

#[test]
fn a_join_proxy_uses_the_next_registrar_when_one_cannot_be_reached() {
    let plant = Plant::start();
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (first, second) = (["--registrar", &dead], ["--registrar", &plant.registrar.address]);
    let proxy = start(&[&["join-proxy", "--listen", "127.0.0.1:0"], &first[..], &second[..]].concat());
    let report = plant.pledge(&["--registrar", &proxy.address, "--once", "--json"]).object();
    assert_eq!(report["enrolled"], true, "{report}");
}

/// Issues the certificate of a server of the domain.
fn ok_issue(plant: &Plant) {
    let (ca, out) = (plant.path("plant/ca").display().to_string(), plant.path("").display().to_string());
    ok(&["pki", "issue", "broker.plant.example", "--server", "--ca", &ca, "--out", &out]);
    for ending in ["pem", "key"] {
        let issued = plant.path(&format!("broker.plant.example.{ending}"));
        fs::rename(issued, plant.path(&format!("broker.{ending}"))).unwrap();
    }
}

#[test]
fn a_pledge_that_fails_says_why_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    ok(&["masa", "init", "--out", &at("maker"), "--name", "localhost", "--listen", "127.0.0.1:0"]);
    ok(&["masa", "make-idevid", SERIAL, "--config", &at("maker/masa.toml"), "--out", &at("device")]);
    let configuration = format!(
        "idevid = \"device/{SERIAL}.pem\"\nkey = \"device/{SERIAL}.key\"\nmasa_ca = \"device/{SERIAL}-anchors.pem\"\n\
         out = \"credential\"\n"
    );
    fs::write(at("pledge.toml"), &configuration).unwrap();
    let pledge = |options: &[&str]| {
        let mut command = terse();
        command.arg("pledge").args(options);
        run(command)
    };
    // Nobody listens at port 1.
    let nobody = pledge(&["--config", &at("pledge.toml"), "--registrar", "127.0.0.1:1", "--once"]);
    nobody.refused(1, &["127.0.0.1:1", "could not be made"]);
    assert_eq!(nobody.stderr.lines().count(), 1, "{nobody:?}");
    assert!(!folder.path().join("credential/ldevid.pem").exists());
    // Wrong use.
    pledge(&["--out", "x"]).refused(2, &[]);
    pledge(&["--config", &at("pledge.toml"), "--registrar", "nowhere"]).refused(2, &["HOST:PORT"]);
    pledge(&["--renew", "--out", &at("credential")]).refused(2, &[]);
    let config = at("pledge.toml");
    let renew = ["--renew", "--out", &at("credential"), "--registrar", "127.0.0.1:1"];
    pledge(&[&renew[..], &["--dtls", "1.2"]].concat()).refused(2, &["--form coaps"]);
    pledge(&[&renew[..], &["--form", "coaps"]].concat()).refused(1, &["ldevid.pem"]);
    pledge(&["--config", &config, "--dtls", "1.2"]).refused(2, &["--form coaps"]);
    pledge(&["--config", &config, "--form", "https", "--proximity", "pubk"]).refused(2, &["--form coaps"]);
    pledge(&["--config", &config, "--credentials", "identity-key"]).refused(2, &["--form coaps"]);
    pledge(&["--config", &config, "--form", "any", "--credentials", "identity-key"]).refused(2, &["--form coaps"]);
    let without_certificates = ["--config", &config, "--form", "coaps", "--credentials", "identity-key"];
    pledge(&[&without_certificates[..], &["--proximity", "cert"]].concat()).refused(2, &["--proximity cert"]);
    pledge(&["--config", &config, "--form", "coap"]).refused(2, &["--form", "coap"]);
    pledge(&["--config", &config, "--form", "coaps", "--dtls", "1.1"]).refused(2, &["--dtls", "1.1"]);
    // Files that are wrong.
    fs::write(at("pledge.toml"), format!("{configuration}colour = 1\n")).unwrap();
    pledge(&["--config", &at("pledge.toml")]).refused(1, &["pledge.toml", "line 5", "colour"]);
    fs::write(at("pledge.toml"), configuration.replace("-anchors", "-nothing")).unwrap();
    pledge(&["--config", &at("pledge.toml")]).refused(1, &["WI-3005-nothing.pem"]);
    pledge(&["--renew", "--out", &at("credential"), "--registrar", "127.0.0.1:1"]).refused(1, &["ldevid.pem"]);
}

/// `make-idevid` and `join-proxy init` write configurations that work as they are, but for addresses of this machine.
#[test]
fn a_device_and_a_join_proxy_run_from_their_configurations() {
    let plant = Plant::start();
    let at = |name: &str| plant.path(name).display().to_string();
    let init = ["join-proxy", "init", "--out", &at("proxy"), "--registrar", &plant.registrar.address];
    ok(&init);
    let config = at("proxy/join-proxy.toml");
    let text = fs::read_to_string(&config).unwrap();
    let text = text.replace("[::]:8443", "127.0.0.1:0").replace("announce = true", "announce = false");
    fs::write(&config, &text).unwrap();
    let check = |arguments: &[&str]| {
        let mut command = terse();
        command.args(arguments).arg("--json");
        run(command)
    };
    assert_eq!(check(&["join-proxy", "check", "--config", &config]).object()["warnings"], serde_json::json!([]));
    let proxy = start(&["join-proxy", "--config", &config]);

    let device = at(&format!("device/{SERIAL}.toml"));
    assert_eq!(check(&["pledge", "check", "--config", &device]).object()["serial_number"], SERIAL);
    let report = check(&["pledge", "--config", &device, "--registrar", &proxy.address, "--once"]).object();
    assert_eq!(report["enrolled"], true, "{report}");
    assert!(plant.path("device/credential/ldevid.pem").exists());
    let again = check(&["pledge", "check", "--config", &device]).object();
    assert!(again["warnings"][0].as_str().unwrap().contains("has a credential already"), "{again}");
}

#[test]
fn a_device_for_coaps_is_checked_in_its_form() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    ok(&["masa", "init", "--out", &at("maker"), "--name", "localhost", "--listen", "127.0.0.1:0"]);
    ok(&["masa", "make-idevid", SERIAL, "--config", &at("maker/masa.toml"), "--out", &at("device")]);
    let config = at(&format!("device/{SERIAL}.toml"));
    let written = fs::read_to_string(&config).unwrap();
    let check = |keys: &str| {
        fs::write(&config, format!("{written}\n{keys}\n")).unwrap();
        let mut command = terse();
        command.args(["pledge", "check", "--json", "--config", &config]);
        run(command)
    };
    assert_eq!(check("").object()["form"], "https");
    let coaps = check("form = \"coaps\"\ndtls = \"1.2\"\nproximity = \"cert\"").object();
    assert_eq!((&coaps["form"], coaps["serial_number"].as_str()), (&"coaps".into(), Some(SERIAL)));
    check("dtls = \"1.2\"").refused(1, &["form = \"coaps\""]);
    check("form = \"coaps\"\nproximity = \"key\"").refused(1, &["pubk-sha256"]);
}

/// What cannot be sent at all ends the attempt, with the place and the reason.
#[test]
fn a_device_for_coaps_that_finds_no_way_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    ok(&["masa", "init", "--out", &at("maker"), "--name", "localhost", "--listen", "127.0.0.1:0"]);
    ok(&["masa", "make-idevid", SERIAL, "--config", &at("maker/masa.toml"), "--out", &at("device")]);
    let mut command = terse();
    command.args(["pledge", "--config", &at(&format!("device/{SERIAL}.toml")), "--form", "coaps", "--once"]);
    let outcome = run({
        command.args(["--registrar", "[fe80::1%nowhere]:5684"]);
        command
    });
    outcome.refused(1, &["[fe80::1%nowhere]:5684", "could not be made"]);
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
}

#[test]
fn a_check_of_a_device_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    ok(&["masa", "init", "--out", &at("maker"), "--name", "localhost", "--listen", "127.0.0.1:0"]);
    for serial in [SERIAL, "WI-3006"] {
        ok(&["masa", "make-idevid", serial, "--config", &at("maker/masa.toml"), "--out", &at("device")]);
    }
    let check = || {
        let mut command = terse();
        command.args(["pledge", "check", "--config", &at(&format!("device/{SERIAL}.toml"))]);
        run(command)
    };
    assert_eq!(check().code, Some(0));
    let (key, other) = (at(&format!("device/{SERIAL}.key")), at("device/WI-3006.key"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(check().stdout.contains("chmod 600"));
    }
    fs::copy(other, &key).unwrap();
    check().refused(1, &[SERIAL]);
    fs::remove_file(&key).unwrap();
    check().refused(1, &[&format!("{SERIAL}.key")]);
}
