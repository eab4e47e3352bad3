//! The fuzz target `coap` gives datagrams to a client and to a server, and answers to readers of links and of
//! `application/multipart-core`.
//!
//! The first byte chooses which, and the size of blocks. Then operations follow, each a byte, a length, and so many bytes:
//! a datagram, time that passes, or an answer of the application. A datagram for the client has the message ID and the token
//! that the client has chosen, unless the operation says otherwise.

use terse_brski::coap::{
    BlockSize, Client, ClientConfig, IncomingRequest, MAX_DATAGRAM, Payload, Request, RequestId, Resource, Response,
    Server, ServerConfig, content_format, link_format, multipart,
};
use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{Instant, Now};

/// How far an input has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reached {
    /// The requests that the server had to answer.
    pub requests: usize,
    /// The responses that the client has taken.
    pub responses: usize,
}

/// Runs one input.
pub fn run(data: &[u8]) {
    replay(data);
}

/// Runs one input, and says how far it came.
pub fn replay(data: &[u8]) -> Reached {
    let Some((what, rest)) = data.split_first() else { return Reached::default() };
    let block_size = BlockSize::at_most(16 << (what >> 3 & 7));
    match what % 4 {
        SERVER => serve(block_size, rest),
        CLIENT => ask(block_size, what & 0x40 != 0, rest),
        LINKS => read_links(rest),
        _ => read_parts(rest),
    }
}

/// The lowest bits of the first byte of an input.
pub const SERVER: u8 = 0;
/// For a client.
pub const CLIENT: u8 = 1;
/// For links.
pub const LINKS: u8 = 2;
/// For `application/multipart-core`.
pub const PARTS: u8 = 3;

/// What an operation does, in the lowest bits of its first byte.
pub const DATAGRAM: u8 = 0;
/// Time passes: seconds.
pub const PAUSE: u8 = 1;
/// The application answers, by as many bytes as are 16 times the first.
pub const ANSWER: u8 = 2;

/// The longest payloads that are taken.
const MAX_LEN: usize = 2_000;

/// Randomness without any: it makes no difference here.
pub struct NoRng;

impl Rng for NoRng {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        out.fill(7);
        Ok(())
    }
}

/// Returns the operations of an input: the byte that says what, and the bytes that belong to it.
fn operations(mut data: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    core::iter::from_fn(move || {
        let [what, len, rest @ ..] = data else { return None };
        let (bytes, after) = rest.split_at(rest.len().min(usize::from(*len)));
        data = after;
        Some((*what, bytes))
    })
}

fn later(now: Now, bytes: &[u8]) -> Now {
    let seconds = u64::from(bytes.first().copied().unwrap_or(1));
    Now::new(Instant(now.monotonic.0 + 1_000 * seconds), None)
}

/// The request of a client.
pub fn request(is_post: bool) -> Request {
    match is_post {
        true => Request::post(Resource::RequestVoucher, content_format::VOUCHER_COSE, &[7; 100]),
        false => Request::get(Resource::CaCerts),
    }
}

/// The configuration of a server.
pub fn server_config(block_size: BlockSize) -> ServerConfig {
    let mut config = ServerConfig::default();
    (config.block_size, config.max_request) = (block_size, MAX_LEN);
    config
}

/// The configuration of a client.
pub fn client_config(block_size: BlockSize) -> ClientConfig {
    let mut config = ClientConfig::default();
    (config.block_size, config.max_response) = (block_size, MAX_LEN);
    config
}

/// EXCHANGE_LIFETIME (RFC 7252, 4.8.2).
const EXCHANGE_LIFETIME_MS: u64 = 247_000;

