//! A connection has the face that its user sees, and the variables of RFC 9293, 3.3.1.
//!
//! The protocol is in `input` (segments that arrive), `recovery` (what acknowledgements mean), `output` (what is sent) and
//! `timers`.

use super::acks::AckScheduler;
use super::congestion::Congestion;
use super::ecn::EcnState;
use super::reassembly::Reassembly;
use super::recovery::Recovery;
use super::rto::RtoEstimator;
use super::scoreboard::Scoreboard;
use super::segment::TIMESTAMPS_LEN;
use super::send_buffer::SendBuffer;
use super::timers::Timers;
use super::{Config, Ecn, Flags, Segment, SequenceNumber, Statistics};
use crate::Time;
use std::collections::VecDeque;

/// One side of a TCP connection, without sockets and clocks.
///
/// After each call that takes a time, call [`poll_transmit`](Self::poll_transmit) until it gives `None`, and then ask
/// [`poll_timeout`](Self::poll_timeout) when to call [`handle_timeout`](Self::handle_timeout). A kernel sends its
/// acknowledgement before the application gets to run: for its segments, call `poll_transmit` after each
/// [`handle_segment`](Self::handle_segment) and each [`recv`](Self::recv), before the next [`send`](Self::send).
#[derive(Clone, Debug)]
pub struct Connection {
    pub(super) config: Config,
    pub(super) state: State,
    pub(super) failure: Option<Failure>,
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
    pub(super) statistics: Statistics,
    pub(super) snd: SendSequence,
    pub(super) rcv: ReceiveSequence,
    pub(super) agreed: Agreed,
    pub(super) send_buffer: SendBuffer,
    pub(super) scoreboard: Scoreboard,
    pub(super) congestion: Congestion,
    pub(super) recovery: Recovery,
    pub(super) rto: RtoEstimator,
    pub(super) timers: Timers,
    pub(super) ecn: EcnState,
    pub(super) acks: AckScheduler,
    /// Data that arrived in order and was not read yet.
    pub(super) received: VecDeque<u8>,
    pub(super) reassembly: Reassembly,
    /// A reset that is to be sent.
    pub(super) reset: Option<Segment>,
}

/// States of a connection (RFC 9293, 3.3.2). LISTEN is a state of the host's sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// CLOSED
    Closed,
    /// SYN-SENT
    SynSent,
    /// SYN-RECEIVED
    SynReceived,
    /// ESTABLISHED
    Established,
    /// FIN-WAIT-1
    FinWait1,
    /// FIN-WAIT-2
    FinWait2,
    /// CLOSE-WAIT
    CloseWait,
    /// CLOSING
    Closing,
    /// LAST-ACK
    LastAck,
    /// TIME-WAIT
    TimeWait,
}

/// Causes for which a connection ended that was not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer answered the SYN with a reset.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer stopped answering.
    TimedOut,
    /// [`Connection::abort`] was called.
    Aborted,
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Refused => "the peer refused the connection",
            Self::Reset => "the peer reset the connection",
            Self::TimedOut => "the peer stopped answering",
            Self::Aborted => "the connection was aborted",
        })
    }
}

/// A segment to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// The codepoint for the IP header.
    pub ecn: Ecn,
}

/// Send sequence variables (RFC 9293, 3.3.1).
#[derive(Clone, Debug)]
pub(super) struct SendSequence {
    /// ISS: the number of the SYN.
    pub(super) initial: SequenceNumber,
    /// SND.UNA
    pub(super) una: SequenceNumber,
    /// SND.NXT
    pub(super) nxt: SequenceNumber,
    /// SND.WND, in bytes.
    pub(super) window: u32,
    /// The largest SND.WND ever.
    pub(super) maximum_window: u32,
    /// SND.WL1
    pub(super) wl1: SequenceNumber,
    /// SND.WL2
    pub(super) wl2: SequenceNumber,
    /// Whether the application has closed: a FIN follows the data.
    pub(super) closing: bool,
    /// The number of the FIN, once it was sent.
    pub(super) fin: Option<SequenceNumber>,
    /// The end of the last segment that was not full, for Minshall's variation of Nagle's algorithm.
    pub(super) small: SequenceNumber,
    /// When data was sent last.
    pub(super) last: Time,
}

