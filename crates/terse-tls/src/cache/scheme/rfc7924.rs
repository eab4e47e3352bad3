//! This module has the scheme `rfc7924`, which names what the server sends by its fingerprint (RFC 7924).

use alloc::vec::Vec;

use super::{
    CachingScheme, ClientOffer, ClientScheme, CodePoints, ExpectedReply, OfferedTickets, OwnObjects, Scheme, Selected,
    ServerContext, ServerScheme,
};
use crate::cache::client::{ClientSession, Offer, OfferedCertificate};
use crate::cache::{
    Context, Defences, FallbackReason, Fingerprint, Parts, ScopeRecord, Selection, TicketRows, TicketSubject,
};
use crate::error::Error;
use crate::wire::{
    CachedInformation, CachedInformationType, CachedObject, EncodeError, ExtensionType, Extensions, ExtensionsBuilder,
    List, SelectedInformation,
};

pub(super) struct Rfc7924;

impl CachingScheme for Rfc7924 {
    fn has_extension(&self, extension: ExtensionType, _: CodePoints) -> bool {
        extension == ExtensionType::CACHED_INFO
    }

    fn is_announced(&self) -> bool {
        false
    }

    fn leaves_out(&self) -> bool {
        false
    }

    fn subject(&self, _: Parts) -> Option<TicketSubject> {
        None
    }
}

impl ClientScheme for Rfc7924 {
    fn choose(&self, session: &mut ClientSession, record: &mut ScopeRecord, context: &Context<'_>) -> Offer {
        if !record.fingerprints.are_sent(context.now.unix.map(|time| time.as_secs())) {
            session.reason = Some(FallbackReason::FingerprintsIgnored);
            return Offer::default();
        }
        Offer {
            server_certificate: session.usable_certificate(record, context).map(OfferedCertificate::Entry),
            certificate_request: record.request(context.versions).filter(|request| request.pays()).cloned(),
            ..Offer::default()
        }
    }

    fn write_offer(
        &self,
        session: &ClientSession,
        _: CodePoints,
        extensions: &mut ExtensionsBuilder,
    ) -> Result<(), EncodeError> {
        let certificate = session.offered_certificate().map(|fingerprint| (CachedInformationType::CERT, fingerprint));
        let request = session.offered_request().map(|fingerprint| (CachedInformationType::CERT_REQ, fingerprint));
        let offered: Vec<_> = certificate.into_iter().chain(request).collect();
        let objects = offered.iter().map(|(kind, Fingerprint(hash))| CachedObject { kind: *kind, hash_value: hash });
        let objects: Vec<_> = objects.collect();
        if objects.is_empty() {
            return Ok(());
        }
        extensions.push(&CachedInformation(List::Items(&objects)))
    }

    fn read_reply(
        &self,
        session: &ClientSession,
        extensions: Extensions<'_>,
        expected: &ExpectedReply<'_>,
    ) -> Result<Option<Selection>, Error> {
        let Some(SelectedInformation(kinds)) = extensions.get()? else { return Ok(None) };
        let mut selection = Selection::default();
        for kind in kinds.iter() {
            let (offered, selected) = match kind {
                CachedInformationType::CERT => (session.offered_certificate(), &mut selection.server_certificate),
                CachedInformationType::CERT_REQ => {
                    // The offered request may be of another version, because the version was not known when it was
                    // offered.
                    let known = session.offered_request_entry().is_some_and(|known| known.version == expected.version);
                    (session.offered_request().filter(|_| known), &mut selection.certificate_request)
                }
                _ => (None, &mut selection.client_certificate),
            };
            let is_first = !core::mem::replace(selected, true);
            expected.check(offered.is_some() && is_first)?;
        }
        Ok(Some(selection))
    }
}

impl ServerScheme for Rfc7924 {
    fn read_offer<'a>(&self, extensions: Extensions<'a>, _: CodePoints) -> Result<Option<ClientOffer<'a>>, Error> {
        let offered: Option<CachedInformation<'a>> = extensions.get()?;
        Ok(offered.map(|CachedInformation(objects)| ClientOffer {
            scheme: Scheme::Rfc7924,
            objects: Some(objects),
            tickets: OfferedTickets::None,
        }))
    }

    /// Selects only objects that the server would send in this handshake (RFC 7924, 4).
    fn select(&self, offer: &ClientOffer<'_>, _: TicketRows, context: &ServerContext<'_>) -> Selected {
        let OwnObjects { certificate, request, .. } = &context.own;
        let offers = |kind, fingerprint| offer.names(kind, fingerprint, context.defences);
        let request = request.as_ref().filter(|request| request.pays && offer.objects.is_some());
        let request = request.map(|request| (request.fingerprint)());
        let certificate_request = request.filter(|request| offers(CachedInformationType::CERT_REQ, *request));
        let selection = Selection {
            server_certificate: offers(CachedInformationType::CERT, *certificate),
            certificate_request: certificate_request.is_some(),
            ..Selection::default()
        };
        Selected { selection, certificate_request, ..Selected::default() }
    }

    fn write_reply(
        &self,
        selected: &Selected,
        _: CodePoints,
        extensions: &mut ExtensionsBuilder,
    ) -> Result<(), EncodeError> {
        let Selection { server_certificate, certificate_request, .. } = selected.selection;
        let certificate = server_certificate.then_some(CachedInformationType::CERT);
        let request = certificate_request.then_some(CachedInformationType::CERT_REQ);
        let kinds: Vec<_> = certificate.into_iter().chain(request).collect();
        if kinds.is_empty() {
            return Ok(());
        }
        extensions.push(&SelectedInformation(List::Items(&kinds)))
    }
}

impl ClientOffer<'_> {
    /// Returns whether `cached_info` names what this side would send now.
    fn names(&self, kind: CachedInformationType, own: Fingerprint, defences: Defences) -> bool {
        let objects = self.objects.iter().flat_map(|objects| objects.iter());
        objects.filter(|object| object.kind == kind).any(|object| defences.leave_out(object.hash_value == own.0))
    }
}
