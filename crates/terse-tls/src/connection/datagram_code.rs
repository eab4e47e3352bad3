//! What connections do over datagrams alone.
//!
//! A connection reaches it by a pointer, which it has only over datagrams: a firmware with streams alone has none of the code.

use super::Connection;
use crate::crypto::Rng;
use crate::error::Error;
use crate::handshake::ConnectionIds;
use crate::link::datagram::Sent;
use crate::record::datagram::RecordNumber;
use crate::time::Now;
use crate::wire::ReturnRoutabilityCheck;

/// The code of connections over datagrams.
pub(crate) struct DatagramCode {
    /// Handles an ACK in a record of this length.
    pub(super) handle_ack: fn(&mut Connection, Now, &[RecordNumber], bool, usize),
    /// The peer did not get the answer to its last flight.
    pub(super) peer_repeats: fn(&mut Connection, Now),
    /// Handles a check of return routability. Returns whether it was dropped.
    pub(super) handle_check: fn(&mut Connection, ReturnRoutabilityCheck) -> Result<bool, Error>,
    /// Answers a request for connection IDs.
    pub(super) answer_request: fn(&mut Connection, &mut dyn Rng) -> Result<(), Error>,
    /// Handles a message about connection IDs.
    pub(super) handle_ids: fn(&mut Connection, ConnectionIds) -> Result<(), Error>,
    /// Answers challenges of return routability.
    pub(super) answer_challenges: fn(&mut Connection),
    /// Counts what was sent.
    pub(super) count_sent: fn(&mut Connection, &Sent),
    /// The time of the next timeout has come.
    pub(super) timed_out: fn(&mut Connection, Now) -> Result<(), Error>,
}

impl DatagramCode {
    /// The code of all connections over datagrams.
    pub(crate) const CODE: &'static Self = &Self {
        handle_ack: Connection::handle_ack,
        peer_repeats: Connection::peer_repeats,
        handle_check: Connection::handle_check,
        answer_request: Connection::answer_request,
        handle_ids: Connection::handle_ids,
        answer_challenges: Connection::answer_challenges,
        count_sent: Connection::count_sent,
        timed_out: Connection::timed_out,
    };
}
