//! Takes DER apart and puts it together again (X.690), for certificates that no library makes.

use rcgen::SigningKey;

/// Encodes an element.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = (content.len() as u32).to_be_bytes();
    let header = match content.len() {
        0..=0x7f => vec![tag, len[3]],
        0x80..=0xff => vec![tag, 0x81, len[3]],
        0x100..=0xffff => vec![tag, 0x82, len[2], len[3]],
        _ => vec![tag, 0x83, len[1], len[2], len[3]],
    };
    [&header, content].concat()
}

/// Returns where the content of an element begins, and its length.
fn header(der: &[u8]) -> (usize, usize) {
    match der[1] {
        len @ 0..=0x7f => (2, len.into()),
        form => {
            let len = usize::from(form & 0x7f);
            (2 + len, der[2..2 + len].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
        }
    }
}

/// Returns the elements in the content of one.
pub(crate) fn children(der: &[u8]) -> Vec<Vec<u8>> {
    let (start, len) = header(der);
    let mut rest = &der[start..start + len];
    let mut children = Vec::new();
    while !rest.is_empty() {
        let (start, len) = header(rest);
        let (child, after) = rest.split_at(start + len);
        children.push(child.to_vec());
        rest = after;
    }
    children
}

/// Encodes a SEQUENCE.
pub(crate) fn sequence(children: &[Vec<u8>]) -> Vec<u8> {
    element(0x30, &children.concat())
}

/// Returns the certificate with other fields in its TBSCertificate, signed again by `key`.
pub(crate) fn resigned(certificate: &[u8], key: &impl SigningKey, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let mut parts = children(certificate);
    let mut fields = children(&parts[0]);
    change(&mut fields);
    parts[0] = sequence(&fields);
    signed(parts, key)
}

/// Returns the certificate of these three parts, with the last one replaced by a signature over the first.
pub(crate) fn signed(mut parts: Vec<Vec<u8>>, key: &impl SigningKey) -> Vec<u8> {
    let signature = key.sign(&parts[0]).unwrap();
    parts[2] = element(0x03, &[&[0], &signature[..]].concat());
    sequence(&parts)
}
