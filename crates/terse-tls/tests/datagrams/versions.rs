//! Which version a server takes from a ClientHello over datagrams (RFC 6347, 4.1; RFC 9147, 5.3).
//!
//! What must always hold: versions of DTLS count down, in every place that names one.

use std::sync::Arc;

use terse_testkit::datagrams::DatagramPair;
use terse_testkit::fault::{add_extension, first, fix_length};
use terse_testkit::setup::Setup;
use terse_tls::{Datagrams, Error, ExtensionType, HandshakeType, PeerIncompatible, ProtocolVersion};

use crate::modes::PROVIDER;

/// What a server answers to a ClientHello that was altered before it was hashed.
fn answer(alter: impl Fn(&mut Vec<u8>) + Send + 'static) -> Result<ProtocolVersion, Error> {
    let mut setup = Setup::new(PROVIDER, PROVIDER, "p256x3").over(ProtocolVersion::TLS_1_2, Datagrams::default());
    setup.client.common.fault = Some(first(HandshakeType::CLIENT_HELLO, alter));
    let mut pair = DatagramPair::new(&Arc::new(setup.client), &Arc::new(setup.server), 1);
    pair.run_well().map_err(|failed| failed.error)?;
    assert!(pair.client.is_connected() && pair.server.is_connected());
    Ok(pair.server.summary().version.unwrap())
}

#[test]
fn supported_versions_are_versions_of_dtls() {
    let offer = |versions: &'static [u8]| {
        answer(move |hello| {
            let list = [&[versions.len() as u8], versions].concat();
            // The editor knows ClientHello without a cookie; there is an empty one.
            let cookie = 4 + 34 + 1 + usize::from(hello[4 + 34]);
            hello.remove(cookie);
            add_extension(hello, ExtensionType::SUPPORTED_VERSIONS, &list);
            hello.insert(cookie, 0);
            fix_length(hello);
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
