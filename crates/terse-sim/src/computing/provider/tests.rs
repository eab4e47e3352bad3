use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_tls::NamedGroup;
use terse_tls::crypto::{Digest, MASK_SAMPLE_LEN, NONCE_LEN};

use super::*;
use crate::Random;
use crate::computing::{Counts, Operation, SignatureKey};

static PROVIDERS: [&CryptoProvider; 2] = [&terse_aws_lc::PROVIDER, &terse_rustcrypto::PROVIDER];

/// Returns what was noted in `run`.
fn noted<R>(run: impl FnOnce() -> R) -> Vec<(Operation, u64)> {
    observe(run).1.iter().collect()
}

#[test]
fn a_counting_provider_has_all_algorithms_of_the_one_inside() {
    for provider in PROVIDERS {
        let counting = counting(provider).unwrap();
        assert!(is_counting(counting) && !is_counting(provider));
        assert!(core::ptr::eq(counting, super::counting(provider).unwrap()), "it is made once");
        assert!(core::ptr::eq(counting, super::counting(counting).unwrap()), "nothing is counted twice");
        let ids = |provider: &CryptoProvider| {
            let tls13 = provider.tls13_suites.iter().map(|suite| (suite.id, suite.integrity_limit));
            let tls12 = provider.tls12_suites.iter().map(|suite| (suite.id, suite.confidentiality_limit));
            tls13.chain(tls12).collect::<Vec<_>>()
        };
        assert_eq!(ids(counting), ids(provider));
        let groups = |provider: &CryptoProvider| provider.groups.iter().map(|group| group.name()).collect::<Vec<_>>();
        assert_eq!(groups(counting), groups(provider));
        let all = |provider: &CryptoProvider| {
            let ids = provider.signatures.all.iter().map(|one| (one.public_key_alg_id(), one.signature_alg_id()));
            ids.collect::<Vec<_>>()
        };
        assert_eq!(all(counting), all(provider));
        let schemes = |provider: &CryptoProvider| {
            let schemes = provider.signatures.by_scheme.iter().map(|(scheme, algorithms)| (*scheme, algorithms.len()));
            schemes.collect::<Vec<_>>()
        };
        assert_eq!(schemes(counting), schemes(provider));
        assert_eq!(counting.sha1.map(|sha1| sha1(b"a")), provider.sha1.map(|sha1| sha1(b"a")));
    }
}

/// FIPS 180-4, 5.1: a message, a byte, and its length in 8 bytes, or 16 with SHA-384, fill whole blocks.
#[test]
fn hashes_take_whole_blocks() {
    for provider in PROVIDERS {
        let suites = counting(provider).unwrap().tls13_suites;
        for (operation, block, least) in [(Operation::Sha256, 64, 9), (Operation::Sha384, 128, 17)] {
            let is_it = |suite: &&&Tls13Suite| noted(|| suite.hash.hash(&[])) == [(operation, block as u64)];
            let hash = suites.iter().find(is_it).unwrap().hash;
            for (len, blocks) in [(0, 1), (block - least, 1), (block - least + 1, 2), (block, 2), (10 * block, 11)] {
                let data = vec![7; len];
                let expected = [(operation, (blocks * block) as u64)];
                assert_eq!(noted(|| hash.hash(&[&data[..len / 3], &data[len / 3..]])), expected, "{len}");
                let in_parts = || {
                    let mut context = hash.start();
                    data.chunks(50).for_each(|part| context.update(part));
                    context.finish()
                };
                assert_eq!(noted(in_parts), expected, "{len} in parts");
            }
            let mut context = hash.start();
            context.update(&vec![1; block + 3]);
            assert_eq!(noted(|| context.fork().finish()), [(operation, block as u64)], "the rest of a copy");
            assert_eq!(noted(|| context.finish()), [(operation, block as u64)]);
        }
    }
}

/// RFC 2104, 2, and RFC 5869, 2.3: an HMAC of a short message is two blocks inside and two outside.
#[test]
fn hmac_and_hkdf_are_counted_as_their_hashes() {
    for provider in PROVIDERS {
        let (inner, hash) = (provider.sha256, counting(provider).unwrap().sha256);
        let blocks = |count: u64| vec![(Operation::Sha256, 64 * count)];
        assert_eq!(noted(|| hash.hmac(&[1; 32], &[b"short", b"message"])), blocks(4));
        assert_eq!(noted(|| hash.hmac(&[1; 64], &[&[0; 55]])), blocks(4));
        assert_eq!(noted(|| hash.hmac(&[1; 64], &[&[0; 56]])), blocks(5));
        assert_eq!(noted(|| hash.hmac(&[1; 65], &[b"message"])), blocks(6), "the key is hashed, in two blocks");
        assert_eq!(noted(|| hash.hkdf_extract(&[1; 32], &[2; 32])), blocks(4));
        for (len, steps) in [(1, 1), (32, 1), (33, 2), (96, 3)] {
            let (mut ours, mut theirs) = (vec![0; len], vec![0; len]);
            assert_eq!(noted(|| hash.hkdf_expand(&[1; 32], &[b"info"], &mut ours)), blocks(4 * steps), "{len}");
            inner.hkdf_expand(&[1; 32], &[b"info"], &mut theirs).unwrap();
            assert_eq!(ours, theirs);
        }
        assert_eq!(hash.hmac(b"key", &[b"a", b"b"]), inner.hmac(b"key", &[b"a", b"b"]));
        let of_both = |hash: &dyn terse_tls::crypto::Hash| -> [Digest; 2] {
            let mut context = hash.start();
            context.update(b"abc");
            [context.fork().finish(), context.finish()]
        };
        assert_eq!(of_both(hash), of_both(inner));
    }
}

