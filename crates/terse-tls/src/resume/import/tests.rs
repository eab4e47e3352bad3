//! RFC 9258 has no numbers. These were computed outside of Rust, with Python's `hmac` and `hashlib`, from the RFC's
//! formulas; the first of each pair of hashes is that of the external key, the second that of the target.

use alloc::string::String;
use alloc::vec;

use super::super::test_data::*;
use super::*;
use crate::test_crypto::SHA256;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| alloc::format!("{byte:02x}")).collect()
}

#[test]
fn imports_as_computed_elsewhere() {
    let epsk: [u8; 32] = core::array::from_fn(|n| n as u8);
    let expected = [
        (SHA256, PskHash::Sha256, "2a773dbf09e5f82903eed03251d1876fd117fe3c2d93c2eb9c1ba612ce8351e1"),
        (
            SHA256,
            PskHash::Sha384,
            "843776ff886d67234eb76f2566be2c883d9b012add20cc2408f2eb439c6ff729b775d171153d159891d73b43c5640441",
        ),
        (SHA384, PskHash::Sha256, "d53c687f6a7397f1be28433818e88c9bc1fe469f5317c0d3e122dc943392cd31"),
        (
            SHA384,
            PskHash::Sha384,
            "4b445ab8756eca1f9e11643eee444ce5923d0b78b754118cd44e84a4410690fc5a706f9079755413253879a3b0f928a0",
        ),
    ];
    for (hash, target, ipskx) in expected {
        let identity = ImportedIdentity::tls13(b"sensor-17", b"plant 4", target).to_vec().unwrap();
        let mut imported = vec![0; target.output_len()];
        import(&epsk, &identity, hash, &mut imported).unwrap();
        assert_eq!(hex(&imported), ipskx, "{target:?}");
    }
}

#[test]
fn the_identity_is_written_as_in_the_rfc() {
    let identity = ImportedIdentity::tls13(b"sensor-17", b"plant 4", PskHash::Sha384);
    let bytes = identity.to_vec().unwrap();
    assert_eq!(hex(&bytes), "000973656e736f722d31370007706c616e74203403040002");
    assert_eq!(ImportedIdentity::parse_all(&bytes), Ok(identity));
    for len in 0..bytes.len() {
        assert!(ImportedIdentity::parse_all(&bytes[..len]).is_err());
    }
    assert_eq!(ImportedIdentity::parse_all(&[0, 0, 0, 0, 3, 4, 0, 1]), Err(InvalidMessage::IllegalLength));
}

#[test]
fn only_tls_1_3_and_known_kdfs_are_targets() {
    let target = |target_protocol, target_kdf| {
        ImportedIdentity { external_identity: b"x", context: b"", target_protocol, target_kdf }.target_of_tls13()
    };
    assert_eq!(target(0x0304, 1), Some(PskHash::Sha256));
    assert_eq!(target(0x0304, 2), Some(PskHash::Sha384));
    for (protocol, kdf) in [(0x0303, 1), (0xfefc, 1), (0x0304, 0), (0x0304, 3)] {
        assert_eq!(target(protocol, kdf), None);
    }
}
