//! The server's last flight, and the session and cache entries of the handshake.

use alloc::boxed::Box;

use super::{Agreed, Learned};
use crate::cache::{self, Fingerprint, Parts};
use crate::crypto::Secret;
use crate::error::Error;
use crate::handshake::signature::ProvenPeer;
use crate::handshake::tls12::traffic::Traffic;
use crate::handshake::{Handshake, Message, Output};
use crate::resume::{MAX_LIFETIME, NewSession, SessionKind};
use crate::schedule::EpochKeys;
use crate::schedule::tls12::{MasterSecret, RecordKeys};
use crate::wire::{Finished, HandshakeType, NewSessionTicket12, ProtocolVersion};

/// The state of a client that has sent its Finished.
pub(crate) struct ExpectFinished {
    pub(super) agreed: Agreed,
    pub(super) learned: Learned,
    pub(super) master_secret: MasterSecret,
    /// The fingerprint of the client's Certificate, if it has authenticated.
    pub(super) proven: Option<Fingerprint>,
    /// The keys of the server's Finished.
    pub(super) keys: RecordKeys,
    pub(super) ticket: Option<Ticket>,
}

/// The content of a NewSessionTicket.
pub(super) struct Ticket {
    pub(super) ticket: Box<[u8]>,
    /// The lifetime in seconds.
    pub(super) lifetime: u32,
}

impl Ticket {
    /// Parses a NewSessionTicket (RFC 5077, 3.3). Returns `None` for an empty ticket. A lifetime hint of 0 means that
    /// it is unspecified.
    pub(super) fn read(message: Message<'_>, output: &mut Output<'_>) -> Result<Option<Self>, Error> {
        let NewSessionTicket12 { lifetime_hint, ticket } = message.expect(HandshakeType::NEW_SESSION_TICKET)?;
        output.summary.received.count_ticket(message.bytes.len());
        let lifetime = if lifetime_hint == 0 { MAX_LIFETIME } else { lifetime_hint };
        Ok((!ticket.is_empty()).then(|| Self { ticket: ticket.into(), lifetime }))
    }
}

impl ExpectFinished {
    pub(super) fn with_new_keys(self: Box<Self>, output: &mut Output<'_>) -> Box<Self> {
        output.receive.keys = Some(Box::new(EpochKeys::Tls12(self.keys.clone())));
        self
    }

    pub(super) fn new_session_ticket(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        self.ticket = Ticket::read(message, output)?;
        self.agreed.transcript.add(message.bytes);
        Ok(self.with_new_keys(output))
    }

    /// RFC 5246, 7.4.9. The server sends it after it has kept what it learned, so the ticket of the cache is confirmed
    /// at once (docs/caching.md, 4.2).
    #[inline(never)]
    pub(super) fn finished(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { agreed, learned, master_secret, proven, ticket, .. } = *self;
        let Finished(verify_data) = message.expect(HandshakeType::FINISHED)?;
        let proof = master_secret.verify_server_finished(verify_data, &agreed.transcript.current())?;
        if let Some(declined) = output.agreed.declined_identity.take() {
            declined.used_certificates(&proof, output.now);
        }
        learned.server.iter().for_each(|server| agreed.config.trust.learn(&proof, &server.peer));
        agreed.keep_session(&learned, &master_secret, ticket, output);
        let Agreed { config, randoms, selection, extended_master_secret, .. } = agreed;
        if let Some(session) = output.cache.as_deref_mut() {
            session.server_finished(!selection.uses_ticket);
            // docs/caching.md, 4.6. A ticket that was offered in vain is gone all the same (docs/caching.md, 4.3).
            let shown = learned.server.and_then(|server| Some((server.peer, server.fingerprint?)));
            let shown = shown.filter(|_| extended_master_secret);
            let request = learned.request.filter(|_| shown.is_some());
            let version = ProtocolVersion::TLS_1_2;
            let subject = shown.as_ref().and_then(|(_, certificate)| {
                session.names(Parts {
                    server_certificate: *certificate,
                    certificate_request: request.as_ref().and_then(|request| request.fingerprint),
                    client_certificate: proven,
                })
            });
            let shown = shown.filter(|_| !selection.server_certificate);
            let request = request.filter(|_| !selection.certificate_request);
            session.finished(cache::Learned {
                proof,
                server_certificate: shown.and_then(|(peer, fingerprint)| session.entry(fingerprint, version, &peer)),
                certificate_request: request.and_then(|request| request.entry(version)),
                ticket: subject.map(|subject| (master_secret.ticket(config.common.provider.sha256, &subject), subject)),
            });
            session.confirmed();
        }
        let traffic = Traffic::new(true, master_secret, randoms, extended_master_secret);
        Ok(Box::new(traffic))
    }
}

impl Agreed {
    /// Keeps the session, if it has a ticket or a session ID.
    fn keep_session(
        &self,
        learned: &Learned,
        master_secret: &MasterSecret,
        ticket: Option<Ticket>,
        output: &Output<'_>,
    ) {
        let saver = self.saver.as_ref().filter(|_| self.extended_master_secret);
        let (Some(saver), Some(ProvenPeer { peer, .. })) = (saver, &learned.server) else { return };
        let (ticket, lifetime, session_id) = match ticket {
            Some(Ticket { ticket, lifetime }) => (ticket, lifetime, Box::default()),
            None if self.session_id.is_empty() => return,
            None => (Box::default(), MAX_LIFETIME, self.session_id.clone()),
        };
        let new = NewSession {
            suite: self.suite.id,
            kind: SessionKind::Tls12 { session_id },
            secret: Secret::new(master_secret.expose()),
            ticket,
            lifetime,
        };
        let protocol = output.agreed.application_protocol.as_deref();
        if let Some(origin) = saver.origin(peer, protocol, output.now) {
            saver.keep(new, origin, output.now);
        }
    }
}