/// Receive sequence variables (RFC 9293, 3.3.1).
#[derive(Clone, Debug)]
pub(super) struct ReceiveSequence {
    /// IRS: the number of the peer's SYN.
    pub(super) initial: SequenceNumber,
    /// RCV.NXT
    pub(super) nxt: SequenceNumber,
    /// RCV.NXT + RCV.WND: the right edge that was advertised.
    pub(super) edge: SequenceNumber,
    /// The last acknowledgement number that was sent.
    pub(super) acknowledged: SequenceNumber,
    /// The number of the peer's FIN, once it is known.
    pub(super) fin: Option<SequenceNumber>,
}

/// The options that the two SYNs have agreed upon.
#[derive(Clone, Debug)]
pub(super) struct Agreed {
    /// The most bytes of payload and options in a segment.
    pub(super) segment_size: u32,
    pub(super) sack: bool,
    /// TS.Recent and the time when it was set (RFC 7323, 4.3).
    pub(super) timestamps: Option<(u32, Time)>,
    /// Snd.Wind.Shift and Rcv.Wind.Shift (RFC 7323, 2.3).
    pub(super) send_shift: u8,
    pub(super) receive_shift: u8,
    pub(super) scaled: bool,
}

impl Connection {
    /// Opens a connection actively: the SYN is the first thing to transmit.
    pub fn connect(config: Config, source_port: u16, destination_port: u16, initial_sequence: u32, now: Time) -> Self {
        Self::new(config, (source_port, destination_port), State::SynSent, SequenceNumber(initial_sequence), now)
    }

    /// Answers a `syn` that arrived at a listener. Returns `None` if it is no SYN, or has other control bits.
    pub fn accept(config: Config, syn: &Segment, initial_sequence: u32, now: Time) -> Option<Self> {
        if !syn.flags.syn || syn.flags.rst || syn.flags.fin || syn.acknowledgement.is_some() {
            return None;
        }
        let ports = (syn.destination_port, syn.source_port);
        let mut connection = Self::new(config, ports, State::SynReceived, SequenceNumber(initial_sequence), now);
        connection.statistics.segments_received += 1;
        connection.take_syn(now, syn);
        Some(connection)
    }

    fn new(config: Config, ports: (u16, u16), state: State, initial: SequenceNumber, now: Time) -> Self {
        let segment_size = u32::from(config.maximum_segment_size.max(1));
        Self {
            state,
            failure: None,
            source_port: ports.0,
            destination_port: ports.1,
            statistics: Statistics::default(),
            snd: SendSequence {
                initial,
                una: initial,
                nxt: initial,
                window: 0,
                maximum_window: 0,
                wl1: SequenceNumber(0),
                wl2: initial,
                closing: false,
                fin: None,
                small: initial,
                last: now,
            },
            rcv: ReceiveSequence {
                initial: SequenceNumber(0),
                nxt: SequenceNumber(0),
                edge: SequenceNumber(0),
                acknowledged: SequenceNumber(0),
                fin: None,
            },
            agreed: Agreed {
                segment_size,
                sack: false,
                timestamps: None,
                send_shift: 0,
                receive_shift: 0,
                scaled: false,
            },
            send_buffer: SendBuffer::new(initial + 1),
            scoreboard: Scoreboard::default(),
            congestion: Congestion::new(&config, segment_size, 0),
            recovery: Recovery::new(initial),
            rto: RtoEstimator::new(&config),
            timers: Timers::default(),
            ecn: EcnState::new(config.ecn, initial),
            acks: AckScheduler::new(config.acknowledgements, segment_size),
            received: VecDeque::new(),
            reassembly: Reassembly::new(config.maximum_out_of_order),
            reset: None,
            config,
        }
    }

    /// Takes as much of `data` as the send buffer has room for, and returns how much that is: 0 once the connection is
    /// closed.
    pub fn send(&mut self, _now: Time, data: &[u8]) -> usize {
        let taken = data.len().min(self.send_capacity());
        self.send_buffer.push(&data[..taken]);
        taken
    }

