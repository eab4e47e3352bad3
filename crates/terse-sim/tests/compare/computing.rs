//! Computing time: the operations that are counted are those of the protocols, and they delay what depends on them, and
//! nothing else.

use std::sync::Arc;

use terse_sim::compare::{Measured, Sides, Times};
use terse_sim::computing::{Counts, Device, Devices, NoTime, Operation, SignatureKey, counting};
use terse_tls::crypto::CryptoProvider;

use super::*;

const P256: SignatureKey = SignatureKey::EcdsaP256;
const X25519: NamedGroup = NamedGroup::X25519;

/// Returns parties with these certificates whose operations are counted.
fn counted(provider: &'static CryptoProvider, chain: &str) -> Comparison {
    comparison(counting(provider).unwrap(), chain, 1)
}

/// With certificates on P-256, made once.
fn p256() -> &'static Comparison {
    static COUNTED: LazyLock<Comparison> = LazyLock::new(|| counted(&terse_aws_lc::PROVIDER, "p256x3"));
    &COUNTED
}

/// Returns a device on which an operation takes so many microseconds; all others take none.
fn device(times: &[(Operation, u32)]) -> Arc<Device> {
    let mut file =
        String::from("[device]\ndescription = \"a device\"\nsource = \"this test\"\n[device.microseconds]\n");
    for operation in Operation::ALL {
        let time = times.iter().find(|(timed, _)| *timed == operation).map_or(0, |(_, time)| *time);
        file += &format!("{operation} = {time}\n");
    }
    Devices::parse(&file).unwrap().find("device").unwrap().clone()
}

/// Returns the same device for both sides.
fn both(device: Arc<Device>) -> Option<Sides<Arc<Device>>> {
    Some(Sides { client: device.clone(), server: device })
}

fn measure(comparison: &Comparison, setting: &Setting) -> Measured {
    comparison.measure(setting, &mut Unwatched).unwrap_or_else(|error| panic!("{}: {error}", setting.mode))
}

/// Returns the counts without those of bytes.
fn operations(counts: &Counts) -> Vec<(Operation, u64)> {
    counts.iter().filter(|(operation, _)| !operation.is_on_bytes()).collect()
}

/// The signatures in a chain of three, of which the root is not sent, and that of the handshake.
const OF_CHAIN: u64 = 3;

#[test]
fn the_operations_of_each_mode_are_counted() {
    for version in Version::ALL {
        for mode in Mode::ALL.into_iter().filter(|mode| mode.exists_in(version)) {
            let setting = Setting { devices: both(device(&[])), ..setting(version, mode, Link::lossless()) };
            let Sides { client, server } = measure(p256(), &setting).computed;
            // What each side verifies, and whether it signs; an agreement on a key; the operations on identity keys.
            let exchange = vec![(Operation::Generate(X25519), 1), (Operation::Agree(X25519), 1)];
            let signed = |verified: u64| {
                let signatures = [(Operation::Sign(P256), 1), (Operation::Verify(P256), verified)];
                [exchange.clone(), signatures.to_vec()].concat()
            };
            let is_12 = matches!(version, Version::Tls12 | Version::Dtls12);
            let of_ristretto = vec![(Operation::Ristretto255Multiply, 5), (Operation::Ristretto255MultiplyBase, 1)];
            let of_bls = |hashes_to_g1: &[(Operation, u64)]| {
                let rest = [(Operation::Bls12381HashToG2, 1), (Operation::Pairing, 3)];
                [&[(Operation::Bls12381G1Multiply, 3)], hashes_to_g1, &rest].concat()
            };
            let (of_client, of_server) = match mode {
                Mode::Full => (signed(OF_CHAIN), signed(OF_CHAIN)),
                Mode::Rfc7924 => (signed(1), signed(OF_CHAIN)),
                Mode::Bithac | Mode::Compact => (signed(1), signed(1)),
                Mode::Resumed if is_12 => (Vec::new(), Vec::new()),
                Mode::Resumed | Mode::Psk => (exchange.clone(), exchange),
                Mode::IdentityFirst | Mode::Identity => (of_ristretto.clone(), of_ristretto),
                Mode::IdentityBls12381 => (of_bls(&[]), of_bls(&[(Operation::Bls12381HashToG1, 1)])),
            };
            assert_eq!(operations(&client), of_client, "{version} {mode}: the client");
            assert_eq!(operations(&server), of_server, "{version} {mode}: the server");
            for counts in [client, server] {
                assert!(counts.of(Operation::Sha256) > 1_000, "{version} {mode}: {counts:?}");
                let of_psk12 = counts.of(Operation::Aes128Ccm);
                let records = counts.of(Operation::Aes128Gcm) + of_psk12;
                // The messages of the application, the goodbye and Finished at least, in each direction.
                assert!(records > 14 + 22 + 2 * 2 + 2 * 12, "{version} {mode}: {counts:?}");
                assert_eq!(of_psk12 > 0, is_12 && mode == Mode::Psk, "{version} {mode}: {counts:?}");
            }
        }
    }
}

