//! Datagrams are parsed into records by their headers (RFC 6347, 4.1; RFC 9146, 4; RFC 9147, 4), and into the fragments
//! of handshake messages that are in the clear (RFC 6347, 4.2.2).

use terse_tls::{ContentType, HandshakeType};

use super::{TLS12_CID, UNIFIED_HEADER};

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The outer type.
    pub kind: ContentType,
    /// The epoch; with a unified header, its two low bits.
    pub epoch: u16,
    /// The sequence number in the epoch, which a unified header does not show.
    pub number: Option<u64>,
    /// The connection ID, if there is one.
    pub connection_id: &'a [u8],
    /// The bytes after the header.
    pub fragment: &'a [u8],
    /// The length of the record with its header.
    pub len: usize,
}

/// A handshake message, or a fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The type of the message.
    pub kind: HandshakeType,
    /// The message's sequence number.
    pub message_seq: u16,
    /// The length of the whole message.
    pub message_len: usize,
    /// The offset of the fragment.
    pub offset: usize,
    /// The length of the fragment.
    pub len: usize,
}

impl Fragment {
    /// Whether the fragment is the whole message.
    pub const fn is_whole(&self) -> bool {
        self.len == self.message_len
    }
}

/// Returns the records of a datagram, whose receiver has a connection ID of `id_len` bytes. `Err` holds bytes that are
/// no record.
pub fn records(mut datagram: &[u8], id_len: usize) -> Result<Vec<Record<'_>>, &[u8]> {
    let mut records = Vec::new();
    while !datagram.is_empty() {
        let (record, rest) = split(datagram, id_len).ok_or(datagram)?;
        records.push(record);
        datagram = rest;
    }
    Ok(records)
}

/// Returns the first record, and the bytes after it.
fn split(bytes: &[u8], id_len: usize) -> Option<(Record<'_>, &[u8])> {
    if bytes.first()? & 0b1110_0000 == UNIFIED_HEADER.0 {
        return split_unified(bytes, id_len);
    }
    let (header, rest) = bytes.split_first_chunk::<11>()?;
    let kind = ContentType(header[0]);
    let (connection_id, rest) = rest.split_at_checked(if kind == TLS12_CID { id_len } else { 0 })?;
    let (len, rest) = rest.split_first_chunk::<2>()?;
    let (fragment, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
    let epoch = u16::from_be_bytes([header[3], header[4]]);
    let number = Some(header[5..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
    Some((Record { kind, epoch, number, connection_id, fragment, len: bytes.len() - rest.len() }, rest))
}

/// Returns the first record and the bytes after it, if it has a unified header (RFC 9147, 4). Without a length, it
/// takes the whole datagram.
fn split_unified(bytes: &[u8], id_len: usize) -> Option<(Record<'_>, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let has = |bit: u8| first & bit != 0;
    let (connection_id, rest) = rest.split_at_checked(if has(0b1_0000) { id_len } else { 0 })?;
    let (_, rest) = rest.split_at_checked(if has(0b1000) { 2 } else { 1 })?;
    let (fragment, rest) = if has(0b100) {
        let (len, rest) = rest.split_first_chunk::<2>()?;
        rest.split_at_checked(u16::from_be_bytes(*len).into())?
    } else {
        (rest, &[][..])
    };
    let (kind, epoch, len) = (UNIFIED_HEADER, (first & 0b11).into(), bytes.len() - rest.len());
    Some((Record { kind, epoch, number: None, connection_id, fragment, len }, rest))
}

impl Record<'_> {
    /// Whether the record is protected.
    pub fn is_protected(&self) -> bool {
        self.kind == UNIFIED_HEADER || self.epoch > 0
    }

    /// Returns the handshake fragments in the record, if it is not protected.
    pub fn fragments(&self) -> Vec<Fragment> {
        let mut fragments = Vec::new();
        let is_clear = self.kind == ContentType::HANDSHAKE && !self.is_protected();
        let mut rest = if is_clear { self.fragment } else { &[] };
        while let Some((header, body)) = rest.split_first_chunk::<12>() {
            let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
            let len = number(&header[9..]);
            fragments.push(Fragment {
                kind: HandshakeType(header[0]),
                message_seq: u16::from_be_bytes([header[4], header[5]]),
                message_len: number(&header[1..4]),
                offset: number(&header[6..9]),
                len,
            });
            rest = body.get(len..).unwrap_or_default();
        }
        fragments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_fragments() {
        let hello = [&[1, 0, 0, 9, 0, 1, 0, 0, 4, 0, 0, 2][..], &[7, 7]].concat();
        let clear = [&[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 3, 0, 14][..], &hello].concat();
        let protected = [&[25, 254, 253, 0, 1, 0, 0, 0, 0, 0, 7][..], b"id", &[0, 3, 9, 9, 9]].concat();
        let datagram = [&clear[..], &protected].concat();
        let records = records(&datagram, 2).unwrap();
        assert_eq!(records.len(), 2);
        assert_eq!((records[0].kind, records[0].epoch, records[0].len), (ContentType::HANDSHAKE, 0, 27));
        let expected =
            Fragment { kind: HandshakeType::CLIENT_HELLO, message_seq: 1, message_len: 9, offset: 4, len: 2 };
        assert_eq!(records[0].fragments(), [expected]);
        assert!(!expected.is_whole());
        let connection_id = &b"id"[..];
        let number = Some(7);
        let expected = Record { kind: TLS12_CID, epoch: 1, number, connection_id, fragment: &[9, 9, 9], len: 18 };
        assert_eq!(records[1], expected);
        assert_eq!(records[1].fragments(), []);
        for cut in 1..protected.len() {
            assert_eq!(super::records(&protected[..cut], 2), Err(&protected[..cut]));
        }
    }

    #[test]
    fn unified_headers() {
        let full = [&[0b0011_1110][..], b"id", &[7, 7, 0, 3, 9, 9, 9]].concat();
        let short = [0b0010_0011, 7, 8, 8];
        let datagram = [&full[..], &short].concat();
        let records = records(&datagram, 2).unwrap();
        let record = |epoch, connection_id, fragment, len| Record {
            kind: UNIFIED_HEADER,
            epoch,
            number: None,
            connection_id,
            fragment,
            len,
        };
        assert_eq!(records, [record(2, &b"id"[..], &[9, 9, 9][..], 10), record(3, &[], &[8, 8], 4)]);
        assert!(records.iter().all(|record| record.is_protected() && record.fragments().is_empty()));
        for cut in 1..full.len() {
            assert_eq!(super::records(&full[..cut], 2), Err(&full[..cut]));
        }
        assert_eq!(super::records(&short[..1], 2), Err(&short[..1]));
    }
}
