//! One connection's dealings with a client's cache: what it offers, and what it learns.
//!
//! What must always hold (`caching`, rules 2 and 3):
//! - A running connection holds its ticket: no other connection of the store offers one in its scope meanwhile.
//! - Nothing is kept before the server's Finished was verified, but the note that a connection failed.
//! - A failed save never fails a connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use super::health::Health;
use super::record::Slot;
use super::{
    ClientStore, Fingerprint, FinishedProof, Named, Parts, PeerEntry, Reason, RequestEntry, Save, Scheme, Schemes,
    Scope, ScopeRecord, Ticket, TrustId,
};
use crate::cert::{RevocationCheck, VerifiedPeer};
use crate::config::{CacheDefence, Defences};
use crate::time::Now;
use crate::wire::{CertificateType, ProtocolVersion};

mod offer;

use offer::Offer;

/// Handshake caching of a client.
#[derive(Clone)]
pub struct ClientCache {
    /// Where entries and tickets are kept. Connections that share it never show the same ticket.
    pub store: Arc<dyn ClientStore>,
    /// What is offered.
    pub schemes: Schemes,
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
    /// The Certificate that this side would send.
    pub(crate) own_certificate: Option<Fingerprint>,
    /// What it would answer a CertificateRequest with; `None`: an empty one.
    pub(crate) answer: &'a dyn Fn(&RequestEntry) -> Option<Fingerprint>,
    /// Whether chains are accepted without wall-clock time.
    pub(crate) without_clock: bool,
    /// What may be negotiated.
    pub(crate) versions: &'a [ProtocolVersion],
    /// The ClientHello offers a session: nothing cached beside it (`caching`, rule 6).
    pub(crate) resumes: bool,
    pub(crate) defences: Defences,
}

/// What a server selected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Selection {
    /// What it answered.
    pub(crate) scheme: Option<Scheme>,
    pub(crate) server_certificate: bool,
    /// `compact`: that one is sent all the same, reduced to its live extensions.
    pub(crate) reduced: bool,
    pub(crate) certificate_request: bool,
    pub(crate) client_certificate: bool,
}

impl Selection {
    /// Whether anything is cached.
    pub(crate) const fn any(&self) -> bool {
        self.server_certificate || self.certificate_request || self.client_certificate
    }

    /// Whether what is cached is not sent at all, but for a Certificate that is reduced.
    pub(crate) const fn leaves_out(&self) -> bool {
        matches!(self.scheme, Some(Scheme::Compact))
    }

    /// Whether the server's Certificate is not sent at all.
    pub(crate) const fn leaves_out_certificate(&self) -> bool {
        self.leaves_out() && self.server_certificate && !self.reduced
    }

    /// Whether the server knows the ticket that was offered.
    pub(crate) const fn uses_ticket(&self) -> bool {
        match self.scheme {
            Some(Scheme::Compact) => self.any(),
            _ => self.client_certificate,
        }
    }
}

/// What a handshake leaves to be kept. `None`: not sent, or cached.
#[derive(Debug)]
pub(crate) struct Learned {
    pub(crate) proof: FinishedProof,
    pub(crate) server_certificate: Option<PeerEntry>,
    pub(crate) certificate_request: Option<RequestEntry>,
    /// The ticket of this handshake, if one was negotiated, and what it stands for.
    pub(crate) ticket: Option<(Ticket, Named)>,
}

/// How a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A fatal alert from either side: one of them refused what it got.
    AlertOrFailedCheck,
    /// Nothing came, or the end of the stream.
    TimeoutOrClose,
}

/// One connection's dealings with the cache. Dropping it releases a held ticket.
#[derive(Debug)]
pub(crate) struct ClientSession {
    /// `None`: caching is off.
    cache: Option<ClientCache>,
    scope: Arc<Scope>,
    /// When, in seconds since 1970; 0 without a clock.
    begun: u32,
    trust_id: TrustId,
    /// Whether `client_cached_info` and `compact_cache` are sent, with or without a ticket.
    bithac: bool,
    compact: bool,
    offer: Offer,
    reason: Option<Reason>,
    selection: Selection,
    /// The server's Certificate and CertificateRequest in this handshake, sent or cached.
    certificate: Option<Fingerprint>,
    request: Option<Fingerprint>,
    /// This handshake's own ticket.
    own_ticket: Option<Box<(Ticket, Named)>>,
    holds: bool,
    stage: Stage,
    defences: Defences,
}

/// How far the connection got.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// No Finished was sent.
    Handshake,
    /// The own Finished was sent; `before` is how the scope stood until then, in case the connection fails yet.
    Finished { before: Health },
    /// The server is known to have finished, or the connection failed: nothing more is learned.
    Over,
}

impl ClientSession {
    /// Reads the record of `scope` and decides what is offered.
    pub(crate) fn begin(cache: &ClientCache, scope: Scope, context: Context<'_>) -> Self {
        let mut session = Self {
            cache: Some(cache.clone()).filter(|cache| cache.schemes.contains(Scheme::Rfc7924)),
            scope: Arc::new(scope),
            begun: context.now.seconds(),
            trust_id: context.trust_id,
            bithac: false,
            compact: false,
            offer: Offer::default(),
            reason: None,
            selection: Selection::default(),
            certificate: None,
            request: None,
            own_ticket: None,
            holds: false,
            stage: Stage::Handshake,
            defences: context.defences,
        };
        session.change(|session, record| session.choose(record, context));
        session
    }

