//! Several credentials of one side: which of them the other side is shown (RFC 9846, 4.3.3, 4.3.4 and 4.5.1; RFC 5246,
//! 7.4.4 to 7.4.6; RFC 7250, 4).

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};
use terse_pki::{KeyAlgorithm, LeafOptions, Usage};
use terse_testkit::pair::{Failed, Side};
use terse_testkit::pki::{Pki, SERVER_NAME, credential, validity};
use terse_testkit::setup::Setup;
use terse_tls::FallbackReason;
use terse_tls::{
    AlertDescription as Alert, ApiMisuse, CertificateError, ClientAuthentication, Credential, Error, PeerIdentity,
    ProtocolVersion, Setting, SignatureScheme, Trust,
};

use super::{PROVIDER, VERSIONS};

const ECDSA: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;

/// What the client has: of two CAs with keys on P-256, and of one with Ed25519.
static CAS: LazyLock<[(Pki, terse_pki::Credential); 3]> = LazyLock::new(|| {
    [("p256x3", "first"), ("p256x3", "second"), ("ed25519x2", "third")].map(|(chain, name)| {
        let pki = Pki::named(chain, name);
        let own = pki.authority.issue(&LeafOptions { usage: Usage::Client, ..LeafOptions::new(name, validity()) });
        (pki, own.unwrap())
    })
});

fn own(ca: usize) -> Credential {
    credential(PROVIDER, &CAS[ca].1)
}

fn raw(ca: usize) -> Credential {
    Credential::raw_public_key(PROVIDER.load_key(CAS[ca].1.key()).unwrap()).unwrap()
}

fn trust(cas: &[usize]) -> Trust {
    let roots: Vec<_> = cas.iter().map(|ca| CAS[*ca].0.root()).collect();
    Trust::new(&roots).unwrap()
}

/// A client with these credentials, and a server that believes these CAs and names them or not.
fn setup(version: ProtocolVersion, credentials: Vec<Credential>, believed: &[usize], names: bool) -> Setup {
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, "ed25519x2").only(version);
    setup.client.credentials(credentials);
    setup.server.client_authentication(ClientAuthentication::Required(trust(believed)));
    setup.server.certificate_authorities(names);
    setup
}

