//! The rules that a server keeps to, one message at a time.

use alloc::vec;
use alloc::vec::Vec;

use terse_tls::{Instant, Now};

use super::{payload, rng};
use crate::coap::block::Block;
use crate::coap::message::{Kind, Message};
use crate::coap::option;
use crate::coap::{BlockSize, Code, MAX_DATAGRAM, PathForm, Payload, Resource, Response, Server, ServerConfig};

mod records;

/// Options of a message: numbers and values.
type Options<'a> = &'a [(u16, &'a [u8])];

const NOW: Now = Now::new(Instant(0), None);

fn server() -> Server {
    Server::new(ServerConfig { max_request: 1_000, ..Default::default() }, &mut rng(2)).unwrap()
}

/// A confirmable message with options.
fn message(code: Code, id: u16, options: Options<'_>, payload: &[u8]) -> Vec<u8> {
    built(Kind::Confirmable, code, id, options, payload)
}

fn built(kind: Kind, code: Code, id: u16, options: Options<'_>, payload: &[u8]) -> Vec<u8> {
    let mut message = Message::new(kind, code, id, b"tk");
    options.iter().for_each(|(number, value)| message.push(*number, value));
    message.set_payload(payload);
    message.encode().to_vec()
}

fn next(server: &mut Server) -> Option<Vec<u8>> {
    let mut out = vec![0; MAX_DATAGRAM];
    server.poll_transmit(NOW, &mut out).map(|len| out[..len].to_vec())
}

/// Returns the only message that is sent.
#[track_caller]
fn only(server: &mut Server) -> Message {
    let datagram = next(server).expect("an answer");
    assert_eq!(next(server), None);
    Message::parse(&datagram).unwrap_or_else(|_| panic!("{datagram:?}"))
}

/// Gives the server a message, and returns the code of its answer, which is piggybacked.
#[track_caller]
fn code(server: &mut Server, datagram: &[u8]) -> Code {
    server.handle_input(NOW, datagram);
    let answer = only(server);
    assert_eq!((answer.kind(), answer.token()), (Kind::Acknowledgement, &b"tk"[..]));
    answer.code()
}

const CRTS: (u16, &[u8]) = (option::URI_PATH_ABBREV, &[1, 45]);
const RV: (u16, &[u8]) = (option::URI_PATH_ABBREV, &[1, 146]);

#[test]
fn requests_that_are_not_understood_are_refused_by_code() {
    let unknown = (option::URI_PATH_ABBREV, &[1, 1][..]);
    let path = [(option::URI_PATH, &b"e"[..]), (option::URI_PATH, b"crts")];
    let cases: [(&str, Code, Options<'_>, Code); 16] = [
        ("an unknown abbreviation", Code::GET, &[unknown], Code::BAD_OPTION),
        ("an abbreviation of five bytes", Code::GET, &[(13, &[0, 0, 0, 1, 45])], Code::BAD_OPTION),
        ("an abbreviation with a path", Code::GET, &[CRTS, path[0], path[1]], Code::BAD_OPTION),
        ("an abbreviation twice", Code::GET, &[CRTS, CRTS], Code::BAD_OPTION),
        ("no path", Code::GET, &[], Code::NOT_FOUND),
        ("an unknown path", Code::GET, &[path[0]], Code::NOT_FOUND),
        ("If-Match", Code::GET, &[CRTS, (1, b"")], Code::BAD_OPTION),
        ("If-None-Match", Code::GET, &[CRTS, (5, b"")], Code::BAD_OPTION),
        ("an unknown critical option", Code::GET, &[CRTS, (65_001, b"")], Code::BAD_OPTION),
        ("Accept twice", Code::GET, &[CRTS, (17, b"\x3e"), (17, b"\x3e")], Code::BAD_OPTION),
        ("Accept of three bytes", Code::GET, &[CRTS, (17, b"\0\0\x3e")], Code::BAD_OPTION),
        ("Proxy-Uri", Code::GET, &[CRTS, (35, b"coap://a")], Code::PROXYING_NOT_SUPPORTED),
        ("a method that the resource has not", Code::POST, &[CRTS], Code::METHOD_NOT_ALLOWED),
        ("an unknown method", Code(5), &[CRTS], Code::METHOD_NOT_ALLOWED),
        ("a query that is not UTF-8", Code::GET, &[CRTS, (15, b"\xff")], Code::BAD_REQUEST),
        ("the reserved size", Code::GET, &[CRTS, (23, &[7])], Code::BAD_REQUEST),
    ];
    let mut server = server();
    for (id, (what, method, options, expected)) in (0..).zip(cases) {
        assert_eq!(code(&mut server, &message(method, id, options, b"")), expected, "{what}");
        assert_eq!(server.poll_request(), None, "{what}");
    }
    let elective = [CRTS, (6, &b""[..]), (258, b"\x02"), (3, b"host"), (7, b"\x16\x33")];
    server.handle_input(NOW, &message(Code::GET, 99, &elective, b""));
    assert!(server.poll_request().is_some(), "elective options, Uri-Host and Uri-Port");
}

#[test]
fn every_form_of_a_path_names_its_resource() {
    let mut server = server();
    let mut id = 0;
    for resource in Resource::ALL {
        for form in [PathForm::WellKnown, PathForm::Short] {
            let options: Vec<_> = resource.path(form).map(|segment| (option::URI_PATH, segment.as_bytes())).collect();
            server.handle_input(NOW, &message(resource.method().code(), id, &options, b""));
            let (request, incoming) = server.poll_request().unwrap();
            assert_eq!(incoming.resource, resource);
            server.respond(NOW, &mut rng(1), request, Response::new(Code::NOT_FOUND)).unwrap();
            assert_eq!(only(&mut server).code(), Code::NOT_FOUND);
            id += 1;
        }
    }
}

#[test]
fn pings_and_what_is_no_request_are_rejected() {
    let mut server = server();
    for datagram in [&b"\x40\x00\xab\xcd"[..], b"\x40\x45\xab\xcd", b"\x40\x25\xab\xcd", b"\x40\x01\xab\xcd\xff"] {
        server.handle_input(NOW, datagram);
        assert_eq!(next(&mut server).as_deref(), Some(&b"\x70\x00\xab\xcd"[..]), "{datagram:?}");
    }
    for datagram in
        [&b"\x50\x00\xab\xcd"[..], b"\x50\x45\xab\xcd", b"\x60\x00\xab\xcd", b"\x70\x00\xab\xcd", b"", b"\x80\x01\0\0"]
    {
        server.handle_input(NOW, datagram);
        assert_eq!(next(&mut server), None, "{datagram:?}");
    }
}

#[test]
fn a_request_that_is_not_confirmable_is_answered_by_such_a_message_and_once() {
    let mut server = server();
    let datagram = built(Kind::NonConfirmable, Code::GET, 7, &[CRTS], b"");
    server.handle_input(NOW, &datagram);
    let (request, _) = server.poll_request().unwrap();
    server.handle_timeout(Now::new(Instant(5_000), None));
    assert_eq!(next(&mut server), None, "there is nothing to acknowledge");
    server.respond(NOW, &mut rng(1), request, Response::new(Code::NOT_FOUND)).unwrap();
    let answer = only(&mut server);
    assert_eq!((answer.kind(), answer.code(), answer.token()), (Kind::NonConfirmable, Code::NOT_FOUND, &b"tk"[..]));
    server.handle_input(NOW, &datagram);
    assert!(server.poll_request().is_none() && next(&mut server).is_none());
}

#[test]
fn a_block_out_of_order_or_of_something_else_is_refused() {
    let block = |number, more| Block { number, more, size: BlockSize::at_most(16) }.value();
    let mut id = 0;
    let mut send = |server: &mut Server, number, more, format: &[u8], len| {
        id += 1;
        let value = option::uint(block(number, more));
        let options = [RV, (option::CONTENT_FORMAT, format), (option::BLOCK1, &value)];
        server.handle_input(NOW, &message(Code::POST, id, &options, &payload(len)));
        next(server).map(|datagram| Message::parse(&datagram).map(|answer| answer.code()).unwrap_or(Code::EMPTY))
    };
    let mut server = server();
    assert_eq!(send(&mut server, 1, true, &[1], 16), Some(Code::REQUEST_ENTITY_INCOMPLETE), "no first block");
    assert_eq!(send(&mut server, 0, true, &[1], 16), Some(Code::CONTINUE));
    assert_eq!(send(&mut server, 2, true, &[1], 16), Some(Code::REQUEST_ENTITY_INCOMPLETE), "one is missing");
    assert_eq!(send(&mut server, 1, true, &[1], 16), Some(Code::CONTINUE), "what was there stays");
    assert_eq!(send(&mut server, 0, true, &[1], 16), Some(Code::CONTINUE));
    assert_eq!(send(&mut server, 1, true, &[2], 16), Some(Code::REQUEST_ENTITY_INCOMPLETE), "another content format");
    assert_eq!(send(&mut server, 0, true, &[1], 15), Some(Code::BAD_REQUEST), "too short");
    assert_eq!(send(&mut server, 0, false, &[1], 17), Some(Code::BAD_REQUEST), "too long");
    assert_eq!(send(&mut server, 0, true, &[1], 16), Some(Code::CONTINUE));
    assert_eq!(send(&mut server, 0, true, &[1], 16), Some(Code::CONTINUE), "a first block begins again");
    assert_eq!(send(&mut server, 1, false, &[1], 3), None, "the request is complete");
    assert_eq!(server.poll_request().unwrap().1.payload.len(), 19);
}

#[test]
fn what_is_too_long_is_refused_with_the_limit() {
    let mut server = server();
    let refused = |server: &mut Server, datagram: &[u8]| {
        server.handle_input(NOW, datagram);
        let answer = only(server);
        assert_eq!((answer.code(), answer.uint(option::SIZE1, 4)), (Code::REQUEST_ENTITY_TOO_LARGE, Some(1_000)));
        assert_eq!(answer.values(option::BLOCK1).count(), 0, "smaller blocks do not help");
    };
    let first = option::uint(Block { number: 0, more: true, size: BlockSize::at_most(512) }.value());
    let second = option::uint(Block { number: 1, more: true, size: BlockSize::at_most(512) }.value());
    refused(&mut server, &message(Code::POST, 1, &[RV], &payload(1_001)));
    refused(
        &mut server,
        &message(Code::POST, 2, &[RV, (option::BLOCK1, &first), (option::SIZE1, &[4, 0])], &payload(512)),
    );
    assert_eq!(
        code(&mut server, &message(Code::POST, 3, &[RV, (option::BLOCK1, &first)], &payload(512))),
        Code::CONTINUE
    );
    refused(&mut server, &message(Code::POST, 4, &[RV, (option::BLOCK1, &second)], &payload(512)));
    let last = message(Code::POST, 5, &[RV, (option::BLOCK1, &second)], &payload(512));
    assert_eq!(code(&mut server, &last), Code::REQUEST_ENTITY_INCOMPLETE, "nothing is kept");
}

#[test]
fn blocks_of_a_response_that_is_gone_are_refused_where_the_request_must_not_be_repeated() {
    let mut server = server();
    let block = option::uint(Block { number: 1, more: false, size: BlockSize::at_most(16) }.value());
    let post = message(Code::POST, 1, &[RV, (option::BLOCK2, &block)], b"");
    assert_eq!(code(&mut server, &post), Code::REQUEST_ENTITY_INCOMPLETE);
    for (id, len, expected) in [(2, 16, Code::BAD_REQUEST), (3, 40, Code::CONTENT)] {
        server.handle_input(NOW, &message(Code::GET, id, &[CRTS, (option::BLOCK2, &block)], b""));
        let (request, incoming) = server.poll_request().unwrap();
        let response = Response::success(incoming.method, None, Payload::new(payload(len)));
        server.respond(NOW, &mut rng(1), request, response).unwrap();
        let answer = only(&mut server);
        assert_eq!(answer.code(), expected, "{len}");
        assert_eq!(answer.payload() == &payload(40)[16..32], expected == Code::CONTENT);
    }
}

#[test]
fn blocks_of_responses_are_as_small_as_the_server_is_told() {
    let mut server = server();
    server.limit_response_blocks(BlockSize::at_most(64));
    server.handle_input(NOW, &message(Code::GET, 1, &[CRTS], b""));
    let (request, incoming) = server.poll_request().unwrap();
    let body = payload(1_500);
    let response = Response::success(incoming.method, None, Payload::new(body.clone()));
    server.respond(NOW, &mut rng(1), request, response).unwrap();
    let answer = only(&mut server);
    assert_eq!(answer.payload(), &body[..64]);
    // Of a body that is being fetched in larger blocks, a part comes, under its own number.
    let second = option::uint(Block { number: 1, more: false, size: BlockSize::at_most(512) }.value());
    server.handle_input(NOW, &message(Code::GET, 2, &[CRTS, (option::BLOCK2, &second)], b""));
    let answer = only(&mut server);
    let block = Block::parse(answer.values(option::BLOCK2).next().unwrap()).unwrap();
    assert_eq!((block.number, block.size.bytes(), answer.payload()), (8, 64, &body[512..576]));
    // Without a limit, the configuration counts.
    server.limit_response_blocks(BlockSize::MAX);
    let third = option::uint(Block { number: 1, more: false, size: BlockSize::MAX }.value());
    server.handle_input(NOW, &message(Code::GET, 3, &[CRTS, (option::BLOCK2, &third)], b""));
    assert_eq!(only(&mut server).payload(), &body[1_024..]);
}

#[test]
fn a_response_that_is_too_long_for_the_server_is_an_error_of_the_server() {
    let config = ServerConfig { max_response: 100, ..Default::default() };
    let mut server = Server::new(config, &mut rng(1)).unwrap();
    server.handle_input(NOW, &message(Code::GET, 1, &[CRTS], b""));
    let (request, incoming) = server.poll_request().unwrap();
    let response = Response::success(incoming.method, None, Payload::new(payload(101)));
    server.respond(NOW, &mut rng(1), request, response).unwrap();
    assert_eq!(only(&mut server).code(), Code::INTERNAL_SERVER_ERROR);
}

#[test]
fn a_buffer_that_is_too_short_loses_no_message() {
    let mut server = server();
    server.handle_input(NOW, &message(Code::GET, 7, &[CRTS], b""));
    let (request, _) = server.poll_request().unwrap();
    server.handle_timeout(Now::new(Instant(5_000), None));
    server.respond(NOW, &mut rng(1), request, Response::new(Code::NOT_FOUND)).unwrap();
    for kind in [Kind::Acknowledgement, Kind::Confirmable] {
        for len in 0..4 {
            assert_eq!(server.poll_transmit(NOW, &mut vec![0; len]), None, "{kind:?}");
        }
        let sent = next(&mut server).expect("a message");
        assert_eq!(Message::parse(&sent).map(|message| message.kind()).ok(), Some(kind));
    }
    assert_eq!(next(&mut server), None);
}

/// The limit is that of this server, and not of another one that has refused the request.
#[test]
fn what_is_too_long_for_another_server_is_refused_without_a_limit() {
    let mut server = server();
    server.handle_input(NOW, &message(Code::POST, 1, &[RV], &payload(900)));
    let (request, incoming) = server.poll_request().unwrap();
    let response = Response::from_http(incoming.method, 413, None, None, Payload::default());
    server.respond(NOW, &mut rng(1), request, response).unwrap();
    let answer = only(&mut server);
    assert_eq!((answer.code(), answer.uint(option::SIZE1, 4)), (Code::REQUEST_ENTITY_TOO_LARGE, None));
}

/// A block that an earlier request asks for late has another token, so that its client takes nothing for it.
#[test]
fn a_late_message_takes_no_block_away_from_the_client_that_fetches() {
    let mut server = server();
    server.handle_input(NOW, &message(Code::POST, 1, &[RV, (option::BLOCK2, &[0])], b""));
    let (request, incoming) = server.poll_request().unwrap();
    let response = Response::success(incoming.method, None, Payload::new(payload(40)));
    server.respond(NOW, &mut rng(1), request, response).unwrap();
    assert_eq!(only(&mut server).payload(), &payload(40)[..16]);
    let block = |number| option::uint(Block { number, more: false, size: BlockSize::at_most(16) }.value());
    // The last block, and one that there is not.
    for (id, number) in [(2, 2), (3, 9)] {
        server.handle_input(NOW, &message(Code::POST, id, &[RV, (option::BLOCK2, &block(number))], b""));
        only(&mut server);
    }
    server.handle_input(NOW, &message(Code::POST, 4, &[RV, (option::BLOCK2, &block(1))], b""));
    assert_eq!(only(&mut server).payload(), &payload(40)[16..32]);
}
