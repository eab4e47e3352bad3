//! The decisions of a join proxy for datagrams (draft-ietf-anima-constrained-join-proxy-20): which datagrams are passed on, and
//! to whom.
//!
//! A proxy has one of two modes. A [`Stateful`] one keeps a table of the pledges that are there, and has a source port for each
//! of them towards the registrar. A [`Stateless`] one keeps nothing: it puts an encrypted header before each datagram, which the
//! registrar returns with its answer. Of several registrars, [`Failover`] says which one is used.
//!
//! Time is an argument: a [`Duration`](core::time::Duration) since any start that the caller chooses, which never goes back.
//!
//! What must always hold: anybody on the link can send anything, from any address, and everything that this costs is bounded;
//! nothing goes to a registrar that is not from the proxy's own links, and nothing of a registrar goes anywhere else; who floods
//! the proxy uses up his own share, as far as addresses tell him apart from others.

use core::fmt;

mod failover;
mod header;
mod on_link;
mod rate;
mod stateful;
mod stateless;

pub use failover::Failover;
pub use header::{HEADER_LEN, HeaderKey};
pub use on_link::{MAX_PREFIXES, OnLink, Prefix};
pub use rate::SHARES;
pub use stateful::{GRACE, PROTECTED, Passed, SILENCE, Stateful, StatefulLimits, Tuple};
pub use stateless::{KEY_LIFETIME, Stateless, StatelessLimits};

/// Why a join proxy drops a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The pledge is not on a link of the proxy, or has no port that can be answered.
    OffLink,
    /// It is empty, or longer than the limit.
    Length,
    /// There are too many datagrams.
    TooMany,
    /// There is no room for another pledge.
    Full,
    /// The header of the answer is not one of this proxy, or is too old.
    NotAuthentic,
    /// The pledge of the answer has been silent for too long.
    Gone,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OffLink => "the pledge is not on a link of the proxy",
            Self::Length => "the datagram is empty or too long",
            Self::TooMany => "there are too many datagrams",
            Self::Full => "there are too many pledges",
            Self::NotAuthentic => "the header of the answer is not authentic",
            Self::Gone => "the pledge of the answer has been silent for too long",
        })
    }
}

impl core::error::Error for Refusal {}

/// The most interfaces that have limits of their own. Further ones share those of one.
const MAX_INTERFACES: usize = 16;
