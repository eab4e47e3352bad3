//! The caching extensions of both versions: what a client offers and a server selects (RFC 7924, 3 and 4; paper 000,
//! IV-B; `compact` of `docs/caching.md`).
//!
//! What must always hold: a client takes only what it offered; a server selects only what it would send, or accept, in
//! this handshake.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::certificate_types::{CertificateTypes, verified_before};
use super::credentials;
use super::{LookUp, Output, signature, stapling};
use crate::cache::CacheDefence;
use crate::cache::{
    ClientSession, Fingerprint, RequestEntry, RequestedCertificate, Scheme, Selection, ServerCache, ServerObjects,
    ServerSession, Ticket, TicketRows, TrustId,
};
use crate::cert::Suited;
use crate::cert::{Credential, PeerRole, RevocationCheck, VerifiedPeer};
use crate::config::{ClientConfig, Common, ServerConfig};
use crate::error::{Error, PeerMisbehaved};
use crate::summary::{CachedObject, Mode};
use crate::time::Now;
use crate::wire::{
    CachedInformation, CachedInformationType, CertificateType, ClientCachedInfo, CompactOffer, CompactSelection,
    EncodeError, ExtensionType, Extensions, ExtensionsBuilder, List, ProtocolVersion, SelectedClientInfo,
    SelectedClientObject, SelectedInformation, SignatureScheme,
};

/// Whether the server replies to the caching extensions at all.
pub(crate) fn is_answered(extensions: Extensions<'_>, common: &Common) -> bool {
    let ours = [ExtensionType::CACHED_INFO, common.client_cached_info, common.compact_cache];
    extensions.iter().any(|(kind, _)| ours.contains(&kind))
}

/// Whether a client answers a request with this Certificate of its own, if it may carry that; `None`: with an empty one,
/// whatever it may carry.
pub(crate) fn answers(config: &ClientConfig, request: &RequestEntry, own: Option<Fingerprint>) -> bool {
    let asked = credentials::CertificateCriteria::from(request);
    let answer = |kind| {
        let answer = asked.answer(config, kind);
        answer.map(|(credential, _)| credential.fingerprint(request.version))
    };
    let mut kinds = config.credentials.iter().map(Credential::certificate_type);
    match own {
        Some(_) => kinds.any(|kind| answer(kind) == own),
        None => kinds.all(|kind| answer(kind).is_none()),
    }
}

/// What the server selects as cached, checked against the offer.
pub(super) fn selected(
    extensions: Extensions<'_>,
    config: &ClientConfig,
    types: CertificateTypes,
    version: ProtocolVersion,
    output: &mut Output<'_>,
) -> Result<Selection, Error> {
    let common = &config.common;
    let server_objects: Option<SelectedInformation<'_>> = extensions.get()?;
    let client_objects: Option<SelectedClientInfo<'_>> = extensions.get_as(common.client_cached_info)?;
    let compact: Option<CompactSelection> = extensions.get_as(common.compact_cache)?;
    let Some(session) = output.cache.as_deref_mut() else { return Ok(Selection::default()) };
    let selection = match (compact, server_objects, client_objects) {
        (Some(CompactSelection(bits)), None, None) => {
            selected_by_ticket(bits.unwrap_or_default(), bits.is_some(), session, config, types, version)?
        }
        (Some(_), ..) => return Err(PeerMisbehaved::IllegalCachingReply.into()),
        (None, server_objects, client_objects) => {
            let is_lax = common.defences().lack(CacheDefence::Selection);
            selected_objects(server_objects, client_objects, session, version, is_lax)?
        }
    };
    session.selected(selection);
    let has_tickets = matches!(selection.scheme, Some(Scheme::Bithac | Scheme::Compact));
    let ticket_unknown = has_tickets && session.offered_ticket().is_some() && !selection.uses_ticket();
    output.summary.fallback = match (session.reason(), ticket_unknown) {
        (None, true) => Some("the server does not know the ticket"),
        (None, false) if session.server_certificate().is_some() && !selection.server_certificate => {
            Some("the server did not take up what was offered")
        }
        (reason, _) => reason,
    };
    output.summary.mode = Mode::of(selection.any(), selection.scheme);
    Ok(selection)
}

