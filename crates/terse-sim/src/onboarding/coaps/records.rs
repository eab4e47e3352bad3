//! The records of a datagram, as an observer who knows the cipher suite tells their parts.

use terse_tls::DTLS_RECORD_HEADER_LEN;

/// Returns how many bytes of a datagram are headers, explicit nonces, tags and content types of records, with tags of this length
/// (RFC 6347, 4.1; RFC 6655, 3; RFC 9147, 4). There are no connection IDs, and no padding.
pub(super) fn overhead(datagram: &[u8], tag: usize) -> usize {
    let (mut rest, mut sum) = (datagram, 0);
    while let Some(first) = rest.first() {
        let (header, len, protection) = match first & 0b1110_0000 == 0b0010_0000 {
            true => unified(*first, rest, tag),
            false => plain(rest, tag),
        };
        sum += header + protection.min(len);
        rest = rest.get(header + len..).unwrap_or_default();
    }
    sum.min(datagram.len())
}

/// Returns the length of the unified header of DTLS 1.3, that of what follows it, and how much of that is the tag and the content
/// type.
fn unified(first: u8, record: &[u8], tag: usize) -> (usize, usize, usize) {
    let number = if first & 0b1000 != 0 { 2 } else { 1 };
    match first & 0b0100 != 0 {
        true => (1 + number + 2, length_at(record, 1 + number), tag + 1),
        false => (1 + number, record.len().saturating_sub(1 + number), tag + 1),
    }
}

/// The same for a record with the header of DTLS 1.2, which is protected from epoch 1 on.
fn plain(record: &[u8], tag: usize) -> (usize, usize, usize) {
    let is_protected = length_at(record, 3) > 0; // the epoch
    (DTLS_RECORD_HEADER_LEN, length_at(record, 11), if is_protected { EXPLICIT_NONCE_LEN + tag } else { 0 })
}

/// Returns the number of two bytes at this place.
fn length_at(record: &[u8], place: usize) -> usize {
    match record.get(place..place + 2) {
        Some([high, low]) => usize::from(u16::from_be_bytes([*high, *low])),
        _ => 0,
    }
}

/// The length of the explicit nonce of AES-CCM in DTLS 1.2 (RFC 6655, 3).
const EXPLICIT_NONCE_LEN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_nonces_and_tags_are_counted() {
        let mut plain = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20];
        plain.extend([0; 20]);
        assert_eq!(overhead(&plain, 8), 13);
        let mut protected = vec![23, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 0, 0, 46];
        protected.extend([0; 46]);
        assert_eq!(overhead(&protected, 8), 13 + 8 + 8);
        let mut unified = vec![0b0010_1110, 0, 7, 0, 57];
        unified.extend([0; 57]);
        assert_eq!(overhead(&unified, 16), 5 + 17);
        let mut short = vec![0b0010_0011, 7];
        short.extend([0; 40]);
        assert_eq!(overhead(&short, 16), 2 + 17);
        assert_eq!(overhead(&[plain, unified.clone(), protected, short].concat(), 8), 13 + 14 + 29 + 2 + 9);
    }

    #[test]
    fn no_datagram_has_more_than_its_length() {
        for len in 0..40 {
            for first in 0..=255 {
                let mut datagram = vec![0xff; len];
                datagram.iter_mut().take(1).for_each(|byte| *byte = first);
                assert!(overhead(&datagram, 16) <= len);
            }
        }
    }
}
