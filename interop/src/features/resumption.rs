//! Sessions are resumed (RFC 9846, 2.2; RFC 5246, F.1.4; RFC 5077): each side knows the other without certificates.

use terse_tls::summary::{EarlyDataStatus, Mode};

use super::hello_retry::other_group;
use super::{Cell, Feature};
use crate::case::{Case, EARLY_DATA, Sessions};
use crate::meeting::Meeting;
use crate::peer::Role;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::new("resumption_of_kept_sessions", |cell| resumed(cell, Sessions::Kept)),
        Feature::new("resumption_of_sealed_sessions", |cell| resumed(cell, Sessions::Sealed)),
        Feature::tls13("resumption_after_hello_retry_request", after_hello_retry_request),
        Feature::tls13("early_data", early_data),
    ]
}

/// The first handshake is full; each later one resumes the session before.
fn resumed(cell: Cell, sessions: Sessions) {
    let case = Case::mutual(&terse_aws_lc::PROVIDER).with_sessions(sessions, 3);
    let mut meeting = first(cell, &case);
    let rounds = if meeting.remote.leaves_first() { 1 } else { 2 };
    for round in 0..rounds {
        meeting.again(&cell.case(&case));
        let summary = meeting.summary();
        assert_eq!((summary.mode, summary.signatures_verified), (Mode::Resumed, 0), "in round {round}");
        assert_eq!(summary.round_trips, 1);
        meeting.exchange(&format!("resumed {round}"));
        meeting.close();
    }
}

/// Makes the first connection, with a full handshake.
fn first(cell: Cell, case: &Case) -> Meeting {
    let mut meeting = cell.connect(case);
    assert_eq!(meeting.summary().mode, Mode::Full);
    if meeting.remote.leaves_first() {
        meeting.expect_close();
    } else {
        meeting.exchange("first");
        meeting.close();
    }
    meeting
}

/// Both ClientHellos offer the session, the second one with another binder (RFC 9846, 4.2.2).
fn after_hello_retry_request(cell: Cell) {
    let case = other_group().with_sessions(Sessions::Sealed, 2);
    let mut meeting = first(cell, &case);
    meeting.again(&cell.case(&case));
    let summary = meeting.summary();
    // These clients know the server's group from the first connection.
    let knows = cell.role == Role::Server && cell.peer.remembers_groups();
    assert_eq!((summary.mode, summary.round_trips), (Mode::Resumed, if knows { 1 } else { 2 }));
    meeting.exchange("resumed");
    meeting.close();
}

/// RFC 9846, 2.3: before the server has said anything.
fn early_data(cell: Cell) {
    match cell.role {
        Role::Client => early_data_in(cell, cell.peer.early_data_sessions()),
        Role::Server => [Sessions::Kept, Sessions::Sealed].into_iter().for_each(|kind| early_data_in(cell, kind)),
    }
}

fn early_data_in(cell: Cell, sessions: Sessions) {
    let case = Case { early_data: true, ..Case::mutual(&terse_aws_lc::PROVIDER) }.with_sessions(sessions, 2);
    let mut meeting = first(cell, &case);
    meeting.reconnect(&cell.case(&case));
    if cell.role == Role::Client {
        let taken = meeting.ours.send_early_data(EARLY_DATA.as_bytes()).expect("a client that may send it");
        assert_eq!(taken, EARLY_DATA.len(), "the session allows it");
    }
    meeting.handshake(&cell.case(&case));
    let summary = meeting.summary();
    assert_eq!((summary.mode, summary.early_data), (Mode::Resumed, EarlyDataStatus::Accepted));
    match cell.role {
        Role::Client if !cell.peer.shows_early_data() => {}
        Role::Client => meeting.remote.expect(EARLY_DATA.as_bytes()),
        Role::Server => {
            let mut received = [0; 100];
            let len = meeting.ours.receive_early_data(&mut received).expect("early data");
            assert_eq!(&received[..len], EARLY_DATA.as_bytes());
        }
    }
    meeting.exchange("resumed");
    meeting.close();
}
