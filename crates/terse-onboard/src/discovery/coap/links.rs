//! What a responder says.

use alloc::sync::Arc;
use core::fmt;
use core::net::SocketAddr;

use terse_brski::coap::link_format::{self, QUERY_REGISTRAR, QUERY_STATELESS};

/// The links that a [`CoreResponder`](super::CoreResponder) answers with.
#[derive(Clone)]
pub struct Links(Arc<Answer>);

/// Returns the links for the arguments of a query, at the address that the answer comes from.
type Answer = dyn Fn(&[String], SocketAddr) -> String + Send + Sync;

impl Links {
    /// Creates links from a function of the arguments of a query, and of the address that the answer comes from. It returns an
    /// empty text where nothing is to be said. It runs for each question of a stranger, so that it should be quick.
    pub fn new(answer: impl Fn(&[String], SocketAddr) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    /// Returns the link of a join proxy whose join port this is, at the address that the answer comes from.
    pub fn join_proxy(port: u16) -> Self {
        Self::new(move |query, _| match query.iter().all(|argument| is_about_port(argument, port)) {
            true => link_format::join_proxy(port),
            false => String::new(),
        })
    }

    /// Returns the links of a registrar with CoAPS at one address and, if it has that, JPY at another one. Where one is the
    /// unspecified address, the link has the address that the answer comes from.
    pub fn registrar(coaps: SocketAddr, jpy: Option<SocketAddr>) -> Self {
        Self::new(move |query, own| match query {
            [argument] if argument == QUERY_REGISTRAR => link_format::registrar(specified(coaps, own)),
            [argument] if argument == QUERY_STATELESS => {
                jpy.map(|jpy| link_format::stateless_registrar(specified(jpy, own))).unwrap_or_default()
            }
            query => link_format::resources(query),
        })
    }

    pub(super) fn answer(&self, query: &[String], own: SocketAddr) -> String {
        (self.0)(query, own)
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Links")
    }
}

/// Whether an argument of a query asks for `brski-jp` with this value (RFC 6690, 4.1).
fn is_about_port(argument: &str, port: u16) -> bool {
    let Some(asked) = argument.strip_prefix("brski-jp=") else { return false };
    let port = port.to_string();
    match asked.strip_suffix('*') {
        Some(prefix) => port.starts_with(prefix),
        None => port == asked,
    }
}

/// Returns an address, in which the one of the answer stands for the unspecified one.
fn specified(address: SocketAddr, own: SocketAddr) -> SocketAddr {
    match address.ip().is_unspecified() {
        true => SocketAddr::new(own.ip().to_canonical(), address.port()),
        false => address,
    }
}
