//! These tests show which version a server chooses from a ClientHello over datagrams (RFC 6347, 4.1; RFC 9147, 5.3).
//!
//! What must always hold: versions of DTLS count down, in every place that names one.

use std::sync::Arc;

use terse_testkit::datagrams::DatagramPair;
use terse_testkit::fault::{add_extension, first};
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::{
    ClientConfig, ClientParts, Datagrams, Error, ExtensionType, HandshakeType, PeerIncompatible, PeerMisbehaved,
    ProtocolVersion,
};

use super::modes::PROVIDER;

/// Returns what a server answers to a ClientHello that was altered before it was hashed.
fn answer(alter: impl Fn(&mut Vec<u8>) + Send + 'static) -> Result<ProtocolVersion, Error> {
    let mut setup = Setup::new(PROVIDER, PROVIDER, "p256x3").over(ProtocolVersion::TLS_1_2, Datagrams::default());
    setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, alter)));
    let mut pair =
        DatagramPair::new(&Arc::new(setup.client.build().unwrap()), &Arc::new(setup.server.build().unwrap()), 1);
    pair.run_well().map_err(|failed| failed.error)?;
    assert!(pair.client.is_connected() && pair.server.is_connected());
    Ok(pair.server.summary().version.unwrap())
}

#[test]
fn supported_versions_are_versions_of_dtls() {
    let offer = |versions: &'static [u8]| {
        answer(move |hello| {
            let list = [&[versions.len() as u8], versions].concat();
            add_extension(hello, ExtensionType::SUPPORTED_VERSIONS, &list);
        })
    };
    assert_eq!(offer(&[0xfe, 0xfc, 0xfe, 0xfd]), Ok(ProtocolVersion::TLS_1_2), "DTLS 1.3 or 1.2");
    let refused: Result<ProtocolVersion, Error> = Err(PeerIncompatible::NoCommonVersion.into());
    assert_eq!(offer(&[0xfe, 0xfc]), refused, "DTLS 1.3");
    assert_eq!(offer(&[3, 4, 3, 3]), refused, "TLS 1.3 or 1.2");
}

#[test]
fn a_newer_legacy_version_includes_this_one() {
    let offer = |version: u16| answer(move |hello| hello[4..6].copy_from_slice(&version.to_be_bytes()));
    for newer in [0xfefd, 0xfefc, 0xfe00, 0xfdff] {
        assert_eq!(offer(newer), Ok(ProtocolVersion::TLS_1_2), "{newer:x}");
    }
    for older in [0xfeff, 0xffff] {
        assert_eq!(offer(older), Err(PeerIncompatible::NoCommonVersion.into()), "{older:x}");
    }
}

/// A server of DTLS 1.3 asks for cookies with HelloRetryRequest (RFC 9147, 5.2), so a client that speaks that alone never
/// sends `legacy_cookie` (5.3).
#[test]
fn hello_verify_request_is_for_dtls_1_2() {
    let mut setup = Setup::new(PROVIDER, PROVIDER, "p256x3").over(ProtocolVersion::TLS_1_3, Datagrams::default());
    let asked =
        [&[22, 254, 255, 0, 0, 0, 0, 0, 0, 0, 9, 0, 16, 3, 0, 0, 4][..], &[0; 7], &[4, 254, 255, 1, 7]].concat();
    let mut alone =
        DatagramPair::new(&Arc::new(setup.client.build().unwrap()), &Arc::new(setup.server.build().unwrap()), 1);
    let refused = PeerIncompatible::NoCommonVersion;
    assert_eq!(alone.deliver(Side::Client, asked.clone()).unwrap_err().error, refused.into());

    // The same if the client is built without TLS 1.2, and has no code for the request.
    let parts = ClientParts::NONE.tls13().datagrams();
    let mut without = ClientConfig::builder_of(PROVIDER, parts);
    without.trust(setup.client.config().trust().clone()).datagrams(Datagrams::default());
    let without = Arc::new(without.into_config().unwrap());
    let mut without = DatagramPair::new(&without, &Arc::new(setup.server.build().unwrap()), 1);
    assert_eq!(without.deliver(Side::Client, asked.clone()).unwrap_err().error, refused.into());

    setup.client.edit_versions(|list| list.push(ProtocolVersion::TLS_1_2));
    let mut both =
        DatagramPair::new(&Arc::new(setup.client.build().unwrap()), &Arc::new(setup.server.build().unwrap()), 1);
    for side in [Side::Client, Side::Server] {
        both.transmit(side, &mut |_| Vec::new());
        let sent = both.sent.last().unwrap().bytes.clone();
        if side == Side::Client {
            both.deliver(Side::Server, sent).unwrap();
        }
    }
    both.deliver(Side::Client, asked).unwrap();
    let mut answer = both.sent.iter().find(|sent| sent.from == Side::Server).unwrap().bytes.clone();
    answer[13 + 5] = 1; // its number, after that of HelloVerifyRequest
    let refused = PeerMisbehaved::SelectedUnoffered(ExtensionType::SUPPORTED_VERSIONS);
    assert_eq!(both.deliver(Side::Client, answer).unwrap_err().error, refused.into());
}
