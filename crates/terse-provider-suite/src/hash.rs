//! SHA-1, SHA-256, SHA-384 and SHA-512 (FIPS 180-4), HMAC (RFC 4231) and HKDF (RFC 5869) are tested.

use alloc::vec;
use alloc::vec::Vec;

use terse_tls::crypto::{CryptoError, CryptoProvider, Hash};

use super::hex;

/// The digests are that of FIPS 180-4's first example, and that of the empty string.
pub fn sha1(provider: &CryptoProvider) {
    let sha1 = provider.sha1.expect("for OCSP responses");
    assert_eq!(sha1(b"abc")[..], hex("a9993e364706816aba3e25717850c26c9cd0d89d"));
    assert_eq!(sha1(b"")[..], hex("da39a3ee5e6b4b0d3255bfef95601890afd80709"));
}

/// The digests are that of FIPS 180-4's first example, and that of the empty string.
pub fn sha512(provider: &CryptoProvider) {
    let sha512 = provider.sha512.expect("for signatures in CMS");
    let abc = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a
               2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
    let empty = "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce
                 47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e";
    assert_eq!(sha512(b"abc")[..], hex(abc));
    assert_eq!(sha512(b"")[..], hex(empty));
}

/// The digests are those of FIPS 180-4's examples.
pub fn sha2(provider: &CryptoProvider) {
    let million = vec![b'a'; 1_000_000];
    let cases: [(&[u8], &str, &str); 3] = [
        (
            b"",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da
             274edebfe76f65fbd51ad2f14898b95b",
        ),
        (
            b"abc",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed
             8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            &million,
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b
             07b8b3dc38ecc4ebae97ddd87f3d8985",
        ),
    ];
    for (data, sha256, sha384) in cases {
        assert_eq!(provider.sha256.hash(&[data]).as_ref(), hex(sha256));
        for hash in hashes(provider) {
            let expected = if hash.output_len() == 32 { hex(sha256) } else { hex(sha384) };
            assert_eq!(hash.hash(&[data]).as_ref(), expected);
        }
    }
}

