//! The caching extensions of both versions: what a client offers and a server selects (RFC 7924, 3 and 4; paper 000,
//! IV-B).
//!
//! What must always hold: a client takes only what it offered; a server selects only what it would send, or accept, in
//! this handshake.

use alloc::vec::Vec;

use super::Output;
use crate::cache::{Asked, Fingerprint, Scheme, Selection, ServerCache, ServerSession, Ticket, TrustId};
use crate::cert::PeerRole;
use crate::config::ServerConfig;
use crate::error::{Error, PeerMisbehaved};
use crate::summary::Mode;
use crate::time::Now;
use crate::wire::{
    CachedInformation, CachedInformationType, CertificateType, ClientCachedInfo, EncodeError, ExtensionType,
    Extensions, ExtensionsBuilder, List, ProtocolVersion, SelectedClientInfo, SelectedClientObject,
    SelectedInformation,
};

/// Whether the server replies to the caching extensions at all.
pub(crate) fn is_answered(extensions: Extensions<'_>, client_cached_info: ExtensionType) -> bool {
    extensions.iter().any(|(kind, _)| kind == ExtensionType::CACHED_INFO || kind == client_cached_info)
}

/// What the server selects as cached, checked against the offer. The second value says that the server answered
/// `client_cached_info`: the handshake makes a ticket.
pub(crate) fn selected(
    extensions: Extensions<'_>,
    client_cached_info: ExtensionType,
    version: ProtocolVersion,
    output: &mut Output<'_>,
) -> Result<(Selection, bool), Error> {
    let server_objects: Option<SelectedInformation<'_>> = extensions.get()?;
    let client_objects: Option<SelectedClientInfo<'_>> = extensions.get_as(client_cached_info)?;
    let mut selection = Selection::default();
    let Some(session) = output.cache.as_deref_mut() else { return Ok((selection, false)) };
    for kind in server_objects.iter().flat_map(|SelectedInformation(kinds)| kinds.iter()) {
        let (offered, selected) = match kind {
            CachedInformationType::CERT => (session.offered_certificate(), &mut selection.server_certificate),
            CachedInformationType::CERT_REQ => {
                // A request of another version was offered while this one was not known.
                let offered = session.certificate_request().filter(|request| request.version == version);
                (offered.map(|request| request.fingerprint), &mut selection.certificate_request)
            }
            _ => (None, &mut selection.client_certificate),
        };
        if offered.is_none() || core::mem::replace(selected, true) {
            return Err(PeerMisbehaved::IllegalCachingReply.into());
        }
    }
    let negotiated = client_objects.is_some();
    if let Some(SelectedClientInfo(Some(objects))) = client_objects {
        let mut objects = objects.iter();
        selection.client_certificate = match (objects.next(), objects.next()) {
            _ if session.offered_ticket().is_none() => return Err(PeerMisbehaved::IllegalCachingReply.into()),
            (None, _) => false,
            (Some(object), None) if object.kind == CachedInformationType::CERT && object.index == 0 => true,
            _ => return Err(PeerMisbehaved::IllegalCachingReply.into()),
        };
    }
    session.selected(selection);
    let ticket_unknown = negotiated && session.offered_ticket().is_some() && !selection.client_certificate;
    output.summary.fallback = match (session.reason(), ticket_unknown) {
        (None, true) => Some("the server does not know the ticket"),
        (None, false) if session.offered_certificate().is_some() && !selection.server_certificate => {
            Some("the server did not take up what was offered")
        }
        (reason, _) => reason,
    };
    let any = selection.server_certificate || selection.certificate_request || selection.client_certificate;
    output.summary.mode = Mode::of(any, negotiated);
    Ok((selection, negotiated))
}

/// What a client offers of the schemes that this server takes part in.
pub(super) struct Offered<'a> {
    cached_info: Option<CachedInformation<'a>>,
    client_cached_info: Option<ClientCachedInfo<'a>>,
}

impl<'a> Offered<'a> {
    pub(super) fn parse(config: &ServerConfig, extensions: Extensions<'a>) -> Result<Self, Error> {
        let takes_part = |scheme| config.cache.as_ref().is_some_and(|cache| cache.schemes.contains(scheme));
        let client_cached_info = config.common.client_cached_info;
        Ok(Self {
            cached_info: if takes_part(Scheme::Rfc7924) { extensions.get()? } else { None },
            client_cached_info: if takes_part(Scheme::Bithac) { extensions.get_as(client_cached_info)? } else { None },
        })
    }

    fn offers(&self, kind: CachedInformationType, fingerprint: Fingerprint) -> bool {
        let objects = self.cached_info.iter().flat_map(|CachedInformation(objects)| objects.iter());
        objects.into_iter().any(|object| object.kind == kind && object.hash_value == fingerprint.0)
    }
}

/// What this handshake leaves out.
pub(super) struct Selected {
    pub(super) server_certificate: bool,
    pub(super) certificate_request: Option<Fingerprint>,
    /// `client_cached_info` is answered.
    bithac: Option<SelectedTicket>,
    pub(super) session: Option<ServerSession>,
}

