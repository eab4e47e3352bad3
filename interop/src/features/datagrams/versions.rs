//! One ClientHello for both versions leads to the right one (RFC 9846, 4.2.1, E.1).

use terse_tls::{AlertDescription, ProtocolVersion};

use super::super::VERSIONS;
use super::{Cell, Feature, case};
use crate::case::Case;
use crate::peer::Role;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::dtls("only_our_side_is_limited_to_it", |cell| agreed(cell, &[cell.version], VERSIONS)),
        Feature::dtls("only_the_peer_is_limited_to_it", |cell| agreed(cell, VERSIONS, &[cell.version])),
        Feature::dtls13("both_sides_have_both_versions", |cell| agreed(cell, VERSIONS, VERSIONS)),
        Feature::dtls("no_version_in_common", no_common_version),
    ]
}

fn agreed(cell: Cell, ours: &[ProtocolVersion], theirs: &[ProtocolVersion]) {
    cell.succeeds(&Case { our_versions: ours.into(), peer_versions: theirs.into(), ..case() });
}

/// The peer has this version, our side the other one. Servers of DTLS 1.2 that ask for a cookie before they read the
/// rest send a HelloVerifyRequest, which a client of DTLS 1.3 alone refuses; others find no suite.
fn no_common_version(cell: Cell) {
    let other = if cell.is_tls13() { ProtocolVersion::TLS_1_2 } else { ProtocolVersion::TLS_1_3 };
    let case = Case { our_versions: vec![other], peer_versions: vec![cell.version], ..case() };
    let said = cell.peer.alert_about_version(cell.version, cell.carrier);
    let asks_first = cell.peer.sends_cookies_before_it_reads_versions() && !cell.is_tls13();
    match cell.role {
        Role::Client if asks_first => cell.pair(&case).ours_leaves("no protocol version"),
        Role::Client => cell.peer_refuses(&case, said),
        Role::Server => cell.ours_refuses(&case, AlertDescription::PROTOCOL_VERSION),
    }
}
