//! Two providers interoperate; each direction needs a call.

use alloc::vec;

use terse_tls::crypto::CryptoProvider;

use super::keys::{KEYS, RSA_PKCS8, verify};
use super::{SeededRng, private_key};

/// A share from `client` and the answer from `server` give the same secret.
pub fn groups(client: &CryptoProvider, server: &CryptoProvider) {
    let mut rng = SeededRng(20);
    for group in client.groups {
        let name = group.name();
        let theirs = server.group(name).expect("both offer everything");
        for _ in 0..8 {
            let exchange = group.start(&mut rng).expect("good randomness");
            let (share, secret) = theirs.respond(&mut rng, exchange.key_share()).expect("a valid share");
            assert_eq!(exchange.complete(&share).expect("a valid share").as_ref(), secret.as_ref(), "{name}");
        }
    }
}

/// `receiver` opens what `sender` seals, and their hashes agree.
pub fn records(sender: &CryptoProvider, receiver: &CryptoProvider) {
    let tls13 = sender.tls13_suites.iter().map(|ours| {
        let theirs = receiver.tls13_suite(ours.id).expect("both offer everything");
        (ours.id, (ours.aead, ours.hash), (theirs.aead, theirs.hash))
    });
    let tls12 = sender.tls12_suites.iter().map(|ours| {
        let theirs = receiver.tls12_suite(ours.id).expect("both offer everything");
        assert_eq!((ours.key_exchange, ours.nonce), (theirs.key_exchange, theirs.nonce), "{}", ours.id);
        (ours.id, (ours.aead, ours.hash), (theirs.aead, theirs.hash))
    });
    for (id, (seal_aead, hash), (open_aead, their_hash)) in tls13.chain(tls12) {
        let key_bytes = vec![0x42; seal_aead.key_len()];
        let [seal, open] = [seal_aead, open_aead].map(|aead| aead.key(&key_bytes).expect("16 or 32 bytes"));
        for len in [0, 1, 16, 300, 16_385] {
            let mut record = vec![0x17; len];
            let mut tag = vec![0; seal_aead.tag_len()];
            seal.seal(&[3; 12], b"header", &mut record, &mut tag).expect("a tag of the right length");
            record.extend_from_slice(&tag);
            assert_eq!(open.open(&[3; 12], b"header", &mut record), Ok(len), "{id}");
            assert_eq!(record[..len], vec![0x17; len]);
            assert_eq!(hash.hash(&[&record]), their_hash.hash(&[&record]));
        }
    }
}

/// `verifier` verifies what `signer` signs. RSA is included if the signer signs with it.
pub fn signatures(signer: &CryptoProvider, verifier: &CryptoProvider) {
    let mut rng = SeededRng(21);
    for pem in KEYS.iter().map(|(pem, _)| *pem).chain([RSA_PKCS8]) {
        let Ok(key) = signer.load_key(&private_key(pem)) else {
            assert_eq!(pem, RSA_PKCS8, "only RSA may be off");
            continue;
        };
        for scheme in key.schemes() {
            for message in [&b""[..], b"message", &[0x20; 5_000]] {
                let signature = key.sign(*scheme, message, &mut rng).expect("good randomness").done().expect("at once");
                verify(verifier, &*key, *scheme, message, &signature).expect("what was signed");
                verify(verifier, &*key, *scheme, b"other", &signature).expect_err("what was not signed");
            }
        }
    }
}
