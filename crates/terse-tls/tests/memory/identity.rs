//! The heap of handshakes with identity keys: within [`Memory::DEVICE`], and near to that of handshakes with
//! certificates.

use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::summary::Mode;
use terse_tls::{Datagrams, Memory, ProtocolVersion};

use crate::caching::Ends;

/// The setup of a small device, with certificates that have keys on P-256.
fn device(datagrams: Option<Datagrams>) -> Setup {
    let provider = &terse_rustcrypto::PROVIDER;
    let mut setup = Setup::mutual(provider, provider, "p256x2").only(ProtocolVersion::TLS_1_3);
    let memory = Memory::DEVICE;
    for side in Side::BOTH {
        let common = setup.common(side);
        common.set_max_handshake_message(memory.max_handshake_message);
        common.set_max_record(memory.max_record);
        common.set_max_send_buffer(memory.max_send_buffer);
        common.set_record_size_limit(Some(memory.max_record as u16));
        common.set_datagrams(datagrams);
    }
    setup
}

/// The same with identity keys, whose stores are shared by all connections.
fn with_identities(algorithm: IdentityAlgorithm, datagrams: Option<Datagrams>, falls_back: bool) -> Setup {
    let mut setup = device(datagrams).with_identities(algorithm, falls_back);
    let (client, server, _) = setup.identities.take().expect("identities");
    setup.client.identity(client);
    setup.server.identity(server);
    setup
}

/// Returns the peaks of the client and the server.
fn peaks(setup: &Setup, cookie: bool, seed: u64) -> [i64; 2] {
    let (peaks, mode) = Ends::new(setup, cookie, seed).handshake();
    let has_identities = setup.client.config().identity().is_some();
    assert_eq!(mode, if has_identities { Mode::Identity } else { Mode::Full });
    peaks
}

/// What one side takes at most beyond a handshake with certificates: three elements of the target group of BLS12-381.
const BEYOND: i64 = 3 * 576;

#[test]
fn handshakes_fit_a_device_and_take_little_more_than_with_certificates() {
    for (datagrams, cookie) in [(false, false), (true, false), (true, true)] {
        let setting = datagrams.then(Datagrams::default);
        let heap = Memory::DEVICE.datagrams(datagrams).heap() as i64;
        let certificates = device(setting);
        peaks(&certificates, cookie, 0); // what is made once in a process
        let with_certificates = peaks(&certificates, cookie, 0);
        for algorithm in IdentityAlgorithm::ALL {
            for falls_back in [false, true] {
                peaks(&with_identities(algorithm, setting, falls_back), cookie, 0);
                let setup = with_identities(algorithm, setting, falls_back);
                // The first handshake fills the stores, and the second one finds what is in them.
                for seed in [1, 2] {
                    let peaks = peaks(&setup, cookie, seed);
                    let name = format!("{algorithm}, datagrams {datagrams}, cookie {cookie}, {seed}: {peaks:?}");
                    println!("{name}, with certificates {with_certificates:?}");
                    let beyond = if algorithm == IdentityAlgorithm::Bls12381 { BEYOND } else { 64 };
                    let finds_all = algorithm == IdentityAlgorithm::Ristretto255 && seed == 2;
                    for side in 0..2 {
                        assert!(peaks[side] <= heap, "{name}, {heap}");
                        assert!(peaks[side] <= with_certificates[side] + beyond, "{name}, {with_certificates:?}");
                        assert!(!finds_all || peaks[side] < with_certificates[side], "{name}, {with_certificates:?}");
                    }
                }
            }
        }
    }
}
