//! What is wrong with a configuration is found without a peer, when it is built.

use alloc::sync::Arc;

use pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use terse_testkit::pair::{Failed, Side, at};
use terse_testkit::pki::{Pki, server_address};
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::crypto::{CryptoError, KeyError, Rng, Signing, SigningKey};
use terse_tls::resume::{MemorySessionStore, ServerEarlyData, ServerResumption};
use terse_tls::{
    AlertDescription, ApiMisuse, CertificateType, CipherSuite, ClientAuthentication, ClientConfig, Common, Connection,
    Credential, Error, NamedGroup, ProtocolVersion, ServerConfig, Setting, SignatureScheme, Trust,
};

use super::{PROVIDER, PROVIDERS, VERSIONS};

const CHAIN: &str = "ed25519x2";

#[test]
fn configurations() {
    let unknown = ApiMisuse::Unsupported;
    let empty = ApiMisuse::EmptyConfiguration;
    let no_scheme = empty(Setting::SignatureSchemeOfVersions);
    let tls13_with_pkcs1 = |c: &mut Common| {
        c.set_versions([ProtocolVersion::TLS_1_3]).set_signature_schemes([SignatureScheme::RSA_PKCS1_SHA256]);
    };
    let tls12_without_curves = |c: &mut Common| {
        c.set_versions([ProtocolVersion::TLS_1_2]).set_groups([NamedGroup::X25519MLKEM768]);
    };
    type Spoil = fn(&mut Common);
    let cases: [(Spoil, ApiMisuse); 18] = [
        (|c| c.edit_suites(|list| list.clear()), empty(Setting::CipherSuite)),
        (|c| c.edit_groups(|list| list.clear()), empty(Setting::Group)),
        (tls12_without_curves, empty(Setting::Group)),
        (|c| c.edit_signature_schemes(|list| list.clear()), no_scheme),
        (tls13_with_pkcs1, no_scheme),
        (|c| c.edit_versions(|list| list.clear()), empty(Setting::ProtocolVersion)),
        (|c| c.edit_versions(|list| list.push(ProtocolVersion(0x0302))), unknown(Setting::ProtocolVersion)),
        (|c| c.edit_suites(|list| list.push(CipherSuite(0x1306))), unknown(Setting::CipherSuite)),
        (|c| c.edit_groups(|list| list.push(NamedGroup(0x1e))), unknown(Setting::Group)),
        (|c| c.edit_signature_schemes(|list| list.push(SignatureScheme(0x0203))), unknown(Setting::SignatureScheme)),
        (|c| _ = c.set_record_size_limit(Some(0)), ApiMisuse::LimitOutOfRange),
        (|c| _ = c.set_record_size_limit(Some(63)), ApiMisuse::LimitOutOfRange),
        (|c| _ = c.set_record_size_limit(Some(16386)), ApiMisuse::LimitOutOfRange),
        (|c| _ = c.set_max_send_buffer(0), ApiMisuse::ZeroLimit(Setting::MaxSendBuffer)),
        (|c| _ = c.set_max_handshake_message(0), ApiMisuse::ZeroLimit(Setting::MaxHandshakeMessage)),
        (|c| _ = c.set_alpn_protocols(vec![Vec::new()]), ApiMisuse::NameTooLong),
        (|c| _ = c.set_alpn_protocols(vec![vec![b'x'; 256]]), ApiMisuse::NameTooLong),
        // Each name fits, all of them together do not. This is found when the ClientHello is made.
        (|c| _ = c.set_alpn_protocols(vec![vec![b'x'; 255]; 256]), ApiMisuse::NameTooLong),
    ];
    for (nth, (spoil, error)) in cases.into_iter().enumerate() {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
        assert_eq!((setup.client.build().map(drop), setup.server.build().map(drop)), (Ok(()), Ok(())));
        spoil(setup.client.common_mut());
        spoil(setup.server.common_mut());
        if nth < 17 {
            assert_eq!(
                (setup.client.build().map(drop), setup.server.build().map(drop)),
                (Err(error), Err(error)),
                "{nth}"
            );
            continue;
        }
        let config = Arc::new(setup.client.build().unwrap());
        let client = Connection::client(config, server_address(), at(0), &mut SeededRng::new(1));
        assert_eq!(client.err(), Some(error.into()), "{nth}");
    }
    for limit in [64, 16385] {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
        setup.client.record_size_limit(Some(limit));
        setup.pair(1).handshake().unwrap();
    }
}

