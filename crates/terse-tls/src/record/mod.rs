//! The record layer: record headers, and the protection of records.

use crate::crypto::NONCE_LEN;

pub(crate) mod datagram;
pub(crate) mod datagram12;
pub(crate) mod datagram13;
pub(crate) mod replay;
pub(crate) mod stream;
mod tls12;
mod tls13;

/// Returns the nonce of a record: its number, XORed into the end of the IV (RFC 9846, 5.3; RFC 7905, 2).
fn nonce(iv: &[u8; NONCE_LEN], number: u64) -> [u8; NONCE_LEN] {
    // The nonce is written in the words in which it is read: processors stall when a load spans smaller stores.
    let [a, b, c, d, e, f, g, h, low @ ..] = *iv;
    let high = u64::from_be_bytes([a, b, c, d, e, f, g, h]) ^ (number >> 32);
    let low = u32::from_be_bytes(low) ^ number as u32;
    let mut nonce = [0; NONCE_LEN];
    nonce[..8].copy_from_slice(&high.to_be_bytes());
    nonce[8..].copy_from_slice(&low.to_be_bytes());
    nonce
}
