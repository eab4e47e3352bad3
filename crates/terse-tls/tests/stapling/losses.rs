//! Both sides staple over datagrams, while every datagram is lost, doubled and late.

use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::cache::Schemes;
use terse_tls::summary::Staple;
use terse_tls::{Datagrams, Stapling};

use super::staples::{SCHEMES, TLS12, TLS13, server_asks, setup};

/// The sizes of datagrams that a Certificate with a response does not fit into, and that it fits into.
const SIZES: [usize; 2] = [256, 1_472];

/// Returns a setting in which both sides staple, as far as the version lets them.
fn mutual(version: terse_tls::ProtocolVersion, max_datagram: usize, schemes: Schemes) -> Setup {
    let mut setup = setup((version, true), Stapling::Require);
    if version == TLS13 {
        server_asks(&mut setup, Stapling::Require);
    }
    for side in Side::BOTH {
        setup.common(side).set_datagrams(Some(Datagrams::default().max_datagram(max_datagram)));
    }
    if schemes == Schemes::OFF { setup } else { setup.with_frozen_cache(schemes) }
}

#[test]
fn every_datagram_lost_doubled_and_late() {
    for (version, size) in [TLS12, TLS13].into_iter().flat_map(|version| SIZES.map(|size| (version, size))) {
        for (schemes, mode) in [SCHEMES[0], SCHEMES[3]] {
            let setup = mutual(version, size, schemes);
            let mut pair = setup.datagram_pair(7);
            pair.run_well().unwrap();
            for number in 0..pair.sent.len() {
                for copies in [0, 2, 3] {
                    let what = format!("D{version}, {size} bytes, {mode}, {copies} of {number}");
                    let mut pair = setup.datagram_pair(7);
                    pair.run(|datagram| match (datagram.number == number, copies) {
                        (false, _) => datagram.arrives(),
                        (true, 0) => Vec::new(),
                        (true, 2) => [datagram.arrives(), datagram.arrives()].concat(),
                        (true, _) => datagram.arrives_after(2_500),
                    })
                    .unwrap_or_else(|failed| panic!("{what}: {failed:?}"));
                    assert!(pair.client.is_connected() && pair.server.is_connected(), "{what}");
                    let (client, server) = (pair.client.summary(), pair.server.summary());
                    assert_eq!((client.mode, client.peer.staple), (mode, Staple::Good), "{what}");
                    let of_client = if version == TLS13 { Staple::Good } else { Staple::None };
                    assert_eq!((server.mode, server.peer.staple), (mode, of_client), "{what}");
                }
            }
        }
    }
}
