//! Records of an honest side are turned back into operations.

use terse_tls::ContentType;

use super::record::CID;
use super::{ACK, FRAGMENT_HEADER_LEN, Forge, Protection, REPEATED, Record, UNIFIED, WITH_CID, ack};
use crate::input::{Operation, Shape};

/// Returns the operations with which `forge` makes this record: one for each message in it that is not fragmented.
///
/// # Panics
///
/// Panics if the record is not one of the transparent provider.
pub fn operations(record: &Record<'_>, protection: &Protection, forge: &Forge) -> Vec<Operation> {
    if let (Some(kind), 0) = (record.content_type, record.epoch) {
        return in_messages(Shape::Record as u8, Shape::Message as u8, kind, record.body, forge);
    }
    let (kind, content) = protection.open(record).expect("of the transparent provider");
    if record.content_type.is_none() && record.epoch != forge.epoch() % 4 {
        let first = record.epoch as u8 | if record.cid.is_some() { CID } else { 0 };
        return vec![Operation { shape: UNIFIED, kind: kind.0, body: [&[first, 0], content].concat() }];
    }
    let with_cid = if record.cid.is_some() { WITH_CID } else { 0 };
    in_messages(Shape::Sealed as u8 | with_cid, Shape::SealedMessage as u8 | with_cid, kind, content, forge)
}

fn in_messages(record: u8, message: u8, kind: ContentType, content: &[u8], forge: &Forge) -> Vec<Operation> {
    let whole = |body| vec![Operation { shape: record, kind: kind.0, body }];
    if kind == ACK {
        return whole(ranges(content).expect("a well-formed ACK"));
    }
    if kind != ContentType::HANDSHAKE {
        return whole(content.to_vec());
    }
    let (mut operations, mut rest, mut next_seq) = (Vec::new(), content, forge.next_seq());
    while let Some((header, body)) = rest.split_first_chunk::<FRAGMENT_HEADER_LEN>() {
        let (seq, len) = (u16::from_be_bytes([header[4], header[5]]), u16::from_be_bytes([header[10], header[11]]));
        let is_whole = header[1..4] == header[9..12] && (seq == next_seq || seq.wrapping_add(1) == next_seq);
        let Some((body, next)) = body.split_at_checked(len.into()).filter(|_| is_whole) else {
            return whole(content.to_vec());
        };
        let again = if seq == next_seq { 0 } else { REPEATED };
        operations.push(Operation { shape: message | again, kind: header[0], body: body.to_vec() });
        next_seq = seq.wrapping_add(1);
        rest = next;
    }
    if rest.is_empty() { operations } else { whole(content.to_vec()) }
}

/// Returns the body from which [`ack`] makes this ACK.
fn ranges(content: &[u8]) -> Option<Vec<u8>> {
    let (numbers, rest) = content.get(2..)?.as_chunks::<16>();
    let mut ranges: Vec<[u8; 3]> = Vec::new();
    for number in numbers {
        let [epoch, number] = [number[7], number[15]];
        match ranges.last_mut() {
            Some([last, first, more])
                if *last == epoch && u16::from(*first) + u16::from(*more) + 1 == u16::from(number) =>
            {
                *more += 1
            }
            _ => ranges.push([epoch, number, 0]),
        }
    }
    let body = ranges.concat();
    (rest.is_empty() && ack(&body) == content).then_some(body)
}
