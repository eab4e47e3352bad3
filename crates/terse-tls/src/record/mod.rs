//! Protecting and deprotecting records.

use crate::crypto::NONCE_LEN;

pub(crate) mod datagram;
pub(crate) mod datagram12;
pub(crate) mod datagram13;
pub(crate) mod replay;
pub(crate) mod stream;
mod tls12;
mod tls13;

/// The nonce of a record: its number, XORed into the end of the IV (RFC 9846, 5.3; RFC 7905, 2).
fn nonce(iv: &[u8; NONCE_LEN], number: u64) -> [u8; NONCE_LEN] {
    let mut nonce = *iv;
    for (byte, number) in nonce[NONCE_LEN - 8..].iter_mut().zip(number.to_be_bytes()) {
        *byte ^= number;
    }
    nonce
}
