//! This module handles which ticket one connection selects from a server's cache, and what it commits to it.
//!
//! What must always hold (docs/caching.md, 4.2 and 4.5): a selected entry passed its checks in this handshake, and a
//! failed handshake changes nothing, except that an entry that has expired or was revoked is deleted.

use alloc::sync::Arc;
use core::fmt;
use core::task::Poll;

use super::entry::Conditions;
use super::{
    AddressId, Commit, Defences, FallbackReason, Fingerprint, NotSaved, Parts, PeerEntry, Row, Scheme, Schemes,
    Selection, ServerContext, ServerId, ServerObjects, ServerStore, Ticket, TicketSubject, TrustId,
};
use crate::cert::{RevocationCheck, VerifiedPeer};
use crate::proof::FinishedProof;
use crate::time::Now;
use crate::wire::{CertificateType, ProtocolVersion};

/// The configuration of handshake caching for a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerCache {
    /// Where clients' entries are kept, by ticket. Servers with different names and client CAs may share it.
    pub store: Arc<dyn ServerStore>,
    /// The schemes that are answered.
    pub schemes: Schemes,
}

impl ServerCache {
    /// Creates a configuration that caches in `store`, which connections and servers share, by these `schemes`.
    pub const fn new(store: Arc<dyn ServerStore>, schemes: Schemes) -> Self {
        Self { store, schemes }
    }
}

impl fmt::Debug for ServerCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCache").field("schemes", &self.schemes).finish_non_exhaustive()
    }
}

/// The Certificate that a client is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedCertificate {
    /// The policy that the Certificate would be verified under.
    pub(crate) trust_id: TrustId,
    /// The type of certificate that is asked for.
    pub(crate) certificate_type: CertificateType,
    pub(crate) version: ProtocolVersion,
    /// Whether the Certificate is asked to have live extensions, so that it cannot be left out.
    pub(crate) has_extensions: bool,
}

/// The session of one connection with the cache.
#[derive(Debug)]
pub(crate) struct ServerSession {
    scheme: Scheme,
    cache: ServerCache,
    /// What this side shows in this handshake. If it is `None`, nothing is selected and nothing is kept.
    shown: Option<ServerObjects>,
    /// What clients' Certificates must pass, or `None` if they are not kept.
    policy: Option<Policy>,
    /// The ticket that was selected.
    used: Option<Used>,
    reason: Option<FallbackReason>,
    /// The address of the client, over datagrams.
    address: Option<AddressId>,
    defences: Defences,
    now: Now,
}

/// A ticket that was selected, and what was found under it.
#[derive(Debug)]
struct Used {
    ticket: Ticket,
    row: Row,
    /// Whether the client's Certificate was selected.
    client_certificate: bool,
}

/// The conditions that an entry must pass in this handshake.
#[derive(Debug)]
struct Policy {
    asked: RequestedCertificate,
    server: ServerId,
    now: Now,
    without_clock: bool,
    revocation: Option<RevocationCheck>,
}

/// The outcome of a commit.
#[derive(Debug)]
pub(crate) enum Committing {
    /// The store has answered. An error says that the row may not survive a restart.
    Done(Result<(), NotSaved>),
    /// The store did not answer yet, and the application is asked.
    Pending(Commit),
}

impl Committing {
    /// Returns the answer of a store that answers at once.
    #[cfg(test)]
    pub(crate) fn done(self) -> Result<(), NotSaved> {
        match self {
            Self::Done(saved) => saved,
            Self::Pending(commit) => panic!("the store did not answer {commit:?}"),
        }
    }
}

impl ServerSession {
    /// Creates a session before anything is selected by `scheme`. Nothing is kept of a client whose `host_name` is too
    /// long to be one, and no Certificate is kept where the client is not asked for one.
    pub(crate) fn begin(scheme: Scheme, context: &ServerContext<'_>, shown: ServerObjects) -> Self {
        let ServerContext { cache, own, host_name, asked, revocation, now, without_clock, defences } = context;
        let server = ServerId::from_host_name(*host_name).filter(|_| cache.schemes.contains(scheme));
        let has_place = server.is_some();
        let asked = own.request.as_ref().and_then(|_| asked());
        let policy = asked.zip(server).map(|(asked, server)| Policy {
            asked,
            server,
            now: *now,
            without_clock: *without_clock,
            revocation: revocation(),
        });
        Self {
            scheme,
            cache: (*cache).clone(),
            shown: Some(shown).filter(|_| has_place),
            policy,
            used: None,
            reason: None,
            address: None,
            defences: *defences,
            now: *now,
        }
    }

    pub(super) const fn shown(&self) -> Option<ServerObjects> {
        self.shown
    }

    pub(super) const fn defences(&self) -> Defences {
        self.defences
    }

    /// Returns whether a client's Certificate may be selected, and is kept.
    pub(super) const fn keeps_certificates(&self) -> bool {
        self.policy.is_some()
    }

