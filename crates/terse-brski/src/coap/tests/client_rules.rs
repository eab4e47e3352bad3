//! The rules that a client keeps to, one message at a time.

use alloc::vec;
use alloc::vec::Vec;

use terse_testkit::rng::SeededRng;
use terse_tls::{Instant, Now};

use super::{payload, rng};
use crate::coap::block::Block;
use crate::coap::message::{Kind, Message};
use crate::coap::option;
use crate::coap::{
    BlockSize, Client, ClientConfig, Code, ETag, Failure, MAX_DATAGRAM, PathForm, Request, Resource, content_format,
};

mod messages;

const NOW: Now = Now::new(Instant(0), None);

/// What breaks a rule: the answer to a request.
type Breach<'a> = (&'a str, Request, Code, Vec<(u16, Vec<u8>)>, &'a [u8]);

/// A client with a request, and a server that this test plays.
struct Played {
    client: Client,
    rng: SeededRng,
}

impl Played {
    fn new(request: Request) -> Self {
        let config = ClientConfig { block_size: BlockSize::at_most(16), max_response: 100, ..Default::default() };
        let mut rng = rng(3);
        let mut client = Client::new(config, &mut rng).unwrap();
        client.request(NOW, &mut rng, request).unwrap();
        Self { client, rng }
    }

    fn sent(&mut self) -> Option<Message> {
        let mut out = vec![0; MAX_DATAGRAM];
        let len = self.client.poll_transmit(NOW, &mut out)?;
        Some(Message::parse(&out[..len]).unwrap_or_else(|_| panic!("no message")))
    }

    /// Answers what was sent in its acknowledgement.
    fn answer(&mut self, code: Code, options: &[(u16, &[u8])], payload: &[u8]) {
        let sent = self.sent().expect("a request");
        let mut message = Message::new(Kind::Acknowledgement, code, sent.id(), sent.token());
        options.iter().for_each(|(number, value)| message.push(*number, value));
        message.set_payload(payload);
        self.client.handle_input(NOW, &mut self.rng, &message.encode());
    }

    fn fails(&mut self, failure: Failure) {
        assert_eq!(self.client.poll_response(), Some(Err(failure)));
        assert!(!self.client.is_busy());
    }
}

fn block(number: u32, more: bool) -> Vec<u8> {
    option::uint(Block { number, more, size: BlockSize::at_most(16) }.value())
}

#[test]
fn a_client_whose_abbreviation_is_not_understood_falls_back_and_remembers() {
    let mut played = Played::new(Request::get(Resource::CaCerts));
    played.answer(Code::BAD_OPTION, &[], b"");
    let sent = played.sent().unwrap();
    assert_eq!(sent.values(option::URI_PATH_ABBREV).count(), 0);
    assert_eq!(sent.values(option::URI_PATH).collect::<Vec<_>>(), [&b".well-known"[..], b"est", b"crts"]);
    assert_eq!(played.client.path_form(), PathForm::WellKnown);
    played.client.request(NOW, &mut played.rng, Request::get(Resource::CaCerts)).unwrap();
    played.answer(Code::BAD_OPTION, &[], b"no");
    let response = played.client.poll_response().unwrap().unwrap();
    assert_eq!(
        (response.code, response.diagnostic()),
        (Code::BAD_OPTION, Some("no")),
        "the second time it is an answer"
    );
}

#[test]
fn a_server_that_breaks_the_rules_of_blocks_is_refused() {
    let get = || Request::get(Resource::CaCerts);
    let post = || Request::post(Resource::RequestVoucher, content_format::VOUCHER_COSE, &payload(40));
    let sixteen = payload(16);
    let cases: [Breach<'_>; 8] = [
        ("a later block first", get(), Code::CONTENT, vec![(23, block(1, true))], &sixteen),
        ("a short block with more to come", get(), Code::CONTENT, vec![(23, block(0, true))], b"short"),
        ("an empty block with more to come", get(), Code::CONTENT, vec![(23, block(0, true))], b""),
        ("a long last block", get(), Code::CONTENT, vec![(23, block(0, false))], &[0; 17]),
        ("the reserved size", get(), Code::CONTENT, vec![(23, vec![7])], &sixteen),
        ("2.31 to a whole request", get(), Code::CONTINUE, vec![], b""),
        ("a success before the request is there", post(), Code::CHANGED, vec![], b""),
        ("another block acknowledged", post(), Code::CONTINUE, vec![(27, block(1, true))], b""),
    ];
    for (what, request, code, options, payload) in cases {
        let mut played = Played::new(request);
        let options: Vec<_> = options.iter().map(|(number, value)| (*number, &**value)).collect();
        played.answer(code, &options, payload);
        let failure = played.client.poll_response().unwrap().unwrap_err();
        assert!(matches!(failure, Failure::Misbehaved(_)), "{what}: {failure}");
    }
}

