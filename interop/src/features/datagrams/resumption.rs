//! Sessions are resumed (RFC 5246, F.1.4; RFC 5077; RFC 9846, 2.2).

use super::super::hello_retry::other_group;
use super::{Cell, Feature, case};
use crate::case::{Case, EARLY_DATA, Sessions};
use crate::datagrams::pair::Pair;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::dtls("resumption_of_kept_sessions", |cell| resumed(cell, &case(), Sessions::Kept)),
        Feature::dtls("resumption_of_sealed_sessions", |cell| resumed(cell, &case(), Sessions::Sealed)),
        Feature::dtls13("resumption_after_hello_retry_request", |cell| {
            resumed(cell, &other_group(), Sessions::Sealed);
        }),
        Feature::dtls13("early_data", |cell| early_data(cell, false)),
        Feature::dtls13("early_data_lost_to_a_cookie", |cell| early_data(cell, true)),
    ]
}

/// The first handshake is full; each later one resumes the session before.
fn resumed(cell: Cell, case: &Case, sessions: Sessions) {
    let case = cell.case(&case.clone().with_sessions(sessions, 3));
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

/// Early data comes before the server has sent anything (RFC 9846, 2.3; RFC 9147, 5.6). With a cookie the server
/// requests another ClientHello and rejects the early data: the client sends them again.
fn early_data(cell: Cell, cookie: bool) {
    let case = cell.case(&Case { early_data: true, cookie, ..case() }.with_sessions(Sessions::Sealed, 2));
    let mut pair = cell.pair(&case);
    let _ = pair.complete(&case);
    pair.next();
    let receiver = if pair.server.echoes() { &mut pair.client } else { &mut pair.server };
    receiver.expect(EARLY_DATA.as_bytes());
    if let Some(report) = pair.complete(&case) {
        let outcome = if cookie { "rejected" } else { "accepted" };
        assert_eq!((report.mode(), &report.0["early_data"]), ("resumed", &outcome.into()));
    }
}
