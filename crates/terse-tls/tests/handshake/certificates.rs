//! Certificates that are refused: the error of the side that looks, and the alert that the other one sees (RFC 9846,
//! 6.2; RFC 5280, 6).

use alloc::sync::Arc;
use std::sync::LazyLock;

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime};
use terse_pki::{Authority, AuthorityOptions, Credential, LeafOptions, Revocation, Usage, Validity};
use terse_testkit::pair::{Failed, Pair, Side, at};
use terse_testkit::pki::{CLIENT_NAME, DAY, NOW, Pki, SERVER_NAME, credential, validity};
use terse_testkit::setup::Setup;
use terse_tls::{
    AlertDescription as Alert, CertificateError, ClientAuthentication, Date, Error, Now, PeerIncompatible,
    ProtocolVersion, ServerAddress, SignatureScheme, Trust,
};

use super::{PROVIDER, PROVIDERS, VERSIONS};

const CHAIN: &str = "ed25519x3";

/// One side shows a certificate, the other one looks at it.
struct Case {
    /// Who looks.
    by: Side,
    shown: Credential,
    trust: Trust,
    now: Now,
}

impl Case {
    /// A good certificate of the shared PKI, with `change` to its options.
    fn new(by: Side, change: impl FnOnce(&mut LeafOptions)) -> Self {
        let pki = Pki::shared(CHAIN);
        Self { by, shown: issue(&pki.authority, by, change), trust: pki.trust(), now: at(0) }
    }

    fn pair(&self, version: ProtocolVersion) -> Pair {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN).only(version);
        let shown = credential(PROVIDER, &self.shown);
        match self.by {
            Side::Client => {
                setup.server.credentials(vec![shown]);
                setup.client.trust(self.trust.clone());
            }
            Side::Server => {
                setup.client.credentials(vec![shown]);
                setup.client.trust(setup.client.config().trust().clone().accept_without_clock());
                setup.server.client_authentication(ClientAuthentication::Required(self.trust.clone()));
            }
        }
        Pair::at(&Arc::new(setup.client.build().unwrap()), &Arc::new(setup.server.build().unwrap()), 1, self.now)
    }

    fn refused(&self, error: CertificateError, alert: Alert) {
        for version in VERSIONS {
            let mut pair = self.pair(version);
            let error = Error::Certificate(error);
            assert_eq!(pair.run(), Err(Failed { side: self.by, error }));
            assert_eq!(error.alert(), Some(alert));
            assert_eq!(pair.failure(self.by.other()), Some(&Error::AlertReceived(alert)));
            assert!(!pair.client.is_connected() && !pair.server.is_connected());
        }
    }

    /// Returns what the side that looks says about time.
    fn accepted(&self) -> bool {
        let unchecked = VERSIONS.map(|version| {
            let mut pair = self.pair(version);
            pair.handshake().unwrap();
            pair.side(self.by).0.summary().peer.time_unchecked
        });
        assert_eq!(unchecked[0], unchecked[1]);
        unchecked[0]
    }
}

fn issue(authority: &Authority, by: Side, change: impl FnOnce(&mut LeafOptions)) -> Credential {
    let (name, usage) = match by {
        Side::Client => (SERVER_NAME, Usage::Server),
        Side::Server => (CLIENT_NAME, Usage::Client),
    };
    let mut options = LeafOptions { usage, ..LeafOptions::new(name, validity()) };
    change(&mut options);
    authority.issue(&options).unwrap()
}

fn unix(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(core::time::Duration::from_secs(seconds))
}

#[test]
fn validity_of_the_leaf() {
    for by in Side::BOTH {
        let from_to = |not_before, not_after| Case::new(by, |o| o.validity = Validity { not_before, not_after });
        from_to(NOW, NOW + 1).accepted();
        from_to(NOW - 1, NOW).accepted();
        let expired = CertificateError::Expired { depth: 0, not_after: Date::of(unix(NOW - 1)) };
        from_to(NOW - DAY, NOW - 1).refused(expired, Alert::CERTIFICATE_EXPIRED);
        let early = CertificateError::NotYetValid { depth: 0, not_before: Date::of(unix(NOW + 1)) };
        from_to(NOW + 1, NOW + DAY).refused(early, Alert::CERTIFICATE_EXPIRED);
    }
}