/// `compact`: each bit must stand for a part of the ticket that fits this handshake.
fn selected_by_ticket(
    bits: u8,
    is_selection: bool,
    session: &ClientSession,
    config: &ClientConfig,
    types: CertificateTypes,
    version: ProtocolVersion,
) -> Result<Selection, Error> {
    const REDUCED: u8 = CompactSelection::SERVER_CERTIFICATE_REDUCED;
    const ALL: u8 = CompactSelection::SERVER_CERTIFICATE
        | CompactSelection::CERTIFICATE_REQUEST
        | CompactSelection::CLIENT_CERTIFICATE;
    let has_live_extensions = version == ProtocolVersion::TLS_1_3 && !stapling::asked(Some(&config.trust)).is_empty();
    let known = if has_live_extensions { ALL | REDUCED } else { ALL };
    let scheme = Some(Scheme::Compact);
    if !is_selection {
        return Ok(Selection { scheme, ..Selection::default() });
    }
    let selection = Selection {
        scheme,
        server_certificate: bits & (CompactSelection::SERVER_CERTIFICATE | REDUCED) != 0,
        reduced: bits & REDUCED != 0,
        certificate_request: bits & CompactSelection::CERTIFICATE_REQUEST != 0,
        client_certificate: bits & CompactSelection::CLIENT_CERTIFICATE != 0,
    };
    let certificate = session.server_certificate().filter(|entry| entry.stands_for(types.server, version));
    let request = session.certificate_request().filter(|request| request.version == version);
    let is_named = |own: &&Credential| session.named_own_certificate() == Some(own.fingerprint(version));
    let own = config.credentials.iter().find(is_named).filter(|own| own.certificate_type() == types.client);
    let is_illegal = session.ticket_of(Scheme::Compact).is_none()
        || bits & !known != 0
        || (selection.reduced && bits & CompactSelection::SERVER_CERTIFICATE != 0)
        || !selection.any()
        || (selection.server_certificate && certificate.is_none())
        || (selection.certificate_request && request.is_none())
        || (selection.client_certificate && own.is_none());
    if is_illegal && !config.common.defences().lack(CacheDefence::Selection) {
        return Err(PeerMisbehaved::IllegalCachingReply.into());
    }
    Ok(selection)
}

/// `rfc7924` and `bithac`.
fn selected_objects(
    server_objects: Option<SelectedInformation<'_>>,
    client_objects: Option<SelectedClientInfo<'_>>,
    session: &ClientSession,
    version: ProtocolVersion,
    is_lax: bool,
) -> Result<Selection, Error> {
    let scheme = match (&server_objects, &client_objects) {
        (_, Some(_)) => Some(Scheme::Bithac),
        (Some(_), None) => Some(Scheme::Rfc7924),
        (None, None) => None,
    };
    let mut selection = Selection { scheme, ..Selection::default() };
    for kind in server_objects.iter().flat_map(|SelectedInformation(kinds)| kinds.iter()) {
        let (offered, selected) = match kind {
            CachedInformationType::CERT => (session.offered_certificate(), &mut selection.server_certificate),
            CachedInformationType::CERT_REQ => {
                // A request of another version was offered while this one was not known.
                let known = session.certificate_request().is_some_and(|request| request.version == version);
                (session.offered_request().filter(|_| known), &mut selection.certificate_request)
            }
            _ => (None, &mut selection.client_certificate),
        };
        if (offered.is_none() || core::mem::replace(selected, true)) && !is_lax {
            return Err(PeerMisbehaved::IllegalCachingReply.into());
        }
    }
    if let Some(SelectedClientInfo(Some(objects))) = client_objects {
        let mut objects = objects.iter();
        selection.client_certificate = match (objects.next(), objects.next()) {
            (Some(_), _) if is_lax => true,
            _ if session.ticket_of(Scheme::Bithac).is_none() => {
                return Err(PeerMisbehaved::IllegalCachingReply.into());
            }
            (None, _) => false,
            (Some(object), None) if object.kind == CachedInformationType::CERT && object.index == 0 => true,
            _ => return Err(PeerMisbehaved::IllegalCachingReply.into()),
        };
    }
    Ok(selection)
}

