//! The answer to a question for links.

use alloc::string::String;
use alloc::vec;

use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{Instant, Now};

use crate::coap::{
    Code, IncomingRequest, MAX_DATAGRAM, Payload, Resource, Response, Server, ServerConfig, content_format,
};

/// How a datagram came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It was sent to an address of this host alone.
    Unicast,
    /// It was sent to a group.
    Multicast,
}

/// Answers one datagram that came, where `links` returns the links for the arguments of a query. Returns the datagram to send
/// back, if any. Nothing else than `GET /.well-known/core` is served.
///
/// A question by multicast must not ask for an acknowledgement (RFC 7252, 8.1). That, and each message that asks for none, gets
/// links or nothing: neither an error nor an empty list.
pub fn answer(
    datagram: &[u8],
    arrival: Arrival,
    rng: &mut dyn Rng,
    links: impl FnOnce(&[String]) -> String,
) -> Result<Option<Payload>, CryptoError> {
    let is_confirmable = datagram.first().is_some_and(|first| first >> 4 & 3 == 0);
    if is_confirmable && arrival == Arrival::Multicast {
        return Ok(None);
    }
    // It lives for one datagram, at the beginning of time: nothing of the peer is kept.
    let now = Now::new(Instant(0), None);
    let mut server = Server::new(ServerConfig::default(), rng)?;
    server.handle_input(now, datagram);
    let mut has_links = false;
    if let Some((id, request)) = server.poll_request() {
        let response = respond(&request, links);
        has_links = response.code == Code::CONTENT && !response.payload.is_empty();
        server.respond(now, rng, id, response)?;
    }
    if !is_confirmable && !has_links {
        return Ok(None);
    }
    let mut out = Payload::new(vec![0; MAX_DATAGRAM]);
    let Some(len) = server.poll_transmit(now, &mut out) else { return Ok(None) };
    out.truncate(len);
    let is_content = out.get(1) == Some(&Code::CONTENT.0);
    Ok((is_confirmable || is_content).then_some(out))
}

fn respond(request: &IncomingRequest, links: impl FnOnce(&[String]) -> String) -> Response {
    if request.resource != Resource::Core {
        return Response::new(Code::NOT_FOUND); // CoAP without DTLS has discovery alone
    }
    if request.accept.is_some_and(|accept| accept != content_format::LINK_FORMAT) {
        return Response::new(Code::NOT_ACCEPTABLE); // RFC 7252, 5.10.4
    }
    let links = Payload::new(links(&request.query).into_bytes());
    Response::success(request.method, Some(content_format::LINK_FORMAT), links)
}
