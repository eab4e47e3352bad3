//! The fuzz target `reassembler` takes fragments of handshake messages, in any order, with any gaps and contradictions,
//! and compares the reassembler with a model that keeps every byte by itself.
//!
//! ```text
//! max_message(1) first_seq(2) { what(1) seq(1) kind(1) length(1) offset(1) fragment_length(1) }*
//! ```

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some(([max_message, first_seq @ ..], script)) = data.split_first_chunk::<3>() else { return };
    let max_message = 1 + 4 * usize::from(*max_message);
    terse_tls::fuzzing::reassemble(max_message, u16::from_be_bytes(*first_seq), script);
}