#[test]
fn a_response_that_is_too_long_is_refused_as_soon_as_that_is_known() {
    let mut played = Played::new(Request::get(Resource::CaCerts));
    played.answer(Code::CONTENT, &[(23, &block(0, true)), (option::SIZE2, &[101])], &payload(16));
    played.fails(Failure::TooLong(100));
    let mut played = Played::new(Request::get(Resource::CaCerts));
    for number in 0..6 {
        played.answer(Code::CONTENT, &[(23, &block(number, true))], &payload(16));
        assert_eq!(played.client.poll_response(), None);
    }
    played.answer(Code::CONTENT, &[(23, &block(6, false))], &payload(5));
    played.fails(Failure::TooLong(100));
    let mut played = Played::new(Request::get(Resource::CaCerts));
    played.answer(Code::NOT_FOUND, &[], &payload(101));
    played.fails(Failure::TooLong(100));
}

#[test]
fn a_representation_that_changes_is_fetched_anew_and_not_for_ever() {
    let mut played = Played::new(Request::get(Resource::CaCerts));
    for round in 0..8u8 {
        played.answer(Code::CONTENT, &[(23, &block(0, true)), (option::ETAG, &[round])], &payload(16));
        played.answer(Code::CONTENT, &[(23, &block(1, true)), (option::ETAG, &[round, 1])], &payload(16));
        assert_eq!(played.client.poll_response(), None, "{round}");
    }
    played.answer(Code::CONTENT, &[(23, &block(0, true)), (option::ETAG, b"a")], &payload(16));
    played.answer(Code::CONTENT, &[(23, &block(1, false))], &payload(3));
    played.fails(Failure::Changed);
}

#[test]
fn a_response_to_post_that_changes_is_not_asked_for_anew() {
    let mut played = Played::new(Request::post(Resource::SimpleEnroll, content_format::PKCS10, b"csr"));
    played.answer(Code::CHANGED, &[(23, &block(0, true)), (option::ETAG, b"a")], &payload(16));
    played.answer(Code::CHANGED, &[(23, &block(1, false)), (option::ETAG, b"b")], &payload(3));
    played.fails(Failure::Changed);
}

#[test]
fn an_error_in_place_of_a_block_is_the_response() {
    let mut played = Played::new(Request::post(Resource::SimpleEnroll, content_format::PKCS10, b"csr"));
    played.answer(Code::CHANGED, &[(23, &block(0, true)), (option::ETAG, b"a")], &payload(16));
    played.answer(Code::REQUEST_ENTITY_INCOMPLETE, &[(23, &block(0, true))], b"gone");
    let response = played.client.poll_response().unwrap().unwrap();
    assert_eq!(
        (response.code, response.etag, response.diagnostic()),
        (Code::REQUEST_ENTITY_INCOMPLETE, None, Some("gone"))
    );
}

/// The request was carried out, and is not sent again.
#[test]
fn a_bad_option_while_a_response_is_fetched_is_the_response() {
    let mut played = Played::new(Request::post(Resource::SimpleEnroll, content_format::PKCS10, b"csr"));
    played.answer(Code::CHANGED, &[(23, &block(0, true))], &payload(16));
    played.answer(Code::BAD_OPTION, &[], b"no");
    let response = played.client.poll_response().expect("an end").unwrap();
    assert_eq!((response.code, response.diagnostic()), (Code::BAD_OPTION, Some("no")));
    assert_eq!(played.client.path_form(), PathForm::Abbreviated);
    assert!(played.sent().is_none());
}