/// The server's Certificate that is cached: its fingerprint, and who it is.
pub(super) fn cached_certificate(
    certificate_type: CertificateType,
    version: ProtocolVersion,
    output: &mut Output<'_>,
) -> Result<(Fingerprint, Arc<VerifiedPeer>), Error> {
    let session = output.cache.as_deref().ok_or(PeerMisbehaved::IllegalCachingReply)?;
    let cached = session.server_certificate().filter(|cached| cached.stands_for(certificate_type, version));
    let cached = cached.ok_or(PeerMisbehaved::IllegalCachingReply)?;
    let (fingerprint, peer) = (cached.fingerprint(), cached.shared_peer());
    verified_before(&peer, output);
    output.left_out(CachedObject::ServerCertificate);
    Ok((fingerprint, peer))
}

/// The server's CertificateRequest, as far as a client needs it.
pub(super) struct Request {
    pub(super) signature_algorithms: Vec<SignatureScheme>,
    /// It asks for a stapled OCSP response.
    pub(super) asks_status: bool,
    pub(super) suited: Suited,
    /// Where there is a cache.
    pub(super) fingerprint: Option<Fingerprint>,
    /// Length of the message in full, header included.
    pub(super) length: u16,
}

impl Request {
    /// The one that is cached, and its fingerprint.
    pub(super) fn cached(output: &mut Output<'_>) -> Result<(Fingerprint, Self), Error> {
        let session = output.cache.as_deref().ok_or(PeerMisbehaved::IllegalCachingReply)?;
        let cached = session.certificate_request().cloned().ok_or(PeerMisbehaved::IllegalCachingReply)?;
        output.left_out(CachedObject::CertificateRequest);
        let RequestEntry { fingerprint, signature_algorithms, asks_status, suited, length, .. } = cached;
        Ok((fingerprint, Self { signature_algorithms, asks_status, suited, fingerprint: Some(fingerprint), length }))
    }

    /// As it is kept.
    pub(super) fn entry(self, version: ProtocolVersion) -> Option<RequestEntry> {
        let Self { signature_algorithms, asks_status, suited, fingerprint, length } = self;
        Some(RequestEntry { version, fingerprint: fingerprint?, signature_algorithms, asks_status, suited, length })
    }

    /// What the client answers with; `None`: an empty Certificate. Where the server selected the client's Certificate, it
    /// is the one that the ticket stands for.
    pub(super) fn answer(
        &self,
        config: &ClientConfig,
        kind: CertificateType,
        version: ProtocolVersion,
        selection: Selection,
        output: &mut Output<'_>,
    ) -> Result<Option<(Credential, SignatureScheme)>, Error> {
        let Self { signature_algorithms, suited, .. } = self;
        let asked = credentials::CertificateCriteria { version, signature_algorithms, suited: *suited };
        let session = output.cache.as_deref().filter(|_| selection.client_certificate);
        let answer = match session.and_then(ClientSession::named_own_certificate) {
            Some(subject) => asked.answer_with(config, kind, subject),
            None => asked.answer(config, kind),
        };
        if answer.is_none() && selection.client_certificate {
            return Err(PeerMisbehaved::IllegalCachingReply.into());
        }
        if answer.is_none() {
            output.note("the server asks for a certificate, and there is none that fits");
            if !config.credentials.is_empty() {
                output.summary.fallback = Some(credentials::NONE_FITS);
            }
        }
        Ok(answer.map(|(credential, scheme)| (credential.clone(), scheme)))
    }
}

