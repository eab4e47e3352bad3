//! The rows of the matrix: what is tried with every peer, in both roles.

use terse_tls::ProtocolVersion;

use crate::case::Case;
use crate::meeting::Meeting;
use crate::peer::{Peer, Role};

mod absent;
mod authentication;
mod caching;
mod crypto;
mod extensions;
mod hello_retry;
mod keys;
mod refusals;
mod resumption;
mod traffic;
mod versions;

pub use absent::absent;

/// The versions that our engine speaks.
const VERSIONS: &[ProtocolVersion] = &[ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];

/// A row of the matrix for each of its versions.
pub struct Feature {
    /// As in reports and for filters.
    pub name: &'static str,
    /// Where it is tried.
    pub versions: &'static [ProtocolVersion],
    /// Panics if it does not work.
    pub run: Box<dyn Fn(Cell) + Send + Sync>,
}

impl Feature {
    fn new(name: &'static str, run: impl Fn(Cell) + Send + Sync + 'static) -> Self {
        Self { name, versions: VERSIONS, run: Box::new(run) }
    }

    fn tls13(name: &'static str, run: impl Fn(Cell) + Send + Sync + 'static) -> Self {
        Self { versions: &[ProtocolVersion::TLS_1_3], ..Self::new(name, run) }
    }

    fn tls12(name: &'static str, run: impl Fn(Cell) + Send + Sync + 'static) -> Self {
        Self { versions: &[ProtocolVersion::TLS_1_2], ..Self::new(name, run) }
    }
}

/// A place in a row of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Whom we meet.
    pub peer: Peer,
    /// What we are.
    pub role: Role,
    /// What both sides are to agree on.
    pub version: ProtocolVersion,
}

impl Cell {
    /// All places in a row of `feature`.
    pub fn of(feature: &Feature, version: ProtocolVersion) -> impl Iterator<Item = Self> {
        let is_about_shared_keys = keys::is_about_shared_keys(feature.name);
        Self::all(version).filter(move |cell| is_about_shared_keys || !cell.peer.has_only_shared_keys())
    }

    /// All places of a table.
    pub fn all(version: ProtocolVersion) -> impl Iterator<Item = Self> {
        let peers = Peer::ALL.into_iter().filter(move |peer| peer.speaks(version));
        peers.flat_map(move |peer| [Role::Client, Role::Server].map(|role| Self { peer, role, version }))
    }

    /// `case` in this version: what it does not say about versions. Our side always has both.
    fn case(self, case: &Case) -> Case {
        let mut case = case.clone();
        if case.our_versions.is_empty() {
            case.our_versions = VERSIONS.into();
        }
        if case.peer_versions.is_empty() {
            // Suites are those of one version.
            let only = self.version == ProtocolVersion::TLS_1_2 || !case.suites.is_empty();
            case.peer_versions = if only { vec![self.version] } else { VERSIONS.into() };
        }
        case
    }

    fn is_tls13(self) -> bool {
        self.version == ProtocolVersion::TLS_1_3
    }

    fn meet(self, case: &Case) -> Meeting {
        Meeting::new(self.peer, self.role, &self.case(case))
    }

    fn connect(self, case: &Case) -> Meeting {
        Meeting::connected(self.peer, self.role, &self.case(case))
    }

    fn complete(self, case: &Case) -> terse_tls::Summary {
        Meeting::complete(self.peer, self.role, &self.case(case))
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
        versions::features(),
        keys::features(),
        resumption::features(),
        refusals::features(),
        caching::features(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
