//! What a seeker looks for, and how it reads answers.

use core::net::{IpAddr, SocketAddr, SocketAddrV6};

use terse_brski::coap::link_format;

/// What a [`Seeker`](super::Seeker) looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// The join ports of join proxies.
    JoinProxy,
    /// The CoAPS ports of registrars.
    Registrar,
    /// The ports of registrars where they take JPY messages, for stateless join proxies.
    StatelessRegistrar,
}

impl Sought {
    /// Returns the query.
    pub const fn query(self) -> &'static str {
        match self {
            Self::JoinProxy => link_format::QUERY_PROXY,
            Self::Registrar => link_format::QUERY_REGISTRAR,
            Self::StatelessRegistrar => link_format::QUERY_STATELESS,
        }
    }

    /// Returns the addresses in the links of an answer that came from `from`. An answer that is malformed has none.
    pub(super) fn read(self, links: &[u8], from: SocketAddr) -> Vec<SocketAddr> {
        let found = match self {
            // The address is that of the answer (draft-ietf-anima-constrained-join-proxy-20).
            Self::JoinProxy => {
                let ports = link_format::join_proxy_ports(links).unwrap_or_default();
                return ports.into_iter().map(|port| with_port(from, port)).collect();
            }
            Self::Registrar => link_format::addresses(links, link_format::RT_REGISTRAR, "coaps"),
            Self::StatelessRegistrar => link_format::addresses(links, link_format::RT_STATELESS, "jpy"),
        };
        found.unwrap_or_default().into_iter().filter_map(|address| seen_from_here(address, from)).collect()
    }
}

/// Returns an address of a link as this host reaches it: a link-local one is on the interface by which the answer came. `None`
/// if it is none of another host.
fn seen_from_here(address: SocketAddr, from: SocketAddr) -> Option<SocketAddr> {
    let ip = address.ip().to_canonical();
    let is_group = ip.is_unspecified() || ip.is_multicast() || matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    if is_group || (ip.is_loopback() && !from.ip().is_loopback()) {
        return None;
    }
    match (ip, from) {
        (IpAddr::V6(ip), SocketAddr::V6(from)) if ip.is_unicast_link_local() => {
            let has_scope = from.scope_id() != 0;
            has_scope.then(|| SocketAddrV6::new(ip, address.port(), 0, from.scope_id()).into())
        }
        (IpAddr::V6(ip), _) if ip.is_unicast_link_local() => None,
        (ip, _) => Some(SocketAddr::new(ip, address.port())),
    }
}

fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}
