//! The states of a server that waits for its store ([`ServerStore`](crate::cache::ServerStore)), in both versions.
//!
//! A look-up returns the handshake to its previous state, and the ClientHello is handled again after the answer. Until
//! then the link keeps it, and nothing was sent or stored. After a commit the rest of the handshake follows.
//!
//! What must always hold: nothing is sent that tells the client of its ticket before the store has it (docs/caching.md,
//! 4.2); each commit is made once.

use alloc::boxed::Box;

use super::{Handshake, Message, Output, StateMachine};
use crate::cache::{Commit, NotSaved, StoreAnswer, StoreRequest, Ticket, TicketRows};
use crate::error::{ApiMisuse, Error};

/// The tickets of a ClientHello, with the answers of the store so far.
pub(crate) struct LookUp {
    pub(crate) rows: TicketRows,
    /// The ticket that the store has not answered yet, and [`ExpectRow::look_up`], which clients do not have.
    pub(crate) pending: Option<(Ticket, WaitForRow)>,
}

pub(crate) type WaitForRow = fn(Handshake, TicketRows, Ticket) -> Handshake;

/// The state that waits for the row of a ticket. No record is taken meanwhile, so that no message comes.
pub(crate) struct ExpectRow {
    request: StoreRequest,
    ticket: Ticket,
    rows: TicketRows,
    /// The state that handles the waiting ClientHello.
    state: Handshake,
}

impl ExpectRow {
    /// Waits for a ticket that the store did not answer at once. `state` continues after the answer.
    pub(crate) fn look_up(state: Handshake, rows: TicketRows, ticket: Ticket) -> Handshake {
        Box::new(Self { request: StoreRequest::Find(ticket), ticket, rows, state })
    }
}

impl StateMachine for ExpectRow {
    fn handle(self: Box<Self>, message: Message<'_>, _: &mut Output<'_>) -> Result<Handshake, Error> {
        Err(message.unexpected())
    }

    fn store_request(&self) -> Option<&StoreRequest> {
        Some(&self.request)
    }

    fn answered(
        self: Box<Self>,
        answer: StoreAnswer,
        waiting: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(Handshake, usize), Error> {
        let Self { ticket, mut rows, state, .. } = *self;
        let StoreAnswer::Found(row) = answer else { return Err(ApiMisuse::NoStoreAnswerDue.into()) };
        rows.push(ticket, row);
        output.look_up = Some(Box::new(LookUp { rows, pending: None }));
        let message = Message::new(waiting, output.link.transport())?;
        Ok((state.handle(message, output)?, waiting.len()))
    }
}

/// The rest of a server's handshake after a commit.
pub(super) trait AfterCommit: Send + Sync {
    /// Continues after the answer of the store.
    fn committed(self, saved: Result<(), NotSaved>, output: &mut Output<'_>) -> Result<Handshake, Error>;
}

/// The state that waits for a commit. No record is taken meanwhile, so that no message comes.
pub(super) struct ExpectCommit<R> {
    request: StoreRequest,
    rest: R,
}

impl<R: AfterCommit + 'static> ExpectCommit<R> {
    /// Waits for a commit, after the client's Finished was verified.
    #[inline(never)]
    pub(super) fn commit(commit: Commit, rest: R) -> Handshake {
        Box::new(Self { request: StoreRequest::Commit(commit), rest })
    }
}

impl<R: AfterCommit + 'static> StateMachine for ExpectCommit<R> {
    fn handle(self: Box<Self>, message: Message<'_>, _: &mut Output<'_>) -> Result<Handshake, Error> {
        Err(message.unexpected())
    }

    fn store_request(&self) -> Option<&StoreRequest> {
        Some(&self.request)
    }

    fn answered(
        self: Box<Self>,
        answer: StoreAnswer,
        _: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(Handshake, usize), Error> {
        match answer {
            StoreAnswer::Committed(saved) => Ok((self.rest.committed(saved, output)?, 0)),
            StoreAnswer::Found(_) => Err(ApiMisuse::NoStoreAnswerDue.into()),
        }
    }
}

impl Output<'_> {
    /// Notes the result of a commit.
    pub(super) fn committed(&self, saved: Result<(), NotSaved>) {
        if saved.is_err() {
            self.note("the cache could not be saved: the next handshake may be a full one");
        }
    }
}