/// What a client offers of the schemes that this server takes part in.
pub(super) struct Offered<'a> {
    compact: Option<CompactOffer>,
    cached_info: Option<CachedInformation<'a>>,
    client_cached_info: Option<ClientCachedInfo<'a>>,
}

impl<'a> Offered<'a> {
    pub(super) fn parse(config: &ServerConfig, extensions: Extensions<'a>) -> Result<Self, Error> {
        let takes_part = |scheme| config.cache.as_ref().is_some_and(|cache| cache.schemes.contains(scheme));
        let Common { client_cached_info, compact_cache, .. } = config.common;
        Ok(Self {
            compact: if takes_part(Scheme::Compact) { extensions.get_as(compact_cache)? } else { None },
            cached_info: if takes_part(Scheme::Rfc7924) { extensions.get()? } else { None },
            client_cached_info: if takes_part(Scheme::Bithac) { extensions.get_as(client_cached_info)? } else { None },
        })
    }

    /// Looks up the tickets. `None`: the store takes its time. Then the handshake goes back to where it was.
    pub(super) fn look_up(&self, config: &ServerConfig, output: &mut Output<'_>) -> Option<TicketRows> {
        let mut rows = output.look_up.take().map_or_else(TicketRows::default, |known| known.rows);
        let Some(cache) = &config.cache else { return Some(rows) };
        cache.store.seed(output.rng);
        let pending = match self.compact {
            Some(CompactOffer(ticket)) => rows.look_up(&*cache.store, ticket.map(Ticket).into_iter()),
            None => rows.look_up(&*cache.store, self.tickets().map(|(_, ticket)| ticket)),
        };
        if pending.is_some() {
            output.look_up = Some(Box::new(LookUp { rows, pending }));
            return None;
        }
        Some(rows)
    }

    /// The tickets of `bithac`, each with its index.
    fn tickets(&self) -> impl Iterator<Item = (u16, Ticket)> {
        let objects = self.client_cached_info.iter().flat_map(|ClientCachedInfo(objects)| objects);
        (0..)
            .zip(objects.flat_map(|objects| objects.iter()))
            .filter(|(_, object)| object.kind == CachedInformationType::CERT)
            .filter_map(|(index, object)| Some((index, Ticket(object.ticket.try_into().ok()?))))
    }

    fn offers(&self, kind: CachedInformationType, fingerprint: Fingerprint, is_lax: bool) -> bool {
        let objects = self.cached_info.iter().flat_map(|CachedInformation(objects)| objects.iter());
        objects.into_iter().any(|object| object.kind == kind && (object.hash_value == fingerprint.0 || is_lax))
    }
}

/// What a server would send in this handshake.
pub(super) struct OwnObjects<'a> {
    pub(super) certificate: Fingerprint,
    pub(super) request: Option<OwnRequest<'a>>,
    /// Its Certificate has live extensions, in TLS 1.3.
    pub(super) has_extensions: bool,
}

/// A CertificateRequest.
pub(super) struct OwnRequest<'a> {
    pub(super) fingerprint: &'a dyn Fn() -> Fingerprint,
    /// Its fingerprint would not be longer.
    pub(super) pays: bool,
}

/// What this handshake leaves out, or reduces.
pub(super) struct Selected {
    pub(super) server_certificate: bool,
    /// `compact`: that one is reduced to its live extensions.
    pub(super) reduced: bool,
    pub(super) certificate_request: Option<Fingerprint>,
    ticket: Option<SelectedTicket>,
    pub(super) session: Option<ServerSession>,
}

/// The reply to an extension with a ticket.
enum SelectedTicket {
    /// To an empty offer of `bithac`: this side takes part.
    Support,
    /// To tickets of `bithac`: the index of the one that is used.
    Index(Option<u16>),
    /// Of `compact`: what is left out.
    Everything(Selection),
}

