use alloc::format;
use alloc::vec::Vec;

use bls12_381::hash_to_curve::{ExpandMsgXmd, HashToCurve};
use bls12_381::{G1Affine, G1Projective, G2Affine, G2Projective, Gt, Scalar as OtherScalar, pairing as other_pairing};
use proptest::prelude::*;

use super::*;
use crate::files::AnyKey;
use crate::vectors::{EPOCH, NOT_AFTER, SECRET, TestRng, X, Y, client, ephemeral as fixed, generator, server};

const ALGORITHM: IdentityAlgorithm = IdentityAlgorithm::Bls12381;

/// The other implementation's scalar of 32 bytes, most significant first.
fn scalar(bytes: &[u8; 32]) -> OtherScalar {
    let mut little = *bytes;
    little.reverse();
    Option::from(OtherScalar::from_bytes(&little)).expect("below the order")
}

/// The hashes, with the other implementation and tags written out.
fn h1(message: &[u8], authority: &[u8]) -> G1Projective {
    let hash = Sha256::digest([&[1][..], authority].concat());
    let dst = [&b"TERSE-ID3DH-V01-H1-BLS12381G1_XMD:SHA-256_SSWU_RO_"[..], &hash].concat();
    <G1Projective as HashToCurve<ExpandMsgXmd<sha2_for_bls12_381::Sha256>>>::hash_to_curve([message], &dst)
}

fn h2(message: &[u8], authority: &[u8]) -> G2Projective {
    let hash = Sha256::digest([&[1][..], authority].concat());
    let dst = [&b"TERSE-ID3DH-V01-H2-BLS12381G2_XMD:SHA-256_SSWU_RO_"[..], &hash].concat();
    <G2Projective as HashToCurve<ExpandMsgXmd<sha2_for_bls12_381::Sha256>>>::hash_to_curve([message], &dst)
}

/// Encodes an element of GT as docs/identity-format.md, 2, says. The other implementation prints the twelve coefficients
/// with the first index changing last: c0.c0, c0.c1, c0.c2, c1.c0, c1.c1, c1.c2 of two each.
fn encode(element: &Gt) -> Vec<u8> {
    let printed = format!("{element:?}");
    let digits = |text: &str| text.chars().take_while(char::is_ascii_hexdigit).collect::<alloc::string::String>();
    let coefficients: Vec<_> = printed.split("0x").skip(1).map(digits).collect();
    assert!(coefficients.len() == 12 && coefficients.iter().all(|digits| digits.len() == 96), "{printed}");
    let order = [0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11];
    let byte = |digits: &str, at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
    order.iter().flat_map(|index| (0..96).step_by(2).map(|at| byte(&coefficients[*index], at))).collect()
}

fn terms_of(key: &dyn IdentityKey, role: IdentityRole, own: &[u8; 32], peer: IdentityPeer<'_>) -> [Vec<u8>; 4] {
    let IdentityTerms { k0, k1, k2, k3, .. } = key.terms(role, &fixed(ALGORITHM, own), peer, None).expect("valid keys");
    [k0, k1, k2, k3].map(|term| term.as_ref().to_vec())
}

fn peer<'a>(identity: &'a Identity, ephemeral: &'a [u8]) -> IdentityPeer<'a> {
    IdentityPeer { identity, public_part: &[], ephemeral }
}

