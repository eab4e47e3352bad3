//! Tests of certificates that are malformed or out of date, or have names with control characters.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use pki_types::pem::PemObject as _;
use pki_types::{CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use proptest::prelude::*;
use proptest::sample::Index;
use terse_testkit::pki::{CLIENT_NAME, DAY, NOW, Pki, SERVER_NAME, unix_time, validity};
use terse_testkit::rng::SeededRng;
use webpki::EndEntityCert;

use super::fields::{CrlFields, Fields};
use super::*;
use crate::crypto::{CryptoProvider, KeyError, SignatureAlgorithms};
use crate::test_crypto::SHA256;
use crate::wire::{Certificate, Encode, Parse};
use crate::{CertificateError, Date};

fn pki() -> Arc<Pki> {
    Pki::shared("p256x3")
}

/// Returns the public key of a certificate.
pub(crate) fn key_of(certificate: &[u8]) -> SubjectPublicKeyInfoDer<'static> {
    let certificate = certificate.into();
    EndEntityCert::try_from(&certificate).unwrap().subject_public_key_info().into_owned()
}

/// Returns a provider that can only verify signatures.
pub(crate) fn provider() -> CryptoProvider {
    let signatures = SignatureAlgorithms::new(terse_rustcrypto::PROVIDER.signatures.all, &[]);
    CryptoProvider::new("certificates only", signatures, SHA256, |_| Err(KeyError::UnsupportedAlgorithm))
        .sha1(terse_rustcrypto::PROVIDER.sha1)
}

