//! The hellos negotiate extensions, and both sides export keying material.

use terse_tls::{AlertDescription, ContentType, MaxFragmentLength};

use super::super::extensions::{LIMIT, NO_LIMIT};
use super::{Cell, Feature, case, with};
use crate::case::Case;
use crate::datagrams::passage::Datagram;
use crate::datagrams::records::records;
use crate::datagrams::{Datagrams, UNIFIED_HEADER};
use crate::peer::Role;
use crate::pki::{SERVER_NAME, Side};

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::dtls("server_name", server_name),
        Feature::dtls("no_server_name", |cell| cell.succeeds(&Case { sends_name: false, ..case() })),
        Feature::dtls("alpn", alpn),
        Feature::dtls("alpn_nothing_in_common", no_common_protocol),
        Feature::dtls("exporter", exporter),
        Feature::dtls("record_size_limit_of_ours", our_record_size_limit),
        Feature::dtls("record_size_limit_of_the_peer", peer_record_size_limit),
        Feature::dtls("max_fragment_length", max_fragment_length),
        Feature::dtls12("extended_master_secret_missing", no_extended_master_secret),
    ]
}

/// The peer's server shows the name that it received. Our server receives a name from every client in all other cells.
fn server_name(cell: Cell) {
    let case = Case { chain: "p256x2", shows_name: true, ..case() };
    let mut pair = cell.pair(&case);
    pair.exchange();
    if cell.role == Role::Client {
        pair.server.expect_server_name(SERVER_NAME);
    }
    pair.close();
}

/// The server's preference decides the protocol.
fn alpn(cell: Cell) {
    let case = Case { client_protocols: vec!["http/1.1", "coap"], server_protocols: vec!["coap"], ..case() };
    let mut pair = cell.pair(&case);
    pair.exchange();
    pair.theirs().expect_protocol("coap");
    pair.close();
    pair.ours().expect_protocol("coap");
}

fn no_common_protocol(cell: Cell) {
    let case = Case { client_protocols: vec!["mqtt"], server_protocols: vec!["coap"], ..case() };
    match cell.role {
        Role::Client => cell.peer_refuses(&case, AlertDescription::NO_APPLICATION_PROTOCOL),
        Role::Server => cell.ours_refuses(&case, AlertDescription::NO_APPLICATION_PROTOCOL),
    }
}

/// Both sides export the same keying material (RFC 5705; RFC 9846, 7.5).
fn exporter(cell: Cell) {
    let mut pair = cell.pair(&Case { exporter: true, ..case() });
    pair.exchange();
    let theirs = pair.theirs().keying_material();
    pair.close();
    assert_eq!(pair.ours().keying_material(), theirs);
}

/// The peer accepts our offer of a `record_size_limit` (RFC 8449), which does not apply to unprotected records. All
/// others are short here.
fn our_record_size_limit(cell: Cell) {
    cell.succeeds(&Case { our_record_size_limit: Some(LIMIT), ..case() });
}

/// Our side accepts the peer's offer of a `record_size_limit` (RFC 8449).
fn peer_record_size_limit(cell: Cell) {
    cell.succeeds(&Case { peer_record_size: Some(LIMIT), our_record_size_limit: Some(NO_LIMIT), ..case() });
}

/// The limit applies in both directions (RFC 6066, 4).
fn max_fragment_length(cell: Cell) {
    let bytes = cell.peer.max_fragment_length();
    let length = MaxFragmentLength::from_bytes(bytes).expect("one of the four lengths");
    let ethernet = Datagrams { our_mtu: Some(1500), peer_mtu: Some(1500), ..Datagrams::default() };
    let passed = completed(cell, &Case { max_fragment_length: Some(length), ..with(ethernet) });
    let ours = theirs(cell).other();
    check_records(&passed, ours, bytes, bytes);
    check_records(&passed, ours.other(), bytes, bytes + HEADER_LEN);
}

/// The overhead in DTLS 1.3: the type of the content, and the tag of AES-GCM.
const TYPE_AND_TAG: usize = 1 + 16;

/// The length of a handshake message's header, which wolfSSL 5.5 does not count.
const HEADER_LEN: usize = 12;

/// Returns the datagrams of a connection that succeeded.
fn completed(cell: Cell, case: &Case) -> Vec<Datagram> {
    let mut pair = cell.pair(case);
    let _ = pair.complete(&cell.case(case));
    pair.relay.passed()
}

const fn theirs(cell: Cell) -> Side {
    match cell.role {
        Role::Client => Side::Server,
        Role::Server => Side::Client,
    }
}

/// Checks that no record of `side` holds more than `limit` bytes, and that messages longer than `cut` were fragmented.
fn check_records(passed: &[Datagram], side: Side, cut: usize, limit: usize) {
    let datagrams = passed.iter().filter(|datagram| datagram.side == side);
    let records: Vec<_> = datagrams.flat_map(|datagram| records(&datagram.bytes, 0).expect("records")).collect();
    let unified = records.iter().filter(|record| record.kind == UNIFIED_HEADER);
    if let Some(longest) = unified.map(|record| record.fragment.len() - TYPE_AND_TAG).max() {
        // In DTLS 1.3, a Certificate is in protected records.
        return assert!((cut / 2..=limit).contains(&longest), "the longest record: {longest}");
    }
    let of_handshake = records.iter().filter(|record| record.kind == ContentType::HANDSHAKE && record.epoch == 0);
    let longest = of_handshake.map(|record| record.fragment.len()).max();
    assert!(longest.is_some_and(|longest| (cut / 2..=limit).contains(&longest)), "the longest record: {longest:?}");
    let fragments: Vec<_> = records.iter().flat_map(|record| record.fragments()).collect();
    let is_long = fragments.iter().any(|fragment| fragment.message_len + HEADER_LEN > cut);
    // Mbed TLS also fragments a message that does not fit into the rest of a datagram, which depends on the length of
    // signatures.
    assert!(!is_long || fragments.iter().any(|fragment| !fragment.is_whole()), "a long message is in one piece");
}

/// Without the extended master secret the peer is refused (RFC 7627, 5.3), unless that check is switched off.
fn no_extended_master_secret(cell: Cell) {
    let case = Case { peer_lacks_extended_master_secret: true, ..case() };
    cell.ours_refuses(&case, AlertDescription::HANDSHAKE_FAILURE);
    cell.succeeds(&Case { requires_extended_master_secret: false, ..case });
}
