//! Tests of the importer. RFC 9258 has no test vectors, so the expected values were computed from its formulas with
//! Python's `hmac` and `hashlib`, for a key of either hash and a target of either.

use alloc::string::String;
use alloc::vec;

use super::super::test_data::*;
use super::*;
use crate::test_crypto::SHA256;

const BOTH: [PskHash; 2] = [PskHash::Sha256, PskHash::Sha384];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| alloc::format!("{byte:02x}")).collect()
}

#[test]
fn imports_as_computed_elsewhere() {
    let epsk: [u8; 32] = core::array::from_fn(|n| n as u8);
    let expected = [
        (
            Transport::Stream,
            [
                "2a773dbf09e5f82903eed03251d1876fd117fe3c2d93c2eb9c1ba612ce8351e1",
                "843776ff886d67234eb76f2566be2c883d9b012add20cc2408f2eb439c6ff729b775d171153d159891d73b43c5640441",
                "d53c687f6a7397f1be28433818e88c9bc1fe469f5317c0d3e122dc943392cd31",
                "4b445ab8756eca1f9e11643eee444ce5923d0b78b754118cd44e84a4410690fc5a706f9079755413253879a3b0f928a0",
            ],
        ),
        (
            Transport::Datagram,
            [
                "74f07cc7480a2a8d345dac63c030ba2f9fe1d7f391b30a0bdb906ba905623762",
                "24164771e858cc7d258482a5969104a2ab57eed0ab2ca877c71718ad37109328af0020a1a154931e4568e3469a2e3885",
                "ffca6cd6d007e4c5d713770fa6f9929f8603198d82d2aa44ba97b8db27238421",
                "ebfe5b88dee5c82fad285ef1f152208ea16a2acad3ffb73eef6a3c98d734352c0c9920ddd3d893a2d0dabe0f0dd4b602",
            ],
        ),
    ];
    let of_hashes = [SHA256, SHA384].into_iter().flat_map(|hash| BOTH.map(|target| (hash, target)));
    for (transport, ipskx) in expected {
        for ((hash, target), ipskx) in of_hashes.clone().zip(ipskx) {
            let identity = ImportedIdentity::new(b"sensor-17", b"plant 4", transport, target).to_vec().unwrap();
            let mut imported = vec![0; target.output_len()];
            import(&epsk, &identity, hash, transport, &mut imported).unwrap();
            assert_eq!(hex(&imported), ipskx, "{transport:?} {target:?}");
        }
    }
}

#[test]
fn the_identity_is_written_as_in_the_rfc() {
    let identity = ImportedIdentity::new(b"sensor-17", b"plant 4", Transport::Stream, PskHash::Sha384);
    let bytes = identity.to_vec().unwrap();
    assert_eq!(hex(&bytes), "000973656e736f722d31370007706c616e74203403040002");
    assert_eq!(ImportedIdentity::parse_all(&bytes), Ok(identity));
    let over_datagrams = ImportedIdentity::new(b"x", b"", Transport::Datagram, PskHash::Sha256).to_vec().unwrap();
    assert_eq!(hex(&over_datagrams), "0001780000fefc0001");
    for len in 0..bytes.len() {
        assert!(ImportedIdentity::parse_all(&bytes[..len]).is_err());
    }
    assert_eq!(ImportedIdentity::parse_all(&[0, 0, 0, 0, 3, 4, 0, 1]), Err(InvalidMessage::IllegalLength));
}

#[test]
fn only_version_1_3_and_known_kdfs_are_targets() {
    for (transport, version, others) in
        [(Transport::Stream, 0x0304, [0x0303, 0xfefc]), (Transport::Datagram, 0xfefc, [0xfefd, 0x0304])]
    {
        let target = |target_protocol, target_kdf| {
            ImportedIdentity { external_identity: b"x", context: b"", target_protocol, target_kdf }.target(transport)
        };
        assert_eq!([target(version, 1), target(version, 2)], BOTH.map(Some));
        for (other, kdf) in [(others[0], 1), (others[1], 1), (version, 0), (version, 3)] {
            assert_eq!(target(other, kdf), None);
        }
    }
}
