//! ECDSA signatures in DER: a SEQUENCE of the INTEGERs r and s (RFC 3279, 2.2.3), which are less than 2^256.
//!
//! The library that reads any DER takes 3 kB more of an image.

use alloc::vec::Vec;

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;

/// The bytes of a number.
const LEN: usize = 32;

/// Returns the signature of these two numbers, most significant byte first.
pub(crate) fn to_der(numbers: &[[u8; LEN]; 2]) -> Vec<u8> {
    let mut der = Vec::with_capacity(2 + 2 * (3 + LEN));
    der.extend([SEQUENCE, 0]);
    for number in numbers {
        let zeros = number[..LEN - 1].iter().take_while(|byte| **byte == 0).count();
        let significant = &number[zeros..];
        let sign = usize::from(significant[0] >= 0x80);
        der.extend([INTEGER, (sign + significant.len()) as u8]);
        der.extend(&[0][..sign]);
        der.extend(significant);
    }
    der[1] = der.len() as u8 - 2; // 70 at most
    der
}

/// Returns the numbers of a signature. It is read strictly: each length is the shortest, and nothing follows.
pub(crate) fn from_der(der: &[u8]) -> Option<[[u8; LEN]; 2]> {
    let [SEQUENCE, len, integers @ ..] = der else { return None };
    if usize::from(*len) != integers.len() || integers.len() > 2 * (3 + LEN) {
        return None;
    }
    let (r, rest) = integer(integers)?;
    let (s, rest) = integer(rest)?;
    rest.is_empty().then_some([r, s])
}

/// Reads an INTEGER that is not negative. Also returns what follows.
fn integer(der: &[u8]) -> Option<([u8; LEN], &[u8])> {
    let [INTEGER, len, rest @ ..] = der else { return None };
    let (contents, rest) = rest.split_at_checked((*len).into())?;
    let significant = match contents {
        [0, significant @ ..] if significant.first().is_some_and(|first| *first >= 0x80) => significant,
        [] | [0x80..=0xff, ..] | [0, _, ..] => return None,
        _ => contents,
    };
    let mut number = [0; LEN];
    number.get_mut(LEN.checked_sub(significant.len())?..)?.copy_from_slice(significant);
    Some((number, rest))
}

#[cfg(test)]
mod tests;
