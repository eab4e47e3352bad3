//! This module has the caching schemes: what each of them sends, reads, selects and keeps (docs/caching.md).
//!
//! Each scheme has one module here with a [`CachingScheme`]. The handshakes of all versions, the stores and the
//! endpoint ask that trait, and no other code asks which scheme it is.
//!
//! What must always hold: a client takes only what it offered; a server selects only what it would send, or accept, in
//! this handshake.

use crate::cache::client::{ClientSession, Offer};
use crate::cache::{
    Context, Fingerprint, Parts, RequestedCertificate, ScopeRecord, Selection, ServerCache, ServerSession, Ticket,
    TicketRows, TicketSubject,
};
use crate::cache::{Defences, FallbackReason};
use crate::cert::RevocationCheck;
use crate::error::{Error, PeerMisbehaved};
use crate::time::Now;
use crate::wire::{
    CachedClientObject, CachedInformationType, CachedObject, CertificateType, EncodeError, ExtensionType, Extensions,
    ExtensionsBuilder, List, ProtocolVersion,
};

mod bithac;
mod compact;
mod rfc7924;

/// A caching scheme, as a handshake negotiates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// The scheme of RFC 7924, which caches the server's Certificate and CertificateRequest.
    Rfc7924,
    /// The scheme that adds tickets for the client's Certificate to RFC 7924 (BiTHaC).
    Bithac,
    /// The scheme with one ticket for all three messages, which are then not sent at all.
    Compact,
}

impl Scheme {
    /// All schemes, in the order of their numbers and of their extensions in a ClientHello. A later one is better: of
    /// those that both sides have, the last one is used.
    const ALL: [Self; 3] = [Self::Rfc7924, Self::Bithac, Self::Compact];

    /// Returns what both sides must know of the scheme.
    const fn home(self) -> &'static dyn CachingScheme {
        match self {
            Self::Rfc7924 => &rfc7924::Rfc7924,
            Self::Bithac => &bithac::Bithac,
            Self::Compact => &compact::Compact,
        }
    }

    /// Returns what a client does. A firmware with clients alone has nothing of [`Self::server`], as its linker sees.
    const fn client(self) -> &'static dyn ClientScheme {
        match self {
            Self::Rfc7924 => &rfc7924::Rfc7924,
            Self::Bithac => &bithac::Bithac,
            Self::Compact => &compact::Compact,
        }
    }

    /// Returns what a server does.
    const fn server(self) -> &'static dyn ServerScheme {
        match self {
            Self::Rfc7924 => &rfc7924::Rfc7924,
            Self::Bithac => &bithac::Bithac,
            Self::Compact => &compact::Compact,
        }
    }

    /// Returns whether a client sends the scheme's extension although it has nothing to offer.
    pub(super) fn is_offered_without_ticket(self, context: &Context<'_>) -> bool {
        self.home().is_announced() && self.client().is_useful(context)
    }

    /// Returns the name in reports: `rfc7924`, `bithac` or `compact`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc7924 => "rfc7924",
            Self::Bithac => "bithac",
            Self::Compact => "compact",
        }
    }

    /// Returns the number of the scheme in files, from 1 on.
    pub(super) const fn number(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the scheme of a number that [`Self::number`] gave.
    pub(super) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.number() == number)
    }
}

/// The set of caching schemes that a side takes part in. Of those that both sides have, the best one is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schemes(u8);

impl Schemes {
    /// No scheme: no caching extension is sent or answered.
    pub const OFF: Self = Self(0);
    /// RFC 7924 alone, which caches what the server sends.
    pub const RFC7924: Self = Self::OFF.with(Scheme::Rfc7924);
    /// RFC 7924, and tickets for the client's Certificate (BiTHaC).
    pub const BITHAC: Self = Self::RFC7924.with(Scheme::Bithac);
    /// All schemes, with one ticket for everything static.
    pub const COMPACT: Self = Self::BITHAC.with(Scheme::Compact);

    /// Returns whether `scheme` is in the set.
    pub const fn contains(self, scheme: Scheme) -> bool {
        self.0 & Self::OFF.with(scheme).0 != 0
    }