#[test]
fn validity_of_an_intermediate() {
    let early = Validity { not_before: NOW - 2 * DAY, not_after: NOW - DAY };
    let authority = Authority::new(&AuthorityOptions::new(CHAIN.parse().unwrap(), early)).unwrap();
    for by in Side::BOTH {
        let shown = issue(&authority, by, |_| {});
        let trust = Trust::new(&[authority.root().clone()]).unwrap();
        let expired = CertificateError::Expired { depth: 1, not_after: Date::of(unix(early.not_after)) };
        let case = Case { by, shown, trust, now: at(0) };
        case.refused(expired, Alert::CERTIFICATE_EXPIRED);
    }
}

#[test]
fn name() {
    let wrong = |shown: &[&str], wanted: &str, error: Option<CertificateError>| {
        let case = Case::new(Side::Client, |o| o.names = shown.iter().map(|name| name.to_string()).collect());
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
        setup.server.credentials(vec![credential(PROVIDER, &case.shown)]);
        let address = ServerAddress::new(ServerName::try_from(wanted.to_string()).unwrap(), 1);
        let mut pair = Pair::to(
            address,
            &Arc::new(setup.client.build().unwrap()),
            &Arc::new(setup.server.build().unwrap()),
            1,
            at(0),
        );
        let expected = error.map(|error| Failed { side: Side::Client, error: error.into() });
        assert_eq!(pair.run().err(), expected, "{shown:?} for {wanted}");
        let alert = Error::AlertReceived(Alert::BAD_CERTIFICATE);
        assert_eq!(pair.failure(Side::Server), error.map(|_| &alert));
    };
    let error = Some(CertificateError::WrongName);
    wrong(&["other.plant.example"], SERVER_NAME, error);
    wrong(&["other.plant.example", SERVER_NAME], SERVER_NAME, None);
    wrong(&[SERVER_NAME], "BROKER.plant.EXAMPLE", None);
    wrong(&["*.plant.example"], SERVER_NAME, None);
    wrong(&["*.plant.example"], "plant.example", error);
    wrong(&["*.plant.example"], "a.b.plant.example", error);
    wrong(&[SERVER_NAME], "192.0.2.1", error);
    wrong(&["192.0.2.1"], "192.0.2.1", None);
    wrong(&["192.0.2.1"], "192.0.2.2", error);
    wrong(&["2001:db8::1"], "2001:db8::1", None);
}

#[test]
fn unknown_ca() {
    static OTHER: LazyLock<Pki> = LazyLock::new(|| Pki::named(CHAIN, "Other CA"));
    for by in Side::BOTH {
        let case = Case { trust: OTHER.trust(), ..Case::new(by, |_| {}) };
        case.refused(CertificateError::UnknownIssuer, Alert::UNKNOWN_CA);
        // One of two trusted ones is enough.
        let both = Trust::new(&[OTHER.root(), Pki::shared(CHAIN).root()]).unwrap();
        Case { trust: both, ..Case::new(by, |_| {}) }.accepted();
        // The same name, another key.
        let namesake = Pki::new(CHAIN).trust();
        let case = Case { trust: namesake, ..Case::new(by, |_| {}) };
        case.refused(CertificateError::BadSignature, Alert::BAD_CERTIFICATE);
    }
}

#[test]
fn wrong_usage() {
    for by in Side::BOTH {
        let other = if by == Side::Client { Usage::Client } else { Usage::Server };
        let case = Case::new(by, |options| options.usage = other);
        case.refused(CertificateError::WrongUsage, Alert::UNSUPPORTED_CERTIFICATE);
        Case::new(by, |options| options.usage = Usage::Both).accepted();
    }
}

