//! 6P transactions (RFC 8480, 3.1 and 3.4): matching of messages, SeqNum, timeouts, duplicates, refusals.
//!
//! ```text
//!  node A                                              node B
//!  Idle ── begin ──> Requesting ─────── request ─────> Asked ── respond ──> Responding
//!        AwaitingResponse <── acknowledged                                     │
//!  Idle <── Ended ─────────────────── response <───────────────────────────────┤
//!    or Offered ── confirm ──> Confirming                                      │ acknowledged
//!               acknowledged ──> Ended ── confirmation ──> Ended <── AwaitingConfirmation, or Ended: Idle
//! ```
//!
//! Nothing here knows a schedule: a [`Step`] says what its owner has to decide or to change, and when.
//!
//! What must always hold: with a neighbour there is one transaction at a time; each that began ends, by a message, by the
//! MAC's report on a message, or by the timeout; a report on a message of a transaction that is over changes nothing.

mod request;
mod session;

use std::collections::VecDeque;

use self::request::{changes, check, fits, is_subset, wanted};
use self::session::{Session, State};
use super::Asn;
use super::message::{Answer, Body, CellList, Command, Message, Request, ReturnCode};

/// The transactions of a node with all its neighbours, for one scheduling function.
#[derive(Debug)]
pub(crate) struct Transactions {
    sfid: u8,
    /// The 6P timeout, in slots.
    timeout: u64,
    /// How many transactions a node takes part in at a time.
    capacity: usize,
    /// By neighbour.
    sessions: Vec<Session>,
    outbox: VecDeque<Outgoing>,
    next_serial: u32,
}

/// A message for a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) peer: u16,
    pub(crate) message: Message,
    /// What [`Transactions::sent`] wants back, once the MAC knows what became of the message.
    pub(crate) token: Token,
}

/// Names a message to the node that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) peer: u16,
    serial: u32,
    /// How many CLEARs there were before: a message from before a CLEAR does not count after it.
    clears: u32,
    role: Role,
}

/// What the acknowledgement of a message means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Request,
    Response,
    Confirmation,
    /// A message that belongs to no transaction of this node. If it counts, the SeqNum is incremented (3.4.6).
    Refusal {
        counts: bool,
    },
}

/// What the owner has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    /// A neighbour asks: [`Transactions::respond`] must follow at once.
    Asked {
        peer: u16,
        request: Request,
    },
    /// The neighbour offers cells to choose from: [`Transactions::confirm`] must follow at once.
    Offered {
        peer: u16,
        request: Request,
        candidates: CellList,
    },
    /// A neighbour cleared the schedule with it. A transaction that this node had begun with it is over.
    Cleared {
        peer: u16,
        aborted: Option<Request>,
    },
    Ended(Conclusion),
}

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conclusion {
    pub(crate) peer: u16,
    pub(crate) request: Request,
    /// Whether this node had begun it.
    pub(crate) is_own: bool,
    pub(crate) outcome: Outcome,
    /// What the response brought, or the cells that the confirmation named.
    pub(crate) answer: Answer,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As this code says, which both sides know.
    Code(ReturnCode),
    /// Nothing came within the 6P timeout.
    Timeout,
    /// The MAC gave up a message, and nothing was changed here.
    LinkFailure,
    /// The last message may have arrived or not, or does not fit the request: the neighbour's cells are not known.
    Inconsistent,
}

impl Outcome {
    /// Whether the cells of the transaction are to be changed.
    pub(crate) fn is_success(self) -> bool {
        self == Self::Code(ReturnCode::RC_SUCCESS)
    }
}

impl Transactions {
    /// Creates the transactions of a node that was switched on: every SeqNum is 0.
    pub(crate) const fn new(sfid: u8, timeout: u64, capacity: usize) -> Self {
        Self { sfid, timeout, capacity, sessions: Vec::new(), outbox: VecDeque::new(), next_serial: 0 }
    }

