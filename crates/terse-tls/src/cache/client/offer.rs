//! This module chooses what a client offers from its cache: one scheme's offer at a time, and nothing that fails its
//! checks.
//!
//! What must always hold (docs/caching.md, 5.4): a ticket is offered only while all that it names can be
//! used, and by one running connection.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::{ClientSession, Context, Selection};
use crate::cache::entry::Conditions;
use crate::cache::health::Permission;
use crate::cache::record::Slot;
use crate::cache::{FallbackReason, Fingerprint, PeerEntry, RequestEntry, Save, Scheme, Schemes, ScopeRecord, Ticket};

/// The objects that are offered by one scheme.
#[derive(Default)]
pub(in crate::cache) struct Offer {
    pub(in crate::cache) scheme: Option<Scheme>,
    pub(in crate::cache) slot: Option<Slot>,
    pub(in crate::cache) server_certificate: Option<OfferedCertificate>,
    pub(in crate::cache) certificate_request: Option<Arc<RequestEntry>>,
}

/// The server's Certificate that is offered.
pub(in crate::cache) enum OfferedCertificate {
    Entry(Arc<PeerEntry>),
    /// The server has finished, and no more than the name of the entry is needed.
    Named(Fingerprint),
}

impl OfferedCertificate {
    fn entry(&self) -> Option<&PeerEntry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::Named(_) => None,
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Entry(entry) => entry.fingerprint(),
            Self::Named(fingerprint) => *fingerprint,
        }
    }
}

/// The objects of an offer, named by their fingerprints.
#[derive(Default)]
pub(super) struct Offered {
    pub(super) certificate: Option<Fingerprint>,
    pub(super) request: Option<Fingerprint>,
}

impl Offer {
    pub(super) fn names(&self) -> Offered {
        Offered {
            certificate: self.server_certificate.as_ref().map(OfferedCertificate::fingerprint),
            request: self.certificate_request.as_deref().map(|request| request.fingerprint),
        }
    }

    /// Frees the entry of the server's Certificate. Memory use is highest in what follows.
    pub(super) fn forget_entry(&mut self) {
        self.server_certificate = self.names().certificate.map(OfferedCertificate::Named);
    }

    const fn is_empty(&self) -> bool {
        self.slot.is_none() && self.server_certificate.is_none() && self.certificate_request.is_none()
    }
}

impl ClientSession {
    /// Decides by the record of the scope what is offered.
    pub(super) fn choose(&mut self, record: &mut ScopeRecord, schemes: Schemes, context: Context<'_>) -> Save {
        if record.is_empty() {
            self.reason = Some(FallbackReason::FirstContact);
        }
        let before = (record.health, record.fingerprints, record.history.reason);
        let permission = if context.resumes {
            record.health.beside_resumption()
        } else {
            record.health.begin(context.now.unix.map(|time| time.as_secs()))
        };
        let is_allowed = !matches!(permission, Permission::Nothing(_));
        let enabled = if is_allowed { schemes } else { Schemes::OFF };
        self.supported = enabled.filter(|scheme| scheme.is_offered_without_ticket(&context));
        let offer = match permission {
            Permission::Offer => self.choose_by_scheme(record, &context),
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

    /// Returns the server's Certificate, if it passes its checks. Deletes one that has expired or was revoked.
    pub(in crate::cache) fn usable_certificate(
        &mut self,
        record: &mut ScopeRecord,
        context: &Context<'_>,
    ) -> Option<Arc<PeerEntry>> {
        let entry = record.server_certificate()?.clone();
        let Context { now, trust_id, revocation, certificate_types, without_clock, versions, defences, .. } = *context;
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

    /// Returns the ticket to offer, which this connection holds from now on.
    pub(in crate::cache) fn hold_ticket(
        &mut self,
        record: &mut ScopeRecord,
        can_be_offered: impl Fn(&Slot) -> bool,
    ) -> Option<Slot> {
        let reason = match record.ticket(can_be_offered) {
            None => FallbackReason::NoTicket,
            Some(_) if self.defences.respect_holder(record.holders > 0) => FallbackReason::TicketInUse,
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

    /// Returns whether the extension of `scheme` is sent, with or without a ticket.
    pub(crate) const fn supports(&self, scheme: Scheme) -> bool {
        self.supported.contains(scheme)
    }

    /// Returns the ticket in the extension of `scheme`.
    pub(crate) fn ticket_of(&self, scheme: Scheme) -> Option<Ticket> {
        self.offered_ticket().filter(|_| self.offered_scheme() == Some(scheme))
    }

    fn offered_scheme(&self) -> Option<Scheme> {
        self.offer.as_ref()?.scheme
    }

    /// Returns the ticket that was offered.
    pub(crate) fn offered_ticket(&self) -> Option<Ticket> {
        self.slot().map(|slot| slot.ticket)
    }

    /// Returns whether the objects are named by the ticket, and not by their fingerprints.
    fn is_named_by_ticket(&self) -> bool {
        Selection { scheme: self.offered_scheme(), ..Selection::default() }.leaves_out()
    }

    /// Returns the fingerprint of the client's own Certificate that the offered ticket stands for.
    pub(in crate::cache) fn own_certificate_of_ticket(&self) -> Option<Fingerprint> {
        self.slot().and_then(|slot| slot.own_certificate)
    }

    /// Returns the fingerprint in `cached_info` for the server's Certificate.
    pub(crate) fn offered_certificate(&self) -> Option<Fingerprint> {
        let certificate = self.offer.as_ref()?.server_certificate.as_ref()?;
        (!self.is_named_by_ticket()).then(|| certificate.fingerprint())
    }

    /// Returns the fingerprint in `cached_info` for the CertificateRequest.
    pub(crate) fn offered_request(&self) -> Option<Fingerprint> {
        self.offered_request_entry().filter(|_| !self.is_named_by_ticket()).map(|request| request.fingerprint)
    }

    /// Returns the server's Certificate that was offered, by its fingerprint or by the ticket.
    pub(in crate::cache) fn offered_entry(&self) -> Option<&PeerEntry> {
        self.offer.as_ref()?.server_certificate.as_ref()?.entry()
    }

    /// Returns the CertificateRequest that was offered, by its fingerprint or by the ticket.
    pub(in crate::cache) fn offered_request_entry(&self) -> Option<&RequestEntry> {
        self.offer.as_ref()?.certificate_request.as_deref()
    }
}
