//! The configuration holds every constant of a connection; its two profiles are [`Config::linux`] and
//! [`Config::constrained`].

use core::time::Duration;

use super::segment::FIXED_HEADER;

/// The behaviour of a connection, and its timeouts.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The MSS option: the most payload that is accepted in a segment, in bytes, options not counted. It also limits
    /// the segments that are sent (RFC 9293, 3.7.1). [`for_mtu`](Self::for_mtu) sets it.
    pub maximum_segment_size: u16,
    /// The MSS of a peer that sends no MSS option, in bytes: 536 with IPv4, 1220 with IPv6 (RFC 9293, 3.7.1).
    pub default_segment_size: u16,
    /// When small segments wait for others (RFC 1122, 4.2.3.4).
    pub nagle: Nagle,
    /// When acknowledgements are sent (RFC 1122, 4.2.3.2; RFC 5681, 4.2).
    pub acknowledgements: Acknowledgements,
    /// Whether selective acknowledgements that arrive are acted upon (RFC 6675).
    ///
    /// As in Linux, SACK is agreed upon for both directions at once: the option is sent if this or `sack_receiver` is on,
    /// by the passive side only if the active one sent it.
    pub sack_sender: bool,
    /// Whether selective acknowledgements are sent (RFC 2018, 4), once agreed upon.
    pub sack_receiver: bool,
    /// Whether timestamps are offered and accepted: 12 bytes in each segment (RFC 7323, 3). They count milliseconds.
    pub timestamps: bool,
    /// The shift that is offered for the window field, in bits, 14 at most; `None` sends no such option (RFC 7323, 2).
    pub window_scale: Option<u8>,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: EcnMode,
    /// Whether there is a congestion window (RFC 5681, RFC 6582).
    pub congestion_control: bool,
    /// The initial congestion window, in full segments (RFC 6928: 10; RFC 5681: 2 to 4).
    pub initial_window: u32,
    /// The initial congestion window after the SYN was retransmitted more often than is forgiven, in full segments
    /// (RFC 5681, 3.1: 1).
    pub initial_window_after_lost_syn: u32,
    /// How many retransmissions of the SYN leave the initial window as it is (RFC 5681, 3.1: 0; RFC 6928, 2: 1).
    pub lost_syns_forgiven: u32,
    /// The most that an acknowledgement adds to the window in slow start, in full segments (L in RFC 3465; RFC 5681:
    /// 1).
    pub slow_start_limit: u32,
    /// Whether the window returns to the initial one after a timeout's worth of idleness (RFC 5681, 4.1).
    pub idle_restart: bool,
    /// How many duplicate acknowledgements mean a loss (RFC 5681, 3.2: 3); `None` leaves all losses to the timer.
    pub duplicate_ack_threshold: Option<u32>,
    /// Whether the first two duplicate acknowledgements let new data out (RFC 3042).
    pub limited_transmit: bool,
    /// Whether the end of a flight is probed before the timer expires (RFC 8985, 7).
    pub loss_probe: bool,
    /// Whether the connection has one retransmission timer, or one for each segment.
    pub retransmission_timers: RetransmissionTimers,
    /// The timeout before the first sample (RFC 6298, 2.1: 1 s; RFC 2988: 3 s).
    pub rto_initial: Duration,
    /// The least timeout (RFC 6298, 2.4: 1 s).
    pub rto_minimum: Duration,
    /// The most that a timeout grows to (RFC 6298, 2.5: at least 60 s).
    pub rto_maximum: Duration,
    /// The least value that is added to the smoothed round-trip time (G in RFC 6298, 2.3).
    pub rto_granularity: Duration,
    /// The timeout after a handshake whose SYN was retransmitted, if there is no sample (RFC 6298, 5.7: 3 s); `None` keeps
    /// the initial one.
    pub rto_after_lost_syn: Option<Duration>,
    /// How often a SYN is retransmitted before the connection fails (RFC 9293, 3.8.3, R2).
    pub syn_retries: u32,
    /// How often any other segment is retransmitted, and how many probes of a closed window may stay unanswered.
    pub retries: u32,
    /// How long TIME-WAIT lasts: 2 MSL (RFC 9293, 3.4.2).
    pub time_wait: Duration,
    /// The size of the send buffer, in bytes: it holds data that is not acknowledged yet.
    pub send_buffer: usize,
    /// The size of the receive buffer, in bytes: the largest window that is ever advertised.
    pub receive_window: usize,
    /// How many segments may be unacknowledged at a time.
    pub maximum_in_flight: usize,
    /// How many separate blocks of data are kept that arrived out of order.
    pub maximum_out_of_order: usize,
    /// Whether selectively acknowledged data no longer counts in the send buffer and among the segments in flight.
    pub free_sacked: bool,
}

