//! Connection IDs (RFC 9146; RFC 9147, 9): of both sides, of one of them, of none although both can.

use super::{Cell, Feature, with};
use crate::datagrams::Datagrams;
use crate::datagrams::records::{Record, records};
use crate::peer::Role;
use crate::pki::Side;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::dtls("connection_id_of_both", |cell| negotiated(cell, 4, 6)),
        Feature::dtls("connection_id_of_ours", |cell| negotiated(cell, 8, 0)),
        Feature::dtls("connection_id_of_the_peer", |cell| negotiated(cell, 0, 5)),
    ]
}

/// Protected records have the receiver's connection ID if it has one, always the same one.
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
