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
use super::{
    ClientStore, FallbackReason, Fingerprint, Parts, PeerEntry, RequestEntry, Save, Scheme, Schemes, Scope,
    ScopeRecord, Ticket, TicketSubject, TrustId,
};
use crate::cache::Defences;
use crate::cert::{RevocationCheck, VerifiedPeer};
use crate::proof::FinishedProof;
use crate::time::Now;
use crate::wire::{CertificateType, ProtocolVersion};

mod offer;

pub(super) use offer::Offer;
use offer::Offered;

/// The configuration of handshake caching for a client.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientCache {
    /// Where entries and tickets are kept. Connections that share it never show the same ticket.
    pub store: Arc<dyn ClientStore>,
    /// The schemes that are offered.
    pub schemes: Schemes,
}

impl ClientCache {
    /// Creates a configuration that caches in `store`, which connections share, by these `schemes`.
    pub const fn new(store: Arc<dyn ClientStore>, schemes: Schemes) -> Self {
        Self { store, schemes }
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
pub(crate) struct ClientSession {
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
    pub(crate) fn begin(cache: &ClientCache, scope: Scope, context: Context<'_>) -> Self {
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

    /// Returns an entry for the server's chain or raw public key, whose Certificate message of `version` has
    /// `fingerprint`, verified under the `trust_id` of this handshake. Returns `None` if it is not to be kept.
    pub(crate) fn entry(
        &self,
        fingerprint: Fingerprint,
        version: ProtocolVersion,
        peer: &Arc<VerifiedPeer>,
    ) -> Option<PeerEntry> {
        self.store.as_ref()?;
        Some(PeerEntry::new(fingerprint, version, self.trust_id, self.scope.server.clone(), peer))
    }

    /// Returns what the ticket of this handshake stands for, if one was negotiated: what the server showed, sent or
    /// cached, and what this side has proven.
    pub(crate) fn names(&self, parts: Parts) -> Option<TicketSubject> {
        self.selection.subject(parts)
    }

    /// Returns why less than everything was offered.
    pub(crate) const fn reason(&self) -> Option<FallbackReason> {
        self.reason
    }

    /// Notes the server's selection, which is not authenticated yet.
    pub(crate) fn selected(&mut self, selection: Selection) {
        self.selection = selection;
    }

    /// Notes that the server's Finished was verified. With `unknown` the server did not select the offered ticket,
    /// because it said so or because it does not take part (any more). In both cases no later connection may show the
    /// ticket again.
    pub(crate) fn server_finished(&mut self, unknown: bool) {
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

    /// Keeps what was learned, and the new ticket as `newer`, once this side has sent its Finished.
    pub(crate) fn finished(&mut self, learned: Learned) {
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

    /// Ends the session without learning anything, because the handshake was resumed or had a pre-shared key
    /// (docs/caching.md, 4.6).
    pub(crate) fn resumed(&mut self) {
        self.stage = Stage::Over;
        self.release();
    }

    /// Notes that the server has this handshake's ticket, because application data, a NewSessionTicket or a
    /// close_notify came under application keys. May be called for each of them.
    pub(crate) fn confirmed(&mut self) {
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

    /// Notes that this side has closed the connection and nothing failed. The server will have this handshake's ticket
    /// then, though it may never say so, and the ticket that was shown is not shown again (docs/caching.md, 4.3). If
    /// the last flight is lost all the same, the next handshake is a full one.
    pub(crate) fn closed(&mut self) {
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

    /// Notes that the connection failed. Once [`Self::confirmed`] was called, this does nothing but release the ticket.
    pub(crate) fn failed(&mut self, failure: Failure, now: Now) {
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

    /// Lets other connections offer tickets, at the end of a connection whose session is not dropped yet.
    pub(crate) fn release(&mut self) {
        if self.holds {
            self.holds = false;
            self.change(|_, record| {
                record.holders = record.holders.saturating_sub(1);
                Save::Later
            });
        }
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
    pub(super) fn own_ticket(&self) -> Option<Ticket> {
        match &self.stage {
            Stage::Finished(finished) => finished.own_ticket.as_ref().map(|(ticket, _)| *ticket),
            _ => None,
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
