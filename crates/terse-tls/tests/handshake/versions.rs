//! Which version, and that nobody on the way can make it an older one (RFC 9846, 4.2.3, 4.3.1 and E.2; RFC 7507), nor
//! take out of a hello of TLS 1.2 what mends it (RFC 7627; RFC 5746).

use terse_testkit::fault::{edit_extensions, edit_suites, first, remove_extension, set_extension};
use terse_testkit::forge::{HEADER_LEN, plaintext};
use terse_testkit::pair::{Failed, Pair, Side};
use terse_testkit::setup::Setup;
use terse_tls::crypto::CryptoError;
use terse_tls::{
    AlertDescription as Alert, CipherSuite, ContentType, Error, ExtensionType as Ext, HandshakeType, PeerIncompatible,
    PeerMisbehaved, ProtocolVersion,
};

use super::{PROVIDER, VERSIONS, check_traffic, providers};

const CHAIN: &str = "ed25519x2";
const TLS12: ProtocolVersion = ProtocolVersion::TLS_1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS_1_3;

/// Every set of versions against every other, in any order: the newest common one, or none.
#[test]
fn newest_common_version() {
    let sets = [&[TLS13, TLS12][..], &[TLS12, TLS13], &[TLS13], &[TLS12]];
    for (client, server) in providers() {
        for (ours, theirs) in sets.into_iter().flat_map(|ours| sets.map(|theirs| (ours, theirs))) {
            let mut setup = Setup::mutual(client, server, CHAIN);
            setup.client.versions(ours);
            setup.server.versions(theirs);
            let mut pair = setup.pair(1);
            let newest = VERSIONS.into_iter().find(|version| ours.contains(version) && theirs.contains(version));
            let Some(newest) = newest else {
                let error = PeerIncompatible::NoCommonVersion.into();
                assert_eq!(pair.run(), Err(Failed { side: Side::Server, error }));
                assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(Alert::PROTOCOL_VERSION)));
                continue;
            };
            pair.handshake().unwrap();
            for side in Side::BOTH {
                assert_eq!(pair.side(side).0.summary().version, Some(newest), "{ours:?}, {theirs:?}");
            }
            check_traffic(&mut pair);
            // RFC 9846, 4.2.3: a server that could do better says so.
            let random = &pair.from_server[HEADER_LEN + 6..][..32];
            assert_eq!(random.ends_with(b"DOWNGRD\x01"), newest == TLS12 && theirs.contains(&TLS13));
        }
    }
}

/// A version without a suite is none.
#[test]
fn versions_without_a_suite() {
    for (suite, version) in
        [(CipherSuite::TLS_AES_128_GCM_SHA256, TLS13), (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS12)]
    {
        for side in Side::BOTH {
            let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
            setup.common(side).set_suites(vec![suite]);
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            assert_eq!(pair.client.summary().version, Some(version));
            assert!(!pair.from_server[HEADER_LEN + 6..][..32].ends_with(b"DOWNGRD\x01") || side == Side::Client);
        }
    }
}

/// What a hello says of each version, and what it does not.
#[test]
fn hellos() {
    for (versions, extension) in
        [(vec![TLS13, TLS12], Some(vec![4, 3, 4, 3, 3])), (vec![TLS13], Some(vec![2, 3, 4])), (vec![TLS12], None)]
    {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
        setup.client.versions(versions.clone());
        let mut hello = setup.pair(1).transmit(Side::Client)[HEADER_LEN..].to_vec();
        edit_extensions(&mut hello, |all| {
            let find = |kind| all.iter().find(|(found, _)| *found == kind).map(|(_, body)| body.clone());
            assert_eq!(find(Ext::SUPPORTED_VERSIONS), extension);
            assert_eq!(find(Ext::KEY_SHARE).is_some(), versions.contains(&TLS13));
            assert_eq!(find(Ext::EXTENDED_MASTER_SECRET).is_some(), versions.contains(&TLS12));
        });
        edit_suites(&mut hello, |suites| {
            for suite in suites.iter() {
                let of_tls13 = PROVIDER.tls13_suite(*suite).is_some();
                assert!(versions.contains(if of_tls13 { &TLS13 } else { &TLS12 }), "{suite}");
            }
            let scsv = suites.contains(&CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV);
            assert_eq!(scsv, versions.contains(&TLS12));
        });
    }
}

