//! This module has the record that a client keeps of one scope: the server's objects, the two slots for tickets, and
//! how offers fared.
//!
//! What must always hold (docs/caching.md, 4.2): a ticket is offered only for what it was made with, and `confirmed` is
//! given up only for a ticket that the server is known to have, or when what it stands for is replaced.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::health::{Fingerprints, Health};
use super::{FallbackReason, Fingerprint, Parts, PeerEntry, RequestEntry, Scheme, Ticket, TicketSubject};
use crate::wire::ProtocolVersion;

mod packed;
pub(super) use packed::{SHARED, Scopes};

/// The record that a client keeps of one scope. A store holds it without looking inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeRecord {
    server_certificate: Option<Arc<PeerEntry>>,
    /// The server's CertificateRequests, at most one for each version.
    requests: Vec<Arc<RequestEntry>>,
    /// The scheme that the server answered last, which is the only one of which something is offered.
    pub(super) scheme: Option<Scheme>,
    confirmed: Option<Slot>,
    newer: Option<Slot>,
    /// How many handshakes used `confirmed` since `newer` was first set. It is set to the maximum if `newer` is to be
    /// used.
    confirmed_uses: u8,
    pub(super) health: Health,
    pub(super) fingerprints: Fingerprints,
    pub(super) history: History,
    /// How many running connections hold a ticket. It is never saved, because it ends with the process.
    pub(super) holders: u32,
}

/// What is kept only for reports to people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    /// When the first entry was made, in seconds since 1970; 0 if that is not known.
    pub(super) made: u32,
    /// When a message was last left out of a handshake, in seconds since 1970.
    pub(super) used: u32,
    /// Why the last connection offered less than everything.
    pub(super) reason: Option<FallbackReason>,
}

/// A ticket and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) ticket: Ticket,
    /// The client's own Certificate, if it proved one.
    pub(super) own_certificate: Option<Fingerprint>,
    /// For a ticket of `compact`, the entries of the record that it names as well.
    pub(super) entries: Option<Entries>,
}

/// The entries of the record that a ticket of `compact` names: the server's Certificate, and maybe a
/// CertificateRequest. The slot is dropped when one of them is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entries {
    /// The version of the CertificateRequest, if there was one.
    pub(super) request: Option<ProtocolVersion>,
}

impl ScopeRecord {
    /// After this many uses of `confirmed`, `newer` is offered, although it was never confirmed.
    const CONFIRMED_USES: u8 = 3;
    /// The maximum of CertificateRequests: TLS 1.2 and 1.3 need one each, and later versions have as much room again.
    const MAX_REQUESTS: usize = 4;

