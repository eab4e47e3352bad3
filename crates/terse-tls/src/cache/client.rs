//! One connection's dealings with a client's cache: what it offers, and what it learns.
//!
//! What must always hold (docs/caching.md, 4.2 and 4.3):
//! - A running connection holds its ticket: no other connection of the store offers one in its scope meanwhile.
//! - Nothing is kept before the server's Finished was verified, but the note that a connection failed.
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

/// Handshake caching of a client.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientCache {
    /// Where entries and tickets are kept. Connections that share it never show the same ticket.
    pub store: Arc<dyn ClientStore>,
    /// What is offered.
    pub schemes: Schemes,
}

impl ClientCache {
    /// Caching with what is kept in `store`, which connections share, by these `schemes`.
    pub const fn new(store: Arc<dyn ClientStore>, schemes: Schemes) -> Self {
        Self { store, schemes }
    }
}

impl fmt::Debug for ClientCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCache").field("schemes", &self.schemes).finish_non_exhaustive()
    }
}

/// What a connection brings along, besides its scope.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) now: Now,
    /// What a server's chain would be verified under.
    pub(crate) trust_id: TrustId,
    /// Where that checks it.
    pub(crate) revocation: Option<&'a RevocationCheck>,
    /// What the server's Certificate may carry.
    pub(crate) certificate_types: &'static [CertificateType],
    /// The Certificates that this side could send, in TLS 1.3.
    pub(crate) own_certificates: &'a [Fingerprint],
    /// Whether it would answer a CertificateRequest with this Certificate of its own; `None`: with an empty one.
    pub(crate) answers: &'a dyn Fn(&RequestEntry, Option<Fingerprint>) -> bool,
    /// Whether chains are accepted without wall-clock time.
    pub(crate) without_clock: bool,
    /// What may be negotiated.
    pub(crate) versions: &'a [ProtocolVersion],
    /// The ClientHello offers a session: nothing cached beside it (docs/caching.md, 4.6).
    pub(crate) resumes: bool,
    pub(crate) defences: Defences,
}

/// What a server selected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Selection {
    /// The scheme that it answered.
    pub(crate) scheme: Option<Scheme>,
    pub(crate) server_certificate: bool,
    /// `compact`: that one is sent all the same, reduced to its live extensions.
    pub(crate) reduced: bool,
    pub(crate) certificate_request: bool,
    pub(crate) client_certificate: bool,
    /// The server knows the ticket that was offered.
    pub(crate) uses_ticket: bool,
}

impl Selection {
    /// Whether anything is cached.
    pub(crate) const fn any(&self) -> bool {
        self.server_certificate || self.certificate_request || self.client_certificate
    }

    /// Whether the server's Certificate is not sent at all.
    pub(crate) fn leaves_out_certificate(&self) -> bool {
        self.leaves_out() && self.server_certificate && !self.reduced
    }
}

/// What a handshake leaves to be kept. `None`: not sent, or cached.
#[derive(Debug)]
pub(crate) struct Learned {
    pub(crate) proof: FinishedProof,
    pub(crate) server_certificate: Option<PeerEntry>,
    pub(crate) certificate_request: Option<RequestEntry>,
    /// The ticket of this handshake, if one was negotiated, and what it stands for.
    pub(crate) ticket: Option<(Ticket, TicketSubject)>,
}

/// How a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A fatal alert from either side: one of them refused what it got.
    AlertOrFailedCheck,
    /// Nothing came, or the end of the stream.
    TimeoutOrClose,
}

/// One connection's dealings with the cache. Dropping it releases a held ticket. It lives as long as the connection, and
/// so do its bytes.
pub(crate) struct ClientSession {
    /// `None`: caching is off.
    store: Option<Arc<dyn ClientStore>>,
    scope: Scope,
    /// When, in seconds since 1970; 0 without a clock.
    begun: u32,
    trust_id: TrustId,
    /// The schemes whose extension is sent, with or without a ticket.
    supported: Schemes,
    /// What was offered, if anything. In a box, and so is what comes later: the first handshake, which has to hold its
    /// certificates as well, has nothing to offer.
    offer: Option<Box<Offer>>,
    pub(super) reason: Option<FallbackReason>,
    selection: Selection,
    holds: bool,
    stage: Stage,
    defences: Defences,
}

/// How far the connection got.
enum Stage {
    /// No Finished was sent.
    Handshake,
    /// The own Finished was sent.
    Finished(Box<Finished>),
    /// The server is known to have finished, or the connection failed: nothing more is learned.
    Over,
}

/// The own Finished was sent.
struct Finished {
    /// How the scope stood until then, in case the connection fails yet.
    before: Health,
    /// What was offered, if anything: the entries themselves are not needed any more.
    offered: Option<Box<Offered>>,
    /// This handshake's own ticket.
    own_ticket: Option<(Ticket, TicketSubject)>,
    /// Once this side has closed: how often `confirmed` was used, in case the connection fails yet.
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

    /// An entry for the server's chain or raw public key, whose Certificate message of `version` has `fingerprint`,
    /// verified under the `trust_id` of this handshake. `None`: not to be kept.
    pub(crate) fn entry(
        &self,
        fingerprint: Fingerprint,
        version: ProtocolVersion,
        peer: &Arc<VerifiedPeer>,
    ) -> Option<PeerEntry> {
        self.store.as_ref()?;
        Some(PeerEntry::new(fingerprint, version, self.trust_id, self.scope.server.clone(), peer))
    }

    /// What the ticket of this handshake stands for, if one was negotiated: what the server showed, sent or cached, and
    /// what this side has proven.
    pub(crate) fn names(&self, parts: Parts) -> Option<TicketSubject> {
        self.selection.subject(parts)
    }

    /// Why less than everything was offered.
    pub(crate) const fn reason(&self) -> Option<FallbackReason> {
        self.reason
    }

    /// The server's selection was read. It is not authenticated yet.
    pub(crate) fn selected(&mut self, selection: Selection) {
        self.selection = selection;
    }

    /// The server's Finished was verified. With `unknown` the server did not select the offered ticket, be it that it
    /// said so or that it does not take part (any more): either way no later connection may show the ticket again.
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

    /// The own Finished was sent: keeps what was learned, and the new ticket as `newer`.
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

    /// The handshake was resumed or had a pre-shared key: nothing is learned from it (docs/caching.md, 4.6).
    pub(crate) fn resumed(&mut self) {
        self.stage = Stage::Over;
        self.release();
    }

    /// Application data, NewSessionTicket or close_notify came under application keys: the server has this handshake's
    /// ticket. May be called for each.
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

    /// This side has said all that it wanted to, and nothing failed. The server will have this handshake's ticket then,
    /// though it may never say so: the one that was shown is not shown again (docs/caching.md, 4.3). If the last flight
    /// is lost all the same, the next handshake is a full one.
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

    /// The connection failed, before [`Self::confirmed`] was called; later, this does nothing but release the ticket.
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

    /// Lets other connections offer tickets. For the end of a connection whose session lives on; dropping does it too.
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
        // Whoever owns the store asks it why it could not save; the connection goes on.
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

/// After an alert or failed check that follows a selection: both slots go, and the objects that were selected, so that
/// the next connection does not fail in the same way.
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
    /// Nothing more is learned, if the own Finished was sent.
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
