//! Whole requests over a network that does everything to every datagram.

use std::collections::BTreeSet;
use std::{format, vec};

use proptest::prelude::*;

use super::payload;
use super::world::{Fate, World};
use crate::coap::{
    BlockSize, ClientConfig, Code, ETag, Failure, IncomingRequest, Method, PathForm, Payload, Request, Resource,
    Response, ServerConfig, Transmission, content_format,
};

/// A voucher request of 700 bytes, which is answered by 900.
fn request() -> Request {
    Request::post(Resource::RequestVoucher, content_format::VOUCHER_COSE, &payload(700))
        .accept(content_format::VOUCHER_COSE)
}

fn answer(request: &IncomingRequest) -> Response {
    assert_eq!(request.payload.as_slice(), payload(700));
    Response::success(request.method, Some(content_format::VOUCHER_COSE), Payload::new(payload(900)))
}

fn configs(size: usize) -> (ClientConfig, ServerConfig) {
    let block_size = BlockSize::at_most(size);
    (ClientConfig { block_size, ..Default::default() }, ServerConfig { block_size, ..Default::default() })
}

/// Every datagram of a run, in every way that leaves the request possible: the response is there, and the work was done once.
#[test]
fn whatever_happens_to_one_datagram_the_request_is_carried_out_once() {
    for works_for in [0, 5_000] {
        let (client, server) = configs(256);
        let mut plain = World::new(client, server);
        plain.works_for = works_for;
        plain.run(request(), answer, |_| Fate::Deliver).unwrap();
        let count = plain.sent.len();
        assert!(count >= 12, "{count}");
        let fates =
            [Fate::Lose, Fate::Double, Fate::Delay(1), Fate::Delay(2_500), Fate::Delay(20_000), Fate::Truncate(0)];
        // What is cut later is rejected, or another message; neither UDP nor DTLS delivers it.
        let truncated = [1, 2, 3].map(Fate::Truncate);
        for (number, fate) in
            (0..count).flat_map(|number| fates.iter().chain(&truncated).map(move |fate| (number, *fate)))
        {
            let mut world = World::new(client, server);
            world.works_for = works_for;
            let outcome = world.run(request(), answer, |other| if other == number { fate } else { Fate::Deliver });
            let response = outcome.unwrap_or_else(|failure| panic!("{number} {fate:?}: {failure}"));
            assert_eq!((response.code, response.payload.as_slice()), (Code::CHANGED, &*payload(900)));
            assert_eq!(world.requests.len(), 1, "{number} {fate:?}");
            world.settle();
        }
    }
}

#[test]
fn blocks_of_every_size_carry_bodies_of_every_length_both_ways() {
    for szx in 0..7 {
        let size = 16 << szx;
        for len in [0, 1, size - 1, size, size + 1, 2 * size, 2 * size + 1, 5 * size] {
            let (client, server) = configs(size);
            let mut world = World::new(client, server);
            let request = Request::post(Resource::SimpleEnroll, content_format::PKCS10, &payload(len));
            let echo = |request: &IncomingRequest| Response::success(request.method, None, request.payload.clone());
            let response = world.run(request, echo, |_| Fate::Deliver).unwrap();
            assert_eq!(response.payload.as_slice(), payload(len), "{len} in blocks of {size}");
            assert_eq!(world.requests.len(), 1);
            let blocks = len.div_ceil(size).max(1);
            assert_eq!(
                world.sent.len(),
                2 * (2 * blocks - 1),
                "the last of the request brings the first of the response"
            );
        }
    }
}

#[test]
fn the_smaller_block_size_of_two_is_used() {
    let sizes = [16, 64, 512, 1_024];
    for (of_client, of_server) in sizes.into_iter().flat_map(|size| sizes.map(|other| (size, other))) {
        let (client, server) = (configs(of_client).0, configs(of_server).1);
        let mut world = World::new(client, server);
        let response = world.run(request(), answer, |_| Fate::Deliver).unwrap();
        assert_eq!(response.payload.as_slice(), payload(900));
        assert_eq!(world.requests.len(), 1);
        let longest = world.sent.iter().skip(1).map(|(.., datagram)| datagram.len()).max().unwrap();
        assert!(longest < of_client.min(of_server) + 64, "{of_client} and {of_server}: {longest}");
    }
}

