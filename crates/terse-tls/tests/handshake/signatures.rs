//! Which key signs, and how: every scheme of every kind of key, on both sides (RFC 9846, 4.3.3; RFC 5246, 7.4.1.4.1 and
//! 7.4.4; RFC 8422, 5.10).

use alloc::sync::Arc;
use std::sync::Mutex;

use pki_types::SubjectPublicKeyInfoDer;
use terse_testkit::fault::{edit_body, fault, first};
use terse_testkit::pair::{Failed, Pair, Side};
use terse_testkit::pki::Pki;
use terse_testkit::setup::Setup;
use terse_tls::crypto::{CryptoError, CryptoProvider, Rng, Signing, SigningKey};
use terse_tls::{
    CipherSuite, ClientAuthentication, Credential, Error, HandshakeType, PeerIncompatible, ProtocolVersion,
    SignatureScheme,
};

use super::{PROVIDER, PROVIDERS, VERSIONS, check_traffic};

const TLS12: ProtocolVersion = ProtocolVersion::TLS_1_2;
const AWS_LC: &CryptoProvider = PROVIDERS[1];

/// The schemes that a key of `chain` can sign handshakes of `version` with.
fn schemes(version: ProtocolVersion, chain: &str) -> &'static [SignatureScheme] {
    match chain {
        "p256x2" => &[SignatureScheme::ECDSA_SECP256R1_SHA256],
        "p384x2" => &[SignatureScheme::ECDSA_SECP384R1_SHA384],
        "ed25519x2" => &[SignatureScheme::ED25519],
        _ => {
            let all = &[
                SignatureScheme::RSA_PSS_RSAE_SHA256,
                SignatureScheme::RSA_PSS_RSAE_SHA384,
                SignatureScheme::RSA_PSS_RSAE_SHA512,
                SignatureScheme::RSA_PKCS1_SHA256,
                SignatureScheme::RSA_PKCS1_SHA384,
                SignatureScheme::RSA_PKCS1_SHA512,
            ];
            if version == TLS12 { all } else { &all[..3] }
        }
    }
}

/// Runs a handshake, and tells under which schemes server and client signed.
fn signed_with(mut setup: Setup) -> (Pair, Vec<(Side, SignatureScheme)>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    for side in Side::BOTH {
        let seen = seen.clone();
        setup.common(side).set_fault(Some(fault(move |_, kind, message| {
            let at = match kind {
                HandshakeType::CERTIFICATE_VERIFY => 4,
                HandshakeType::SERVER_KEY_EXCHANGE => 4 + 4 + usize::from(message[7]),
                _ => return,
            };
            let scheme = SignatureScheme(u16::from_be_bytes([message[at], message[at + 1]]));
            seen.lock().unwrap().push((side, scheme));
        })));
    }
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    check_traffic(&mut pair);
    let seen = seen.lock().unwrap().clone();
    (pair, seen)
}

/// A key that signs with one scheme only.
struct Only(Arc<dyn SigningKey>, [SignatureScheme; 1]);

impl SigningKey for Only {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.1
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        self.0.sign(scheme, message, rng)
    }
}

#[test]
fn every_scheme_of_every_key() {
    for chain in ["p256x2", "p384x2", "ed25519x2", "rsa2048x2"] {
        let pki = Pki::shared(chain);
        for (provider, version) in PROVIDERS.into_iter().flat_map(|peer| VERSIONS.map(|version| (peer, version))) {
            let signer = if chain == "rsa2048x2" { AWS_LC } else { provider };
            for scheme in schemes(version, chain) {
                let only = |issued: &terse_pki::Credential| {
                    let key = Only(signer.load_key(issued.key()).unwrap(), [*scheme]);
                    Credential::new(issued.chain().to_vec(), Arc::new(key)).unwrap()
                };
                for by in Side::BOTH {
                    let mut setup = Setup::mutual(signer, signer, chain).only(version);
                    setup.common(by.other()).set_provider(*provider);
                    match by {
                        Side::Client => {
                            setup.client.credentials(vec![only(&pki.client)]);
                        }
                        Side::Server => {
                            setup.server.credentials(vec![only(&pki.server)]);
                        }
                    }
                    let (_, seen) = signed_with(setup);
                    assert!(seen.contains(&(by, *scheme)), "{version}, {chain}, {by:?}: {seen:?}");
                }
            }
        }
    }
}

/// TLS 1.3 has no PKCS#1 (RFC 9846, 4.5.2).
#[test]
fn pkcs1_alone() {
    for version in VERSIONS {
        let mut setup = Setup::new(AWS_LC, AWS_LC, "rsa2048x2").only(version);
        let key =
            Only(AWS_LC.load_key(Pki::shared("rsa2048x2").server.key()).unwrap(), [SignatureScheme::RSA_PKCS1_SHA256]);
        let chain = setup.server.config().credentials()[0].chain().to_vec();
        setup.server.credentials(vec![Credential::new(chain, Arc::new(key)).unwrap()]);
        let error = PeerIncompatible::NoCommonSignatureScheme.into();
        let expected = if version == TLS12 { Ok(()) } else { Err(Failed { side: Side::Server, error }) };
        assert_eq!(setup.pair(1).run(), expected);
    }
}

