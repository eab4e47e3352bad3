//! This module handles what one connection offers from a client's cache, and what it learns for it.
//!
//! What must always hold (docs/caching.md, 4.2 and 4.3):
//! - A running connection holds its ticket: no other connection of the store offers one in its scope meanwhile.
//! - Nothing is kept before the server's Finished was verified, except the note that a connection failed.
//! - A failed save never fails a connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use super::health::{Fingerprints, Health};
use super::record::Slot;
use super::scheme::{CodePoints, ExpectedReply};
use super::session::{Begin, CacheSession};
use super::{
    ClientStore, FallbackReason, Fingerprint, Parts, PeerEntry, RequestEntry, Save, Scheme, Schemes, Scope,
    ScopeRecord, Ticket, TicketSubject, TrustId,
};
use crate::cache::Defences;
use crate::cert::{RevocationCheck, VerifiedPeer};
use crate::error::Error;
use crate::proof::FinishedProof;
use crate::time::Now;
use crate::wire::{CertificateType, EncodeError, Extensions, ExtensionsBuilder, ProtocolVersion};

mod offer;

use offer::Offered;
pub(super) use offer::{Offer, OfferedCertificate};

/// The configuration of handshake caching for a client.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientCache {
    /// Where entries and tickets are kept. Connections that share it never show the same ticket.
    pub store: Arc<dyn ClientStore>,
    /// The schemes that are offered.
    pub schemes: Schemes,
    /// The code of the handshake, which nothing else names.
    pub(crate) begin: Begin,
}

impl ClientCache {
    /// Creates a configuration that caches in `store`, which connections share, by these `schemes`.
    pub const fn new(store: Arc<dyn ClientStore>, schemes: Schemes) -> Self {
        Self { store, schemes, begin }
    }
}

impl fmt::Debug for ClientCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCache").field("schemes", &self.schemes).finish_non_exhaustive()
    }
}

/// The properties of a connection that decide, besides its scope, what it offers.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) now: Now,
    /// The policy under which a server's chain would be verified.
    pub(crate) trust_id: TrustId,
    /// The revocation check, if the policy has one.
    pub(crate) revocation: Option<&'a RevocationCheck>,
    /// The types of certificate that the server may send.
    pub(crate) certificate_types: &'static [CertificateType],
    /// The Certificates that this side could send, in TLS 1.3.
    pub(crate) own_certificates: &'a [Fingerprint],
    /// Returns whether this side would answer a CertificateRequest with this Certificate of its own, or with an empty
    /// one for `None`.
    pub(crate) answers: &'a dyn Fn(&RequestEntry, Option<Fingerprint>) -> bool,
    /// Whether chains are accepted without wall-clock time.
    pub(crate) without_clock: bool,
    /// The versions that may be negotiated.
    pub(crate) versions: &'a [ProtocolVersion],
    /// Whether the ClientHello offers a session, beside which nothing cached is offered (docs/caching.md, 4.6).
    pub(crate) resumes: bool,
    pub(crate) defences: Defences,
}

/// The caching that a server selected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Selection {
    /// The scheme that the server answered.
    pub(crate) scheme: Option<Scheme>,
    pub(crate) server_certificate: bool,
    /// In `compact`, whether the server's Certificate is sent all the same, reduced to its live extensions.
    pub(crate) reduced: bool,
    pub(crate) certificate_request: bool,
    pub(crate) client_certificate: bool,
    /// Whether the server knows the ticket that was offered.
    pub(crate) uses_ticket: bool,
}

impl Selection {
    /// Returns whether anything is cached.
    pub(crate) const fn any(&self) -> bool {
        self.server_certificate || self.certificate_request || self.client_certificate
    }

    /// Returns whether the server's Certificate is not sent at all.
    pub(crate) fn leaves_out_certificate(&self) -> bool {
        self.leaves_out() && self.server_certificate && !self.reduced
    }
}

/// The objects that a handshake leaves to be kept. One that is `None` was not sent, or is cached already.
#[derive(Debug)]
pub(crate) struct Learned {
    pub(crate) proof: FinishedProof,
    pub(crate) server_certificate: Option<PeerEntry>,
    pub(crate) certificate_request: Option<RequestEntry>,
    /// The ticket of this handshake, if one was negotiated, and what it stands for.
    pub(crate) ticket: Option<(Ticket, TicketSubject)>,
}

/// The way in which a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A fatal alert came from either side, because one of them refused what it got.
    AlertOrFailedCheck,
    /// Nothing more came, or the stream ended.
    TimeoutOrClose,
}

/// The session of one connection with the cache. Dropping it releases a held ticket. It lives as long as the
/// connection, and so does its memory.
pub(super) struct ClientSession {
    /// The store, or `None` if caching is off.
    store: Option<Arc<dyn ClientStore>>,
    scope: Scope,
    /// When the connection began, in seconds since 1970; 0 without a clock.
    begun: u32,
    trust_id: TrustId,
    /// The schemes whose extension is sent, with or without a ticket.
    supported: Schemes,
    /// The offer, if anything was offered. It is in a box, as later state is, because the first handshake, which has to
    /// hold its certificates as well, has nothing to offer.
    offer: Option<Box<Offer>>,
    pub(super) reason: Option<FallbackReason>,
    selection: Selection,
    holds: bool,
    stage: Stage,
    defences: Defences,
}

