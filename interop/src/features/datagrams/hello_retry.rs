//! HelloRetryRequest (RFC 9846, 4.2.4; RFC 9147, 5.1) asks for a group, or sends a cookie.

use std::collections::BTreeSet;

use terse_tls::HandshakeType;

use super::super::hello_retry::other_group;
use super::network::fragments;
use super::{Cell, Feature, case};
use crate::case::Case;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::dtls13("hello_retry_request", |cell| retried(cell, &other_group())),
        Feature::dtls13("hello_retry_request_with_cookie", |cell| {
            retried(cell, &Case { cookie: true, ..case() });
            retried(cell, &Case { cookie: true, ..other_group() });
        }),
    ]
}

/// There are two ServerHellos, one of them a HelloRetryRequest. Our server's always has a cookie.
fn retried(cell: Cell, case: &Case) {
    let mut pair = cell.pair(case);
    let _ = pair.complete(&cell.case(case));
    let passed = pair.relay.passed();
    let count = |kind| {
        let messages = fragments(&passed).filter(|(_, part)| part.kind == kind).map(|(_, part)| part.message_seq);
        messages.collect::<BTreeSet<_>>().len()
    };
    assert_eq!((count(HandshakeType::CLIENT_HELLO), count(HandshakeType::SERVER_HELLO)), (2, 2));
}
