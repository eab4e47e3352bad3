//! The keys of TLS 1.2 are derived a second time: the PRF (RFC 5246, 5), the key block (6.3), and the additional data
//! of a record (6.2.3.3).

use terse_tls::ContentType;
use terse_tls::crypto::{NONCE_LEN, Tls12Nonce, Tls12Suite};

use crate::pair::Side;

/// Computes the PRF: `P_hash` of a label and a seed.
fn prf(suite: &Tls12Suite, secret: &[u8], label: &[u8], seed: &[&[u8]], len: usize) -> Vec<u8> {
    let seed = [&[label], seed].concat().concat();
    let (mut a, mut out) = (seed.clone(), Vec::new());
    while out.len() < len {
        a = suite.hash.hmac(secret, &[&a]).as_ref().to_vec();
        out.extend_from_slice(suite.hash.hmac(secret, &[&a, &seed]).as_ref());
    }
    out.truncate(len);
    out
}

/// Returns the key that `sender` writes with, and its nonce: the implicit part, then zeros.
pub(super) fn write_keys(
    suite: &Tls12Suite,
    master_secret: &[u8],
    client_random: &[u8],
    server_random: &[u8],
    sender: Side,
) -> (Vec<u8>, [u8; NONCE_LEN]) {
    let key_len = suite.aead.key_len();
    let iv_len = if suite.nonce == Tls12Nonce::Explicit { 4 } else { NONCE_LEN };
    let block = prf(suite, master_secret, b"key expansion", &[server_random, client_random], 2 * (key_len + iv_len));
    let (keys, ivs) = block.split_at(2 * key_len);
    let mut iv = [0; NONCE_LEN];
    iv[..iv_len].copy_from_slice(&ivs[sender as usize * iv_len..][..iv_len]);
    (keys[sender as usize * key_len..][..key_len].to_vec(), iv)
}

pub(super) fn additional_data(sequence_number: u64, content_type: ContentType, len: usize) -> Vec<u8> {
    [&sequence_number.to_be_bytes()[..], &[content_type.0, 3, 3], &(len as u16).to_be_bytes()].concat()
}
