//! What is wrong with a configuration is found without a peer: by `check`, and again by every connection.

use alloc::sync::Arc;

use pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use terse_testkit::pair::{Failed, Side, at};
use terse_testkit::pki::{Pki, server_address};
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::crypto::{CryptoError, KeyError, Rng, Signing, SigningKey};
use terse_tls::{
    AlertDescription, ApiMisuse, CertificateType, CipherSuite, Common, Connection, Credential, Error, NamedGroup,
    ProtocolVersion, SignatureScheme, Trust,
};

use crate::{PROVIDER, PROVIDERS, VERSIONS};

const CHAIN: &str = "ed25519x2";

#[test]
fn configurations() {
    let unknown = ApiMisuse::Unsupported;
    let empty = ApiMisuse::EmptyConfiguration;
    let no_scheme = empty("signature scheme for the versions that are enabled");
    let tls13_with_pkcs1 = |c: &mut Common| {
        c.versions = vec![ProtocolVersion::TLS_1_3];
        c.signature_schemes = vec![SignatureScheme::RSA_PKCS1_SHA256];
    };
    let tls12_without_curves = |c: &mut Common| {
        c.versions = vec![ProtocolVersion::TLS_1_2];
        c.groups = vec![NamedGroup::X25519MLKEM768];
    };
    type Spoil = fn(&mut Common);
    let cases: [(Spoil, ApiMisuse); 18] = [
        (|c| c.suites.clear(), empty("cipher suite")),
        (|c| c.groups.clear(), empty("group")),
        (tls12_without_curves, empty("group")),
        (|c| c.signature_schemes.clear(), no_scheme),
        (tls13_with_pkcs1, no_scheme),
        (|c| c.versions.clear(), empty("protocol version")),
        (|c| c.versions.push(ProtocolVersion(0x0302)), unknown("protocol version")),
        (|c| c.suites.push(CipherSuite(0x1306)), unknown("cipher suite")),
        (|c| c.groups.push(NamedGroup(0x1e)), unknown("group")),
        (|c| c.signature_schemes.push(SignatureScheme(0x0203)), unknown("signature scheme")),
        (|c| c.record_size_limit = Some(0), ApiMisuse::LimitOutOfRange),
        (|c| c.record_size_limit = Some(63), ApiMisuse::LimitOutOfRange),
        (|c| c.record_size_limit = Some(16386), ApiMisuse::LimitOutOfRange),
        (|c| c.max_send_buffer = 0, ApiMisuse::ZeroLimit("max_send_buffer")),
        (|c| c.max_handshake_message = 0, ApiMisuse::ZeroLimit("max_handshake_message")),
        (|c| c.alpn_protocols = vec![Vec::new()], ApiMisuse::NameTooLong),
        (|c| c.alpn_protocols = vec![vec![b'x'; 256]], ApiMisuse::NameTooLong),
        // Each name fits, all of them together do not. This is found when the ClientHello is made.
        (|c| c.alpn_protocols = vec![vec![b'x'; 255]; 256], ApiMisuse::NameTooLong),
    ];
    for (nth, (spoil, error)) in cases.into_iter().enumerate() {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
        assert_eq!((setup.client.check(), setup.server.check()), (Ok(()), Ok(())));
        spoil(&mut setup.client.common);
        spoil(&mut setup.server.common);
        let client =
            Connection::client(Arc::new(setup.client.clone()), server_address(), at(0), &mut SeededRng::new(1));
        assert_eq!(client.err(), Some(error.into()), "{nth}");
        if nth < 17 {
            assert_eq!((setup.client.check(), setup.server.check()), (Err(error), Err(error)), "{nth}");
            assert_eq!(Connection::server(Arc::new(setup.server), at(0)).err(), Some(error.into()));
        }
    }
    for limit in [64, 16385] {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
        setup.client.common.record_size_limit = Some(limit);
        setup.pair(1).handshake().unwrap();
    }
}

