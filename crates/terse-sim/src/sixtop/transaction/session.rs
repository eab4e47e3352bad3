//! What a node knows of a neighbour: the SeqNum and the transaction with it (RFC 8480, 3.4).

use super::super::Asn;
use super::super::message::{Answer, CellList, Command, Request, ReturnCode};
use super::{Conclusion, Outcome, Step};

/// What a node knows of a neighbour.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) peer: u16,
    pub(super) seq_num: u8,
    pub(super) serial: u32,
    pub(super) clears: u32,
    pub(super) state: State,
    /// The SeqNum and command of the last request from the neighbour, and until when the same ones are a duplicate.
    pub(super) heard: Option<(u8, Command, Asn)>,
    /// The last request of this node that got no response in time. If one comes all the same, the neighbour may have changed
    /// its cells.
    pub(super) unanswered: Option<(u8, Request)>,
    /// The last request of the neighbour whose offer was not confirmed in time: a confirmation would mean the same.
    pub(super) unconfirmed: Option<(u8, Request)>,
    /// Whether this node has found an inconsistency. Equal SeqNums do not end it, as a lost RC_ERR_SEQNUM makes the neighbour
    /// count on; a CLEAR does.
    pub(super) is_inconsistent: bool,
}

/// The transaction with a neighbour. Its SeqNum is that of the request.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Idle,
    Requesting { seq_num: u8, request: Request },
    AwaitingResponse { seq_num: u8, request: Request, until: Asn },
    Confirming { seq_num: u8, request: Request, code: ReturnCode, cells: CellList },
    Responding { seq_num: u8, request: Request, code: ReturnCode, answer: Answer },
    AwaitingConfirmation { seq_num: u8, request: Request, offered: CellList, until: Asn },
}

impl Session {
    /// Creates what a node knows of a neighbour that it never heard: the SeqNum is 0.
    pub(super) const fn new(peer: u16) -> Self {
        Self {
            peer,
            seq_num: 0,
            serial: 0,
            clears: 0,
            state: State::Idle,
            heard: None,
            unanswered: None,
            unconfirmed: None,
            is_inconsistent: false,
        }
    }

    /// Goes on to the next SeqNum: a lollipop counter, which does not become 0 again (RFC 8480, 3.4.6).
    pub(super) const fn increment(&mut self) {
        self.seq_num = if self.seq_num == u8::MAX { 1 } else { self.seq_num + 1 };
    }

    /// Begins anew after a CLEAR.
    pub(super) const fn reset(&mut self) {
        (self.seq_num, self.is_inconsistent) = (0, false);
        self.clears = self.clears.wrapping_add(1);
        (self.unanswered, self.unconfirmed) = (None, None);
    }

    pub(super) const fn end(&mut self, request: Request, is_own: bool, outcome: Outcome, answer: Answer) -> Step {
        self.state = State::Idle;
        self.is_inconsistent |= matches!(outcome, Outcome::Inconsistent);
        Step::Ended(Conclusion { peer: self.peer, request, is_own, outcome, answer })
    }

    pub(super) const fn until(&self) -> Option<Asn> {
        match self.state {
            State::AwaitingResponse { until, .. } | State::AwaitingConfirmation { until, .. } => Some(until),
            _ => None,
        }
    }
}
