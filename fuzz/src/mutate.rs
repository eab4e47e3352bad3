//! An [`Input`] is mutated without breaking its operations apart: libFuzzer alone would shift the lengths.

use terse_testkit::rng::SeededRng;

use crate::input::{Input, Operation};

/// Mutates the first `size` bytes of `data`, which has room for `max_size`, and returns the new size. `bytes` mutates
/// bytes without a structure, and has the same arguments except `seed`.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    bytes: impl Fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut rng = SeededRng::new(seed.into());
    let mut input = Input::parse(&data[..size]);
    if rng.below(16) == 0 || input.operations.is_empty() {
        return bytes(data, size, max_size);
    }
    let operations = &mut input.operations;
    let (at, other) = (rng.below(operations.len()), rng.below(operations.len()));
    match rng.below(16) {
        0 => drop(operations.remove(at)),
        1 => operations.insert(other, operations[at].clone()),
        2 => operations.swap(at, other),
        3 => operations[at].shape ^= 1 << rng.below(8),
        4 => operations[at].kind = rng.next_u64() as u8,
        5 => operations.insert(at, random_operation(&mut rng)),
        6 => operations.truncate(at + 1),
        7 => operations[at].kind = operations[other].kind,
        8 => match rng.below(3) {
            0 => input.mode = rng.next_u64() as u8,
            byte => input.tweaks[byte - 1] ^= 1 << rng.below(8),
        },
        9 | 10 => resize(&mut operations[at].body, &mut rng),
        _ => {
            let body = &mut operations[at].body;
            let len = body.len();
            let max_len = len + max_size.saturating_sub(size).min(64);
            body.resize(max_len.max(1), 0);
            let max_len = body.len();
            let len = bytes(body, len, max_len);
            body.truncate(len);
        }
    }
    let mutated = input.to_bytes();
    let len = mutated.len().min(max_size);
    data[..len].copy_from_slice(&mutated[..len]);
    len
}

fn random_operation(rng: &mut SeededRng) -> Operation {
    let body = (0..rng.below(8)).map(|_| rng.next_u64() as u8).collect();
    Operation { shape: rng.below(7) as u8, kind: rng.below(26) as u8, body }
}

/// Removes, repeats or inserts a few bytes, and adjusts a length field of one or two bytes before them: most of what
/// TLS sends is vectors in vectors.
fn resize(body: &mut Vec<u8>, rng: &mut SeededRng) {
    if body.len() < 2 {
        return body.push(rng.next_u64() as u8);
    }
    let at = 1 + rng.below(body.len() - 1);
    let len = (1 + rng.below(8)).min(body.len() - at);
    let grows = rng.below(2) == 0;
    if grows {
        let part = body[at..at + len].to_vec();
        body.splice(at..at, part);
    } else {
        body.drain(at..at + len);
    }
    // Any field that could have covered the place is adjusted: often the wrong one, often enough the right ones.
    for field in (0..at.saturating_sub(1)).rev() {
        let value = usize::from(u16::from_be_bytes([body[field], body[field + 1]]));
        let before = if grows { body.len() - len } else { body.len() + len };
        let covers = field + 2 + value == before || (rng.below(4) == 0 && value > 0 && value < 64);
        if covers && value + field + 2 >= at && value <= before {
            let value = if grows { value + len } else { value.saturating_sub(len) } as u16;
            body[field..field + 2].copy_from_slice(&value.to_be_bytes());
        }
    }
}
