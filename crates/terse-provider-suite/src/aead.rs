//! Sealing and opening are tested with each suite's AEAD, of both versions.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use terse_tls::CipherSuite;
use terse_tls::crypto::{Aead, AeadKey, CryptoError, CryptoProvider, NONCE_LEN};

use super::hex;

struct KnownAnswer {
    suite: CipherSuite,
    key: &'static str,
    nonce: &'static str,
    aad: &'static str,
    plaintext: &'static str,
    /// The ciphertext, with the tag at its end.
    ciphertext: &'static str,
}

const GCM_PLAINTEXT: &str = "
    d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";

const KNOWN_ANSWERS: [KnownAnswer; 5] = [
    // "The Galois/Counter Mode of Operation", McGrew and Viega, B, test case 4.
    KnownAnswer {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        key: "feffe9928665731c6d6a8f9467308308",
        nonce: "cafebabefacedbaddecaf888",
        aad: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        plaintext: GCM_PLAINTEXT,
        ciphertext: "
            42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
            21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091
            5bc94fbc3221a5db94fae95ae7121a47",
    },
    // "The Galois/Counter Mode of Operation", McGrew and Viega, B, test case 16.
    KnownAnswer {
        suite: CipherSuite::TLS_AES_256_GCM_SHA384,
        key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
        nonce: "cafebabefacedbaddecaf888",
        aad: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        plaintext: GCM_PLAINTEXT,
        ciphertext: "
            522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
            8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
            76fc6ece0f4e1768cddf8853bb2d551b",
    },
    // RFC 8439, 2.8.2.
    KnownAnswer {
        suite: CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
        key: "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
        nonce: "070000004041424344454647",
        aad: "50515253c0c1c2c3c4c5c6c7",
        plaintext: "
            4c616469657320616e642047656e746c656d656e206f662074686520636c6173
            73206f66202739393a204966204920636f756c64206f6666657220796f75206f
            6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73
            637265656e20776f756c642062652069742e",
        ciphertext: "
            d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6
            3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36
            92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc
            3ff4def08e4b7a9de576d26586cec64b6116
            1ae10b594f09e26a7e902ecbd0600691",
    },
    // SP 800-38C, example 3, with a tag of 16 bytes instead of 8 (computed with OpenSSL).
    KnownAnswer {
        suite: CipherSuite::TLS_AES_128_CCM_SHA256,
        key: "404142434445464748494a4b4c4d4e4f",
        nonce: "101112131415161718191a1b",
        aad: "000102030405060708090a0b0c0d0e0f10111213",
        plaintext: "202122232425262728292a2b2c2d2e2f3031323334353637",
        ciphertext: "
            e3b201a9f5b71a7a9b1ceaeccd97e70b6176aad9a4428aa5
            c87ae488918de93f17dd3e4934347f44",
    },
    // SP 800-38C, example 3.
    KnownAnswer {
        suite: CipherSuite::TLS_AES_128_CCM_8_SHA256,
        key: "404142434445464748494a4b4c4d4e4f",
        nonce: "101112131415161718191a1b",
        aad: "000102030405060708090a0b0c0d0e0f10111213",
        plaintext: "202122232425262728292a2b2c2d2e2f3031323334353637",
        ciphertext: "e3b201a9f5b71a7a9b1ceaeccd97e70b6176aad9a4428aa5 484392fbc1b09951",
    },
];

/// Published vectors are sealed and opened.
pub fn known_answers(provider: &CryptoProvider) {
    for suite in suites(provider) {
        let same = KNOWN_ANSWERS.iter().find(|answer| answer.suite == tls13_twin(suite.id));
        let answer = same.expect("an answer for each AEAD");
        let key = suite.aead.key(&hex(answer.key)).expect("a key of the right length");
        let nonce = hex(answer.nonce).try_into().expect("12 bytes");
        let (aad, plaintext) = (hex(answer.aad), hex(answer.plaintext));
        let mut sealed = seal(&suite, &*key, &nonce, &aad, &plaintext);
        assert_eq!(sealed, hex(answer.ciphertext), "{}", suite.id);
        assert_eq!(key.open(&nonce, &aad, &mut sealed), Ok(plaintext.len()));
        assert_eq!(sealed[..plaintext.len()], plaintext);
    }
}

/// Data and additional data of many lengths survive; another nonce gives another ciphertext.
pub fn round_trips(provider: &CryptoProvider) {
    for suite in &suites(provider) {
        let key = key(suite);
        for len in [0, 1, 15, 16, 17, 31, 32, 33, 64, 255, 1_000, 16_385] {
            for aad_len in [0, 1, 5, 13, 16, 300] {
                let plaintext: Vec<u8> = (0..=255).cycle().take(len).collect();
                let aad = vec![0xad; aad_len];
                let mut sealed = seal(suite, &*key, &NONCE, &aad, &plaintext);
                assert_ne!(sealed, seal(suite, &*key, &[1; NONCE_LEN], &aad, &plaintext));
                assert_eq!(key.open(&NONCE, &aad, &mut sealed), Ok(len), "{}", suite.id);
                assert_eq!(sealed[..len], plaintext);
            }
        }
    }
}