/// A man in the middle changes the first message of `sender`.
fn tampered(setup: &Setup, sender: Side, change: impl Fn(&mut Vec<u8>)) -> Result<Pair, (Failed, Option<Error>)> {
    let mut pair = setup.pair(1);
    let tamper = |pair: &mut Pair, by: Side| {
        let bytes = pair.transmit(by);
        if by != sender {
            return pair.deliver(by.other(), bytes);
        }
        let len = 4 + usize::from(u16::from_be_bytes([bytes[HEADER_LEN + 2], bytes[HEADER_LEN + 3]]));
        let (mut first, rest) = (bytes[HEADER_LEN..][..len].to_vec(), &bytes[HEADER_LEN + len..]);
        change(&mut first);
        pair.deliver(by.other(), plaintext(ContentType::HANDSHAKE, &[&first, rest].concat()))
    };
    let first = tamper(&mut pair, Side::Client);
    let second = tamper(&mut pair, Side::Server);
    match first.and(second).and(pair.run()) {
        Ok(()) => Ok(pair),
        Err(failed) => {
            let _ = pair.run(); // the alert arrives
            let told = pair.failure(failed.side.other()).cloned();
            Err((failed, told))
        }
    }
}

/// What the side that finds out says, and what the other one hears.
fn check_tampered(
    name: &str,
    setup: &Setup,
    sender: Side,
    change: impl Fn(&mut Vec<u8>),
    (side, error, alert): (Side, Error, Alert),
) {
    let Err((failed, told)) = tampered(setup, sender, change) else { panic!("{name}: nobody noticed") };
    assert_eq!((failed.side, failed.error), (side, error), "{name}");
    assert_eq!(told, Some(Error::AlertReceived(alert)), "{name}");
}

/// Both sides have both versions.
#[test]
fn downgrade_to_tls12() {
    let setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN);
    let downgrade = (Side::Client, PeerMisbehaved::Downgrade.into(), Alert::ILLEGAL_PARAMETER);
    let check = |name, change: fn(&mut Vec<u8>), found| check_tampered(name, &setup, Side::Client, change, found);
    check("no versions", |m| remove_extension(m, Ext::SUPPORTED_VERSIONS), downgrade);
    check("other versions", |m| set_extension(m, Ext::SUPPORTED_VERSIONS, &[2, 3, 3]), downgrade);
    let missing = PeerMisbehaved::MissingExtension(Ext::KEY_SHARE).into();
    check("no key share", |m| remove_extension(m, Ext::KEY_SHARE), (Side::Server, missing, Alert::MISSING_EXTENSION));
    check(
        "no suites of TLS 1.3",
        |m| edit_suites(m, |suites| suites.retain(|suite| PROVIDER.tls13_suite(*suite).is_none())),
        (Side::Server, PeerIncompatible::NoCommonCipherSuite.into(), Alert::HANDSHAKE_FAILURE),
    );
    // Where the server has TLS 1.2 only, all that is gone is what it does not look at; but the client signs it.
    let mut setup = setup;
    setup.server.versions(vec![TLS12]);
    let found = (Side::Server, PeerMisbehaved::BadSignature.into(), Alert::DECRYPT_ERROR);
    check_tampered("for nothing", &setup, Side::Client, |m| remove_extension(m, Ext::SUPPORTED_VERSIONS), found);
}

/// The sentinel stands in a random that the server signs.
#[test]
fn downgrade_without_the_sentinel() {
    let setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN);
    let mut pair = setup.pair(1);
    let mut hello = pair.transmit(Side::Client)[HEADER_LEN..].to_vec();
    remove_extension(&mut hello, Ext::SUPPORTED_VERSIONS);
    pair.deliver(Side::Server, plaintext(ContentType::HANDSHAKE, &hello)).unwrap();
    let mut flight = pair.transmit(Side::Server);
    let sentinel = &mut flight[HEADER_LEN + 6 + 24..][..8];
    assert_eq!(sentinel, b"DOWNGRD\x01");
    sentinel.copy_from_slice(b"whatever");
    let failed = pair.deliver(Side::Client, flight).unwrap_err();
    assert_eq!(failed.error, PeerMisbehaved::BadSignature.into());
}

/// A server that would have said TLS 1.2 if asked for TLS 1.1 had to say so (RFC 9846, 4.2.3).
#[test]
fn other_sentinel() {
    let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
    setup.server.versions(vec![TLS12]);
    let mark = || Some(first(HandshakeType::SERVER_HELLO, |m| m[6 + 24..][..8].copy_from_slice(b"DOWNGRD\x00")));
    setup.server.fault(mark());
    let error = Error::from(PeerMisbehaved::Downgrade);
    assert_eq!(setup.pair(1).run(), Err(Failed { side: Side::Client, error }));
    // A client of TLS 1.2 alone cannot know.
    setup.server.fault(mark());
    let mut pair = setup.only(TLS12).pair(1);
    assert_eq!(pair.run().unwrap_err().error, PeerMisbehaved::BadSignature.into(), "the fault changes what is signed");
}

