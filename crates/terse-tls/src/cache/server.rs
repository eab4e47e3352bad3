//! One connection's dealings with a server's cache: which ticket it selects, and what it commits.
//!
//! What must always hold (`caching`, rules 2 and 5): a selected entry passed its checks in this handshake, and a failed
//! handshake changes nothing, but that an entry that expired or was revoked is gone.

use alloc::sync::Arc;
use core::fmt;
use core::task::Poll;

use super::entry::Conditions;
use super::{
    AddressId, Commit, Fingerprint, NotSaved, Parts, PeerEntry, Row, Scheme, Schemes, Selection, ServerId,
    ServerObjects, ServerStore, Ticket, TicketRows, TicketSubject, TrustId,
};
use crate::cache::{CacheDefence, Defences};
use crate::cert::{RevocationCheck, VerifiedPeer};
use crate::proof::FinishedProof;
use crate::time::Now;
use crate::wire::{CertificateType, ProtocolVersion};

/// Handshake caching of a server.
#[derive(Clone)]
pub struct ServerCache {
    /// Where clients' entries are kept, by ticket. May be shared by servers with different names and client CAs.
    pub store: Arc<dyn ServerStore>,
    /// What is answered.
    pub schemes: Schemes,
}

impl fmt::Debug for ServerCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCache").field("schemes", &self.schemes).finish_non_exhaustive()
    }
}

/// The Certificate that a client is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedCertificate {
    /// What it would be verified under.
    pub(crate) trust_id: TrustId,
    /// What it is to carry.
    pub(crate) certificate_type: CertificateType,
    pub(crate) version: ProtocolVersion,
    /// It is to have live extensions, so that it cannot be left out.
    pub(crate) has_extensions: bool,
}

/// One connection's dealings with the cache.
#[derive(Debug)]
pub(crate) struct ServerSession {
    /// `None`: clients' Certificates are not kept.
    policy: Option<Policy>,
    /// Where a row can do without a client's Certificate, which is `compact`: the store, and what this side shows.
    own: Option<(ServerCache, ServerObjects)>,
    /// The ticket that was selected.
    used: Option<Used>,
    reason: Option<&'static str>,
    /// Where the client is, over datagrams.
    address: Option<AddressId>,
    defences: Defences,
    now: Now,
}

/// A ticket that was selected, and what was found under it.
#[derive(Debug)]
struct Used {
    ticket: Ticket,
    row: Row,
    /// The client's Certificate was selected.
    client_certificate: bool,
}

/// What an entry must pass in this handshake.
#[derive(Debug)]
struct Policy {
    cache: ServerCache,
    asked: RequestedCertificate,
    server: ServerId,
    now: Now,
    without_clock: bool,
    revocation: Option<RevocationCheck>,
}

/// What came of a commit.
#[derive(Debug)]
pub(crate) enum Committing {
    /// An error says that the row may not survive a restart.
    Done(Result<(), NotSaved>),
    /// The store did not answer.
    Pending(Commit),
}

impl Committing {
    /// At once.
    #[cfg(test)]
    pub(crate) fn done(self) -> Result<(), NotSaved> {
        match self {
            Self::Done(saved) => saved,
            Self::Pending(commit) => panic!("the store did not answer {commit:?}"),
        }
    }
}

impl ServerSession {
    /// Of `bithac`. With `asked` absent no client certificate is asked for, and nothing is selected or kept. `host_name`
    /// is the name of the ClientHello.
    pub(crate) fn begin(
        cache: &ServerCache,
        asked: Option<RequestedCertificate>,
        host_name: Option<&[u8]>,
        now: Now,
        without_clock: bool,
    ) -> Self {
        let server = ServerId::from_host_name(host_name);
        let policy = match (asked, server, cache.schemes.contains(Scheme::Bithac)) {
            (Some(asked), Some(server), true) => {
                Some(Policy { cache: cache.clone(), asked, server, now, without_clock, revocation: None })
            }
            _ => None,
        };
        Self { policy, own: None, used: None, reason: None, address: None, defences: Defences::default(), now }
    }

    /// The same of `compact`, where `own` is what this side shows in this handshake.
    pub(crate) fn begin_compact(
        cache: &ServerCache,
        own: ServerObjects,
        asked: Option<RequestedCertificate>,
        host_name: Option<&[u8]>,
        now: Now,
        without_clock: bool,
    ) -> Self {
        let has_place = cache.schemes.contains(Scheme::Compact) && ServerId::from_host_name(host_name).is_some();
        Self {
            own: has_place.then(|| (cache.clone(), own)),
            ..Self::begin(cache, asked, host_name, now, without_clock)
        }
    }

    /// With these defences, where a test took one away.
    pub(crate) const fn defended(mut self, defences: Defences) -> Self {
        self.defences = defences;
        self
    }

    /// The same where clients' certificates are checked for revocation.
    pub(crate) fn checking(mut self, revocation: Option<RevocationCheck>) -> Self {
        if let Some(policy) = &mut self.policy {
            policy.revocation = revocation;
        }
        self
    }

    /// The index of the first of the tickets that can be used. What expired or was revoked is deleted.
    pub(crate) fn select(&mut self, rows: TicketRows) -> Option<u16> {
        self.used = None;
        let policy = self.policy.as_ref()?;
        for (index, (ticket, row)) in (0..).zip(rows) {
            match policy.usable(ticket, row, self.defences) {
                Ok(row) => {
                    self.used = Some(Used { ticket, row, client_certificate: true });
                    return Some(index);
                }
                Err(reason) => self.reason = Some(reason),
            }
        }
        None
    }

