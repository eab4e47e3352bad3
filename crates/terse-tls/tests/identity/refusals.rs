//! Identities that are refused: each with the alert of docs/identity.md, and nothing is delivered or stored.

use alloc::sync::Arc;

use terse_testkit::fault::{self, edit_extensions, remove_extension};
use terse_testkit::identity::{self, IdentityKeys};
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::setup::Setup;
use terse_tls::crypto::CryptoError;
use terse_tls::identity::{DeniedIdentities, Identity, IdentityAlgorithm};
use terse_tls::{
    AlertDescription, ClientIdentity, Connection, Error, ExtensionType, HandshakeType, IdentityRefused, InvalidMessage,
    Now, ServerIdentity,
};

use super::setup;

const RISTRETTO255: IdentityAlgorithm = IdentityAlgorithm::Ristretto255;

/// Changes the identities of a setup.
fn with(mut setup: Setup, change: impl FnOnce(&mut ClientIdentity, &mut ServerIdentity)) -> Setup {
    let (client, server, _) = setup.identities.as_mut().expect("identities");
    change(client, server);
    setup
}

/// The handshake fails on `side` with `error`, which sends `alert`, and nobody keeps anything.
fn check_refused(setup: &Setup, side: Side, error: &Error, alert: AlertDescription) {
    let mut pair = setup.pair(1);
    check_pair(&mut pair, side, error, alert);
}

fn check_pair(pair: &mut Pair, side: Side, error: &Error, alert: AlertDescription) {
    let failed = pair.run().expect_err("the handshake fails");
    assert_eq!((failed.side, &failed.error), (side, error));
    assert_eq!(failed.error.alert(), Some(alert));
    assert_eq!(pair.failure(side.other()), Some(&Error::AlertReceived(alert)));
    for side in Side::BOTH {
        let (connection, _) = pair.side(side);
        assert!(!connection.is_connected() && connection.summary().peer.identity_based.is_none());
        assert_eq!(connection.recv(&mut [0; 100]), 0);
    }
}

/// Edits the first `identity_share` of one side.
fn edit_share(setup: &mut Setup, side: Side, edit: impl Fn(&mut Vec<u8>) + Send + 'static) {
    let kind = match side {
        Side::Client => HandshakeType::CLIENT_HELLO,
        Side::Server => HandshakeType::SERVER_HELLO,
    };
    let alter = fault::first(kind, move |message| {
        edit_extensions(message, |extensions| {
            let share = extensions.iter_mut().find(|(kind, _)| *kind == SHARE).expect("the share");
            edit(&mut share.1);
        });
    });
    match side {
        Side::Client => _ = setup.client.fault(Some(alter)),
        Side::Server => _ = setup.server.fault(Some(alter)),
    }
}

const SHARE: ExtensionType = ExtensionType::IDENTITY_SHARE;

#[test]
fn an_unknown_authority() {
    for algorithm in IdentityAlgorithm::ALL {
        let other = IdentityKeys::new(algorithm, 99);
        let setup = with(setup(algorithm), |client, _| *client = ClientIdentity::new(other.client.clone()));
        let error = IdentityRefused::UnknownAuthority.into();
        check_refused(&setup, Side::Server, &error, AlertDescription::UNKNOWN_CA);
    }
}

/// A key of the same authority in another epoch belongs to other parameters.
#[test]
fn another_epoch() {
    let keys = IdentityKeys::new(RISTRETTO255, 5);
    let mut next = keys.generator.clone();
    next.rotate(identity::NOT_AFTER).expect("another epoch");
    let renewed = next.issue(&identity::client()).expect("a key");
    let old = with(setup(RISTRETTO255), |client, server| {
        *client = ClientIdentity::new(renewed.clone());
        *server = ServerIdentity::new([keys.server.clone()]);
    });
    let error = IdentityRefused::UnknownAuthority.into();
    check_refused(&old, Side::Server, &error, AlertDescription::UNKNOWN_CA);
    // A server holds keys of the current and the previous epoch.
    let both = with(setup(RISTRETTO255), |client, server| {
        *client = ClientIdentity::new(renewed.clone());
        let next = next.issue(&identity::server()).expect("a key");
        *server = ServerIdentity::new([next, keys.server.clone()]);
    });
    both.pair(1).handshake().unwrap();
    let previous = with(both, |client, _| *client = ClientIdentity::new(keys.client.clone()));
    previous.pair(1).handshake().unwrap();
}