fn begin(cache: &ClientCache, scope: Scope, context: Context<'_>) -> Box<dyn CacheSession> {
    Box::new(ClientSession::begin(cache, scope, context))
}

/// The progress of the connection.
enum Stage {
    /// This side has not sent its Finished yet.
    Handshake,
    /// This side has sent its Finished.
    Finished(Box<Finished>),
    /// The server is known to have finished, or the connection failed, and nothing more is learned.
    Over,
}

/// The state once this side has sent its Finished.
struct Finished {
    /// The health of the scope until then, in case the connection still fails.
    before: Health,
    /// The names of what was offered, if anything. The entries themselves are not needed any more.
    offered: Option<Box<Offered>>,
    /// The ticket of this handshake, and what it stands for.
    own_ticket: Option<(Ticket, TicketSubject)>,
    /// Once this side has closed, how often `confirmed` was used before, in case the connection still fails.
    uses: Option<u8>,
}

impl ClientSession {
    /// Reads the record of `scope` and decides what is offered.
    pub(super) fn begin(cache: &ClientCache, scope: Scope, context: Context<'_>) -> Self {
        let mut session = Self {
            store: cache.schemes.contains(Scheme::Rfc7924).then(|| cache.store.clone()),
            scope,
            begun: context.now.seconds(),
            trust_id: context.trust_id,
            supported: Schemes::OFF,
            offer: None,
            reason: None,
            selection: Selection::default(),
            holds: false,
            stage: Stage::Handshake,
            defences: context.defences,
        };
        session.change(|session, record| session.choose(record, cache.schemes, context));
        session
    }

    fn hold(&mut self, record: &mut ScopeRecord) {
        if !self.holds {
            self.holds = true;
            record.holders = record.holders.saturating_add(1);
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Self, &mut ScopeRecord) -> Save) {
        let Some(store) = self.store.clone() else { return };
        let scope = self.scope.clone();
        let mut change = Some(change);
        // The owner of the store can ask it why it could not save; the connection goes on.
        let _ = store.update(&scope, &mut |record| match change.take() {
            Some(change) => change(self, record),
            None => Save::Later,
        });
    }

    #[cfg(test)]
    pub(super) fn selected(&mut self, selection: Selection) {
        self.selection = selection;
    }

    #[cfg(test)]
    pub(super) fn own_ticket(&self) -> Option<Ticket> {
        match &self.stage {
            Stage::Finished(finished) => finished.own_ticket.as_ref().map(|(ticket, _)| *ticket),
            _ => None,
        }
    }
}

impl CacheSession for ClientSession {
    fn entry(&self, fingerprint: Fingerprint, version: ProtocolVersion, peer: &Arc<VerifiedPeer>) -> Option<PeerEntry> {
        self.store.as_ref()?;
        Some(PeerEntry::new(fingerprint, version, self.trust_id, self.scope.server.clone(), peer))
    }

    fn names(&self, parts: Parts) -> Option<TicketSubject> {
        self.selection.subject(parts)
    }

    fn reason(&self) -> Option<FallbackReason> {
        self.reason
    }

    fn read_reply(&mut self, extensions: Extensions<'_>, expected: &ExpectedReply<'_>) -> Result<Selection, Error> {
        self.selection = self.read_any_reply(extensions, expected)?;
        let selection = self.selection;
        let is_unknown = selection.has_tickets() && self.offered_ticket().is_some() && !selection.uses_ticket;
        self.reason = match (self.reason, is_unknown) {
            (None, true) => Some(FallbackReason::TicketUnknown),
            (None, false) if self.offered_certificate().is_some() && !selection.server_certificate => {
                Some(FallbackReason::OfferIgnored)
            }
            (reason, _) => reason,
        };
        Ok(selection)
    }

    fn write_offers(&self, code_points: CodePoints, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        self.write_all_offers(code_points, extensions)
    }

    fn server_certificate(&self) -> Option<&PeerEntry> {
        self.offered_entry()
    }

    fn certificate_request(&self) -> Option<&RequestEntry> {
        self.offered_request_entry()
    }

    fn named_own_certificate(&self) -> Option<Fingerprint> {
        self.own_certificate_of_ticket()
    }

    fn server_finished(&mut self, unknown: bool) {
        self.offer.iter_mut().for_each(|offer| offer.forget_entry());
        let Some(ticket) = self.offered_ticket() else { return };
        self.change(|session, record| {
            if session.selection.uses_ticket {
                record.known(ticket);
            } else if unknown {
                record.unknown(ticket);
                record.history.reason = Some(FallbackReason::TicketUnknown);
            }
            Save::Later // `finished` follows; until it does, the older slot does as well
        });
    }