/// The messages of all requests, in all forms of paths, with responses that have everything which a response can have.
#[test]
fn blocks_for_a_datagram_make_messages_that_fit_into_it() {
    for limit in [80, 96, 128, 256, 512, 576, 1_088, 1_500] {
        for path_form in [PathForm::WellKnown, PathForm::Abbreviated, PathForm::Short] {
            for resource in Resource::ALL {
                let block_size = BlockSize::for_datagram(limit);
                let client = ClientConfig { block_size, path_form, ..Default::default() };
                let mut world = World::new(client, ServerConfig { block_size, ..Default::default() });
                let payload = payload(3_000);
                let request = match resource.method() {
                    Method::Get => Request::get(resource),
                    Method::Post => Request::post(resource, u16::MAX, &payload),
                };
                let request = Request { etag: ETag::new(b"of eight"), ..request.accept(u16::MAX) };
                let answer = |request: &IncomingRequest| Response {
                    etag: ETag::new(b"eight of"),
                    max_age: Some(u32::MAX),
                    ..Response::success(request.method, Some(u16::MAX), Payload::new(payload.clone()))
                };
                let response = world.run(request, answer, |_| Fate::Deliver).unwrap();
                assert_eq!(response.payload.as_slice(), payload);
                let longest = world.sent.iter().map(|(.., datagram)| datagram.len()).max().unwrap();
                assert!(longest <= limit, "{resource:?} as {path_form:?}: {longest} of {limit}");
            }
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_given_up_after_four_retransmissions() {
    let mut world = World::new(ClientConfig::default(), ServerConfig::default());
    let failure = world.run(Request::get(Resource::CaCerts), answer, |_| Fate::Lose).unwrap_err();
    assert_eq!(failure, Failure::Unreachable);
    assert_eq!(world.sent.len(), 5);
    let same: BTreeSet<_> = world.sent.iter().map(|(.., datagram)| datagram).collect();
    assert_eq!(same.len(), 1, "the same bytes each time");
    let gaps: vec::Vec<_> = world.sent.windows(2).map(|pair| pair[1].0.since(pair[0].0)).collect();
    assert!((2_000..=3_000).contains(&gaps[0]), "{gaps:?}");
    assert!(gaps.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{gaps:?}");
    assert!(world.now.0 <= Transmission::default().max_transmit_wait_ms());
}

#[test]
fn a_response_that_takes_long_is_a_message_of_its_own() {
    let mut world = World::new(ClientConfig::default(), ServerConfig::default());
    world.works_for = 60_000;
    let answer = |request: &IncomingRequest| Response::success(request.method, None, Payload::new(payload(3)));
    world.run(Request::get(Resource::CaCerts), answer, |_| Fate::Deliver).unwrap();
    world.settle();
    // The request, its acknowledgement, the response, and its acknowledgement: nothing is sent twice.
    let sent: vec::Vec<_> =
        world.sent.iter().map(|(_, is_from_client, datagram)| (*is_from_client, datagram[0] >> 4)).collect();
    assert_eq!(sent, [(true, 4), (false, 6), (false, 4), (true, 6)]);
}

#[test]
fn a_response_that_never_comes_is_given_up() {
    let config = ClientConfig::default();
    let mut world = World::new(config, ServerConfig::default());
    world.works_for = 1_000_000;
    let failure = world.run(Request::get(Resource::CaCerts), |_| Response::new(Code::CONTENT), |_| Fate::Deliver);
    assert_eq!(failure, Err(Failure::NoResponse));
    assert_eq!(world.now.0, 1_020 + config.response_timeout_ms);
}

#[test]
fn a_representation_that_the_client_has_is_not_sent_again() {
    let etag = ETag::new(b"v1");
    let answer = |request: &IncomingRequest| Response {
        etag: ETag::new(b"v1"),
        ..Response::success(request.method, Some(content_format::MULTIPART_CORE), Payload::new(payload(2_000)))
    };
    let mut world = World::new(ClientConfig::default(), ServerConfig::default());
    let first = world.run(Request::get(Resource::CaCerts), answer, |_| Fate::Deliver).unwrap();
    assert_eq!((first.code, first.etag, first.payload.len()), (Code::CONTENT, etag, 2_000));
    let again = Request { etag, ..Request::get(Resource::CaCerts) };
    let second = world.run(again, answer, |_| Fate::Deliver).unwrap();
    assert_eq!((second.code, second.etag, second.payload.len()), (Code::VALID, etag, 0));
}

#[test]
fn abbreviations_save_bytes() {
    let mut lens = vec::Vec::new();
    for path_form in [PathForm::WellKnown, PathForm::Abbreviated, PathForm::Short] {
        let client = ClientConfig { path_form, ..Default::default() };
        let mut world = World::new(client, ServerConfig::default());
        let done = |request: &IncomingRequest| Response::success(request.method, None, Payload::default());
        world
            .run(Request::post(Resource::VoucherStatus, content_format::CBOR, b"\xa0"), done, |_| Fate::Deliver)
            .unwrap();
        assert_eq!(world.requests[0].resource, Resource::VoucherStatus);
        lens.push(world.sent[0].2.len());
    }
    assert_eq!(lens[0] - lens[1], 18, "{lens:?}");
    assert!(lens[1] < lens[2], "{lens:?}");
}

proptest! {
    /// Losses, doubles, delays and truncations of many datagrams at once (no truncation makes another message), with bodies and sizes of every kind. Each request
    /// ends; one that succeeds has the response of its own request, and none is carried out twice.
    #[test]
    fn requests_end_whatever_the_network_does(
        fates in prop::collection::vec((0..10u8, 0..30_000u64), 1..60),
        (of_client, of_server) in (0..7usize, 0..7usize),
        (request_len, response_len) in (0..2_000usize, 0..2_000usize),
        works_for in prop::sample::select(vec![0, 900, 30_000]),
    ) {
        let (client, server) = (configs(16 << of_client).0, configs(16 << of_server).1);
        let mut world = World::new(client, server);
        world.works_for = works_for;
        for round in 1..3 {
            let request = Request::post(Resource::EnrollStatus, content_format::CBOR, &payload(request_len + round));
            let answer = |request: &IncomingRequest| {
                Response::success(request.method, None, Payload::new(payload(response_len + request.payload.len())))
            };
            let outcome = world.run(request, answer, |number| match fates.get(number) {
                Some((0, _)) => Fate::Lose,
                Some((1, _)) => Fate::Double,
                Some((2 | 3, ms)) => Fate::Delay(*ms),
                Some((4, len)) => Fate::Truncate(*len as usize % 8),
                _ => Fate::Deliver,
            });
            let is_done = outcome.is_ok();
            if let Ok(response) = outcome {
                prop_assert_eq!(response.code, Code::CHANGED, "{}", format!("{:?}", response.diagnostic()));
                prop_assert_eq!(response.payload.as_slice(), payload(response_len + request_len + round));
            }
            let carried_out = world.requests.iter().filter(|other| other.payload.len() == request_len + round);
            let carried_out = carried_out.count();
            prop_assert!(carried_out == 1 || !is_done && carried_out == 0, "{}", carried_out);
        }
    }

    /// Datagrams that end anywhere, as no transport delivers them: whatever comes of it, the request ends.
    #[test]
    fn requests_end_when_datagrams_are_cut_anywhere(
        cuts in prop::collection::vec(0..120usize, 1..20),
        size in 0..7usize,
    ) {
        let (client, server) = configs(16 << size);
        let mut world = World::new(client, server);
        let answer = |request: &IncomingRequest| {
            Response::success(request.method, None, Payload::new([payload(300), request.payload.to_vec()].concat()))
        };
        let outcome = world.run(request(), answer, |number| match cuts.get(number) {
            Some(len) if *len < 100 => Fate::Truncate(*len),
            _ => Fate::Deliver,
        });
        if let Ok(response) = outcome {
            prop_assert!(response.payload.len() <= 1_000);
        }
        world.settle();
    }
}

/// A block that arrives long after it was sent again, when the server remembers no answer to it any more.
#[test]
fn a_late_block_disturbs_neither_the_next_request_nor_its_response() {
    let (client, server) = (configs(32).0, configs(16).1);
    for delay in (3_000..6_000).step_by(7) {
        let mut world = World::new(client, server);
        for len in [596, 597] {
            let request = Request::post(Resource::EnrollStatus, content_format::CBOR, &payload(len));
            let answer = |request: &IncomingRequest| {
                Response::success(request.method, None, Payload::new(payload(300 + request.payload.len())))
            };
            let fate = |number| if number == 2 { Fate::Delay(delay) } else { Fate::Deliver };
            let response = world.run(request, answer, fate).unwrap();
            assert_eq!((response.code, response.payload.as_slice()), (Code::CHANGED, &*payload(300 + len)), "{delay}");
        }
        assert_eq!(world.requests.len(), 2, "{delay}");
    }
}

/// The server rejects a request that it got only half of, and carries the copy out after all, while the response to the next
/// request is fetched.
#[test]
fn blocks_of_two_responses_are_not_put_together() {
    let mut world = World::new(configs(256).0, configs(16).1);
    let fates = [Fate::Truncate(4), Fate::Delay(15_624), Fate::Delay(12_833), Fate::Delay(7_209)];
    let answer = |request: &IncomingRequest| {
        Response::success(request.method, None, Payload::new(payload(16 + request.payload.len())))
    };
    let mut run = |len| {
        let request = Request::post(Resource::EnrollStatus, content_format::CBOR, &payload(len));
        world.run(request, answer, |number| fates.get(number).copied().unwrap_or(Fate::Deliver))
    };
    assert_eq!(run(1), Err(Failure::Reset));
    assert_eq!(run(2), Err(Failure::Changed));
    assert_eq!(run(3).map(|response| response.payload.to_vec()), Ok(payload(19)));
}