    pub(super) const fn with(self, scheme: Scheme) -> Self {
        Self(self.0 | 1 << scheme as u8)
    }

    /// Returns the set of those schemes for which `has` returns `true`.
    pub(super) fn filter(self, has: impl Fn(Scheme) -> bool) -> Self {
        self.iter().filter(|scheme| has(*scheme)).fold(Self::OFF, Self::with)
    }

    fn iter(self) -> impl DoubleEndedIterator<Item = Scheme> {
        Scheme::ALL.into_iter().filter(move |scheme| self.contains(*scheme))
    }
}

/// The code points of the extensions that are for private use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodePoints {
    pub(crate) client_cached_info: ExtensionType,
    pub(crate) compact_cache: ExtensionType,
}

/// What differs from scheme to scheme on both sides.
pub(crate) trait CachingScheme: Sync {
    /// Returns whether `extension` is one of the scheme's.
    fn has_extension(&self, extension: ExtensionType, code_points: CodePoints) -> bool;

    /// Returns whether a client that has nothing to offer still sends an extension of the scheme, to say that it takes
    /// part.
    fn is_announced(&self) -> bool;

    /// Returns whether the ticket names all that is cached, which is then not sent at all. Otherwise the fingerprint of
    /// a message is sent in its place.
    fn leaves_out(&self) -> bool;

    /// Returns what the ticket of a handshake with these `parts` stands for, or `None` if it has no ticket.
    fn subject(&self, parts: Parts) -> Option<TicketSubject>;
}

/// What differs from scheme to scheme on a client.
pub(crate) trait ClientScheme: Sync {
    /// Returns whether a client has use for the scheme.
    fn is_useful(&self, _: &Context<'_>) -> bool {
        true
    }

    /// Returns what a client offers of the `record` of its scope.
    fn choose(&self, session: &mut ClientSession, record: &mut ScopeRecord, context: &Context<'_>) -> Offer;

    /// Writes the scheme's extension in a ClientHello, if the client takes part.
    fn write_offer(
        &self,
        session: &ClientSession,
        code_points: CodePoints,
        extensions: &mut ExtensionsBuilder,
    ) -> Result<(), EncodeError>;

    /// Returns what the server selected, if it replied by this scheme to a client.
    fn read_reply(
        &self,
        session: &ClientSession,
        extensions: Extensions<'_>,
        expected: &ExpectedReply<'_>,
    ) -> Result<Option<Selection>, Error>;
}

/// What differs from scheme to scheme on a server.
pub(crate) trait ServerScheme: Sync {
    /// Returns what the client offers to a server, if it takes part.
    fn read_offer<'a>(
        &self,
        extensions: Extensions<'a>,
        code_points: CodePoints,
    ) -> Result<Option<ClientOffer<'a>>, Error>;

    /// Returns what a server leaves out of this handshake. `rows` has what the store knows of the tickets that were
    /// offered.
    fn select(&self, offer: &ClientOffer<'_>, rows: TicketRows, context: &ServerContext<'_>) -> Selected;

    /// Writes what a server selected.
    fn write_reply(
        &self,
        selected: &Selected,
        code_points: CodePoints,
        extensions: &mut ExtensionsBuilder,
    ) -> Result<(), EncodeError>;
}

/// The context in which a client reads the server's reply.
pub(crate) struct ExpectedReply<'a> {
    pub(crate) version: ProtocolVersion,
    /// The type of the server's certificate.
    pub(crate) certificate_type: CertificateType,
    /// Whether the server's Certificate may have live extensions.
    pub(crate) has_extensions: bool,
    /// Returns whether this side can show the Certificate with this fingerprint.
    pub(crate) has_credential: &'a dyn Fn(Fingerprint) -> bool,
    pub(crate) code_points: CodePoints,
    pub(crate) defences: Defences,
}

impl ExpectedReply<'_> {
    /// Fails if a selection does not fit what was offered, which ends the handshake.
    fn check(&self, is_legal: bool) -> Result<(), Error> {
        if self.defences.take_selection(is_legal) { Ok(()) } else { Err(PeerMisbehaved::IllegalCachingReply.into()) }
    }
}