/// Conditions under which a segment that is not full waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// Segments never wait (`TCP_NODELAY`).
    Off,
    /// A segment waits while anything is unacknowledged (RFC 1122, 4.2.3.4; RFC 896).
    On,
    /// A segment waits while a segment that was not full is unacknowledged: Minshall's variation, which Linux has.
    Minshall,
}

/// The policy for acknowledgements that no data carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledgements {
    /// Each segment is acknowledged at once.
    Immediate,
    /// An acknowledgement is sent after a fixed delay, or with a number of segments (RFC 1122, 4.2.3.2).
    Delayed {
        /// The delay: less than 500 ms.
        delay: Duration,
        /// The number of segments with which an acknowledgement is sent at once: 2.
        segments: u32,
        /// Whether only full segments count, and only one directly after the other: a segment that is not full waits for
        /// the delay, and the count begins anew. (RFC 5681, 4.2, counts full segments; OpenWSN consecutive ones.)
        full_sized: bool,
    },
    /// Acknowledgements are sent as Linux sends them: at once at the beginning, after something unusual, and when the
    /// application has read all of a flight; late, by a delay that follows the traffic, where the application answers
    /// quickly.
    Adaptive {
        /// The least delay.
        minimum: Duration,
        /// The greatest delay.
        maximum: Duration,
        /// The most acknowledgements that are sent at once at the beginning.
        quick: u32,
    },
}

/// The use of explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMode {
    /// ECN is neither requested nor accepted.
    Off,
    /// ECN is accepted if the peer requests it.
    WhenAsked,
    /// ECN is requested and accepted.
    On,
}

/// The owner of a retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionTimers {
    /// The connection has one timer (RFC 6298, 5): it covers the oldest segment, and each acknowledgement starts it
    /// anew.
    One,
    /// Each segment has a timer: it expires by itself, doubles by itself, and retransmits that segment only. A new
    /// segment begins with the doubled timeout of the oldest, until there is a sample (RFC 6298, 5.5).
    PerSegment,
}

impl Config {
    /// Returns the behaviour of a current Linux kernel over Ethernet: IPv4, MTU 1500.
    ///
    /// Differences from Linux: the congestion window grows by Reno's rules and counts bytes, not by CUBIC's and
    /// packets; losses are found as in RFC 6675, not RFC 8985 (RACK); the receive buffer does not grow.
    pub const fn linux() -> Self {
        Self {
            maximum_segment_size: 1460,
            default_segment_size: 536,
            nagle: Nagle::Minshall,
            acknowledgements: Acknowledgements::Adaptive {
                minimum: Duration::from_millis(40),
                maximum: Duration::from_millis(200),
                quick: 16,
            },
            sack_sender: true,
            sack_receiver: true,
            timestamps: true,
            window_scale: Some(7),
            ecn: EcnMode::WhenAsked,
            congestion_control: true,
            initial_window: 10,
            initial_window_after_lost_syn: 1,
            lost_syns_forgiven: 1,
            slow_start_limit: 64,
            idle_restart: true,
            duplicate_ack_threshold: Some(3),
            limited_transmit: true,
            loss_probe: true,
            retransmission_timers: RetransmissionTimers::One,
            rto_initial: Duration::from_secs(1),
            rto_minimum: Duration::from_millis(200),
            rto_maximum: Duration::from_secs(120),
            rto_granularity: Duration::from_millis(200),
            rto_after_lost_syn: Some(Duration::from_secs(3)),
            syn_retries: 6,
            retries: 15,
            time_wait: Duration::from_secs(60),
            send_buffer: 87_380,
            receive_window: 64_240,
            maximum_in_flight: 1024,
            maximum_out_of_order: 64,
            free_sacked: false,
        }
    }

