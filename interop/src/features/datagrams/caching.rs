//! docs/caching.md, 4.8, over datagrams: peers that have never heard of it get a full handshake, and do no harm to the
//! cache.

use super::{Cell, Feature, with};
use crate::case::Case;
use crate::datagrams::Datagrams;
use crate::datagrams::loss::Loss;
use crate::datagrams::pair::{Pair, stand_in};
use crate::peer::{Peer, Role};

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::dtls("peer_without_rfc7924", |cell| with_caching(cell, "rfc7924")),
        Feature::dtls("peer_without_bithac", |cell| with_caching(cell, "bithac")),
    ]
}

fn with_caching(cell: Cell, scheme: &'static str) {
    let case = Case {
        ca_names: true, // which make a CertificateRequest worth caching
        ..with(Datagrams { our_cache: Some(scheme), ..Datagrams::default() })
    };
    match cell.role {
        Role::Client if stand_in().is_none() => client(cell, &cell.case(&case), scheme),
        _ => server(cell, &cell.case(&case)),
    }
}

/// The offer is not empty, because our own server has been met before under the same name, address and certificate.
fn client(cell: Cell, case: &Case, scheme: &str) {
    let own = Case { connections: 3, ..case.clone() };
    let mut pair = Pair::of(Peer::TERSE, case, Peer::TERSE, &own, Loss::None);
    let meet = |pair: &mut Pair, mode: &str| {
        let report = pair.complete(case).expect("terse reports");
        assert_eq!(report.mode(), mode, "{report:?}");
    };
    meet(&mut pair, "full");
    pair.next();
    meet(&mut pair, scheme);
    let own_port = pair.relay.server();
    let (peer, port) = cell.peer.server(case).expect("a program");
    let own_server = core::mem::replace(&mut pair.server, peer);
    pair.relay.turn_to(port);
    pair.client.next();
    meet(&mut pair, "full");
    // A server that ignores the offer does not spoil the cache for those that do not.
    pair.server = own_server;
    pair.relay.turn_to(own_port);
    pair.next();
    meet(&mut pair, scheme);
}

fn server(cell: Cell, case: &Case) {
    let server = Case { connections: 2, ..case.clone() };
    let mut pair = match cell.role {
        Role::Client => Pair::between(cell.peer, cell.role, case, &server, Loss::None),
        Role::Server => Pair::between(cell.peer, cell.role, &server, case, Loss::None),
    };
    for round in 0..2 {
        if let Some(report) = pair.complete(case) {
            assert_eq!(report.mode(), "full");
        }
        if round == 0 {
            pair.server.next();
            pair.another_client();
        }
    }
}
