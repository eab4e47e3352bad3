//! The network has cookies, datagrams of several sizes, loss, and reordering.

use terse_tls::{HandshakeType, NamedGroup};

use super::{Cell, Feature, case, with};
use crate::case::Case;
use crate::datagrams::loss::{Loss, Pieces};
use crate::datagrams::pair::Pair;
use crate::datagrams::passage::Datagram;
use crate::datagrams::records::{Fragment, records};
use crate::datagrams::{Datagrams, HELLO_VERIFY_REQUEST, IP_AND_UDP};
use crate::peer::{DatagramCookies, Role};
use crate::pki::Side;

/// Lengths of IP packets: about an IEEE 802.15.4 frame, the minimum of IPv4 reassembly, IPv6's least MTU, Ethernet.
const MTUS: [(u16, &str); 5] =
    [(127, "mtu_127"), (256, "mtu_256"), (576, "mtu_576"), (1280, "mtu_1280"), (1500, "mtu_1500")];

pub(super) fn features() -> Vec<Feature> {
    let mtus = MTUS.map(|(mtu, name)| Feature::dtls(name, move |cell| with_mtu(cell, mtu)));
    let others = vec![
        Feature::dtls12("hello_verify_request", cookie),
        Feature::dtls("fragmented_client_hello", fragmented_client_hello),
        Feature::dtls13("X25519MLKEM768_mtu_256", large_key_shares),
        Feature::dtls("each_datagram_lost_once", |cell| each(cell, Loss::Only)).waiting(),
        Feature::dtls("each_datagram_late_once", |cell| each(cell, Loss::Late)).waiting(),
        Feature::dtls("one_datagram_of_five_lost", |cell| lossy(cell, 1500)).waiting(),
        Feature::dtls("one_datagram_of_eight_lost_mtu_256", |cell| lossy(cell, 256)).waiting(),
        Feature::dtls("several_connections", several),
    ];
    mtus.into_iter().chain(others).collect()
}

/// The server sends a cookie (RFC 6347, 4.2.1).
fn cookie(cell: Cell) {
    let case = Case { cookie: true, ..case() };
    let mut pair = cell.pair(&case);
    let _ = pair.complete(&cell.case(&case));
    let passed = pair.relay.passed();
    let cookies =
        fragments(&passed).filter(|(side, fragment)| *side == Side::Server && fragment.kind == HELLO_VERIFY_REQUEST);
    assert_eq!(cookies.count(), 1, "HelloVerifyRequest");
}

/// Our side sends no longer packets than it was told; the peer has the same limit, as far as it has an option for it.
fn with_mtu(cell: Cell, mtu: u16) {
    let case = with(Datagrams { our_mtu: Some(mtu), peer_mtu: Some(mtu), ..Datagrams::default() });
    let mut pair = cell.pair(&case);
    let _ = pair.complete(&cell.case(&case));
    let passed = pair.relay.passed();
    let ours = if cell.role == Role::Client { Side::Client } else { Side::Server };
    let longest = |side| passed.iter().filter(|one| one.side == side).map(|one| one.bytes.len()).max().unwrap_or(0);
    let room = usize::from(mtu - IP_AND_UDP);
    if crate::datagrams::pair::stand_in().is_none() {
        assert!(longest(ours) <= room, "{} bytes of {room}", longest(ours));
        // A Certificate of two does not fit into less, and datagrams are filled.
        assert!(mtu > 576 || longest(ours) + 16 > room, "only {} bytes of {room}", longest(ours));
    }
}

/// With the smallest datagrams, a ClientHello is fragmented.
fn fragmented_client_hello(cell: Cell) {
    let mtu = if cell.role == Role::Client { 127 } else { 256 };
    // The names of many protocols make the ClientHello long.
    let client_protocols = vec![
        "a-protocol-with-a-long-name-that-fills-the-hello",
        "another-protocol-with-a-long-name-that-fills-the-hello",
        "one-more-protocol-with-a-long-name-that-fills-the-hello",
        "coap",
    ];
    let case = Case {
        client_protocols,
        server_protocols: vec!["coap"],
        ..with(Datagrams { our_mtu: Some(mtu), peer_mtu: Some(mtu), ..Datagrams::default() })
    };
    let mut pair = cell.pair(&case);
    let _ = pair.complete(&cell.case(&case));
    let passed = pair.relay.passed();
    let in_parts = fragments(&passed).any(|(_, part)| part.kind == HandshakeType::CLIENT_HELLO && !part.is_whole());
    assert!(in_parts, "the ClientHello came whole");
}

