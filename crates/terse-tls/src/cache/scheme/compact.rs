//! This module has the scheme `compact`: one ticket names everything static, and what it names is not sent
//! (docs/caching.md).

use super::{
    CachingScheme, ClientOffer, ClientScheme, CodePoints, ExpectedReply, OfferedTickets, Scheme, Selected,
    ServerContext, ServerScheme,
};
use crate::cache::client::{ClientSession, Offer, OfferedCertificate};
use crate::cache::record::Slot;
use crate::cache::{
    Context, FallbackReason, Parts, ScopeRecord, Selection, ServerObjects, ServerSession, Ticket, TicketRows,
    TicketSubject,
};
use crate::error::Error;
use crate::wire::{CompactOffer, CompactSelection, EncodeError, ExtensionType, Extensions, ExtensionsBuilder};

pub(super) struct Compact;

impl CachingScheme for Compact {
    fn has_extension(&self, extension: ExtensionType, code_points: CodePoints) -> bool {
        extension == code_points.compact_cache
    }

    fn is_announced(&self) -> bool {
        true
    }

    fn leaves_out(&self) -> bool {
        true
    }

    fn subject(&self, parts: Parts) -> Option<TicketSubject> {
        Some(TicketSubject::Static(parts))
    }
}

impl ClientScheme for Compact {
    /// Offers the ticket only while everything that it names can be used, and the client would answer the request as it
    /// did.
    fn choose(&self, session: &mut ClientSession, record: &mut ScopeRecord, context: &Context<'_>) -> Offer {
        let Some(certificate) = session.usable_certificate(record, context) else {
            session.reason = session.reason.or(Some(FallbackReason::NoTicket));
            return Offer::default();
        };
        let can_be_offered = |slot: &Slot| {
            slot.entries.is_some_and(|entries| match entries.request {
                None => true,
                Some(version) => {
                    let request = record.request(context.versions.contains(&version).then_some(version).as_slice());
                    request.is_some_and(|request| (context.answers)(request, slot.own_certificate))
                }
            })
        };
        let slot = record.ticket(can_be_offered);
        let request = slot.and_then(|slot| slot.entries).and_then(|entries| entries.request);
        let request = record.request(request.as_slice()).cloned();
        match session.hold_ticket(record, |offered| Some(*offered) == slot) {
            None => Offer::default(),
            slot => {
                let server_certificate = Some(OfferedCertificate::Entry(certificate));
                Offer { slot, server_certificate, certificate_request: request, ..Offer::default() }
            }
        }
    }

    fn write_offer(
        &self,
        session: &ClientSession,
        code_points: CodePoints,
        extensions: &mut ExtensionsBuilder,
    ) -> Result<(), EncodeError> {
        if !session.supports(Scheme::Compact) {
            return Ok(());
        }
        let ticket = session.ticket_of(Scheme::Compact).map(|Ticket(ticket)| ticket);
        extensions.push_as(code_points.compact_cache, &CompactOffer(ticket))
    }

    /// Reads the bits of the reply, each of which must stand for a part of the ticket that fits this handshake.
    fn read_reply(
        &self,
        session: &ClientSession,
        extensions: Extensions<'_>,
        expected: &ExpectedReply<'_>,
    ) -> Result<Option<Selection>, Error> {
        const REDUCED: u8 = CompactSelection::SERVER_CERTIFICATE_REDUCED;
        const ALL: u8 = CompactSelection::SERVER_CERTIFICATE
            | CompactSelection::CERTIFICATE_REQUEST
            | CompactSelection::CLIENT_CERTIFICATE;
        let reply: Option<CompactSelection> = extensions.get_as(expected.code_points.compact_cache)?;
        let Some(CompactSelection(bits)) = reply else { return Ok(None) };
        let Some(bits) = bits else { return Ok(Some(Selection::default())) };
        let selection = Selection {
            server_certificate: bits & (CompactSelection::SERVER_CERTIFICATE | REDUCED) != 0,
            reduced: bits & REDUCED != 0,
            certificate_request: bits & CompactSelection::CERTIFICATE_REQUEST != 0,
            client_certificate: bits & CompactSelection::CLIENT_CERTIFICATE != 0,
            uses_ticket: bits & (ALL | REDUCED) != 0,
            scheme: None,
        };
        let ExpectedReply { version, certificate_type, has_extensions, has_credential, .. } = *expected;
        let known = if has_extensions { ALL | REDUCED } else { ALL };
        let certificate = session.offered_entry().filter(|entry| entry.stands_for(certificate_type, version));
        let request = session.offered_request_entry().filter(|request| request.version == version);
        let own = session.own_certificate_of_ticket().filter(|own| has_credential(*own));
        let is_legal = session.ticket_of(Scheme::Compact).is_some()
            && bits & !known == 0
            && !(selection.reduced && bits & CompactSelection::SERVER_CERTIFICATE != 0)
            && selection.any()
            && (!selection.server_certificate || certificate.is_some())
            && (!selection.certificate_request || request.is_some())
            && (!selection.client_certificate || own.is_some());
        expected.check(is_legal)?;
        Ok(Some(selection))
    }
}

