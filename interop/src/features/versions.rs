//! One side lacks a version, or a security extension of TLS 1.2.

use terse_net::NetError;
use terse_tls::{AlertDescription, Error, PeerMisbehaved, ProtocolVersion};

use super::{Cell, Feature};
use crate::case::Case;
use crate::meeting::Meeting;
use crate::peer::Role;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::new("only_our_side_is_limited_to_it", only_ours),
        Feature::new("no_version_in_common", no_common_version),
        Feature::tls12("extended_master_secret_missing", no_extended_master_secret),
        Feature::tls12("renegotiation_is_refused", no_renegotiation),
    ]
}

fn case() -> Case {
    Case::mutual(&terse_aws_lc::PROVIDER)
}

/// The peer has both versions. If we have only TLS 1.2, the sentinel in its ServerHello is harmless (RFC 9846, 4.2.3).
fn only_ours(cell: Cell) {
    let peer_versions = vec![ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];
    let _ = cell.complete(&Case { our_versions: vec![cell.version], peer_versions, ..case() });
}

/// Our side has this version, the peer the other one.
fn no_common_version(cell: Cell) {
    let other = if cell.is_tls13() { ProtocolVersion::TLS_1_2 } else { ProtocolVersion::TLS_1_3 };
    let case = Case { our_versions: vec![cell.version], peer_versions: vec![other], ..case() };
    let mut meeting = Meeting::new(cell.peer, cell.role, &case);
    match cell.role {
        Role::Client => meeting.peer_refuses(cell.peer.alert_about_version(cell.version, cell.carrier)),
        Role::Server => drop(meeting.ours_refuses(AlertDescription::PROTOCOL_VERSION)),
    }
}

/// Without the extended master secret the peer is refused (RFC 7627, 5.3), unless that check is switched off.
fn no_extended_master_secret(cell: Cell) {
    let case = Case { peer_lacks_extended_master_secret: true, ..case() };
    let mut meeting = cell.meet(&case);
    let _ = meeting.ours_refuses(AlertDescription::HANDSHAKE_FAILURE);
    let _ = cell.complete(&Case { requires_extended_master_secret: false, ..case });
}

/// The peer hears `no_renegotiation`, a warning. It says that this is the end, asks again and again until we have enough,
/// or leaves.
fn no_renegotiation(cell: Cell) {
    let mut meeting = cell.connect(&case());
    meeting.exchange("once");
    if let Some((command, answer)) = meeting.remote.updates_keys_on() {
        meeting.send(command); // the command's meaning in TLS 1.2
        meeting.expect(answer);
        meeting.send(b"after\n");
    } else {
        meeting.remote.renegotiate();
    }
    match meeting.receive_nothing() {
        Err(NetError::Tls(Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE))) => {}
        Err(NetError::Tls(Error::PeerMisbehaved(PeerMisbehaved::TooManyRenegotiations))) => {}
        Err(NetError::Tls(Error::Truncated) | NetError::Io(_)) if cell.peer.leaves_without_renegotiation() => {}
        other => panic!("the peer goes on: {other:?}"),
    }
}
