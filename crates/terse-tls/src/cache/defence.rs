//! What caching does against those who would misuse it, by name, so that a test can take one away and show what it is
//! for.
//!
//! What must always hold: without `--cfg terse_testing` nobody can take one away.
//!
//! What a type holds cannot be taken away and is not here: no entry is made but of a `VerifiedPeer`. The defences of
//! datagrams have a list of their own, and so have those of an endpoint.

use crate::error::Error;
use crate::proof::FinishedProof;

/// A defence of caching (`caching`, by rule).
#[cfg_attr(not(terse_testing), allow(unreachable_pub))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheDefence {
    /// The transcript binds the full content of what is left out (rule 1).
    TranscriptBinding,
    /// Whose Certificate is cached must sign the handshake all the same: a ticket proves nothing.
    Signature,
    /// Nothing is kept before the peer's Finished was verified (rule 2).
    #[cfg(terse_testing)]
    Finished,
    /// A new ticket replaces the one that the server is known to have only once the server is known to have it (rule
    /// 2).
    TwoSlots,
    /// A server's new ticket joins a lineage only if its certificate was proven (rule 2).
    Lineages,
    /// A running connection holds its ticket (rule 2).
    Holding,
    /// After an alert or a failed check that follows a selection, no ticket is offered again (rule 2).
    DroppedTickets,
    /// After offers that nobody answered, attempts without one come between (rule 2).
    Alternation,
    /// A used ticket is replaced (rule 3).
    FreshTickets,
    /// An entry is used under the policy that it was verified under (rule 5).
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
    /// TLS 1.2 without the extended master secret caches nothing (rule 6).
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

impl Defences {
    /// Whether a test took `defence` away.
    #[cfg(terse_testing)]
    pub(crate) fn lack(self, defence: CacheDefence) -> bool {
        self.without == Some(defence)
    }

    /// What the verification of a client's Finished gave.
    pub(crate) fn finished(self, verified: Result<FinishedProof, Error>) -> Result<FinishedProof, Error> {
        #[cfg(terse_testing)]
        if self.lack(CacheDefence::Finished) {
            return Ok(FinishedProof::after_finished());
        }
        verified
    }

    /// Nobody can take one away.
    #[cfg(not(terse_testing))]
    pub(crate) const fn lack(self, _: CacheDefence) -> bool {
        false
    }
}