    /// Whether a transaction can begin. A neighbour's transactions do not keep this node from clearing.
    pub(crate) fn may_begin(&self, peer: u16, command: Command) -> bool {
        match self.find(peer).map(|session| &session.state) {
            None | Some(State::Idle) => command == Command::Clear || self.active() < self.capacity,
            Some(State::Responding { .. } | State::AwaitingConfirmation { .. }) => command == Command::Clear,
            Some(_) => false,
        }
    }

    /// Begins a transaction. Returns whether that was possible.
    pub(crate) fn begin(&mut self, peer: u16, request: Request) -> bool {
        if !self.may_begin(peer, request.command()) {
            return false;
        }
        let serial = self.serial();
        let session = self.session(peer);
        let seq_num = session.seq_num;
        // A request that the MAC has given up has not used its SeqNum up.
        session.unanswered.take_if(|(sent, _)| *sent == seq_num);
        session.serial = serial;
        session.state = State::Requesting { seq_num, request };
        self.post(peer, Role::Request, seq_num, Body::Request(request));
        true
    }

    /// Handles a message from a neighbour.
    pub(crate) fn receive(&mut self, now: Asn, from: u16, message: &Message) -> Step {
        let Message { sfid, seq_num, body } = *message;
        if sfid != self.sfid {
            // RFC 8480, 3.4.2
            if matches!(body, Body::Request(_)) {
                self.post_as(sfid, from, Role::Refusal { counts: false }, seq_num, error(ReturnCode::RC_ERR_SFID));
            }
            return Step::Nothing;
        }
        match body {
            Body::Request(request) => self.receive_request(now, from, seq_num, request),
            Body::Response(code, answer) => self.receive_response(from, seq_num, code, answer),
            Body::Confirmation(code, cells) => self.receive_confirmation(from, seq_num, code, cells),
        }
    }

    /// Refuses a request of a version that this node does not know (RFC 8480, 3.4.1).
    pub(crate) fn refuse_version(&mut self, from: u16, sfid: u8, seq_num: u8) {
        self.post_as(sfid, from, Role::Refusal { counts: false }, seq_num, error(ReturnCode::RC_ERR_VERSION));
    }

    /// Answers the request that [`Step::Asked`] named.
    pub(crate) fn respond(&mut self, peer: u16, code: ReturnCode, answer: Answer) {
        let session = self.session(peer);
        if let State::Responding { seq_num, request, .. } = session.state {
            session.state = State::Responding { seq_num, request, code, answer };
            self.post(peer, Role::Response, seq_num, Body::Response(code, answer));
        }
    }

    /// Confirms cells that [`Step::Offered`] named, or refuses with an error.
    pub(crate) fn confirm(&mut self, peer: u16, code: ReturnCode, cells: CellList) {
        let session = self.session(peer);
        if let State::Confirming { seq_num, request, .. } = session.state {
            session.state = State::Confirming { seq_num, request, code, cells };
            self.post(peer, Role::Confirmation, seq_num, Body::Confirmation(code, cells));
        }
    }

