//! The server's Finished, and what is kept of the handshake.

use alloc::boxed::Box;

use super::{Agreed, Learned};
use crate::cache::{self, Fingerprint};
use crate::error::Error;
use crate::handshake::tls12::traffic::Traffic;
use crate::handshake::{Handshake, Message, Output};
use crate::schedule::tls12::MasterSecret;
use crate::wire::{CachedInformationType, Finished, HandshakeType};

/// The client's Finished is sent.
pub(crate) struct ExpectFinished {
    pub(super) agreed: Agreed,
    pub(super) learned: Learned,
    pub(super) master_secret: MasterSecret,
    /// The Certificate that this side has proven.
    pub(super) proven: Option<Fingerprint>,
}

impl ExpectFinished {
    /// RFC 5077, 3.3
    pub(super) fn new_session_ticket(
        self: Box<Self>,
        message: Message<'_>,
        _output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        Err(message.unexpected())
    }

    /// RFC 5246, 7.4.9. The server sends it after it has kept what it learned, so the ticket is confirmed at once
    /// (`caching`, rule 2).
    pub(super) fn finished(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { agreed, learned, master_secret, proven } = *self;
        let Agreed { randoms, transcript, extended_master_secret, selection, makes_ticket, .. } = agreed;
        let Finished(verify_data) = message.expect(HandshakeType::FINISHED)?;
        let proof = master_secret.verify_server_finished(verify_data, &transcript.current())?;
        if let Some(session) = output.cache.as_deref_mut().filter(|_| extended_master_secret) {
            session.server_finished(!selection.client_certificate);
            let ticket =
                proven.filter(|_| makes_ticket).map(|own| master_secret.ssc_ticket(CachedInformationType::CERT, own));
            session.finished(cache::Learned {
                proof,
                server_certificate: learned.server_certificate,
                certificate_request: learned.certificate_request,
                ticket,
            });
            session.confirmed();
        }
        Ok(Handshake::Tls12Traffic(Box::new(Traffic::new(true, master_secret, randoms))))
    }
}
