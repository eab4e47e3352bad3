//! Resumption in TLS 1.2, by session ID (RFC 5246, 7.3) or ticket (RFC 5077), with the requirements of RFC 7627, 5.3.
//!
//! What must always hold: only sessions with the extended master secret are kept and resumed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::flight::{Selection, server_hello};
use super::{Offer, State};
use crate::cache::Selected;
use crate::cert::VerifiedPeer;
use crate::config::ServerConfig;
use crate::crypto::{CryptoError, Secret, Tls12Suite};
use crate::error::{Error, PeerIncompatible};
use crate::handshake::sessions::Lineage;
use crate::handshake::tls12::traffic::Traffic;
use crate::handshake::{Handshake, Message, Output, negotiated, sessions};
use crate::resume::{Binding, ServerResumption, Session, SessionId, seconds};
use crate::schedule::tls12::{MasterSecret, Randoms};
use crate::schedule::{EpochKeys, Pending, Transcript};
use crate::wire::{Finished, HandshakeType, NewSessionTicket12, ProtocolVersion};

/// How this handshake can be resumed later.
pub(super) struct Resumable {
    resumption: ServerResumption,
    binding: Binding,
    now: u64,
    /// The session ID that was sent to the client; `None` if a ticket follows.
    id: Option<[u8; SESSION_ID_LEN]>,
}

/// The length of a session ID, the longest allowed (RFC 5246, 7.4.1.2): wolfSSL's clients do not notice a resumption
/// with a shorter one. The ID begins with the handle of the store; the rest is random.
const SESSION_ID_LEN: usize = 32;

impl Resumable {
    /// Decides before ServerHello whether this handshake can be resumed. Returns `None` if resumption is disabled, the
    /// client does not support it, or the time is unknown.
    pub(super) fn new(
        config: &ServerConfig,
        offer: &Offer<'_>,
        application_protocol: Option<&[u8]>,
        output: &mut Output<'_>,
    ) -> Result<Option<Self>, Error> {
        let Some(resumption) = config.resumption.as_ref().filter(|_| offer.extended_master_secret) else {
            return Ok(None);
        };
        let id = match resumption {
            ServerResumption::Stateful { .. } => {
                let mut id = [0; SESSION_ID_LEN];
                output.rng.fill(&mut id)?;
                Some(id)
            }
            ServerResumption::Stateless(_) if offer.session_ticket.is_some() => None,
            ServerResumption::Stateless(_) => return Ok(None),
        };
        let version = ProtocolVersion::TLS_1_2;
        let binding = sessions::binding(config, version, offer.server_name, application_protocol);
        let (Some(binding), Some(now)) = (binding, seconds(output.now)) else { return Ok(None) };
        Ok(Some(Self { resumption: resumption.clone(), binding, now, id }))
    }

    pub(super) const fn session_id(&self) -> Option<[u8; SESSION_ID_LEN]> {
        self.id
    }

    /// Keeps the session, or sends it as a ticket, after the client's Finished was verified and before this side's
    /// Finished.
    pub(super) fn keep(
        self,
        suite: &'static Tls12Suite,
        master_secret: &MasterSecret,
        client: Option<&VerifiedPeer>,
        transcript: &mut Transcript,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let Self { resumption, binding, now, id } = self;
        let Lineage { client, end } = Lineage::new(client, now);
        let session =
            Session { suite: suite.id, secret: Secret::new(master_secret.expose()), created: now, end, client };
        let kept = match id {
            Some(id) => handle_of(&id).is_some_and(|handle| resumption.keep(handle, session, &binding)),
            None => {
                let ticket = resumption.issue(session, &binding, output.rng)?;
                let (lifetime_hint, bytes) = ticket.as_ref().map_or((0, &[][..]), |new| (new.lifetime, &new.ticket));
                let ticket = NewSessionTicket12 { lifetime_hint, ticket: bytes };
                let len = output.send_uncounted(HandshakeType::NEW_SESSION_TICKET, &ticket, transcript)?;
                output.summary.sent.count_ticket(len);
                !bytes.is_empty()
            }
        };
        if !kept {
            output.note("the session could not be kept: the next handshake will be a full one");
        }
        Ok(())
    }
}