#[test]
fn a_server_that_has_lost_blocks_or_wants_smaller_ones_gets_the_request_again_and_not_for_ever() {
    let mut played = Played::new(Request::post(Resource::SimpleEnroll, content_format::PKCS10, &payload(40)));
    for _ in 0..8 {
        played.answer(Code::CONTINUE, &[(27, &block(0, true))], b"");
        played.answer(Code::REQUEST_ENTITY_INCOMPLETE, &[], b"");
        assert_eq!(played.client.poll_response(), None);
    }
    played.answer(Code::CONTINUE, &[(27, &block(0, true))], b"");
    played.answer(Code::REQUEST_ENTITY_INCOMPLETE, &[], b"");
    played.fails(Failure::Changed);

    let config = ClientConfig { block_size: BlockSize::at_most(64), ..Default::default() };
    let (mut client, mut rng) = (Client::new(config, &mut rng(1)).unwrap(), rng(1));
    let post = Request::post(Resource::SimpleEnroll, content_format::PKCS10, &payload(100));
    client.request(NOW, &mut rng, post).unwrap();
    let mut played = Played { client, rng };
    played.answer(Code::REQUEST_ENTITY_TOO_LARGE, &[(27, &block(0, true))], b"");
    let sent = played.sent().unwrap();
    assert_eq!((sent.payload().len(), sent.values(27).next()), (16, Some(&block(0, true)[..])), "in smaller blocks");
}

#[test]
fn critical_options_of_responses_that_are_not_understood_end_the_request() {
    for options in [&[(65_001, &b"x"[..])][..], &[(23, b""), (23, b"")], &[(option::URI_PATH, b"x")]] {
        let mut played = Played::new(Request::get(Resource::CaCerts));
        played.answer(Code::CONTENT, options, b"");
        played.fails(Failure::CriticalOption(options[0].0));
    }
    let mut played = Played::new(Request::get(Resource::CaCerts));
    played.answer(Code::CONTENT, &[(65_000, b"x"), (option::ETAG, b"a"), (option::MAX_AGE, b"\x09")], b"certs");
    let response = played.client.poll_response().unwrap().unwrap();
    assert_eq!((response.etag, response.max_age), (ETag::new(b"a"), Some(9)));
}

/// A server that answers each small block just before it is sent again holds a client no longer than the configuration says.
#[test]
fn a_request_ends_in_time_however_slowly_its_blocks_come() {
    let config = ClientConfig { block_size: BlockSize::at_most(16), ..Default::default() };
    let mut rng = rng(3);
    let (mut client, mut now) = (Client::new(config, &mut rng).unwrap(), NOW);
    client.request(now, &mut rng, Request::get(Resource::CaCerts)).unwrap();
    let deadline = config.request_timeout_ms;
    let (mut out, mut blocks) = (vec![0; MAX_DATAGRAM], 0);
    let outcome = loop {
        let due = client.poll_timeout().unwrap();
        assert!(due <= Instant(deadline));
        if let Some(len) = client.poll_transmit(now, &mut out) {
            let sent = Message::parse(&out[..len]).unwrap_or_else(|_| panic!("no message"));
            let mut answer = Message::new(Kind::Acknowledgement, Code::CONTENT, sent.id(), sent.token());
            answer.push(option::BLOCK2, &block(blocks, true));
            answer.set_payload(&payload(16));
            now = Now::new(Instant(due.0 - 1), None);
            client.handle_input(now, &mut rng, &answer.encode());
            blocks += 1;
        }
        now = Now::new(client.poll_timeout().unwrap().min(Instant(now.monotonic.0 + 1)), None);
        client.handle_timeout(now);
        if let Some(outcome) = client.poll_response() {
            break outcome;
        }
    };
    assert_eq!((outcome, now.monotonic), (Err(Failure::TimedOut), Instant(deadline)));
    assert!(blocks > 90, "{blocks}");
    assert!(!client.is_busy() && client.poll_timeout().is_none());
    // The next request has the same time.
    client.request(now, &mut rng, Request::get(Resource::CaCerts)).unwrap();
    client.handle_timeout(now);
    assert!(client.is_busy());
}
