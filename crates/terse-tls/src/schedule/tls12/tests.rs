//! Tests of the key schedule against vectors of NIST and of the TLS working group, and against OpenSSL.

use alloc::vec;

use proptest::prelude::*;

use super::*;
use crate::cache::Parts;
use crate::schedule::trace::unhex;
use crate::test_crypto::{AES_128_CCM_8, AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305, SHA256};

mod openssl;

const RANDOMS: Randoms = Randoms { client: [1; 32], server: [2; 32] };

fn bytes<const N: usize>(hex: &str) -> [u8; N] {
    unhex(hex).try_into().unwrap()
}

/// The vectors were posted to the TLS working group's list in 2009, and NIST's PRF test confirms them.
#[test]
fn prf() {
    for (suite, secret, seed, expected) in [
        (
            &AES_128_GCM,
            "9bbe436ba940f017b17652849a71db35",
            "a0ba9f936cda311827a6f796ffd5198c",
            "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9af0fa022f7077de\
             f17abfd3797c0564bab4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff70187347b66",
        ),
        (
            &AES_256_GCM,
            "b80b733d6ceefcdc71566ea48e5567df",
            "cd665cf6a8447dd6ff8b27555edb7465",
            "7b0c18e9ced410ed1804f2cfa34a336a1c14dffb4900bb5fd7942107e81c83cde9ca0faa60be9fe34f82b1233c9146a0e534cb400fed2\
             700884f9dc236f80edd8bfa961144c9e8d792eca722a7b32fc3d416d473ebc2c5fd4abfdad05d9184259b5bf8cd4d90fa0d31e2dec479\
             e4f1a26066f2eea9a69236a3e52655c9e9aee691c8f3a26854308d5eaa3be85e0990703d73e56f",
        ),
    ] {
        let (secret, seed, expected) = (unhex(secret), unhex(seed), unhex(expected));
        for len in 0..=expected.len() {
            let mut out = vec![0; len];
            super::prf(suite.hash, &secret, b"test label", &[&seed], &mut out);
            assert_eq!(out, expected[..len]);
            let (one, two) = seed.split_at(len.min(seed.len()));
            super::prf(suite.hash, &secret, b"test", &[b" label", one, two], &mut out);
            assert_eq!(out, expected[..len], "the seed in parts");
        }
    }
}

/// NIST CAVP, SP 800-135, TLS 1.2 with SHA-256, COUNT = 0. Keys and secret are derived from different randoms there.
#[test]
fn master_secret_and_key_block_with_sha256() {
    let master = MasterSecret::new(
        &AES_128_GCM,
        &unhex("f8938ecc9edebc5030c0c6a441e213cd24e6f770a50dda07876f8d55da062bcadb386b411fd4fe4313a604fce6c17fbc"),
        &Randoms {
            client: bytes("36c129d01a3200894b9179faac589d9835d58775f9b5ea3587cb8fd0364cae8c"),
            server: bytes("f6c9575ed7ddd73e1f7d16eca115415812a43c2b747daaaae043abfb50053fce"),
        },
    );
    let expected = "202c88c00f84a17a20027079604787461176455539e705be730890602c289a5001e34eeb3a043e5d52a65e66125188bf";
    assert_eq!(master.expose()[..], unhex(expected));
    let randoms = Randoms {
        client: bytes("62e1fd91f23f558a605f28478c58cf72637b89784d959df7e946d3f07bd1b616"),
        server: bytes("ae6c806f8ad4d80784549dff28a4b58fd837681a51d928c3e30ee5ff14f39868"),
    };
    let block = unhex(
        "d06139889fffac1e3a71865f504aa5d0d2a2e89506c6f2279b670c3e1b74f531016a2530c51a3a0f7e1d6590d0f0566b2f387f8d11fd4f73\
         1cdd572d2eae927f6f2f81410b25e6960be68985add6c38445ad9f8c64bf8068",
    );
    for (suite, key_len, iv_len) in [(&AES_128_GCM, 16, 4), (&AES_128_CCM_8, 16, 4), (&CHACHA20_POLY1305, 32, 12)] {
        check_key_block(&MasterSecret::resumed(suite, master.expose()), &randoms, &block, key_len, iv_len);
    }
}