/// Settings that say nothing, or nothing together, are refused when the configuration is made.
#[test]
fn contradictions() {
    let nobody = ClientConfig::builder(PROVIDER).build();
    assert_eq!(ClientConfig::builder(PROVIDER).into_config().err(), nobody.as_ref().err().copied());
    let what = Setting::ProofOfServer;
    assert_eq!(nobody.err(), Some(ApiMisuse::EmptyConfiguration(what)));
    let nothing = ServerConfig::builder(PROVIDER).build();
    assert_eq!(nothing.err(), Some(ApiMisuse::EmptyConfiguration(Setting::OwnProof)));

    let mut server = Setup::new(PROVIDER, PROVIDER, CHAIN).server;
    server.early_data(ServerEarlyData::new(100));
    assert_eq!(server.build().err(), Some(ApiMisuse::EarlyDataWithoutResumption));
    let store = Arc::new(MemorySessionStore::new(1));
    server.resumption(ServerResumption::Stateful { store, lifetime_seconds: 60 });
    assert!(server.build().is_ok());

    server.certificate_authorities(true);
    assert_eq!(server.build().err(), Some(ApiMisuse::NoClientIsAsked));
    server.client_authentication(ClientAuthentication::Optional(Pki::shared(CHAIN).trust()));
    assert!(server.build().is_ok());
}

/// A configuration that was built is begun again with what it says.
#[test]
fn a_builder_goes_on_from_a_configuration() {
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN);
    setup.client.versions([ProtocolVersion::TLS_1_2]);
    setup.client = setup.client.build().unwrap().to_builder();
    setup.server = setup.server.build().unwrap().to_builder();
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    assert_eq!(pair.server.summary().version, Some(ProtocolVersion::TLS_1_2));
    assert!(pair.server.summary().peer.identity.is_some());
}

#[test]
fn credentials() {
    let pki = Pki::shared(CHAIN);
    for provider in PROVIDERS {
        let load = |key: &PrivateKeyDer<'_>| provider.load_key(key).unwrap();
        let (chain, key) = (pki.server.chain().to_vec(), load(pki.server.key()));
        assert!(Credential::new(chain.clone(), key.clone()).is_ok());
        let mismatch = Credential::new(chain, load(pki.client.key()));
        assert_eq!(mismatch.err(), Some(ApiMisuse::KeyDoesNotMatchCertificate));
        assert_eq!(Credential::new(Vec::new(), key.clone()).err(), Some(ApiMisuse::EmptyChain));
        let malformed = vec![CertificateDer::from(vec![0x30, 3, 2, 1, 1])];
        assert_eq!(Credential::new(malformed, key).err(), Some(ApiMisuse::MalformedCertificate));
        let no_key = PrivateKeyDer::try_from(vec![0x30, 3, 2, 1, 0]);
        assert!(no_key.is_err() || provider.load_key(&no_key.unwrap()).is_err());
    }
    let rsa = Pki::shared("rsa2048x2");
    assert_eq!(PROVIDER.load_key(rsa.server.key()).err(), Some(KeyError::RsaSigningDisabled));
}

#[test]
fn trust() {
    let root = Pki::shared(CHAIN).root();
    assert_eq!(Trust::new(&[]).err(), Some(ApiMisuse::NoTrustAnchors));
    for malformed in [&b""[..], b"no certificate", &root[..root.len() - 1], &[0x30, 0]] {
        let trust = Trust::new(&[root.clone(), CertificateDer::from(malformed)]);
        assert_eq!(trust.err(), Some(ApiMisuse::MalformedCertificate));
        let crls = [CertificateRevocationListDer::from(malformed)];
        let trust = Trust::new(core::slice::from_ref(&root)).unwrap().with_crls(&crls);
        assert_eq!(trust.err(), Some(ApiMisuse::MalformedCrl));
    }
}

/// Works for a number of calls, and then no more.
struct FailingRng(usize);

impl Rng for FailingRng {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        self.0 = self.0.checked_sub(1).ok_or(CryptoError::RandomFailed)?;
        SeededRng::new(self.0 as u64).fill(out)
    }
}