    /// Handles what the MAC says of a message: it was acknowledged, or given up.
    pub(crate) fn sent(&mut self, now: Asn, token: Token, is_acknowledged: bool) -> Step {
        let until = now + self.timeout;
        let session = self.session(token.peer);
        if let Role::Refusal { counts } = token.role {
            if is_acknowledged && counts && session.clears == token.clears {
                session.increment();
            }
            return Step::Nothing;
        }
        if session.serial != token.serial {
            return Step::Nothing;
        }
        match (token.role, session.state) {
            (Role::Request, State::Requesting { seq_num, request }) if is_acknowledged => {
                session.state = State::AwaitingResponse { seq_num, request, until };
                Step::Nothing
            }
            (Role::Request, State::Requesting { seq_num, request }) => {
                session.unanswered = Some((seq_num, request));
                session.end(request, true, Outcome::LinkFailure, Answer::Nothing)
            }
            (Role::Response, State::Responding { seq_num, request, code, answer }) => {
                match (is_acknowledged, request.has_three_steps() && !code.is_error()) {
                    (true, true) => {
                        let offered = answer.cells();
                        session.state = State::AwaitingConfirmation { seq_num, request, offered, until };
                        Step::Nothing
                    }
                    (true, false) => {
                        session.increment();
                        session.end(request, false, Outcome::Code(code), answer)
                    }
                    // RFC 8480, 3.4.6.2, figure 33
                    (false, false) if !code.is_error() && changes(&request) => {
                        session.end(request, false, Outcome::Inconsistent, answer)
                    }
                    (false, is_offer) => {
                        session.unconfirmed = is_offer.then_some((seq_num, request));
                        session.end(request, false, Outcome::LinkFailure, answer)
                    }
                }
            }
            (Role::Confirmation, State::Confirming { request, code, cells, .. }) => {
                if code != ReturnCode::RC_RESET {
                    session.increment();
                }
                let is_known = is_acknowledged || code.is_error();
                let outcome = if is_known { Outcome::Code(code) } else { Outcome::Inconsistent };
                session.end(request, true, outcome, Answer::Cells(cells))
            }
            _ => Step::Nothing,
        }
    }

    /// Ends a transaction whose timeout is over by the end of the slot `now`; to be called until nothing is left.
    pub(crate) fn expire(&mut self, now: Asn) -> Step {
        let Some(session) = self.sessions.iter_mut().find(|session| session.until().is_some_and(|until| until <= now))
        else {
            return Step::Nothing;
        };
        match session.state {
            State::AwaitingResponse { seq_num, request, .. } => {
                session.unanswered = Some((seq_num, request));
                session.increment();
                session.end(request, true, Outcome::Timeout, Answer::Nothing)
            }
            State::AwaitingConfirmation { seq_num, request, .. } => {
                session.unconfirmed = Some((seq_num, request));
                session.end(request, false, Outcome::Timeout, Answer::Nothing)
            }
            _ => Step::Nothing,
        }
    }

    /// Returns the next message to send.
    pub(crate) fn poll_transmit(&mut self) -> Option<Outgoing> {
        self.outbox.pop_front()
    }

    /// Returns the slot in which the next timeout is over.
    pub(crate) fn poll_timeout(&self) -> Option<Asn> {
        self.sessions.iter().filter_map(Session::until).min()
    }

    /// Returns the SeqNum that the next request to a neighbour, or from it, has.
    pub(crate) fn seq_num(&self, peer: u16) -> u8 {
        self.find(peer).map_or(0, |session| session.seq_num)
    }

    /// Whether this node has found out that its cells and the neighbour's differ, or may do.
    pub(crate) fn is_inconsistent(&self, peer: u16) -> bool {
        self.find(peer).is_some_and(|session| session.is_inconsistent)
    }

