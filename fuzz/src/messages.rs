//! The fuzz target `messages` runs every parser of the wire. A message that parses is encoded to the same bytes again.
//!
//! The first byte chooses the parser.

use terse_tls::fuzzing::{MESSAGES, message};

/// Runs one input.
pub fn run(data: &[u8]) {
    if let Some((which, bytes)) = data.split_first() {
        message(usize::from(*which) % MESSAGES, bytes);
    }
}