#[test]
fn records_are_counted_by_their_bytes() {
    for provider in PROVIDERS {
        for (suite, inner) in counting(provider).unwrap().tls13_suites.iter().zip(provider.tls13_suites) {
            let key = vec![3; suite.aead.key_len()];
            let (ours, theirs) = (suite.aead.key(&key).unwrap(), inner.aead.key(&key).unwrap());
            let seal = |key: &dyn terse_tls::crypto::AeadKey| {
                let (mut data, mut tag) = (vec![5; 100], vec![0; suite.aead.tag_len()]);
                key.seal(&[1; NONCE_LEN], b"header", &mut data, &mut tag).unwrap();
                [data, tag].concat()
            };
            let sealed = seal(&*theirs);
            let (result, counts) = observe(|| seal(&*ours));
            assert_eq!(result, sealed, "{}", suite.id);
            let [(operation, 100)] = counts.iter().collect::<Vec<_>>()[..] else { panic!("{}: {counts:?}", suite.id) };
            assert!(Operation::ALL.contains(&operation) && operation.is_on_bytes(), "{}: {operation}", suite.id);
            let mut data = sealed.clone();
            assert_eq!(noted(|| ours.open(&[1; NONCE_LEN], b"header", &mut data).unwrap()), [(operation, 100)]);
            let (mask, sample) = (suite.record_numbers.key(&key).unwrap(), [9; MASK_SAMPLE_LEN]);
            let block = if operation == Operation::ChaCha20Poly1305 { 64 } else { 16 };
            assert_eq!(noted(|| mask.mask(&sample)), [(operation, block)]);
            assert_eq!(mask.mask(&sample), inner.record_numbers.key(&key).unwrap().mask(&sample));
        }
        for suite in counting(provider).unwrap().tls12_suites {
            let key = suite.aead.key(&vec![3; suite.aead.key_len()]).unwrap();
            let counts = noted(|| key.seal(&[1; NONCE_LEN], &[], &mut [0; 20], &mut vec![0; suite.aead.tag_len()]));
            assert!(matches!(counts[..], [(operation, 20)] if Operation::ALL.contains(&operation)), "{}", suite.id);
        }
    }
}

#[test]
fn a_key_exchange_is_a_key_pair_and_an_agreement_on_each_side() {
    for provider in PROVIDERS {
        for group in counting(provider).unwrap().groups {
            let mut rng = Random::new(1, 2);
            let (client, start) = observe(|| group.start(&mut rng).unwrap());
            let ((share, theirs), respond) = observe(|| group.respond(&mut rng, client.key_share()).unwrap());
            let (ours, complete) = observe(|| client.complete(&share).unwrap());
            assert_eq!(ours.as_ref(), theirs.as_ref());
            let x25519 = (Operation::Generate(NamedGroup::X25519), Operation::Agree(NamedGroup::X25519));
            let counts = |operations: &[Operation]| operations.iter().map(|one| (*one, 1)).collect::<Counts>();
            match group.name() {
                NamedGroup::X25519MLKEM768 => {
                    assert_eq!(start, counts(&[Operation::MlKem768Generate, x25519.0]));
                    assert_eq!(respond, counts(&[Operation::MlKem768Encapsulate, x25519.0, x25519.1]));
                    assert_eq!(complete, counts(&[Operation::MlKem768Decapsulate, x25519.1]));
                }
                curve => {
                    assert_eq!(start, counts(&[Operation::Generate(curve)]));
                    assert_eq!(respond, counts(&[Operation::Generate(curve), Operation::Agree(curve)]));
                    assert_eq!(complete, counts(&[Operation::Agree(curve)]));
                }
            }
        }
    }
}

#[test]
fn signatures_are_counted_by_the_kind_of_their_key() {
    let provider = counting(&terse_aws_lc::PROVIDER).unwrap();
    for (chain, kind) in [
        ("p256x2", SignatureKey::EcdsaP256),
        ("p384x2", SignatureKey::EcdsaP384),
        ("ed25519x2", SignatureKey::Ed25519),
        ("rsa2048x2", SignatureKey::Rsa(2048)),
        ("rsa3072x2", SignatureKey::Rsa(3072)),
        ("rsa4096x2", SignatureKey::Rsa(4096)),
    ] {
        let validity = Validity::days(0, 1);
        let authority = Authority::new(&AuthorityOptions::new(chain.parse().unwrap(), validity)).unwrap();
        let issued = authority.issue(&LeafOptions::new("sensor.example", validity)).unwrap();
        let key = provider.load_key(issued.key()).unwrap();
        let scheme = key.schemes()[0];
        let (signing, counts) = observe(|| key.sign(scheme, b"message", &mut Random::new(1, 1)).unwrap());
        let signature = signing.done().unwrap();
        assert_eq!(counts, Counts::from_iter([(Operation::Sign(kind), 1)]), "{chain}");

        let spki = key.public_key();
        let (_, public_key) = super::signature::parts(&spki).unwrap();
        let (_, algorithms) = provider.signatures.by_scheme.iter().find(|(known, _)| *known == scheme).unwrap();
        let verified = observe(|| algorithms[0].verify_signature(public_key, b"message", &signature).unwrap()).1;
        assert_eq!(verified, Counts::from_iter([(Operation::Verify(kind), 1)]), "{chain}");
        let wrong = observe(|| algorithms[0].verify_signature(public_key, b"other", &signature).unwrap_err()).1;
        assert_eq!(wrong, verified, "{chain}: a wrong signature takes as long");
    }
}