    fn receive_request(&mut self, now: Asn, from: u16, seq_num: u8, request: Request) -> Step {
        let (command, until) = (request.command(), now + self.timeout);
        let is_full = self.active() >= self.capacity;
        let serial = self.serial();
        let session = self.session(from);
        // RFC 8480, 3.4.6.1. After a timeout the MAC has no duplicates any more: then the sender has lost its SeqNum.
        // A CLEAR after which another transaction has ended is a new one: every second CLEAR has the SeqNum 0.
        let can_be_duplicate = command != Command::Clear || session.seq_num == 0;
        let is_last = |(seq, last, until)| (seq, last) == (seq_num, command) && now < until;
        if can_be_duplicate && session.heard.is_some_and(is_last) {
            return Step::Nothing;
        }
        let heard = session.heard.replace((seq_num, command, until));
        if command == Command::Clear {
            return self.receive_clear(from, seq_num);
        }
        let own = session.seq_num;
        let (code, seq_num, counts) = match session.state {
            // RFC 8480, 3.4.3: the second transaction is treated as though it had never happened.
            State::Responding { .. } => (ReturnCode::RC_RESET, seq_num, false),
            // RFC 8480, 3.4.6: a request with 0 gets 0, others get the SeqNum of this node.
            _ if seq_num != own || session.is_inconsistent && changes(&request) => {
                session.is_inconsistent = true;
                (ReturnCode::RC_ERR_SEQNUM, if seq_num == 0 { 0 } else { own }, false)
            }
            State::Idle | State::AwaitingConfirmation { .. } => {
                let aborts = matches!(session.state, State::AwaitingConfirmation { .. });
                match check(&request) {
                    _ if is_full && !aborts => (ReturnCode::RC_ERR_BUSY, seq_num, true),
                    Err(code) => (code, seq_num, true),
                    Ok(()) => {
                        session.serial = serial;
                        let (code, answer) = (ReturnCode::RC_ERR, Answer::Nothing);
                        session.state = State::Responding { seq_num, request, code, answer };
                        return Step::Asked { peer: from, request };
                    }
                }
            }
            // Both nodes have begun a transaction with each other.
            _ => (ReturnCode::RC_ERR_BUSY, seq_num, true),
        };
        if !counts {
            // The neighbour may ask again with the same SeqNum, which is no duplicate then.
            session.heard = heard;
        }
        self.post(from, Role::Refusal { counts }, seq_num, error(code));
        Step::Nothing
    }

    /// Clears without looking at the SeqNum (RFC 8480, 3.3.6), and at once: when the neighbour has the response, the cells
    /// are gone here for certain. A CLEAR that this node has sent itself goes on.
    fn receive_clear(&mut self, from: u16, seq_num: u8) -> Step {
        let session = self.session(from);
        session.reset();
        let mut aborted = None;
        match session.state {
            State::Requesting { request, .. } | State::AwaitingResponse { request, .. }
                if request.command() == Command::Clear => {}
            State::Requesting { request, .. }
            | State::AwaitingResponse { request, .. }
            | State::Confirming { request, .. } => {
                aborted = Some(request);
                session.state = State::Idle;
            }
            _ => session.state = State::Idle,
        }
        let response = Body::Response(ReturnCode::RC_SUCCESS, Answer::Nothing);
        self.post(from, Role::Refusal { counts: false }, seq_num, response);
        Step::Cleared { peer: from, aborted }
    }

    fn receive_response(&mut self, from: u16, seq_num: u8, code: ReturnCode, answer: Answer) -> Step {
        let session = self.session(from);
        if let Some((_, request)) = session.unanswered.take_if(|(sent, _)| *sent == seq_num && !code.is_error()) {
            // RFC 8480, 3.1.1: the timeout expired while the response was in the air.
            session.is_inconsistent |= changes(&request);
            let (peer, is_own) = (from, true);
            return if changes(&request) {
                Step::Ended(Conclusion { peer, request, is_own, outcome: Outcome::Inconsistent, answer })
            } else {
                Step::Nothing
            };
        }
        // A response may come before the acknowledgement of the request: that was lost then.
        let (State::Requesting { seq_num: sent, request } | State::AwaitingResponse { seq_num: sent, request, .. }) =
            session.state
        else {
            return Step::Nothing;
        };
        if code == ReturnCode::RC_ERR_SEQNUM {
            // The SeqNum of a CLEAR is not checked: such an answer belongs to an earlier request.
            let is_late = request.command() == Command::Clear;
            return if is_late {
                Step::Nothing
            } else {
                session.end(request, true, Outcome::Code(code), Answer::Nothing)
            };
        }
        // One that does not fit is the late response to an earlier request with the same SeqNum: one that the MAC has given up,
        // or a CLEAR.
        let fits = code.is_error() || fits(&request, &answer);
        if seq_num != sent || !fits {
            let has_changed = seq_num == sent && !answer.cells().is_empty();
            return if has_changed {
                session.end(request, true, Outcome::Inconsistent, Answer::Nothing)
            } else {
                Step::Nothing
            };
        }
        let command = request.command();
        let outcome = if is_subset(&request, &answer.cells()) { Outcome::Code(code) } else { Outcome::Inconsistent };
        match code {
            ReturnCode::RC_RESET => {}
            ReturnCode::RC_SUCCESS if command == Command::Clear => {
                session.reset();
                session.heard = None;
            }
            ReturnCode::RC_SUCCESS if request.has_three_steps() => {
                let (code, cells) = (ReturnCode::RC_RESET, CellList::EMPTY);
                session.state = State::Confirming { seq_num, request, code, cells };
                return Step::Offered { peer: from, request, candidates: answer.cells() };
            }
            _ => session.increment(),
        }
        let step = session.end(request, true, outcome, answer);
        // RFC 8480, 3.4.7
        if request.has_three_steps() && !code.is_known() {
            let body = Body::Confirmation(ReturnCode::RC_ERR, CellList::EMPTY);
            self.post(from, Role::Refusal { counts: false }, seq_num, body);
        }
        step
    }