/// The key share in each hello has more than a thousand bytes.
fn large_key_shares(cell: Cell) {
    let groups = vec![NamedGroup::X25519MLKEM768];
    let datagrams = Datagrams { our_mtu: Some(256), peer_mtu: Some(256), ..Datagrams::default() };
    let case = Case { client_groups: groups.clone(), server_groups: groups, ..with(datagrams) };
    let mut pair = cell.pair(&case);
    let _ = pair.complete(&cell.case(&case));
    let passed = pair.relay.passed();
    for kind in [HandshakeType::CLIENT_HELLO, HandshakeType::SERVER_HELLO] {
        let mut parts = fragments(&passed).filter(|(_, part)| part.kind == kind);
        assert!(parts.any(|(_, part)| !part.is_whole() && part.message_len > 1000), "no long {kind}");
    }
}

/// Returns all fragments of handshake messages that are in the clear.
pub(super) fn fragments(passed: &[Datagram]) -> impl Iterator<Item = (Side, Fragment)> {
    passed.iter().flat_map(|datagram| {
        let records = records(&datagram.bytes, 0).unwrap_or_default();
        let fragments: Vec<_> = records.iter().flat_map(|record| record.fragments()).collect();
        fragments.into_iter().map(|fragment| (datagram.side, fragment))
    })
}

/// Each datagram of a handshake in turn has the fate that `loss` gives it, those of one side after those of the other. A side
/// has none left when a handshake is over before as many were sent. This ends also with DTLS 1.3, where protected datagrams
/// count that are sent again: each connection needs one more of them than the one before.
fn each(cell: Cell, loss: fn(Side, usize) -> Loss) {
    let cookie = cell.peer.datagram_cookies() == DatagramCookies::AsTold;
    let case = cell.case(&Case { cookie, ..case() });
    for side in [Side::Client, Side::Server] {
        let has_met = |number: &usize| {
            let mut pair = Pair::with_loss(cell.peer, cell.role, &case, loss(side, *number));
            let _ = pair.complete(&case);
            pair.relay.has_meddled()
        };
        let met = (0..).take_while(has_met).count();
        assert!(met >= LEAST_DATAGRAMS, "only {met} datagrams of the {side:?} were lost or late");
    }
}

/// The least number of datagrams of each side in a full handshake with a cookie or without.
const LEAST_DATAGRAMS: usize = 2;

/// Some datagrams are lost, each time others.
fn lossy(cell: Cell, mtu: u16) {
    let datagrams = Datagrams { our_mtu: Some(mtu), peer_mtu: Some(mtu), ..Datagrams::default() };
    let case = cell.case(&with(datagrams));
    let stretch = usize::from(mtu - IP_AND_UDP) - HEADERS;
    for numbers in Pieces::NUMBERS {
        let pieces = Pieces { numbers, stretch };
        let mut pair = Pair::with_loss(cell.peer, cell.role, &case, Loss::Pieces(pieces));
        let _ = pair.complete(&case);
        assert!(pair.relay.has_meddled(), "nothing was lost of {pieces:?}");
    }
}

/// The length of the headers of a record and a fragment in the clear.
const HEADERS: usize = 13 + 12;

/// A server serves several clients one after the other.
fn several(cell: Cell) {
    let client = cell.case(&case());
    let server = Case { connections: 3, ..client.clone() };
    let mut pair = match cell.role {
        Role::Client => Pair::between(cell.peer, cell.role, &client, &server, Loss::None),
        Role::Server => Pair::between(cell.peer, cell.role, &server, &client, Loss::None),
    };
    for round in 0..3 {
        let _ = pair.complete(&client);
        if round < 2 {
            pair.server.next();
            pair.another_client();
        }
    }
}
