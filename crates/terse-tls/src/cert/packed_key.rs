//! The packed format of public keys in caches. A well-known kind of key is one byte, followed by the bytes that differ
//! between keys. The elliptic-curve points of certificates are compressed (SEC 1, 2.3.3). Any other
//! SubjectPublicKeyInfo is kept unchanged.
//!
//! What must always hold: the same key is read back, and each key has exactly one packed form. A raw public key, which
//! the application sees, is read back byte for byte.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::error::InvalidMessage;
use crate::wire::{Reader, Writer};

/// A kind of key, whose SubjectPublicKeyInfo has the same head and tail for all keys.
struct Kind {
    /// The number of the kind in files, which must not be changed.
    number: u8,
    head: &'static [u8],
    /// How many bytes between head and tail differ between keys.
    len: usize,
    tail: &'static [u8],
}

/// Writes `spki`, which is from a certificate, or a raw public key.
pub(super) fn encode(spki: &[u8], is_raw: bool, writer: &mut Writer<'_>) {
    let raw = if is_raw { RAW } else { 0 };
    let found = KINDS.iter().find_map(|kind| Some((kind, kind.own_bytes(spki)?)));
    match found.map(|(kind, own)| (kind, own, kind.compressed().filter(|_| !is_raw))) {
        Some((kind, point, Some(even))) => {
            let (x, y) = point.split_at(kind.len / 2);
            writer.u8(even + y.last().map_or(0, |byte| byte & 1));
            writer.bytes(x);
        }
        Some((kind, own, None)) => {
            writer.u8(kind.number | raw);
            writer.bytes(own);
        }
        None => {
            writer.u8(VERBATIM | raw);
            writer.vec16(spki);
        }
    }
}

/// Reads a SubjectPublicKeyInfo, and whether it is a raw public key.
pub(super) fn parse(reader: &mut Reader<'_>) -> Result<(Box<[u8]>, bool), InvalidMessage> {
    let number = reader.u8()?;
    let (number, is_raw) = (number & !RAW, number & RAW != 0);
    if number == VERBATIM {
        let spki = reader.vec16()?;
        let is_known = KINDS.iter().any(|kind| kind.own_bytes(spki).is_some());
        return if is_known { Err(InvalidMessage::IllegalValue) } else { Ok((spki.into(), is_raw)) };
    }
    let kind = KINDS.iter().find(|kind| kind.number == number && (is_raw || kind.compressed().is_none()));
    let kind = kind.ok_or(InvalidMessage::IllegalValue)?;
    let mut spki = Vec::with_capacity(kind.head.len() + kind.len + kind.tail.len());
    for part in [kind.head, reader.take(kind.len)?, kind.tail] {
        spki.extend_from_slice(part);
    }
    Ok((spki.into(), is_raw))
}

impl Kind {
    const fn new(number: u8, head: &'static [u8], len: usize, tail: &'static [u8]) -> Self {
        Self { number, head, len, tail }
    }

    /// Returns the bytes between head and tail, if the key is of this kind.
    fn own_bytes<'a>(&self, spki: &'a [u8]) -> Option<&'a [u8]> {
        let own = spki.strip_prefix(self.head)?.strip_suffix(self.tail)?;
        (own.len() == self.len).then_some(own)
    }

    /// Returns, for a kind with uncompressed points, the number of the kind with compressed points whose y is even. The
    /// next number is for an odd y.
    const fn compressed(&self) -> Option<u8> {
        match self.number {
            P256 => Some(P256_EVEN),
            P384 => Some(P384_EVEN),
            _ => None,
        }
    }
}

/// The bit beside the number of the kind that marks a raw public key.
const RAW: u8 = 0x80;
const VERBATIM: u8 = 0;
const P256_EVEN: u8 = 1;
const P256_ODD: u8 = 2;
const P256: u8 = 3;
const P384_EVEN: u8 = 4;
const P384_ODD: u8 = 5;
const P384: u8 = 6;
const ED25519: u8 = 7;
const RSA_2048: u8 = 8;
const RSA_3072: u8 = 9;
const RSA_4096: u8 = 10;

/// The well-known kinds: id-ecPublicKey with secp256r1 or secp384r1 (RFC 5480, 2.1.1), id-Ed25519 (RFC 8410, 3),
/// rsaEncryption with the exponent 65537 (RFC 8017, A.1.1).
const KINDS: [Kind; 10] = [
    Kind::new(P256_EVEN, b"\x30\x39\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x22\x00\x02", 32, &[]),
    Kind::new(P256_ODD, b"\x30\x39\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x22\x00\x03", 32, &[]),
    Kind::new(P256, b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00\x04", 64, &[]),
    Kind::new(P384_EVEN, b"\x30\x46\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22\x03\x32\x00\x02", 48, &[]),
    Kind::new(P384_ODD, b"\x30\x46\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22\x03\x32\x00\x03", 48, &[]),
    Kind::new(P384, b"\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22\x03\x62\x00\x04", 96, &[]),
    Kind::new(ED25519, b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 32, &[]),
    Kind::new(RSA_2048, b"\x30\x82\x01\x22\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x03\x82\x01\x0f\x00\x30\x82\x01\x0a\x02\x82\x01\x01\x00", 256, F4),
    Kind::new(RSA_3072, b"\x30\x82\x01\xa2\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x03\x82\x01\x8f\x00\x30\x82\x01\x8a\x02\x82\x01\x81\x00", 384, F4),
    Kind::new(RSA_4096, b"\x30\x82\x02\x22\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x03\x82\x02\x0f\x00\x30\x82\x02\x0a\x02\x82\x02\x01\x00", 512, F4),
];

const F4: &[u8] = b"\x02\x03\x01\x00\x01";

#[cfg(test)]
mod tests;
