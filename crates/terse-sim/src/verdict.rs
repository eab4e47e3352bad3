//! What became of a packet at the node where it arrived.

use crate::cause::Cause;

/// The result of a packet's arrival at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet was for this node, which has it.
    Delivered,
    /// The node forwards the packet.
    Forwarded,
    /// The node has no use for the packet.
    Dropped(Cause),
}
