//! The rows of the matrix: what is tried with every peer, in both roles.

use crate::case::Case;
use crate::meeting::Meeting;
use crate::peer::{Peer, Role};

mod absent;
mod authentication;
mod caching;
mod crypto;
mod extensions;
mod hello_retry;
mod refusals;
mod traffic;

pub use absent::absent;

/// A row of the matrix.
pub struct Feature {
    /// As in reports and for filters.
    pub name: &'static str,
    /// Panics if it does not work.
    pub run: Box<dyn Fn(Cell) + Send + Sync>,
}

impl Feature {
    fn new(name: &'static str, run: impl Fn(Cell) + Send + Sync + 'static) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// A place in a row of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Whom we meet.
    pub peer: Peer,
    /// What we are.
    pub role: Role,
}

impl Cell {
    /// All places of a row.
    pub fn all() -> impl Iterator<Item = Self> {
        Peer::ALL.into_iter().flat_map(|peer| [Role::Client, Role::Server].map(|role| Self { peer, role }))
    }

    fn meet(self, case: &Case) -> Meeting {
        Meeting::new(self.peer, self.role, case)
    }

    fn connect(self, case: &Case) -> Meeting {
        Meeting::connected(self.peer, self.role, case)
    }

    fn complete(self, case: &Case) -> terse_tls::Summary {
        Meeting::complete(self.peer, self.role, case)
    }
}

/// All rows.
pub fn all() -> Vec<Feature> {
    [
        authentication::features(),
        crypto::features(),
        hello_retry::features(),
        extensions::features(),
        traffic::features(),
        refusals::features(),
        caching::features(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
