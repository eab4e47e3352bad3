//! Constrained BRSKI over CoAPS: CoAP in records of DTLS, in datagrams of UDP.

mod pledge;
mod records;
mod registrar;

pub(super) use pledge::{CoapsLink, CoapsOptions};
pub(super) use registrar::{CoapsRegistrar, Port};

use terse_brski::coap::BlockSize;

/// The port of CoAP over DTLS (RFC 7252, 12.7).
pub(super) const PORT: u16 = 5_684;

/// Returns the size of blocks for messages of this length: 512 bytes at most, as both sides have it by default.
fn block_size(max_message: usize) -> BlockSize {
    BlockSize::for_datagram(max_message).min(BlockSize::at_most(512))
}

/// The longest datagram of either side: constrained BRSKI assumes a path MTU of 1,024 bytes, as RFC 7252, 4.6, does.
pub(super) const LONGEST_DATAGRAM: usize = 1_024;
