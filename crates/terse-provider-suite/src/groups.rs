//! Key exchange is tested with each group.

use alloc::vec;
use alloc::vec::Vec;

use terse_tls::NamedGroup;
use terse_tls::crypto::{CryptoError, CryptoProvider, Group};

use super::{ConstantRng, FixedRng, SeededRng, hex};

/// The known answers are of RFC 7748, 6.1 for x25519, and of RFC 5903, 8.1 and 8.2 for secp256r1 and secp384r1.
pub fn known_answers(provider: &CryptoProvider) {
    let cases = [
        (
            NamedGroup::X25519,
            "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
            "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
            "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
            "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
        ),
        (
            NamedGroup::SECP256R1,
            "C88F01F510D9AC3F70A292DAA2316DE544E9AAB8AFE84049C62A9C57862D1433",
            "04 DAD0B65394221CF9B051E1FECA5787D098DFE637FC90B9EF945D0C3772581180
                5271A0461CDB8252D61F1C456FA3E59AB1F45B33ACCF5F58389E0577B8990BB3",
            "C6EF9C5D78AE012A011164ACB397CE2088685D8F06BF9BE0B283AB46476BEE53",
            "04 D12DFB5289C8D4F81208B70270398C342296970A0BCCB74C736FC7554494BF63
                56FBF3CA366CC23E8157854C13C58D6AAC23F046ADA30F8353E74F33039872AB",
            "D6840F6B42F6EDAFD13116E0E12565202FEF8E9ECE7DCE03812464D04B9442DE",
        ),
        (
            NamedGroup::SECP384R1,
            "099F3C7034D4A2C699884D73A375A67F7624EF7C6B3C0F160647B67414DCE655
             E35B538041E649EE3FAEF896783AB194",
            "04 667842D7D180AC2CDE6F74F37551F55755C7645C20EF73E31634FE72B4C55EE6
                DE3AC808ACB4BDB4C88732AEE95F41AA
                9482ED1FC0EEB9CAFC4984625CCFC23F65032149E0E144ADA024181535A0F38E
                EB9FCFF3C2C947DAE69B4C634573A81C",
            "41CB0779B4BDB85D47846725FBEC3C9430FAB46CC8DC5060855CC9BDA0AA2942
             E0308312916B8ED2960E4BD55A7448FC",
            "04 E558DBEF53EECDE3D3FCCFC1AEA08A89A987475D12FD950D83CFA41732BC509D
                0D1AC43A0336DEF96FDA41D0774A3571
                DCFBEC7AACF3196472169E838430367F66EEBE3C6E70C416DD5F0C68759DD1FF
                F83FA40142209DFF5EAAD96DB9E6386C",
            "11187331C279962D93D604243FD592CB9D0A926F422E47187521287E7156C5C4
             D603135569B9E9D09CF5D4A270F59746",
        ),
    ];
    for (name, client_secret, client_share, server_secret, server_share, shared) in cases {
        let group = provider.group(name).expect("a full provider");
        let client = group.start(&mut FixedRng(hex(client_secret))).expect("a valid secret");
        assert_eq!(client.key_share(), hex(client_share), "{name}");
        let (share, secret) =
            group.respond(&mut FixedRng(hex(server_secret)), client.key_share()).expect("a valid share");
        assert_eq!(share, hex(server_share), "{name}");
        assert_eq!(secret.as_ref(), hex(shared), "{name}");
        assert_eq!(client.complete(&share).expect("a valid share").as_ref(), hex(shared), "{name}");
    }
}

/// Both sides get the same secret, and a new one each time.
pub fn round_trips(provider: &CryptoProvider) {
    for group in provider.groups {
        let name = group.name();
        let (client_len, server_len, secret_len) = lengths(name);
        let mut rng = SeededRng(1);
        let mut secrets = Vec::new();
        for _ in 0..4 {
            let client = group.start(&mut rng).expect("good randomness");
            assert_eq!(client.key_share().len(), client_len, "{name}");
            let (share, secret) = group.respond(&mut rng, client.key_share()).expect("a valid share");
            assert_eq!(share.len(), server_len, "{name}");
            assert_eq!(client.complete(&share).expect("a valid share").as_ref(), secret.as_ref(), "{name}");
            assert_eq!(secret.as_ref().len(), secret_len, "{name}");
            secrets.push(secret.as_ref().to_vec());
        }
        secrets.sort();
        secrets.dedup();
        assert_eq!(secrets.len(), 4, "{name} repeats its secrets");
    }
}

/// A share of any other length is refused.
pub fn wrong_lengths(provider: &CryptoProvider) {
    for group in provider.groups {
        let mut rng = SeededRng(2);
        let client_share = group.start(&mut rng).expect("good randomness").key_share().to_vec();
        let (server_share, _) = group.respond(&mut rng, &client_share).expect("a valid share");
        for share in [client_share, server_share] {
            let longer = [&share[..], &[0]].concat();
            for wrong in [&b""[..], &share[..1], &share[1..], &share[..share.len() - 1], &longer] {
                refused(*group, wrong);
            }
        }
    }
}

/// Points that are compressed, off the curve, at infinity, or not reduced, are refused.
pub fn invalid_points(provider: &CryptoProvider) {
    for (name, field_len) in [(NamedGroup::SECP256R1, 32), (NamedGroup::SECP384R1, 48)] {
        let group = provider.group(name).expect("a full provider");
        let share = group.start(&mut SeededRng(3)).expect("good randomness").key_share().to_vec();
        let (x, y) = share[1..].split_at(field_len);
        let parity = y[field_len - 1] & 1;
        refused(group, &[&[0x02 | parity], x].concat());
        for format in [0x00, 0x01, 0x02, 0x03, 0x05, 0x06, 0x07, 0x08, 0x84, 0xff] {
            refused(group, &[&[format], x, y].concat());
        }
        refused(group, &[0x00]);
        refused(group, &vec![0; share.len()]);
        refused(group, &[vec![0x04], vec![0; 2 * field_len]].concat());
        refused(group, &[vec![0x04], vec![0xff; 2 * field_len]].concat());
        for position in 1..share.len() {
            let mut wrong = share.clone();
            wrong[position] ^= 1 << (position % 8);
            refused(group, &wrong);
        }
    }
}