#[test]
fn everything_agrees_with_another_implementation() {
    let (s, x, y) = (scalar(&SECRET), scalar(&X), scalar(&Y));
    let authority = G1Affine::from(G1Affine::generator() * s).to_compressed();
    let hashed = |kind: u8, name: &[u8]| [&[kind, 0, name.len() as u8][..], name, &[0, 0, 0, EPOCH as u8]].concat();
    let (id_c, id_s) = (hashed(3, &[2, 0, 0, 0, 0, 0, 0, 1]), hashed(1, b"broker.example"));
    let affine1 = |point: G1Projective| G1Affine::from(point);
    let affine2 = |point: G2Projective| G2Affine::from(point);
    let generator = generator(ALGORITHM);
    assert_eq!(generator.parameters().authority_key(), authority);
    assert_eq!(h1_of(generator.parameters(), &client()), affine1(h1(&id_c, &authority)).to_compressed());
    assert_eq!(h2_of(generator.parameters(), &server()), affine2(h2(&id_s, &authority)).to_compressed());
    // The private keys.
    let (sk_c, sk_s) = (affine2(h2(&id_c, &authority) * s), affine2(h2(&id_s, &authority) * s));
    let tk_c = affine1(h1(&id_c, &authority) * s);
    let AnyKey::Bls12381(key_c) = generator.extract(&client()).expect("a key") else { panic!("another algorithm") };
    assert_eq!(key_c.private()[..], [&sk_c.to_compressed()[..], &tk_c.to_compressed()].concat());
    // The terms, each as the other side computes it.
    let (ek_c, ek_s) = (G1Affine::from(G1Affine::generator() * x), G1Affine::from(G1Affine::generator() * y));
    let expected = [
        encode(&other_pairing(&affine1(h1(&id_c, &authority)), &sk_s)),
        encode(&other_pairing(&ek_c, &sk_s)),
        encode(&other_pairing(&ek_s, &sk_c)),
        G1Affine::from(ek_s * x).to_compressed().to_vec(),
    ];
    let (ek_c, ek_s) = (ek_c.to_compressed(), ek_s.to_compressed());
    let key_s = generator.issue(&server()).expect("a key");
    assert_eq!(terms_of(&key_c, IdentityRole::Client, &X, peer(&server(), &ek_s)), expected);
    assert_eq!(terms_of(&*key_s, IdentityRole::Server, &Y, peer(&client(), &ek_c)), expected);
}

/// Early data uses a part of the terms, and the handshake need not compute them again.
#[test]
fn static_terms_are_a_part_of_all_terms() {
    let generator = generator(ALGORITHM);
    let [key_c, key_s] = [client(), server()].map(|identity| generator.issue(&identity).expect("a key"));
    let (x, y) = (fixed(ALGORITHM, &X), fixed(ALGORITHM, &Y));
    let sides = [
        (&key_c, IdentityRole::Client, &x, Some(&x), peer(key_s.identity(), y.public())),
        (&key_s, IdentityRole::Server, &y, None, peer(key_c.identity(), x.public())),
    ];
    for (key, role, own, of_client, peer) in sides {
        let known = key.static_terms(role, of_client, peer).expect("valid keys");
        let all = key.terms(role, own, peer, None).expect("valid keys");
        assert_eq!((known.k0.as_ref(), known.k1.as_ref()), (all.k0.as_ref(), all.k1.as_ref()));
        let again = key.terms(role, own, peer, Some(known)).expect("valid keys");
        let bytes =
            |terms: &IdentityTerms| [&terms.k0, &terms.k1, &terms.k2, &terms.k3].map(|term| term.as_ref().to_vec());
        assert_eq!(bytes(&again), bytes(&all));
    }
    assert!(key_c.static_terms(IdentityRole::Client, None, peer(key_s.identity(), &[])).is_err());
    assert!(key_s.static_terms(IdentityRole::Server, None, peer(key_c.identity(), &[])).is_err());
    assert!(
        key_c.static_terms(IdentityRole::Client, Some(&x), peer(key_c.identity(), &[])).is_err(),
        "its own identity"
    );
}