/// Who the client is, as the server sees it.
#[derive(Debug, PartialEq, Eq)]
enum Presented {
    Certificate(&'static str),
    Raw(usize),
}

fn presented(setup: &Setup) -> Option<Presented> {
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    match pair.server.summary().peer.identity.as_ref()? {
        PeerIdentity::RawPublicKey(key) => (0..3).find(|ca| *raw(*ca).public_key() == **key).map(Presented::Raw),
        identity => {
            let names = identity.subject_alt_name_der();
            let is_in = |name: &&str| names.windows(name.len()).any(|window| window == name.as_bytes());
            ["first", "second", "third"].into_iter().find(is_in).map(Presented::Certificate)
        }
    }
}

#[test]
fn the_issuer_that_the_server_names() {
    for version in VERSIONS {
        for (ca, name) in ["first", "second", "third"].into_iter().enumerate() {
            let named = setup(version, (0..3).map(own).collect(), &[ca], true);
            assert_eq!(presented(&named), Some(Presented::Certificate(name)), "{version}");
        }
        // Named or not, the client's order decides among those that are left.
        let several = setup(version, (0..3).map(own).collect(), &[2, 1], true);
        assert_eq!(presented(&several), Some(Presented::Certificate("second")), "{version}");
        let unnamed = setup(version, vec![own(2), own(0)], &[0, 1, 2], false);
        assert_eq!(presented(&unnamed), Some(Presented::Certificate("third")), "{version}");
    }
}

/// `certificate_authorities` is a wish (RFC 9846, 4.3.4): servers that name other CAs get what else fits, and judge it.
#[test]
fn an_issuer_that_the_server_does_not_name() {
    for version in VERSIONS {
        for credentials in [vec![own(0)], vec![own(0), own(2)]] {
            let mut pair = setup(version, credentials, &[1], true).pair(1);
            let error = Error::Certificate(CertificateError::UnknownIssuer);
            assert_eq!(pair.run(), Err(Failed { side: Side::Server, error }));
        }
    }
}

/// One that is for servers that name its issuer is shown to no other one: they get an empty Certificate.
#[test]
fn only_for_named_authorities() {
    for version in VERSIONS {
        let secret = || own(1).only_for_named_authorities();
        for (named, expected) in [(&[1][..], "second"), (&[0, 1], "second"), (&[0], "first")] {
            let setup = setup(version, vec![secret(), own(0)], named, true);
            assert_eq!(presented(&setup), Some(Presented::Certificate(expected)), "{version} {named:?}");
        }
        for (believed, names) in [(&[1][..], false), (&[0], true)] {
            let mut setup = setup(version, vec![secret()], believed, names);
            let mut pair = setup.pair(1);
            let error = Error::Certificate(CertificateError::Required);
            assert_eq!(pair.run(), Err(Failed { side: Side::Server, error }), "{version} {believed:?}");
            setup.server.client_authentication(ClientAuthentication::Optional(trust(believed)));
            assert_eq!(presented(&setup), None);
        }
    }
}

#[test]
fn the_signature_schemes_that_the_server_takes() {
    for version in VERSIONS {
        let mut setup = setup(version, vec![own(2), own(1)], &[0, 1, 2], true);
        setup.server.signature_schemes(vec![ECDSA, SignatureScheme::ED25519]);
        assert_eq!(presented(&setup), Some(Presented::Certificate("third")), "{version}");
        setup.server.signature_schemes(vec![ECDSA]);
        setup.server.credentials(vec![CAS[0].0.server(PROVIDER)]);
        setup.client.trust(trust(&[0]));
        assert_eq!(presented(&setup), Some(Presented::Certificate("second")), "{version}");
    }
}

/// X.509 or raw public keys: what the server chooses among what the client has (RFC 7250, 4.2).
#[test]
fn the_certificate_type_that_the_server_takes() {
    let keys = |ca: usize| Trust::raw_public_keys(&[raw(ca).public_key()]).unwrap();
    for version in VERSIONS {
        for credentials in [vec![own(0), raw(1)], vec![raw(1), own(0)]] {
            let mut setup = setup(version, credentials, &[0], true);
            assert_eq!(presented(&setup), Some(Presented::Certificate("first")), "{version}");
            setup.server.client_authentication(ClientAuthentication::Required(keys(1)));
            assert_eq!(presented(&setup), Some(Presented::Raw(1)), "{version}");
            // Believed as well, and not there.
            setup.server.client_authentication(ClientAuthentication::Required(keys(2)));
            let error = Error::Certificate(CertificateError::UnknownPublicKey {
                sha256: *sha256_of(&raw(1)).first_chunk().unwrap(),
            });
            assert_eq!(setup.pair(1).run(), Err(Failed { side: Side::Server, error }), "{version}");
        }
    }
}

fn sha256_of(credential: &Credential) -> [u8; 32] {
    Sha256::digest(credential.public_key()).into()
}

/// What none fits gets an empty Certificate, as with one credential, and the summary says why.
#[test]
fn none_that_fits() {
    for version in VERSIONS {
        let mut setup = setup(version, vec![own(0), own(1)], &[0, 1], true);
        setup.server.signature_schemes(vec![SignatureScheme::ED25519]);
        let mut pair = setup.pair(1);
        let error = Error::Certificate(CertificateError::Required);
        assert_eq!(pair.run(), Err(Failed { side: Side::Server, error }));
        let reason = FallbackReason::NoCredentialFits;
        assert_eq!(pair.client.summary().fallback, Some(reason));
        setup.server.client_authentication(ClientAuthentication::Optional(trust(&[0, 1])));
        assert_eq!(presented(&setup), None);
    }
}

/// A leaf on P-256 from a CA on P-384, beside one from a CA on P-256.
fn mixed_chains() -> [Credential; 2] {
    let mut options = LeafOptions { usage: Usage::Server, ..LeafOptions::new(SERVER_NAME, validity()) };
    options.algorithm = Some(KeyAlgorithm::P256);
    let of_p384 = Pki::shared("p384x3").authority.issue(&options).unwrap();
    [credential(PROVIDER, &of_p384), Pki::shared("p256x3").server(PROVIDER)]
}

/// A server shows a chain that the client can check, if it has one (RFC 9846, 4.5.1; RFC 5246, 7.4.2).
#[test]
fn the_chain_that_the_client_can_check() {
    let roots = [Pki::shared("p384x3").root(), Pki::shared("p256x3").root()];
    let sha384 = SignatureScheme::ECDSA_SECP384R1_SHA384;
    for version in VERSIONS {
        let mut setup = Setup::new(PROVIDER, PROVIDER, "p256x3").only(version);
        setup.client.trust(Trust::new(&roots).unwrap());
        setup.server.credentials(mixed_chains());
        for (schemes, of_chains, root) in [
            (vec![ECDSA, sha384], None, "p384x3"),
            (vec![ECDSA], None, "p256x3"),
            (vec![ECDSA], Some(vec![sha384]), "p384x3"),
            (vec![ECDSA, sha384], Some(vec![ECDSA]), "p256x3"),
        ] {
            setup.client.signature_schemes(schemes);
            setup.client.signature_schemes_of_chains(of_chains);
            setup.pair(1).handshake().unwrap();
            let mut only = setup.clone();
            only.client.trust(Pki::shared(root).trust());
            only.pair(1).handshake().unwrap_or_else(|failed| panic!("{version} {root}: {failed:?}"));
        }
    }
}

/// `signature_algorithms_cert` binds chains, and `signature_algorithms` then nothing but CertificateVerify (RFC 9846,
/// 4.3.3), on both sides.
#[test]
fn signature_schemes_of_chains() {
    let [of_p384, _] = mixed_chains();
    let pki = Pki::shared("p384x3");
    let sha384 = SignatureScheme::ECDSA_SECP384R1_SHA384;
    for version in VERSIONS {
        let connect = |by: Side, of_chains: Option<Vec<SignatureScheme>>| {
            let mut setup = Setup::mutual(PROVIDER, PROVIDER, "p256x3").only(version);
            match by {
                Side::Client => {
                    setup.server.credentials(vec![of_p384.clone()]);
                    setup.client.trust(pki.trust());
                }
                Side::Server => {
                    let options = LeafOptions { usage: Usage::Client, ..LeafOptions::new("first", validity()) };
                    let options = LeafOptions { algorithm: Some(KeyAlgorithm::P256), ..options };
                    setup.client.credentials(vec![credential(PROVIDER, &pki.authority.issue(&options).unwrap())]);
                    setup.server.client_authentication(ClientAuthentication::Required(pki.trust()));
                }
            }
            let common = setup.common(by);
            common.set_signature_schemes(vec![ECDSA]);
            common.set_signature_schemes_of_chains(of_chains);
            setup.pair(1).run().map_err(|failed| (failed.side, failed.error))
        };
        for by in Side::BOTH {
            let refused = Err((by, Error::Certificate(CertificateError::UnsupportedAlgorithm)));
            assert_eq!(connect(by, None), refused, "{version} {by:?}");
            assert_eq!(connect(by, Some(vec![sha384])), Ok(()), "{version} {by:?}");
            assert_eq!(connect(by, Some(vec![sha384, ECDSA])), Ok(()), "{version} {by:?}");
            assert_eq!(connect(by, Some(vec![ECDSA])), refused, "{version} {by:?}");
        }
    }
}

/// The scheme of CertificateVerify does not become one by standing among those of chains.
#[test]
fn schemes_of_chains_sign_no_handshake() {
    for version in VERSIONS {
        let mut setup = setup(version, vec![own(0)], &[0], false);
        setup.server.signature_schemes(vec![SignatureScheme::ED25519]);
        setup.server.signature_schemes_of_chains(vec![ECDSA]);
        let error = Error::Certificate(CertificateError::Required);
        assert_eq!(setup.pair(1).run(), Err(Failed { side: Side::Server, error }), "{version}");
    }
}

#[test]
fn limits() {
    let mut setup = Setup::new(PROVIDER, PROVIDER, "ed25519x2");
    setup.client.credentials(vec![own(0); 16]);
    setup.server.credentials(vec![own(0); 16]);
    assert_eq!((setup.client.build().map(drop), setup.server.build().map(drop)), (Ok(()), Ok(())));
    let mut more = setup.clone();
    more.client.credential(own(0));
    more.server.credential(own(0));
    let error = ApiMisuse::TooManyCredentials;
    assert_eq!((more.client.build().map(drop), more.server.build().map(drop)), (Err(error), Err(error)));
    for (schemes, error) in [
        (vec![], ApiMisuse::EmptyConfiguration(Setting::SignatureSchemeOfChains)),
        (vec![SignatureScheme(0x0203)], ApiMisuse::Unsupported(Setting::SignatureScheme)),
    ] {
        for side in Side::BOTH {
            setup.common(side).set_signature_schemes_of_chains(schemes.clone());
        }
        assert_eq!((setup.client.build().map(drop), setup.server.build().map(drop)), (Err(error), Err(error)));
    }
}

/// A server whose certificates are for clients that name their issuers, which Terse's do not, has none for them.
#[test]
fn a_server_only_for_named_authorities() {
    for version in VERSIONS {
        let mut setup = Setup::new(PROVIDER, PROVIDER, "ed25519x2").only(version);
        setup.server.credentials(vec![own(0).only_for_named_authorities()]);
        let mut pair = setup.pair(1);
        let error = terse_tls::PeerIncompatible::NoCommonAuthority.into();
        assert_eq!(pair.run(), Err(Failed { side: Side::Server, error }));
        assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(Alert::HANDSHAKE_FAILURE)));
        setup.server.credential(Pki::shared("ed25519x2").server(PROVIDER));
        setup.pair(1).handshake().unwrap();
    }
}
