use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use terse_testkit::rng::SeededRng;

use super::*;
use crate::coap::link_format;

fn rng() -> SeededRng {
    SeededRng::new(1)
}

fn question(query: &'static str) -> Question {
    Question::new(query, &mut rng()).unwrap()
}

/// Answers as a join proxy does.
fn answered(datagram: &[u8], arrival: Arrival) -> Option<Payload> {
    let links = |query: &[String]| match query {
        [query] if query == link_format::QUERY_PROXY => link_format::join_proxy(5684),
        _ => String::new(),
    };
    answer(datagram, arrival, &mut rng(), links).unwrap()
}

/// Returns a request by its kind, code, path and query.
fn request(kind: Kind, code: Code, path: &[&str], query: &str) -> Message {
    let mut message = Message::new(kind, code, 7, b"tk");
    path.iter().for_each(|segment| message.push(option::URI_PATH, segment.as_bytes()));
    message.push(option::URI_QUERY, query.as_bytes());
    message
}

const CORE: [&str; 2] = [".well-known", "core"];

#[test]
fn a_question_is_answered_and_the_answer_read() {
    let mut question = question(link_format::QUERY_PROXY);
    let (first, second) = (question.next_datagram(), question.next_datagram());
    assert_ne!(first, second, "message IDs differ");
    for (datagram, arrival) in [(&first, Arrival::Multicast), (&second, Arrival::Unicast)] {
        assert_eq!((datagram[0], datagram[1]), (0x58, Code::GET.0), "not confirmable, a token of 8 bytes");
        let answer = question.read(&answered(datagram, arrival).unwrap()).unwrap();
        assert_eq!((answer.links.as_slice(), answer.acknowledgement), (&b"<>;brski-jp=5684"[..], None));
    }
    assert!(!alloc::format!("{question:?}").contains(&question.token[0].to_string()));
}

/// RFC 7252, 8.1 and 8.2.
#[test]
fn what_came_by_multicast_gets_links_or_nothing() {
    use Kind::{Acknowledgement, Confirmable, NonConfirmable, Reset};
    let of = |kind, code, path: &[&str], query| request(kind, code, path, query).encode();
    for datagram in [
        of(Confirmable, Code::GET, &CORE, "brski-jp=*"),
        of(NonConfirmable, Code::GET, &CORE, "rt=brski"),
        of(NonConfirmable, Code::POST, &CORE, "brski-jp=*"),
        of(NonConfirmable, Code::POST, &["b", "rv"], ""),
        of(NonConfirmable, Code::GET, &["missing"], ""),
        of(NonConfirmable, Code::CONTENT, &CORE, "brski-jp=*"),
        of(Acknowledgement, Code::GET, &CORE, "brski-jp=*"),
        Payload::new(Message::empty(Confirmable, 7).to_vec()),
        Payload::new(Message::empty(NonConfirmable, 7).to_vec()),
        Payload::new(Message::empty(Reset, 7).to_vec()),
        Payload::new(vec![]),
        Payload::new(vec![0x50, 1, 0]),
        Payload::new(b"\x51\x01\x00\x07t\xff".to_vec()),
    ] {
        assert_eq!(answered(&datagram, Arrival::Multicast), None, "{datagram:?}");
    }
    // An Accept that cannot be met, an option that is not understood, and a block that is not there.
    for (number, value) in [(option::ACCEPT, 60), (9, 0), (option::BLOCK2, 0x50)] {
        let mut message = request(NonConfirmable, Code::GET, &CORE, "brski-jp=*");
        message.push_uint(number, value);
        assert_eq!(answered(&message.encode(), Arrival::Multicast), None, "{number}");
        assert_eq!(answered(&message.encode(), Arrival::Unicast), None, "{number}");
    }
}

#[test]
fn a_confirmable_request_is_always_acknowledged() {
    let code = |code, path: &[&str], query| {
        let answer = answered(&request(Kind::Confirmable, code, path, query).encode(), Arrival::Unicast).unwrap();
        let answer = Message::parse(&answer).unwrap();
        assert_eq!((answer.kind(), answer.id(), answer.token()), (Kind::Acknowledgement, 7, &b"tk"[..]));
        (answer.code(), answer.payload().len())
    };
    assert_eq!(code(Code::GET, &CORE, "brski-jp=*"), (Code::CONTENT, 16));
    assert_eq!(code(Code::GET, &CORE, "rt=x"), (Code::CONTENT, 0));
    assert_eq!(code(Code::GET, &["e", "crts"], ""), (Code::NOT_FOUND, 0), "only with DTLS");
    assert_eq!(code(Code::POST, &CORE, "brski-jp=*"), (Code::METHOD_NOT_ALLOWED, 0));
    let ping = Message::empty(Kind::Confirmable, 9);
    assert_eq!(answered(&ping, Arrival::Unicast).unwrap().as_slice(), Message::empty(Kind::Reset, 9));
}

