//! OCSP responses are stapled (RFC 6066, 8) by peers that can, in both directions; others must work as before.

use terse_pki::OcspStatus;
use terse_tls::summary::Staple;
use terse_tls::{AlertDescription, Stapling};

use super::{Cell, Feature};
use crate::case::Case;
use crate::peer::Role;

const REVOCATION: &str = "stapled_revocation";

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::new("stapled_response", response),
        Feature::new(REVOCATION, revocation),
        Feature::new("staple_required_and_missing", missing),
    ]
}

/// A revocation takes a server that staples it, or a client that heeds it.
pub(super) fn is_tried(feature: &str, cell: Cell) -> bool {
    let can_revoke = || match cell.role {
        Role::Client => cell.peer.staples(),
        Role::Server => cell.peer.heeds_stapled_revocations(),
    };
    feature != REVOCATION || can_revoke()
}

fn case() -> Case {
    Case::mutual(&terse_aws_lc::PROVIDER)
}

/// A peer that cannot staple, or does not request a staple, connects as usual.
fn response(cell: Cell) {
    let case = Case { staple: Some(OcspStatus::Good), stapling: Stapling::Ask, ..case() };
    let mut meeting = cell.connect(&case);
    let can_staple = cell.peer.staples();
    match cell.role {
        Role::Client => {
            let expected = if can_staple { Staple::Good } else { Staple::None };
            assert_eq!(meeting.summary().peer.staple, expected);
        }
        Role::Server if can_staple => meeting.remote.expect_staple(),
        Role::Server => {}
    }
    meeting.exchange("once");
    meeting.close();
}

fn revocation(cell: Cell) {
    let case = Case { staple: Some(OcspStatus::Revoked(0)), stapling: Stapling::Ask, ..case() };
    let mut meeting = cell.meet(&case);
    match cell.role {
        Role::Client => drop(meeting.ours_refuses(AlertDescription::CERTIFICATE_REVOKED)),
        Role::Server => drop(meeting.ours_fails()), // GnuTLS sends another alert in each version
    }
}

/// Our side requires a staple, and no peer sends one.
fn missing(cell: Cell) {
    let case = Case { stapling: Stapling::Require, ..case() };
    cell.meet(&case).ours_refuses(AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE);
}
