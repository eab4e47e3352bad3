//! Causes for which a packet or frame did not arrive.

/// Why a packet or a frame did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// It was lost on the air or on the wire, with all copies and fragments of it.
    Lost,
    /// The sender's link layer gave up after its last retry.
    RetriesExhausted,
    /// It was longer than the link's MTU.
    TooLong,
    /// The link does not carry this kind of packet (6LoWPAN: IPv6 only).
    NotCarried,
    /// The sender's queue was full.
    QueueFull,
    /// A fragment was missing when the time for reassembly was over.
    ReassemblyTimedOut,
    /// A younger packet took its place in the receiver's buffer of fragments.
    ReassemblyFull,
    /// A link layer's check found the packet to be damaged or incomplete.
    Incomplete,
    /// It was no packet, segment or datagram.
    Malformed,
    /// The checksum of the transport layer was wrong.
    Checksum,
    /// It was for another address.
    Misdirected,
    /// A node had no parent, or the root no route.
    NoRoute,
    /// A node that forwards had met a Rank twice that was not greater than its own (RFC 6550, 11.2.2.2): there is a loop.
    RankError,
    /// The node with it lost the network, or was switched off.
    NodeLost,
    /// A node that forwards had no hop left for it (RFC 8200, 3).
    HopLimitExceeded,
    /// No socket was there for it (a TCP segment is answered with RST).
    NobodyListens,
    /// The socket's queue was full.
    SocketFull,
}