/// Each block is asked for by itself, and nothing is kept between two.
#[test]
fn a_long_answer_is_fetched_block_by_block() {
    let (mut links, mut tags) = (Vec::new(), Vec::new());
    for number in 0.. {
        let mut message = request(Kind::Confirmable, Code::GET, &CORE, "x");
        message.push_uint(option::BLOCK2, number << 4);
        let own = |_: &[String]| link_format::resources(&[""; 0]);
        let answer = answer(&message.encode(), Arrival::Unicast, &mut rng(), own).unwrap().unwrap();
        let answer = Message::parse(&answer).unwrap();
        links.extend_from_slice(answer.payload());
        tags.push(answer.values(option::ETAG).next().map(<[u8]>::to_vec));
        let block = answer.values(option::BLOCK2).next().and_then(Block::parse).unwrap();
        if !block.more {
            break;
        }
    }
    assert_eq!(links, link_format::resources(&[""; 0]).as_bytes());
    assert!(tags.len() > 4 && tags.iter().all(|tag| tag.is_some() && *tag == tags[0]), "{tags:?}");
}

/// Returns an answer that is right but for what `change` does.
fn reply(question: &Question, change: impl FnOnce(&mut Message)) -> Payload {
    let mut message = Message::new(Kind::NonConfirmable, Code::CONTENT, 5, &question.token);
    message.set_payload(b"<>;brski-jp=1");
    change(&mut message);
    message.encode()
}

#[test]
fn only_whole_answers_with_links_and_the_token_are_read() {
    let question = question("rt=brski");
    let links = |message: &mut Message| message.push_uint(option::CONTENT_FORMAT, content_format::LINK_FORMAT.into());
    assert!(question.read(&reply(&question, links)).is_some());
    let with = |number, value| {
        reply(&question, |message| {
            links(message);
            message.push_uint(number, value);
        })
    };
    assert!(question.read(&with(option::BLOCK2, 2)).is_some(), "the only block");
    for (number, value, why) in [
        (option::BLOCK2, 0x0a, "there are more blocks"),
        (option::BLOCK2, 0x12, "it is the second block"),
        (9, 0, "a critical option is not understood"),
    ] {
        assert_eq!(question.read(&with(number, value)), None, "{why}");
    }
    assert_eq!(question.read(&reply(&question, |_| {})), None, "no content format");
    let json = reply(&question, |message| message.push_uint(option::CONTENT_FORMAT, content_format::JSON.into()));
    assert_eq!(question.read(&json), None, "another content format");
    for (kind, code, token) in [
        (Kind::NonConfirmable, Code::NOT_FOUND, question.token),
        (Kind::NonConfirmable, Code::CONTENT, [0; 8]),
        (Kind::Acknowledgement, Code::CONTENT, question.token),
    ] {
        let mut message = Message::new(kind, code, 5, &token);
        links(&mut message);
        assert_eq!(question.read(&message.encode()), None, "{kind:?} {code}");
    }
    let mut confirmable = Message::new(Kind::Confirmable, Code::CONTENT, 5, &question.token);
    links(&mut confirmable);
    let answer = question.read(&confirmable.encode()).unwrap();
    assert_eq!(answer.acknowledgement, Some(Message::empty(Kind::Acknowledgement, 5)));
}

proptest! {
    /// What is sent back is never longer than an error or the links, and never an answer to an answer.
    #[test]
    fn any_datagram_is_answered_or_not(mut datagram in prop::collection::vec(any::<u8>(), 0..80), is_near: bool, multicast: bool) {
        if is_near && datagram.len() > 4 {
            (datagram[0], datagram[1]) = (0x40 | datagram[0] & 0x31, 1);
        }
        let arrival = if multicast { Arrival::Multicast } else { Arrival::Unicast };
        if let Some(answer) = answered(&datagram, arrival) {
            prop_assert!(answer.len() < 64);
            prop_assert_eq!(answered(&answer, arrival), None);
        }
        prop_assert_eq!(question("rt=brski").read(&datagram), None);
    }
}
