//! Client against server over datagrams, which may be lost, doubled, late and damaged.

extern crate alloc;

mod endpoint;
mod trace;

use alloc::sync::Arc;

use terse_testkit::datagrams::DatagramPair;
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::Datagrams;

/// The fastest.
const PROVIDER: &terse_tls::crypto::CryptoProvider = &terse_aws_lc::PROVIDER;

fn pair(setup: &Setup, seed: u64) -> DatagramPair {
    DatagramPair::new(&Arc::new(setup.client.clone()), &Arc::new(setup.server.clone()), seed)
}

#[test]
fn a_handshake_on_a_good_path() {
    for max_datagram in [72, 99, 228, 548, 1232, 1472] {
        let datagrams = Datagrams { max_datagram, ..Datagrams::default() };
        let setup = Setup::mutual(PROVIDER, PROVIDER, "p256x3").over(datagrams);
        let mut pair = pair(&setup, 1);
        pair.run_well().unwrap();
        assert!(pair.client.is_connected() && pair.server.is_connected());
        for datagram in &pair.sent {
            assert!(datagram.bytes.len() <= max_datagram);
        }
        let summary = pair.client.summary();
        println!(
            "{max_datagram}: {} datagrams, {} + {} B {:?}",
            pair.sent.len(),
            summary.sent.record_bytes,
            summary.received.record_bytes,
            summary.dropped
        );
        pair.send(Side::Client, b"hello").unwrap();
        pair.send(Side::Server, b"welcome").unwrap();
        pair.run_well().unwrap();
        assert_eq!(pair.received, [[b"welcome".to_vec()], [b"hello".to_vec()]]);
    }
}