    /// Returns the behaviour of OpenWSN's TCP, on a device with a handful of packet buffers.
    ///
    /// - An acknowledgement is sent at once only after two full segments, one directly after the other, and otherwise
    ///   after 150 ms.
    /// - Each segment has a retransmission timer of its own. The timeout is 1 s at first, as RFC 6298 and the firmware have
    ///   it, 1 s at least and 60 s at most. (If a server's SYN-ACK is lost, its timer and that of the SYN then expire
    ///   together: the scenarios of the paper on TLS over 6TiSCH set [`rto_initial`](Self::rto_initial) to 3 s.)
    /// - Five segments may be unacknowledged, for five descriptors; the send buffer has 1,024 bytes and the window 1,792.
    /// - There is no congestion window, and no option but MSS, 844 bytes, and SACK. A segment that the peer has reported by
    ///   SACK gives its descriptor and its room in the buffer back.
    /// - Nagle's algorithm is on.
    pub const fn constrained() -> Self {
        Self {
            maximum_segment_size: 844,
            default_segment_size: 536,
            nagle: Nagle::On,
            acknowledgements: Acknowledgements::Delayed {
                delay: Duration::from_millis(150),
                segments: 2,
                full_sized: true,
            },
            sack_sender: true,
            sack_receiver: true,
            timestamps: false,
            window_scale: None,
            ecn: EcnMode::Off,
            congestion_control: false,
            initial_window: 2,
            initial_window_after_lost_syn: 1,
            lost_syns_forgiven: 0,
            slow_start_limit: 1,
            idle_restart: false,
            duplicate_ack_threshold: Some(3),
            limited_transmit: false,
            loss_probe: false,
            retransmission_timers: RetransmissionTimers::PerSegment,
            rto_initial: Duration::from_secs(1),
            rto_minimum: Duration::from_secs(1),
            rto_maximum: Duration::from_secs(60),
            rto_granularity: Duration::from_millis(1),
            rto_after_lost_syn: Some(Duration::from_secs(3)),
            syn_retries: 6,
            retries: 15,
            time_wait: Duration::from_secs(60),
            send_buffer: 1024,
            receive_window: 1792,
            maximum_in_flight: 5,
            maximum_out_of_order: 5,
            free_sacked: true,
        }
    }

    /// Returns this configuration with the MSS for a link of this `mtu` and headers of `ip_header` bytes: 20 for IPv4,
    /// 40 for IPv6 (RFC 9293, 3.7.1).
    pub const fn for_mtu(self, mtu: u16, ip_header: u16) -> Self {
        let headers = ip_header.saturating_add(FIXED_HEADER as u16);
        let size = mtu.saturating_sub(headers);
        Self { maximum_segment_size: if size == 0 { 1 } else { size }, ..self }
    }

    /// Returns this configuration with an MSS that is at most what a link of this `mtu` leaves room for.
    pub(crate) fn limited_to_mtu(self, mtu: usize, ip_header: usize) -> Self {
        let most = self.maximum_segment_size;
        let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
        let fitting = self.for_mtu(mtu, u16::try_from(ip_header).unwrap_or(u16::MAX));
        Self { maximum_segment_size: fitting.maximum_segment_size.min(most), ..fitting }
    }
}