/// A leaf that issues certificates: its owner takes it for an intermediate CA.
#[test]
fn issued_by_a_leaf() {
    let pki = Pki::shared(CHAIN);
    let leaf = issue(&pki.authority, Side::Server, |_| {});
    let directory = std::env::temp_dir().join(format!("terse-leaf-ca-{}", std::process::id()));
    let [root, intermediate] = [0, 1].map(|number| pki.authority.certificates().nth(number).unwrap().clone());
    pki.authority.save(&directory, true).unwrap();
    let pem = |der: &[u8]| terse_pki::to_pem("CERTIFICATE", der);
    std::fs::write(directory.join("intermediate2.pem"), pem(leaf.leaf())).unwrap();
    std::fs::write(directory.join("intermediate2.key"), &*leaf.key_pem()).unwrap();
    let authority = Authority::load(&directory);
    std::fs::remove_dir_all(&directory).unwrap();
    let authority = authority.unwrap();
    for by in Side::BOTH {
        let shown = issue(&authority, by, |_| {});
        assert_eq!(shown.chain()[1..], [leaf.leaf().clone(), intermediate.clone()]);
        let trust = Trust::new(core::slice::from_ref(&root)).unwrap();
        let case = Case { by, shown, trust, now: at(0) };
        case.refused(CertificateError::WrongUsage, Alert::UNSUPPORTED_CERTIFICATE);
    }
}

fn crl(issuer: usize, revoked: &[&Credential], validity: Validity) -> CertificateRevocationListDer<'static> {
    let revoked: Vec<_> =
        revoked.iter().map(|credential| Revocation::new(credential.leaf(), NOW - DAY).unwrap()).collect();
    Pki::shared(CHAIN).authority.crl(issuer, &revoked, validity).unwrap()
}

#[test]
fn revocation() {
    let other = Case::new(Side::Client, |_| {}).shown;
    for by in Side::BOTH {
        let case = |make: &dyn Fn(&Credential) -> Vec<CertificateRevocationListDer<'static>>| {
            let case = Case::new(by, |_| {});
            let crls = make(&case.shown);
            Case { trust: case.trust.clone().with_crls(&crls).unwrap(), ..case }
        };
        case(&|_| vec![crl(1, &[], validity())]).accepted();
        case(&|_| vec![crl(1, &[&other], validity())]).accepted();
        case(&|_| vec![crl(0, &[], validity()), crl(1, &[], validity())]).accepted();
        let revoked = case(&|leaf| vec![crl(1, &[&other, leaf], validity())]);
        revoked.refused(CertificateError::Revoked, Alert::CERTIFICATE_REVOKED);
        // The only CRL is the root's, and the leaf has another issuer.
        let missing = case(&|_| vec![crl(0, &[], validity())]);
        missing.refused(CertificateError::UnknownRevocationStatus, Alert::CERTIFICATE_UNKNOWN);
        let old = Validity { not_before: NOW - 2 * DAY, not_after: NOW - DAY };
        let expired = case(&|_| vec![crl(1, &[], old)]);
        expired.refused(CertificateError::CrlExpired, Alert::CERTIFICATE_EXPIRED);
    }
}

/// An intermediate CA that its root has revoked.
#[test]
fn revoked_intermediate() {
    let pki = Pki::shared(CHAIN);
    let intermediate = pki.authority.certificates().nth(1).unwrap();
    let revoked = [Revocation::new(intermediate, NOW - DAY).unwrap()];
    let crls = [pki.authority.crl(0, &revoked, validity()).unwrap(), crl(1, &[], validity())];
    for by in Side::BOTH {
        let case = Case::new(by, |_| {});
        let case = Case { trust: case.trust.clone().with_crls(&crls).unwrap(), ..case };
        case.refused(CertificateError::Revoked, Alert::CERTIFICATE_REVOKED);
    }
}