/// Returns trust in `anchors` with path building, and without.
pub(crate) fn trusts(anchors: &[CertificateDer<'_>]) -> [Trust; 2] {
    [Trust::new(anchors).unwrap(), Trust::without_path_building(anchors).unwrap()]
}

type Verified = Result<(VerifiedPeer, bool), CertificateError>;

/// Verifies a chain with path building, and without.
fn verify_both(chain: &[CertificateDer<'_>], time: Option<UnixTime>) -> [Verified; 2] {
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    trusts(&[pki().root()]).map(|trust| {
        let checked = trust.check(&provider(), chain, Expect::Server(&name), time);
        checked.map(|CheckedChain { peer, time_unchecked, .. }| (peer, time_unchecked))
    })
}

/// Verifies a chain with path building, and without, which makes no difference.
fn verify(chain: &[CertificateDer<'_>], time: Option<UnixTime>) -> Verified {
    let [building, in_order] = verify_both(chain, time);
    assert_eq!(building, in_order);
    building
}

/// Parses a certificate in every way in which the engine does.
fn read_everything(der: &[u8]) {
    let _ = Fields::read(der);
    let _ = CrlFields::read(der);
    let _ = split_public_key(der);
    let certificate = CertificateIdentity { subject: der.into(), subject_alt_name: der.into() };
    for identity in [PeerIdentity::Certificate(certificate), PeerIdentity::RawPublicKey(der.into())] {
        assert!(!identity.to_string().is_empty());
    }
}

#[test]
fn fields_of_a_certificate() {
    let pki = pki();
    let fields = Fields::read(pki.server.leaf()).unwrap();
    assert_eq!((fields.not_before, fields.not_after), (NOW - 180 * DAY, NOW + 180 * DAY));
    let (peer, time_unchecked) = verify(pki.server.chain(), Some(unix_time(0))).unwrap();
    assert!(!time_unchecked);
    assert_eq!(peer.signatures, 2);
    assert!(peer.is_unchecked_at(None) && !peer.is_unchecked_at(Some(unix_time(0))));
    assert_eq!(peer.identity.subject_alt_name_der(), fields.subject_alt_name);
    assert_eq!(peer.identity.to_string(), SERVER_NAME);
    let (algorithm, key) = split_public_key(peer.public_key()).unwrap();
    assert_eq!((algorithm.len(), key.len(), key[0]), (19, 65, 4));
}

#[test]
fn fields_of_a_crl() {
    let crl = pki().authority.crl(0, &[], validity()).unwrap();
    let root = pki().root();
    let fields = CrlFields::read(&crl).unwrap();
    assert_eq!((fields.issuer, fields.next_update), (Fields::read(&root).unwrap().issuer, NOW + 180 * DAY));
    for len in 0..crl.len() {
        assert_eq!(CrlFields::read(&crl[..len]).err(), Some(CertificateError::Malformed));
    }
}

#[test]
fn a_truncated_or_longer_certificate_is_malformed() {
    let pki = pki();
    let leaf = pki.server.leaf();
    for len in 0..leaf.len() {
        assert_eq!(Fields::read(&leaf[..len]).err(), Some(CertificateError::Malformed), "{len} bytes");
        read_everything(&leaf[..len]);
    }
    assert_eq!(Fields::read(&[leaf, &[0][..]].concat()).err(), Some(CertificateError::Malformed));
    let (peer, _) = verify(pki.server.chain(), Some(unix_time(0))).unwrap();
    for len in 0..peer.public_key().len() {
        assert_eq!(split_public_key(&peer.public_key()[..len]), Err(CertificateError::Malformed));
    }
}

#[test]
fn no_changed_certificate_is_accepted() {
    let pki = pki();
    for depth in 0..2 {
        let chain = pki.server.chain();
        for place in 0..chain[depth].len() {
            let mut chain: Vec<_> = chain.to_vec();
            let mut der = chain[depth].to_vec();
            der[place] ^= 1 << (place % 8);
            read_everything(&der);
            chain[depth] = der.into();
            for verified in verify_both(&chain, Some(unix_time(0))) {
                assert!(verified.is_err(), "byte {place} of certificate {depth}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn mutated_certificates_never_panic(
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..6),
        cut in prop::option::weighted(0.2, any::<Index>()),
        is_root in any::<bool>(),
    ) {
        let pki = pki();
        let (root, leaf) = (pki.root(), pki.server.leaf());
        let mut der = if is_root { root.to_vec() } else { leaf.to_vec() };
        for (place, byte) in changes {
            let place = place.index(der.len());
            der[place] = byte;
        }
        if let Some(place) = cut {
            der.remove(place.index(der.len()));
        }
        read_everything(&der);
        let _ = verify_both(&[der.clone().into()], Some(unix_time(0)));
        let _ = Trust::new(&[der.clone().into()]);
        let _ = Trust::without_path_building(&[der.into()]);
    }

    #[test]
    fn mutated_crls_never_panic(changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..6)) {
        let mut crl = pki().authority.crl(1, &[], validity()).unwrap().to_vec();
        for (place, byte) in changes {
            let place = place.index(crl.len());
            crl[place] = byte;
        }
        let _ = CrlFields::read(&crl);
        let trust = Trust::new(&[pki().root()]).unwrap();
        let _ = trust.with_crls(&[crl.into()]);
    }

    #[test]
    fn garbage_never_panics(garbage in prop::collection::vec(any::<u8>(), 0..200)) {
        read_everything(&garbage);
        let nested = [&[0x30, garbage.len().min(127) as u8][..], &garbage].concat();
        read_everything(&nested);
    }

    #[test]
    fn a_verified_peer_is_kept_as_it_is(
        (public_key, subject, subject_alt_name) in (bytes(), bytes(), bytes()),
        (not_before, not_after) in any::<(u32, u32)>(),
        (not_before_depth, not_after_depth, signatures) in (0..8_u8, 0..8_u8, 0..0x80_u8),
    ) {
        let (not_before, not_after) = (not_before.into(), not_after.into());
        let validity = Validity { not_before, not_before_depth, not_after, not_after_depth };
        let identity = CertificateIdentity { subject, subject_alt_name };
        let peer = VerifiedPeer::of_chain(public_key, validity, identity, signatures);
        let encoded = peer.to_vec().unwrap();
        prop_assert_eq!(VerifiedPeer::parse_all(&encoded), Ok(peer));
        for len in 0..encoded.len() {
            prop_assert!(VerifiedPeer::parse_all(&encoded[..len]).is_err());
        }
        prop_assert!(VerifiedPeer::parse_all(&[&encoded[..], &[0]].concat()).is_err());
    }
}

/// IEEE 802.1AR uses such an end for certificates without an expiration date.
#[test]
fn an_end_after_2106_is_kept_as_one_of_2106() {
    let end_of_9999 = 253_402_300_799;
    let validity = Validity { not_before: 0, not_before_depth: 0, not_after: end_of_9999, not_after_depth: 2 };
    let identity = CertificateIdentity { subject: Box::default(), subject_alt_name: Box::default() };
    let peer = VerifiedPeer::of_chain(Box::from([1, 2, 3]), validity, identity, 2);
    let again = VerifiedPeer::parse_all(&peer.to_vec().unwrap()).unwrap();
    assert_eq!(again.validity, Validity { not_after: u32::MAX.into(), ..validity });
    assert!(!again.validity.is_unbounded());
}

fn bytes() -> impl Strategy<Value = Box<[u8]>> {
    prop::collection::vec(any::<u8>(), 0..50).prop_map(Vec::into_boxed_slice)
}

fn time(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

#[test]
fn a_validity_includes_its_ends() {
    let validity = Validity { not_before: 100, not_before_depth: 1, not_after: 200, not_after_depth: 2 };
    let expired = Err(CertificateError::Expired { depth: 2, not_after: Date::of(time(200)) });
    let not_yet_valid = Err(CertificateError::NotYetValid { depth: 1, not_before: Date::of(time(100)) });
    let expected = [(0, not_yet_valid), (99, not_yet_valid), (100, Ok(())), (200, Ok(())), (201, expired)];
    for (now, expected) in expected {
        assert_eq!(validity.check(time(now)), expected, "at {now}");
    }
    assert_eq!(validity.check(time(u64::MAX)), expired);
}

/// The kept validity accepts the same times as path validation.
#[test]
fn a_kept_validity_agrees_with_validation() {
    let pki = pki();
    let (peer, _) = verify(pki.server.chain(), Some(unix_time(0))).unwrap();
    for now in [NOW - 180 * DAY - 1, NOW - 180 * DAY, NOW, NOW + 180 * DAY, NOW + 180 * DAY + 1] {
        let validated = verify(pki.server.chain(), Some(time(now))).map(|_| ());
        assert_eq!(peer.validity.check(time(now)), validated, "at {now}");
    }
    assert_eq!(verify(pki.server.chain(), None).err(), Some(CertificateError::NoTime));
}

#[test]
fn a_chain_says_who_is_meant_and_by_whom() {
    let pki = pki();
    let now = Some(unix_time(0));
    assert_eq!(verify(&[], now).err(), Some(CertificateError::Malformed));
    assert_eq!(verify(&pki.server.chain()[..1], now).err(), Some(CertificateError::UnknownIssuer));
    assert_eq!(verify(pki.client.chain(), now).err(), Some(CertificateError::WrongUsage));
    for trust in trusts(&[pki.root()]) {
        let other = ServerName::try_from("other.plant.example").unwrap();
        let refused = trust.verify(pki.server.chain(), Expect::Server(&other), provider().signatures.all, now);
        assert_eq!(refused.err(), Some(CertificateError::WrongName));
        let client = trust.verify(pki.client.chain(), Expect::Client, provider().signatures.all, now).unwrap();
        assert_eq!(client.peer.identity.to_string(), CLIENT_NAME);
        let unsupported = trust.verify(pki.client.chain(), Expect::Client, &[], now);
        assert_eq!(unsupported.err(), Some(CertificateError::UnsupportedAlgorithm));
    }
}

/// RFC 5280, 4.2.1.3: a key that is certified for key agreement only must not sign a handshake.
#[test]
fn a_key_that_may_not_sign() {
    let pki = Pki::new("ed25519x2");
    let directory = std::env::temp_dir().join(std::format!("terse-key-usage-{}", std::process::id()));
    pki.authority.save(&directory, true).unwrap();
    let root_key = PrivateKeyDer::from_pem_slice(&std::fs::read(directory.join("ca.key")).unwrap()).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    let root_key = terse_rustcrypto::PROVIDER.load_key(&root_key).unwrap();
    let verify = |leaf: Vec<u8>| {
        let name = ServerName::try_from(SERVER_NAME).unwrap();
        let chain = [leaf.into()];
        let [building, in_order] = trusts(&[pki.root()])
            .map(|trust| trust.verify(&chain, Expect::Server(&name), provider().signatures.all, Some(unix_time(0))));
        assert_eq!(building, in_order);
        building
    };

    let mut leaf = pki.server.leaf().to_vec();
    assert!(verify(leaf.clone()).is_ok());
    let digital_signature = [3, 2, 7, 0x80]; // a BIT STRING: seven bits are unused
    let at = leaf.windows(4).position(|bytes| bytes == digital_signature).unwrap();
    leaf[at + 2..at + 4].copy_from_slice(&[3, 0x08]); // keyAgreement
    let tbs_certificate = 4..leaf.len() - 74; // outer header; then signatureAlgorithm with 7 bytes, and 67 with the signature
    let signature = root_key.sign(root_key.schemes()[0], &leaf[tbs_certificate], &mut SeededRng::new(0)).unwrap();
    let at = leaf.len() - 64;
    leaf[at..].copy_from_slice(&signature.done().unwrap());
    assert_eq!(verify(leaf).err(), Some(CertificateError::WrongUsage));
}

#[test]
fn errors_name_the_peer_and_the_day() {
    let name: &dyn core::fmt::Display = &SERVER_NAME;
    let of = |error: CertificateError| error.of(name).to_string();
    // These are the first and the last second of 2026-03-01.
    for not_after in [time(1_772_323_200), time(1_772_323_200 + DAY - 1)] {
        let expired = CertificateError::Expired { depth: 0, not_after: Date::of(not_after) };
        assert_eq!(of(expired), "the certificate of broker.plant.example expired on 2026-03-01");
        assert_eq!(expired.to_string(), "the certificate of the peer expired on 2026-03-01");
    }
    let texts: [(CertificateError, &str); 22] = [
        (CertificateError::Required, "broker.plant.example sent no certificate, and one is required"),
        (CertificateError::Malformed, "a certificate of broker.plant.example does not parse"),
        (
            CertificateError::Expired { depth: 2, not_after: Date::of(time(253_402_300_799)) },
            "a CA certificate (number 2 above the leaf) of broker.plant.example expired on 9999-12-31",
        ),
        (
            CertificateError::Expired { depth: 0, not_after: Date::of(time(253_402_300_800)) },
            "the certificate of broker.plant.example expired on a date after the year 9999",
        ),
        (
            CertificateError::NotYetValid { depth: 0, not_before: Date::of(time(0)) },
            "the certificate of broker.plant.example is valid from 1970-01-01 on; is the clock right?",
        ),
        (
            CertificateError::NotYetValid { depth: 1, not_before: Date::of(time(951_782_400)) },
            "a CA certificate (number 1 above the leaf) of broker.plant.example is valid from 2000-02-29 on; \
             is the clock right?",
        ),
        (CertificateError::NoTime, "the certificate of broker.plant.example cannot be checked without wall-clock time"),
        (
            CertificateError::UnknownIssuer,
            "the certificate of broker.plant.example was issued by no CA that is trusted here",
        ),
        (CertificateError::WrongName, "the certificate of the peer is not valid for broker.plant.example"),
        (CertificateError::Revoked, "the certificate of broker.plant.example was revoked"),
        (CertificateError::UnknownRevocationStatus, "no CRL covers the certificate of broker.plant.example"),
        (CertificateError::CrlExpired, "the CRL for the certificate of broker.plant.example is out of date"),
        (CertificateError::WrongUsage, "the certificate of broker.plant.example is not meant for this use"),
        (
            CertificateError::ConstraintViolated,
            "the certificate of broker.plant.example breaks a constraint of its issuer",
        ),
        (
            CertificateError::NameConstraints { depth: 0 },
            "the certificate of broker.plant.example has name constraints, which are not processed here",
        ),
        (
            CertificateError::NameConstraints { depth: 1 },
            "a CA certificate (number 1 above the leaf) of broker.plant.example has name constraints, which are not \
             processed here: trust its CA with path building",
        ),
        (CertificateError::BadSignature, "a signature in the certificate chain of broker.plant.example is wrong"),
        (
            CertificateError::UnsupportedAlgorithm,
            "the chain of broker.plant.example uses an algorithm or key size that is refused",
        ),
        (
            CertificateError::ShortRsaKey { depth: 0, bits: 1024 },
            "the RSA key of broker.plant.example has 1024 bits, which is too short: 2048 are the least",
        ),
        (
            CertificateError::ShortRsaKey { depth: 2, bits: 512 },
            "the RSA key of a CA (number 2 above the leaf) of broker.plant.example has 512 bits, which is too short: \
             2048 are the least",
        ),
        (
            CertificateError::UnknownPublicKey { sha256: [0x0f; 8] },
            "the raw public key sha256:0f0f0f0f0f0f0f0f... of broker.plant.example \
             is none that is trusted here",
        ),
        (CertificateError::Invalid, "the certificate chain of broker.plant.example is not valid"),
    ];
    for (error, text) in texts {
        assert_eq!(of(error), text);
    }
}

/// The certificates of RFC 8448, section 6, are ECDSA and RSA ones without a subjectAltName.
#[test]
fn certificates_of_another_maker() {
    let trace = include_str!("../schedule/tls13/rfc8448/client_authentication.hex");
    // The dates are 2016-07-30, 01:24:00 UTC, and 2026-07-30, 01:23:59 UTC.
    let expected = [
        ("server Certificate = ", (1_469_841_840, 1_785_374_640)),
        ("client Certificate = ", (1_469_841_839, 1_785_374_639)),
    ];
    for (message, validity) in expected {
        let hex = trace.lines().find_map(|line| line.strip_prefix(message)).unwrap();
        let digits: Vec<u8> = hex.chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
        let message: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        let certificate = Certificate::parse_all(&message[4..]).unwrap();
        let entry = certificate.certificate_list.iter().next().unwrap();
        let fields = Fields::read(entry.cert_data).unwrap();
        assert_eq!((fields.not_before, fields.not_after), validity);
        assert_eq!(fields.subject_alt_name, []);
    }
}
