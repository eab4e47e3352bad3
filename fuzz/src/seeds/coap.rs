//! Seeds of CoAP: what a client and a server have sent to each other, with blocks of every size, and answers to discovery.

use terse_brski::coap::{BlockSize, Client, MAX_DATAGRAM, Payload, Response, Server, link_format, multipart};
use terse_tls::{Instant, Now};

use super::Seed;
use crate::coap::{self, ANSWER, CLIENT, DATAGRAM, LINKS, NoRng, PARTS, PAUSE, SERVER};

/// Returns inputs that reach the end of their requests.
pub(super) fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for szx in 0..7 {
        for is_post in [false, true] {
            let [client, server] = record(szx, is_post);
            seeds.push((format!("client-{szx}-{is_post}"), client));
            seeds.push((format!("server-{szx}-{is_post}"), server));
        }
    }
    let address = "[2001:db8::1]:5684".parse().expect("an address");
    for (name, links) in [
        ("proxy", link_format::join_proxy(5_683)),
        ("registrar", link_format::registrar(address)),
        ("stateless", link_format::stateless_registrar(address)),
        ("resources", link_format::resources(&["rt=brski*"])),
    ] {
        seeds.push((format!("links-{name}"), [&[LINKS], links.as_bytes()].concat()));
    }
    let parts = multipart::encode(&[(287, b"\x30\x00"), (287, b"\x30\x01")]);
    seeds.push(("parts".into(), [&[PARTS], &parts[..]].concat()));
    seeds.push(("parts-indefinite".into(), [&[PARTS], &b"\x9f\x00\x41a\x00\xf6\xff"[..]].concat()));
    seeds
}

/// Returns the inputs of a client and of a server that have spoken with each other.
fn record(szx: u8, is_post: bool) -> [Vec<u8>; 2] {
    let size = BlockSize::at_most(16 << szx);
    let mut client = Client::new(coap::client_config(size), &mut NoRng).expect("no randomness is needed");
    let mut server = Server::new(coap::server_config(size), &mut NoRng).expect("no randomness is needed");
    let now = Now::new(Instant(0), None);
    let mut inputs = [vec![CLIENT | szx << 3 | u8::from(is_post) << 6], vec![SERVER | szx << 3]];
    let mut buffer = vec![0; MAX_DATAGRAM];
    client.request(now, &mut NoRng, coap::request(is_post)).expect("no randomness is needed");
    while client.is_busy() {
        while let Some(len) = client.poll_transmit(now, &mut buffer) {
            push(&mut inputs[1], DATAGRAM, &buffer[..len]);
            server.handle_input(now, &buffer[..len]);
        }
        while let Some((id, request)) = server.poll_request() {
            push(&mut inputs[1], ANSWER, &[6]);
            let response = Response::success(request.method, None, Payload::new(vec![9; 6 * 16]));
            server.respond(now, &mut NoRng, id, response).expect("no randomness is needed");
        }
        while let Some(len) = server.poll_transmit(now, &mut buffer) {
            // The target itself adds message ID and token.
            push(&mut inputs[0], DATAGRAM, &[&buffer[..2], &buffer[8..len]].concat());
            client.handle_input(now, &mut NoRng, &buffer[..len]);
        }
    }
    inputs.iter_mut().for_each(|input| push(input, PAUSE, &[3]));
    inputs
}

fn push(input: &mut Vec<u8>, what: u8, bytes: &[u8]) {
    input.extend([what, u8::try_from(bytes.len()).expect("short messages")]);
    input.extend(bytes);
}
