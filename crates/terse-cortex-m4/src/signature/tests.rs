//! What is read and written here is what the `p256` crate reads and writes.

use alloc::vec::Vec;

use p256::ecdsa::Signature;

use super::*;

/// A number with this many bytes from the `first` on.
fn number(len: usize, first: u8) -> [u8; LEN] {
    let mut number = [0; LEN];
    number[LEN - len..].fill(0x11);
    number[LEN - len] = first;
    number
}

fn numbers() -> impl Iterator<Item = [u8; LEN]> {
    (1..=LEN).flat_map(|len| [1, 0x7f, 0x80, 0xfe].map(|first| number(len, first)))
}

#[test]
fn signatures_are_written_as_p256_writes_them() {
    for r in numbers() {
        for s in numbers() {
            let der = to_der(&[r, s]);
            assert_eq!(der, Signature::from_scalars(r, s).unwrap().to_der().as_bytes());
            assert_eq!(from_der(&der), Some([r, s]));
        }
    }
}

/// Every byte of a signature with every value, and every length: what is read here and refused by `p256` is a zero, or not
/// below the order, which verification refuses.
#[test]
fn signatures_are_read_as_p256_reads_them() {
    let check = |der: &[u8]| {
        let theirs = Signature::from_der(der).ok().map(|signature| {
            let (r, s) = signature.split_bytes();
            [r.into(), s.into()]
        });
        let ours = from_der(der).filter(|[r, s]| Signature::from_scalars(*r, *s).is_ok());
        assert_eq!(ours, theirs, "{der:02x?}");
    };
    for (r, s) in [(32, 32), (32, 1), (1, 31), (2, 2)] {
        let der = to_der(&[number(r, 0x80), number(s, 0x7f)]);
        for at in 0..der.len() {
            check(&der[..at]);
            check(&[&der[..], &der[..at]].concat());
            for byte in 0..=u8::MAX {
                let mut changed: Vec<u8> = der.clone();
                changed[at] = byte;
                check(&changed);
                changed.insert(at, byte);
                check(&changed);
            }
        }
    }
    check(&[SEQUENCE, 0x81, 6, INTEGER, 1, 1, INTEGER, 1, 1]);
    check(&[SEQUENCE, 6, INTEGER, 1, 0, INTEGER, 1, 1]);
}