impl Selected {
    /// Of a handshake that is not cached.
    pub(super) const fn nothing() -> Self {
        Self { server_certificate: false, reduced: false, certificate_request: None, ticket: None, session: None }
    }

    /// Whether what is cached is not sent at all, but for a Certificate that is reduced.
    pub(super) const fn leaves_out(&self) -> bool {
        matches!(self.ticket, Some(SelectedTicket::Everything(_)))
    }

    /// Whether the server's Certificate is not sent at all.
    pub(super) const fn leaves_out_certificate(&self) -> bool {
        self.leaves_out() && self.server_certificate && !self.reduced
    }

    /// The first scheme that both sides have, even if nothing matches. `rows` are what [`Offered::look_up`] found. `client` is
    /// what its Certificate may carry, and in which version.
    pub(super) fn new(
        config: &ServerConfig,
        offered: &Offered<'_>,
        rows: TicketRows,
        server_name: Option<&str>,
        client: (CertificateType, ProtocolVersion),
        own: OwnObjects<'_>,
        output: &mut Output<'_>,
    ) -> Self {
        let mut selected = Self::nothing();
        let Some(cache) = &config.cache else { return selected };
        let client = Client { config, server_name, client, now: output.now };
        if let Some(CompactOffer(ticket)) = offered.compact {
            selected.select_everything(cache, ticket.map(|_| rows), &client, own, output);
            return selected;
        }
        // RFC 7924, 4: only what would be sent now.
        let is_lax = config.common.defences().lack(CacheDefence::SameObjects);
        selected.server_certificate = offered.offers(CachedInformationType::CERT, own.certificate, is_lax);
        let request = own.request.filter(|request| request.pays && offered.cached_info.is_some());
        let is_offered = |request: &Fingerprint| offered.offers(CachedInformationType::CERT_REQ, *request, is_lax);
        selected.certificate_request = request.map(|request| (request.fingerprint)()).filter(is_offered);
        selected.select_ticket(cache, offered, rows, &client);
        let ticket_used = matches!(selected.ticket, Some(SelectedTicket::Index(Some(_))));
        let any = selected.server_certificate || selected.certificate_request.is_some() || ticket_used;
        let scheme = if selected.ticket.is_some() { Scheme::Bithac } else { Scheme::Rfc7924 };
        output.summary.mode = Mode::of(any, Some(scheme));
        let reason = match (&offered.cached_info, &offered.client_cached_info) {
            (None, None) => Some("the client offers no caching"),
            (None, Some(ClientCachedInfo(None))) => Some("first contact"),
            _ if ticket_used || selected.ticket.is_none() => None,
            _ => selected.session.as_ref().and_then(ServerSession::reason),
        };
        output.summary.fallback = output.summary.fallback.or(reason); // why a session is not resumed comes first
        selected
    }

    /// `compact`.
    fn select_everything(
        &mut self,
        cache: &ServerCache,
        ticket: Option<TicketRows>,
        client: &Client<'_>,
        own: OwnObjects<'_>,
        output: &mut Output<'_>,
    ) {
        let request = own.request.map(|request| (request.fingerprint)());
        let seen = ServerObjects { certificate: own.certificate, request };
        let asked = client.asked().filter(|_| request.is_some());
        let (host_name, without_clock) = (client.host_name(), client.without_clock());
        let session = ServerSession::begin_compact(cache, seen, asked, host_name, output.now, without_clock);
        let session = session.checking(revocation_check(client.config, output.now));
        let mut session = session.defended(client.config.common.defences());
        let is_first = ticket.is_none();
        let mut selection = match ticket {
            None => Selection { scheme: Some(Scheme::Compact), ..Selection::default() },
            Some(rows) => session.select_everything(rows),
        };
        selection.reduced = selection.server_certificate && own.has_extensions;
        output.summary.mode = Mode::of(selection.any(), selection.scheme);
        let reason = if is_first { Some("first contact") } else { session.reason() };
        output.summary.fallback = output.summary.fallback.or(reason);
        self.server_certificate = selection.server_certificate;
        self.reduced = selection.reduced;
        self.certificate_request = request.filter(|_| selection.certificate_request);
        self.ticket = Some(SelectedTicket::Everything(selection));
        self.session = Some(session);
    }

