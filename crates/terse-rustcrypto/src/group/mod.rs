//! Key exchange groups (RFC 9846, 4.3.7).
//!
//! Every share that a peer sends is checked before it is used: its length, that it is a point of the group, and that
//! the result is not the same for every secret (RFC 9846, 4.3.8.2 and 7.4.2).

use terse_tls::crypto::Group;

mod hybrid;
mod nist;
mod x25519;

pub use hybrid::X25519MLKEM768;
pub use nist::{SECP256R1, SECP384R1};
pub use x25519::X25519;

/// All groups, preferred first. The hybrid comes last, as its shares cost 2,304 bytes.
pub static ALL: &[&dyn Group] = &[X25519, SECP256R1, SECP384R1, X25519MLKEM768];
