//! HelloRetryRequest (RFC 9846, 4.2.4) asks for a group, sends a cookie, or both.

use terse_tls::{ContentType, NamedGroup};

use super::{Cell, Feature};
use crate::case::Case;
use crate::peer::Role;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::tls13("hello_retry_request", |cell| retried(cell, &other_group())),
        Feature::tls13("hello_retry_request_compatibility_mode", |cell| {
            retried(cell, &Case { compatibility_mode: true, ..other_group() });
        }),
        Feature::tls13("hello_retry_request_with_cookie", with_cookie),
    ]
}

/// Returns a case in which the client's share is for a group that the server does not have.
pub(super) fn other_group() -> Case {
    Case {
        client_groups: vec![NamedGroup::X25519, NamedGroup::SECP384R1],
        server_groups: vec![NamedGroup::SECP384R1],
        ..Case::mutual(&terse_aws_lc::PROVIDER)
    }
}

/// With another group, and for the cookie's sake alone, which our server does not do.
fn with_cookie(cell: Cell) {
    retried(cell, &Case { cookie: true, ..other_group() });
    if cell.role == Role::Client && cell.peer.asks_for_a_cookie_alone() {
        retried(cell, &Case { cookie: true, ..Case::mutual(&terse_aws_lc::PROVIDER) });
    }
}

fn retried(cell: Cell, case: &Case) {
    let mut meeting = cell.connect(case);
    meeting.exchange("once");
    meeting.close();
    assert_eq!(meeting.summary().round_trips, 2);
    let asked = match cell.role {
        Role::Client => case.compatibility_mode,
        Role::Server => cell.peer.asks_for_compatibility_mode(case.compatibility_mode),
    };
    let sent = meeting.ledger.lock().sent.count(ContentType::CHANGE_CIPHER_SPEC);
    assert_eq!(sent, usize::from(asked));
}