/// Inputs of x25519 whose result is all zeros whatever the secret (RFC 7748, 7; RFC 9846, 7.4.2) are refused, alone and
/// in the hybrid.
pub fn low_order_points(provider: &CryptoProvider) {
    let points = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        // The top bit is ignored (RFC 7748, 5).
        "0000000000000000000000000000000000000000000000000000000000000080",
    ];
    let x25519 = provider.group(NamedGroup::X25519).expect("a full provider");
    let hybrid = provider.group(NamedGroup::X25519MLKEM768).expect("a full provider");
    let mut rng = SeededRng(4);
    let client_share = hybrid.start(&mut rng).expect("good randomness").key_share().to_vec();
    let (server_share, _) = hybrid.respond(&mut rng, &client_share).expect("a valid share");
    for point in points {
        let point = hex(point);
        refused(x25519, &point);
        for share in [&client_share, &server_share] {
            refused(hybrid, &[&share[..share.len() - 32], &point].concat());
        }
    }
}

/// An ML-KEM encapsulation key with a coefficient of 3,329 or more (FIPS 203, 7.2) is refused.
pub fn invalid_encapsulation_keys(provider: &CryptoProvider) {
    let hybrid = provider.group(NamedGroup::X25519MLKEM768).expect("a full provider");
    let mut rng = SeededRng(5);
    let share = hybrid.start(&mut rng).expect("good randomness").key_share().to_vec();
    // Three bytes hold two coefficients of twelve bits; there are 768 of them before the seed of 32 bytes.
    for position in [0, 3, 384, 1_149] {
        for coefficients in [[0x01, 0x0d, 0x00], [0xff, 0x0f, 0x00], [0x00, 0x10, 0xd0], [0xff, 0xff, 0xff]] {
            let mut wrong = share.clone();
            wrong[position..position + 3].copy_from_slice(&coefficients);
            let error = hybrid.respond(&mut rng, &wrong).err();
            assert_eq!(error, Some(CryptoError::InvalidKeyShare), "{position} {coefficients:x?}");
        }
        // The largest coefficient is 3,328.
        let mut right = share.clone();
        right[position..position + 3].copy_from_slice(&[0x00, 0x0d, 0xd0]);
        assert!(hybrid.respond(&mut rng, &right).is_ok());
    }
}

/// A changed ML-KEM ciphertext gives another secret, and no error that would tell the two apart (FIPS 203, 6.3).
pub fn forged_ciphertexts(provider: &CryptoProvider) {
    let hybrid = provider.group(NamedGroup::X25519MLKEM768).expect("a full provider");
    let mut rng = SeededRng(6);
    for position in [0, 500, 1_087] {
        let client = hybrid.start(&mut rng).expect("good randomness");
        let (mut share, secret) = hybrid.respond(&mut rng, client.key_share()).expect("a valid share");
        share[position] ^= 0x10;
        let other = client.complete(&share).expect("rejection is implicit");
        assert_ne!(other.as_ref()[..32], secret.as_ref()[..32]);
        assert_eq!(other.as_ref()[32..], secret.as_ref()[32..]);
    }
}

/// A source of randomness that fails, early or late, or never gives a usable secret, is an error.
pub fn broken_randomness(provider: &CryptoProvider) {
    for group in provider.groups {
        let name = group.name();
        let share = group.start(&mut SeededRng(7)).expect("good randomness").key_share().to_vec();
        for available in 0..32 {
            let error = group.start(&mut FixedRng(vec![0x5a; available])).err();
            assert_eq!(error, Some(CryptoError::RandomFailed), "{name}");
            let error = group.respond(&mut FixedRng(vec![0x5a; available]), &share).err();
            assert_eq!(error, Some(CryptoError::RandomFailed), "{name}");
        }
        for byte in [0x00, 0xff] {
            // 0 and 2^256 - 1 are no scalars of the NIST curves; for x25519 any 32 bytes are a secret.
            let expected = match name {
                NamedGroup::SECP256R1 | NamedGroup::SECP384R1 => Some(CryptoError::RandomFailed),
                _ => None,
            };
            assert_eq!(group.start(&mut ConstantRng(byte)).err(), expected, "{name}");
            assert_eq!(group.respond(&mut ConstantRng(byte), &share).err(), expected, "{name}");
        }
    }
}

/// Asserts that neither side takes the share, whatever its length.
fn refused(group: &dyn Group, share: &[u8]) {
    let mut rng = SeededRng(8);
    let name = group.name();
    let invalid = Some(CryptoError::InvalidKeyShare);
    assert_eq!(group.respond(&mut rng, share).err(), invalid, "{name} {share:02x?}");
    let client = group.start(&mut rng).expect("good randomness");
    assert_eq!(client.complete(share).err(), invalid, "{name} {share:02x?}");
}

/// Returns the lengths of the client's share, the server's share and the secret.
fn lengths(name: NamedGroup) -> (usize, usize, usize) {
    match name {
        NamedGroup::X25519 => (32, 32, 32),
        NamedGroup::SECP256R1 => (65, 65, 32),
        NamedGroup::SECP384R1 => (97, 97, 48),
        NamedGroup::X25519MLKEM768 => (1_216, 1_120, 64),
        unknown => panic!("{unknown}"),
    }
}
