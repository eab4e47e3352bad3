//! Tests of which raw public keys are trusted, what is kept of them, and how they change the policy.

use alloc::vec;

use pki_types::{ServerName, SubjectPublicKeyInfoDer, UnixTime};
use sha2::{Digest as _, Sha256};
use terse_testkit::pki::{Pki, SERVER_NAME, unix_time, validity};

use super::super::tests::{key_of, provider};
use super::super::{Expect, PeerIdentity, Trust, VerifiedPeer};
use crate::cert::TrustId;
use crate::error::{ApiMisuse, CertificateError, Error};
use crate::test_crypto::SHA256;
use crate::wire::{AlertDescription, CertificateType, Encode, Parse};

type Key = SubjectPublicKeyInfoDer<'static>;

/// Returns three keys: P-256 twice, and Ed25519.
fn keys() -> [Key; 3] {
    let (p256, ed25519) = (Pki::shared("p256x3"), Pki::shared("ed25519x2"));
    [key_of(p256.server.leaf()), key_of(p256.client.leaf()), key_of(ed25519.client.leaf())]
}

fn verify(trust: &Trust, key: &[u8]) -> Result<VerifiedPeer, CertificateError> {
    trust.verify_raw_public_key(key, provider().signatures.all)
}

fn id(trust: &Trust) -> TrustId {
    trust.id(SHA256, Expect::Client, &[])
}

fn verify_chain(trust: &Trust) -> Result<(), CertificateError> {
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let chain = Pki::shared("p256x3");
    let now = Some(unix_time(0));
    trust.verify(chain.server.chain(), Expect::Server(&name), provider().signatures.all, now).map(drop)
}

#[test]
fn a_key_that_is_configured_is_believed() {
    let keys = keys();
    let trust = Trust::raw_public_keys(&keys[..2]).unwrap();
    for key in &keys[..2] {
        let peer = verify(&trust, key).unwrap();
        assert_eq!(peer.public_key(), key.as_ref());
        assert_eq!(peer.identity(), &PeerIdentity::RawPublicKey(key.as_ref().into()));
        assert_eq!(peer.identity().raw_public_key_der(), Some(key.as_ref()));
        assert_eq!((peer.identity().subject_der(), peer.identity().subject_alt_name_der()), (&[][..], &[][..]));
        assert_eq!((peer.certificate_type(), peer.signatures), (CertificateType::RAW_PUBLIC_KEY, 0));
        assert_eq!(peer.len(), key.len(), "the key is kept once");
        assert!(peer.validity.is_unbounded() && !peer.is_unchecked_at(None));
        for time in [0, u64::MAX] {
            let time = UnixTime::since_unix_epoch(core::time::Duration::from_secs(time));
            assert_eq!(peer.validity.check(time), Ok(()));
        }
    }
}

#[test]
fn every_other_key_is_unknown() {
    let keys = keys();
    let root = Pki::shared("p256x3").root();
    let [by_key, by_chain] = [Trust::raw_public_keys(&keys[..2]).unwrap(), Trust::new(&[root]).unwrap()];
    let mut changed = keys[0].to_vec();
    *changed.last_mut().unwrap() ^= 1;
    let longer = [keys[0].as_ref(), &[0]].concat();
    let shorter = &keys[0][..keys[0].len() - 1];
    for key in [keys[2].as_ref(), &changed, &longer, shorter, b"garbage", &[1, 2], &[]] {
        for trust in [&by_key, &by_chain, &Trust::nobody()] {
            let error = verify(trust, key).unwrap_err();
            assert_eq!(
                error,
                CertificateError::UnknownPublicKey { sha256: *Sha256::digest(key).first_chunk().unwrap() }
            );
            assert_eq!(Error::from(error).alert(), Some(AlertDescription::CERTIFICATE_UNKNOWN));
        }
    }
}