#[test]
fn an_epoch_that_is_over() {
    let seconds = identity::NOT_AFTER - terse_testkit::pki::NOW;
    let setup = setup(RISTRETTO255);
    let (client, server, _) = setup.identities.as_ref().expect("identities");
    let (mut of_client, mut of_server) = (setup.client.clone(), setup.server.clone());
    of_client.identity(client.clone());
    of_server.identity(server.clone());
    let (of_client, of_server) = (Arc::new(of_client.build().unwrap()), Arc::new(of_server.build().unwrap()));
    // Its last second is part of it.
    let mut pair = Pair::at(&of_client, &of_server, 1, at(seconds));
    pair.handshake().unwrap();
    // A client finds out by itself.
    let mut rng = terse_testkit::rng::SeededRng::new(1);
    let address = terse_testkit::pki::server_address();
    let late = Connection::client(of_client.clone(), address, at(seconds + 1), &mut rng);
    assert_eq!(late.err(), Some(IdentityRefused::Expired.into()));
    // The server has another clock.
    let mut pair = Pair::at(&of_client, &of_server, 1, at(seconds));
    pair.now = at(seconds + 1);
    check_pair(&mut pair, Side::Server, &IdentityRefused::Expired.into(), AlertDescription::CERTIFICATE_EXPIRED);
}

#[test]
fn without_a_clock_only_on_request() {
    let unknown = Now::new(terse_tls::Instant(0), None);
    for accepts in [false, true] {
        let setup = setup(RISTRETTO255);
        let (client, server, _) = setup.identities.as_ref().expect("identities");
        let (mut of_client, mut of_server) = (setup.client.clone(), setup.server.clone());
        of_client.identity(client.clone().accept_without_clock(true));
        of_server.identity(server.clone().accept_without_clock(accepts));
        let (of_client, of_server) = (Arc::new(of_client.build().unwrap()), Arc::new(of_server.build().unwrap()));
        let mut pair = Pair::at(&of_client, &of_server, 1, unknown);
        if accepts {
            pair.handshake().unwrap();
            assert!(pair.client.summary().peer.time_unchecked && pair.server.summary().peer.time_unchecked);
        } else {
            let error = IdentityRefused::ClockUnknown.into();
            check_pair(&mut pair, Side::Server, &error, AlertDescription::CERTIFICATE_UNKNOWN);
        }
    }
}

#[test]
fn a_denied_client_does_not_even_fall_back() {
    for setup in [setup(RISTRETTO255), super::falling_back(RISTRETTO255)] {
        let denied = Arc::new(DeniedIdentities::new([identity::client()]));
        let setup = with(setup, |_, server| *server = server.clone().denied(denied.clone()));
        check_refused(&setup, Side::Server, &IdentityRefused::Denied.into(), AlertDescription::ACCESS_DENIED);
        denied.replace([]);
        setup.pair(1).handshake().unwrap();
    }
}

#[test]
fn a_client_does_not_call_a_denied_server() {
    let denied = Arc::new(DeniedIdentities::new([identity::server()]));
    let keys = IdentityKeys::shared(RISTRETTO255);
    let mut client = super::falling_back(RISTRETTO255).client;
    client.identity(ClientIdentity::new(keys.client.clone()).denied(denied));
    let mut rng = terse_testkit::rng::SeededRng::new(1);
    let address = terse_testkit::pki::server_address();
    let result = Connection::client(Arc::new(client.build().unwrap()), address, at(0), &mut rng);
    assert_eq!(result.err(), Some(IdentityRefused::Denied.into()));
}

#[test]
fn the_own_identity() {
    // The client poses as the server, with a key of the server's.
    let keys = IdentityKeys::shared(RISTRETTO255);
    let mut setup = setup(RISTRETTO255);
    edit_share(&mut setup, Side::Client, |share| {
        let identity = identity::server();
        let key_exchange = share[19..].to_vec();
        share.truncate(9);
        share.push(identity.encoded().len() as u8);
        share.extend_from_slice(identity.encoded());
        share.extend_from_slice(&key_exchange);
    });
    check_refused(&setup, Side::Server, &IdentityRefused::OwnIdentity.into(), AlertDescription::ILLEGAL_PARAMETER);
    let mut client = setup.client.clone();
    client.identity(ClientIdentity::new(keys.server.clone()));
    let mut rng = terse_testkit::rng::SeededRng::new(1);
    let address = terse_testkit::pki::server_address();
    let result = Connection::client(Arc::new(client.build().unwrap()), address, at(0), &mut rng);
    assert_eq!(result.err(), Some(IdentityRefused::OwnIdentity.into()));
}

/// Any enrolled device could pose as the server otherwise.
#[test]
fn a_server_with_another_identity() {
    let keys = IdentityKeys::shared(RISTRETTO255);
    let other: Identity = "device:pump".parse().unwrap();
    let other = keys.key(&other);
    let setup = with(setup(RISTRETTO255), |_, server| *server = ServerIdentity::new([other.clone()]));
    // It does not name itself, and the keys differ.
    let failed = setup.pair(1).run().expect_err("the keys differ");
    assert_eq!((failed.side, failed.error), (Side::Client, Error::Crypto(CryptoError::DecryptFailed)));
    let mut named = setup;
    let encoded = other.identity().encoded().to_vec();
    edit_share(&mut named, Side::Server, move |share| {
        let key_exchange = share.split_off(1);
        *share = [&[encoded.len() as u8], &encoded[..], &key_exchange].concat();
    });
    check_refused(&named, Side::Client, &IdentityRefused::OtherIdentity.into(), AlertDescription::ILLEGAL_PARAMETER);
}