    fn receive_confirmation(&mut self, from: u16, seq_num: u8, code: ReturnCode, cells: CellList) -> Step {
        let session = self.session(from);
        if let Some((_, request)) = session.unconfirmed.take_if(|(sent, _)| *sent == seq_num && !code.is_error()) {
            session.is_inconsistent = true;
            let (peer, is_own, answer) = (from, false, Answer::Cells(cells));
            return Step::Ended(Conclusion { peer, request, is_own, outcome: Outcome::Inconsistent, answer });
        }
        // As figure 30 shows, it may come before the acknowledgement of the response.
        let (sent, request, offered) = match session.state {
            State::AwaitingConfirmation { seq_num, request, offered, .. } => (seq_num, request, offered),
            State::Responding { seq_num, request, code, answer } if request.has_three_steps() && !code.is_error() => {
                (seq_num, request, answer.cells())
            }
            _ => return Step::Nothing,
        };
        if seq_num != sent {
            return Step::Nothing;
        }
        if code != ReturnCode::RC_RESET {
            session.increment();
        }
        let is_possible =
            code.is_error() || cells.len() <= wanted(&request) && cells.iter().all(|cell| offered.contains(cell));
        let outcome = if is_possible { Outcome::Code(code) } else { Outcome::Inconsistent };
        session.end(request, false, outcome, Answer::Cells(cells))
    }

    fn active(&self) -> usize {
        self.sessions.iter().filter(|session| !matches!(session.state, State::Idle)).count()
    }

    fn find(&self, peer: u16) -> Option<&Session> {
        let index = self.sessions.binary_search_by_key(&peer, |session| session.peer).ok()?;
        self.sessions.get(index)
    }

    fn session(&mut self, peer: u16) -> &mut Session {
        let index = self.sessions.binary_search_by_key(&peer, |session| session.peer).unwrap_or_else(|index| {
            self.sessions.insert(index, Session::new(peer));
            index
        });
        &mut self.sessions[index]
    }

    fn serial(&mut self) -> u32 {
        self.next_serial = self.next_serial.wrapping_add(1);
        self.next_serial
    }

    fn post(&mut self, peer: u16, role: Role, seq_num: u8, body: Body) {
        self.post_as(self.sfid, peer, role, seq_num, body);
    }

    fn post_as(&mut self, sfid: u8, peer: u16, role: Role, seq_num: u8, body: Body) {
        // A neighbour that floods this node gets no more answers than can be sent. Transactions have a place each.
        if matches!(role, Role::Refusal { .. }) && self.outbox.len() >= LONGEST_OUTBOX {
            return;
        }
        let Session { serial, clears, .. } = *self.session(peer);
        let token = Token { peer, serial, clears, role };
        self.outbox.push_back(Outgoing { peer, message: Message { sfid, seq_num, body }, token });
    }
}

const fn error(code: ReturnCode) -> Body {
    Body::Response(code, Answer::Nothing)
}

/// The most refusals that wait.
const LONGEST_OUTBOX: usize = 32;