    /// Paper 000, IV-B.
    fn select_ticket(&mut self, cache: &ServerCache, offered: &Offered<'_>, rows: TicketRows, client: &Client<'_>) {
        let Some(ClientCachedInfo(objects)) = &offered.client_cached_info else { return };
        let (host_name, without_clock) = (client.host_name(), client.without_clock());
        let session = ServerSession::begin(cache, client.asked(), host_name, client.now, without_clock);
        let session = session.checking(revocation_check(client.config, client.now));
        let mut session = session.defended(client.config.common.defences());
        self.ticket = Some(match objects {
            None => SelectedTicket::Support,
            Some(_) => {
                let selected = session.select(rows);
                let index = selected.and_then(|nth| offered.tickets().nth(nth.into()));
                SelectedTicket::Index(index.map(|(index, _)| index))
            }
        });
        self.session = Some(session);
    }

    /// Says what was selected.
    pub(super) fn reply(&self, common: &Common, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let client_cached_info = common.client_cached_info;
        if let Some(SelectedTicket::Everything(selection)) = &self.ticket {
            return extensions.push_as(common.compact_cache, &CompactSelection::of(selection));
        }
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
        match self.ticket {
            None | Some(SelectedTicket::Everything(_)) => {}
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

impl CompactSelection {
    /// Nothing at all, rather than a byte without a bit.
    fn of(selection: &Selection) -> Self {
        let bits = [
            (selection.leaves_out_certificate(), Self::SERVER_CERTIFICATE),
            (selection.reduced, Self::SERVER_CERTIFICATE_REDUCED),
            (selection.certificate_request, Self::CERTIFICATE_REQUEST),
            (selection.client_certificate, Self::CLIENT_CERTIFICATE),
        ];
        let bits = bits.iter().filter(|(is_selected, _)| *is_selected).fold(0, |bits, (_, bit)| bits | bit);
        Self(Some(bits).filter(|_| selection.any()))
    }
}

/// The client, as far as its Certificate is concerned.
struct Client<'a> {
    config: &'a ServerConfig,
    server_name: Option<&'a str>,
    client: (CertificateType, ProtocolVersion),
    now: Now,
}

impl Client<'_> {
    /// The Certificate that it is asked for.
    fn asked(&self) -> Option<RequestedCertificate> {
        let (certificate_type, version) = self.client;
        let has_extensions = version == ProtocolVersion::TLS_1_3
            && !stapling::asked(self.config.client_authentication.trust()).is_empty();
        trust_id(self.config).map(|trust_id| RequestedCertificate {
            trust_id,
            certificate_type,
            version,
            has_extensions,
        })
    }

    fn host_name(&self) -> Option<&[u8]> {
        self.server_name.map(str::as_bytes)
    }

    fn without_clock(&self) -> bool {
        self.config.client_authentication.trust().is_some_and(|trust| trust.accepts_without_clock())
    }
}

/// The policy that a client's chain is verified under, if clients are asked for one.
pub(super) fn trust_id(config: &ServerConfig) -> Option<TrustId> {
    let common = &config.common;
    let trust = config.client_authentication.trust()?;
    Some(trust.id(common.provider.sha256, PeerRole::Client, common.chain_signature_schemes()))
}

/// What a client's chain that was verified before must pass as well.
pub(super) fn revocation_check(config: &ServerConfig, now: Now) -> Option<RevocationCheck> {
    let trust = config.client_authentication.trust()?;
    trust.revocation_check(|| signature::chain_algorithms(&config.common), now.unix)
}
