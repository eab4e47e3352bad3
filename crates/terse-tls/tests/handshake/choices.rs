//! What Terse does where a standard leaves a choice, or where old peers do not keep to it (`docs/standards.md`).

use terse_testkit::fault::{add_extension, edit_extensions, first, set_extension};
use terse_testkit::pair::{Failed, Side};
use terse_testkit::setup::Setup;
use terse_tls::{ExtensionType as Ext, HandshakeType, PeerIncompatible, PeerMisbehaved, ProtocolVersion};

use crate::PROVIDER;

fn setup(version: ProtocolVersion) -> Setup {
    Setup::new(PROVIDER, PROVIDER, "p256x2").only(version)
}

#[test]
fn supported_groups_in_a_server_hello_of_tls12_are_tolerated() {
    let add = |m: &mut Vec<u8>| add_extension(m, Ext::SUPPORTED_GROUPS, &[0, 2, 0, 0x17]);
    let mut tls12 = setup(ProtocolVersion::TLS_1_2);
    tls12.server.common.fault = Some(first(HandshakeType::SERVER_HELLO, add));
    tls12.pair(1).handshake().unwrap();
    let mut tls13 = setup(ProtocolVersion::TLS_1_3);
    tls13.server.common.fault = Some(first(HandshakeType::SERVER_HELLO, add));
    let error = PeerMisbehaved::MisplacedExtension(Ext::SUPPORTED_GROUPS).into();
    assert_eq!(tls13.pair(1).run(), Err(Failed { side: Side::Client, error }));
}

/// Shares of groups that the server does not know may come twice, and need not stand in supported_groups.
#[test]
fn key_shares_of_unknown_groups_are_not_looked_at() {
    let mut setup = setup(ProtocolVersion::TLS_1_3);
    let add = |m: &mut Vec<u8>| {
        edit_extensions(m, |all| {
            let (_, body) = all.iter_mut().find(|(kind, _)| *kind == Ext::KEY_SHARE).unwrap();
            let unknown = [0x7a, 0x7a, 0, 1, 9];
            let shares = [&unknown[..], &unknown, &body[2..]].concat();
            *body = [&(shares.len() as u16).to_be_bytes()[..], &shares].concat();
        });
    };
    setup.client.common.fault = Some(first(HandshakeType::CLIENT_HELLO, add));
    setup.pair(1).handshake().unwrap();
}

/// RFC 5246 lets any hash go with any key; a key on P-256 signs with SHA-256 alone.
#[test]
fn an_ecdsa_key_of_tls12_signs_with_the_hash_of_its_curve() {
    let mut setup = setup(ProtocolVersion::TLS_1_2);
    let ecdsa_with_sha384 = |m: &mut Vec<u8>| set_extension(m, Ext::SIGNATURE_ALGORITHMS, &[0, 2, 5, 3]);
    setup.client.common.fault = Some(first(HandshakeType::CLIENT_HELLO, ecdsa_with_sha384));
    let error = PeerIncompatible::NoCommonSignatureScheme.into();
    assert_eq!(setup.pair(1).run(), Err(Failed { side: Side::Server, error }));
}
