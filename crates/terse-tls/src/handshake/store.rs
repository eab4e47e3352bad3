//! A server whose store takes its time ([`ServerStore`](crate::cache::ServerStore)): one state for both versions.
//!
//! A look-up sends the handshake back to where it was, and the ClientHello is handled once more when the answer is
//! there: until then it stays with the link, and nothing was said or kept. A commit is followed by what is left of the
//! handshake.
//!
//! What must always hold: nothing is sent that tells the client of its ticket before the store has it (docs/caching.md,
//! 4.2); each commit is made once.

use alloc::boxed::Box;

use super::{Handshake, Message, Output, tls12, tls13};
use crate::cache::{Commit, NotSaved, StoreAnswer, StoreRequest, Ticket, TicketRows};
use crate::error::{ApiMisuse, Error};

/// Waits for the store.
pub(crate) struct ExpectStore {
    pub(super) request: StoreRequest,
    then: Then,
}

/// What comes after the answer.
pub(super) enum Then {
    /// The ClientHello that waits is for this state.
    ClientHello(Handshake, TicketRows),
    Tls12(tls12::server::Finish),
    Tls13(Box<tls13::server::Finish>),
}

/// Tickets of a ClientHello, as far as the store has answered.
pub(crate) struct LookUp {
    pub(crate) rows: TicketRows,
    /// What it was asked last, and did not answer.
    pub(crate) pending: Option<Ticket>,
}

impl ExpectStore {
    /// `state` has met a ticket that the store does not know at once.
    pub(crate) fn look_up(state: Handshake, rows: TicketRows, ticket: Ticket) -> Handshake {
        let then = Then::ClientHello(state, rows);
        Handshake::Store(Box::new(Self { request: StoreRequest::Find(ticket), then }))
    }

    /// The client's Finished was verified, and what is left of the handshake waits.
    #[inline(never)]
    pub(super) fn commit(commit: Commit, then: Then) -> Handshake {
        Handshake::Store(Box::new(Self { request: StoreRequest::Commit(commit), then }))
    }

    /// Goes on. `waiting` is what the link has of messages. Also says how many bytes of it were handled.
    pub(crate) fn answered(
        self,
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
            _ => Err(ApiMisuse::NoStoreAnswerDue.into()), // the connection compared them
        }
    }
}

impl Output<'_> {
    /// What came of a commit.
    pub(super) fn committed(&self, saved: Result<(), NotSaved>) {
        if saved.is_err() {
            self.note("the cache could not be saved: the next handshake may be a full one");
        }
    }
}
