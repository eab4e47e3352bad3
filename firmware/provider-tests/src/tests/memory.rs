//! The functions of `terse-device` that compilers call to copy, fill and compare memory, which all images have: every
//! alignment, and lengths up to a few words.

use core::cmp::Ordering;
use core::hint::black_box;

use terse_board::println;

const LEN: usize = 64;
const MAX: usize = 24;
const PLACES: core::ops::Range<usize> = 8..24;

pub(crate) fn run() {
    let tests: [(&str, fn()); 3] = [
        ("bytes_are_copied_whether_they_overlap_or_not", bytes_are_copied_whether_they_overlap_or_not),
        ("bytes_are_filled", bytes_are_filled),
        ("bytes_are_compared", bytes_are_compared),
    ];
    for (name, test) in tests {
        println!("  {}", name);
        test();
    }
}

/// Different bytes. They are made one by one, since a compiler would make a call of a loop that copies.
fn bytes(of: impl Fn(usize) -> u8) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = black_box(of(place));
    }
    bytes
}

/// Whether two arrays are the same, byte by byte.
fn are_same(a: &[u8; LEN], b: &[u8; LEN]) -> bool {
    a.iter().zip(b).all(|(a, b)| black_box(*a) == black_box(*b))
}

fn different(place: usize) -> u8 {
    place as u8 ^ 0x80
}

fn bytes_are_copied_whether_they_overlap_or_not() {
    for (from, to, len) in cases() {
        let expected =
            bytes(
                |place| if (to..to + len).contains(&place) { different(place - to + from) } else { different(place) },
            );
        let mut moved = bytes(different);
        moved.copy_within(from..black_box(from + len), to);
        assert!(are_same(&moved, &expected), "{from} to {to}, {len} bytes");
        let (source, mut copied) = (bytes(different), bytes(different));
        copied[to..to + black_box(len)].copy_from_slice(&source[from..from + len]);
        assert!(are_same(&copied, &expected), "{from} to {to}, {len} bytes");
    }
}

fn bytes_are_filled() {
    for (place, _, len) in cases() {
        for value in [0, 0xa5] {
            let mut filled = bytes(different);
            filled[place..place + black_box(len)].fill(black_box(value));
            let expected = bytes(|at| if (place..place + len).contains(&at) { value } else { different(at) });
            assert!(are_same(&filled, &expected), "{len} bytes at {place}");
        }
    }
}

fn bytes_are_compared() {
    let a = bytes(different);
    for (place, at, len) in cases() {
        for change in [0, 1, 0xff] {
            let b = bytes(|other| if other == at { different(other).wrapping_add(change) } else { different(other) });
            let range = place..place + black_box(len);
            let expected = if range.contains(&at) {
                different(at).cmp(&different(at).wrapping_add(change))
            } else {
                Ordering::Equal
            };
            assert_eq!(a[range.clone()].cmp(&b[range]), expected, "{len} bytes at {place}, changed at {at}");
        }
    }
}

/// Two places, and a length.
fn cases() -> impl Iterator<Item = (usize, usize, usize)> {
    PLACES.flat_map(|from| PLACES.flat_map(move |to| (0..=MAX).map(move |len| (from, to, len))))
}
