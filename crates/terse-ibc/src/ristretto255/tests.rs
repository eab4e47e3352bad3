use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::Generator;
use crate::files::AnyKey;
use crate::vectors::{
    EPOCH, NOT_AFTER, PRF_KEY, SECRET, TestRng, U, X, Y, client, ephemeral as fixed, generator, request, server,
};

const ALGORITHM: IdentityAlgorithm = IdentityAlgorithm::Ristretto255;

/// The four terms, encoded.
fn terms_of(key: &dyn IdentityKey, role: IdentityRole, own: &[u8; 32], peer: IdentityPeer<'_>) -> [Vec<u8>; 4] {
    let IdentityTerms { k0, k1, k2, k3, .. } = key.terms(role, &fixed(ALGORITHM, own), peer, None).expect("valid keys");
    [k0, k1, k2, k3].map(|term| term.as_ref().to_vec())
}

fn peer<'a>(key: &'a dyn IdentityKey, ephemeral: &'a [u8]) -> IdentityPeer<'a> {
    IdentityPeer { identity: key.identity(), public_part: key.public_part(), ephemeral }
}

fn public(private: &[u8; 32]) -> Vec<u8> {
    super::public_of(private)
}

/// From the discrete logarithms of everything, which nobody has in reality: with the formulas of docs/identity-format.md
/// and nothing of the code above.
#[test]
fn terms_agree_with_the_discrete_logarithms() {
    let s = Scalar::from_canonical_bytes(SECRET).expect("below the order");
    let [x, y] = [X, Y].map(|private| Scalar::from_canonical_bytes(private).expect("below the order"));
    let authority = (s * curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT).compress().to_bytes();
    let base = |scalar: Scalar| (scalar * curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT).compress().to_bytes();
    let hashed = |kind: u8, name: &[u8]| [&[kind, 0, name.len() as u8][..], name, &[0, 0, 0, EPOCH as u8]].concat();
    let key = |hashed: &[u8]| {
        let tag = b"TERSE-ID3DH-V01-RISTRETTO255-PRF";
        let mut mac = <Hmac<Sha512> as KeyInit>::new_from_slice(&PRF_KEY).expect("any length");
        mac.update(&[&[32][..], tag, &authority, hashed, &[0; 32]].concat());
        let k = Scalar::from_bytes_mod_order_wide(&mac.finalize().into_bytes().into());
        let r = base(k);
        let tag = b"TERSE-ID3DH-V01-RISTRETTO255-H";
        let h = Sha512::digest([&[30][..], tag, &authority, hashed, &r].concat());
        k + Scalar::from_bytes_mod_order_wide(&h.into()) * s
    };
    let sk_c = key(&hashed(3, &[2, 0, 0, 0, 0, 0, 0, 1]));
    let sk_s = key(&hashed(1, b"broker.example"));
    let expected = [sk_c * sk_s, x * sk_s, sk_c * y, x * y].map(|product| base(product).to_vec());
    let generator = generator(ALGORITHM);
    let [key_c, key_s] = [client(), server()].map(|identity| generator.issue(&identity).expect("a key"));
    assert_eq!(terms_of(&*key_c, IdentityRole::Client, &X, peer(&*key_s, &public(&Y))), expected);
    assert_eq!(terms_of(&*key_s, IdentityRole::Server, &Y, peer(&*key_c, &public(&X))), expected);
}

