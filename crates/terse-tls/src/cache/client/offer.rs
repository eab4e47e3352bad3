//! What a client offers of what it keeps: one scheme's offer at a time, and nothing that does not pass its checks.
//!
//! What must always hold (`caching`, "Offering and selecting"): a ticket is offered only while all that it names can be
//! used, and by one running connection.

use alloc::sync::Arc;

use super::{ClientSession, Context};
use crate::cache::entry::Conditions;
use crate::cache::health::Permission;
use crate::cache::record::Slot;
use crate::cache::{Fingerprint, PeerEntry, Reason, RequestEntry, Save, Scheme, ScopeRecord, Ticket};
use crate::config::CacheDefence;

/// What was offered.
#[derive(Debug, Default)]
pub(super) struct Offer {
    pub(super) slot: Option<Slot>,
    pub(super) server_certificate: Option<Arc<PeerEntry>>,
    pub(super) certificate_request: Option<Arc<RequestEntry>>,
}

impl Offer {
    pub(super) const fn is_empty(&self) -> bool {
        self.slot.is_none() && self.server_certificate.is_none() && self.certificate_request.is_none()
    }
}

impl ClientSession {
    /// Decides it by the record of the scope.
    pub(super) fn choose(&mut self, record: &mut ScopeRecord, context: Context<'_>) -> Save {
        if record.is_empty() {
            self.reason = Some(Reason::FirstContact);
        }
        let before = (record.health, record.history.reason);
        let permission = if context.resumes {
            record.health.beside_resumption()
        } else {
            record.health.begin(context.now.unix.map(|time| time.as_secs()))
        };
        let enables = |scheme| {
            !matches!(permission, Permission::Nothing(_))
                && self.cache.as_ref().is_some_and(|cache| cache.schemes.contains(scheme))
        };
        self.compact = enables(Scheme::Compact);
        self.bithac = context.own_certificate.is_some() && enables(Scheme::Bithac);
        match permission {
            // One scheme at a time: that which the server answered last.
            Permission::Offer if self.compact && record.scheme == Some(Scheme::Compact) => {
                self.offer_everything(record, context);
            }
            Permission::Offer => {
                self.offer.server_certificate = self.usable_certificate(record, context);
                self.offer.certificate_request =
                    record.request(context.versions).filter(|request| request.pays()).cloned();
                if let Some(own_certificate) = context.own_certificate.filter(|_| self.bithac) {
                    self.offer_ticket(record, |slot| {
                        slot.entries.is_none() && slot.own_certificate == Some(own_certificate)
                    });
                }
            }
            Permission::Support(reason) | Permission::Nothing(reason) => self.reason = Some(reason),
        }
        record.history.reason = self.reason;
        let is_same = (record.health, record.history.reason) == before;
        if is_same || record.is_empty() { Save::Later } else { Save::Now }
    }

    /// The server's Certificate, if it passes its checks. What expired or was revoked is deleted.
    fn usable_certificate(&mut self, record: &mut ScopeRecord, context: Context<'_>) -> Option<Arc<PeerEntry>> {
        let entry = record.server_certificate()?.clone();
        let Context { now, trust_id, revocation, certificate_types, without_clock, versions, defences, .. } = context;
        let server = &self.scope.server;
        let conditions =
            Conditions { trust_id, revocation, certificate_types, versions, server, now, without_clock, defences };
        match entry.usable(&conditions) {
            Ok(()) => Some(entry),
            Err(reason) => {
                self.reason = Some(reason);
                if reason.is_final() {
                    record.forget_certificate();
                }
                None
            }
        }
    }

    /// The ticket of `compact`: only while everything that it names can be used, and the client would answer the
    /// request as it did.
    fn offer_everything(&mut self, record: &mut ScopeRecord, context: Context<'_>) {
        let Some(certificate) = self.usable_certificate(record, context) else {
            self.reason = self.reason.or(Some(Reason::NoTicket));
            return;
        };
        let can_be_offered = |slot: &Slot| {
            slot.entries.is_some_and(|entries| match entries.request {
                None => true,
                Some(version) => {
                    let request = record.request(context.versions.contains(&version).then_some(version).as_slice());
                    request.is_some_and(|request| (context.answer)(request) == slot.own_certificate)
                }
            })
        };
        let slot = record.ticket(can_be_offered);
        let request = slot.and_then(|slot| slot.entries).and_then(|entries| entries.request);
        let request = record.request(request.as_slice()).cloned();
        self.offer_ticket(record, |offered| Some(*offered) == slot);
        if self.offer.slot.is_some() {
            self.offer.server_certificate = Some(certificate);
            self.offer.certificate_request = request;
        }
    }

    fn offer_ticket(&mut self, record: &mut ScopeRecord, can_be_offered: impl Fn(&Slot) -> bool) {
        match record.ticket(can_be_offered) {
            None => self.reason = self.reason.or(Some(Reason::NoTicket)),
            Some(_) if record.holders > 0 && !self.defences.lack(CacheDefence::Holding) => {
                self.reason = self.reason.or(Some(Reason::TicketInUse));
            }
            Some(slot) => {
                self.offer.slot = Some(slot);
                self.hold(record);
            }
        }
    }

    /// Whether the extension with the tickets of `scheme` is sent, with or without one.
    pub(crate) const fn supports(&self, scheme: Scheme) -> bool {
        match scheme {
            Scheme::Rfc7924 => false,
            Scheme::Bithac => self.bithac,
            Scheme::Compact => self.compact,
        }
    }

    /// The ticket in the extension of `scheme`.
    pub(crate) fn ticket_of(&self, scheme: Scheme) -> Option<Ticket> {
        self.offered_ticket().filter(|_| (scheme == Scheme::Compact) == self.offers_everything())
    }

    /// The ticket that was offered.
    pub(crate) fn offered_ticket(&self) -> Option<Ticket> {
        self.offer.slot.map(|slot| slot.ticket)
    }

    /// Whether that is a ticket of `compact`.
    fn offers_everything(&self) -> bool {
        self.offer.slot.is_some_and(|slot| slot.entries.is_some())
    }

    /// The own Certificate that the offered ticket stands for.
    pub(crate) fn named_own_certificate(&self) -> Option<Fingerprint> {
        self.offer.slot.and_then(|slot| slot.own_certificate)
    }

    /// The fingerprint in `cached_info` for the server's Certificate.
    pub(crate) fn offered_certificate(&self) -> Option<Fingerprint> {
        self.server_certificate().filter(|_| !self.offers_everything()).map(PeerEntry::fingerprint)
    }

    /// The fingerprint in `cached_info` for the CertificateRequest.
    pub(crate) fn offered_request(&self) -> Option<Fingerprint> {
        self.certificate_request().filter(|_| !self.offers_everything()).map(|request| request.fingerprint)
    }

    /// The server's Certificate that was offered, by its fingerprint or by the ticket.
    pub(crate) fn server_certificate(&self) -> Option<&PeerEntry> {
        self.offer.server_certificate.as_deref()
    }

    /// The CertificateRequest that was offered, by its fingerprint or by the ticket.
    pub(crate) fn certificate_request(&self) -> Option<&RequestEntry> {
        self.offer.certificate_request.as_deref()
    }
}