#[test]
fn lengths_that_do_not_fit() {
    for algorithm in IdentityAlgorithm::ALL {
        for side in Side::BOTH {
            for change in [-1_isize, 1] {
                let mut setup = setup(algorithm);
                edit_share(&mut setup, side, move |share| {
                    let at = if side == Side::Client { 19 } else { 1 };
                    share[at] = share[at].wrapping_add_signed(change as i8);
                    let len = share.len().wrapping_add_signed(change);
                    share.resize(len, 1);
                });
                let error = IdentityRefused::IllegalLength.into();
                check_refused(&setup, side.other(), &error, AlertDescription::ILLEGAL_PARAMETER);
            }
            let mut setup = setup(algorithm);
            edit_share(&mut setup, side, |share| share.truncate(share.len() - 1));
            let error = Error::InvalidMessage(InvalidMessage::Truncated);
            check_refused(&setup, side.other(), &error, AlertDescription::DECODE_ERROR);
        }
    }
}

/// The first encoding of each is no point, the second is the identity element, and the third is not canonical.
#[test]
fn ephemeral_keys_that_are_no_points() {
    let mut infinity = [0; 48];
    infinity[0] = 0xc0;
    let mut above = [0xff; 48];
    above[0] = 0x9f;
    let bad: [(IdentityAlgorithm, Vec<Vec<u8>>); 2] = [
        (IdentityAlgorithm::Bls12381, vec![vec![0x80; 48], infinity.to_vec(), above.to_vec()]),
        (RISTRETTO255, vec![vec![0xff; 32], vec![0; 32], [&[0xed][..], &[0xff; 30], &[0x7f]].concat()]),
    ];
    for (algorithm, points) in bad {
        for point in points {
            for side in Side::BOTH {
                let mut setup = setup(algorithm);
                let point = point.clone();
                edit_share(&mut setup, side, move |share| {
                    let at = if side == Side::Client { 20 } else { 2 };
                    share[at..at + point.len()].copy_from_slice(&point);
                });
                let error = Error::Crypto(CryptoError::InvalidKeyShare);
                check_refused(&setup, side.other(), &error, AlertDescription::ILLEGAL_PARAMETER);
            }
        }
    }
}

/// Without the extension a server would talk to anybody.
#[test]
fn a_share_that_is_taken_out_on_the_way() {
    let mut with_certificates = super::falling_back(RISTRETTO255);
    // The server would take anybody's certificate, and the attacker makes the client's hello one of a client without identity.
    for requires in [true, false] {
        let mut setup = with_certificates.clone();
        if !requires {
            setup.server.client_authentication(terse_tls::ClientAuthentication::None);
        }
        let alter = fault::fault(|number, kind, message| {
            if kind == HandshakeType::CLIENT_HELLO && number == 0 {
                remove_extension(message, SHARE);
            }
        });
        setup.client.fault(Some(alter));
        let failed = setup.pair(1).run().expect_err("the transcripts differ, or the server refuses");
        if requires {
            // The transcript of the client has the extension, so that nothing can be verified.
            assert_ne!(failed.error, Error::Identity(IdentityRefused::Missing));
        } else {
            assert_eq!((failed.side, failed.error), (Side::Server, IdentityRefused::Missing.into()));
        }
    }
    with_certificates.client.trust(terse_tls::Trust::nobody());
    let alter = fault::first(HandshakeType::CLIENT_HELLO, |message| remove_extension(message, SHARE));
    with_certificates.client.fault(Some(alter));
    with_certificates.pair(1).run().expect_err("there is nothing to agree on");
}

#[test]
fn a_share_beside_a_pre_shared_key() {
    let mut setup = setup(RISTRETTO255);
    setup.client.fault(Some(fault::first(HandshakeType::CLIENT_HELLO, |message| {
        edit_extensions(message, |extensions| {
            extensions.push((ExtensionType::PSK_KEY_EXCHANGE_MODES, vec![1, 1]));
            let identity = [&[0, 8, 0, 2][..], b"me", &[0; 4]].concat();
            extensions.push((ExtensionType::PRE_SHARED_KEY, [&identity[..], &[0, 33, 32], &[0; 32]].concat()));
        });
    })));
    check_refused(&setup, Side::Server, &IdentityRefused::WithPreSharedKey.into(), AlertDescription::ILLEGAL_PARAMETER);
}

/// Flags and codes that are not known belong to what comes later, or to another algorithm.
#[test]
fn an_unknown_algorithm_is_an_unknown_authority_and_unknown_flags_are_ignored() {
    let mut setup = setup(RISTRETTO255);
    edit_share(&mut setup, Side::Client, |share| share[0] = 0x0f);
    check_refused(&setup, Side::Server, &IdentityRefused::UnknownAuthority.into(), AlertDescription::UNKNOWN_CA);
}
