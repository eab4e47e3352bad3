//! A session that begins with a stapled response ends when the response ends, because a handshake that resumes it has no
//! other one.

use alloc::sync::Arc;

use terse_pki::OcspOptions;
use terse_testkit::datagrams::DatagramPair;
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::pki::{NOW, Pki};
use terse_testkit::setup::Setup;
use terse_tls::Stapling;
use terse_tls::summary::{Mode, Staple, Summary};

use super::staples::{CHAIN, PROTOCOLS, PROVIDER, TLS13, own, server_asks, setup};

/// How long the responses last, in seconds, which is less than sessions do.
const LASTS: u64 = 1_800;

/// Makes one connection `seconds` after [`NOW`], with data, and returns what the client and the server see of it.
fn connect(setup: &Setup, seconds: u64) -> [Summary; 2] {
    let (client, server) = (Arc::new(setup.client.build().unwrap()), Arc::new(setup.server.build().unwrap()));
    if setup.client.config().common().datagrams().is_some() {
        let mut pair = DatagramPair::at(&client, &server, seconds, at(seconds));
        pair.run_well().unwrap();
        pair.send(Side::Server, b"data").unwrap();
        pair.run_well().unwrap();
        return [pair.client.summary().clone(), pair.server.summary().clone()];
    }
    let mut pair = Pair::at(&client, &server, seconds, at(seconds));
    pair.handshake().unwrap();
    pair.carry(Side::Server, b"data").unwrap();
    [pair.client.summary().clone(), pair.server.summary().clone()]
}

/// Gives `side` a response that lasts until [`LASTS`] seconds after [`NOW`].
fn staple(setup: &Setup, side: Side) {
    let pki = Pki::shared(CHAIN);
    let leaf = if side == Side::Server { pki.server.leaf() } else { pki.client.leaf() };
    let options = OcspOptions { next_update: Some(NOW + LASTS), ..OcspOptions::good(NOW - 60, 1) };
    let response = pki.authority.ocsp_response(leaf, &options).unwrap();
    own(setup, side).set_staple(PROVIDER, Some(&response)).unwrap();
}

/// Connects in full, then resumed, then as `late` says, when the response has ended.
fn assert_modes(setup: &Setup, late: Mode, what: &str) {
    let mode = |seconds| connect(setup, seconds).map(|summary| summary.mode);
    assert_eq!(mode(0), [Mode::Full; 2], "{what}");
    let [client, server] = connect(setup, LASTS - 1);
    assert_eq!((client.mode, server.mode), (Mode::Resumed, Mode::Resumed), "{what}");
    assert_eq!((client.peer.staple, server.peer.staple), (Staple::None, Staple::None), "{what}");
    assert_eq!(mode(LASTS + 60), [late; 2], "{what}");
}

#[test]
fn a_session_ends_with_the_staple_of_the_server() {
    for protocol in PROTOCOLS {
        for (stapling, late) in [(Stapling::Ask, Mode::Full), (Stapling::Off, Mode::Resumed)] {
            let setup = setup(protocol, stapling).with_resumption();
            staple(&setup, Side::Server);
            assert_modes(&setup, late, &format!("{protocol:?}, {stapling:?}"));
        }
    }
}

#[test]
fn a_session_ends_with_the_staple_of_the_client() {
    for datagrams in [false, true] {
        for (stapling, late) in [(Stapling::Ask, Mode::Full), (Stapling::Off, Mode::Resumed)] {
            let mut setup = setup((TLS13, datagrams), Stapling::Off).with_resumption();
            server_asks(&mut setup, stapling);
            staple(&setup, Side::Client);
            assert_modes(&setup, late, &format!("{stapling:?}, over datagrams: {datagrams}"));
        }
    }
}
