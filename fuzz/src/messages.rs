//! The fuzz target `messages`: every parser of the wire. What parses is encoded again to the same bytes.
//!
//! The first byte chooses the parser.

use terse_tls::fuzzing::{MESSAGES, message};

/// Runs one input.
pub fn run(data: &[u8]) {
    if let Some((which, bytes)) = data.split_first() {
        message(usize::from(*which) % MESSAGES, bytes);
    }
}
