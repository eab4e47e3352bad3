//! This module names the defences of caching against misuse, so that a test can take one away and show what it is for.
//!
//! What must always hold: without `--cfg terse_testing` no defence can be taken away.
//!
//! Defences that a type enforces cannot be taken away and are not listed here: an entry is only made of a
//! `VerifiedPeer`. The defences of datagrams and those of an endpoint have lists of their own.

use crate::error::Error;
use crate::proof::FinishedProof;

/// A defence of caching (docs/caching.md, 4).
#[cfg_attr(not(terse_testing), allow(unreachable_pub))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheDefence {
    /// The transcript binds the full content of what is left out (docs/caching.md, 4.1).
    TranscriptBinding,
    /// A peer whose Certificate is cached must sign the handshake all the same, because a ticket proves nothing.
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
    /// An entry is used only under the policy that it was verified under (docs/caching.md, 4.5).
    TrustPolicy,
    /// An entry is used only for a peer in the role that it was verified in (docs/caching.md, 4.5).
    Roles,
    /// An entry is used only under the server name that it was verified for (docs/caching.md, 4.5).
    ServerName,
    /// An entry is used only while its chain is valid (docs/caching.md, 4.5).
    Validity,
    /// An entry is used only if no certificate of its chain is revoked (docs/caching.md, 4.5).
    Revocation,
    /// What was learned at one name, port and transport, with one credential, is not offered at another.
    Scopes,
    /// A server leaves out only what it would send in this handshake.
    SameObjects,
    /// A client accepts a selection only of what it offered and understands.
    Selection,
    /// TLS 1.2 without the extended master secret caches nothing (docs/caching.md, 4.6).
    ExtendedMasterSecret,
}

#[cfg(terse_testing)]
impl CacheDefence {
    /// All defences.
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

/// The defences of a side, which are all of them except for one that a test took away.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Defences {
    #[cfg(terse_testing)]
    pub(crate) without: Option<CacheDefence>,
}

/// Each defence has one function, which says what holds with it. No other code asks what a test took away.
impl Defences {
    /// Returns whether the transcript takes the fingerprint of what is left out or reduced.
    pub(crate) fn bind_transcript(self) -> bool {
        self.have(CacheDefence::TranscriptBinding)
    }

    /// Returns whether a handshake goes on after a signature of the peer, where `is_good` says whether the signature
    /// verified.
    pub(crate) fn take_signature(self, is_good: bool) -> bool {
        is_good || !self.have(CacheDefence::Signature)
    }

    /// Returns the result of verifying a client's Finished.
    pub(crate) fn finished(self, verified: Result<FinishedProof, Error>) -> Result<FinishedProof, Error> {
        #[cfg(terse_testing)]
        if !self.have(CacheDefence::Finished) {
            return Ok(FinishedProof::after_finished());
        }
        verified
    }

    /// Returns whether a new ticket waits beside the confirmed one until the server is known to have it.
    pub(crate) fn keep_two_slots(self) -> bool {
        self.have(CacheDefence::TwoSlots)
    }

    /// Returns whether a new ticket joins the lineage of a row, where `is_of` says whether that row has the Certificate
    /// that was proven.
    pub(crate) fn join_lineage(self, is_of: bool) -> bool {
        is_of || !self.have(CacheDefence::Lineages)
    }

    /// Returns whether a ticket may not be offered, where `is_held` says whether a running connection holds it.
    pub(crate) fn respect_holder(self, is_held: bool) -> bool {
        is_held && self.have(CacheDefence::Holding)
    }

    /// Returns whether tickets and objects that were selected are dropped after an alert or a failed check.
    pub(crate) fn drop_tickets(self) -> bool {
        self.have(CacheDefence::DroppedTickets)
    }

    /// Returns whether failures are counted, so that attempts without an offer come between those with one.
    pub(crate) fn alternate(self) -> bool {
        self.have(CacheDefence::Alternation)
    }

    /// Returns whether a ticket that was used is replaced by one of this handshake.
    pub(crate) fn replace_tickets(self) -> bool {
        self.have(CacheDefence::FreshTickets)
    }

    /// Returns whether an entry may be used, where `is_same` says whether it was verified under the current policy.
    pub(crate) fn take_policy(self, is_same: bool) -> bool {
        is_same || !self.have(CacheDefence::TrustPolicy)
    }

    /// Returns whether the role of a peer is part of the policy that it is verified under.
    pub(crate) fn separate_roles(self) -> bool {
        self.have(CacheDefence::Roles)
    }

    /// Returns whether an entry may be used, where `is_same` says whether it was verified for the current server name.
    pub(crate) fn take_server_name(self, is_same: bool) -> bool {
        is_same || !self.have(CacheDefence::ServerName)
    }

    /// Returns whether the validity of an entry's chain is checked at every use.
    pub(crate) fn check_validity(self) -> bool {
        self.have(CacheDefence::Validity)
    }

    /// Returns whether revocation of an entry's chain is checked at every use.
    pub(crate) fn check_revocation(self) -> bool {
        self.have(CacheDefence::Revocation)
    }

    /// Returns whether name, port, transport and credential separate scopes.
    pub(crate) fn separate_scopes(self) -> bool {
        self.have(CacheDefence::Scopes)
    }

    /// Returns whether a server leaves an object out, where `is_same` says whether it is the one that it would send.
    pub(crate) fn leave_out(self, is_same: bool) -> bool {
        is_same || !self.have(CacheDefence::SameObjects)
    }

    /// Returns whether a client accepts a selection, where `is_legal` says whether the selection fits the offer.
    pub(crate) fn take_selection(self, is_legal: bool) -> bool {
        is_legal || !self.have(CacheDefence::Selection)
    }

    /// Returns whether a TLS 1.2 handshake may cache, depending on whether it has the extended master secret.
    pub(crate) fn may_cache(self, extended_master_secret: bool) -> bool {
        extended_master_secret || !self.have(CacheDefence::ExtendedMasterSecret)
    }

    /// Returns whether no test took `defence` away.
    #[cfg(terse_testing)]
    fn have(self, defence: CacheDefence) -> bool {
        self.without != Some(defence)
    }

    /// Returns `true`, because only tests can take a defence away.
    #[cfg(not(terse_testing))]
    const fn have(self, _: CacheDefence) -> bool {
        true
    }
}