/// NIST CAVP, SP 800-135, TLS 1.2 with SHA-384, COUNT = 0.
#[test]
fn master_secret_and_key_block_with_sha384() {
    let master = MasterSecret::new(
        &AES_256_GCM,
        &unhex("a5e2642633f5b8c81ad3fe0c2fe3a8e5ef806b06121dd10df4bb0fe857bfdcf522558e05d2682c9a80c741a3aab1716f"),
        &Randoms {
            client: bytes("abe4bf5527429ac8eb13574d2709e8012bd1a113c6d3b1d3aa2c3840518778ac"),
            server: bytes("cb6e0b3eb02976b6466dfa9651c2919414f1648fd3a7838d02153e5bd39535b6"),
        },
    );
    let expected = "b4d49bfa87747fe815457bc3da15073d6ac73389e703079a3503c09e14bd559a5b3c7c601c7365f6ea8c68d3d9596827";
    assert_eq!(master.expose()[..], unhex(expected));
    let randoms = Randoms {
        client: bytes("954b5fe1849c2ede177438261f099a2fcd884d001b9fe1de754364b1f6a6dd8e"),
        server: bytes("1b1c8568344a65c30828e7483c0e353e2c68641c9551efae6927d9cd627a107c"),
    };
    let block = "10fd89ef689c7ef033387b8a8f3e5e8e7c11f680f6bdd71fbac3246a73e98d45d03185dde686e6b2369e4503e9dc5a6d2cee3e2b\
                 f2fa3f41d3de57dff3e197c8a9d5f74cc2d27711";
    check_key_block(&master, &randoms, &unhex(block), 32, 4);
}

/// Checks the order of RFC 5246, 6.3: the keys of client and server, then their IVs.
fn check_key_block(master: &MasterSecret, randoms: &Randoms, mut block: &[u8], key_len: usize, iv_len: usize) {
    let mut next = |len| block.split_off(..len).unwrap();
    let [client_key, server_key] = [next(key_len), next(key_len)];
    let [client_iv, server_iv] = [next(iv_len), next(iv_len)];
    let KeyBlock { client, server } = master.key_block(randoms);
    for (keys, key, iv) in [(client, client_key, client_iv), (server, server_key, server_iv)] {
        assert_eq!(keys.write_key(), key);
        assert_eq!(keys.write_iv()[..], [iv, &[0; 12][iv_len..]].concat());
        assert_eq!(keys.suite().id, master.suite.id);
    }
}

/// The values come from OpenSSL's TLS1-PRF.
#[test]
fn extended_master_secret_over_ecdhe_psk() {
    let premaster = psk_premaster(&[1, 2, 3], Some(&SharedSecret::new(vec![0xaa; 4]))).unwrap();
    assert_eq!(premaster.as_ref(), [0, 4, 0xaa, 0xaa, 0xaa, 0xaa, 0, 3, 1, 2, 3], "RFC 5489, 2");
    let master = MasterSecret::extended(&AES_128_GCM, premaster.as_ref(), &Digest::new(&[5; 32]));
    let expected = "514db936ab8fcbb6cedb718690782ded1c9f5d13f01c77e3ce2c744d6674010c29db4c35fee05c9946bcfea7873531f7";
    assert_eq!(master.expose()[..], unhex(expected));
}

#[test]
fn premaster_of_a_plain_psk() {
    assert_eq!(psk_premaster(&[7, 8], None).unwrap().as_ref(), [0, 2, 0, 0, 0, 2, 7, 8], "RFC 4279, 2");
    assert_eq!(psk_premaster(&vec![1; 0xffff], None).unwrap().as_ref().len(), 2 * (2 + 0xffff));
    assert_eq!(psk_premaster(&vec![1; 0x1_0000], None).err(), Some(CryptoError::InvalidLength));
}

/// RFC 5705, 4. The values come from OpenSSL's TLS1-PRF.
#[test]
fn exported_keys() {
    let mut out = [0; 50];
    let sha256 = MasterSecret::resumed(&AES_128_GCM, &[7; 48]);
    sha256.export(&RANDOMS, b"EXPORTER-test", Some(b"context"), &mut out).unwrap();
    let expected =
        "7b7b6e54431c5859e1297b16ace42fc5689e63a4394326e40ea4f024513911873fee651370333b5a5c1aa25debe563ba3d55";
    assert_eq!(out[..], unhex(expected));
    let sha384 = MasterSecret::resumed(&AES_256_GCM, &[7; 48]);
    sha384.export(&RANDOMS, b"EXPORTER-test", Some(b""), &mut out).unwrap();
    let expected =
        "db8651a3a7944d8e5199b6d2f0e71e114c1500afb09afc5705ff1de716b132d41603a5729184d7bdfbf766dc23972b618d1b";
    assert_eq!(out[..], unhex(expected), "an empty context");
    sha384.export(&RANDOMS, b"EXPORTER-test", None, &mut out).unwrap();
    assert_ne!(out[..], unhex(expected), "none is another thing");
}

#[test]
fn an_exporter_refuses_what_it_must_not_give() {
    let master = MasterSecret::resumed(&AES_128_GCM, &[7; 48]);
    let export = |label: &[u8], context: &[u8]| master.export(&RANDOMS, label, Some(context), &mut [0; 32]);
    assert_eq!(export(b"EXPORTER-test", &[0; 0xffff]), Ok(()));
    assert_eq!(export(b"EXPORTER-test", &[0; 0x1_0000]), Err(CryptoError::InvalidLength.into()));
    for label in ["client finished", "server finished", "master secret", "extended master secret", "key expansion"] {
        assert_eq!(export(label.as_bytes(), b""), Err(ApiMisuse::ReservedLabel.into()));
    }
}

