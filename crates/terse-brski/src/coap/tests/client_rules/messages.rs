//! Which messages a client takes, and what it answers.

use super::*;

#[test]
fn only_the_response_with_the_token_counts() {
    let mut played = Played::new(Request::get(Resource::CaCerts));
    let sent = played.sent().unwrap();
    let other = Message::new(Kind::Acknowledgement, Code::CONTENT, sent.id(), b"no").encode();
    played.client.handle_input(NOW, &mut played.rng, &other);
    let other = Message::new(Kind::Acknowledgement, Code::CONTENT, sent.id() ^ 1, sent.token()).encode();
    played.client.handle_input(NOW, &mut played.rng, &other);
    for kind in [Kind::Acknowledgement, Kind::Reset] {
        let other = Message::new(kind, Code::GET, sent.id(), sent.token()).encode();
        played.client.handle_input(NOW, &mut played.rng, &other);
        assert!(played.client.poll_timeout().is_some_and(|at| at < Instant(4_000)), "a request is neither");
    }
    let other = Message::new(Kind::Confirmable, Code::CONTENT, 9, b"no").encode();
    played.client.handle_input(NOW, &mut played.rng, &other);
    assert_eq!(played.sent().map(|reply| (reply.kind(), reply.id())), Some((Kind::Reset, 9)));
    let other = Message::new(Kind::NonConfirmable, Code::CONTENT, 9, b"no").encode();
    played.client.handle_input(NOW, &mut played.rng, &other);
    assert!(played.client.is_busy() && played.sent().is_none());
    // The separate response comes before any acknowledgement, and once more after its own was lost.
    let separate = Message::new(Kind::Confirmable, Code::CONTENT, 10, sent.token()).encode();
    for _ in 0..2 {
        played.client.handle_input(NOW, &mut played.rng, &separate);
        assert_eq!(played.sent().map(|reply| (reply.kind(), reply.id())), Some((Kind::Acknowledgement, 10)));
    }
    assert_eq!(played.client.poll_response().unwrap().unwrap().code, Code::CONTENT);
    assert_eq!(played.client.poll_response(), None);
}

/// RFC 7252, 5.4.1 and 4.2.
#[test]
fn a_separate_response_with_a_critical_option_that_is_not_understood_is_rejected() {
    for is_confirmable in [true, false] {
        let mut played = Played::new(Request::get(Resource::CaCerts));
        let sent = played.sent().unwrap();
        let kind = if is_confirmable { Kind::Confirmable } else { Kind::NonConfirmable };
        let mut separate = Message::new(kind, Code::CONTENT, 10, sent.token());
        separate.push(65_001, b"x");
        let separate = separate.encode();
        played.client.handle_input(NOW, &mut played.rng, &separate);
        let rejected = is_confirmable.then_some((Kind::Reset, 10));
        assert_eq!(played.sent().map(|reply| (reply.kind(), reply.id())), rejected);
        played.fails(Failure::CriticalOption(65_001));
        // Each copy is rejected (RFC 7252, 4.2).
        played.client.handle_input(NOW, &mut played.rng, &separate);
        assert_eq!(played.sent().map(|reply| (reply.kind(), reply.id())), rejected);
    }
}

#[test]
fn a_client_answers_pings_and_requests_by_rejecting_them() {
    let mut played = Played::new(Request::get(Resource::CaCerts));
    played.sent().unwrap();
    for datagram in [&b"\x40\x00\x00\x09"[..], b"\x40\x01\x00\x09"] {
        played.client.handle_input(NOW, &mut played.rng, datagram);
        assert_eq!(played.sent().map(|reply| (reply.kind(), reply.id())), Some((Kind::Reset, 9)));
    }
    let mut again = Played::new(Request::get(Resource::CaCerts));
    let sent = again.sent().unwrap();
    again.client.handle_input(NOW, &mut again.rng, &Message::empty(Kind::Reset, sent.id()));
    again.fails(Failure::Reset);
}

#[test]
fn a_buffer_that_is_too_short_loses_no_message() {
    let mut played = Played::new(Request::get(Resource::CaCerts));
    played.client.handle_input(NOW, &mut played.rng, b"\x40\x00\x00\x09");
    for kind in [Kind::Reset, Kind::Confirmable] {
        for len in 0..4 {
            assert_eq!(played.client.poll_transmit(NOW, &mut vec![0; len]), None, "{kind:?}");
        }
        assert_eq!(played.sent().map(|message| message.kind()), Some(kind));
    }
    assert!(played.sent().is_none());
}
