//! The fuzz target `jpy` reads messages of a stateless join proxy, with the limit of the header in the first byte.
//!
//! What must always hold: what is read is written with a prefix of at most the overhead, is no longer than before, and is
//! read as the same path and content; a join proxy sends it to a pledge only if it is the proxy's own header of that pledge.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;

use terse_brski::join_proxy::{HeaderKey, OnLink, Stateless, StatelessLimits};
use terse_net::tokio::{Framing, Jpy};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((max_header, datagram)) = data.split_first() else { return };
    answer(datagram);
    let jpy = Jpy::new().max_header((*max_header).into());
    let Ok((path, content)) = jpy.read(PROXY, datagram) else { return };
    assert!(path.address() == PROXY && path.header().len() <= usize::from(*max_header));
    let content = &datagram[content];
    let mut prefix = vec![0; jpy.overhead()];
    let len = jpy.write(&path, content.len(), &mut prefix).expect("it was read");
    let again = [&prefix[..len], content].concat();
    assert!(again.len() <= datagram.len(), "the shortest form");
    let (path_again, content_again) = jpy.read(PROXY, &again).expect("it was written");
    assert_eq!((path_again, &again[content_again]), (path, content));
}

/// Takes the input as an answer of the registrar.
fn answer(datagram: &[u8]) {
    let Ok((header, content)) = Jpy::parse(datagram) else { return };
    let limits = StatelessLimits { max_content: 1_194, datagrams_per_second: 1_000 };
    let key = HeaderKey::new(&[7; HeaderKey::LEN]);
    let mut proxy = Stateless::new(limits, OnLink::default(), key, [7, 7], Duration::ZERO);
    if let Ok(pledge) = proxy.pledge(header, content.len(), Duration::ZERO) {
        let own = proxy.header(pledge, content.len(), Duration::ZERO).expect("a pledge on a link");
        assert_eq!(own, header);
    }
}

const PROXY: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 5684);
