//! A small sans-IO TCP, whose every constant is a variable.
//!
//! Experiments with TLS over constrained networks vary constants that other stacks fix: the MSS, Nagle's algorithm,
//! selective acknowledgements on either side, delayed acknowledgements, the first timeout. So this is RFC 9293 with all
//! of them in a [`Config`]: RFC 6298 (timeouts), RFC 2018 and 6675 (SACK), RFC 5681, 6582 and 3042 (congestion,
//! NewReno, limited transmit), RFC 6928 (initial window), RFC 3168 (ECN), RFC 7323 (timestamps, window scale), RFC
//! 8985, 7 (loss probe).
//!
//! What must always hold: no input panics; the configuration bounds the memory; every octet that was written arrives
//! once and in order, or the connection fails; nothing waits without a timer or the peer.
//!
//! Not implemented: urgent data (it is ordinary data here), path MTU discovery, keep-alives, data in SYNs.

mod acks;
mod config;
mod congestion;
mod connection;
mod ecn;
mod input;
mod output;
mod reassembly;
mod recovery;
mod rto;
mod scoreboard;
mod segment;
mod send_buffer;
mod sequence;
mod statistics;
mod timers;

pub use config::{Acknowledgements, Config, EcnMode, Nagle, RetransmissionTimers};
pub use connection::{Connection, Failure, State, Transmit};
pub use ecn::Ecn;
pub use segment::{Flags, MalformedSegment, Options, PseudoHeader, SackBlock, Segment};
pub use sequence::SequenceNumber;
pub use statistics::Statistics;
