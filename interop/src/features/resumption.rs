//! Sessions that are resumed (RFC 9846, 2.2; RFC 5246, F.1.4; RFC 5077): each side knows the other without certificates.

use terse_tls::summary::Mode;

use super::{Cell, Feature};
use crate::case::{Case, Sessions};

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::new("resumption_of_kept_sessions", |cell| resumed(cell, Sessions::Kept)),
        Feature::new("resumption_of_sealed_sessions", |cell| resumed(cell, Sessions::Sealed)),
    ]
}

/// The first connection is in full; each later one resumes the one before.
fn resumed(cell: Cell, sessions: Sessions) {
    let case = Case::mutual(&terse_aws_lc::PROVIDER).with_sessions(sessions, 3);
    let mut meeting = cell.connect(&case);
    assert_eq!(meeting.summary().mode, Mode::Full);
    let rounds = if meeting.remote.leaves_first() {
        meeting.expect_close();
        1
    } else {
        meeting.exchange("first");
        meeting.close();
        2
    };
    for round in 0..rounds {
        meeting.again(&cell.case(&case));
        let summary = meeting.summary();
        assert_eq!((summary.mode, summary.signatures_verified), (Mode::Resumed, 0), "in round {round}");
        assert_eq!(summary.round_trips, 1);
        meeting.exchange(&format!("resumed {round}"));
        meeting.close();
    }
}
