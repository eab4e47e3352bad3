//! Client and server on a virtual clock, with a network between them that loses, doubles, reorders, delays and truncates.

use alloc::vec::Vec;

use terse_testkit::rng::SeededRng;

mod client_rules;
mod hostile;
mod messages;
mod network;
mod server_rules;
mod world;

/// Returns a payload that differs from block to block.
fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 16 * 31 + at) as u8).collect()
}

fn rng(seed: u64) -> SeededRng {
    SeededRng::new(seed)
}
