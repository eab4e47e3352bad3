//! Peers that send anything: nothing panics, what is kept and sent is bounded, and a client ends.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use terse_tls::{Instant, Now};

use super::payload;
use crate::coap::message::{Kind, Message};
use crate::coap::{
    BlockSize, Client, ClientConfig, Code, MAX_DATAGRAM, Payload, Request, Resource, Response, Server, ServerConfig,
    content_format,
};

/// A message that is nearly right: known options, small numbers of blocks, few message IDs.
fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let kinds = vec![Kind::Confirmable, Kind::NonConfirmable, Kind::Acknowledgement, Kind::Reset];
    let codes = vec![Code::GET, Code::POST, Code::CONTENT, Code::CHANGED, Code::CONTINUE, Code::BAD_OPTION, Code(0x8d)];
    let option = prop_oneof![
        Just((13, vec![1, 45])),
        Just((13, vec![1, 146])),
        (prop::sample::select(vec![23, 27]), (0..6u8, 0..16u8).prop_map(|(number, rest)| vec![number << 4 | rest])),
        (prop::sample::select(vec![4, 11, 12, 14, 15, 17, 28, 60]), prop::collection::vec(any::<u8>(), 0..5)),
    ];
    let options = prop::collection::vec(option, 0..6);
    let len = prop_oneof![Just(0), Just(16), Just(32), 0..40usize];
    (prop::sample::select(kinds), prop::sample::select(codes), 0..4u16, 0..2u8, options, len).prop_map(
        |(kind, code, id, token, options, len)| {
            let mut message = Message::new(kind, code, id, &[token]);
            options.iter().for_each(|(number, value)| message.push(*number, value));
            message.set_payload(&payload(len));
            message.encode().to_vec()
        },
    )
}

proptest! {
    #[test]
    fn a_server_stands_any_datagrams(
        datagrams in prop::collection::vec(prop_oneof![
            8 => datagram(),
            1 => prop::collection::vec(any::<u8>(), 0..100),
        ], 0..80),
        answers: bool,
        pause in 0..400_000u64,
    ) {
        let config = ServerConfig { max_request: 200, block_size: BlockSize::at_most(16), ..Default::default() };
        let mut rng = super::rng(1);
        let mut server = Server::new(config, &mut rng).unwrap();
        let (mut now, mut out) = (Now::new(Instant(0), None), vec![0; MAX_DATAGRAM]);
        for datagram in datagrams {
            server.handle_input(now, &datagram);
            while let Some((id, request)) = server.poll_request() {
                prop_assert!(request.payload.len() <= 200);
                prop_assert_eq!(request.method, request.resource.method());
                if answers {
                    let response = Response::success(request.method, None, Payload::new(payload(100)));
                    server.respond(now, &mut rng, id, response).unwrap();
                }
            }
            let mut sent = 0;
            while let Some(len) = server.poll_transmit(now, &mut out) {
                prop_assert!(Message::parse(&out[..len]).is_ok());
                sent += 1;
            }
            prop_assert!(sent <= 1, "one datagram brings at most one");
            now = Now::new(Instant(now.monotonic.0 + pause), None);
            server.handle_timeout(now);
            while server.poll_transmit(now, &mut out).is_some() {}
        }
        // Everything is forgotten, also what the application owes.
        now = Now::new(Instant(now.monotonic.0 + 1_000_000), None);
        for _ in 0..20 {
            server.handle_timeout(now);
            while server.poll_transmit(now, &mut out).is_some() {}
            now = Now::new(Instant(now.monotonic.0 + 1_000_000), None);
        }
        prop_assert_eq!(server.poll_timeout(), None);
    }

    /// The server knows message ID and token, and answers by anything.
    #[test]
    fn a_client_ends_whatever_the_server_answers(
        datagrams in prop::collection::vec(prop_oneof![
            8 => datagram(),
            1 => prop::collection::vec(any::<u8>(), 0..100),
        ], 1..40),
        is_post: bool,
    ) {
        let config = ClientConfig { max_response: 200, block_size: BlockSize::at_most(32), ..Default::default() };
        let mut rng = super::rng(1);
        let mut client = Client::new(config, &mut rng).unwrap();
        let request = match is_post {
            true => Request::post(Resource::RequestVoucher, content_format::VOUCHER_COSE, &payload(100)),
            false => Request::get(Resource::CaCerts),
        };
        client.request(Now::new(Instant(0), None), &mut rng, request).unwrap();
        let (mut now, mut out, mut last) = (Now::new(Instant(0), None), vec![0; MAX_DATAGRAM], Vec::new());
        let mut exchanges = 0;
        for round in 0.. {
            while let Some(len) = client.poll_transmit(now, &mut out) {
                prop_assert!(len <= 32 + 512);
                last = out[..len].to_vec();
            }
            if let Some(outcome) = client.poll_response() {
                prop_assert!(!client.is_busy());
                if let Ok(response) = outcome {
                    prop_assert!(response.payload.len() <= 200);
                }
                break;
            }
            exchanges += 1;
            prop_assert!(exchanges < 1_000, "no end");
            let mut datagram = datagrams[round % datagrams.len()].clone();
            // The message ID and the token are those that the client has chosen.
            if let (Ok(sent), Ok(answer)) = (Message::parse(&last), Message::parse(&datagram)) {
                let mut own = Message::new(answer.kind(), answer.code(), sent.id(), sent.token());
                answer.options().for_each(|(number, values)| values.for_each(|value| own.push(number, value)));
                own.set_payload(answer.payload());
                datagram = own.encode().to_vec();
            }
            client.handle_input(now, &mut rng, &datagram);
            if let Some(deadline) = client.poll_timeout().filter(|_| round % 3 == 2) {
                now = Now::new(deadline, None);
                client.handle_timeout(now);
            }
        }
    }
}