/// The reply to `client_cached_info`.
enum SelectedTicket {
    /// To an empty offer: this side takes part.
    Support,
    /// To tickets: the index of the one that is used.
    Index(Option<u16>),
}

impl Selected {
    /// Of a handshake that is not cached.
    pub(super) const fn nothing() -> Self {
        Self { server_certificate: false, certificate_request: None, bithac: None, session: None }
    }

    /// `client` is what its Certificate may carry, and in which version; `certificate` is what would be sent, `request` as well, unless its fingerprint would be longer.
    pub(super) fn new(
        config: &ServerConfig,
        offered: &Offered<'_>,
        server_name: Option<&str>,
        client: (CertificateType, ProtocolVersion),
        certificate: Fingerprint,
        request: Option<&dyn Fn() -> Fingerprint>,
        output: &mut Output<'_>,
    ) -> Self {
        let mut selected = Self::nothing();
        let Some(cache) = &config.cache else { return selected };
        // RFC 7924, 4: only what would be sent now.
        selected.server_certificate = offered.offers(CachedInformationType::CERT, certificate);
        let request = request.filter(|_| offered.cached_info.is_some()).map(|fingerprint| fingerprint());
        let is_offered = |request: &Fingerprint| offered.offers(CachedInformationType::CERT_REQ, *request);
        selected.certificate_request = request.filter(is_offered);
        selected.select_ticket(config, cache, offered, server_name, client, output.now);
        let ticket_used = matches!(selected.bithac, Some(SelectedTicket::Index(Some(_))));
        let any = selected.server_certificate || selected.certificate_request.is_some() || ticket_used;
        output.summary.mode = Mode::of(any, selected.bithac.is_some());
        output.summary.fallback = match (&offered.cached_info, &offered.client_cached_info) {
            (None, None) => Some("the client offers no caching"),
            (None, Some(ClientCachedInfo(None))) => Some("first contact"),
            _ if ticket_used || selected.bithac.is_none() => None,
            _ => selected.session.as_ref().and_then(ServerSession::reason),
        };
        selected
    }

    /// Paper 000, IV-B.
    fn select_ticket(
        &mut self,
        config: &ServerConfig,
        cache: &ServerCache,
        offered: &Offered<'_>,
        server_name: Option<&str>,
        (certificate_type, version): (CertificateType, ProtocolVersion),
        now: Now,
    ) {
        let Some(ClientCachedInfo(objects)) = &offered.client_cached_info else { return };
        let host_name = server_name.map(str::as_bytes);
        let without_clock = config.client_authentication.trust().is_some_and(|trust| trust.accepts_without_clock());
        let asked = trust_id(config, now).map(|trust_id| Asked { trust_id, certificate_type, version });
        let mut session = ServerSession::begin(cache, asked, host_name, now, without_clock);
        self.bithac = Some(match objects {
            None => SelectedTicket::Support,
            Some(objects) => {
                let tickets: Vec<_> = (0..)
                    .zip(objects.iter())
                    .filter(|(_, object)| object.kind == CachedInformationType::CERT)
                    .filter_map(|(index, object)| Some((index, Ticket(object.ticket.try_into().ok()?))))
                    .collect();
                let selected = session.select(tickets.iter().map(|(_, ticket)| *ticket));
                SelectedTicket::Index(selected.and_then(|nth| tickets.get(usize::from(nth))).map(|(index, _)| *index))
            }
        });
        self.session = Some(session);
    }

    /// Says what was selected.
    pub(super) fn reply(
        &self,
        client_cached_info: ExtensionType,
        extensions: &mut ExtensionsBuilder,
    ) -> Result<(), EncodeError> {
        let mut kinds = Vec::new();
        if self.server_certificate {
            kinds.push(CachedInformationType::CERT);
        }
        if self.certificate_request.is_some() {
            kinds.push(CachedInformationType::CERT_REQ);
        }
        if !kinds.is_empty() {
            extensions.push(&SelectedInformation(List::Items(&kinds)))?;
        }
        let kind = CachedInformationType::CERT;
        match self.bithac {
            None => {}
            Some(SelectedTicket::Support) => extensions.push_as(client_cached_info, &SelectedClientInfo(None))?,
            Some(SelectedTicket::Index(None)) => {
                extensions.push_as(client_cached_info, &SelectedClientInfo(Some(List::Items(&[]))))?
            }
            Some(SelectedTicket::Index(Some(index))) => {
                let selected = [SelectedClientObject { kind, index }];
                extensions.push_as(client_cached_info, &SelectedClientInfo(Some(List::Items(&selected))))?;
            }
        }
        Ok(())
    }
}

/// The policy that a client's chain is verified under, if clients are asked for one and it can be cached.
pub(crate) fn trust_id(config: &ServerConfig, now: Now) -> Option<TrustId> {
    let common = &config.common;
    let trust = config.client_authentication.trust()?;
    trust.id(common.provider.sha256, PeerRole::Client, &common.signature_schemes, now.unix)
}