    /// Returns whether the client's Certificate is to have live extensions, so that it cannot be left out.
    pub(super) fn asks_for_extensions(&self) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy.asked.has_extensions)
    }

    /// Selects the ticket, and with `client_certificate` also the client's Certificate.
    pub(super) fn use_row(&mut self, ticket: Ticket, row: Row, client_certificate: bool) {
        self.used = Some(Used { ticket, row, client_certificate });
    }

    /// Forgets the selected ticket, because each ClientHello is judged anew.
    pub(super) fn forget_used(&mut self) {
        self.used = None;
    }

    /// Notes why less was selected than was offered.
    pub(super) const fn reject(&mut self, reason: FallbackReason) {
        self.reason = Some(reason);
    }

    /// Returns whether the entry under `ticket` can be used. Deletes one that has expired or was revoked.
    pub(super) fn check(&self, ticket: Ticket, entry: &PeerEntry) -> Result<(), FallbackReason> {
        let Some(policy) = &self.policy else { return Err(FallbackReason::TicketNotFound) };
        let RequestedCertificate { trust_id, certificate_type, version, .. } = policy.asked;
        let conditions = Conditions {
            trust_id,
            revocation: policy.revocation.as_ref(),
            certificate_types: &[certificate_type],
            versions: &[version],
            server: &policy.server,
            now: policy.now,
            without_clock: policy.without_clock,
            defences: self.defences,
        };
        entry.usable(&conditions).inspect_err(|reason| {
            if reason.is_final() {
                // If this is not saved, the next use deletes it again.
                let _ = self.cache.store.remove(&ticket);
            }
        })
    }

    /// Returns the client's Certificate under the selected ticket.
    pub(crate) fn client_certificate(&self) -> Option<&PeerEntry> {
        self.used.as_ref().filter(|used| used.client_certificate).and_then(|used| used.row.entry.as_deref())
    }

    /// Returns the client's Certificate, if it is not sent at all.
    pub(crate) fn left_out_certificate(&self) -> Option<&PeerEntry> {
        self.client_certificate().filter(|_| self.as_selection().leaves_out())
    }

    fn as_selection(&self) -> Selection {
        Selection { scheme: Some(self.scheme), ..Selection::default() }
    }

    /// Returns what the ticket of this handshake stands for, if there is one. `client_certificate` was proven.
    pub(crate) fn names(&self, client_certificate: Option<Fingerprint>) -> Option<TicketSubject> {
        let ServerObjects { certificate, request } = self.shown?;
        self.as_selection().subject(Parts {
            server_certificate: certificate,
            certificate_request: request,
            client_certificate,
        })
    }

    /// Returns an entry for the Certificate that was asked for, verified as [`RequestedCertificate`] says. Returns
    /// `None` if it is not to be kept.
    pub(crate) fn entry(&self, fingerprint: Fingerprint, peer: &Arc<VerifiedPeer>) -> Option<PeerEntry> {
        let policy = self.policy.as_ref()?;
        let RequestedCertificate { trust_id, version, .. } = policy.asked;
        Some(PeerEntry::new(fingerprint, version, trust_id, policy.server.clone(), peer))
    }

    /// Returns why the client's Certificate was not selected although the client sent a ticket.
    pub(crate) fn reason(&self) -> Option<FallbackReason> {
        self.reason.filter(|_| self.client_certificate().is_none())
    }

    /// Notes that the client is at `address`, which it has proven with its Finished. The ticket that is committed
    /// proves that address once (docs/caching.md, 4.7).
    pub(crate) const fn client_at(&mut self, address: Option<AddressId>) -> &mut Self {
        self.address = address;
        self
    }

    /// Keeps what was proven in this handshake under its new `ticket`, once the client's Finished was verified. It must
    /// be called before anything is sent that tells the client so. The ticket joins the lineage of the selected one
    /// only if that stands for the same Certificate.
    pub(crate) fn commit(&mut self, proof: FinishedProof, ticket: Ticket, entry: Option<PeerEntry>) -> Committing {
        let FinishedProof { .. } = proof;
        let entry = entry.filter(PeerEntry::fits);
        let seen = match self.names(None) {
            Some(TicketSubject::Static(_)) => self.shown,
            _ if self.keeps_certificates() && entry.is_some() => None,
            _ => return Committing::Done(Ok(())), // a ticket of the client's Certificate alone would stand for nothing
        };
        let joins = |used: &Used| self.defences.join_lineage(used.row.is_of(entry.as_ref()));
        let used = self.used.take().filter(joins);
        let row = Row { entry: entry.map(Arc::new), seen, address: self.address };
        let commit = Commit { ticket, row, parent: used.map(|used| used.ticket), time: self.now.unix };
        match self.cache.store.commit(&commit) {
            Poll::Ready(saved) => Committing::Done(saved),
            Poll::Pending => Committing::Pending(commit),
        }
    }
}

#[cfg(test)]
mod tests;
