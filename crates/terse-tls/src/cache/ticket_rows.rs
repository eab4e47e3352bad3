//! This module keeps what a server's store said of the tickets of a ClientHello, in their order.
//!
//! What must always hold: one ticket, which is all that a client of ours sends, takes no heap, and the number is
//! limited.

use alloc::vec::Vec;
use core::task::Poll;

use super::{Row, ServerStore, Ticket};

/// The tickets that were looked up, and what was found for each.
#[derive(Debug, Default)]
pub(crate) struct TicketRows {
    first: Option<(Ticket, Option<Row>)>,
    others: Vec<(Ticket, Option<Row>)>,
}

impl TicketRows {
    /// How many tickets of one ClientHello are looked up.
    const MAX: usize = 8;

    /// Looks up those of `tickets` that were not looked up yet, in order. Returns the one that the store did not answer
    /// for, which is the next one to be pushed.
    pub(crate) fn look_up(&mut self, store: &dyn ServerStore, tickets: impl Iterator<Item = Ticket>) -> Option<Ticket> {
        let known = usize::from(self.first.is_some()) + self.others.len();
        for ticket in tickets.take(Self::MAX).skip(known) {
            match store.find(&ticket) {
                Poll::Ready(row) => self.push(ticket, row),
                Poll::Pending => return Some(ticket),
            }
        }
        None
    }

    pub(crate) fn push(&mut self, ticket: Ticket, row: Option<Row>) {
        match self.first {
            None => self.first = Some((ticket, row)),
            Some(_) => self.others.push((ticket, row)),
        }
    }
}

impl IntoIterator for TicketRows {
    type Item = (Ticket, Option<Row>);
    type IntoIter =
        core::iter::Chain<core::option::IntoIter<(Ticket, Option<Row>)>, alloc::vec::IntoIter<(Ticket, Option<Row>)>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.others)
    }
}