/// The offer of a client by one scheme.
pub(crate) struct ClientOffer<'a> {
    scheme: Scheme,
    /// The fingerprints of `cached_info`.
    objects: Option<List<'a, CachedObject<'a>>>,
    tickets: OfferedTickets<'a>,
}

/// The tickets of a ClientHello.
enum OfferedTickets<'a> {
    None,
    One(Ticket),
    Several(List<'a, CachedClientObject<'a>>),
}

impl ClientOffer<'_> {
    /// Returns the tickets that are offered, each with its index.
    fn indexed_tickets(&self) -> impl Iterator<Item = (u16, Ticket)> {
        let (one, several) = match &self.tickets {
            OfferedTickets::None => (None, None),
            OfferedTickets::One(ticket) => (Some((0, *ticket)), None),
            OfferedTickets::Several(objects) => (None, Some(objects)),
        };
        let several = (0..)
            .zip(several.into_iter().flat_map(|objects| objects.iter()))
            .filter(|(_, object)| object.kind == CachedInformationType::CERT)
            .filter_map(|(index, object)| Some((index, Ticket(object.ticket.try_into().ok()?))));
        one.into_iter().chain(several)
    }

    /// Returns the tickets that are offered.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> {
        self.indexed_tickets().map(|(_, ticket)| ticket)
    }
}

/// The objects that a server would send in this handshake.
pub(crate) struct OwnObjects<'a> {
    pub(crate) certificate: Fingerprint,
    pub(crate) request: Option<OwnRequest<'a>>,
    /// Whether the server's Certificate has live extensions, in TLS 1.3.
    pub(crate) has_extensions: bool,
}

/// The CertificateRequest that a server would send.
pub(crate) struct OwnRequest<'a> {
    pub(crate) fingerprint: &'a dyn Fn() -> Fingerprint,
    /// Whether the fingerprint would not be longer than the CertificateRequest.
    pub(crate) pays: bool,
}

impl OwnObjects<'_> {
    fn request(&self) -> Option<Fingerprint> {
        self.request.as_ref().map(|request| (request.fingerprint)())
    }
}

/// The context in which a server selects.
pub(crate) struct ServerContext<'a> {
    pub(crate) cache: &'a ServerCache,
    pub(crate) own: OwnObjects<'a>,
    /// The host name in the ClientHello.
    pub(crate) host_name: Option<&'a [u8]>,
    /// Returns the Certificate that the client is asked for, if it is asked.
    pub(crate) asked: &'a dyn Fn() -> Option<RequestedCertificate>,
    /// Returns the revocation check that a Certificate which was verified before must pass as well.
    pub(crate) revocation: &'a dyn Fn() -> Option<RevocationCheck>,
    pub(crate) now: Now,
    /// Whether chains are accepted without wall-clock time.
    pub(crate) without_clock: bool,
    pub(crate) defences: Defences,
}

/// The selection of what a server leaves out of a handshake, or reduces.
#[derive(Default)]
pub(crate) struct Selected {
    pub(crate) selection: Selection,
    /// The fingerprint of the CertificateRequest, if that is selected.
    pub(crate) certificate_request: Option<Fingerprint>,
    /// Whether the client offered tickets of `bithac`, and the index of the one that is used.
    offers_tickets: bool,
    index: Option<u16>,
    pub(crate) reason: Option<FallbackReason>,
    /// The session that keeps the client's part.
    pub(crate) session: Option<ServerSession>,
}

impl Selected {
    /// Writes the extension that says what was selected.
    pub(crate) fn reply(&self, code_points: CodePoints, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        match self.selection.scheme {
            None => Ok(()),
            Some(scheme) => scheme.server().write_reply(self, code_points, extensions),
        }
    }
}

/// Returns whether a server replied to the caching extensions at all.
pub(crate) fn is_answered(extensions: Extensions<'_>, code_points: CodePoints) -> bool {
    extensions.iter().any(|(kind, _)| Scheme::ALL.iter().any(|scheme| scheme.home().has_extension(kind, code_points)))
}

