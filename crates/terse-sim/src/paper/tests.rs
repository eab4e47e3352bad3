//! The paper's peers and numbers: the bytes of its rows by hand, and what TCP makes of its records.

mod by_hand;
mod checks;
mod segments;
mod syn_ack;

use super::{Bound, Kind, Peers, Quantity, RowKey, Targets};
use crate::script::{Handshake, Party, Timers, Transport};
use core::time::Duration;

#[test]
fn the_files_are_read() {
    let peers = Peers::of_paper();
    let seconds = Duration::from_secs;
    assert_eq!(peers.dtls_client, Timers { initial: seconds(3), maximum: seconds(60) });
    assert_eq!(peers.dtls_server, Timers { initial: seconds(4), maximum: seconds(60) });
    for (handshake, transport) in [
        (&peers.tls, Transport::Stream),
        (&peers.dtls_mfl_1024, Transport::Datagrams),
        (&peers.dtls_mfl_512, Transport::Datagrams),
    ] {
        assert_eq!(handshake.transport(), transport);
        assert_eq!(handshake.computing(Party::Client), Duration::from_millis(2100));
        assert_eq!(handshake.computing(Party::Server), Duration::ZERO);
    }
    let targets = Targets::of_paper();
    assert_eq!((targets.rows.len(), targets.effects.len(), targets.bounds.len()), (8, 6, 8));
    let row = targets.row(RowKey::tls(336, false)).expect("table 2, row 4");
    assert_eq!((row.seconds.mean, row.bytes.mean, row.bytes.deviation), (4.241, 3671.0, 3.74));
    assert!(targets.row(RowKey { peers: Kind::TlsPep, ..RowKey::tls(336, false) }).is_none());
    let growth = targets.effects.iter().find(|effect| effect.peers == Kind::Dtls && effect.quantity == Quantity::Bytes);
    assert_eq!(growth.expect("section 3.3").percent["1024"], 45.0);
}

/// A certificate of 407 bytes takes 15 bytes of headers in TLS: record 5, handshake 4, two lengths of 3 (RFC 5246, 7.4.2).
#[test]
fn certificates_have_407_bytes() {
    let peers = Peers::of_paper();
    for party in [Party::Client, Party::Server] {
        assert_eq!(peers.tls.parts(party).into_iter().max(), Some(407 + 15));
    }
    // What was measured with 440 bytes.
    let shorter = |handshake: &Handshake, party| handshake.parts(party).iter().sum::<usize>() + 440 - 407;
    let (mfl_1024, mfl_512) = (&peers.dtls_mfl_1024, &peers.dtls_mfl_512);
    assert_eq!(shorter(mfl_1024, Party::Server), 60 + 852 + 75);
    assert_eq!(shorter(mfl_1024, Party::Client), 100 + 132 + 704);
    assert_eq!(shorter(mfl_512, Party::Server), 60 + 525 + 351 + 75);
    assert_eq!(shorter(mfl_512, Party::Client), 100 + 132 + 525 + 206);
    assert!(mfl_512.parts(Party::Client).into_iter().all(|bytes| bytes <= 512 + 13));
}

#[test]
fn bounds_hold_at_their_ends() {
    let bound = |least, most| Bound { figure: String::new(), what: String::new(), least, most, paper: None };
    assert!(bound(Some(0.9), Some(1.1)).holds(0.9) && bound(Some(0.9), Some(1.1)).holds(1.1));
    assert!(!bound(Some(0.9), None).holds(0.89) && bound(Some(0.9), None).holds(9.0));
    assert!(!bound(None, Some(1.1)).holds(1.11) && !bound(Some(0.9), Some(1.1)).holds(f64::NAN));
}