    fn finished(&mut self, learned: Learned) {
        let Learned { proof: FinishedProof { .. }, server_certificate, certificate_request, ticket } = learned;
        self.change(|session, record| {
            let before = record.health;
            record.health.succeeded(session.offer.is_some());
            if session.selection.any() {
                record.history.used = session.begun;
            }
            if session.offered_certificate().is_some() || session.offered_request().is_some() {
                let now = Some(u64::from(session.begun)).filter(|now| *now != 0);
                record.fingerprints.answered(session.selection.scheme.is_some(), now);
            }
            if session.selection.scheme.is_some() {
                record.fingerprints = Fingerprints::default();
            }
            if session.supported != Schemes::OFF {
                record.scheme = session.selection.scheme; // of a server that was asked
            }
            if let Some(entry) = server_certificate.filter(PeerEntry::fits) {
                record.learn_certificate(entry);
            }
            if let Some(request) = certificate_request.filter(RequestEntry::fits) {
                record.learn_request(request);
            }
            if record.history.made == 0 {
                record.history.made = session.begun;
            }
            let has_own = session.defences.replace_tickets() || !session.selection.uses_ticket;
            let offered = session.offer.as_deref().map(|offer| Box::new(offer.names()));
            let finished = Finished { before, offered, own_ticket: ticket.filter(|_| has_own), uses: None };
            if let Some(slot) = finished.own_slot(record) {
                if !session.defences.keep_two_slots() {
                    record.confirm(slot);
                }
                record.learn_ticket(slot, session.offered_ticket().filter(|_| session.selection.uses_ticket));
                session.hold(record);
            }
            session.offer = None;
            session.stage = Stage::Finished(Box::new(finished));
            Save::Now
        });
    }

    fn resumed(&mut self) {
        self.stage = Stage::Over;
        self.release();
    }

    fn confirmed(&mut self) {
        let Some(finished) = self.stage.end_if_finished() else { return };
        if finished.own_ticket.is_none() {
            return;
        }
        self.change(|_, record| match finished.own_slot(record) {
            None => Save::Later,
            Some(slot) => {
                record.confirm(slot);
                Save::Now
            }
        });
    }

    fn closed(&mut self) {
        let Stage::Finished(finished) = &self.stage else { return };
        let Some((ticket, _)) = finished.own_ticket else { return };
        self.change(|session, record| match (record.prefer_newer(ticket), &mut session.stage) {
            (Some(uses), Stage::Finished(finished)) => {
                finished.uses = Some(uses);
                Save::Now
            }
            _ => Save::Later,
        });
    }

    fn failed(&mut self, failure: Failure, now: Now) {
        let (stage, selection) = (core::mem::replace(&mut self.stage, Stage::Over), self.selection);
        self.release();
        let (before, offered, own) = match stage {
            Stage::Over => return,
            Stage::Handshake => (None, self.offer.as_deref().map(Offer::names), None),
            Stage::Finished(finished) => {
                let own = finished.own_ticket.zip(finished.uses);
                (Some(finished.before), finished.offered.map(|offered| *offered), own)
            }
        };
        self.change(|session, record| {
            let unchanged = record.clone();
            if let Some(((ticket, _), uses)) = own {
                record.prefer_confirmed(ticket, uses);
            }
            record.health = before.unwrap_or(record.health);
            if session.defences.alternate() {
                record.health.failed(offered.is_some(), now.unix.map(|time| time.as_secs()));
            }
            if failure == Failure::AlertOrFailedCheck && session.defences.drop_tickets() {
                drop_selected(record, selection, offered.unwrap_or_default());
            }
            if *record == unchanged { Save::Later } else { Save::Now }
        });
    }

    fn release(&mut self) {
        if self.holds {
            self.holds = false;
            self.change(|_, record| {
                record.holders = record.holders.saturating_sub(1);
                Save::Later
            });
        }
    }
}

/// Drops both slots and the objects that were selected, after an alert or a failed check that follows a selection, so
/// that the next connection does not fail in the same way.
fn drop_selected(record: &mut ScopeRecord, selection: Selection, offered: Offered) {
    if selection.any() {
        record.drop_tickets();
    }
    if selection.server_certificate && record.server_entry().map(PeerEntry::fingerprint) == offered.certificate {
        record.forget_certificate();
    }
    if let Some(request) = offered.request.filter(|_| selection.certificate_request) {
        record.forget_request(request);
    }
}

impl Stage {
    /// Ends the session if this side has sent its Finished, and returns the state until then.
    fn end_if_finished(&mut self) -> Option<Box<Finished>> {
        match core::mem::replace(self, Self::Over) {
            Self::Finished(finished) => Some(finished),
            stage => {
                *self = stage;
                None
            }
        }
    }
}

impl Finished {
    fn own_slot(&self, record: &ScopeRecord) -> Option<Slot> {
        let (ticket, subject) = self.own_ticket.as_ref()?;
        record.slot(*ticket, subject)
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests;