#[test]
fn an_ephemeral_key_comes_back_from_its_private_half() {
    let key = generator(ALGORITHM).issue(&client()).expect("a key");
    let fixed = fixed(ALGORITHM, &X);
    let again = key.ephemeral_from(fixed.secret()).expect("a private key");
    assert_eq!((again.secret(), again.public()), (fixed.secret(), fixed.public()));
    for bad in [&[][..], &[0; 32], &[0xff; 32], &[1; 31]] {
        assert!(key.ephemeral_from(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn every_input_changes_the_terms() {
    let generator = generator(ALGORITHM);
    let key_c = generator.issue(&client()).expect("a key");
    let (ek_s, ek_c) = (public_of(&Y), public_of(&X));
    let right = terms_of(&*key_c, IdentityRole::Client, &X, peer(&server(), &ek_s));
    let changed = |place: &[usize], terms: [Vec<u8>; 4]| {
        for (number, (right, changed)) in right.iter().zip(terms).enumerate() {
            assert_eq!(*right != changed, place.contains(&number), "K{number}");
        }
    };
    let other: Identity = "device:other".parse().expect("an identity");
    let key = generator.issue(&other).expect("a key");
    changed(&[0, 2], terms_of(&*key, IdentityRole::Client, &X, peer(&server(), &ek_s)));
    changed(&[0, 1], terms_of(&*key_c, IdentityRole::Client, &X, peer(&other, &ek_s)));
    changed(&[1, 3], terms_of(&*key_c, IdentityRole::Client, &Y, peer(&server(), &ek_s)));
    changed(&[2, 3], terms_of(&*key_c, IdentityRole::Client, &X, peer(&server(), &ek_c)));
    // The static term of a server is made of other hashes.
    changed(&[0, 1, 2], terms_of(&*key_c, IdentityRole::Server, &X, peer(&server(), &ek_s)));
    let mut next = generator.clone();
    next.rotate(NOT_AFTER).expect("another epoch");
    let next_c = next.issue(&client()).expect("a key");
    changed(&[0, 1, 2], terms_of(&*next_c, IdentityRole::Client, &X, peer(&server(), &ek_s)));
    next.rekey(NOT_AFTER, &mut TestRng(3)).expect("a secret");
    let next_c = next.issue(&client()).expect("a key");
    changed(&[0, 1, 2], terms_of(&*next_c, IdentityRole::Client, &X, peer(&server(), &ek_s)));
}

/// A point on the curve outside the subgroup: blst decodes it, and only a separate check finds it.
fn outside_of_g1() -> [u8; 48] {
    let candidates = (0..=255_u8).map(|byte| {
        let mut bytes = [0; 48];
        (bytes[0], bytes[47]) = (0x80, byte);
        bytes
    });
    let is_outside = |bytes: &[u8; 48]| {
        let point = Option::<G1Affine>::from(G1Affine::from_compressed_unchecked(bytes));
        point.is_some_and(|point| bool::from(point.is_on_curve()) && !bool::from(point.is_torsion_free()))
    };
    candidates.into_iter().find(is_outside).expect("nearly all points are outside")
}

/// The same in G2, with the first coefficient of x.
fn outside_of_g2() -> [u8; 96] {
    let candidates = (0..=255_u8).map(|byte| {
        let mut bytes = [0; 96];
        (bytes[0], bytes[95]) = (0x80, byte);
        bytes
    });
    let is_outside = |bytes: &[u8; 96]| {
        let point = Option::<G2Affine>::from(G2Affine::from_compressed_unchecked(bytes));
        point.is_some_and(|point| bool::from(point.is_on_curve()) && !bool::from(point.is_torsion_free()))
    };
    candidates.into_iter().find(is_outside).expect("nearly all points are outside")
}

#[test]
fn bad_points_are_refused() {
    let key = generator(ALGORITHM).issue(&client()).expect("a key");
    let good = public_of(&Y);
    let mut infinity = [0; 48];
    infinity[0] = 0xc0;
    let mut not_canonical = [0xff; 48]; // x is above the modulus
    not_canonical[0] = 0x9f;
    let mut not_compressed = good.clone();
    not_compressed[0] &= 0x7f;
    let off_the_curve = (0..=255_u8).map(|byte| [&[0x80][..], &[0; 46], &[byte]].concat()).find(|bytes| {
        let bytes: &[u8; 48] = bytes[..].try_into().expect("48 bytes");
        Option::<G1Affine>::from(G1Affine::from_compressed_unchecked(bytes)).is_none()
    });
    let bad: [&[u8]; 8] = [
        &outside_of_g1(),
        &off_the_curve.expect("half of all x have no y"),
        &infinity,
        &not_canonical,
        &not_compressed,
        &good[..47],
        &[&good[..], &[0]].concat(),
        &[],
    ];
    for bad in bad {
        let result = key.terms(IdentityRole::Client, &fixed(ALGORITHM, &X), peer(&server(), bad), None);
        assert_eq!(result.err(), Some(CryptoError::InvalidKeyShare), "{bad:02x?}");
    }
    let own = key.terms(IdentityRole::Client, &fixed(ALGORITHM, &X), peer(&client(), &good), None);
    assert_eq!(own.err(), Some(CryptoError::InvalidKeyShare), "the own identity");
    let server = server();
    let with_part = IdentityPeer { public_part: &[1; 32], ..peer(&server, &good) };
    let with_part = key.terms(IdentityRole::Client, &fixed(ALGORITHM, &X), with_part, None);
    assert_eq!(with_part.err(), Some(CryptoError::InvalidKeyShare), "a public part");
}

#[test]
fn keys_that_do_not_belong_together_are_refused() {
    let generator = generator(ALGORITHM);
    let extract = |identity| match generator.extract(&identity).expect("a key") {
        AnyKey::Bls12381(key) => key.private(),
        AnyKey::Ristretto255(_) => panic!("another algorithm"),
    };
    let (of_client, of_server) = (extract(client()), extract(server()));
    let new = |private: &[u8]| BlsKey::new(generator.parameters().clone(), client(), private);
    assert!(new(&of_client[..]).is_some());
    assert!(new(&of_server[..]).is_none());
    assert!(new(&[&of_client[..96], &of_server[96..]].concat()).is_none(), "another tk");
    assert!(new(&[&of_server[..96], &of_client[96..]].concat()).is_none(), "another sk");
    assert!(new(&of_client[..143]).is_none());
    assert!(new(&[&of_client[..96], &outside_of_g1()].concat()).is_none());
    // Each with a reason of its own: outside of the subgroup, the point at infinity, x above the modulus.
    let (mut infinity, mut not_canonical) = ([0; 96], [0xff; 96]);
    (infinity[0], not_canonical[0]) = (0xc0, 0x9f);
    assert!(G2::decode(&of_client[..96]).is_some());
    for bad in [outside_of_g2(), infinity, not_canonical] {
        assert!(G2::decode(&bad).is_none(), "{bad:02x?}");
        assert!(new(&[&bad, &of_client[96..]].concat()).is_none());
    }
    let other = IdentityParameters::new(IdentityAlgorithm::Ristretto255, &[1; 32], 1, 1).expect("the right length");
    assert!(BlsKey::new(other, client(), &of_client[..]).is_none());
}

#[test]
fn its_generator_has_no_blinded_requests() {
    let generator = generator(ALGORITHM);
    let blinded = crate::ristretto255::Blinded([1; 32]);
    assert_eq!(generator.respond(&client(), blinded).err(), Some(IssueError::NotBlinded));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_bytes_of_a_peer_are_a_key_or_an_error(bytes in any::<[[u8; 16]; 3]>(), flags in 4_u8..8) {
        let key = generator(ALGORITHM).issue(&client()).expect("a key");
        let mut ephemeral = bytes.concat();
        ephemeral[0] = ephemeral[0] & 0x1f | flags << 5;
        let server = server();
        let _ = key.terms(IdentityRole::Client, &fixed(ALGORITHM, &X), peer(&server, &ephemeral), None);
    }
}