    /// Returns whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        Self { history: History::default(), ..self.clone() } == Self::default()
    }

    /// Returns the entry of the server's Certificate.
    pub fn server_entry(&self) -> Option<&PeerEntry> {
        self.server_certificate.as_deref()
    }

    /// Returns how many tickets there are: at most two, of which one is known to be good.
    pub fn tickets(&self) -> usize {
        [self.confirmed, self.newer].iter().flatten().count()
    }

    /// Returns how many of the server's CertificateRequests are kept.
    pub const fn certificate_requests(&self) -> usize {
        self.requests.len()
    }

    /// Returns the scheme that the server answered last.
    pub const fn scheme(&self) -> Option<Scheme> {
        self.scheme
    }

    /// Returns how offers fare: `working`, `alternating`, `on trial` or `off`.
    pub const fn health(&self) -> &'static str {
        self.health.name()
    }

    /// Returns when the record was made, in seconds since 1970, where there was a clock.
    pub fn made(&self) -> Option<u64> {
        Some(self.history.made.into()).filter(|time| *time != 0)
    }

    /// Returns when a message was last left out of a handshake, in seconds since 1970, where there was a clock.
    pub fn last_used(&self) -> Option<u64> {
        Some(self.history.used.into()).filter(|time| *time != 0)
    }

    /// Returns why the last connection offered less than everything.
    pub const fn reason(&self) -> Option<FallbackReason> {
        self.history.reason
    }

    /// Returns how many running connections hold a ticket, which no other connection offers meanwhile. The bytes of a record do not
    /// say so ([`Self::to_bytes`]).
    pub const fn holders(&self) -> u32 {
        self.holders
    }

    /// Sets [`Self::holders`]. A store that forgets a record and reads it again sets what it has kept of that.
    pub const fn set_holders(&mut self, holders: u32) {
        self.holders = holders;
    }

    /// Returns the part of the record that outlives the process, which has no holds of running connections.
    pub(super) fn without_holds(&self) -> Self {
        Self { holders: 0, ..self.clone() }
    }

    /// Returns the latest request in one of `versions`, which is that of the version that the server spoke last.
    pub(super) fn request(&self, versions: &[ProtocolVersion]) -> Option<&Arc<RequestEntry>> {
        self.requests.iter().rev().find(|request| versions.contains(&request.version))
    }

    pub(super) const fn server_certificate(&self) -> Option<&Arc<PeerEntry>> {
        self.server_certificate.as_ref()
    }

    pub(super) fn learn_certificate(&mut self, entry: PeerEntry) {
        if self.server_certificate.as_ref().is_none_or(|known| known.fingerprint() != entry.fingerprint()) {
            self.drop_slots(|_| true);
            self.fingerprints = Fingerprints::default(); // the server is not the same
        }
        self.server_certificate = Some(Arc::new(entry));
    }

    pub(super) fn forget_certificate(&mut self) {
        self.server_certificate = None;
    }

    pub(super) fn learn_request(&mut self, request: RequestEntry) {
        let is_known =
            |known: &Arc<RequestEntry>| (known.version, known.fingerprint) == (request.version, request.fingerprint);
        if !self.requests.iter().any(is_known) {
            self.drop_slots(|entries| entries.request == Some(request.version));
        }
        self.requests.retain(|known| known.version != request.version);
        self.requests.truncate(Self::MAX_REQUESTS - 1);
        self.requests.push(Arc::new(request));
    }

    pub(super) fn forget_request(&mut self, fingerprint: Fingerprint) {
        self.requests.retain(|known| known.fingerprint != fingerprint);
    }

    /// Drops tickets of `compact` by the entries that they name.
    fn drop_slots(&mut self, drops: impl Fn(&Entries) -> bool) {
        for slot in [&mut self.confirmed, &mut self.newer] {
            if slot.is_some_and(|slot| slot.entries.as_ref().is_some_and(&drops)) {
                *slot = None;
            }
        }
    }

    /// Returns the slot for a ticket, if the record has all entries that the ticket names.
    pub(super) fn slot(&self, ticket: Ticket, subject: &TicketSubject) -> Option<Slot> {
        let (own_certificate, entries) = match *subject {
            TicketSubject::Client(own) => (Some(own), None),
            TicketSubject::Static(Parts { server_certificate, certificate_request, client_certificate }) => {
                self.server_certificate.as_ref().filter(|entry| entry.fingerprint() == server_certificate)?;
                let is_named = |fingerprint| move |known: &&Arc<RequestEntry>| known.fingerprint == fingerprint;
                let request = match certificate_request {
                    None => None,
                    Some(fingerprint) => Some(self.requests.iter().find(is_named(fingerprint))?.version),
                };
                (client_certificate, Some(Entries { request }))
            }
        };
        Some(Slot { ticket, own_certificate, entries })
    }

    /// Returns the ticket to offer, among those that can be offered. It is `newer` only if `confirmed` cannot be
    /// offered, or the connection that made `newer` ended properly, or `confirmed` was used three times since `newer`
    /// was first set.
    pub(super) fn ticket(&self, can_be_offered: impl Fn(&Slot) -> bool) -> Option<Slot> {
        let (confirmed, newer) = (self.confirmed.filter(&can_be_offered), self.newer.filter(&can_be_offered));
        if self.confirmed_uses >= Self::CONFIRMED_USES { newer.or(confirmed) } else { confirmed.or(newer) }
    }

    /// Notes that the server knows `ticket`, which an authenticated handshake showed: if it is `newer`, it becomes
    /// `confirmed`.
    pub(super) fn known(&mut self, ticket: Ticket) {
        if let Some(slot) = self.newer.filter(|slot| slot.ticket == ticket) {
            self.confirm(slot);
        }
    }

    /// Drops `ticket`, which the server does not know.
    pub(super) fn unknown(&mut self, ticket: Ticket) {
        for slot in [&mut self.confirmed, &mut self.newer] {
            if slot.is_some_and(|slot| slot.ticket == ticket) {
                *slot = None;
            }
        }
    }

    /// Notes that a handshake, which used the ticket `used` if any, made the ticket of `slot`. It is not known yet
    /// whether the server has it.
    pub(super) fn learn_ticket(&mut self, slot: Slot, used: Option<Ticket>) {
        if self.newer.is_none() {
            self.confirmed_uses = 0;
        } else if used.is_some() && used == self.confirmed.map(|confirmed| confirmed.ticket) {
            self.confirmed_uses = self.confirmed_uses.saturating_add(1);
        }
        self.newer = Some(slot);
    }

    /// Makes `slot` the confirmed one, because the server is known to have its ticket.
    pub(super) fn confirm(&mut self, slot: Slot) {
        self.confirmed = Some(slot);
        self.newer = None;
        self.confirmed_uses = 0;
    }

    /// Notes that the connection that made `ticket` ended properly: if that ticket is `newer`, it is offered next.
    /// Returns how often `confirmed` was used until then, if that changed.
    pub(super) fn prefer_newer(&mut self, ticket: Ticket) -> Option<u8> {
        let is_other = self.confirmed.is_some() && self.confirmed_uses < Self::CONFIRMED_USES;
        let is_newer = is_other && self.newer.is_some_and(|slot| slot.ticket == ticket);
        is_newer.then(|| core::mem::replace(&mut self.confirmed_uses, Self::CONFIRMED_USES))
    }

    /// Takes [`Self::prefer_newer`] back, because the connection failed after all.
    pub(super) fn prefer_confirmed(&mut self, ticket: Ticket, uses: u8) {
        if self.newer.is_some_and(|slot| slot.ticket == ticket) {
            self.confirmed_uses = uses;
        }
    }

    pub(super) fn drop_tickets(&mut self) {
        self.confirmed = None;
        self.newer = None;
        self.confirmed_uses = 0;
    }
}
