//! Two manufacturers whose devices have the same serial number, and configurations that are refused.

use terse_net::Clock;
use terse_onboard::registrar::config::Config;
use terse_onboard::registrar::{OperatorError, Service, check};

use super::scripted_masa::ScriptedMasa;
use super::world::{Device, SERIAL, World, authority};

#[tokio::test]
async fn one_serial_number_of_two_manufacturers_is_two_devices() {
    let world = World::with("devices = \"ask\"").await;
    let other = authority("Other");
    let other_masa = ScriptedMasa::start(&other).await;
    std::fs::write(world.folder.path().join("registrar/other.pem"), other.root_pem()).unwrap();
    let text = std::fs::read_to_string(world.config()).unwrap();
    let masa_url = other_masa.address;
    let more = format!("[[manufacturer]]\nname = \"other\"\nanchors = \"other.pem\"\nmasa_url = \"{masa_url}\"\n");
    std::fs::write(world.config(), text + &more).unwrap();

    let registrar = world.start().await;
    let devices = [world.device(SERIAL), Device::new(&other, SERIAL)];
    let mut requests = Vec::new();
    for device in &devices {
        let mut pledge = device.connect(&registrar).await;
        let request = device.voucher_request(&pledge);
        assert_eq!(pledge.request_voucher(&request).await.status, 202);
        requests.push((pledge, request));
    }
    let operator = world.operator().await;
    assert_eq!(operator.pending().await.unwrap().len(), 2);
    let Err(OperatorError::Ambiguous(makers)) = operator.accept(SERIAL, None).await else { panic!("not ambiguous") };
    assert_eq!(makers, ["maker", "other"]);
    operator.accept(SERIAL, Some("other")).await.unwrap();
    let (pledge, request) = &mut requests[0];
    assert_eq!(pledge.request_voucher(request).await.status, 202, "the other one was accepted");
    let (pledge, request) = &mut requests[1];
    assert_eq!(pledge.request_voucher(request).await.status, 200);
    operator.accept(SERIAL, Some("maker")).await.unwrap();

    // Each has its own certificate.
    let first = devices[0].enrol(&registrar).await;
    let second = devices[1].enrol(&registrar).await;
    assert_ne!(first, second);
    assert_eq!(operator.devices().await.unwrap().len(), 2);
    assert_eq!((world.masa.issued(), other_masa.issued()), (1, 2));
    registrar.stop().await;
}

#[tokio::test]
async fn a_wrong_configuration_says_what_is_wrong() {
    let world = World::new().await;
    assert_eq!(check(&world.config(), Clock::new()).await.unwrap(), [] as [String; 0]);
    let good = std::fs::read_to_string(world.config()).unwrap();
    let line = 1 + good.lines().position(|line| line == "name = \"maker\"").unwrap();
    for (from, to, part) in [
        ("listen", "lisen", "line 1: unknown field `lisen`"),
        ("name = \"maker\"", "name = 1", &*format!("line {line}: ")),
        ("key = \"registrar.key\"", "key = \"none.key\"", "none.key"),
        ("key = \"registrar.key\"", "key = \"ca/ca.key\"", "registrar.pem"),
        ("ca = \"ca\"", "ca = \"none\"", "none"),
        ("ca = \"ca\"", "ca = \"ca\"\ndays = 0", "days is 0"),
        ("ca = \"ca\"", "ca = \"ca\"\nnames = [\"device.plant.example\"]", "{serial}"),
        ("[limits]", "[limits]\nconnections = 0", "connections is 0"),
        ("devices = \"all\"", "devices = \"some\"", "unknown variant"),
        ("devices = \"all\"", "masa_user = \"plant\"", "masa_password_file"),
        ("devices = \"all\"", "masa_key = \"registrar.key\"", "masa_chain"),
        ("devices = \"all\"", "audit = { known_domains = [\"xyz\"] }", "domainID"),
        ("manufacturer-ca.pem", "none.pem", "none.pem"),
    ] {
        std::fs::write(world.config(), good.replace(from, to)).unwrap();
        let error = check(&world.config(), Clock::new()).await.unwrap_err().to_string();
        assert!(error.contains(part), "{to}: {error}");
        assert!(!error.contains('\n'), "{error}");
        assert!(Service::open(&world.config(), Clock::new()).await.is_err());
    }
    let again = format!("{good}\n[[manufacturer]]\nname = \"maker\"\nanchors = \"manufacturer-ca.pem\"\n");
    std::fs::write(world.config(), again).unwrap();
    let error = check(&world.config(), Clock::new()).await.unwrap_err().to_string();
    assert!(error.contains("two manufacturers"), "{error}");
}

#[tokio::test]
async fn an_announcement_that_leads_nowhere_is_warned_of() {
    let world = World::new().await;
    world.change("listen = ", "announce = true\nlisten = ");
    let warnings = check(&world.config(), Clock::new()).await.unwrap();
    assert!(warnings.len() == 1 && warnings[0].contains("loopback"), "{warnings:?}");
    world.change("listen = \"127.0.0.1:0\"", "listen = \"[::]:0\"");
    assert!(check(&world.config(), Clock::new()).await.unwrap().is_empty());
}

#[test]
fn the_readme_has_every_key() {
    let readme = include_str!("../../README.md");
    let example = readme.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let path = std::path::Path::new("README.md");
    let config: Config = terse_onboard::config::parse(path, example).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(config.manufacturers.len(), 1);
    // The keys are the fields, as Debug names them; renamed are those that are lists of tables.
    let fields = format!("{config:#?}");
    let fields = fields.lines().filter_map(|line| line.trim().split_once(": ")).map(|(name, _)| name);
    for field in fields.filter(|field| field.bytes().all(|c| c.is_ascii_lowercase() || c == b'_')) {
        let is_named = |line: &str| line.starts_with(field) || line.starts_with(&format!("[{field}]"));
        let is_table = matches!(field, "manufacturers" | "users" | "audit" | "enrolment" | "est_server" | "limits");
        assert!(is_table || example.lines().any(is_named), "{field}");
    }
    // What the README calls a default is one.
    let least = "listen = \"[::]:8443\"\nchain = \"a\"\nkey = \"a\"\ndatabase = \"a\"\n[enrolment]\nca = \"a\"\n\
                 [[manufacturer]]\nname = \"maker\"\nanchors = \"a\"\n";
    let least: Config = terse_onboard::config::parse(path, least).unwrap();
    assert_eq!(format!("{:?}", least.limits), format!("{:?}", config.limits));
    let enrolment = config.enrolment.unwrap();
    assert!(enrolment.est_server.is_some());
    assert_eq!(enrolment.days, Some(365)); // exchange.rs looks at a certificate
    let (least, all) = (&least.manufacturers[0], &config.manufacturers[0]);
    assert_eq!((least.devices, least.serial_field), (all.devices, all.serial_field));
    assert_eq!((least.ignore_not_after, least.opaque_vouchers), (all.ignore_not_after, all.opaque_vouchers));
    assert_eq!((least.audit.ignore, least.audit.nonceless), (all.audit.ignore, all.audit.nonceless));
}