/// A device that does not know the time refuses certificates, unless it was told to accept and mark them.
#[test]
fn no_clock() {
    let now = Now::new(at(0).monotonic, None);
    for by in Side::BOTH {
        let case = Case { now, ..Case::new(by, |_| {}) };
        case.refused(CertificateError::NoTime, Alert::CERTIFICATE_UNKNOWN);

        for not_after in [NOW + DAY, NOW - DAY] {
            let case = Case::new(by, |o| o.validity = Validity { not_before: NOW - 2 * DAY, not_after });
            let case = Case { now, trust: case.trust.clone().accept_without_clock(), ..case };
            assert!(case.accepted());
        }
        // With a clock it is used.
        let case = Case::new(by, |o| o.validity = Validity { not_before: NOW - 2 * DAY, not_after: NOW - DAY });
        let case = Case { trust: case.trust.clone().accept_without_clock(), ..case };
        let expired = CertificateError::Expired { depth: 0, not_after: Date::of(unix(NOW - DAY)) };
        case.refused(expired, Alert::CERTIFICATE_EXPIRED);
        // Whatever else is wrong is still wrong.
        let wrong = Case::new(by, |o| o.usage = if by == Side::Client { Usage::Client } else { Usage::Server });
        let wrong = Case { now, trust: wrong.trust.clone().accept_without_clock(), ..wrong };
        wrong.refused(CertificateError::WrongUsage, Alert::UNSUPPORTED_CERTIFICATE);
        let good = Case { trust: Case::new(by, |_| {}).trust.accept_without_clock(), ..Case::new(by, |_| {}) };
        assert!(!good.accepted());
    }
}

/// Chains are signed only with what is offered for signatures.
#[test]
fn signature_of_the_chain() {
    use terse_tls::SignatureScheme;
    let pki = Pki::shared("p384x3");
    for (provider, version) in PROVIDERS.into_iter().flat_map(|provider| VERSIONS.map(|version| (provider, version))) {
        let mut options = LeafOptions { usage: Usage::Server, ..LeafOptions::new(SERVER_NAME, validity()) };
        options.algorithm = Some(terse_pki::KeyAlgorithm::P256);
        let mut setup = Setup::new(provider, provider, "p384x3").only(version);
        setup.server.credentials(vec![credential(provider, &pki.authority.issue(&options).unwrap())]);
        setup.pair(1).handshake().unwrap();
        setup.client.signature_schemes(vec![SignatureScheme::ECDSA_SECP256R1_SHA256]);
        let mut pair = setup.pair(1);
        let error = CertificateError::UnsupportedAlgorithm.into();
        assert_eq!(pair.run(), Err(Failed { side: Side::Client, error }));
        assert_eq!(pair.failure(Side::Server), Some(&Error::AlertReceived(Alert::UNSUPPORTED_CERTIFICATE)));
    }
}

/// A P-384 CA that signs a P-256 leaf with SHA-256, as `openssl req` and `openssl x509` make them (valid from 2026-11-21
/// on): no signature scheme names this pair, but ecdsa_secp256r1_sha256 allows the hash.
#[test]
fn ca_on_p384_that_signs_with_sha256() {
    let pem = |pem: &'static str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let ca = pem(include_str!("fixtures/p384_sha256_ca.pem"));
    let leaf = pem(include_str!("fixtures/p384_sha256_leaf.pem"));
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("fixtures/p384_sha256_leaf.key")).unwrap();
    for (provider, version) in PROVIDERS.into_iter().flat_map(|provider| VERSIONS.map(|version| (provider, version))) {
        let connect = |schemes: &[SignatureScheme]| {
            let mut setup = Setup::new(provider, provider, CHAIN).only(version);
            setup.client.trust(Trust::new(core::slice::from_ref(&ca)).unwrap());
            setup.client.signature_schemes(schemes.to_vec());
            let key = provider.load_key(&key).unwrap();
            setup.server.credentials(vec![terse_tls::Credential::new(vec![leaf.clone()], key).unwrap()]);
            Pair::at(
                &Arc::new(setup.client.build().unwrap()),
                &Arc::new(setup.server.build().unwrap()),
                1,
                at(366 * DAY),
            )
            .run()
        };
        let (sha256, sha384) = (SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::ECDSA_SECP384R1_SHA384);
        connect(&[sha256, sha384]).unwrap();
        connect(&[sha256]).unwrap();
        let refused = connect(&[sha384]).unwrap_err();
        assert_eq!(refused.error, PeerIncompatible::NoCommonSignatureScheme.into());
    }
}
