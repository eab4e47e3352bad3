//! Payloads, which are erased from memory.

use alloc::vec::Vec;

use zeroize::Zeroizing;

/// A payload, or a whole message. It is erased when it is dropped.
pub type Payload = Zeroizing<Vec<u8>>;

/// Appends to a payload. What it held is not left behind in memory when it grows.
pub(super) fn append(payload: &mut Payload, more: &[u8]) {
    let len = payload.len() + more.len();
    if len > payload.capacity() {
        let mut grown = Payload::new(Vec::with_capacity(len.max(2 * payload.capacity())));
        grown.extend_from_slice(payload);
        *payload = grown;
    }
    payload.extend_from_slice(more);
}
