//! Tests that keys of every kind are packed and unpacked, and verify signatures.

use alloc::vec::Vec;

use pki_types::SignatureVerificationAlgorithm;
use proptest::prelude::*;
use terse_testkit::pki::Pki;
use x509_cert::Certificate;
use x509_cert::der::{Decode as _, Encode as _};

use super::super::split_public_key;
use super::super::tests::key_of;
use super::*;

fn packed(spki: &[u8], is_raw: bool) -> Vec<u8> {
    let mut buffer = [0; 600];
    let mut writer = Writer::new(&mut buffer);
    encode(spki, is_raw, &mut writer);
    let len = writer.finish().expect("room for all of them");
    buffer[..len].to_vec()
}

fn unpacked(bytes: &[u8]) -> Result<(Box<[u8]>, bool), InvalidMessage> {
    let mut reader = Reader::new(bytes);
    let result = parse(&mut reader)?;
    reader.finish()?;
    Ok(result)
}

/// The chains, with the number of bytes of their leaf's packed key.
const KINDS_OF_CHAINS: [(&str, usize); 5] =
    [("p256x3", 33), ("p384x3", 49), ("ed25519x3", 33), ("rsa2048x3", 257), ("rsa4096x3", 513)];

#[test]
fn well_known_kinds_are_one_byte() {
    for (chain, len) in KINDS_OF_CHAINS {
        let key = key_of(Pki::shared(chain).server.leaf());
        let bytes = packed(&key, false);
        assert_eq!(bytes.len(), len, "{chain}");
        let (again, is_raw) = unpacked(&bytes).unwrap();
        assert!(!is_raw);
        assert_eq!(packed(&again, false), bytes, "{chain}: once packed, it stays as it is");
        assert_eq!(split_public_key(&again).unwrap().0, split_public_key(&key).unwrap().0);
        let is_curve = chain.starts_with("p256") || chain.starts_with("p384");
        assert_eq!(*again == *key, !is_curve, "{chain}");
    }
}

#[test]
fn raw_public_keys_come_back_byte_by_byte() {
    for (chain, _) in KINDS_OF_CHAINS {
        let key = key_of(Pki::shared(chain).server.leaf());
        let compressed = unpacked(&packed(&key, false)).unwrap().0;
        for key in [&*key, &compressed] {
            let bytes = packed(key, true);
            assert!(bytes.len() < key.len() - 5, "{chain}: {} of {}", bytes.len(), key.len());
            assert_eq!(unpacked(&bytes), Ok((key.into(), true)), "{chain}");
        }
    }
}

/// Both providers verify with a compressed point as with the uncompressed one, whatever its y.
#[test]
fn compressed_points_verify() {
    let mut signs = [0; 2];
    for chain in ["p256x3", "p384x3"].into_iter().flat_map(|chain| [chain; 6]) {
        let pki = Pki::new(chain);
        let leaf = Certificate::from_der(pki.server.leaf()).unwrap();
        let signed = leaf.tbs_certificate().to_der().unwrap();
        let signature = leaf.signature().raw_bytes();
        let bytes = packed(&key_of(&pki.server.chain()[1]), false);
        signs[usize::from(bytes[0] == P256_ODD || bytes[0] == P384_ODD)] += 1;
        let issuer = unpacked(&bytes).unwrap().0;
        let (algorithm, key) = split_public_key(&issuer).unwrap();
        for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
            let is_for = |known: &&&dyn SignatureVerificationAlgorithm| known.public_key_alg_id().as_ref() == algorithm;
            let results: Vec<_> = provider
                .signatures
                .all
                .iter()
                .filter(is_for)
                .map(|known| known.verify_signature(key, &signed, signature))
                .collect();
            assert!(results.iter().any(Result::is_ok), "{chain}, {}", provider.name);
            let other = [&signed[1..], &[0]].concat();
            assert!(
                provider
                    .signatures
                    .all
                    .iter()
                    .filter(is_for)
                    .all(|known| known.verify_signature(key, &other, signature).is_err())
            );
        }
    }
    assert!(signs.iter().all(|count| *count > 0), "2^-11: {signs:?}");
}

#[test]
fn other_forms_of_a_known_kind_are_refused() {
    let key = key_of(Pki::shared("p256x3").server.leaf());
    let verbatim = [&[VERBATIM, 0, key.len() as u8][..], &key].concat();
    let whole = [&[P256][..], &key[key.len() - 64..]].concat();
    for bytes in [verbatim, whole, alloc::vec![11; 33], alloc::vec![0x7f; 33]] {
        assert_eq!(unpacked(&bytes), Err(InvalidMessage::IllegalValue));
    }
}

proptest! {
    #[test]
    fn other_keys_are_kept_as_they_are(spki in prop::collection::vec(any::<u8>(), 0..200), is_raw: bool) {
        prop_assert_eq!(unpacked(&packed(&spki, is_raw)), Ok((spki.into(), is_raw)));
    }

    #[test]
    fn each_key_has_one_form(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Ok((spki, is_raw)) = unpacked(&bytes) {
            prop_assert_eq!(packed(&spki, is_raw), bytes);
        }
    }
}
