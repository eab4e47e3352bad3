//! The resumption of a session, by session ID (RFC 5246, 7.3) or with a ticket (RFC 5077, 3.1).

use alloc::boxed::Box;

use super::State;
use super::finish::Ticket;
use crate::config::ClientConfig;
use crate::crypto::{CryptoError, Tls12Suite};
use crate::error::Error;
use crate::handshake::tls12::traffic::Traffic;
use crate::handshake::{Handshake, Message, Output, sessions};
use crate::resume::{SessionSaver, StoredSession, seconds};
use crate::schedule::tls12::{MasterSecret, Randoms, RecordKeys};
use crate::schedule::{EpochKeys, Transcript};
use crate::wire::{Finished, HandshakeType};

/// A session that the server has resumed.
pub(super) struct Resumed {
    pub(super) suite: &'static Tls12Suite,
    pub(super) randoms: Randoms,
    pub(super) transcript: Transcript,
    pub(super) session: StoredSession,
    pub(super) saver: Option<SessionSaver>,
}

/// The state that expects the server's Finished.
pub(crate) struct ExpectResumedFinished {
    resumed: Resumed,
    master_secret: MasterSecret,
    /// The keys for sending.
    send: RecordKeys,
    receive: RecordKeys,
}

impl Resumed {
    #[inline(never)]
    pub(super) fn start(
        self,
        config: &ClientConfig,
        ticket_follows: bool,
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let secret = self.session.secret.as_ref().try_into().map_err(|_| CryptoError::InvalidLength)?;
        let master_secret = MasterSecret::resumed(self.suite, secret);
        config.common.log_secret("CLIENT_RANDOM", &self.randoms.client, master_secret.expose());
        sessions::resumed_server(&self.session.origin, output);
        output.summary.round_trips += 1;
        let keys = master_secret.key_block(&self.randoms);
        let expect = ExpectResumedFinished { resumed: self, master_secret, send: keys.client, receive: keys.server };
        Ok(if ticket_follows {
            State::ResumedNewSessionTicket(Box::new(expect))
        } else {
            output.receive.keys = Some(Box::new(EpochKeys::Tls12(expect.receive.clone())));
            State::ResumedFinished(Box::new(expect))
        })
    }
}

impl ExpectResumedFinished {
    pub(super) fn new_session_ticket(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        let session = &mut self.resumed.session;
        if let (Some(Ticket { ticket, lifetime }), Some(now)) = (Ticket::read(message, output)?, seconds(output.now)) {
            (session.ticket, session.lifetime, session.received) = (ticket, lifetime, now);
        }
        self.resumed.transcript.add(message.bytes);
        output.receive.keys = Some(Box::new(EpochKeys::Tls12(self.receive.clone())));
        Ok(self)
    }

    /// Verifies the server's Finished, and sends this side's (RFC 5246, 7.4.9). The session is kept for further use.
    #[inline(never)]
    pub(super) fn finished(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { resumed, master_secret, send, .. } = *self;
        let Resumed { randoms, mut transcript, session, saver, .. } = resumed;
        let Finished(verify_data) = message.expect(HandshakeType::FINISHED)?;
        master_secret.verify_server_finished(verify_data, &transcript.current())?;
        transcript.add(message.bytes);
        output.link.new_keys(&EpochKeys::Tls12(send))?;
        let verify_data = master_secret.client_verify_data(&transcript.current());
        output.send(HandshakeType::FINISHED, &Finished(&verify_data), &mut transcript)?;
        output.link.end_of_flight()?;
        if let Some(cache) = output.cache.as_deref_mut() {
            cache.resumed();
        }
        if let Some(saver) = saver.filter(|_| session.fits()) {
            saver.give_back(session);
        }
        Ok(Box::new(Traffic::new(true, master_secret, randoms, true)))
    }
}
