//! Pre-shared keys in TLS 1.2 (RFC 4279; RFC 5489): no certificates, and no signatures.

use alloc::sync::Arc;

use terse_testkit::pair::{Failed, Side};
use terse_testkit::setup::Setup;
use terse_tls::crypto::{CryptoError, CryptoProvider};
use terse_tls::resume::{ExternalPsk, MemoryPskStore};
use terse_tls::summary::{AuthenticatedBy, Mode};
use terse_tls::{AlertDescription, CipherSuite, Error, HandshakeType, PeerIncompatible, ProtocolVersion};

use super::{PROVIDER, check_traffic, providers};

const PLAIN: CipherSuite = CipherSuite::TLS_PSK_WITH_AES_128_CCM_8;
const ECDHE: CipherSuite = CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256;

fn psk(identity: &[u8], key: u8) -> ExternalPsk {
    ExternalPsk::new(identity, &[key; 16]).unwrap()
}

/// Both sides know the key of a sensor; the server has certificates as well, and would ask for the client's.
fn setup(client: &CryptoProvider, server: &CryptoProvider, suite: CipherSuite) -> Setup {
    let mut setup = Setup::mutual(client, server, "ed25519x2").only(ProtocolVersion::TLS_1_2);
    setup.client.suites(vec![suite]);
    setup.client.psks(vec![psk(b"sensor", 7)]);
    setup.server.psks(Arc::new(MemoryPskStore::new([psk(b"valve", 8), psk(b"sensor", 7)])));
    setup
}

#[test]
fn both_suites() {
    for ((client, server), suite) in providers().flat_map(|pair| [PLAIN, ECDHE].map(|suite| (pair, suite))) {
        for required in [true, false] {
            let mut setup = setup(client, server, suite);
            setup.client.require_extended_master_secret(required);
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            check_traffic(&mut pair);
            for side in Side::BOTH {
                let summary = pair.side(side).0.summary();
                assert_eq!((summary.cipher_suite, summary.mode), (Some(suite), Mode::Psk));
                assert_eq!(summary.peer.authenticated_by, AuthenticatedBy::Psk);
                assert_eq!(summary.group.is_some(), suite == ECDHE);
                assert_eq!((summary.signatures_verified, summary.signatures_saved), (0, 0));
                let sent = |kind| summary.sent.messages.iter().any(|(sent, _)| *sent == kind);
                assert!(!sent(HandshakeType::CERTIFICATE) && !sent(HandshakeType::CERTIFICATE_REQUEST));
            }
        }
    }
}

/// RFC 4279, 2: the server may say that it does not know the name.
#[test]
fn unknown_identity() {
    for suite in [PLAIN, ECDHE] {
        let mut setup = setup(PROVIDER, PROVIDER, suite);
        setup.client.psks(vec![psk(b"stranger", 7)]);
        let mut pair = setup.pair(1);
        let error = PeerIncompatible::UnknownPskIdentity.into();
        assert_eq!(pair.run(), Err(Failed { side: Side::Server, error }));
        let alert = Error::AlertReceived(AlertDescription::UNKNOWN_PSK_IDENTITY);
        assert_eq!(pair.failure(Side::Client), Some(&alert));
    }
}

/// The sides have different keys, so the keys of their records differ.
#[test]
fn another_key() {
    for suite in [PLAIN, ECDHE] {
        let mut setup = setup(PROVIDER, PROVIDER, suite);
        setup.client.psks(vec![psk(b"sensor", 6)]);
        let mut pair = setup.pair(1);
        let error = Error::Crypto(CryptoError::DecryptFailed);
        assert_eq!(pair.run(), Err(Failed { side: Side::Server, error }));
    }
}

/// The suites are offered, and taken, only with a key; whoever has none goes on with certificates.
#[test]
fn only_one_side_has_a_key() {
    for side in Side::BOTH {
        let mut setup = setup(PROVIDER, PROVIDER, PLAIN);
        setup.client.edit_suites(|list| list.push(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256));
        match side {
            Side::Client => setup.server.without_psks(),
            Side::Server => _ = setup.client.psks(vec![]),
        }
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        assert_eq!(pair.client.summary().mode, Mode::Full);
        check_traffic(&mut pair);
    }
}
