//! Records over datagrams are parsed and built with the keys of [`crate::provider::transparent`].

use terse_tls::{CipherSuite, ContentType, HandshakeType};

use super::{FRAGMENT_HEADER_LEN, WRONG_LENGTH};
use crate::provider::mask;

/// The first three bits of a unified header (RFC 9147, 4).
const FIXED: u8 = 0b0010_0000;
const FIXED_MASK: u8 = 0b1110_0000;
/// The bit for a connection ID.
pub(super) const CID: u8 = 0b0001_0000;
/// The bit for a number of 16 bits.
const LONG_NUMBER: u8 = 0b0000_1000;
/// The bit for a length.
pub(super) const LENGTH: u8 = 0b0000_0100;
/// The low bits of the epoch.
const EPOCH: u8 = 0b0000_0011;

/// The length of any other header without a connection ID.
const HEADER_LEN: usize = 13;

const TLS12_CID: ContentType = ContentType(25);

/// The length of the ciphertext that makes the mask (RFC 9147, 4.2.3).
pub(super) const SAMPLE_LEN: usize = 16;

/// A parsed record.
#[derive(Debug)]
pub struct Record<'a> {
    /// The content type in the header; `None` in a unified header.
    pub content_type: Option<ContentType>,
    /// The epoch; in a unified header, its two low bits.
    pub epoch: u64,
    /// The number; in a unified header, its low bits, without the mask.
    pub number: u64,
    /// The number of bits in `number`.
    pub number_bits: u32,
    /// The connection ID, if there is one.
    pub cid: Option<&'a [u8]>,
    /// The bytes after the header.
    pub body: &'a [u8],
}

impl<'a> Record<'a> {
    /// Splits a datagram into its first record and the rest, or returns `None` if the record is incomplete. Connection
    /// IDs have `cid_len` bytes.
    fn split(datagram: &'a [u8], cid_len: usize) -> Option<(Self, &'a [u8])> {
        let (first, rest) = datagram.split_first()?;
        if first & FIXED_MASK == FIXED {
            return Self::split_unified(*first, rest, cid_len);
        }
        let content_type = ContentType(*first);
        let has_cid = content_type == TLS12_CID;
        let (header, rest) = datagram.split_at_checked(HEADER_LEN + if has_cid { cid_len } else { 0 })?;
        let cid = header.get(HEADER_LEN - 2..header.len() - 2).filter(|_| has_cid);
        let number = u64::from_be_bytes(*header[3..].first_chunk()?);
        let (body, rest) = rest.split_at_checked(u16::from_be_bytes(*header.last_chunk()?).into())?;
        let (epoch, number) = (number >> 48, number & ((1 << 48) - 1));
        Some((Self { content_type: Some(content_type), epoch, number, number_bits: 48, cid, body }, rest))
    }

    fn split_unified(first: u8, rest: &'a [u8], cid_len: usize) -> Option<(Self, &'a [u8])> {
        let has_cid = first & CID != 0;
        let (cid, rest) = rest.split_at_checked(if has_cid { cid_len } else { 0 })?;
        let (number, rest) = rest.split_at_checked(if first & LONG_NUMBER != 0 { 2 } else { 1 })?;
        let (body, rest) = match rest.split_first_chunk() {
            Some((len, rest)) if first & LENGTH != 0 => rest.split_at_checked(u16::from_be_bytes(*len).into())?,
            _ if first & LENGTH != 0 => return None,
            _ => (rest, &[][..]),
        };
        let mask = body.first_chunk().map_or([0; 2], mask);
        let number_bits = 8 * number.len() as u32;
        let number = number.iter().zip(mask).fold(0, |number, (byte, mask)| number << 8 | u64::from(byte ^ mask));
        let epoch = (first & EPOCH).into();
        let cid = Some(cid).filter(|_| has_cid);
        Some((Self { content_type: None, epoch, number, number_bits, cid, body }, rest))
    }
}