    /// Returns how many bytes [`send`](Self::send) would take.
    pub fn send_capacity(&self) -> usize {
        use State::{CloseWait, Established, SynReceived, SynSent};
        if self.snd.closing || !matches!(self.state, SynSent | SynReceived | Established | CloseWait) {
            return 0;
        }
        let limit = self.config.send_buffer;
        // A peer that reports data by SACK and never acknowledges it can at most double the buffer.
        let freed = if self.config.free_sacked { (self.scoreboard.reported() as usize).min(limit) } else { 0 };
        (limit + freed).saturating_sub(self.send_buffer.len())
    }

    /// Reads data that arrived in order into `out`, and returns how many bytes that is.
    pub fn recv(&mut self, _now: Time, out: &mut [u8]) -> usize {
        let len = out.len().min(self.received.len());
        for (to, from) in out.iter_mut().zip(self.received.drain(..len)) {
            *to = from;
        }
        if len > 0 && !self.is_closed() {
            self.acks.read(self.received.is_empty(), self.rcv.nxt.since(self.rcv.acknowledged));
            self.update_window();
        }
        len
    }

    /// Returns how many bytes [`recv`](Self::recv) has.
    pub fn readable(&self) -> usize {
        self.received.len()
    }

    /// Closes the sending direction: a FIN follows all data that was written. The peer may go on sending for as long as
    /// it likes: FIN-WAIT-2 has no timer.
    pub fn close(&mut self, _now: Time) {
        match self.state {
            State::SynSent if self.send_buffer.len() == 0 => self.end(),
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            // RFC 9293, 3.10.4: before the connection is established, the FIN waits until it is.
            State::SynSent | State::SynReceived => {}
            _ => return,
        }
        self.snd.closing = true;
    }

    /// Ends the connection at once: a reset is sent, and data that has not arrived is lost (RFC 9293, 3.10.5).
    pub fn abort(&mut self, _now: Time) {
        use State::{CloseWait, Closed, Established, FinWait1, FinWait2, SynReceived, TimeWait};
        if matches!(self.state, Closed | TimeWait) {
            self.end();
            return;
        }
        if matches!(self.state, SynReceived | Established | FinWait1 | FinWait2 | CloseWait) {
            self.reset = Some(self.bare(self.snd.nxt, None, Flags { rst: true, ..Flags::default() }));
        }
        self.fail(Failure::Aborted);
    }

    /// Returns the state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether the handshake is over and the connection has not ended, so that data may still arrive or be sent.
    pub const fn is_established(&self) -> bool {
        !matches!(self.state, State::Closed | State::SynSent | State::SynReceived | State::TimeWait)
    }

    /// Whether the peer has sent its FIN, and all data before it was read.
    pub fn is_peer_finished(&self) -> bool {
        self.has_peer_fin() && self.received.is_empty()
    }

    /// Whether the connection is over: CLOSED, or TIME-WAIT, in which only a repeated FIN is answered.
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }

    /// Returns why the connection ended, if it was not closed.
    pub const fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Returns the counters.
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Returns the most payload of a segment without SACK blocks, which the handshake agreed upon.
    pub fn segment_size(&self) -> u32 {
        let options = if self.agreed.timestamps.is_some() { TIMESTAMPS_LEN as u32 } else { 0 };
        self.agreed.segment_size.saturating_sub(options).max(1)
    }

    /// Returns SRTT, once there was a sample (RFC 6298).
    pub const fn round_trip_time(&self) -> Option<core::time::Duration> {
        self.rto.smoothed()
    }

    pub(super) fn has_peer_fin(&self) -> bool {
        self.rcv.fin.is_some_and(|fin| self.rcv.nxt.is_after(fin))
    }

    /// Returns a segment with only the fields that every segment has.
    pub(super) fn bare(
        &self,
        sequence: SequenceNumber,
        acknowledgement: Option<SequenceNumber>,
        flags: Flags,
    ) -> Segment {
        Segment {
            source_port: self.source_port,
            destination_port: self.destination_port,
            sequence,
            acknowledgement,
            flags,
            ..Segment::default()
        }
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.end();
    }

    /// Enters CLOSED: nothing is sent any more, and data that was not read yet can still be read.
    pub(super) fn end(&mut self) {
        self.state = State::Closed;
        self.send_buffer.clear();
        self.scoreboard.clear();
        self.reassembly.clear();
        self.timers = Timers::default();
    }
}

#[cfg(test)]
mod tests;
