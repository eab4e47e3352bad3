//! What a client offers of what it keeps: one scheme's offer at a time, and nothing that does not pass its checks.
//!
//! What must always hold (`caching`, "Offering and selecting"): a ticket is offered only while all that it names can be
//! used, and by one running connection.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::{ClientSession, Context};
use crate::cache::CacheDefence;
use crate::cache::entry::Conditions;
use crate::cache::health::Permission;
use crate::cache::record::Slot;
use crate::cache::{Fingerprint, PeerEntry, Reason, RequestEntry, Save, Scheme, Schemes, ScopeRecord, Ticket};

/// What was offered.
#[derive(Default)]
pub(super) struct Offer {
    slot: Option<Slot>,
    server_certificate: Option<Arc<PeerEntry>>,
    certificate_request: Option<Arc<RequestEntry>>,
}

/// The objects of an offer by name.
#[derive(Default)]
pub(super) struct Offered {
    pub(super) certificate: Option<Fingerprint>,
    pub(super) request: Option<Fingerprint>,
}

impl Offer {
    pub(super) fn names(&self) -> Offered {
        Offered {
            certificate: self.server_certificate.as_deref().map(PeerEntry::fingerprint),
            request: self.certificate_request.as_deref().map(|request| request.fingerprint),
        }
    }

    const fn is_empty(&self) -> bool {
        self.slot.is_none() && self.server_certificate.is_none() && self.certificate_request.is_none()
    }
}

impl ClientSession {
    /// Decides it by the record of the scope.
    pub(super) fn choose(&mut self, record: &mut ScopeRecord, schemes: Schemes, context: Context<'_>) -> Save {
        if record.is_empty() {
            self.reason = Some(Reason::FirstContact);
        }
        let before = (record.health, record.fingerprints, record.history.reason);
        let permission = if context.resumes {
            record.health.beside_resumption()
        } else {
            record.health.begin(context.now.unix.map(|time| time.as_secs()))
        };
        let enables = |scheme| !matches!(permission, Permission::Nothing(_)) && schemes.contains(scheme);
        self.compact = enables(Scheme::Compact);
        self.bithac = !context.own_certificates.is_empty() && enables(Scheme::Bithac);
        let offer = match permission {
            // One scheme at a time: that which the server answered last.
            Permission::Offer if self.compact && record.scheme == Some(Scheme::Compact) => {
                self.everything(record, context)
            }
            Permission::Offer if !record.fingerprints.are_sent(context.now.unix.map(|time| time.as_secs())) => {
                self.reason = Some(Reason::FingerprintsIgnored);
                Offer::default()
            }
            Permission::Offer => Offer {
                server_certificate: self.usable_certificate(record, context),
                certificate_request: record.request(context.versions).filter(|request| request.pays()).cloned(),
                slot: if self.bithac { self.ticket(record, |slot| is_of_bithac(slot, context)) } else { None },
            },
            Permission::Support(reason) | Permission::Nothing(reason) => {
                self.reason = Some(reason);
                Offer::default()
            }
        };
        self.offer = (!offer.is_empty()).then(|| Box::new(offer));
        record.history.reason = self.reason;
        let is_same = (record.health, record.fingerprints, record.history.reason) == before;
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
    fn everything(&mut self, record: &mut ScopeRecord, context: Context<'_>) -> Offer {
        let Some(certificate) = self.usable_certificate(record, context) else {
            self.reason = self.reason.or(Some(Reason::NoTicket));
            return Offer::default();
        };
        let can_be_offered = |slot: &Slot| {
            slot.entries.is_some_and(|entries| match entries.request {
                None => true,
                Some(version) => {
                    let request = record.request(context.versions.contains(&version).then_some(version).as_slice());
                    request.is_some_and(|request| (context.answers)(request, slot.own_certificate))
                }
            })
        };
        let slot = record.ticket(can_be_offered);
        let request = slot.and_then(|slot| slot.entries).and_then(|entries| entries.request);
        let request = record.request(request.as_slice()).cloned();
        match self.ticket(record, |offered| Some(*offered) == slot) {
            None => Offer::default(),
            slot => Offer { slot, server_certificate: Some(certificate), certificate_request: request },
        }
    }

    /// The ticket to offer, which this connection holds from here on.
    fn ticket(&mut self, record: &mut ScopeRecord, can_be_offered: impl Fn(&Slot) -> bool) -> Option<Slot> {
        let reason = match record.ticket(can_be_offered) {
            None => Reason::NoTicket,
            Some(_) if record.holders > 0 && !self.defences.lack(CacheDefence::Holding) => Reason::TicketInUse,
            Some(slot) => {
                self.hold(record);
                return Some(slot);
            }
        };
        self.reason = self.reason.or(Some(reason));
        None
    }

    fn slot(&self) -> Option<&Slot> {
        self.offer.as_ref()?.slot.as_ref()
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
        self.slot().map(|slot| slot.ticket)
    }

    /// Whether that is a ticket of `compact`.
    fn offers_everything(&self) -> bool {
        self.slot().is_some_and(|slot| slot.entries.is_some())
    }

    /// The own Certificate that the offered ticket stands for.
    pub(crate) fn named_own_certificate(&self) -> Option<Fingerprint> {
        self.slot().and_then(|slot| slot.own_certificate)
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
        self.offer.as_ref()?.server_certificate.as_deref()
    }

    /// The CertificateRequest that was offered, by its fingerprint or by the ticket.
    pub(crate) fn certificate_request(&self) -> Option<&RequestEntry> {
        self.offer.as_ref()?.certificate_request.as_deref()
    }
}

/// Whether the ticket stands for a Certificate that this side can still send.
fn is_of_bithac(slot: &Slot, context: Context<'_>) -> bool {
    slot.entries.is_none() && slot.own_certificate.is_some_and(|own| context.own_certificates.contains(&own))
}