/// Early data of an identity: the terms under a ticket are computed for it, and only two or three more for the handshake.
#[test]
fn the_operations_of_early_data_are_counted() {
    let ristretto255 =
        |multiply, base| vec![(Operation::Ristretto255Multiply, multiply), (Operation::Ristretto255MultiplyBase, base)];
    let bls = |g1, hash_to_g1: &[(Operation, u64)], hash_to_g2| {
        let rest = [(Operation::Bls12381HashToG2, hash_to_g2), (Operation::Pairing, 3)];
        [&[(Operation::Bls12381G1Multiply, g1)], hash_to_g1, &rest].concat()
    };
    for (mode, of_client, of_server) in [
        // Five for all terms with the ticket, and two or three with the new ephemeral key; the server restores one key, makes
        // one, and makes one for the next ticket.
        (Mode::Identity, ristretto255(5 + 2, 1), ristretto255(5 + 3, 3)),
        (Mode::IdentityFirst, ristretto255(3 + 2, 1), ristretto255(3 + 3, 1)),
        (Mode::IdentityBls12381, bls(3, &[], 1), bls(3, &[(Operation::Bls12381HashToG1, 1)], 1)),
    ] {
        for version in [Version::Tls13, Version::Dtls13] {
            let exchange = Exchange { early_data: true, ..Exchange::default() };
            let setting = Setting { devices: both(device(&[])), exchange, ..setting(version, mode, Link::lossless()) };
            let Measured { computed: Sides { client, server }, row, .. } = measure(p256(), &setting);
            assert!(row.early_data, "{version} {mode}");
            assert_eq!(operations(&client), of_client, "{version} {mode}: the client");
            assert_eq!(operations(&server), of_server, "{version} {mode}: the server");
        }
    }
}

/// Counting, and a device that takes no time for anything, change nothing: not a byte, and not a nanosecond.
#[test]
fn without_time_for_computing_nothing_changes() {
    // RustCrypto signs without randomness of its own, so that all bytes are the same.
    let certificates = Certificates::new("p256x3");
    let of = |provider| Comparison {
        parties: parties(provider, &certificates),
        ..comparison(&terse_rustcrypto::PROVIDER, "p256x3", 2)
    };
    let (plain, counting) = (of(&terse_rustcrypto::PROVIDER), of(counting(&terse_rustcrypto::PROVIDER).unwrap()));
    let link = Link::ethernet(576).with_paths(|path| path.loss = 0.1);
    for version in Version::ALL {
        for mode in [Mode::Full, Mode::Compact, Mode::Resumed, Mode::Identity] {
            let setting = setting(version, mode, link.clone());
            if !mode.exists_in(version) {
                continue;
            }
            let on_device = Setting { devices: both(device(&[])), ..setting.clone() };
            let of = |comparison: &Comparison, setting| {
                let Measured { row, capture, computed } = measure(comparison, setting);
                let row = Row { device: None, computing_ms: None, ..row };
                let was_computed = [computed.client, computed.server].map(|counts| !counts.is_empty());
                (serde_json::to_string(&row).unwrap(), capture.to_pcapng(), was_computed)
            };
            let (row, packets, was_computed) = of(&plain, &setting);
            assert_eq!(was_computed, [false, false], "{version} {mode}: without a device nothing is counted");
            assert!(of(&counting, &setting) == (row.clone(), packets.clone(), [false, false]), "{version} {mode}");
            assert!(of(&counting, &on_device) == (row, packets, [true, true]), "{version} {mode}");
        }
    }
}