/// TLS 1.2 on both sides: what mends it, and what is negotiated, cannot be taken out.
#[test]
fn stripping_in_tls12() {
    let strict = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(TLS12);
    let mut lenient = strict.clone();
    for side in Side::BOTH {
        lenient.common(side).set_require_extended_master_secret(false);
    }
    let mut strict_client = lenient.clone();
    strict_client.client.require_extended_master_secret(true);

    let no_master_secret = |m: &mut Vec<u8>| remove_extension(m, Ext::EXTENDED_MASTER_SECRET);
    let refused = |side| (side, PeerIncompatible::NoExtendedMasterSecret.into(), Alert::HANDSHAKE_FAILURE);
    check_tampered("required", &strict, Side::Client, no_master_secret, refused(Side::Server));
    check_tampered("of the server", &strict_client, Side::Client, no_master_secret, refused(Side::Client));
    check_tampered("in the answer", &strict, Side::Server, no_master_secret, refused(Side::Client));
    // Without it on both sides the keys are the same; Finished is not.
    let bad_finished = (Side::Server, PeerMisbehaved::BadFinished.into(), Alert::DECRYPT_ERROR);
    let bad_keys = (Side::Server, Error::Crypto(CryptoError::DecryptFailed), Alert::BAD_RECORD_MAC);
    let without_authentication = |mut setup: Setup| {
        setup.server.client_authentication(terse_tls::ClientAuthentication::None);
        setup
    };
    let anonymous = without_authentication(lenient.clone());
    check_tampered("nobody requires it", &anonymous, Side::Client, no_master_secret, bad_finished);
    check_tampered("only one side has it", &anonymous, Side::Server, no_master_secret, bad_keys);
    // A client with a certificate signs what it saw.
    let bad_signature = (Side::Server, PeerMisbehaved::BadSignature.into(), Alert::DECRYPT_ERROR);
    check_tampered("mutual", &lenient, Side::Client, no_master_secret, bad_signature);

    let unsafe_server = (Side::Client, PeerIncompatible::NoSecureRenegotiation.into(), Alert::HANDSHAKE_FAILURE);
    let no_scsv = |m: &mut Vec<u8>| {
        edit_suites(m, |all| all.retain(|suite| *suite != CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV));
    };
    check_tampered("RFC 5746, 3.4", &strict, Side::Client, no_scsv, unsafe_server);
    let no_info = |m: &mut Vec<u8>| remove_extension(m, Ext::RENEGOTIATION_INFO);
    check_tampered("RFC 5746, 3.4", &strict, Side::Server, no_info, unsafe_server);

    let anonymous = without_authentication(strict);
    let one_suite = |m: &mut Vec<u8>| edit_suites(m, |all| drop(all.drain(..1)));
    check_tampered("another suite", &anonymous, Side::Client, one_suite, bad_keys);
    let one_group = |m: &mut Vec<u8>| set_extension(m, Ext::SUPPORTED_GROUPS, &[0, 2, 0, 0x18]);
    check_tampered("another group", &anonymous, Side::Client, one_group, bad_keys);
    let one_scheme = |m: &mut Vec<u8>| set_extension(m, Ext::SIGNATURE_ALGORITHMS, &[0, 2, 8, 7]);
    check_tampered("another scheme", &anonymous, Side::Client, one_scheme, bad_keys);
}

/// RFC 7507: a client that says that it fell back, because the newer version did not work.
#[test]
fn fallback() {
    let fall_back = || {
        Some(first(HandshakeType::CLIENT_HELLO, |message| {
            edit_suites(message, |suites| suites.push(CipherSuite::TLS_FALLBACK_SCSV));
        }))
    };
    let inappropriate = Some((PeerMisbehaved::InappropriateFallback.into(), Alert::INAPPROPRIATE_FALLBACK));
    let no_version = Some((PeerIncompatible::NoCommonVersion.into(), Alert::PROTOCOL_VERSION));
    let both = [TLS13, TLS12];
    for (client, server, refused) in [
        (&both[1..], &both[..], inappropriate),
        (&both[1..], &both[1..], None),
        (&both[..], &both[..], None),
        (&both[..], &both[1..], None), // no fallback: both versions are offered
        (&both[1..], &both[..1], no_version),
    ] {
        let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN);
        setup.client.versions(client);
        setup.server.versions(server);
        setup.client.fault(fall_back());
        let mut pair = setup.pair(1);
        match refused {
            None => pair.handshake().unwrap(),
            Some((error, alert)) => {
                let error: Error = error;
                assert_eq!(pair.run(), Err(Failed { side: Side::Server, error }), "{client:?}, {server:?}");
                assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(alert)));
            }
        }
    }
    // Ours never does.
    let mut hello = Setup::new(PROVIDER, PROVIDER, CHAIN).only(TLS12).pair(1).transmit(Side::Client);
    hello.drain(..HEADER_LEN);
    edit_suites(&mut hello, |suites| assert!(!suites.contains(&CipherSuite::TLS_FALLBACK_SCSV)));
}
