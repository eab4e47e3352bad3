//! Sends NewSessionTicket as a server (RFC 9846, 4.7.1): one after the client's Finished.

use crate::cert::VerifiedPeer;
use crate::config::ServerConfig;
use crate::error::Error;
use crate::handshake::Output;
use crate::handshake::sessions::Lineage;
use crate::resume::{Binding, Session, seconds};
use crate::schedule::tls13::ResumptionSecret;
use crate::wire::{CipherSuite, ExtensionsBuilder, MaxEarlyDataSize, NewSessionTicket};

/// The data for the ticket of a handshake.
pub(super) struct Issuer {
    /// The context that the session is bound to.
    pub(super) binding: Binding,
    /// The lineage of the session that was resumed, if one was.
    pub(super) lineage: Option<Lineage>,
}

impl Issuer {
    /// Issues a ticket, if the session has time left. The client has authenticated as `peer`, in this handshake or an
    /// earlier one.
    pub(super) fn issue(
        self,
        config: &ServerConfig,
        peer: Option<&VerifiedPeer>,
        suite: CipherSuite,
        resumption: &ResumptionSecret,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let (Some(saver), Some(created)) = (&config.resumption, seconds(output.now)) else { return Ok(()) };
        let secret = resumption.psk(TICKET_NONCE)?;
        let Lineage { client, end } = self.lineage.unwrap_or_else(|| Lineage::new(peer, created));
        let session = Session { suite, secret, created, end, client };
        let ticket_age_add = session.ticket_age_add(resumption.hash());
        let Some(new) = saver.issue(session, &self.binding, output.rng)? else {
            output.note("no session ticket: its time would be over, or it could not be kept");
            return Ok(());
        };
        let mut extensions = ExtensionsBuilder::default();
        if let Some(early_data) = config.early_data {
            extensions.push(&MaxEarlyDataSize(early_data.max_size))?;
        }
        let message = NewSessionTicket {
            ticket_lifetime: new.lifetime,
            ticket_age_add,
            ticket_nonce: TICKET_NONCE,
            ticket: &new.ticket,
            extensions: extensions.extensions(),
        };
        output.push_ticket(&message)
    }
}

/// The nonce of a connection's only ticket. With one ticket it need not be unique.
const TICKET_NONCE: &[u8] = &[];
