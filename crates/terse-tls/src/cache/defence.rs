//! What caching does against those who would misuse it, by name, so that a test can take one away and show what it is
//! for.
//!
//! What must always hold: without `--cfg terse_testing` nobody can take one away.
//!
//! What a type holds cannot be taken away and is not here: no entry is made but of a `VerifiedPeer`. The defences of
//! datagrams have a list of their own, and so have those of an endpoint.

use crate::error::Error;
use crate::proof::FinishedProof;

/// A defence of caching (docs/caching.md, 4).
#[cfg_attr(not(terse_testing), allow(unreachable_pub))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheDefence {
    /// The transcript binds the full content of what is left out (docs/caching.md, 4.1).
    TranscriptBinding,
    /// Whose Certificate is cached must sign the handshake all the same: a ticket proves nothing.
    Signature,
    /// Nothing is kept before the peer's Finished was verified (docs/caching.md, 4.2).
    #[cfg(terse_testing)]
    Finished,
    /// A new ticket replaces the one that the server is known to have only once the server is known to have it
    /// (docs/caching.md, 4.2).
    TwoSlots,
    /// A server's new ticket joins a lineage only if its certificate was proven (docs/caching.md, 4.2).
    Lineages,
    /// A running connection holds its ticket (docs/caching.md, 4.2).
    Holding,
    /// After an alert or a failed check that follows a selection, no ticket is offered again (docs/caching.md, 4.2).
    DroppedTickets,
    /// After offers that nobody answered, attempts without one come between (docs/caching.md, 4.2).
    Alternation,
    /// A used ticket is replaced (docs/caching.md, 4.3).
    FreshTickets,
    /// An entry is used under the policy that it was verified under (docs/caching.md, 4.5).
    TrustPolicy,
    /// ... and of a peer in the role that it was verified in.
    Roles,
    /// ... and under the server name that it was verified for.
    ServerName,
    /// ... and while its chain is valid.
    Validity,
    /// ... and not revoked.
    Revocation,
    /// What was learned at one name, port and transport, with one credential, is not offered at another.
    Scopes,
    /// A server leaves out only what it would send in this handshake.
    SameObjects,
    /// A client takes a selection only of what it offered, and understands.
    Selection,
    /// TLS 1.2 without the extended master secret caches nothing (docs/caching.md, 4.6).
    ExtendedMasterSecret,
}

#[cfg(terse_testing)]
impl CacheDefence {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::TranscriptBinding,
        Self::Signature,
        Self::Finished,
        Self::TwoSlots,
        Self::Lineages,
        Self::Holding,
        Self::DroppedTickets,
        Self::Alternation,
        Self::FreshTickets,
        Self::TrustPolicy,
        Self::Roles,
        Self::ServerName,
        Self::Validity,
        Self::Revocation,
        Self::Scopes,
        Self::SameObjects,
        Self::Selection,
        Self::ExtendedMasterSecret,
    ];
}

/// The defences of a side: all, but for one that a test took away.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Defences {
    #[cfg(terse_testing)]
    pub(crate) without: Option<CacheDefence>,
}

/// One function for each defence: what holds with it. Nothing else asks what a test took away.
impl Defences {
    /// The transcript takes the fingerprint of what is left out or reduced.
    pub(crate) fn bind_transcript(self) -> bool {
        self.have(CacheDefence::TranscriptBinding)
    }

    /// Whether a handshake goes on after a signature of the peer that `is_good`, or is not.
    pub(crate) fn take_signature(self, is_good: bool) -> bool {
        is_good || !self.have(CacheDefence::Signature)
    }

    /// What the verification of a client's Finished gave.
    pub(crate) fn finished(self, verified: Result<FinishedProof, Error>) -> Result<FinishedProof, Error> {
        #[cfg(terse_testing)]
        if !self.have(CacheDefence::Finished) {
            return Ok(FinishedProof::after_finished());
        }
        verified
    }

    /// A new ticket waits beside the confirmed one until the server is known to have it.
    pub(crate) fn keep_two_slots(self) -> bool {
        self.have(CacheDefence::TwoSlots)
    }

    /// Whether a new ticket joins the lineage of a row, which `is_of` the Certificate that was proven, or is not.
    pub(crate) fn join_lineage(self, is_of: bool) -> bool {
        is_of || !self.have(CacheDefence::Lineages)
    }

    /// Whether a ticket is out of reach that `is_held` by a running connection.
    pub(crate) fn respect_holder(self, is_held: bool) -> bool {
        is_held && self.have(CacheDefence::Holding)
    }

    /// Tickets and objects that were selected go after an alert or a failed check.
    pub(crate) fn drop_tickets(self) -> bool {
        self.have(CacheDefence::DroppedTickets)
    }

    /// Failures are counted, so that attempts without an offer come between.
    pub(crate) fn alternate(self) -> bool {
        self.have(CacheDefence::Alternation)
    }

    /// A ticket that was used is replaced by one of this handshake.
    pub(crate) fn replace_tickets(self) -> bool {
        self.have(CacheDefence::FreshTickets)
    }

    /// Whether an entry may be used, which was verified under the policy of now, or was not.
    pub(crate) fn take_policy(self, is_same: bool) -> bool {
        is_same || !self.have(CacheDefence::TrustPolicy)
    }

    /// The role of a peer is part of the policy that it is verified under.
    pub(crate) fn separate_roles(self) -> bool {
        self.have(CacheDefence::Roles)
    }

    /// Whether an entry may be used, which was verified under the server name of now, or was not.
    pub(crate) fn take_server_name(self, is_same: bool) -> bool {
        is_same || !self.have(CacheDefence::ServerName)
    }

    /// The validity of an entry's chain is checked at every use.
    pub(crate) fn check_validity(self) -> bool {
        self.have(CacheDefence::Validity)
    }

    /// Revocation of an entry's chain is checked at every use.
    pub(crate) fn check_revocation(self) -> bool {
        self.have(CacheDefence::Revocation)
    }

    /// Name, port, transport and credential have scopes of their own.
    pub(crate) fn separate_scopes(self) -> bool {
        self.have(CacheDefence::Scopes)
    }

    /// Whether a server leaves an object out, which `is_same` as the one that it would send, or is not.
    pub(crate) fn leave_out(self, is_same: bool) -> bool {
        is_same || !self.have(CacheDefence::SameObjects)
    }

    /// Whether a client takes a selection that `is_legal`, or is not.
    pub(crate) fn take_selection(self, is_legal: bool) -> bool {
        is_legal || !self.have(CacheDefence::Selection)
    }

    /// Whether a TLS 1.2 handshake may cache, which has the extended master secret, or has not.
    pub(crate) fn may_cache(self, extended_master_secret: bool) -> bool {
        extended_master_secret || !self.have(CacheDefence::ExtendedMasterSecret)
    }

    /// Whether no test took `defence` away.
    #[cfg(terse_testing)]
    fn have(self, defence: CacheDefence) -> bool {
        self.without != Some(defence)
    }

    /// Nobody can take one away.
    #[cfg(not(terse_testing))]
    const fn have(self, _: CacheDefence) -> bool {
        true
    }
}
