//! Explicit Congestion Notification (RFC 3168) at a node whose frame buffers fill.
//!
//! The paper on TLS over 6TiSCH proposes it (section 4.3): a router marks packets when its buffer reaches 75 % of its capacity, and
//! the receiver's TCP echoes the mark to the sender. DTLS has no use of it: its datagrams are not ECN-capable.

/// When packets are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnOptions {
    /// From this share of the frame buffers in use on, in percent.
    pub mark_from_percent: u8,
}

impl EcnOptions {
    /// The threshold of the paper.
    pub const PAPER: Self = Self { mark_from_percent: 75 };

    /// Whether a node marks packets that has `used` of its `frames` buffers in use.
    pub const fn marks(self, used: u8, frames: u8) -> bool {
        frames > 0 && used as u32 * 100 >= frames as u32 * self.mark_from_percent as u32
    }

    /// Returns the traffic class of a packet that is forwarded by such a node. A packet that is not ECN-capable keeps its own.
    pub const fn traffic_class(self, traffic_class: u8, used: u8, frames: u8) -> u8 {
        if self.marks(used, frames) && traffic_class & ECN != 0 { traffic_class | ECN } else { traffic_class }
    }
}

/// The bits of the ECN field (RFC 3168, 5). All of them set: Congestion Experienced; none: not ECN-capable.
const ECN: u8 = 0b11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_marked_from_three_quarters_on() {
        let ecn = EcnOptions::PAPER;
        let marked: Vec<u8> = (0..=20).filter(|used| ecn.marks(*used, 20)).collect();
        assert_eq!(marked, [15, 16, 17, 18, 19, 20]);
        assert!(!ecn.marks(7, 10) && ecn.marks(8, 10), "7.5 is not reached by 7");
        assert!(!ecn.marks(0, 0) && ecn.marks(255, 255));
    }

    #[test]
    fn the_mark_is_congestion_experienced() {
        let ecn = EcnOptions::PAPER;
        // ECT(0), ECT(1), CE, and a packet of an endpoint that does not know ECN; with a DSCP.
        let marked = [0x2E << 2 | 2, 1, 3, 0x2E << 2].map(|class| ecn.traffic_class(class, 15, 20));
        assert_eq!(marked, [0x2E << 2 | 3, 3, 3, 0x2E << 2]);
        assert_eq!(ecn.traffic_class(2, 14, 20), 2);
    }
}