    /// What the ticket of `compact` that was looked up lets this handshake leave out.
    pub(crate) fn select_everything(&mut self, rows: TicketRows) -> Selection {
        self.used = None;
        let mut selection = Selection { scheme: Some(Scheme::Compact), ..Selection::default() };
        let Some((_, own)) = &self.own else { return selection };
        let found = rows.into_iter().next().and_then(|(ticket, row)| Some((ticket, row?)));
        let Some((ticket, seen, row)) = found.and_then(|(ticket, row)| Some((ticket, row.seen?, row))) else {
            self.reason = Some("ticket unknown");
            return selection;
        };
        let is_lax = self.defences.lack(CacheDefence::SameObjects);
        selection.server_certificate = seen.certificate == own.certificate || is_lax;
        selection.certificate_request = own.request.is_some() && (seen.request == own.request || is_lax);
        if let (Some(entry), Some(policy), Some(_)) = (&row.entry, &self.policy, own.request) {
            match policy.check(ticket, entry, self.defences) {
                Ok(()) if policy.asked.has_extensions => self.reason = Some("an OCSP response is asked for"),
                Ok(()) => selection.client_certificate = true,
                Err(reason) => self.reason = Some(reason),
            }
        }
        if selection.any() {
            self.used = Some(Used { ticket, row, client_certificate: selection.client_certificate });
        } else {
            self.reason = self.reason.or(Some("nothing is as the client has seen it"));
        }
        selection
    }

    /// The client's Certificate under the selected ticket.
    pub(crate) fn client_certificate(&self) -> Option<&PeerEntry> {
        self.used.as_ref().filter(|used| used.client_certificate).and_then(|used| used.row.entry.as_deref())
    }

    /// The client's Certificate, if it is not sent at all.
    pub(crate) fn left_out_certificate(&self) -> Option<&PeerEntry> {
        self.client_certificate().filter(|_| self.own.is_some())
    }

    /// What the ticket of this handshake stands for, if there is one. `client_certificate` was proven.
    pub(crate) fn names(&self, client_certificate: Option<Fingerprint>) -> Option<TicketSubject> {
        match &self.own {
            None => client_certificate.map(TicketSubject::Client),
            Some((_, seen)) => Some(TicketSubject::Static(Parts {
                server_certificate: seen.certificate,
                certificate_request: seen.request,
                client_certificate,
            })),
        }
    }

    /// An entry for the Certificate that was asked for, verified as [`RequestedCertificate`] says. `None`: not to be kept.
    pub(crate) fn entry(&self, fingerprint: Fingerprint, peer: &Arc<VerifiedPeer>) -> Option<PeerEntry> {
        let policy = self.policy.as_ref()?;
        let RequestedCertificate { trust_id, version, .. } = policy.asked;
        Some(PeerEntry::new(fingerprint, version, trust_id, policy.server.clone(), peer))
    }

    /// Why the client's Certificate was not selected though the client sent a ticket.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        self.reason.filter(|_| self.client_certificate().is_none())
    }

    /// The client is at `address`, which it has proven with its Finished: what it is committed with proves that, once
    /// (`caching`, rule 7).
    pub(crate) const fn client_at(&mut self, address: Option<AddressId>) -> &mut Self {
        self.address = address;
        self
    }

    /// The client's Finished was verified: keeps what was proven in this handshake under its new `ticket`. To be called
    /// before anything is sent that tells the client so. The ticket joins the lineage of the selected one only if that
    /// stands for the same Certificate.
    pub(crate) fn commit(&mut self, proof: FinishedProof, ticket: Ticket, entry: Option<PeerEntry>) -> Committing {
        let FinishedProof { .. } = proof;
        let entry = entry.filter(PeerEntry::fits);
        let (store, seen) = match (&self.own, &self.policy, &entry) {
            (Some((cache, seen)), ..) => (&cache.store, Some(*seen)),
            (None, Some(policy), Some(_)) => (&policy.cache.store, None),
            _ => return Committing::Done(Ok(())), // a ticket of `bithac` stands for a certificate
        };
        let joins = |used: &Used| used.row.is_of(entry.as_ref()) || self.defences.lack(CacheDefence::Lineages);
        let used = self.used.take().filter(joins);
        let row = Row { entry: entry.map(Arc::new), seen, address: self.address };
        let commit = Commit { ticket, row, parent: used.map(|used| used.ticket), time: self.now.unix };
        match store.commit(&commit) {
            Poll::Ready(saved) => Committing::Done(saved),
            Poll::Pending => Committing::Pending(commit),
        }
    }
}

impl Policy {
    /// The row that was found, if it is one of `bithac` and can be used.
    fn usable(&self, ticket: Ticket, row: Option<Row>, defences: Defences) -> Result<Row, &'static str> {
        let row = row.filter(|row| row.seen.is_none()).ok_or("ticket unknown")?;
        let entry = row.entry.as_ref().ok_or("ticket unknown")?;
        self.check(ticket, entry, defences)?;
        Ok(row)
    }

    /// Whether the entry under `ticket` can be used. What expired or was revoked is deleted.
    fn check(&self, ticket: Ticket, entry: &PeerEntry, defences: Defences) -> Result<(), &'static str> {
        let RequestedCertificate { trust_id, certificate_type, version, .. } = self.asked;
        let conditions = Conditions {
            trust_id,
            revocation: self.revocation.as_ref(),
            certificate_types: &[certificate_type],
            versions: &[version],
            server: &self.server,
            now: self.now,
            without_clock: self.without_clock,
            defences,
        };
        entry.usable(&conditions).map_err(|reason| {
            if reason.is_final() {
                // If this is not saved, the next use deletes it again.
                let _ = self.cache.store.remove(&ticket);
            }
            reason.text()
        })
    }
}

#[cfg(test)]
mod tests;