#[test]
fn credentials() {
    let pki = Pki::shared(CHAIN);
    for provider in PROVIDERS {
        let load = |key: &PrivateKeyDer<'_>| (provider.load_key)(key).unwrap();
        let (chain, key) = (pki.server.chain().to_vec(), load(pki.server.key()));
        assert!(Credential::new(provider, chain.clone(), key.clone()).is_ok());
        let mismatch = Credential::new(provider, chain, load(pki.client.key()));
        assert_eq!(mismatch.err(), Some(ApiMisuse::KeyDoesNotMatchCertificate));
        assert_eq!(Credential::new(provider, Vec::new(), key.clone()).err(), Some(ApiMisuse::EmptyChain));
        let malformed = vec![CertificateDer::from(vec![0x30, 3, 2, 1, 1])];
        assert_eq!(Credential::new(provider, malformed, key).err(), Some(ApiMisuse::MalformedCertificate));
        let no_key = PrivateKeyDer::try_from(vec![0x30, 3, 2, 1, 0]);
        assert!(no_key.is_err() || (provider.load_key)(&no_key.unwrap()).is_err());
    }
    let rsa = Pki::shared("rsa2048x2");
    assert_eq!((PROVIDER.load_key)(rsa.server.key()).err(), Some(KeyError::RsaSigningDisabled));
}

#[test]
fn trust() {
    let root = Pki::shared(CHAIN).root();
    assert_eq!(Trust::new(PROVIDER, &[]).err(), Some(ApiMisuse::NoTrustAnchors));
    for malformed in [&b""[..], b"no certificate", &root[..root.len() - 1], &[0x30, 0]] {
        let trust = Trust::new(PROVIDER, &[root.clone(), CertificateDer::from(malformed)]);
        assert_eq!(trust.err(), Some(ApiMisuse::MalformedCertificate));
        let crls = [CertificateRevocationListDer::from(malformed)];
        let trust = Trust::new(PROVIDER, core::slice::from_ref(&root)).unwrap().with_crls(PROVIDER, &crls);
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
    let client = Arc::new(Setup::new(PROVIDER, PROVIDER, "p256x2").client);
    let new = |calls| Connection::client(client.clone(), server_address(), at(0), &mut FailingRng(calls));
    assert_eq!(new(0).err(), Some(CryptoError::RandomFailed.into()));
    assert_eq!(new(1).err(), Some(CryptoError::RandomFailed.into()));
    let mut failures = 0;
    for (calls, version) in (0..8).flat_map(|calls| VERSIONS.map(|version| (calls, version))) {
        let Setup { client, server, .. } = Setup::new(PROVIDER, PROVIDER, "p256x2").only(version);
        let mut pair = terse_testkit::pair::Pair::new(&Arc::new(client), &Arc::new(server), 1);
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
        let gone = Arc::new(Gone((PROVIDER.load_key)(issued.key()).unwrap()));
        let credential = Credential::new(PROVIDER, issued.chain().to_vec(), gone).unwrap();
        match side {
            Side::Client => setup.client.credentials = vec![credential],
            Side::Server => setup.server.credentials[0] = credential,
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
            let Ok(key) = (provider.load_key)(Pki::shared(chain).client.key()) else { continue };
            let credential = Credential::raw_public_key(provider, key).unwrap();
            assert_eq!(credential.certificate_type(), CertificateType::RAW_PUBLIC_KEY);
            let trust = Trust::raw_public_keys(provider, &[credential.public_key()]).unwrap();
            assert!(trust.accepts(CertificateType::RAW_PUBLIC_KEY) && !trust.accepts(CertificateType::X509), "{chain}");
        }
    }
    for (malformed, error) in [
        (&b"no key"[..], ApiMisuse::MalformedPublicKey),
        // An algorithm that nobody knows (1.2.3.4).
        (&[0x30, 11, 0x30, 5, 6, 3, 0x2a, 3, 4, 3, 2, 0, 7], ApiMisuse::UnsupportedPublicKey),
    ] {
        let keys = [SubjectPublicKeyInfoDer::from(malformed)];
        assert_eq!(Trust::raw_public_keys(PROVIDER, &keys).err(), Some(error));
        let trust = Pki::shared(CHAIN).trust(PROVIDER);
        assert_eq!(trust.with_raw_public_keys(PROVIDER, &keys).err(), Some(error));
    }
    assert_eq!(Trust::raw_public_keys(PROVIDER, &[]).err(), Some(ApiMisuse::NoTrustAnchors));
}
