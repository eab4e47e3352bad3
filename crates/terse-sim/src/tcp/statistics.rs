//! The counters of a connection.

/// The counters of a connection. Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments that arrived, of any kind.
    pub segments_received: u64,
    /// Bytes sent for the first time.
    pub bytes_sent: u64,
    /// Bytes sent again.
    pub bytes_retransmitted: u64,
    /// Bytes that arrived in order, each counted once.
    pub bytes_received: u64,
    /// Segments sent again, SYN and FIN included.
    pub retransmissions: u64,
    /// Expiries of a retransmission timer.
    pub timeouts: u64,
    /// How often duplicate acknowledgements or SACK found a loss.
    pub fast_retransmits: u64,
    /// Probes of the end of a flight (RFC 8985, 7).
    pub loss_probes: u64,
    /// Probes of a closed window (RFC 9293, 3.8.6.1).
    pub window_probes: u64,
    /// Segments sent that only acknowledge.
    pub pure_acks_sent: u64,
    /// Pure acknowledgements that say nothing new: answers to segments out of order, old or unacceptable.
    pub duplicate_acks_sent: u64,
    /// Duplicate acknowledgements that arrived (RFC 5681, 2).
    pub duplicate_acks_received: u64,
    /// Acknowledgements with the echo of a congestion mark that made the window smaller.
    pub ecn_reductions: u64,
    /// Segments with data that arrived out of order.
    pub out_of_order: u64,
    /// Segments that were not acceptable (RFC 9293, 3.10.7.4).
    pub unacceptable: u64,
}
