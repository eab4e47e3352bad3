//! One connection's dealings with a server's cache: which ticket it selects, and what it commits.
//!
//! What must always hold (`caching`, rules 2 and 5): a selected entry passed its checks in this handshake, and a failed
//! handshake changes nothing, but that an expired entry is gone.

use alloc::sync::Arc;
use core::fmt;

use super::entry::{Conditions, Unusable};
use super::{
    Commit, Fingerprint, FinishedProof, NotSaved, PeerEntry, Row, Scheme, Schemes, ServerId, ServerStore, Ticket,
    TrustId,
};
use crate::cert::VerifiedPeer;
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
pub(crate) struct Asked {
    /// What it would be verified under.
    pub(crate) trust_id: TrustId,
    /// What it is to carry.
    pub(crate) certificate_type: CertificateType,
    pub(crate) version: ProtocolVersion,
}

/// One connection's dealings with the cache.
#[derive(Debug)]
pub(crate) struct ServerSession {
    policy: Option<Policy>,
    /// The ticket that was selected, and what was found under it.
    used: Option<(Ticket, Row)>,
    reason: Option<&'static str>,
}

/// What an entry must pass in this handshake.
#[derive(Debug)]
struct Policy {
    cache: ServerCache,
    asked: Asked,
    server: ServerId,
    now: Now,
    without_clock: bool,
}

impl ServerSession {
    /// How many tickets of one ClientHello are looked up. A client of today has one.
    const MAX_TICKETS: usize = 8;

    /// With `asked` absent no client certificate is asked for, and nothing is selected or kept. `host_name` is the name of
    /// the ClientHello.
    pub(crate) fn begin(
        cache: &ServerCache,
        asked: Option<Asked>,
        host_name: Option<&[u8]>,
        now: Now,
        without_clock: bool,
    ) -> Self {
        let server = ServerId::from_host_name(host_name);
        let policy = match (asked, server, cache.schemes.contains(Scheme::Bithac)) {
            (Some(asked), Some(server), true) => {
                Some(Policy { cache: cache.clone(), asked, server, now, without_clock })
            }
            _ => None,
        };
        Self { policy, used: None, reason: None }
    }

    /// The index of the first of `tickets` that can be used. What expired is deleted.
    pub(crate) fn select(&mut self, tickets: impl Iterator<Item = Ticket>) -> Option<u16> {
        self.used = None;
        let policy = self.policy.as_ref()?;
        for (index, ticket) in (0..).zip(tickets.take(Self::MAX_TICKETS)) {
            match policy.find(ticket) {
                Ok(row) => {
                    self.used = Some((ticket, row));
                    return Some(index);
                }
                Err(reason) => self.reason = Some(reason),
            }
        }
        None
    }

    /// The client's Certificate under the selected ticket.
    pub(crate) fn client_certificate(&self) -> Option<&PeerEntry> {
        self.used.as_ref().map(|(_, row)| &*row.entry)
    }

    /// An entry for the Certificate that was asked for, verified as [`Asked`] says. `None`: not to be kept.
    pub(crate) fn entry(&self, fingerprint: Fingerprint, peer: VerifiedPeer) -> Option<PeerEntry> {
        let policy = self.policy.as_ref()?;
        let Asked { trust_id, version, .. } = policy.asked;
        Some(PeerEntry::new(fingerprint, version, trust_id, policy.server.clone(), peer))
    }

    /// Why no ticket was selected though the client sent some.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        self.reason.filter(|_| self.used.is_none())
    }

    /// The client's Finished was verified: keeps `entry`, what was proven in this handshake, under its new `ticket`. To
    /// be called before anything is sent that tells the client so. The ticket joins the lineage of the selected one only
    /// if that stands for the same Certificate. An error says that the row may not survive a restart.
    pub(crate) fn commit(&mut self, proof: FinishedProof, ticket: Ticket, entry: PeerEntry) -> Result<(), NotSaved> {
        let FinishedProof(()) = proof;
        let Some(policy) = self.policy.as_ref().filter(|_| entry.fits()) else { return Ok(()) };
        let used = self.used.take().filter(|(_, row)| row.entry.fingerprint() == entry.fingerprint());
        let (parent, shared) = used.map(|(parent, row)| (parent, row.entry)).unzip();
        let entry = shared.filter(|shared| **shared == entry).unwrap_or_else(|| Arc::new(entry));
        policy.cache.store.commit(Commit { ticket, row: Row { entry }, parent })
    }
}

impl Policy {
    fn find(&self, ticket: Ticket) -> Result<Row, &'static str> {
        let row = self.cache.store.find(&ticket).ok_or("ticket unknown")?;
        let Asked { trust_id, certificate_type, version } = self.asked;
        let conditions = Conditions {
            trust_id,
            certificate_types: &[certificate_type],
            versions: &[version],
            server: &self.server,
            now: self.now,
            without_clock: self.without_clock,
        };
        match row.entry.usable(&conditions) {
            Ok(()) => Ok(row),
            Err(unusable) => {
                if unusable == Unusable::Expired {
                    // If this is not saved, the next use deletes it again.
                    let _ = self.cache.store.remove(&ticket);
                }
                Err(unusable.reason())
            }
        }
    }
}

#[cfg(test)]
mod tests;