#[test]
fn a_key_is_of_a_kind_that_can_be_verified() {
    let keys = keys();
    let trust = Trust::raw_public_keys(&keys).unwrap();
    assert_eq!(trust.verify_raw_public_key(&keys[0], &[]), Err(CertificateError::UnsupportedAlgorithm));

    let configured = |key: &[u8]| {
        let keys = [keys[0].clone(), SubjectPublicKeyInfoDer::from(key)];
        Trust::raw_public_keys(&keys).and_then(|trust| trust.check_configuration(&provider())).err()
    };
    // X25519 (RFC 8410, 4) is for key agreement, not for signatures.
    let x25519 = [&[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 3, 0x21, 0][..], &[9; 32]].concat();
    assert_eq!(configured(&x25519), Some(ApiMisuse::UnsupportedPublicKey));
    let rsa1024 = include_str!("../../../../terse-provider-suite/src/data/rsa1024.spki.pem");
    let rsa1024 = terse_testkit::provider_suite::public_key(rsa1024);
    assert_eq!(configured(&rsa1024), Some(ApiMisuse::UnsupportedPublicKey));
    for malformed in [&keys[0][..keys[0].len() - 1], b"no key", &[]] {
        assert_eq!(configured(malformed), Some(ApiMisuse::MalformedPublicKey));
    }
    assert_eq!(configured(Pki::shared("p256x3").server.leaf()), Some(ApiMisuse::MalformedPublicKey));
    assert_eq!(configured(&keys[1]), None);
    assert_eq!(Trust::raw_public_keys(&[]).err(), Some(ApiMisuse::NoTrustAnchors));
}

#[test]
fn keys_stand_beside_certificates_or_alone() {
    use CertificateType as Kind;
    let keys = keys();
    let nobody = Trust::nobody();
    let anchors = Trust::new(&[Pki::shared("p256x3").root()]).unwrap();
    let alone = Trust::raw_public_keys(&keys).unwrap();
    let both = anchors.clone().with_raw_public_keys(&keys).unwrap();
    let refused = Err(CertificateError::UnknownIssuer);
    for (trust, kinds, chain) in [
        (&nobody, &[][..], refused),
        (&anchors, &[Kind::X509], Ok(())),
        (&alone, &[Kind::RAW_PUBLIC_KEY], refused),
        (&both, &[Kind::RAW_PUBLIC_KEY, Kind::X509], Ok(())),
    ] {
        assert_eq!(trust.certificate_types(), kinds);
        for kind in [Kind::X509, Kind::RAW_PUBLIC_KEY, CertificateType(1)] {
            assert_eq!(trust.accepts(kind), kinds.contains(&kind));
        }
        assert_eq!(verify_chain(trust), chain);
        assert_eq!(verify(trust, &keys[0]).is_ok(), kinds.contains(&Kind::RAW_PUBLIC_KEY));
    }
    let crl = Pki::shared("p256x3").authority.crl(1, &[], validity()).unwrap();
    let revoking = both.with_crls(&[crl]).unwrap();
    assert!(verify(&revoking, &keys[0]).is_ok(), "the keys are still there");
}

#[test]
fn the_policy_depends_on_the_keys() {
    let keys = keys();
    let of = |keys: &[Key]| Trust::raw_public_keys(keys).unwrap();
    let anchors = Trust::new(&[Pki::shared("p256x3").root()]).unwrap();
    let ids = [
        id(&Trust::nobody()),
        id(&anchors),
        id(&of(&keys[..1])),
        id(&of(&keys[1..2])),
        id(&of(&keys[..2])),
        id(&of(&keys)),
        id(&anchors.with_raw_public_keys(&keys).unwrap()),
    ];
    for (at, one) in ids.iter().enumerate() {
        assert!(!ids[at + 1..].contains(one), "{at}");
    }
    let [a, b, c] = keys.clone();
    assert_eq!(id(&of(&[c.clone(), a.clone(), b, a])), id(&of(&keys)), "neither on their order, nor on doubles");
    let in_two_steps = of(&keys[1..]).with_raw_public_keys(&keys[..1]).unwrap();
    assert_eq!(id(&in_two_steps), id(&of(&keys)));
    let server = ServerName::try_from(SERVER_NAME).unwrap();
    let as_server = of(&keys).id(SHA256, Expect::Server(&server), &[]);
    assert_ne!(as_server, id(&of(&keys)), "an entry is never used in the other role");
}

#[test]
fn a_raw_public_key_is_kept_as_it_is() {
    for (key, len) in [(vec![], 1 + 2), (vec![7], 1 + 2 + 1), (keys()[0].to_vec(), 1 + 64)] {
        let peer = VerifiedPeer::of_raw_public_key(key.clone().into());
        let encoded = peer.to_vec().unwrap();
        assert_eq!(encoded.len(), len);
        assert_eq!(VerifiedPeer::parse_all(&encoded), Ok(peer));
        for len in 0..encoded.len() {
            assert!(VerifiedPeer::parse_all(&encoded[..len]).is_err());
        }
        assert!(VerifiedPeer::parse_all(&[&encoded[..], &[0]].concat()).is_err());
    }
    assert!(VerifiedPeer::parse_all(&[0x8b, 0, 1, 7]).is_err(), "no such kind of key");
}
