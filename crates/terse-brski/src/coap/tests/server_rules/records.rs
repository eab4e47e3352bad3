//! What a server remembers of messages, and for how long.

use super::*;

#[test]
fn a_message_that_comes_again_is_answered_from_memory_for_its_lifetime() {
    let mut server = server();
    let datagram = message(Code::GET, 7, &[CRTS], b"");
    server.handle_input(NOW, &datagram);
    let (request, _) = server.poll_request().unwrap();
    server.handle_input(NOW, &datagram);
    assert_eq!(next(&mut server).as_deref(), Some(&b"\x60\x00\x00\x07"[..]), "in work: it is acknowledged");
    server.respond(NOW, &mut rng(1), request, Response::new(Code::NOT_FOUND)).unwrap();
    let separate = only(&mut server);
    assert_eq!((separate.kind(), separate.code()), (Kind::Confirmable, Code::NOT_FOUND));
    server.handle_input(NOW, &datagram);
    assert_eq!(next(&mut server).as_deref(), Some(&b"\x60\x00\x00\x07"[..]));
    assert!(server.poll_request().is_none());
    server.handle_input(NOW, &Message::empty(Kind::Acknowledgement, separate.id()));
    let lifetime = ServerConfig::default().transmission.exchange_lifetime_ms();
    assert_eq!(server.poll_timeout(), Some(Instant(lifetime)));
    server.handle_timeout(Now::new(Instant(lifetime), None));
    assert_eq!(server.poll_timeout(), None, "nothing is kept");
    server.handle_input(Now::new(Instant(lifetime), None), &datagram);
    assert!(server.poll_request().is_some(), "the message ID is used again");
}

#[test]
fn requests_are_answered_once_and_at_most_four_are_in_work() {
    let mut server = server();
    for id in 0..4 {
        server.handle_input(NOW, &message(Code::GET, id, &[CRTS], b""));
    }
    server.handle_input(NOW, &message(Code::GET, 4, &[CRTS], b""));
    let busy = only(&mut server);
    assert_eq!((busy.code(), busy.uint(option::MAX_AGE, 4)), (Code::SERVICE_UNAVAILABLE, Some(25)));
    let (request, _) = server.poll_request().unwrap();
    server.respond(NOW, &mut rng(1), request, Response::new(Code::NOT_FOUND)).unwrap();
    assert_eq!(only(&mut server).code(), Code::NOT_FOUND);
    server.respond(NOW, &mut rng(1), request, Response::new(Code::CONTENT)).unwrap();
    assert_eq!(next(&mut server), None);
}

#[test]
fn requests_that_are_never_answered_lock_nobody_out() {
    let mut server = server();
    for id in 0..4 {
        server.handle_input(NOW, &message(Code::GET, id, &[CRTS], b""));
    }
    let (request, _) = server.poll_request().unwrap();
    server.handle_timeout(Now::new(Instant(1_000), None));
    (0..4).for_each(|_| assert_eq!(Message::parse(&next(&mut server).unwrap()).unwrap().code(), Code::EMPTY));
    let lifetime = Instant(ServerConfig::default().transmission.exchange_lifetime_ms());
    assert_eq!(server.poll_timeout(), Some(lifetime));
    let now = Now::new(lifetime, None);
    server.handle_timeout(now);
    assert_eq!(server.poll_timeout(), None);
    assert_eq!(server.poll_request(), None, "what was not taken is not asked any more");
    server.respond(now, &mut rng(1), request, Response::new(Code::CONTENT)).unwrap();
    server.abandon(now, &mut rng(1), request).unwrap();
    assert_eq!(next(&mut server), None, "it is too late");
    server.handle_input(now, &message(Code::GET, 9, &[CRTS], b""));
    assert!(server.poll_request().is_some());
}

#[test]
fn a_request_that_is_abandoned_is_answered_and_makes_room() {
    let mut server = server();
    for id in 0..4 {
        server.handle_input(NOW, &message(Code::GET, id, &[CRTS], b""));
    }
    let (request, _) = server.poll_request().unwrap();
    server.abandon(NOW, &mut rng(1), request).unwrap();
    let answer = only(&mut server);
    assert_eq!((answer.code(), answer.id()), (Code::SERVICE_UNAVAILABLE, 0));
    assert_eq!(answer.uint(option::MAX_AGE, 4), Some(25));
    server.abandon(NOW, &mut rng(1), request).unwrap();
    assert_eq!(next(&mut server), None, "once");
    server.handle_input(NOW, &message(Code::GET, 4, &[CRTS], b""));
    assert_eq!((0..9).map_while(|_| server.poll_request()).count(), 4);
}

/// What is said at the head of the server's module.
#[test]
fn the_ids_of_the_last_1056_messages_are_remembered() {
    for (others, is_new) in [(1_055, false), (1_056, true)] {
        let mut server = server();
        let datagram = message(Code::GET, 0, &[CRTS], b"");
        server.handle_input(NOW, &datagram);
        let (request, _) = server.poll_request().unwrap();
        server.respond(NOW, &mut rng(1), request, Response::new(Code::CONTENT)).unwrap();
        assert_eq!(only(&mut server).code(), Code::CONTENT);
        for id in 1..=others {
            assert_eq!(code(&mut server, &message(Code::GET, id, &[], b"")), Code::NOT_FOUND);
        }
        server.handle_input(NOW, &datagram);
        assert_eq!((server.poll_request().is_some(), next(&mut server)), (is_new, None), "{others}");
    }
}
