//! The result of decoding what a link layer received.

use crate::cause::Cause;
use crate::packet::Packet;

/// The result of decoding a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// A packet is complete; the number is the one it was sent under.
    Packet(Packet, u64),
    /// The frame is a fragment, and others are missing.
    Partial,
    /// The link layer already had this frame.
    Repeated,
    /// The packet of this frame is lost.
    Dropped(Cause),
}