/// Returns the records of a datagram, and the bytes after them that are no whole record. Connection IDs have `cid_len`
/// bytes.
pub fn records(mut datagram: &[u8], cid_len: usize) -> (Vec<Record<'_>>, &[u8]) {
    let mut records = Vec::new();
    while let Some((record, rest)) = Record::split(datagram, cid_len) {
        records.push(record);
        datagram = rest;
    }
    (records, datagram)
}

/// Returns the number that has these low bits and is closest to `expected`.
pub fn closest(expected: u64, low: u64, bits: u32) -> u64 {
    let size = 1 << bits;
    let number = (expected & !(size - 1)) | low;
    [number.checked_sub(size), Some(number), Some(number + size)]
        .into_iter()
        .flatten()
        .min_by_key(|number| number.abs_diff(expected))
        .unwrap_or(number)
}

/// Returns the epoch that has these low bits: one of the two before `newest`, that one, or the next one.
pub const fn epoch_near(newest: u64, bits: u64) -> u64 {
    (newest + 1).saturating_sub((newest + 1).wrapping_sub(bits) % 4)
}

/// Returns a record of epoch 0 or of DTLS 1.2.
pub(super) fn plain(content_type: ContentType, (epoch, number): (u64, u64), content: &[u8]) -> Vec<u8> {
    let len = (content.len() as u16).to_be_bytes();
    [&[content_type.0, 254, 253], &(epoch << 48 | number).to_be_bytes()[..], &len, content].concat()
}

/// Returns a record of DTLS 1.2 with a connection ID.
pub(super) fn with_cid(number: (u64, u64), cid: &[u8], body: &[u8]) -> Vec<u8> {
    let mut record = plain(TLS12_CID, number, body);
    record.splice(HEADER_LEN - 2..HEADER_LEN - 2, cid.iter().copied());
    record
}

/// Returns a record with a unified header that has the lower bits of `first`; with [`WRONG_LENGTH`] its length is
/// wrong.
pub(super) fn unified(first: u8, cid: &[u8], number: u64, body: &[u8]) -> Vec<u8> {
    let mask = body.first_chunk::<SAMPLE_LEN>().map_or([0; 2], mask);
    let number_len = if first & LONG_NUMBER != 0 { 2 } else { 1 };
    let number = (number as u16).to_be_bytes();
    let mut record = vec![FIXED | first & !FIXED_MASK];
    if first & CID != 0 {
        record.extend(cid);
    }
    record.extend(number[2 - number_len..].iter().zip(mask).map(|(byte, mask)| byte ^ mask));
    if first & LENGTH != 0 {
        record.extend((body.len() as u16 + u16::from(first & WRONG_LENGTH != 0)).to_be_bytes());
    }
    record.extend(body);
    record
}

/// Returns the suite and connection ID in a ServerHello, if `datagram` begins with one.
pub fn server_hello(datagram: &[u8]) -> Option<(CipherSuite, Vec<u8>)> {
    let (record, _) = Record::split(datagram, 0)?;
    let is_plain = record.content_type == Some(ContentType::HANDSHAKE) && record.epoch == 0;
    let (header, body) = record.body.split_at_checked(FRAGMENT_HEADER_LEN).filter(|_| is_plain)?;
    let session_id_len = usize::from(*body.get(34).filter(|_| header[0] == HandshakeType::SERVER_HELLO.0)?);
    let [a, b, _, high, low, extensions @ ..] = body.get(35 + session_id_len..)? else { return None };
    let mut rest = extensions.get(..u16::from_be_bytes([*high, *low]).into())?;
    while let Some(([t0, t1, l0, l1], next)) = rest.split_first_chunk() {
        let (extension, next) = next.split_at_checked(u16::from_be_bytes([*l0, *l1]).into())?;
        if [*t0, *t1] == CONNECTION_ID {
            return Some((CipherSuite(u16::from_be_bytes([*a, *b])), extension.get(1..)?.to_vec()));
        }
        rest = next;
    }
    Some((CipherSuite(u16::from_be_bytes([*a, *b])), Vec::new()))
}

/// The extension `connection_id` (RFC 9146, 3).
const CONNECTION_ID: [u8; 2] = [0, 54];