/// The microseconds that a device takes for the operations of a handshake with certificates.
#[derive(Clone, Copy)]
struct Costs {
    generate: u32,
    agree: u32,
    sign: u32,
    verify: u32,
}

impl Costs {
    /// A device that is slow, and one that is fast. No sum of some of their times is one of others.
    const OF_CLIENT: Self = Self { generate: 26_001, agree: 26_020, sign: 125_300, verify: 146_007 };
    const OF_SERVER: Self = Self { generate: 31, agree: 53, sign: 17, verify: 59 };

    fn device(self) -> Arc<Device> {
        let Self { generate, agree, sign, verify } = self;
        let x25519 = [(Operation::Generate(X25519), generate), (Operation::Agree(X25519), agree)];
        device(&[x25519, [(Operation::Sign(P256), sign), (Operation::Verify(P256), verify)]].concat())
    }
}

/// By hand: the operations on the critical path, each times its cost, and the delays of the network.
#[test]
fn a_handshake_takes_the_time_of_its_operations_and_of_its_packets() {
    const DELAY: u32 = 10_000;
    let (client, server) = (Costs::OF_CLIENT, Costs::OF_SERVER);
    let devices = Some(Sides { client: client.device(), server: server.device() });
    let link = Link::lossless().with_paths(|path| path.delay = Duration::from_micros(DELAY.into()));
    let chain = OF_CHAIN as u32;
    for version in Version::ALL {
        // What the client computes before its hello, the server for its flight, the client for its own, and the server then.
        let computing = match version {
            Version::Tls13 | Version::Dtls13 => [
                client.generate,
                server.generate + server.agree + server.sign,
                client.agree + chain * client.verify + client.sign,
                chain * server.verify,
            ],
            Version::Tls12 | Version::Dtls12 => [
                0,
                server.generate + server.sign,
                chain * client.verify + client.generate + client.agree + client.sign,
                server.agree + chain * server.verify,
            ],
        };
        let [hello, flight, answer, end] = computing;
        let is_stream = matches!(version, Version::Tls12 | Version::Tls13);
        // TCP's SYN takes a round trip before the server hears a hello, and the cookie of DTLS takes one after that.
        let first = 2 * DELAY;
        let server_connected = if is_stream { 0 } else { first } + flight + 2 * DELAY + answer + end;
        let is_13 = matches!(version, Version::Tls13 | Version::Dtls13);
        let connected = first + hello + DELAY + flight + DELAY + answer + if is_13 { 0 } else { DELAY + end + DELAY };
        let replied = connected + if is_13 { DELAY + end + DELAY } else { 2 * DELAY };

        let setting = Setting { devices: devices.clone(), ..setting(version, Mode::Full, link.clone()) };
        let row = measure(p256(), &setting).row;
        let microseconds = |milliseconds: f64| {
            let nanoseconds = (milliseconds * 1e6).round() as u64;
            assert_eq!(nanoseconds % 1_000, 0, "{version}: {milliseconds} ms");
            u32::try_from(nanoseconds / 1_000).unwrap()
        };
        let Times { connected: is_connected, replied: has_reply, server_connected: is_server_connected, .. } =
            row.time_ms;
        assert_eq!(microseconds(is_connected), connected, "{version}: the client");
        assert_eq!(microseconds(has_reply), replied, "{version}: the reply");
        assert_eq!(microseconds(is_server_connected), server_connected, "{version}: the server");
        let computed = row.computing_ms.unwrap().map(microseconds);
        assert_eq!(computed, Sides { client: hello + answer, server: flight + end }, "{version}");
        let name = || "device".to_owned();
        assert_eq!(row.device, Some(Sides { client: name(), server: name() }));
    }
}