/// In TLS 1.2 a scheme of ECDSA names the hash, and any curve goes with it (RFC 9846, 4.3.3). This side signs with the hash
/// of its key's curve all the same, as in TLS 1.3.
#[test]
fn ecdsa_signs_with_the_hash_of_its_curve() {
    let (p256, p384) = (SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::ECDSA_SECP384R1_SHA384);
    for (version, provider) in VERSIONS.into_iter().flat_map(|version| PROVIDERS.map(|provider| (version, provider))) {
        for (chain, own, other) in [("p256x2", p256, p384), ("p384x2", p384, p256)] {
            let mut setup = Setup::new(provider, provider, chain).only(version);
            setup.client.signature_schemes(vec![other, own]);
            assert_eq!(signed_with(setup.clone()).1, [(Side::Server, own)]);
            setup.client.signature_schemes(vec![other]);
            let error = PeerIncompatible::NoCommonSignatureScheme.into();
            assert_eq!(setup.pair(1).run(), Err(Failed { side: Side::Server, error }));
        }
    }
}

/// PSS goes before PKCS#1, which TLS 1.3 does not know.
#[test]
fn pss_is_preferred() {
    for version in VERSIONS {
        let (_, seen) = signed_with(Setup::mutual(AWS_LC, AWS_LC, "rsa2048x2").only(version));
        let scheme = SignatureScheme::RSA_PSS_RSAE_SHA256;
        assert_eq!(seen, [(Side::Server, scheme), (Side::Client, scheme)]);
    }
}

/// A server with several keys shows the first one that the client can verify; in TLS 1.2 the suite says which kind.
#[test]
fn several_credentials() {
    let credentials = ["rsa2048x2", "p256x2", "ed25519x2"].map(|chain| Pki::shared(chain).server(AWS_LC));
    let scheme = SignatureScheme::ED25519;
    let rsa = CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
    for version in VERSIONS {
        let mut setup = Setup::new(AWS_LC, AWS_LC, "ed25519x2").only(version);
        setup.server.credentials(credentials.to_vec());
        setup.client.signature_schemes(vec![scheme]);
        let (_, seen) = signed_with(setup.clone());
        assert_eq!(seen, [(Side::Server, scheme)]);
        setup.client = terse_tls::ClientConfig::builder(AWS_LC);
        setup.client.trust(Pki::shared("rsa2048x2").trust());
        setup.client.edit_suites(|list| list.retain(|suite| AWS_LC.tls13_suite(*suite).is_some() || *suite == rsa));
        let (pair, seen) = signed_with(setup);
        assert_eq!(seen, [(Side::Server, SignatureScheme::RSA_PSS_RSAE_SHA256)]);
        assert!(version != TLS12 || pair.client.summary().cipher_suite == Some(rsa));
    }
}

/// RFC 5246, 7.4.1.4.1: without the extension it would be SHA-1, which nobody has.
#[test]
fn client_without_signature_algorithms() {
    let mut setup = Setup::new(PROVIDER, PROVIDER, "ed25519x2").only(TLS12);
    setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, |message| {
        terse_testkit::fault::remove_extension(message, terse_tls::ExtensionType::SIGNATURE_ALGORITHMS);
    })));
    let error = Error::from(PeerIncompatible::NoCommonSignatureScheme);
    assert_eq!(setup.pair(1).run(), Err(Failed { side: Side::Server, error }));
}

/// RFC 5246, 7.4.4: the types of certificates in the request bind the client as well as the schemes do. `ecdsa_sign` is
/// for EdDSA as well (RFC 8422, 5.5).
#[test]
fn types_of_client_certificates() {
    let (rsa_sign, ecdsa_sign, dss_sign) = (1, 64, 2);
    for (chain, types, sends) in [
        ("p256x2", &[ecdsa_sign][..], true),
        ("ed25519x2", &[dss_sign, ecdsa_sign], true),
        ("p256x2", &[rsa_sign], false),
        ("ed25519x2", &[rsa_sign, dss_sign], false),
        ("rsa2048x2", &[rsa_sign], true),
        ("rsa2048x2", &[ecdsa_sign, dss_sign], false),
    ] {
        let mut setup = Setup::mutual(AWS_LC, AWS_LC, chain).only(TLS12);
        setup.server.client_authentication(ClientAuthentication::Optional(Pki::shared(chain).trust()));
        let types = types.to_vec();
        setup.server.fault(Some(first(HandshakeType::CERTIFICATE_REQUEST, move |message| {
            edit_body(message, |body| {
                let len = usize::from(body[0]);
                body.splice(..1 + len, [&[types.len() as u8], &types[..]].concat());
            });
        })));
        let mut pair = setup.pair(1);
        pair.handshake().unwrap();
        assert_eq!(pair.server.summary().peer.identity.is_some(), sends, "{chain}");
        assert_eq!(pair.client.summary().fallback.is_none(), sends);
    }
}
