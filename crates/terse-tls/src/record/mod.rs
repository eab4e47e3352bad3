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
    // In words as it will be read: processors wait where what is read was written in other pieces.
    let [a, b, c, d, e, f, g, h, low @ ..] = *iv;
    let high = u64::from_be_bytes([a, b, c, d, e, f, g, h]) ^ (number >> 32);
    let low = u32::from_be_bytes(low) ^ number as u32;
    let mut nonce = [0; NONCE_LEN];
    nonce[..8].copy_from_slice(&high.to_be_bytes());
    nonce[8..].copy_from_slice(&low.to_be_bytes());
    nonce
}
