//! The state of a server that waits for its store ([`ServerStore`](crate::cache::ServerStore)), in both versions.
//!
//! A look-up returns the handshake to its previous state, and the ClientHello is handled again after the answer. Until
//! then the link keeps it, and nothing was sent or stored. After a commit the rest of the handshake follows.
//!
//! What must always hold: nothing is sent that tells the client of its ticket before the store has it (docs/caching.md,
//! 4.2); each commit is made once.

use alloc::boxed::Box;

use super::{Handshake, Message, Output, StateMachine, tls12, tls13};
use crate::cache::{Commit, NotSaved, StoreAnswer, StoreRequest, Ticket, TicketRows};
use crate::error::{ApiMisuse, Error};

/// The state that waits for the store.
pub(crate) struct ExpectStore {
    pub(super) request: StoreRequest,
    then: Then,
}

/// How the handshake continues after the answer.
pub(super) enum Then {
    /// The state that handles the waiting ClientHello, and the answers so far.
    ClientHello(Handshake, TicketRows),
    Tls12(tls12::server::Finish),
    Tls13(Box<tls13::server::Finish>),
}

/// The tickets of a ClientHello, with the answers of the store so far.
pub(crate) struct LookUp {
    pub(crate) rows: TicketRows,
    /// The ticket that the store has not answered yet.
    pub(crate) pending: Option<Ticket>,
}

impl ExpectStore {
    /// Waits for a ticket that the store did not answer at once. `state` continues after the answer.
    pub(crate) fn look_up(state: Handshake, rows: TicketRows, ticket: Ticket) -> Handshake {
        let then = Then::ClientHello(state, rows);
        Box::new(Self { request: StoreRequest::Find(ticket), then })
    }

    /// Waits for a commit, after the client's Finished was verified.
    #[inline(never)]
    pub(super) fn commit(commit: Commit, then: Then) -> Handshake {
        Box::new(Self { request: StoreRequest::Commit(commit), then })
    }
}

/// No record is taken while a store is waited for, so that no message comes.
impl StateMachine for ExpectStore {
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
        match (self.then, answer, self.request) {
            (Then::ClientHello(state, mut rows), StoreAnswer::Found(row), StoreRequest::Find(ticket)) => {
                rows.push(ticket, row);
                output.look_up = Some(Box::new(LookUp { rows, pending: None }));
                let message = Message::new(waiting, output.link.transport())?;
                Ok((state.handle(message, output)?, waiting.len()))
            }
            (Then::Tls12(rest), StoreAnswer::Committed(saved), _) => Ok((rest.committed(saved, output)?, 0)),
            (Then::Tls13(rest), StoreAnswer::Committed(saved), _) => Ok((rest.committed(saved, output)?, 0)),
            _ => Err(ApiMisuse::NoStoreAnswerDue.into()), // the connection has compared them
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
