//! Connection IDs (RFC 9146; RFC 9147, 9) are used by both sides, by one of them, or changed later.

use super::traffic::{exchange, exchange_until, ours};
use super::{Cell, Feature, with};
use crate::datagrams::Datagrams;
use crate::datagrams::pair::Pair;
use crate::datagrams::records::{Record, records};
use crate::peer::Role;
use crate::pki::Side;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::dtls("connection_id_of_both", |cell| negotiated(cell, 4, 6)),
        Feature::dtls("connection_id_of_ours", |cell| negotiated(cell, 8, 0)),
        Feature::dtls("connection_id_of_the_peer", |cell| negotiated(cell, 0, 5)),
        Feature::dtls13("connection_id_changed_by_ours", changed),
    ]
}

/// Protected records have the receiver's connection ID, if it has one, and it never changes.
fn negotiated(cell: Cell, ours: u8, theirs: u8) {
    let case =
        with(Datagrams { our_connection_id: Some(ours), peer_connection_id: Some(theirs), ..Datagrams::default() });
    let mut pair = cell.pair(&case);
    let _ = pair.complete(&cell.case(&case));
    let our_side = if cell.role == Role::Client { Side::Client } else { Side::Server };
    for (side, id_len) in [(our_side, theirs), (our_side.other(), ours)] {
        let passed = pair.relay.passed();
        let datagrams = passed.iter().filter(|datagram| datagram.side == side);
        let records = datagrams.flat_map(|datagram| records(&datagram.bytes, id_len.into()).expect("records"));
        let protected: Vec<_> = records.filter(Record::is_protected).collect();
        assert!(protected.len() >= 2, "Finished and data");
        for record in &protected {
            assert_eq!(record.connection_id.len(), usize::from(id_len), "{side:?} sends {:?}", record.kind);
            assert_eq!(record.connection_id, protected[0].connection_id);
        }
    }
}

/// The peer soon uses the new ID, and the old one no more.
fn changed(cell: Cell) {
    const LEN: u8 = 4;
    let case = with(Datagrams { our_connection_id: Some(LEN), peer_connection_id: Some(0), ..Datagrams::default() });
    let mut pair = Pair::in_process(cell.peer, cell.role, &cell.case(&case));
    let latest = |pair: &Pair| {
        let passed = pair.relay.passed();
        let theirs = passed.iter().rfind(|datagram| datagram.side != ours(cell)).expect("it has said something");
        records(&theirs.bytes, LEN.into()).expect("records").last().expect("a record").connection_id.to_vec()
    };
    let mut words = 0;
    exchange(&mut pair, &mut words);
    let first = latest(&pair);
    assert_eq!(first.len(), usize::from(LEN));
    pair.ours().change_connection_id();
    exchange_until(&mut pair, &mut words, "other connection ID", |pair| latest(pair) != first);
    exchange(&mut pair, &mut words);
    assert_ne!(latest(&pair), first);
    pair.close();
}