/// Early data uses a part of the terms, and the handshake need not compute them again.
#[test]
fn static_terms_are_a_part_of_all_terms() {
    let generator = generator(ALGORITHM);
    let [key_c, key_s] = [client(), server()].map(|identity| generator.issue(&identity).expect("a key"));
    let (x, y) = (fixed(ALGORITHM, &X), fixed(ALGORITHM, &Y));
    let sides = [
        (&key_c, IdentityRole::Client, &x, Some(&x), peer(&*key_s, y.public())),
        (&key_s, IdentityRole::Server, &y, None, peer(&*key_c, x.public())),
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
    assert!(key_c.static_terms(IdentityRole::Client, None, peer(&*key_s, &[])).is_err());
    assert!(key_s.static_terms(IdentityRole::Server, None, peer(&*key_c, &[])).is_err());
    assert!(key_c.static_terms(IdentityRole::Client, Some(&x), peer(&*key_c, &[])).is_err(), "its own identity");
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
    let key = |identity: &Identity| generator.issue(identity).expect("a key");
    let (key_c, key_s) = (key(&client()), key(&server()));
    let ek_s = public(&Y);
    let right = terms_of(&*key_c, IdentityRole::Client, &X, peer(&*key_s, &ek_s));
    let changed = |place: &[usize], terms: [Vec<u8>; 4]| {
        for (number, (right, changed)) in right.iter().zip(terms).enumerate() {
            assert_eq!(*right != changed, place.contains(&number), "K{number}");
        }
    };
    let other = key(&"device:other".parse().expect("an identity"));
    changed(&[0, 2], terms_of(&*other, IdentityRole::Client, &X, peer(&*key_s, &ek_s)));
    changed(&[0, 1], terms_of(&*key_c, IdentityRole::Client, &X, peer(&*other, &ek_s)));
    let mixed = IdentityPeer { identity: other.identity(), ..peer(&*key_s, &ek_s) };
    changed(&[0, 1], terms_of(&*key_c, IdentityRole::Client, &X, mixed));
    let mixed = IdentityPeer { public_part: other.public_part(), ..peer(&*key_s, &ek_s) };
    changed(&[0, 1], terms_of(&*key_c, IdentityRole::Client, &X, mixed));
    changed(&[1, 3], terms_of(&*key_c, IdentityRole::Client, &Y, peer(&*key_s, &ek_s)));
    changed(&[2, 3], terms_of(&*key_c, IdentityRole::Client, &X, peer(&*key_s, &public(&X))));
    changed(&[1, 2], terms_of(&*key_c, IdentityRole::Server, &X, peer(&*key_s, &ek_s)));
    let mut next = generator.clone();
    next.rotate(NOT_AFTER).expect("another epoch");
    let next_c = next.issue(&client()).expect("a key");
    changed(&[0, 1, 2], terms_of(&*next_c, IdentityRole::Client, &X, peer(&*key_s, &ek_s)));
}

/// From the discrete logarithms, as above: U = u·B, r = (u + k)·B, and sk = u + k + H·s.
#[test]
fn issuing_agrees_with_the_discrete_logarithms() {
    let decode = |bytes| Scalar::from_canonical_bytes(bytes).expect("below the order");
    let (s, u) = (decode(SECRET), decode(U));
    let base = |scalar: Scalar| (scalar * curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT).compress().to_bytes();
    let (authority, blinded) = (base(s), base(u));
    let hashed = [&[3, 0, 8, 2, 0, 0, 0, 0, 0, 0, 1][..], &[0, 0, 0, EPOCH as u8]].concat();
    let mut mac = <Hmac<Sha512> as KeyInit>::new_from_slice(&PRF_KEY).expect("any length");
    mac.update(&[&[32][..], b"TERSE-ID3DH-V01-RISTRETTO255-PRF", &authority, &hashed, &blinded].concat());
    let k = Scalar::from_bytes_mod_order_wide(&mac.finalize().into_bytes().into());
    let r = base(u + k);
    let h = Sha512::digest([&[30][..], b"TERSE-ID3DH-V01-RISTRETTO255-H", &authority, &hashed, &r].concat());
    let partial = k + Scalar::from_bytes_mod_order_wide(&h.into()) * s;

    let generator = generator(ALGORITHM);
    let request = request(&generator);
    assert_eq!(request.blinded(), Blinded(blinded));
    let response = generator.respond(&client(), request.blinded()).expect("a response");
    assert_eq!((response.public_part, response.partial), (r, partial.to_bytes()));
    let key = request.finish(&response).expect("a key");
    assert_eq!((key.public_part(), *key.private()), (&r[..], (u + partial).to_bytes()));
    assert_eq!(public_key_of(&key), base(u + partial));
}

/// Not below the modulus, negative, and those for which there is no point (as in RFC 9496, A.2); the identity element; then
/// lengths.
#[test]
fn bad_points_are_refused() {
    let generator = generator(ALGORITHM);
    let (key, key_s) = (generator.issue(&client()).expect("a key"), generator.issue(&server()).expect("a key"));
    let good = public(&Y);
    let not_canonical = [&[0xed][..], &[0xff; 30], &[0x7f]].concat();
    let mut negative = [0; 32];
    negative[0] = 1;
    let no_point = (0..64_u8).map(|byte| [&[2 * byte][..], &[0; 31]].concat()).find(|bytes| {
        let bytes: [u8; 32] = bytes[..].try_into().expect("32 bytes");
        CompressedRistretto(bytes).decompress().is_none()
    });
    let bad: [&[u8]; 8] = [
        &[0xff; 32],
        &not_canonical,
        &negative,
        &no_point.expect("most are none"),
        &[0; 32],
        &good[..31],
        &[&good[..], &[0]].concat(),
        &[],
    ];
    for bad in bad {
        let own = fixed(ALGORITHM, &X);
        let ephemeral = peer(&*key_s, bad);
        let part = IdentityPeer { public_part: bad, ..peer(&*key_s, &good) };
        for peer in [ephemeral, part] {
            let result = key.terms(IdentityRole::Client, &own, peer, None);
            assert_eq!(result.err(), Some(CryptoError::InvalidKeyShare), "{bad:?}");
        }
    }
    let own = key.terms(IdentityRole::Client, &fixed(ALGORITHM, &X), peer(&*key, &good), None);
    assert_eq!(own.err(), Some(CryptoError::InvalidKeyShare), "the own identity");
}

/// A public part r = -H·Y gives the identity element as public key, which would make two terms constant. H depends on r, so
/// nobody can find one; here the private key of the test does.
#[test]
fn keys_that_do_not_belong_together_are_refused() {
    let generator = generator(ALGORITHM);
    let AnyKey::Ristretto255(key) = generator.extract(&client()).expect("a key") else { panic!("another algorithm") };
    let parameters = || generator.parameters().clone();
    let new = |identity, part: &[u8], private: &[u8]| RistrettoKey::new(parameters(), identity, part, private);
    assert!(new(client(), key.public_part(), key.private()).is_some());
    assert!(new(server(), key.public_part(), key.private()).is_none());
    let mut wrong = *key.private();
    wrong[0] ^= 1;
    assert!(new(client(), key.public_part(), &wrong).is_none());
    assert!(new(client(), key.public_part(), &[0xff; 32]).is_none(), "not below the order");
    assert!(new(client(), &[0; 32], key.private()).is_none());
    let bls = IdentityParameters::new(IdentityAlgorithm::Bls12381, &[1; 48], 1, 1).expect("the right length");
    assert!(RistrettoKey::new(bls, client(), key.public_part(), key.private()).is_none());
}

#[test]
fn a_device_gets_a_key_that_the_generator_does_not_know() {
    let generator = generator(ALGORITHM);
    let mut rng = TestRng(5);
    let request = || Request::new(generator.parameters().clone(), client(), &mut TestRng(5)).expect("a request");
    let response = generator.respond(&client(), request().blinded()).expect("a response");
    assert_eq!(generator.respond(&client(), request().blinded()).expect("a response"), response, "always the same");
    let key = request().finish(&response).expect("a good response");
    assert_ne!(key.private(), &response.partial);
    assert_ne!(key.private(), generator.issue_scalar(&client()).as_bytes(), "the key that the generator makes itself");
    // It works with one that the generator made.
    let key_s = generator.issue(&server()).expect("a key");
    let [own, theirs] =
        [&key as &dyn IdentityKey, &*key_s].map(|key| key.ephemeral(&mut rng).expect("an ephemeral key"));
    let ours = key.terms(IdentityRole::Client, &own, peer(&*key_s, theirs.public()), None).expect("valid keys");
    let other = key_s.terms(IdentityRole::Server, &theirs, peer(&key, own.public()), None).expect("valid keys");
    assert_eq!((ours.k0.as_ref(), ours.k3.as_ref()), (other.k0.as_ref(), other.k3.as_ref()));
    // A response for another identity, request or generator does not fit.
    let for_server = generator.respond(&server(), request().blinded()).expect("a response");
    assert!(request().finish(&for_server).is_none());
    let mut damaged = response.clone();
    damaged.partial[0] ^= 1;
    assert!(request().finish(&damaged).is_none());
    assert_eq!(generator.respond(&client(), Blinded([0; 32])).err(), Some(IssueError::BadRequest));
    assert_eq!(generator.respond(&client(), Blinded([0xff; 32])).err(), Some(IssueError::BadRequest));
}

impl Generator {
    fn issue_scalar(&self, identity: &Identity) -> Scalar {
        let AnyKey::Ristretto255(key) = self.extract(identity).expect("a key") else { panic!("another algorithm") };
        *key.private
    }
}

/// Two answers for one k give away the secret of the generator: so all that H hashes, except r, is input of the PRF.
#[test]
fn two_answers_for_one_k_would_give_away_the_secret() {
    let generator = generator(ALGORITHM);
    let crate::generator::Secrets::Ristretto255(secrets) = &generator.secrets else { panic!("another algorithm") };
    let parameters = generator.parameters();
    let epoch =
        |epoch| IdentityParameters::new(ALGORITHM, parameters.authority_key(), epoch, NOT_AFTER).expect("valid");
    let blinded = Blinded([0; 32]);
    let k = *secrets.prf(parameters, &client(), &blinded);
    // With a PRF that leaves out the identity, an attacker with keys of two identities solves for s.
    let r = RistrettoPoint::mul_base(&k).compress().to_bytes();
    let [h_c, h_s] = [client(), server()].map(|identity| hash(parameters, &identity, &r));
    let [sk_c, sk_s] = [h_c, h_s].map(|h| k + h * *secrets.secret);
    assert_eq!((sk_c - sk_s) * (h_c - h_s).invert(), *secrets.secret, "the attack");
    // The real one has it in, and all the rest.
    let another = [
        *secrets.prf(parameters, &server(), &blinded),
        *secrets.prf(&epoch(EPOCH + 1), &client(), &blinded),
        *secrets.prf(parameters, &client(), &Blinded(r)),
    ];
    assert!(another.iter().all(|other| *other != k));
    let mut rekeyed = generator.clone();
    rekeyed.rekey(NOT_AFTER, &mut TestRng(9)).expect("a new secret");
    assert_ne!(*secrets.prf(rekeyed.parameters(), &client(), &blinded), k, "another Y");
}

/// A generator that always gives the same bytes does not give the ephemeral key away (RFC 8937).
#[test]
fn the_private_key_is_mixed_into_the_randomness() {
    struct Stuck;
    impl terse_tls::crypto::Rng for Stuck {
        fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
            out.fill(0);
            Ok(())
        }
    }
    let generator = generator(ALGORITHM);
    let [key_c, key_s] = [client(), server()].map(|identity| generator.issue(&identity).expect("a key"));
    let [a, b] = [&key_c, &key_s].map(|key| key.ephemeral(&mut Stuck).expect("an ephemeral key"));
    assert_ne!(a.public(), b.public());
}

proptest! {
    #[test]
    fn any_bytes_of_a_peer_are_a_key_or_an_error(part in any::<[u8; 32]>(), ephemeral in any::<[u8; 32]>()) {
        let key = generator(ALGORITHM).issue(&client()).expect("a key");
        let server = server();
        let peer = IdentityPeer { identity: &server, public_part: &part, ephemeral: &ephemeral };
        let _ = key.terms(IdentityRole::Client, &fixed(ALGORITHM, &X), peer, None);
    }
}