    /// An entry for the server's chain or raw public key, whose Certificate message of `version` has `fingerprint`,
    /// verified under the `trust_id` of this handshake. `None`: not to be kept.
    pub(crate) fn entry(
        &self,
        fingerprint: Fingerprint,
        version: ProtocolVersion,
        peer: VerifiedPeer,
    ) -> Option<PeerEntry> {
        self.cache.as_ref()?;
        Some(PeerEntry::new(fingerprint, version, self.trust_id, self.scope.server.clone(), peer))
    }

    /// The server's Certificate in this handshake, sent or cached.
    pub(crate) const fn saw_certificate(&mut self, fingerprint: Fingerprint) {
        self.certificate = Some(fingerprint);
    }

    /// The server's CertificateRequest in this handshake, sent or cached.
    pub(crate) const fn saw_request(&mut self, fingerprint: Fingerprint) {
        self.request = Some(fingerprint);
    }

    /// What the ticket of this handshake stands for, if one was negotiated. `own_certificate` was proven.
    pub(crate) fn names(&self, own_certificate: Option<Fingerprint>) -> Option<Named> {
        match self.selection.scheme? {
            Scheme::Rfc7924 => None,
            Scheme::Bithac => own_certificate.map(Named::Client),
            Scheme::Compact => Some(Named::Static(Parts {
                server_certificate: self.certificate?,
                certificate_request: self.request,
                client_certificate: own_certificate,
            })),
        }
    }

    /// Why less than everything was offered.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        self.reason.map(Reason::text)
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
            if session.selection.uses_ticket() {
                record.known(ticket);
            } else if unknown {
                record.unknown(ticket);
                record.history.reason = Some(Reason::TicketUnknown);
            }
            Save::Later // `finished` follows; until it does, the older slot does as well
        });
    }

    /// The own Finished was sent: keeps what was learned, and the new ticket as `newer`.
    pub(crate) fn finished(&mut self, learned: Learned) {
        let Learned { proof: FinishedProof(()), server_certificate, certificate_request, ticket } = learned;
        self.change(|session, record| {
            session.stage = Stage::Finished { before: record.health };
            record.health.succeeded(!session.offer.is_empty());
            if session.selection.any() {
                record.history.used = session.begun;
            }
            if session.bithac || session.compact {
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
            session.own_ticket = ticket.map(Box::new);
            if session.defences.lack(CacheDefence::FreshTickets) && session.selection.uses_ticket() {
                session.own_ticket = None;
            }
            if let Some(slot) = session.own_slot(record) {
                if session.defences.lack(CacheDefence::TwoSlots) {
                    record.confirm(slot);
                }
                record.learn_ticket(slot, session.offered_ticket().filter(|_| session.selection.uses_ticket()));
                session.hold(record);
            }
            Save::Now
        });
    }

    /// The handshake was resumed or had a pre-shared key: nothing is learned from it (`caching`, rule 6).
    pub(crate) fn resumed(&mut self) {
        self.stage = Stage::Over;
        self.release();
    }

    /// Application data, NewSessionTicket or close_notify came under application keys: the server has this handshake's
    /// ticket. May be called for each.
    pub(crate) fn confirmed(&mut self) {
        if !matches!(self.stage, Stage::Finished { .. }) {
            return;
        }
        self.stage = Stage::Over;
        if self.own_ticket.is_none() {
            return;
        }
        self.change(|session, record| match session.own_slot(record) {
            None => Save::Later,
            Some(slot) => {
                record.confirm(slot);
                Save::Now
            }
        });
    }

    /// The connection failed, before [`Self::confirmed`] was called; later, this does nothing but release the ticket.
    pub(crate) fn failed(&mut self, failure: Failure, now: Now) {
        let (stage, selection) = (self.stage, self.selection);
        self.stage = Stage::Over;
        self.release();
        if matches!(stage, Stage::Over) {
            return;
        }
        self.change(|session, record| {
            let unchanged = record.clone();
            if let Stage::Finished { before } = stage {
                record.health = before;
            }
            if !session.defences.lack(CacheDefence::Alternation) {
                record.health.failed(!session.offer.is_empty(), now.unix.map(|time| time.as_secs()));
            }
            if failure == Failure::AlertOrFailedCheck && !session.defences.lack(CacheDefence::DroppedTickets) {
                session.drop_selected(record, selection);
            }
            if *record == unchanged { Save::Later } else { Save::Now }
        });
    }

    /// After an alert or failed check that follows a selection: both slots go, and the objects that were selected, so
    /// that the next connection does not fail in the same way.
    fn drop_selected(&self, record: &mut ScopeRecord, selection: Selection) {
        if selection.any() {
            record.drop_tickets();
        }
        if selection.server_certificate && record.server_certificate() == self.offer.server_certificate.as_ref() {
            record.forget_certificate();
        }
        if let Some(request) = self.certificate_request().filter(|_| selection.certificate_request) {
            record.forget_request(request.fingerprint);
        }
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
        let Some(store) = self.cache.as_ref().map(|cache| cache.store.clone()) else { return };
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
        self.own_ticket.as_ref().map(|own| own.0)
    }

    fn own_slot(&self, record: &ScopeRecord) -> Option<Slot> {
        let (ticket, named) = self.own_ticket.as_deref()?;
        record.slot(*ticket, named)
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests;