/// BiTHaC, IV-B. The values come from OpenSSL's TLS1-PRF.
#[test]
fn tickets_for_cached_client_objects() {
    for (suite, object_type, expected) in [
        (&AES_128_GCM, CachedInformationType::CERT, "b7e3dfadf2a1d604"),
        (&AES_256_GCM, CachedInformationType::CERT_REQ, "a9d1ba276f3fe937"),
    ] {
        let master = MasterSecret::resumed(suite, &[7; 48]);
        assert_eq!(master.ssc_ticket(object_type, Fingerprint([9; 32])).0, bytes(expected));
    }
}

/// docs/caching.md. The values were computed with Python's `hmac`.
#[test]
fn tickets_for_everything_static() {
    let [server, request, client] = [2, 3, 1].map(|n| Fingerprint([n; 32]));
    for (request, client, sha256, sha384) in [
        (Some(request), Some(client), "7097568b99cbd2fd", "624e0b61e2ad9147"),
        (Some(request), None, "64cbcc44dbd91b7d", "7ec8ab5fb0a99c37"),
        (None, None, "1ab58492825c50c7", "6465c8de46624e95"),
    ] {
        let subject = TicketSubject::Static(Parts {
            server_certificate: server,
            certificate_request: request,
            client_certificate: client,
        });
        for (suite, expected) in [(&AES_128_GCM, sha256), (&AES_256_GCM, sha384)] {
            let master = MasterSecret::resumed(suite, &[7; 48]);
            assert_eq!(master.ticket(SHA256, &subject).0, bytes(expected));
            let of_client = master.ticket(SHA256, &TicketSubject::Client(server));
            assert_eq!(of_client, master.ssc_ticket(CachedInformationType::CERT, server));
        }
    }
}

#[test]
fn a_finished_message_is_checked_to_the_last_byte() {
    let master = MasterSecret::resumed(&AES_128_GCM, &[7; 48]);
    let messages = Digest::new(&[5; 32]);
    let (client, server) = (master.client_verify_data(&messages), master.server_verify_data(&messages));
    assert_ne!(client, server);
    assert!(master.verify_client_finished(&client, &messages).is_ok());
    assert!(master.verify_server_finished(&server, &messages).is_ok());
    let bad = Some(PeerMisbehaved::BadFinished.into());
    assert_eq!(master.verify_client_finished(&server, &messages).err(), bad, "reflected");
    assert_eq!(master.verify_server_finished(&client, &messages).err(), bad, "reflected");
    assert_eq!(master.verify_client_finished(&client, &Digest::new(&[6; 32])).err(), bad);
    for byte in 0..client.len() {
        let mut wrong = client;
        wrong[byte] ^= 0x80;
        assert_eq!(master.verify_client_finished(&wrong, &messages).err(), bad);
        let short = master.verify_client_finished(&client[..byte], &messages);
        assert_eq!(short.err(), Some(InvalidMessage::IllegalLength.into()));
    }
    let long = master.verify_client_finished(&[&client[..], &[0]].concat(), &messages);
    assert_eq!(long.err(), Some(InvalidMessage::IllegalLength.into()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// RFC 5705, 4: the output depends on every input, and a shorter output is a prefix of a longer one.
    #[test]
    fn exports_are_consistent(
        secret in any::<[u8; 32]>(),
        label in "[A-Z]{1,20}",
        context in prop::option::of(prop::collection::vec(any::<u8>(), 0..40)),
        len in 0usize..120,
    ) {
        let mut master_secret = [0; 48];
        master_secret[..32].copy_from_slice(&secret);
        let master = MasterSecret::resumed(&AES_256_GCM, &master_secret);
        let export = |randoms: &Randoms, label: &[u8], len| {
            let mut out = vec![0; len];
            master.export(randoms, label, context.as_deref(), &mut out).unwrap();
            out
        };
        let long = export(&RANDOMS, label.as_bytes(), 120);
        prop_assert_eq!(&export(&RANDOMS, label.as_bytes(), len), &long[..len]);
        prop_assert_ne!(&export(&RANDOMS, &label.as_bytes()[1..], 120), &long);
        let swapped = Randoms { client: RANDOMS.server, server: RANDOMS.client };
        prop_assert_ne!(&export(&swapped, label.as_bytes(), 120), &long);
        let mut seed = [RANDOMS.client, RANDOMS.server].concat();
        if let Some(context) = &context {
            seed.extend([0, context.len() as u8]);
            seed.extend(context);
        }
        let mut expected = [0; 120];
        super::prf(AES_256_GCM.hash, &master_secret, label.as_bytes(), &[&seed], &mut expected);
        prop_assert_eq!(&long, &expected);
    }
}
