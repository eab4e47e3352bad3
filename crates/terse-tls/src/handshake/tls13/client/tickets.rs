//! Handles NewSessionTicket as a client (RFC 9846, 4.7.1).

use alloc::boxed::Box;

use super::proof::Proof;
use crate::error::Error;
use crate::handshake::Output;
use crate::handshake::identity::offer::SecretTickets;
use crate::resume::{NewSession, SessionKind, SessionOrigin, SessionSaver};
use crate::schedule::tls13::ResumptionSecret;
use crate::wire::{CipherSuite, MaxEarlyDataSize, NewSessionTicket};

/// What a client does with tickets.
#[allow(clippy::large_enum_variant)] // it is in a box
pub(crate) enum Tickets {
    /// They become sessions.
    Sessions(SessionTickets),
    /// They are ephemeral secret tickets, for the early data of the next connection.
    Secret(Box<dyn SecretTickets>),
}

/// The data that turns a ticket into a session.
pub(crate) struct SessionTickets {
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

impl Tickets {
    /// Returns `None` if tickets are not wanted, the time is unknown, or the server has proven an external key, which
    /// does what a session would.
    pub(super) fn new(
        saver: Option<SessionSaver>,
        suite: CipherSuite,
        resumption: ResumptionSecret,
        proof: &Proof,
        output: &mut Output<'_>,
    ) -> Option<Self> {
        if let Proof::Identity(identity) = proof {
            return identity.tickets(output).map(Self::Secret);
        }
        let saver = saver?;
        let origin = proof.origin_of_sessions(&saver, output)?;
        let record_limit = u16::try_from(output.link.limits().of(true)).unwrap_or(u16::MAX);
        Some(Self::Sessions(SessionTickets { saver, suite, resumption, origin, record_limit, left: MAX_KEPT }))
    }

    pub(crate) fn receive(&mut self, ticket: &NewSessionTicket<'_>, output: &Output<'_>) -> Result<(), Error> {
        match self {
            Self::Sessions(sessions) => sessions.receive(ticket, output),
            Self::Secret(tickets) => tickets.receive(ticket, output),
        }
    }
}

impl SessionTickets {
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
