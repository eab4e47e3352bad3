//! Every constant of a connection, and two named profiles: [`Config::linux`] and [`Config::constrained`].

use core::time::Duration;

use super::segment::FIXED_HEADER;

/// What a connection does, and how long it waits for what.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The MSS option: the most payload taken in a segment, in bytes, options not counted; also the most that is sent in
    /// one (RFC 9293, 3.7.1). [`for_mtu`](Self::for_mtu) sets it.
    pub maximum_segment_size: u16,
    /// What a peer takes that sends no MSS option, in bytes: 536 with IPv4, 1220 with IPv6 (RFC 9293, 3.7.1).
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
    /// The most that an acknowledgement adds to the window in slow start, in full segments (RFC 3465, L; RFC 5681: 1).
    pub slow_start_limit: u32,
    /// Whether the window returns to the initial one after a timeout's worth of idleness (RFC 5681, 4.1).
    pub idle_restart: bool,
    /// How many duplicate acknowledgements mean a loss (RFC 5681, 3.2: 3); `None` leaves all losses to the timer.
    pub duplicate_ack_threshold: Option<u32>,
    /// Whether the first two duplicate acknowledgements let new data out (RFC 3042).
    pub limited_transmit: bool,
    /// Whether the end of a flight is probed before the timer expires (RFC 8985, 7).
    pub loss_probe: bool,
    /// One timer for a connection, or one for each segment.
    pub retransmission_timers: RetransmissionTimers,
    /// The timeout before the first sample (RFC 6298, 2.1: 1 s; RFC 2988: 3 s).
    pub rto_initial: Duration,
    /// The least timeout (RFC 6298, 2.4: 1 s).
    pub rto_minimum: Duration,
    /// The most that a timeout grows to (RFC 6298, 2.5: at least 60 s).
    pub rto_maximum: Duration,
    /// G of RFC 6298, 2.3: the least that is added to the smoothed round-trip time.
    pub rto_granularity: Duration,
    /// The timeout after a handshake whose SYN was retransmitted, if there is no sample (RFC 6298, 5.7: 3 s); `None` keeps
    /// the initial one.
    pub rto_after_lost_syn: Option<Duration>,
    /// How often a SYN is retransmitted before the connection fails (RFC 9293, 3.8.3, R2).
    pub syn_retries: u32,
    /// How often anything else is, and how many probes of a closed window stay unanswered.
    pub retries: u32,
    /// How long TIME-WAIT lasts: 2 MSL (RFC 9293, 3.4.2).
    pub time_wait: Duration,
    /// The send buffer, in bytes: what was written and is not acknowledged yet.
    pub send_buffer: usize,
    /// The receive buffer, in bytes: the most that the window ever covers.
    pub receive_window: usize,
    /// How many segments may be unacknowledged at a time.
    pub maximum_in_flight: usize,
    /// How many separate blocks are kept of what arrives out of order.
    pub maximum_out_of_order: usize,
    /// Whether what was selectively acknowledged no longer counts in the send buffer and among the segments in flight.
    pub free_sacked: bool,
}

/// When a segment that is not full waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// Never (`TCP_NODELAY`).
    Off,
    /// While anything is unacknowledged (RFC 1122, 4.2.3.4; RFC 896).
    On,
    /// While a segment that was not full is unacknowledged: Minshall's variation, which Linux has.
    Minshall,
}

/// When acknowledgements are sent that nothing carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledgements {
    /// For each segment at once.
    Immediate,
    /// After a fixed delay, or with so many segments (RFC 1122, 4.2.3.2).
    Delayed {
        /// How long one waits: less than 500 ms.
        delay: Duration,
        /// With which segment it is sent at once: 2.
        segments: u32,
        /// Whether only full segments count (RFC 5681, 4.2, asks for no more), or all.
        full_sized: bool,
    },
    /// As Linux does: at once at the beginning, after something unusual, and when the application has read all of a
    /// flight; late, by a delay that follows the traffic, where the application answers quickly.
    Adaptive {
        /// The least delay.
        minimum: Duration,
        /// The most.
        maximum: Duration,
        /// How many acknowledgements are sent at once at the beginning, at most.
        quick: u32,
    },
}

/// How far explicit congestion notification goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMode {
    /// Neither asked for nor granted.
    Off,
    /// Granted to a peer that asks.
    WhenAsked,
    /// Asked for and granted.
    On,
}

/// What a retransmission timer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionTimers {
    /// The connection (RFC 6298, 5): it covers the oldest segment, and is started anew by each acknowledgement.
    One,
    /// Each segment: it expires by itself, doubles by itself, and retransmits that segment only. A new segment begins with the
    /// doubled timeout of the oldest, until there is a sample (RFC 6298, 5.5).
    PerSegment,
}

impl Config {
    /// As a Linux kernel of today sends over Ethernet: IPv4, MTU 1500.
    ///
    /// What differs: the congestion window grows by Reno's rules and counts bytes, not by CUBIC's and packets; losses are
    /// found as in RFC 6675, not RFC 8985 (RACK); the receive buffer does not grow.
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

    /// As the TCP of OpenWSN, on a device with a handful of packet buffers: no congestion window, a timer for each of five
    /// segments, and no options but MSS and SACK.
    pub const fn constrained() -> Self {
        Self {
            maximum_segment_size: 844,
            default_segment_size: 536,
            nagle: Nagle::On,
            acknowledgements: Acknowledgements::Delayed {
                delay: Duration::from_millis(150),
                segments: 2,
                full_sized: false,
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

    /// The same, with the MSS that a link of this `mtu` gives to headers of `ip_header` bytes: 20 for IPv4, 40 for IPv6
    /// (RFC 9293, 3.7.1).
    pub const fn for_mtu(self, mtu: u16, ip_header: u16) -> Self {
        let headers = ip_header.saturating_add(FIXED_HEADER as u16);
        let size = mtu.saturating_sub(headers);
        Self { maximum_segment_size: if size == 0 { 1 } else { size }, ..self }
    }
}
