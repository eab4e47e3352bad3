//! This module has the scheme `bithac`: RFC 7924 for what the server sends, and tickets for the client's Certificate
//! (BiTHaC, IV-B).

use alloc::vec::Vec;

use super::rfc7924::Rfc7924;
use super::{
    CachingScheme, ClientOffer, ClientScheme, CodePoints, ExpectedReply, OfferedTickets, Scheme, Selected,
    ServerContext, ServerScheme,
};
use crate::cache::client::{ClientSession, Offer};
use crate::cache::record::Slot;
use crate::cache::{
    Context, FallbackReason, Parts, Row, ScopeRecord, Selection, ServerObjects, ServerSession, Ticket, TicketRows,
    TicketSubject,
};
use crate::error::Error;
use crate::wire::{
    CachedClientObject, CachedInformationType, ClientCachedInfo, EncodeError, ExtensionType, Extensions,
    ExtensionsBuilder, List, SelectedClientInfo, SelectedClientObject,
};

pub(super) struct Bithac;

impl CachingScheme for Bithac {
    fn has_extension(&self, extension: ExtensionType, code_points: CodePoints) -> bool {
        extension == code_points.client_cached_info || Rfc7924.has_extension(extension, code_points)
    }

    fn is_announced(&self) -> bool {
        true
    }

    fn leaves_out(&self) -> bool {
        false
    }

    fn subject(&self, parts: Parts) -> Option<TicketSubject> {
        parts.client_certificate.map(TicketSubject::Client)
    }
}

impl ClientScheme for Bithac {
    /// Returns whether the client has a certificate, because without one it can get no ticket of `bithac`.
    fn is_useful(&self, context: &Context<'_>) -> bool {
        !context.own_certificates.is_empty()
    }

    fn choose(&self, session: &mut ClientSession, record: &mut ScopeRecord, context: &Context<'_>) -> Offer {
        let objects = Rfc7924.choose(session, record, context);
        if session.reason == Some(FallbackReason::FingerprintsIgnored) {
            return objects;
        }
        // The ticket must stand for a Certificate that this side can still send.
        let is_of_own = |own| context.own_certificates.contains(&own);
        let is_ours = |slot: &Slot| slot.entries.is_none() && slot.own_certificate.is_some_and(is_of_own);
        Offer { slot: session.hold_ticket(record, is_ours), ..objects }
    }

    fn write_offer(
        &self,
        session: &ClientSession,
        code_points: CodePoints,
        extensions: &mut ExtensionsBuilder,
    ) -> Result<(), EncodeError> {
        if !session.supports(Scheme::Bithac) {
            return Ok(());
        }
        let ticket = session.ticket_of(Scheme::Bithac);
        let object = |ticket| CachedClientObject { kind: CachedInformationType::CERT, ticket };
        let objects: Vec<_> = ticket.iter().map(|ticket| object(&ticket.0)).collect();
        let info = ClientCachedInfo(ticket.is_some().then_some(List::Items(&objects)));
        extensions.push_as(code_points.client_cached_info, &info)
    }

    fn read_reply(
        &self,
        session: &ClientSession,
        extensions: Extensions<'_>,
        expected: &ExpectedReply<'_>,
    ) -> Result<Option<Selection>, Error> {
        let reply: Option<SelectedClientInfo<'_>> = extensions.get_as(expected.code_points.client_cached_info)?;
        let Some(SelectedClientInfo(objects)) = reply else { return Ok(None) };
        let mut selection = Rfc7924.read_reply(session, extensions, expected)?.unwrap_or_default();
        let Some(objects) = objects else { return Ok(Some(selection)) };
        expected.check(session.ticket_of(Scheme::Bithac).is_some())?;
        let mut objects = objects.iter();
        if let Some(object) = objects.next() {
            let is_ours = object.kind == CachedInformationType::CERT && object.index == 0;
            expected.check(is_ours && objects.next().is_none())?;
            selection.client_certificate = true;
        }
        selection.uses_ticket = selection.client_certificate;
        Ok(Some(selection))
    }
}

impl ServerScheme for Bithac {
    fn read_offer<'a>(
        &self,
        extensions: Extensions<'a>,
        code_points: CodePoints,
    ) -> Result<Option<ClientOffer<'a>>, Error> {
        let offered: Option<ClientCachedInfo<'a>> = extensions.get_as(code_points.client_cached_info)?;
        let Some(ClientCachedInfo(tickets)) = offered else { return Ok(None) };
        let objects = Rfc7924.read_offer(extensions, code_points)?.and_then(|offer| offer.objects);
        let tickets = tickets.map_or(OfferedTickets::None, OfferedTickets::Several);
        Ok(Some(ClientOffer { scheme: Scheme::Bithac, objects, tickets }))
    }

    fn select(&self, offer: &ClientOffer<'_>, rows: TicketRows, context: &ServerContext<'_>) -> Selected {
        let mut selected = Rfc7924.select(offer, TicketRows::default(), context);
        let shown = ServerObjects { certificate: context.own.certificate, request: None };
        let mut session = ServerSession::begin(Scheme::Bithac, context, shown);
        let offers_tickets = !matches!(offer.tickets, OfferedTickets::None);
        if offers_tickets {
            let used = session.select(rows);
            let index = used.and_then(|nth| offer.indexed_tickets().nth(nth.into()));
            selected.index = index.map(|(index, _)| index);
        }
        selected.selection.client_certificate = selected.index.is_some();
        selected.selection.uses_ticket = selected.index.is_some();
        selected.offers_tickets = offers_tickets;
        selected.reason = match &offer.objects {
            None if !offers_tickets => Some(FallbackReason::FirstContact),
            _ => session.reason(),
        };
        selected.session = Some(session);
        selected
    }

    fn write_reply(
        &self,
        selected: &Selected,
        code_points: CodePoints,
        extensions: &mut ExtensionsBuilder,
    ) -> Result<(), EncodeError> {
        Rfc7924.write_reply(selected, code_points, extensions)?;
        let kind = CachedInformationType::CERT;
        let objects: Vec<_> = selected.index.iter().map(|index| SelectedClientObject { kind, index: *index }).collect();
        let info = SelectedClientInfo(selected.offers_tickets.then_some(List::Items(&objects)));
        extensions.push_as(code_points.client_cached_info, &info)
    }
}

impl ServerSession {
    /// Selects the first of the tickets that can be used, and returns its place. Deletes what has expired or was
    /// revoked.
    pub(in crate::cache) fn select(&mut self, rows: TicketRows) -> Option<u16> {
        self.forget_used();
        self.keeps_certificates().then_some(())?;
        for (place, (ticket, row)) in (0..).zip(rows) {
            match self.usable(ticket, row) {
                Ok(row) => {
                    self.use_row(ticket, row, true);
                    return Some(place);
                }
                Err(reason) => self.reject(reason),
            }
        }
        None
    }

    /// Returns the row that was found, if it is one of `bithac` and can be used.
    fn usable(&self, ticket: Ticket, row: Option<Row>) -> Result<Row, FallbackReason> {
        let row = row.filter(|row| row.seen.is_none()).ok_or(FallbackReason::TicketNotFound)?;
        let entry = row.entry.as_ref().ok_or(FallbackReason::TicketNotFound)?;
        self.check(ticket, entry)?;
        Ok(row)
    }
}