impl ServerScheme for Compact {
    fn read_offer<'a>(
        &self,
        extensions: Extensions<'a>,
        code_points: CodePoints,
    ) -> Result<Option<ClientOffer<'a>>, Error> {
        let offered: Option<CompactOffer> = extensions.get_as(code_points.compact_cache)?;
        let Some(CompactOffer(ticket)) = offered else { return Ok(None) };
        let tickets = ticket.map(Ticket).map_or(OfferedTickets::None, OfferedTickets::One);
        Ok(Some(ClientOffer { scheme: Scheme::Compact, objects: None, tickets }))
    }

    fn select(&self, offer: &ClientOffer<'_>, rows: TicketRows, context: &ServerContext<'_>) -> Selected {
        let request = context.own.request();
        let shown = ServerObjects { certificate: context.own.certificate, request };
        let mut session = ServerSession::begin(Scheme::Compact, context, shown);
        let (mut selection, reason) = match offer.tickets {
            OfferedTickets::None => (Selection::default(), Some(FallbackReason::FirstContact)),
            _ => (session.select_everything(rows), session.reason()),
        };
        selection.reduced = selection.server_certificate && context.own.has_extensions;
        let certificate_request = request.filter(|_| selection.certificate_request);
        Selected { selection, certificate_request, reason, session: Some(session), ..Selected::default() }
    }

    /// Writes an empty reply if nothing is selected, and never a byte in which no bit is set.
    fn write_reply(
        &self,
        selected: &Selected,
        code_points: CodePoints,
        extensions: &mut ExtensionsBuilder,
    ) -> Result<(), EncodeError> {
        let selection = &selected.selection;
        let bits = [
            (selection.leaves_out_certificate(), CompactSelection::SERVER_CERTIFICATE),
            (selection.reduced, CompactSelection::SERVER_CERTIFICATE_REDUCED),
            (selection.certificate_request, CompactSelection::CERTIFICATE_REQUEST),
            (selection.client_certificate, CompactSelection::CLIENT_CERTIFICATE),
        ];
        let bits = bits.iter().filter(|(is_selected, _)| *is_selected).fold(0, |bits, (_, bit)| bits | bit);
        let reply = CompactSelection(Some(bits).filter(|_| selection.any()));
        extensions.push_as(code_points.compact_cache, &reply)
    }
}

impl ServerSession {
    /// Selects what the ticket that was looked up lets this handshake leave out.
    pub(in crate::cache) fn select_everything(&mut self, rows: TicketRows) -> Selection {
        self.forget_used();
        let mut selection = Selection { scheme: Some(Scheme::Compact), ..Selection::default() };
        let Some(shown) = self.shown() else { return selection };
        let found = rows.into_iter().next().and_then(|(ticket, row)| Some((ticket, row?)));
        let Some((ticket, seen, row)) = found.and_then(|(ticket, row)| Some((ticket, row.seen?, row))) else {
            self.reject(FallbackReason::TicketNotFound);
            return selection;
        };
        let defences = self.defences();
        selection.server_certificate = defences.leave_out(seen.certificate == shown.certificate);
        selection.certificate_request = shown.request.is_some() && defences.leave_out(seen.request == shown.request);
        if let (Some(entry), true) = (&row.entry, self.keeps_certificates() && shown.request.is_some()) {
            match self.check(ticket, entry) {
                Ok(()) if self.asks_for_extensions() => self.reject(FallbackReason::StapleNeeded),
                Ok(()) => selection.client_certificate = true,
                Err(reason) => self.reject(reason),
            }
        }
        selection.uses_ticket = selection.any();
        if selection.any() {
            self.use_row(ticket, row, selection.client_certificate);
        } else if self.reason().is_none() {
            self.reject(FallbackReason::ObjectsChanged);
        }
        selection
    }
}
