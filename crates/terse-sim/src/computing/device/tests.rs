use super::*;
use crate::computing::SignatureKey;

const FILE: &str = r#"
[sensor]
description = "A sensor"
source = "A stopwatch"
[sensor.microseconds]
x25519-agree = 26_000
ed25519-sign = 0.5
sha-256-per-kb = 0.7
[sensor.notes]
ed25519-sign = "guessed"
"#;

fn sensor() -> Arc<Device> {
    Devices::parse(FILE).unwrap().find("sensor").unwrap().clone()
}

#[test]
fn times_are_those_of_the_file() {
    let sensor = sensor();
    assert_eq!((&*sensor.description, &*sensor.source), ("A sensor", "A stopwatch"));
    let x25519 = Operation::Agree(terse_tls::NamedGroup::X25519);
    let sign = Operation::Sign(SignatureKey::Ed25519);
    assert_eq!(sensor.time_of(x25519), Some(Duration::from_millis(26)));
    assert_eq!(sensor.time_of(sign), Some(Duration::from_nanos(500)));
    assert_eq!(sensor.time_of(Operation::Pairing), None);
    assert_eq!((sensor.note_on(sign), sensor.note_on(x25519)), (Some("guessed"), None));
    assert_eq!(sensor.operations().count(), 3);
}

#[test]
fn the_time_of_a_piece_of_work_is_the_sum_of_its_operations() {
    let x25519 = Operation::Agree(terse_tls::NamedGroup::X25519);
    let sign = Operation::Sign(SignatureKey::Ed25519);
    let counts = Counts::from_iter([(x25519, 2), (sign, 3), (Operation::Sha256, 64)]);
    // 0.7 µs for 1,000 bytes are 44.8 ns for 64.
    assert_eq!(sensor().time(&counts), Ok(Duration::from_nanos(52_000_000 + 1_500 + 44)));
    assert_eq!(sensor().time(&Counts::default()), Ok(Duration::ZERO));
}

#[test]
fn an_operation_without_a_time_is_never_free() {
    let rsa = Operation::Verify(SignatureKey::Rsa(2048));
    let counts = Counts::from_iter([(Operation::Sha256, 64), (rsa, 1)]);
    let error = sensor().time(&counts).unwrap_err();
    assert_eq!(error, NoTime { device: "sensor".into(), operation: rsa });
    assert_eq!(error.to_string(), "the device sensor has no time for rsa-2048-verify");
}

#[test]
fn files_that_are_wrong_are_refused_with_the_cause() {
    let of = |line: &str| FILE.replace("x25519-agree = 26_000", line);
    for (file, cause) in [
        (of("x25519-agre = 1"), "device sensor: x25519-agre is no operation; these are: x25519-generate"),
        (of("x25519-agree = -1"), "the time of x25519-agree must be 0 to"),
        (of("x25519-agree = nan"), "the time of x25519-agree must be 0 to"),
        (of("x25519-agree = \"fast\""), "invalid type"),
        (of("x25519-agree = 1\nx25519-agree = 2"), "duplicate key"),
        (FILE.replace("ed25519-sign = 0.5", ""), "there is a note on ed25519-sign, but no time"),
        (FILE.replace("source", "sauce"), "unknown field"),
        (FILE.replace("source = \"A stopwatch\"", ""), "missing field"),
    ] {
        let error = Devices::parse(&file).unwrap_err().to_string();
        assert!(error.contains(cause), "{error}");
    }
}

#[test]
fn a_file_adds_devices_and_replaces_those_of_the_same_name() {
    let mut devices = Devices::built_in();
    let count = devices.iter().count();
    devices.add(Devices::parse(&(FILE.to_owned() + &FILE.replace("sensor", "cortex-m4"))).unwrap());
    assert_eq!(devices.iter().count(), count + 1);
    assert_eq!(devices.find("cortex-m4").unwrap().source, "A stopwatch");
}

/// A Cortex-M lacks what nobody measured; a server has everything.
#[test]
fn the_devices_that_come_along_are_read() {
    Devices::parse(include_str!("../../../devices.toml")).unwrap();
    let devices = Devices::built_in();
    let names: Vec<&str> = devices.iter().map(|device| &*device.name).collect();
    for name in ["cortex-m3", "cortex-m4", "cortex-m4-assembly"] {
        let device = devices.find(name).unwrap_or_else(|| panic!("{name} in {names:?}"));
        assert!(device.time_of(Operation::Pairing) > Some(Duration::from_secs(1)), "{name}");
        assert_eq!(device.time_of(Operation::Aes128Gcm), None, "{name}");
    }
    for name in ["server", "server-rustcrypto"] {
        let device = devices.find(name).unwrap_or_else(|| panic!("{name} in {names:?}"));
        for operation in Operation::ALL {
            assert!(device.time_of(operation) > Some(Duration::ZERO), "{name}: {operation}");
        }
    }
    for device in devices.iter() {
        assert!(!device.source.is_empty() && !device.description.is_empty(), "{}", device.name);
    }
}