/// Without randomness there is no connection, and nothing is sent that needed some.
#[test]
fn no_randomness() {
    let client = Arc::new(Setup::new(PROVIDER, PROVIDER, "p256x2").client.build().unwrap());
    let new = |calls| Connection::client(client.clone(), server_address(), at(0), &mut FailingRng(calls));
    assert_eq!(new(0).err(), Some(CryptoError::RandomFailed.into()));
    assert_eq!(new(1).err(), Some(CryptoError::RandomFailed.into()));
    let mut failures = 0;
    for (calls, version) in (0..8).flat_map(|calls| VERSIONS.map(|version| (calls, version))) {
        let Setup { client, server, .. } = Setup::new(PROVIDER, PROVIDER, "p256x2").only(version);
        let mut pair =
            terse_testkit::pair::Pair::new(&Arc::new(client.build().unwrap()), &Arc::new(server.build().unwrap()), 1);
        let mut hello = pair.transmit(Side::Client);
        let now = pair.now;
        if let Err(error) = pair.server.handle_input(now, &mut FailingRng(calls), &mut hello) {
            assert_eq!(error, CryptoError::RandomFailed.into());
            assert!(pair.run().is_err());
            let alert = AlertDescription::INTERNAL_ERROR;
            assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(alert)));
            failures += 1;
        }
    }
    assert!((2..16).contains(&failures));
}

/// A secure element that is gone.
struct Gone(Arc<dyn SigningKey>);

impl SigningKey for Gone {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn public_key(&self) -> pki_types::SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Err(CryptoError::SigningFailed)
    }
}

#[test]
fn no_signature() {
    let pki = Pki::shared(CHAIN);
    for (side, version) in Side::BOTH.into_iter().flat_map(|side| VERSIONS.map(|version| (side, version))) {
        let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(version);
        let issued = if side == Side::Client { &pki.client } else { &pki.server };
        let gone = Arc::new(Gone(PROVIDER.load_key(issued.key()).unwrap()));
        let credential = Credential::new(issued.chain().to_vec(), gone).unwrap();
        match side {
            Side::Client => {
                setup.client.credentials(vec![credential]);
            }
            Side::Server => setup.server.edit_credentials(|own| own[0] = credential),
        }
        let mut pair = setup.pair(1);
        let error = CryptoError::SigningFailed.into();
        assert_eq!(pair.run(), Err(Failed { side, error }));
        let alert = Error::AlertReceived(AlertDescription::INTERNAL_ERROR);
        assert_eq!(pair.failure(side.other()), Some(&alert));
    }
}

/// Every kind of key that a provider signs with can be configured as a raw public key, on either side.
#[test]
fn raw_public_keys() {
    for provider in PROVIDERS {
        for chain in ["p256x2", "p384x2", "ed25519x2", "rsa2048x2"] {
            let Ok(key) = provider.load_key(Pki::shared(chain).client.key()) else { continue };
            let credential = Credential::raw_public_key(key).unwrap();
            assert_eq!(credential.certificate_type(), CertificateType::RAW_PUBLIC_KEY);
            let trust = Trust::raw_public_keys(&[credential.public_key()]).unwrap();
            assert!(trust.accepts(CertificateType::RAW_PUBLIC_KEY) && !trust.accepts(CertificateType::X509), "{chain}");
        }
    }
    let malformed = [SubjectPublicKeyInfoDer::from(&b"no key"[..])];
    assert_eq!(Trust::raw_public_keys(&malformed).err(), Some(ApiMisuse::MalformedPublicKey));
    let trust = || Pki::shared(CHAIN).trust();
    assert_eq!(trust().with_raw_public_keys(&malformed).err(), Some(ApiMisuse::MalformedPublicKey));
    // An algorithm that nobody knows (1.2.3.4): a provider could, and the one that is configured does not.
    let unknown = [SubjectPublicKeyInfoDer::from(&[0x30, 11, 0x30, 5, 6, 3, 0x2a, 3, 4, 3, 2, 0, 7][..])];
    for trust in [Trust::raw_public_keys(&unknown).unwrap(), trust().with_raw_public_keys(&unknown).unwrap()] {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
        let error = Some(ApiMisuse::UnsupportedPublicKey);
        assert_eq!(setup.client.trust(trust.clone()).build().err(), error);
        for asks in [ClientAuthentication::Optional(trust.clone()), ClientAuthentication::Required(trust.clone())] {
            assert_eq!(setup.server.client_authentication(asks).build().err(), error);
        }
    }
    assert_eq!(Trust::raw_public_keys(&[]).err(), Some(ApiMisuse::NoTrustAnchors));
}
