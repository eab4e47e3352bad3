//! Sessions that are resumed (RFC 5246, F.1.4; RFC 5077).

use super::{Cell, Feature, case};
use crate::case::Sessions;
use crate::datagrams::pair::Pair;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::dtls("resumption_of_kept_sessions", |cell| resumed(cell, Sessions::Kept)),
        Feature::dtls("resumption_of_sealed_sessions", |cell| resumed(cell, Sessions::Sealed)),
    ]
}

/// The first connection is in full; each later one resumes the one before.
fn resumed(cell: Cell, sessions: Sessions) {
    let case = cell.case(&case().with_sessions(sessions, 3));
    let mut pair = Pair::new(cell.peer, cell.role, &case);
    let leaves_first = pair.client.leaves_first();
    let rounds = if leaves_first { 2 } else { 3 };
    for round in 0..rounds {
        if leaves_first && round == 0 {
            pair.server.expect_close();
        } else {
            pair.exchange();
            pair.close();
        }
        if let Some(report) = pair.report() {
            report.check(cell.role, &case);
            assert_eq!(report.mode(), if round == 0 { "full" } else { "resumed" }, "in round {round}");
            assert_eq!(report.number("signatures_verified") == 0, round > 0);
        }
        if round + 1 < rounds {
            pair.next();
        }
    }
}