fn serve(block_size: BlockSize, data: &[u8]) -> Reached {
    let mut server = Server::new(server_config(block_size), &mut NoRng).expect("no randomness is needed");
    let (mut now, mut out) = (Now::new(Instant(0), None), vec![0; MAX_DATAGRAM]);
    let (mut waiting, mut reached): (Vec<(Instant, RequestId, IncomingRequest)>, _) = (Vec::new(), Reached::default());
    for (what, bytes) in operations(data) {
        match what % 4 {
            PAUSE => {
                now = later(now, bytes);
                server.handle_timeout(now);
            }
            ANSWER if !waiting.is_empty() => {
                let (_, id, request) = waiting.remove(0);
                let payload = vec![9; 16 * usize::from(bytes.first().copied().unwrap_or_default())];
                let response = Response::success(request.method, None, Payload::new(payload));
                server.respond(now, &mut NoRng, id, response).expect("no randomness is needed");
            }
            ANSWER => {}
            _ => server.handle_input(now, bytes),
        }
        while let Some((id, request)) = server.poll_request() {
            assert!(request.payload.len() <= MAX_LEN && request.method == request.resource.method());
            reached.requests += 1;
            waiting.push((now.monotonic, id, request));
            // A server gives up what is not answered for so long.
            waiting.retain(|(since, ..)| now.monotonic.0 - since.0 < EXCHANGE_LIFETIME_MS);
            assert!(waiting.len() <= 4, "what is in work is bounded");
        }
        let sent = core::iter::from_fn(|| server.poll_transmit(now, &mut out)).count();
        assert!(what % 4 == PAUSE || sent <= 1, "a datagram brings at most one");
    }
    // Of what was received nothing is kept but what the application owes.
    for _ in 0..20 {
        now = Now::new(Instant(now.monotonic.0 + 1_000_000), None);
        server.handle_timeout(now);
        while server.poll_transmit(now, &mut out).is_some() {}
    }
    assert_eq!(server.poll_timeout(), None);
    reached
}

fn ask(block_size: BlockSize, is_post: bool, data: &[u8]) -> Reached {
    let mut client = Client::new(client_config(block_size), &mut NoRng).expect("no randomness is needed");
    let (mut now, mut out) = (Now::new(Instant(0), None), vec![0; MAX_DATAGRAM]);
    let (mut last, mut reached) = (Vec::new(), Reached::default());
    client.request(now, &mut NoRng, request(is_post)).expect("no randomness is needed");
    for (what, bytes) in operations(data) {
        while let Some(len) = client.poll_transmit(now, &mut out) {
            assert!(len <= block_size.bytes() + 512);
            if len > 8 {
                last = out[..len].to_vec();
            }
        }
        match (what % 4, bytes) {
            (PAUSE, _) => {
                now = later(now, bytes);
                client.handle_timeout(now);
            }
            (_, [first, code, rest @ ..]) if what & 0x10 == 0 && last.len() > 8 => {
                let datagram = [&[first & 0x30 | 0x44, *code], &last[2..8], rest].concat();
                client.handle_input(now, &mut NoRng, &datagram);
            }
            _ => client.handle_input(now, &mut NoRng, bytes),
        }
        assert_eq!(client.is_busy(), client.poll_timeout().is_some());
        match client.poll_response() {
            Some(Ok(response)) => {
                assert!(response.payload.len() <= MAX_LEN && response.code.is_response());
                reached.responses += 1;
            }
            Some(Err(failure)) => assert!(!failure.to_string().is_empty()),
            None if !client.is_busy() => client.request(now, &mut NoRng, request(is_post)).expect("no randomness"),
            None => {}
        }
    }
    // Whoever answers no more is given up.
    for _ in 0..6 {
        now = Now::new(Instant(now.monotonic.0 + 1_000_000), None);
        client.handle_timeout(now);
    }
    assert!(!client.is_busy());
    reached
}

fn read_links(answer: &[u8]) -> Reached {
    match link_format::read(answer) {
        Ok(links) => assert!(links.len() <= link_format::MAX_LINKS),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let ports = link_format::join_proxy_ports(answer).unwrap_or_default();
    assert!(ports.iter().all(|port| *port != 0));
    for (rt, scheme) in [("brski", "coaps"), ("brski.rjp", "jpy")] {
        let found = link_format::addresses(answer, rt, scheme).unwrap_or_default();
        assert!(found.iter().all(|address| address.port() != 0));
    }
    Reached::default()
}

fn read_parts(encoded: &[u8]) -> Reached {
    if let Ok(parts) = multipart::decode(encoded, 3) {
        assert!(parts.len() <= 3);
        assert_eq!(multipart::decode(&multipart::encode(&parts), 3).as_ref(), Ok(&parts));
    }
    Reached::default()
}
