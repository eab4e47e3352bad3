//! The operations of a provider: key exchange, signatures, hashes and AEADs.

use std::sync::Arc;

use terse_net::OsRng;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
use terse_sim::computing::{Operation, SignatureKey};
use terse_tls::crypto::{AeadKey, CryptoProvider, Group, Hash, NONCE_LEN, SigningKey};
use terse_tls::{CipherSuite, NamedGroup};
use webpki::EndEntityCert;

use super::Timed;

/// Returns the operations of `provider`.
pub(super) fn operations(provider: &'static CryptoProvider) -> Result<Vec<Timed>, String> {
    let mut all = Vec::new();
    for group in provider.groups {
        all.extend(of_group(*group)?);
    }
    for (chain, kind) in CHAINS {
        all.extend(of_signatures(provider, chain, kind)?);
    }
    for (operation, suite, block_len) in HASHES {
        all.push(of_hash(operation, of_suite(provider, suite)?.hash, block_len));
    }
    for (operation, suite) in AEADS {
        let aead = of_suite(provider, suite)?.aead;
        let key = aead.key(&vec![7; aead.key_len()]).map_err(text)?;
        all.push(of_aead(operation, key, aead.tag_len()));
    }
    Ok(all)
}

const CHAINS: [(&str, SignatureKey); 6] = [
    ("p256x2", SignatureKey::EcdsaP256),
    ("p384x2", SignatureKey::EcdsaP384),
    ("ed25519x2", SignatureKey::Ed25519),
    ("rsa2048x2", SignatureKey::Rsa(2048)),
    ("rsa3072x2", SignatureKey::Rsa(3072)),
    ("rsa4096x2", SignatureKey::Rsa(4096)),
];

/// The hashes, each with a suite that has it, and with the length of its blocks.
const HASHES: [(Operation, CipherSuite, usize); 2] = [
    (Operation::Sha256, CipherSuite::TLS_AES_128_GCM_SHA256, 64),
    (Operation::Sha384, CipherSuite::TLS_AES_256_GCM_SHA384, 128),
];

/// The AEADs, each with a suite that has it.
const AEADS: [(Operation, CipherSuite); 4] = [
    (Operation::Aes128Gcm, CipherSuite::TLS_AES_128_GCM_SHA256),
    (Operation::Aes256Gcm, CipherSuite::TLS_AES_256_GCM_SHA384),
    (Operation::ChaCha20Poly1305, CipherSuite::TLS_CHACHA20_POLY1305_SHA256),
    (Operation::Aes128Ccm, CipherSuite::TLS_AES_128_CCM_SHA256),
];

/// What a CertificateVerify signs: 64 spaces, a context and a hash (RFC 9846, 4.5.2).
const SIGNED_LEN: usize = 64 + 34 + 32;

/// A piece of a hash: 256 blocks of SHA-256.
const HASHED_LEN: usize = 0x4000;

/// A record of an ordinary length. Longer ones take less time for a byte.
const RECORD_LEN: usize = 1_000;

fn of_suite(provider: &CryptoProvider, id: CipherSuite) -> Result<&'static terse_tls::crypto::Tls13Suite, String> {
    provider.tls13_suite(id).ok_or_else(|| format!("{} has no {id}", provider.name))
}

fn of_group(group: &'static dyn Group) -> Result<Vec<Timed>, String> {
    let (generate, respond, agree) = match group.name() {
        NamedGroup::X25519MLKEM768 => {
            (Operation::MlKem768Generate, Some(Operation::MlKem768Encapsulate), Operation::MlKem768Decapsulate)
        }
        name => (Operation::Generate(name), None, Operation::Agree(name)),
    };
    let client = group.start(&mut OsRng).map_err(text)?;
    let client_share = client.key_share().to_vec();
    let (server_share, _) = group.respond(&mut OsRng, &client_share).map_err(text)?;
    // A key exchange is complete once, and the server's share is for one client with ML-KEM: a forged ciphertext takes as
    // long there.
    let start = move || group.start(&mut OsRng).map_err(text);
    let mut all = vec![
        Timed::new(generate, move || start().map(drop)),
        Timed::prepared(agree, start, move |client| client.complete(&server_share).map(drop).map_err(text)),
    ];
    if let Some(respond) = respond {
        let call = move || group.respond(&mut OsRng, &client_share).map(drop).map_err(text);
        all.push(Timed::new(respond, call));
    }
    Ok(all)
}

fn of_signatures(provider: &'static CryptoProvider, chain: &str, kind: SignatureKey) -> Result<[Timed; 2], String> {
    let validity = Validity::days(0, 1);
    let chain = chain.parse().map_err(text)?;
    let authority = Authority::new(&AuthorityOptions::new(chain, validity)).map_err(text)?;
    let issued = authority.issue(&LeafOptions::new("sensor.example", validity)).map_err(text)?;
    let key: Arc<dyn SigningKey> = provider.load_key(issued.key()).map_err(text)?;
    let scheme = *key.schemes().first().ok_or("a key without schemes")?;
    let message = vec![b' '; SIGNED_LEN];
    let signature = key.sign(scheme, &message, &mut OsRng).map_err(text)?.done().ok_or("no signature")?;
    let leaf: &'static _ = Box::leak(Box::new(issued.leaf().clone())); // for the rest of the process
    let leaf = EndEntityCert::try_from(leaf).map_err(text)?;
    let known = provider.signatures.by_scheme.iter().find(|(known, _)| *known == scheme);
    let algorithm =
        known.and_then(|(_, algorithms)| algorithms.first()).copied().ok_or("a scheme that is not verified")?;
    let signed = message.clone();
    Ok([
        Timed::new(Operation::Sign(kind), move || key.sign(scheme, &signed, &mut OsRng).map(drop).map_err(text)),
        Timed::new(Operation::Verify(kind), move || {
            leaf.verify_signature(algorithm, &message, &signature).map_err(text)
        }),
    ])
}

fn of_hash(operation: Operation, hash: &'static dyn Hash, block_len: usize) -> Timed {
    // The length and a byte of padding end the last block.
    let message = vec![7; HASHED_LEN - 1 - block_len / 8];
    let call = move || {
        std::hint::black_box(hash.hash(&[&message]));
        Ok(())
    };
    Timed::new(operation, call).on_bytes(HASHED_LEN)
}

fn of_aead(operation: Operation, key: Box<dyn AeadKey>, tag_len: usize) -> Timed {
    let (mut data, mut tag) = (vec![7; RECORD_LEN], vec![0; tag_len]);
    let call = move || key.seal(&[1; NONCE_LEN], &[0x17, 3, 3, 3, 0xf8], &mut data, &mut tag).map_err(text);
    Timed::new(operation, call).on_bytes(RECORD_LEN)
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}