/// Returns the store's handle for a session ID; `None` if the ID is not from this server.
fn handle_of(session_id: &[u8]) -> Option<SessionId> {
    let handle = session_id.first_chunk().filter(|_| session_id.len() == SESSION_ID_LEN)?;
    Some(SessionId(*handle))
}

/// A session that the client offers, and that may be resumed.
pub(super) struct Resumed {
    suite: &'static Tls12Suite,
    session: Session,
    application_protocol: Option<Vec<u8>>,
}

impl Resumed {
    /// Finds the session that the client offers. Returns `None` for a full handshake.
    pub(super) fn find(
        config: &ServerConfig,
        offer: &Offer<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<Self>, Error> {
        let Some(resumption) = &config.resumption else { return Ok(None) };
        let handle = handle_of(offer.hello.legacy_session_id);
        let shown = match resumption {
            ServerResumption::Stateful { .. } => handle.as_ref().map_or(&[][..], |handle| &handle.0),
            ServerResumption::Stateless(_) => offer.session_ticket.unwrap_or_default(),
        };
        let application_protocol = negotiated::select_application_protocol(config, offer.hello.extensions)?;
        let version = ProtocolVersion::TLS_1_2;
        let binding = sessions::binding(config, version, offer.server_name, application_protocol.as_deref());
        let session = match sessions::find(config, shown, binding.as_ref(), output.now) {
            Ok(session) => session,
            Err(reason) => {
                output.summary.fallback = reason;
                return Ok(None);
            }
        };
        let suite = config.common.enabled_suites().find(|id| *id == session.suite && offer.offers(*id));
        let Some(suite) = suite.and_then(|id| config.common.provider.tls12_suite(id)) else { return Ok(None) };
        if session.secret.as_ref().len() != 48 {
            return Ok(None);
        }
        if !offer.extended_master_secret {
            return Err(PeerIncompatible::NoExtendedMasterSecret.into()); // RFC 7627, 5.3
        }
        Ok(Some(Self { suite, session, application_protocol }))
    }

    /// Sends the server's flight: ServerHello and Finished.
    pub(super) fn send(
        self,
        config: Arc<ServerConfig>,
        offer: &Offer<'_>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let Self { suite, session, application_protocol } = self;
        let mut transcript = Pending::new(message.bytes).start(suite.hash);
        output.agreed.application_protocol = application_protocol;
        output.agreed.server_name = offer.server_name.map(Into::into);
        sessions::resumed_client(session.client.as_ref(), output);
        let session_id = offer.hello.legacy_session_id; // RFC 5077, 3.4: with a ticket, the client has chosen it
        let selection = Selection {
            suite,
            session_id,
            ticket_follows: false,
            certificates: None,
            status_follows: false,
            cached: &Selected::default(),
        };
        let server = server_hello(&config, offer, &selection, &mut transcript, output)?;
        output.summary.round_trips = 1 + offer.verified();

        let randoms = Randoms { client: offer.hello.random, server };
        let master_secret = session.secret.as_ref().try_into().map(|secret| MasterSecret::resumed(suite, secret));
        let master_secret = master_secret.map_err(|_| CryptoError::InvalidLength)?; // checked in `find`
        config.common.log_secret("CLIENT_RANDOM", &randoms.client, master_secret.expose());
        let keys = master_secret.key_block(&randoms);
        output.link.new_keys(&EpochKeys::Tls12(keys.server))?;
        let verify_data = master_secret.server_verify_data(&transcript.current());
        output.send(HandshakeType::FINISHED, &Finished(&verify_data), &mut transcript)?;
        output.link.end_of_flight()?;
        output.receive.keys = Some(Box::new(EpochKeys::Tls12(keys.client)));
        Ok(State::ResumedFinished(Box::new(ExpectResumedFinished { randoms, master_secret, transcript })))
    }
}

/// The state of a server that has sent its Finished.
pub(crate) struct ExpectResumedFinished {
    randoms: Randoms,
    master_secret: MasterSecret,
    transcript: Transcript,
}

impl ExpectResumedFinished {
    pub(super) fn finished(self, message: Message<'_>) -> Result<Handshake, Error> {
        let Self { randoms, master_secret, transcript } = self;
        let Finished(verify_data) = message.expect(HandshakeType::FINISHED)?;
        master_secret.verify_client_finished(verify_data, &transcript.current())?;
        Ok(Box::new(Traffic::new(false, master_secret, randoms, true)))
    }
}
