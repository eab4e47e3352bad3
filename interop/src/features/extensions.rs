//! The hellos negotiate names, protocols, record sizes and compatibility mode; and both sides export keying material.

use terse_tls::{AlertDescription, ContentType, MaxFragmentLength};

use super::{Cell, Feature};
use crate::case::{Case, EXPORTER_LABEL, EXPORTER_LEN};
use crate::meeting::Meeting;
use crate::peer::Role;
use crate::pki::SERVER_NAME;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::new("server_name", server_name),
        Feature::new("no_server_name", no_server_name),
        Feature::new("alpn", alpn),
        Feature::new("alpn_nothing_in_common", no_common_protocol),
        Feature::new("exporter", exporter),
        Feature::tls13("compatibility_mode_on", |cell| compatibility_mode(cell, true)),
        Feature::tls13("compatibility_mode_off", |cell| compatibility_mode(cell, false)),
        Feature::new("record_size_limit_of_ours", our_record_size_limit),
        Feature::new("record_size_limit_of_the_peer", peer_record_size_limit),
        Feature::new("max_fragment_length", max_fragment_length),
    ]
}

fn case() -> Case {
    Case::mutual(&terse_aws_lc::PROVIDER)
}

fn server_name(cell: Cell) {
    let mut meeting = cell.connect(&Case { chain: "p256x2", shows_name: true, ..case() });
    match cell.role {
        Role::Client => meeting.remote.expect_server_name(SERVER_NAME),
        Role::Server => assert_eq!(meeting.ours.connection().server_name(), Some(SERVER_NAME)),
    }
    meeting.close();
}

/// The client sends no name, and checks the certificate's name all the same.
fn no_server_name(cell: Cell) {
    let mut meeting = cell.connect(&Case { sends_name: false, ..case() });
    assert_eq!(meeting.ours.connection().server_name(), None);
    meeting.exchange("once");
    meeting.close();
}

/// The server's preference decides the protocol.
fn alpn(cell: Cell) {
    let case = Case { client_protocols: vec!["http/1.1", "mqtt"], server_protocols: vec!["mqtt"], ..case() };
    let mut meeting = cell.connect(&case);
    assert_eq!(meeting.ours.connection().alpn_protocol(), Some(&b"mqtt"[..]));
    meeting.remote.expect_protocol("mqtt");
    meeting.exchange("once");
    meeting.close();
}

fn no_common_protocol(cell: Cell) {
    let case = Case { client_protocols: vec!["mqtt"], server_protocols: vec!["coap"], ..case() };
    let mut meeting = cell.meet(&case);
    match cell.role {
        Role::Client => meeting.peer_refuses(AlertDescription::NO_APPLICATION_PROTOCOL),
        Role::Server => drop(meeting.ours_refuses(AlertDescription::NO_APPLICATION_PROTOCOL)),
    }
}

/// Both sides export the same keying material (RFC 9846, 7.5).
fn exporter(cell: Cell) {
    let mut meeting = cell.connect(&Case { exporter: true, ..case() });
    let mut ours = [0; EXPORTER_LEN];
    let exported = meeting.ours.connection().export_keying_material(EXPORTER_LABEL.as_bytes(), None, &mut ours);
    exported.expect("a finished handshake");
    assert_eq!(meeting.remote.keying_material(), ours);
    meeting.close();
}

/// Each side sends one ChangeCipherSpec, or none (RFC 9846, E.4).
fn compatibility_mode(cell: Cell, on: bool) {
    let mut meeting = cell.connect(&Case { compatibility_mode: on, ..case() });
    meeting.exchange("once");
    meeting.close();
    let ledger = meeting.ledger.lock();
    let count = |records: &crate::tap::Records| records.count(ContentType::CHANGE_CIPHER_SPEC);
    assert_eq!((count(&ledger.sent), count(&ledger.received)), (usize::from(on), usize::from(on)));
}

/// A limit that is shorter than a Certificate message, so that this must be fragmented. The peer sends still less:
/// `gnutls-cli` drops data that does not fit into one record.
pub(super) const LIMIT: u16 = 512;

/// The largest limit: it offers the extension without a restriction.
pub(super) const NO_LIMIT: u16 = 16_385;

/// Returns the longest record: header, content, tag; in TLS 1.2 the nonce too.
fn longest_record(cell: Cell, content: usize) -> usize {
    5 + content + 16 + if cell.is_tls13() { 0 } else { 8 }
}

/// The peer keeps our limit (RFC 8449); our side would refuse a longer record.
fn our_record_size_limit(cell: Cell) {
    let mut meeting = cell.connect(&Case { our_record_size_limit: Some(LIMIT), ..case() });
    meeting.carry(&lines(40), &lines(9));
    meeting.close();
    let ledger = meeting.ledger.lock();
    let longest = longest_protected(&ledger.received);
    assert!((400..=longest_record(cell, LIMIT.into())).contains(&longest), "the longest record has {longest} bytes");
}

/// Our side keeps the peer's limit (RFC 8449), which in TLS 1.3 is one more than its option: it counts the content
/// type.
fn peer_record_size_limit(cell: Cell) {
    // GnuTLS's server applies its limit to unprotected records too, for example to a whole Certificate of TLS 1.2.
    let limit = if cell.is_tls13() { LIMIT } else { 2 * LIMIT };
    let mut meeting =
        cell.connect(&Case { peer_record_size: Some(limit), our_record_size_limit: Some(NO_LIMIT), ..case() });
    meeting.carry(&lines(40), &lines(9));
    meeting.close();
    let ledger = meeting.ledger.lock();
    let longest = longest_protected(&ledger.sent);
    let limit = usize::from(limit) + usize::from(cell.is_tls13());
    assert!((400..=longest_record(cell, limit)).contains(&longest), "the longest record has {longest} bytes");
}

/// The limit applies in both directions (RFC 6066, 4), and does not count the content type.
fn max_fragment_length(cell: Cell) {
    let bytes = cell.peer.max_fragment_length();
    let length = MaxFragmentLength::from_bytes(bytes).expect("one of the four lengths");
    let mut meeting: Meeting = cell.connect(&Case { max_fragment_length: Some(length), ..case() });
    meeting.carry(&lines(40), &lines(9));
    meeting.close();
    let ledger = meeting.ledger.lock();
    for records in [&ledger.sent, &ledger.received] {
        let longest = longest_protected(records);
        let limit = bytes + usize::from(cell.is_tls13());
        assert!((400..=longest_record(cell, limit)).contains(&longest), "the longest record has {longest} bytes");
    }
}

fn longest_protected(records: &crate::tap::Records) -> usize {
    let protected = records.seen.iter().filter(|(kind, _)| *kind == ContentType::APPLICATION_DATA);
    protected.map(|(_, len)| *len).max().unwrap_or(0)
}

/// Returns lines of 50 bytes, each different.
pub(super) fn lines(count: usize) -> Vec<u8> {
    (0..count)
        .map(|number| format!("line {number:07} of application data, fifty bytes long\n"))
        .collect::<String>()
        .into()
}