/// The vectors are those of RFC 4231, 4.2 to 4.8, without the truncated case.
pub fn hmac(provider: &CryptoProvider) {
    let counting: Vec<u8> = (1..=25).collect();
    let cases: [(&[u8], &[u8], &str, &str); 6] = [
        (
            &[0x0b; 20],
            b"Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59c
             faea9ea9076ede7f4af152e8b2fa9cb6",
        ),
        (
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e
             8e2240ca5e69e2c78b3239ecfab21649",
        ),
        (
            &[0xaa; 20],
            &[0xdd; 50],
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            "88062608d3e6ad8a0aa2ace014c8a86f0aa635d947ac9febe83ef4e55966144b
             2a5ab39dc13814b94e3ab6e101a34f27",
        ),
        (
            &counting,
            &[0xcd; 50],
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            "3e8a69b7783c25851933ab6290af6ca77a9981480850009cc5577c6e1f573b4e
             6801dd23c4a7d679ccf8a386c674cffb",
        ),
        (
            &[0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c6
             0c2ef6ab4030fe8296248df163f44952",
        ),
        (
            &[0xaa; 131],
            b"This is a test using a larger than block-size key and a larger than block-size data. \
              The key needs to be hashed before being used by the HMAC algorithm.",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            "6617178e941f020d351e2f254e8fd32c602420feb0b8fb9adccebb82461e99c5
             a678cc31e799176d3860e6110c46523e",
        ),
    ];
    for (key, data, sha256, sha384) in cases {
        for hash in hashes(provider) {
            let expected = if hash.output_len() == 32 { hex(sha256) } else { hex(sha384) };
            assert_eq!(hash.hmac(key, &[data]).as_ref(), expected);
            let (front, back) = data.split_at(data.len() / 3);
            assert_eq!(hash.hmac(key, &[front, b"", back]).as_ref(), expected);
        }
    }
}

/// HMAC is what RFC 2104, 2 defines, with keys of any length: the PRF of TLS 1.2 takes the result of a key exchange.
pub fn hmac_by_definition(provider: &CryptoProvider) {
    for hash in hashes(provider) {
        let block_len = if hash.output_len() == 32 { 64 } else { 128 };
        for key_len in [0, 1, 16, 32, 48, 63, 64, 65, 96, 127, 128, 129, 256, 257, 600, 65_536] {
            let key: Vec<u8> = (1..=251).cycle().take(key_len).collect();
            let mut padded = if key_len > block_len { hash.hash(&[&key]).as_ref().to_vec() } else { key.clone() };
            padded.resize(block_len, 0);
            let [inner, outer] = [0x36, 0x5c].map(|pad| padded.iter().map(|byte| byte ^ pad).collect::<Vec<_>>());
            for data in [&b""[..], b"master secret", &[0x20; 300]] {
                let expected = hash.hash(&[&outer, hash.hash(&[&inner, data]).as_ref()]);
                assert_eq!(hash.hmac(&key, &[data]), expected, "{key_len}");
                assert_eq!(hash.hmac(&key, &[b"", data, b""]), expected, "{key_len}");
            }
            assert_eq!(hash.hmac(&key, &[]), hash.hmac(&key, &[b""]), "{key_len}");
        }
    }
}

/// The vectors are those of RFC 5869, A.1 to A.3.
pub fn hkdf_vectors(provider: &CryptoProvider) {
    let bytes = |from: u8, to: u8| -> Vec<u8> { (from..=to).collect() };
    let cases = [
        (
            vec![0x0b; 22],
            bytes(0x00, 0x0c),
            bytes(0xf0, 0xf9),
            "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        ),
        (
            bytes(0x00, 0x4f),
            bytes(0x60, 0xaf),
            bytes(0xb0, 0xff),
            "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c
             59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71
             cc30c58179ec3e87c14c01d5c1f3434f1d87",
        ),
        (
            vec![0x0b; 22],
            vec![],
            vec![],
            "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
        ),
    ];
    for (input, salt, info, pseudorandom_key, output) in cases {
        let extracted = provider.sha256.hkdf_extract(&salt, &input);
        assert_eq!(extracted.as_ref(), hex(pseudorandom_key));
        let expected = hex(output);
        let mut out = vec![0; expected.len()];
        provider.sha256.hkdf_expand(extracted.as_ref(), &[&info], &mut out).expect("not too long");
        assert_eq!(out, expected);
        let (front, back) = info.split_at(info.len() / 2);
        provider.sha256.hkdf_expand(extracted.as_ref(), &[front, back], &mut out).expect("not too long");
        assert_eq!(out, expected);
    }
}

/// HKDF is what RFC 5869, 2.2 and 2.3 define on top of HMAC, for every hash and many lengths.
pub fn hkdf_by_definition(provider: &CryptoProvider) {
    for hash in hashes(provider) {
        let hash_len = hash.output_len();
        for salt in [&b""[..], &[0x5a; 48], &[0xa5; 200]] {
            let extracted = hash.hkdf_extract(salt, b"input key material");
            assert_eq!(extracted.as_ref(), hash.hmac(salt, &[b"input key material"]).as_ref());
        }
        let pseudorandom_key = vec![7; hash_len];
        let mut expected = Vec::new();
        let mut block: Vec<u8> = Vec::new();
        for counter in 1..=255 {
            block = hash.hmac(&pseudorandom_key, &[&block, b"label", b"context", &[counter]]).as_ref().to_vec();
            expected.extend_from_slice(&block);
        }
        for len in [0, 1, 12, hash_len - 1, hash_len, hash_len + 1, 2 * hash_len, 255 * hash_len] {
            let mut out = vec![0xee; len];
            hash.hkdf_expand(&pseudorandom_key, &[b"label", b"", b"context"], &mut out).expect("not too long");
            assert_eq!(out, expected[..len]);
        }
    }
}

/// An output beyond 255 blocks, or a pseudorandom key of another length than the hash, is an error and not a panic.
pub fn hkdf_wrong_lengths(provider: &CryptoProvider) {
    for hash in hashes(provider) {
        let hash_len = hash.output_len();
        let mut out = vec![0; 255 * hash_len + 1];
        let result = hash.hkdf_expand(&vec![1; hash_len], &[], &mut out);
        assert_eq!(result, Err(CryptoError::InvalidLength));
        for key_len in [0, hash_len - 1, hash_len + 1, 1_000] {
            let result = hash.hkdf_expand(&vec![1; key_len], &[], &mut [0; 16]);
            assert_eq!(result, Err(CryptoError::InvalidLength));
        }
    }
}

/// A running hash does not depend on how the data is cut, and a fork is independent.
pub fn pieces_and_forks(provider: &CryptoProvider) {
    let data: Vec<u8> = (0..=255).cycle().take(1_000).collect();
    for hash in hashes(provider) {
        let whole = hash.hash(&[&data]);
        for piece_len in [1, 3, 63, 64, 65, 127, 128, 129] {
            let mut context = hash.start();
            for piece in data.chunks(piece_len) {
                context.update(piece);
                context.update(b"");
            }
            assert_eq!(context.finish(), whole);
        }
        for cut in [0, 1, 64, 100, 128, 999] {
            let mut context = hash.start();
            context.update(&data[..cut]);
            let mut fork = context.fork();
            assert_eq!(context.fork().finish(), hash.hash(&[&data[..cut]]));
            fork.update(b"something else");
            context.update(&data[cut..]);
            assert_eq!(context.finish(), whole);
            assert_eq!(fork.finish(), hash.hash(&[&data[..cut], b"something else"]));
        }
    }
}

fn hashes(provider: &CryptoProvider) -> Vec<&'static dyn Hash> {
    let tls12 = provider.tls12_suites.iter().map(|suite| suite.hash);
    let mut hashes: Vec<_> = provider.tls13_suites.iter().map(|suite| suite.hash).chain(tls12).collect();
    hashes.sort_by_key(|hash| hash.output_len());
    hashes.dedup_by_key(|hash| hash.output_len());
    assert_eq!(hashes.iter().map(|hash| hash.output_len()).collect::<Vec<_>>(), [32, 48]);
    hashes
}