/// The time of hashes and records, too, is that of the counts.
#[test]
fn computing_takes_the_time_of_what_was_counted() {
    // A microsecond for 1,000 bytes is a nanosecond for one, so that nothing is rounded.
    let bytes = [(Operation::Sha256, 1), (Operation::Aes128Gcm, 1), (Operation::Agree(X25519), 7)];
    let device = device(&bytes);
    for version in Version::ALL {
        let setting = Setting { devices: both(device.clone()), ..setting(version, Mode::Full, Link::lossless()) };
        let Measured { row, computed, .. } = measure(p256(), &setting);
        let expected = computed.map(|counts| {
            let nanoseconds = counts.of(Operation::Sha256) + counts.of(Operation::Aes128Gcm) + 7_000;
            assert_eq!(device.time(&counts), Ok(Duration::from_nanos(nanoseconds)));
            nanoseconds
        });
        let computing = row.computing_ms.unwrap();
        assert_eq!(computing.map(|milliseconds| (milliseconds * 1e6).round() as u64), expected, "{version}");
        let Times { connected, closed, .. } = row.time_ms;
        assert!(connected > 0.014 && connected < closed && closed <= computing.client + computing.server, "{version}");
    }
}

/// TCP acknowledges while the program computes, so that nobody sends anything again.
#[test]
fn the_transport_goes_on_while_the_engine_computes() {
    let slow = device(&[(Operation::Sign(P256), 20_000_000)]);
    for version in [Version::Tls12, Version::Tls13] {
        let on = |devices| Setting { devices, ..setting(version, Mode::Full, Link::ethernet(576)) };
        let (row, without) = (measure(p256(), &on(both(slow.clone()))).row, measure(p256(), &on(None)).row);
        assert!(row.time_ms.connected > 40_000.0, "{version}: each side signs: {:?}", row.time_ms);
        assert_eq!((row.retransmissions, row.lost), (0, 0), "{version}");
        assert!(row.pure_acks > without.pure_acks, "{version}: {} {}", row.pure_acks, without.pure_acks);
        let lengths_of_signatures = 2 * 8;
        assert!(row.bytes.tls.abs_diff(without.bytes.tls) < lengths_of_signatures, "{version}");
    }
}

/// A client of DTLS that hears nothing asks again, and what it sends meanwhile waits until the server is done; its own timer
/// begins when its flight leaves, however long it computed.
#[test]
fn timers_of_dtls_count_from_when_a_flight_leaves() {
    for version in [Version::Dtls12, Version::Dtls13] {
        let on = |devices| Setting { devices, ..setting(version, Mode::Full, Link::lossless()) };
        let slow_server = Sides { client: device(&[]), server: device(&[(Operation::Sign(P256), 5_000_000)]) };
        let row = measure(p256(), &on(Some(slow_server))).row;
        assert!(row.retransmissions > 0, "{version}: nobody waited for five seconds");
        assert!((5_000.0..5_001.0).contains(&row.time_ms.server_connected), "{version}: {:?}", row.time_ms);
        let slow_client = Sides { client: device(&[(Operation::Generate(X25519), 5_000_000)]), server: device(&[]) };
        let row = measure(p256(), &on(Some(slow_client))).row;
        // In DTLS 1.2 the client makes its key after the server's flight, which the server repeats meanwhile.
        assert_eq!(row.retransmissions > 0, version == Version::Dtls12, "{version}");
        assert_eq!(row.time_ms.connected, 5_000.0, "{version}");
    }
}

/// The connection before the one that is measured needs no times.
#[test]
fn only_what_is_measured_needs_times() {
    let file = "[sensor]\ndescription = \"a sensor\"\nsource = \"this test\"\n[sensor.microseconds]\n\
        x25519-generate = 1\nx25519-agree = 1\nsha-256-per-kb = 1\naes-128-gcm-per-kb = 1\n";
    let sensor = Devices::parse(file).unwrap().find("sensor").unwrap().clone();
    let on = |mode| Setting { devices: both(sensor.clone()), ..setting(Version::Tls13, mode, Link::lossless()) };
    assert!(p256().measure(&on(Mode::Resumed), &mut Unwatched).is_ok());
    let no_time = NoTime { device: "sensor".into(), operation: Operation::Sign(P256) };
    let failed = p256().measure(&on(Mode::Compact), &mut Unwatched).map(|_| ());
    assert_eq!(failed, Err(Failed::NoTime(no_time)), "it is said, and not free");
}