/// Returns what a client offers by the best of `schemes`, in which a server takes part.
pub(crate) fn read_offer<'a>(
    schemes: Schemes,
    extensions: Extensions<'a>,
    code_points: CodePoints,
) -> Result<Option<ClientOffer<'a>>, Error> {
    let mut best = None;
    for scheme in schemes.iter() {
        best = scheme.server().read_offer(extensions, code_points)?.or(best);
    }
    Ok(best)
}

/// Returns the first ticket of each of `schemes` in a ClientHello; a client has one. What is malformed counts as
/// absent.
pub(crate) fn first_tickets(
    schemes: Schemes,
    extensions: Extensions<'_>,
    code_points: CodePoints,
) -> impl Iterator<Item = Ticket> {
    let offers =
        schemes.iter().rev().filter_map(move |scheme| scheme.server().read_offer(extensions, code_points).ok()?);
    offers.filter_map(|offer| offer.tickets().next())
}

/// Returns what a server leaves out of this handshake, by the scheme of the `offer`.
pub(crate) fn select(offer: &ClientOffer<'_>, rows: TicketRows, context: &ServerContext<'_>) -> Selected {
    let mut selected = offer.scheme.server().select(offer, rows, context);
    selected.selection.scheme = Some(offer.scheme);
    selected
}

impl ClientSession {
    /// Writes the caching extensions of a ClientHello.
    pub(super) fn write_all_offers(
        &self,
        code_points: CodePoints,
        extensions: &mut ExtensionsBuilder,
    ) -> Result<(), EncodeError> {
        Scheme::ALL.iter().try_for_each(|scheme| scheme.client().write_offer(self, code_points, extensions))
    }

    /// Returns what the server selected, by one scheme.
    pub(super) fn read_any_reply(
        &self,
        extensions: Extensions<'_>,
        expected: &ExpectedReply<'_>,
    ) -> Result<Selection, Error> {
        let code_points = expected.code_points;
        for scheme in Scheme::ALL.into_iter().rev() {
            let Some(selection) = scheme.client().read_reply(self, extensions, expected)? else { continue };
            let is_other = |scheme: Scheme, kind| !scheme.home().has_extension(kind, code_points);
            let mut kinds = extensions.iter().map(|(kind, _)| kind);
            if kinds.any(|kind| is_other(scheme, kind) && Scheme::ALL.into_iter().any(|other| !is_other(other, kind))) {
                return Err(PeerMisbehaved::IllegalCachingReply.into());
            }
            return Ok(Selection { scheme: Some(scheme), ..selection });
        }
        Ok(Selection::default())
    }

    /// Decides by the record of the scope what is offered. If the scheme that the server answered last names everything
    /// by a ticket, the offer is by that scheme, and otherwise by the best one that names messages by their
    /// fingerprints.
    pub(super) fn choose_by_scheme(&mut self, record: &mut ScopeRecord, context: &Context<'_>) -> Offer {
        let last = record.scheme.filter(|scheme| scheme.home().leaves_out() && self.supports(*scheme));
        let by_fingerprint =
            |scheme: &Scheme| !scheme.home().leaves_out() && (self.supports(*scheme) || !scheme.home().is_announced());
        let scheme = last.or_else(|| Scheme::ALL.into_iter().rev().find(by_fingerprint));
        scheme.map_or_else(Offer::default, |scheme| Offer {
            scheme: Some(scheme),
            ..scheme.client().choose(self, record, context)
        })
    }
}

impl Selection {
    /// Returns whether what is cached is not sent at all, except for a Certificate that is reduced.
    pub(crate) fn leaves_out(&self) -> bool {
        self.scheme.is_some_and(|scheme| scheme.home().leaves_out())
    }

    /// Returns whether the scheme has tickets.
    pub(crate) fn has_tickets(&self) -> bool {
        self.scheme.is_some_and(|scheme| scheme.home().is_announced())
    }

    /// Returns what the ticket of this handshake stands for, if one was negotiated.
    pub(super) fn subject(&self, parts: Parts) -> Option<TicketSubject> {
        self.scheme?.home().subject(parts)
    }
}
