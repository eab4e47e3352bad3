//! The rows of the matrix: what is tried with every peer, in both roles.

use terse_tls::{AlertDescription, ProtocolVersion};

use crate::case::Case;
use crate::datagrams::pair::Pair;
use crate::meeting::Meeting;
use crate::peer::{Peer, Role};

mod authentication;
mod caching;
mod crypto;
mod datagrams;
mod extensions;
mod hello_retry;
mod identity;
mod keys;
mod refusals;
mod resumption;
mod staples;
mod traffic;
mod versions;

/// What carries the records: TLS or DTLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// A stream.
    Tcp,
    /// Datagrams.
    Udp,
}

/// The versions that our engine speaks.
const VERSIONS: &[ProtocolVersion] = &[ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];

/// A row of the matrix for each of its versions.
pub struct Feature {
    /// As in reports and for filters.
    pub name: &'static str,
    /// Where it is tried.
    pub versions: &'static [ProtocolVersion],
    /// Over what.
    pub carriers: &'static [Carrier],
    /// Whether a cell spends its time waiting for timers, so that others can run meanwhile.
    pub waits: bool,
    /// Panics if it does not work.
    pub run: Box<dyn Fn(Cell) + Send + Sync>,
}

impl Feature {
    fn new(name: &'static str, run: impl Fn(Cell) + Send + Sync + 'static) -> Self {
        Self { name, versions: VERSIONS, carriers: &[Carrier::Tcp], waits: false, run: Box::new(run) }
    }

    fn tls13(name: &'static str, run: impl Fn(Cell) + Send + Sync + 'static) -> Self {
        Self { versions: &[ProtocolVersion::TLS_1_3], ..Self::new(name, run) }
    }

    fn tls12(name: &'static str, run: impl Fn(Cell) + Send + Sync + 'static) -> Self {
        Self { versions: &[ProtocolVersion::TLS_1_2], ..Self::new(name, run) }
    }

    /// For DTLS alone.
    fn dtls(name: &'static str, run: impl Fn(Cell) + Send + Sync + 'static) -> Self {
        Self { carriers: &[Carrier::Udp], ..Self::new(name, run) }
    }

    fn dtls13(name: &'static str, run: impl Fn(Cell) + Send + Sync + 'static) -> Self {
        Self { versions: &[ProtocolVersion::TLS_1_3], ..Self::dtls(name, run) }
    }

    fn dtls12(name: &'static str, run: impl Fn(Cell) + Send + Sync + 'static) -> Self {
        Self { versions: &[ProtocolVersion::TLS_1_2], ..Self::dtls(name, run) }
    }

    /// Waits for timers most of the time.
    fn waiting(self) -> Self {
        Self { waits: true, ..self }
    }

    /// For DTLS as well.
    fn and_dtls(self) -> Self {
        Self { carriers: &[Carrier::Tcp, Carrier::Udp], ..self }
    }

    /// The tables that it has a row in.
    pub fn tables(&self) -> impl Iterator<Item = Table> {
        TABLES
            .into_iter()
            .filter(|table| self.versions.contains(&table.version) && self.carriers.contains(&table.carrier))
    }
}

/// A table of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// What both sides are to agree on.
    pub version: ProtocolVersion,
    /// Over what.
    pub carrier: Carrier,
    /// Its title.
    pub title: &'static str,
}

/// All tables.
pub const TABLES: [Table; 4] = [
    Table { version: ProtocolVersion::TLS_1_3, carrier: Carrier::Tcp, title: "TLS 1.3" },
    Table { version: ProtocolVersion::TLS_1_2, carrier: Carrier::Tcp, title: "TLS 1.2" },
    Table { version: ProtocolVersion::TLS_1_3, carrier: Carrier::Udp, title: "DTLS 1.3" },
    Table { version: ProtocolVersion::TLS_1_2, carrier: Carrier::Udp, title: "DTLS 1.2" },
];

/// A place in a row of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Whom we meet.
    pub peer: Peer,
    /// What we are.
    pub role: Role,
    /// What both sides are to agree on.
    pub version: ProtocolVersion,
    /// Over what.
    pub carrier: Carrier,
}

impl Cell {
    /// All places in a row of `feature`.
    pub fn of(feature: &Feature, table: Table) -> impl Iterator<Item = Self> {
        Self::all(table).filter(move |cell| match cell.peer.only_features() {
            Some(features) => features.contains(&feature.name),
            None => staples::is_tried(feature.name, *cell),
        })
    }

    /// All places of a table.
    pub fn all(Table { version, carrier, .. }: Table) -> impl Iterator<Item = Self> {
        let peers = Peer::ALL.iter().copied().filter(move |peer| peer.speaks(version, carrier));
        peers.flat_map(move |peer| [Role::Client, Role::Server].map(|role| Self { peer, role, version, carrier }))
    }

    /// Why the peer cannot try `feature` here, if so.
    pub fn absent(&self, feature: &Feature) -> Option<&'static str> {
        let absence = self.peer.absences().iter().find(|absence| absence.is_about(feature.name, self));
        absence.map(|absence| absence.reason)
    }

    /// `case` in this version: what it does not say about versions. Over TCP, our side always has both.
    fn case(self, case: &Case) -> Case {
        let mut case = case.clone();
        if self.carrier == Carrier::Udp {
            let or_this = |versions: Vec<_>| if versions.is_empty() { vec![self.version] } else { versions };
            case.our_versions = or_this(case.our_versions);
            case.peer_versions = or_this(case.peer_versions);
            case.datagrams = Some(case.datagrams.unwrap_or_default());
            if !self.peer.sends_intermediates() {
                case.chain = "p256x2";
            }
            return case;
        }
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

    /// A connection over whatever carries it, from its handshake to its end.
    fn succeeds(self, case: &Case) {
        match self.carrier {
            Carrier::Tcp => drop(self.complete(case)),
            Carrier::Udp => drop(self.pair(case).complete(&self.case(case))),
        }
    }

    fn pair(self, case: &Case) -> Pair {
        Pair::new(self.peer, self.role, &self.case(case))
    }

    /// Our side refuses the peer with `alert`.
    fn ours_refuses(self, case: &Case, alert: AlertDescription) {
        match self.carrier {
            Carrier::Tcp => drop(self.meet(case).ours_refuses(alert)),
            Carrier::Udp => self.pair(case).ours_refuses(alert),
        }
    }

    /// The peer refuses our side with `alert`.
    fn peer_refuses(self, case: &Case, alert: AlertDescription) {
        match self.carrier {
            Carrier::Tcp => self.meet(case).peer_refuses(alert),
            Carrier::Udp => self.pair(case).peer_refuses(alert),
        }
    }
}

/// All rows.
pub fn all() -> Vec<Feature> {
    [
        authentication::features(),
        crypto::features(),
        hello_retry::features(),
        identity::features(),
        extensions::features(),
        traffic::features(),
        versions::features(),
        keys::features(),
        resumption::features(),
        refusals::features(),
        caching::features(),
        staples::features(),
        datagrams::features(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_name_features_that_there_are() {
        let features = all();
        for peer in Peer::ALL {
            let absent = peer.absences().iter().map(|absence| absence.feature);
            for name in absent.chain(peer.only_features().unwrap_or_default().iter().copied()) {
                assert!(features.iter().any(|feature| feature.name == name), "{}: {name}", peer.name());
            }
        }
    }
}
