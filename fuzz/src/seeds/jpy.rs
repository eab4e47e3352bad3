//! Seeds of messages of a join proxy: whole ones, in every form of a length, and such that have more elements or are not allowed.

use super::Seed;

/// Returns messages behind the limit of their header.
pub(super) fn all() -> Vec<Seed> {
    let mut seeds: Vec<Seed> = Vec::new();
    for header in [0, 1, 23, 24, 32, 64, 65] {
        for content in [0, 5, 300] {
            let message = [&[64, 0x82][..], &bytes(header), &bytes(content)].concat();
            seeds.push((format!("jpy-{header}-{content}"), message));
        }
    }
    let others: [(&str, &[u8]); 11] = [
        ("limit", b"\x08\x82\x49123456789\x41b"),
        ("long-lengths", b"\x40\x9a\x00\x00\x00\x02\x59\x00\x01a\x5b\x00\x00\x00\x00\x00\x00\x00\x01b"),
        ("indefinite", b"\x40\x9f\x41a\x41b\xff"),
        ("indefinite-header", b"\x40\x82\x5f\x41a\xff\x41b"),
        ("three", b"\x40\x83\x41a\x41b\x41c"),
        ("many", b"\x40\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x41a\x41b\x01"),
        ("nested", b"\x40\x84\x41a\x41b\x82\x9f\xbf\x01\xc1\x02\xff\xff\x5f\x41c\xff\x03"),
        ("deep", b"\x40\x83\x41a\x41b\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x01"),
        ("trailing", b"\x40\x82\x41a\x41b\x00"),
        ("text", b"\x40\x82\x61a\x41b"),
        ("endless", b"\x40\x82\x41a\x5b\xff\xff\xff\xff\xff\xff\xff\xff"),
    ];
    seeds.extend(others.map(|(name, message)| (format!("jpy-{name}"), message.to_vec())));
    seeds
}

/// Returns a byte string of `len` bytes, in the shortest form (RFC 8949, 3).
fn bytes(len: u16) -> Vec<u8> {
    let head = match len {
        0..24 => vec![0x40 | len as u8],
        24..0x100 => vec![0x58, len as u8],
        _ => [&[0x59][..], &len.to_be_bytes()].concat(),
    };
    [head, vec![7; len.into()]].concat()
}
