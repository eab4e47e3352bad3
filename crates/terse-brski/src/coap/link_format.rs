//! Discovery in CoRE link format (RFC 6690): what is answered to the queries of constrained BRSKI
//! (draft-ietf-anima-constrained-join-proxy; draft-ietf-anima-constrained-voucher), and a reader.
//!
//! | query | who answers | with |
//! |---|---|---|
//! | [`QUERY_PROXY`] | join proxies | [`join_proxy`] |
//! | [`QUERY_REGISTRAR`] | registrars | [`registrar`] |
//! | [`QUERY_STATELESS`] | registrars, to stateless join proxies | [`stateless_registrar`] |
//! | others, at a registrar | registrars | [`resources`] |

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::{PathForm, Resource};
use crate::Malformed;

mod read;

pub use read::{Link, MAX_LEN, MAX_LINKS, read};

/// The resource type of a registrar.
pub const RT_REGISTRAR: &str = "brski";

/// The resource type of a registrar that takes JPY messages.
pub const RT_STATELESS: &str = "brski.rjp";

/// The query for join proxies, at `ff02::fd`.
pub const QUERY_PROXY: &str = "brski-jp=*";

/// The query for registrars.
pub const QUERY_REGISTRAR: &str = "rt=brski";

/// The query of stateless join proxies for registrars that take JPY messages.
pub const QUERY_STATELESS: &str = "rt=brski.rjp";

/// Returns the link of a join proxy. Its address is the one that the answer comes from.
pub fn join_proxy(port: u16) -> String {
    format!("<>;brski-jp={port}")
}

/// Returns the link of a registrar that is reached at this address.
pub fn registrar(address: SocketAddr) -> String {
    format!("<coaps://{}/b>;rt=brski", without_zone(address))
}

/// Returns the link of a registrar that takes JPY messages at this address.
pub fn stateless_registrar(address: SocketAddr) -> String {
    format!("<jpy://{}>;rt=brski.rjp", without_zone(address))
}

/// Returns the links of a registrar's own resources that a query asks for: `rt=brski` or `rt=brski*`, for example. Without a
/// query all are returned. A query for something else returns none.
pub fn resources(query: &[impl AsRef<str>]) -> String {
    let is_asked = |rt: &str| query.iter().all(|argument| matches(argument.as_ref(), rt));
    let links = LINKS.into_iter().filter(|(_, rt, _)| is_asked(rt)).map(|(resource, rt, ct)| {
        let path = path(resource);
        match ct {
            "" => format!("<{path}>;rt={rt}"),
            _ if ct.contains(' ') => format!("<{path}>;rt={rt};ct=\"{ct}\""),
            _ => format!("<{path}>;rt={rt};ct={ct}"),
        }
    });
    links.collect::<Vec<_>>().join(",")
}

/// Returns the ports of join proxies: the values of `brski-jp` in an answer. Others are left out.
pub fn join_proxy_ports(answer: &[u8]) -> Result<Vec<u16>, Malformed> {
    let links = read(answer)?;
    let port = |link: &Link<'_>| link.attribute("brski-jp")?.parse().ok().filter(|port| *port != 0);
    Ok(links.iter().filter(|link| link.target.is_empty()).filter_map(port).collect())
}

/// Returns the addresses in an answer to [`QUERY_REGISTRAR`] or [`QUERY_STATELESS`]: those of the links with this `rt`, and
/// with this scheme, `coaps` or `jpy`. Links whose host is no address are left out.
pub fn addresses(answer: &[u8], rt: &str, scheme: &str) -> Result<Vec<SocketAddr>, Malformed> {
    let links = read(answer)?;
    let found = links.iter().filter(|link| link.has("rt", rt));
    Ok(found.filter_map(|link| address(link.target, scheme)).collect())
}

/// Whether an argument of a query asks for links with this `rt` (RFC 6690, 4.1).
fn matches(argument: &str, rt: &str) -> bool {
    match argument.strip_prefix("rt=") {
        Some(asked) => match asked.strip_suffix('*') {
            Some(prefix) => rt.starts_with(prefix),
            None => rt == asked,
        },
        None => false,
    }
}

fn path(resource: Option<Resource>) -> String {
    let Some(resource) = resource else { return "/b".into() };
    resource.path(PathForm::Short).fold(String::new(), |path, segment| path + "/" + segment)
}

/// An address as it stands in a URI (RFC 3986, 3.2.2): a zone has a meaning only on the machine itself.
fn without_zone(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port())
}

/// Reads the address of a URI. Without a port it is that of the scheme; `jpy` has none.
fn address(uri: &str, scheme: &str) -> Option<SocketAddr> {
    let authority = uri.strip_prefix(scheme)?.strip_prefix("://")?.split(['/', '?', '#']).next()?;
    let default_port = (scheme == "coaps").then_some(COAPS_PORT);
    let is_plain = !authority.contains('%');
    let with_port = || authority.parse().ok().filter(|address: &SocketAddr| address.port() != 0);
    let host = authority.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(authority);
    let without_port = || Some(SocketAddr::new(host.parse::<IpAddr>().ok()?, default_port?));
    with_port().or_else(without_port).filter(|_| is_plain)
}

/// The links of a registrar: `None` is where the resources of BRSKI are. `att`, `skg` and `skc` are not served.
const LINKS: [(Option<Resource>, &str, &str); 7] = [
    (None, "brski", ""),
    (Some(Resource::RequestVoucher), "brski.rv", "836"),
    (Some(Resource::VoucherStatus), "brski.vs", "50 60"),
    (Some(Resource::EnrollStatus), "brski.es", "50 60"),
    (Some(Resource::CaCerts), "ace.est.crts", "62 281 287"),
    (Some(Resource::SimpleEnroll), "ace.est.sen", "281 287"),
    (Some(Resource::SimpleReenroll), "ace.est.sren", "281 287"),
];

/// The port of coaps (RFC 7252, 6.2).
const COAPS_PORT: u16 = 5684;

#[cfg(test)]
mod tests;
