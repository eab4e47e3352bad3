//! The vectors of docs/identity-format.md, 10, and a test that the page has these values.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::fs;

use sha2::{Digest, Sha256};
use terse_tls::crypto::{CryptoError, EphemeralKey, IdentityPeer, IdentityRole, Rng, SharedSecret};
use terse_tls::identity::{Identity, IdentityAlgorithm};

use crate::Generator;
use crate::files::AnyKey;
use crate::ristretto255::Request;

/// A generator of bytes that are different and can be repeated.
pub(crate) struct TestRng(pub(crate) u8);

impl Rng for TestRng {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        out.fill_with(|| {
            self.0 = self.0.wrapping_mul(5).wrapping_add(1);
            self.0
        });
        Ok(())
    }
}

/// The inputs of the vectors: the same byte 32 times each.
pub(crate) const SECRET: [u8; 32] = [0x0b; 32];
pub(crate) const PRF_KEY: [u8; 32] = [0x22; 32];
pub(crate) const X: [u8; 32] = [0x0c; 32];
pub(crate) const Y: [u8; 32] = [0x0d; 32];
pub(crate) const U: [u8; 32] = [0x0e; 32];
pub(crate) const EPOCH: u32 = 7;
pub(crate) const NOT_AFTER: u64 = 4_102_444_800;

pub(crate) fn client() -> Identity {
    Identity::eui64([2, 0, 0, 0, 0, 0, 0, 1])
}

pub(crate) fn server() -> Identity {
    "dns:broker.example".parse().expect("an identity")
}

/// The generator of the vectors.
pub(crate) fn generator(algorithm: IdentityAlgorithm) -> Generator {
    let any = Generator::new(algorithm, EPOCH, NOT_AFTER, &mut TestRng(1)).expect("a generator");
    let mut secrets = any.to_bytes();
    let len = secrets.len();
    secrets[len - 64..len - 32].copy_from_slice(&SECRET);
    if algorithm == IdentityAlgorithm::Ristretto255 {
        secrets[len - 32..].copy_from_slice(&PRF_KEY);
    }
    let public = match algorithm {
        IdentityAlgorithm::Ristretto255 => crate::ristretto255::public_of(&SECRET),
        _ => crate::bls12381::public_of(&SECRET),
    };
    secrets[2..2 + public.len()].copy_from_slice(&public);
    Generator::from_bytes(&secrets).expect("a secret that fits its parameters")
}

/// The client's request with the secret [`U`].
pub(crate) fn request(generator: &Generator) -> Request {
    struct Fixed;
    impl Rng for Fixed {
        /// The number is 64 bytes long, least significant first, and is reduced.
        fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
            out.fill(0);
            out[..U.len()].copy_from_slice(&U);
            Ok(())
        }
    }
    Request::new(generator.parameters().clone(), client(), &mut Fixed).expect("a request")
}

/// The ephemeral key of a private one.
pub(crate) fn ephemeral(algorithm: IdentityAlgorithm, private: &[u8; 32]) -> EphemeralKey {
    let public = match algorithm {
        IdentityAlgorithm::Ristretto255 => crate::ristretto255::public_of(private),
        _ => crate::bls12381::public_of(private),
    };
    EphemeralKey::new(SharedSecret::new(private.to_vec()), public)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The lines of a vector.
fn lines(algorithm: IdentityAlgorithm) -> Vec<String> {
    let generator = generator(algorithm);
    let keys = [client(), server()].map(|identity| generator.extract(&identity).expect("a key"));
    let private = keys.each_ref().map(|key| match key {
        AnyKey::Bls12381(key) => key.private().to_vec(),
        AnyKey::Ristretto255(key) => key.private().to_vec(),
    });
    let [key_c, key_s] = keys.map(AnyKey::into_key);
    let [x, y] = [X, Y].map(|private| ephemeral(algorithm, &private));
    let of_c = IdentityPeer { identity: key_c.identity(), public_part: key_c.public_part(), ephemeral: x.public() };
    let of_s = IdentityPeer { identity: key_s.identity(), public_part: key_s.public_part(), ephemeral: y.public() };
    let terms = key_c.terms(IdentityRole::Client, &x, of_s, None).expect("valid keys");
    let other = key_s.terms(IdentityRole::Server, &y, of_c, None).expect("valid keys");
    for (ours, theirs) in
        [(&terms.k0, &other.k0), (&terms.k1, &other.k1), (&terms.k2, &other.k2), (&terms.k3, &other.k3)]
    {
        assert_eq!(ours.as_ref(), theirs.as_ref(), "both sides agree");
    }
    let short = |bytes: &[u8]| {
        if bytes.len() > 100 { format!("SHA-256 {}", hex(&Sha256::digest(bytes))) } else { hex(bytes) }
    };
    let parameters = generator.parameters();
    let mut lines = Vec::from([
        format!("parameters     {}", hex(&parameters.encode())),
        format!("authority      {}", parameters.authority()),
    ]);
    if key_c.public_part().is_empty() {
        lines.push(format!("H1(C)          {}", hex(&crate::bls12381::h1_of(parameters, &client()))));
        lines.push(format!("H2(S)          {}", hex(&crate::bls12381::h2_of(parameters, &server()))));
    } else {
        lines.push(format!("r_C            {}", hex(key_c.public_part())));
        lines.push(format!("r_S            {}", hex(key_s.public_part())));
        lines.push(format!("pub(C)         {}", hex(&crate::ristretto255::public_key_of(&*key_c))));
        lines.push(format!("pub(S)         {}", hex(&crate::ristretto255::public_key_of(&*key_s))));
    }
    lines.push(format!("private key C  {}", short(&private[0])));
    lines.push(format!("private key S  {}", short(&private[1])));
    lines.push(format!("EK_C           {}", hex(x.public())));
    lines.push(format!("EK_S           {}", hex(y.public())));
    for (number, term) in [&terms.k0, &terms.k1, &terms.k2, &terms.k3].into_iter().enumerate() {
        lines.push(format!("K{number}             {}", short(term.as_ref())));
    }
    lines
}

/// The lines of the vector of a key that the generator does not know.
fn issuing_lines() -> Vec<String> {
    let generator = generator(IdentityAlgorithm::Ristretto255);
    let request = request(&generator);
    let blinded = request.blinded();
    let response = generator.respond(&client(), blinded).expect("a response");
    let key = request.finish(&response).expect("a key");
    Vec::from([
        format!("U              {}", hex(&blinded.0)),
        format!("r              {}", hex(&response.public_part)),
        format!("partial        {}", hex(&response.partial)),
        format!("private key    {}", hex(key.private())),
    ])
}

#[test]
fn the_page_has_the_vectors() {
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/identity-format.md")).expect("the page");
    for algorithm in IdentityAlgorithm::ALL {
        let expected = lines(algorithm).join("\n");
        assert!(page.contains(&expected), "{algorithm}:\n{expected}");
    }
    let expected = issuing_lines().join("\n");
    assert!(page.contains(&expected), "issuing:\n{expected}");
}