/// A run on a device never takes operations for free because nobody counted them.
#[test]
fn parties_that_are_not_counted_are_refused() {
    let certificates = Certificates::new("p256x3");
    let plain = parties(&terse_aws_lc::PROVIDER, &certificates);
    let with_keys_of_plain = {
        let mut parties = parties(counting(&terse_aws_lc::PROVIDER).unwrap(), &certificates);
        parties.client.credentials(plain.client.config().credentials());
        parties
    };
    for (parties, modes) in [(plain, &[Mode::Full, Mode::Psk][..]), (with_keys_of_plain, &[Mode::Full])] {
        let comparison = Comparison { parties, ..p256().clone() };
        for mode in modes {
            let setting = Setting { devices: both(device(&[])), ..setting(Version::Tls13, *mode, Link::lossless()) };
            let failed = comparison.measure(&setting, &mut Unwatched).map(|_| ());
            assert_eq!(failed, Err(Failed::NotCounted), "{mode}");
            assert!(comparison.measure(&Setting { devices: None, ..setting }, &mut Unwatched).is_ok(), "{mode}");
        }
    }
}

/// docs/simulator.md, its table of a Cortex-M4 and a server, and what is said about it.
#[test]
fn a_cortex_m4_takes_the_times_of_the_page() {
    let devices = Devices::built_in();
    let device = |name| devices.find(name).unwrap().clone();
    let devices = Some(Sides { client: device("cortex-m4"), server: device("server") });
    let mut comparison = p256().clone();
    for common in [comparison.parties.client.common_mut(), comparison.parties.server.common_mut()] {
        common.set_suites([CipherSuite::TLS_AES_128_CCM_SHA256]);
    }
    for (mode, connected, of_client, of_server) in [
        (Mode::Full, 639.0, 639.0, 0.2),
        (Mode::Rfc7924, 340.0, 339.0, 0.2),
        (Mode::Bithac, 332.0, 332.0, 0.1),
        (Mode::Compact, 331.0, 331.0, 0.1),
        (Mode::Resumed, 59.0, 60.0, 0.0),
        (Mode::Psk, 59.0, 59.0, 0.0),
        (Mode::Identity, 174.0, 174.0, 0.2),
        (Mode::IdentityBls12381, 4_890.0, 4_888.0, 1.8),
    ] {
        let on = |version, devices| Setting { devices, ..setting(version, mode, Link::ethernet(1500)) };
        let row = measure(&comparison, &on(Version::Tls13, devices.clone())).row;
        let (times, computing) = (row.time_ms, row.computing_ms.unwrap());
        // Names and signatures differ in length, by some bytes.
        let is_near = |value: f64, page: f64, by: f64| (value - page).abs() < by;
        assert!(is_near(times.connected, connected, 1.0), "{mode}: {times:?}");
        assert!(is_near(computing.client, of_client, 1.0), "{mode}: {computing:?}");
        assert!(is_near(computing.server, of_server, 0.06), "{mode}: {computing:?}");
        // A peer that waits too long repeats its flight.
        let packets = |devices| measure(&comparison, &on(Version::Dtls13, devices)).row.packets;
        let more = if mode == Mode::IdentityBls12381 { 2 } else { 0 };
        assert_eq!(packets(devices.clone()), packets(None) + more, "{mode}");
    }
}

/// docs/simulator.md: what nobody measured on a Cortex-M.
#[test]
fn a_cortex_m_has_no_time_for_what_nobody_measured() {
    let devices = Devices::built_in();
    for name in ["cortex-m3", "cortex-m4", "cortex-m4-assembly"] {
        let device = devices.find(name).unwrap();
        let has = |operation: &Operation| device.time_of(*operation).is_some();
        let missing = Operation::ALL.iter().filter(|operation| !has(operation)).map(Operation::to_string);
        let known = ["rsa-", "ecdsa-p384", "secp384r1", "gcm", "ml-kem", "hash-to-g1", "sha-384", "chacha20"];
        for operation in missing {
            assert!(known.iter().any(|name| operation.contains(name)), "{name}: {operation}");
        }
    }
}
