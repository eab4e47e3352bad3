//! Who is asked for a certificate, and who has one (RFC 9846, 4.4.2 and 4.5; RFC 5246, 7.4.4 and 7.4.6).

use terse_testkit::pair::{Failed, Side};
use terse_testkit::pki::{CLIENT_NAME, Pki, SERVER_NAME};
use terse_testkit::setup::Setup;
use terse_tls::summary::AuthenticatedBy;
use terse_tls::{
    AlertDescription, CertificateError, ClientAuthentication, Error, HandshakeType, ProtocolVersion, SignatureScheme,
    Trust,
};

use super::{PROVIDER, VERSIONS, check_traffic, providers};

#[test]
fn every_policy() {
    for ((client, server), version) in providers().flat_map(|pair| VERSIONS.map(|version| (pair, version))) {
        let trust = || Pki::shared(CHAIN).trust();
        for policy in [
            ClientAuthentication::None,
            ClientAuthentication::Optional(trust()),
            ClientAuthentication::Required(trust()),
        ] {
            for has_credential in [true, false] {
                let mut setup = Setup::new(client, server, CHAIN).only(version);
                setup.client.edit_credentials(|own| own.retain(|_| has_credential));
                setup.server.client_authentication(policy.clone());
                let asked = policy.trust().is_some();
                let mut pair = setup.pair(1);
                if matches!(policy, ClientAuthentication::Required(_)) && !has_credential {
                    let error = CertificateError::Required.into();
                    assert_eq!(pair.handshake(), Err(Failed { side: Side::Server, error }));
                    let alert = required(version);
                    assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(alert)));
                    continue;
                }
                pair.handshake().unwrap();
                check_traffic(&mut pair);
                check_peers(&pair, asked && has_credential);
                let sent = |kind| pair.client.summary().sent.messages.iter().any(|(sent, _)| *sent == kind);
                assert_eq!(sent(HandshakeType::CERTIFICATE), asked);
                assert_eq!(sent(HandshakeType::CERTIFICATE_VERIFY), asked && has_credential);
            }
        }
    }
}

/// The alert for a client that has none (RFC 5246, 7.4.6).
fn required(version: ProtocolVersion) -> AlertDescription {
    match version {
        ProtocolVersion::TLS_1_3 => AlertDescription::CERTIFICATE_REQUIRED,
        _ => AlertDescription::HANDSHAKE_FAILURE,
    }
}

fn check_peers(pair: &terse_testkit::pair::Pair, client_authenticated: bool) {
    let server = &pair.client.summary().peer;
    assert_eq!(server.authenticated_by, AuthenticatedBy::Certificate);
    assert_eq!(server.identity.as_ref().unwrap().to_string(), SERVER_NAME);
    assert!(!server.time_unchecked);
    assert!(server.signature_scheme.is_some());
    let client = &pair.server.summary().peer;
    let (by, name) =
        if client_authenticated { (AuthenticatedBy::Certificate, Some(CLIENT_NAME)) } else { Default::default() };
    assert_eq!(client.authenticated_by, by);
    assert_eq!(client.signature_scheme.is_some(), client_authenticated);
    assert_eq!(client.identity.as_ref().map(ToString::to_string).as_deref(), name);
}

/// Each kind of key signs for the client, and each provider verifies it.
#[test]
fn every_kind_of_client_key() {
    for ((client, server), version) in providers().flat_map(|pair| VERSIONS.map(|version| (pair, version))) {
        for (chain, scheme) in [
            ("p256x3", SignatureScheme::ECDSA_SECP256R1_SHA256),
            ("p384x3", SignatureScheme::ECDSA_SECP384R1_SHA384),
            ("ed25519x3", SignatureScheme::ED25519),
            ("rsa2048x3", SignatureScheme::RSA_PSS_RSAE_SHA256),
        ] {
            if chain == "rsa2048x3" && [client.name, server.name].contains(&"rustcrypto") {
                continue; // verifies RSA, and does not sign
            }
            let mut pair = Setup::mutual(client, server, chain).only(version).pair(1);
            pair.handshake().unwrap();
            check_peers(&pair, true);
            for summary in [pair.client.summary(), pair.server.summary()] {
                assert_eq!(summary.peer.signature_scheme, Some(scheme));
            }
            assert_eq!(pair.client.summary().signatures_verified, 2);
            assert_eq!(pair.server.summary().signatures_verified, 2);
        }
    }
}

/// RFC 9846, 4.5.1; RFC 5246, 7.4.6: a client whose key fits no scheme of the request sends no certificate.
#[test]
fn no_scheme_of_the_request_fits() {
    for version in VERSIONS {
        let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(version);
        setup.server.signature_schemes(vec![SignatureScheme::ECDSA_SECP256R1_SHA256]);
        let mut pair = setup.pair(1);
        let error = CertificateError::Required.into();
        assert_eq!(pair.handshake(), Err(Failed { side: Side::Server, error }));
        assert!(pair.client.summary().fallback.is_some());
        setup.server.client_authentication(ClientAuthentication::Optional(Pki::shared(CHAIN).trust()));
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        check_peers(&pair, false);
    }
}

/// The names of the CAs are sent if configured, and change nothing else.
#[test]
fn certificate_authorities() {
    for version in VERSIONS {
        let mut lengths = Vec::new();
        for named in [false, true] {
            let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(version);
            setup.server.certificate_authorities(named);
            let mut pair = setup.pair(1);
            pair.handshake().unwrap();
            check_peers(&pair, true);
            let messages = &pair.server.summary().sent.messages;
            let request = messages.iter().find(|(kind, _)| *kind == HandshakeType::CERTIFICATE_REQUEST).unwrap();
            lengths.push(request.1);
        }
        assert!(lengths[1] > lengths[0] + "Terse CA".len() as u32);
    }
}

/// A server that trusts so many CAs that their names have no room in a CertificateRequest says that it failed, and the caller of
/// neither side is told that the call was wrong.
#[test]
fn more_certificate_authorities_than_fit() {
    for version in VERSIONS {
        let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(version);
        let roots = vec![Pki::shared(CHAIN).root(); 4_000];
        let trust = Trust::new(&roots).unwrap();
        setup.server.client_authentication(ClientAuthentication::Required(trust));
        setup.server.certificate_authorities(true);
        let mut pair = setup.pair(1);
        assert_eq!(pair.run(), Err(Failed { side: Side::Server, error: Error::Unencodable }));
        let refused = Some(Error::AlertReceived(AlertDescription::INTERNAL_ERROR));
        assert_eq!(pair.failure(Side::Client), refused.as_ref());
    }
}

const CHAIN: &str = "ed25519x2";
