//! HelloRetryRequest (RFC 9846, 4.2.4): for a group, for a cookie, for both.

use terse_tls::NamedGroup;

use super::{Cell, Feature};
use crate::case::Case;
use crate::peer::Role;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::new("hello_retry_request", |cell| retried(cell, &other_group())),
        Feature::new("hello_retry_request_compatibility_mode", |cell| {
            retried(cell, &Case { compatibility_mode: true, ..other_group() });
        }),
        Feature::new("hello_retry_request_and_cookie", |cell| retried(cell, &Case { cookie: true, ..other_group() })),
        Feature::new("hello_retry_request_for_a_cookie_alone", |cell| {
            retried(cell, &Case { cookie: true, ..Case::mutual(&terse_aws_lc::PROVIDER) });
        }),
    ]
}

/// The client's share is for a group that the server does not have.
pub(super) fn other_group() -> Case {
    Case {
        client_groups: vec![NamedGroup::X25519, NamedGroup::SECP384R1],
        server_groups: vec![NamedGroup::SECP384R1],
        ..Case::mutual(&terse_aws_lc::PROVIDER)
    }
}

fn retried(cell: Cell, case: &Case) {
    let mut meeting = cell.connect(case);
    meeting.exchange("once");
    meeting.close();
    assert_eq!(meeting.summary().round_trips, 2);
    let sent_change = meeting.ledger.lock().sent.count(terse_tls::ContentType::CHANGE_CIPHER_SPEC);
    assert_eq!(sent_change, usize::from(case.compatibility_mode || asked_for_compatibility(cell)));
}

/// Whether a peer's client asks for compatibility mode in any case.
fn asked_for_compatibility(cell: Cell) -> bool {
    cell.role == Role::Server && cell.peer == crate::peer::Peer::Rustls
}
