//! Handles NewSessionTicket as a client (RFC 9846, 4.7.1).

use alloc::boxed::Box;

use super::proof::Proof;
use crate::error::Error;
use crate::handshake::{Output, Tickets};
use crate::resume::{NewSession, SessionKind, SessionOrigin, SessionSaver};
use crate::schedule::tls13::ResumptionSecret;
use crate::wire::{CipherSuite, MaxEarlyDataSize, NewSessionTicket};

/// [`session_tickets`], to which a configuration points that keeps sessions.
pub(crate) type TakeTickets =
    fn(SessionSaver, CipherSuite, ResumptionSecret, &Proof, &mut Output<'_>) -> Option<Box<dyn Tickets>>;

/// The data that turns a ticket into a session.
struct SessionTickets {
    saver: SessionSaver,
    suite: CipherSuite,
    resumption: ResumptionSecret,
    origin: SessionOrigin,
    record_limit: u16,
    /// How many more tickets are kept.
    left: u8,
}

/// How many tickets of one connection are kept. The limit protects an application that may write a file for each, since
/// a server may send any number.
const MAX_KEPT: u8 = 4;

/// Returns what makes sessions of tickets; `None` if the time is unknown, or the server has proven an external key, which does what
/// a session would.
pub(crate) fn session_tickets(
    saver: SessionSaver,
    suite: CipherSuite,
    resumption: ResumptionSecret,
    proof: &Proof,
    output: &mut Output<'_>,
) -> Option<Box<dyn Tickets>> {
    let origin = proof.origin_of_sessions(&saver, output)?;
    let record_limit = u16::try_from(output.link.limits().of(true)).unwrap_or(u16::MAX);
    Some(Box::new(SessionTickets { saver, suite, resumption, origin, record_limit, left: MAX_KEPT }))
}

impl Tickets for SessionTickets {
    fn receive(&mut self, ticket: &NewSessionTicket<'_>, output: &Output<'_>) -> Result<(), Error> {
        let max_early_data_size = ticket.extensions.get()?.map_or(0, |MaxEarlyDataSize(size)| size);
        let Some(left) = self.left.checked_sub(1) else {
            output.note("a session ticket too many: not kept");
            return Ok(());
        };
        self.left = left;
        let kind = SessionKind::Tls13 {
            ticket_age_add: ticket.ticket_age_add,
            max_early_data_size,
            record_limit: self.record_limit,
        };
        let new = NewSession {
            suite: self.suite,
            kind,
            secret: self.resumption.psk(ticket.ticket_nonce)?,
            ticket: ticket.ticket.into(),
            lifetime: ticket.ticket_lifetime,
        };
        self.saver.keep(new, self.origin.clone(), output.now);
        Ok(())
    }
}
