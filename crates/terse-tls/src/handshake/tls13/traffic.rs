//! Handles a connection after the handshake: KeyUpdate, tickets, exporters and connection IDs (RFC 9846, 4.7; RFC 9147,
//! 9).

use alloc::boxed::Box;

use crate::error::{Error, PeerMisbehaved};
use crate::handshake::{ConnectionIds, Handshake, Message, Output, Sending, StateMachine, Tickets, TrafficState};
use crate::schedule::EpochKeys;
use crate::schedule::tls13::{ExporterSecret, TrafficSecret};
use crate::wire::{
    ConnectionId, ExtensionMessage, HandshakeType, KeyUpdate, NewConnectionId, NewSessionTicket, RequestConnectionId,
};

/// How many KeyUpdates may come without application data between them.
const MAX_KEY_UPDATES: u8 = 32;

/// The side of the connection.
enum Role {
    Client(Option<Box<dyn Tickets>>),
    Server,
}

/// The state of a connection after the handshake, when application data flows.
pub(crate) struct Traffic {
    role: Role,
    send: TrafficSecret,
    receive: TrafficSecret,
    exporter: ExporterSecret,
    key_updates: u8,
    /// Whether the peer has requested a KeyUpdate that was not sent yet.
    owes_update: bool,
}

impl Traffic {
    pub(super) fn client(
        send: TrafficSecret,
        receive: TrafficSecret,
        exporter: ExporterSecret,
        tickets: Option<Box<dyn Tickets>>,
    ) -> Self {
        Self { role: Role::Client(tickets), send, receive, exporter, key_updates: 0, owes_update: false }
    }

    pub(super) fn server(send: TrafficSecret, receive: TrafficSecret, exporter: ExporterSecret) -> Self {
        Self { role: Role::Server, send, receive, exporter, key_updates: 0, owes_update: false }
    }

    #[inline(never)]
    fn handle_message(&mut self, message: Message<'_>, output: &mut Output<'_>) -> Result<(), Error> {
        match message.kind {
            HandshakeType::KEY_UPDATE => self.key_update(&message.expect(HandshakeType::KEY_UPDATE)?, output)?,
            HandshakeType::NEW_SESSION_TICKET => self.new_session_ticket(message, output)?,
            HandshakeType::REQUEST_CONNECTION_ID if output.agreed.connection_ids => {
                let RequestConnectionId { num_cids } = message.expect(message.kind)?;
                output.receive.connection_ids = Some(ConnectionIds::Requested(num_cids));
            }
            HandshakeType::NEW_CONNECTION_ID if output.agreed.connection_ids => {
                let NewConnectionId { cids, usage } = message.expect(message.kind)?;
                let cids = cids.iter().take(ConnectionIds::MAX_NEW).map(|ConnectionId(cid)| cid.into()).collect();
                output.receive.connection_ids = Some(ConnectionIds::New(cids, usage));
            }
            _ => return Err(message.unexpected()),
        }
        Ok(())
    }

    /// Handles NewSessionTicket (RFC 9846, 4.7.1). A client without resumption ignores all tickets, and every client
    /// ignores those above its limit.
    fn new_session_ticket(&mut self, message: Message<'_>, output: &mut Output<'_>) -> Result<(), Error> {
        let Role::Client(tickets) = &mut self.role else { return Err(message.unexpected()) };
        let ticket: NewSessionTicket<'_> = message.expect(HandshakeType::NEW_SESSION_TICKET)?;
        ticket.extensions.check_request(ExtensionMessage::NewSessionTicket)?;
        match tickets {
            Some(tickets) => tickets.receive(&ticket, output)?,
            None => output.note("a session ticket, not wanted"),
        }
        if let Some(session) = output.cache.as_deref_mut() {
            session.confirmed();
        }
        Ok(())
    }

    fn key_update(&mut self, update: &KeyUpdate, output: &mut Output<'_>) -> Result<(), Error> {
        self.key_updates += 1;
        if self.key_updates > MAX_KEY_UPDATES {
            return Err(PeerMisbehaved::TooManyKeyUpdates.into());
        }
        self.receive = self.receive.update()?;
        output.receive.keys = Some(Box::new(EpochKeys::Tls13(self.receive.clone())));
        if update.update_requested {
            self.owes_update = true;
            // A peer that sends requests but does not read must not fill the buffer, so one later KeyUpdate answers all
            // of them.
            if output.link.pending() == 0 && output.link.can_update_keys() {
                self.update_keys(false, output.sending())?;
            }
        }
        Ok(())
    }
}

impl StateMachine for Traffic {
    fn handle(mut self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        self.handle_message(message, output)?;
        Ok(self)
    }

    fn traffic(&self) -> Option<&dyn TrafficState> {
        Some(self)
    }

    fn traffic_mut(&mut self) -> Option<&mut dyn TrafficState> {
        Some(self)
    }
}

impl TrafficState for Traffic {
    /// Exports keying material (RFC 9846, 7.5), in which no context is the same as an empty one.
    fn export(&self, label: &[u8], context: Option<&[u8]>, out: &mut [u8]) -> Result<(), Error> {
        Ok(self.exporter.export(label, context.unwrap_or_default(), out)?)
    }

    fn can_update_keys(&self) -> bool {
        true
    }

    fn owes_update(&self) -> bool {
        self.owes_update
    }

    /// Sends a KeyUpdate and changes this side's key (RFC 9846, 4.7.3).
    fn update_keys(&mut self, update_requested: bool, sending: Sending<'_>) -> Result<(), Error> {
        let Sending { link, summary, trace } = sending;
        let sending = Sending { link: &mut *link, summary, trace };
        sending.push(HandshakeType::KEY_UPDATE, &KeyUpdate { update_requested })?;
        self.owes_update = false;
        self.send = self.send.update()?;
        link.new_keys(&EpochKeys::Tls13(self.send.clone()))
    }

    /// Notes that application data came, so that the count of KeyUpdates begins anew.
    fn received_data(&mut self) {
        self.key_updates = 0;
    }
}