/// A change anywhere is noticed, and no plaintext is left behind.
pub fn tampering(provider: &CryptoProvider) {
    let plaintext = *b"a record that nobody may change, nor read";
    let aad = *b"\x17\x03\x03\x00\x39";
    for suite in &suites(provider) {
        let key = key(suite);
        let sealed = seal(suite, &*key, &NONCE, &aad, &plaintext);
        let refused = |key: &dyn AeadKey, nonce: &[u8; NONCE_LEN], aad: &[u8], mut data: Vec<u8>| {
            assert_eq!(key.open(nonce, aad, &mut data), Err(CryptoError::DecryptFailed), "{}", suite.id);
            let left = data.windows(8).any(|window| plaintext.windows(8).any(|secret| secret == window));
            assert!(!left, "{} leaves plaintext behind", suite.id);
        };
        for position in 0..sealed.len() {
            refused(&*key, &NONCE, &aad, flipped(&sealed, position));
        }
        for position in 0..aad.len() {
            refused(&*key, &NONCE, &flipped(&aad, position), sealed.clone());
        }
        refused(&*key, &NONCE, &aad[..4], sealed.clone());
        refused(&*key, &NONCE, b"", sealed.clone());
        for position in 0..NONCE_LEN {
            let nonce = flipped(&NONCE, position).try_into().expect("as long as before");
            refused(&*key, &nonce, &aad, sealed.clone());
        }
        for position in 0..suite.aead.key_len() {
            let other = suite.aead.key(&flipped(&key_bytes(suite), position)).expect("as long as before");
            refused(&*other, &NONCE, &aad, sealed.clone());
        }
        for len in 0..sealed.len() {
            refused(&*key, &NONCE, &aad, sealed[..len].to_vec());
        }
        refused(&*key, &NONCE, &aad, [&sealed[..], &[0]].concat());
    }
}

/// Keys and tags of the wrong length are errors, not panics.
pub fn wrong_lengths(provider: &CryptoProvider) {
    for suite in &suites(provider) {
        for len in (0..70).filter(|len| *len != suite.aead.key_len()) {
            let error = suite.aead.key(&vec![0; len]).err();
            assert_eq!(error, Some(CryptoError::InvalidLength), "{}", suite.id);
        }
        for len in (0..40).filter(|len| *len != suite.aead.tag_len()) {
            let result = key(suite).seal(&NONCE, b"", &mut [0; 9], &mut vec![0; len]);
            assert_eq!(result, Err(CryptoError::InvalidLength), "{}", suite.id);
        }
    }
}

/// A suite, and the AEAD that it seals with.
struct Suite {
    id: CipherSuite,
    aead: &'static dyn Aead,
}

fn suites(provider: &CryptoProvider) -> Vec<Suite> {
    let tls13 = provider.tls13_suites.iter().map(|suite| Suite { id: suite.id, aead: suite.aead });
    let tls12 = provider.tls12_suites.iter().map(|suite| Suite { id: suite.id, aead: suite.aead });
    tls13.chain(tls12).collect()
}

/// Returns the suite of TLS 1.3 with the AEAD in the name of `suite`.
fn tls13_twin(suite: CipherSuite) -> CipherSuite {
    let name = suite.name().expect("a suite that is known");
    let (_, cipher) = name.split_once("_WITH_").unwrap_or(("", name.trim_start_matches("TLS_")));
    let hash = if cipher.contains("_SHA") { "" } else { "_SHA256" };
    CipherSuite::from_name(&format!("TLS_{cipher}{hash}")).expect("the same ciphers in both versions")
}

const NONCE: [u8; NONCE_LEN] = *b"twelve bytes";

fn key_bytes(suite: &Suite) -> Vec<u8> {
    (0x80..).take(suite.aead.key_len()).collect()
}

fn key(suite: &Suite) -> Box<dyn AeadKey> {
    suite.aead.key(&key_bytes(suite)).expect("a key of the right length")
}

fn seal(suite: &Suite, key: &dyn AeadKey, nonce: &[u8; NONCE_LEN], aad: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let mut data = plaintext.to_vec();
    let mut tag = vec![0; suite.aead.tag_len()];
    key.seal(nonce, aad, &mut data, &mut tag).expect("a tag of the right length");
    [data, tag].concat()
}

fn flipped(data: &[u8], position: usize) -> Vec<u8> {
    let mut data = data.to_vec();
    data[position] ^= 1 << (position % 8);
    data
}
