//! The cost of DTLS 1.2 handshakes: bytes of UDP payload, both directions, each implementation with itself.
//!
//! What must always hold: what is sent again, by a timer on a slow machine, is not counted; our own summaries agree with the
//! relay's count if nothing was.

use terse_tls::{CipherSuite, ContentType, NamedGroup, ProtocolVersion, SignatureScheme};

use super::{Cost, REPEATS, Row};
use crate::case::{Case, Sessions};
use crate::datagrams::Datagrams;
use crate::datagrams::loss::Loss;
use crate::datagrams::pair::Pair;
use crate::datagrams::passage::Datagram;
use crate::datagrams::records::records;
use crate::datagrams::report::Report;
use crate::features::Carrier;
use crate::peer::{DatagramCookies, Peer};
use crate::pki::Side;

/// Full and resumed handshakes under the same conditions as [`super::baselines`], with a cookie, and ours with what
/// `bithac` leaves out, the cookie among it. IP packets have up to 1,500 bytes. Ours first. Peers that are missing are left out.
pub fn datagrams() -> Vec<Row> {
    let mut rows = Vec::new();
    for (chain, suite, schemes, repeats) in [
        (
            "p256x3",
            CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            vec![SignatureScheme::ECDSA_SECP256R1_SHA256],
            REPEATS,
        ),
        (
            "rsa2048x3",
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            vec![SignatureScheme::RSA_PSS_RSAE_SHA256, SignatureScheme::RSA_PKCS1_SHA256],
            1,
        ),
    ] {
        let case = Case {
            chain,
            suites: vec![suite],
            client_groups: vec![NamedGroup::SECP256R1],
            server_groups: vec![NamedGroup::SECP256R1],
            schemes,
            our_versions: vec![ProtocolVersion::TLS_1_2],
            peer_versions: vec![ProtocolVersion::TLS_1_2],
            cookie: true,
            datagrams: Some(Datagrams { our_mtu: Some(1500), peer_mtu: Some(1500), ..Datagrams::default() }),
            ..Case::mutual(&terse_aws_lc::PROVIDER)
        };
        let everybody = core::iter::once(Peer::TERSE).chain(Peer::ALL.iter().copied());
        let speakers = everybody.filter(|peer| peer.speaks(ProtocolVersion::TLS_1_2, Carrier::Udp));
        let speakers = speakers.filter(|peer| peer.datagram_cookies() != DatagramCookies::Never);
        for peer in speakers.filter(|peer| peer.version().is_ok()) {
            rows.extend(rows_of(peer, &case, repeats));
        }
    }
    rows
}

fn rows_of(peer: Peer, case: &Case, repeats: usize) -> Vec<Row> {
    let schemes = if peer.can_be_told_rsa_pss() { case.schemes.clone() } else { Vec::new() };
    let cookie = peer.datagram_cookies() == DatagramCookies::AsTold;
    let case = &Case { schemes, cookie, ..case.clone() };
    let row = |name, resumed, cost| Row {
        name,
        certificates: case.chain,
        version: ProtocolVersion::TLS_1_2,
        carrier: Carrier::Udp,
        resumed,
        cost,
    };
    let cheapest = |measure: &dyn Fn() -> Cost| {
        (0..repeats).map(|_| measure()).min_by_key(|cost| cost.total()).expect("at least one repeat")
    };
    let mut rows = Vec::new();
    if peer.is_measured_with(case.chain) {
        let full = |connections| case.clone().with_sessions(Sessions::Kept, connections);
        rows.push(row(peer.name(), false, cheapest(&|| last_of(peer, &full(1), &full(1), 1, "full"))));
        if peer.changes_ports() {
            rows.push(row(peer.name(), true, last_of(peer, &full(2), &full(2), 2, "resumed")));
        }
    }
    if peer == Peer::TERSE {
        let datagrams = case.datagrams.clone().unwrap_or_default();
        let cached = Case { datagrams: Some(Datagrams { our_cache: Some("bithac"), ..datagrams }), ..case.clone() };
        let server = Case { connections: 2, ..cached.clone() };
        let bithac = cheapest(&|| last_of(peer, &cached, &server, 2, "bithac"));
        rows.push(row("terse bithac", false, bithac));
    }
    rows
}

/// The last one of `connections`, which ours calls a handshake in `mode`.
fn last_of(peer: Peer, client: &Case, server: &Case, connections: usize, mode: &str) -> Cost {
    let mut pair = Pair::of(peer, client, peer, server, Loss::None);
    for left in (0..connections).rev() {
        if left > 0 && pair.client.leaves_first() {
            continue;
        }
        pair.exchange();
        if left > 0 {
            pair.close();
            let _ = pair.report();
            pair.next();
        }
    }
    if peer == Peer::TERSE {
        pair.close(); // until then it has not said that it has received anything
    }
    let mut passed = pair.relay.passed();
    let all = cost(&passed);
    passed.retain(|datagram| datagram.is_new);
    let cost = cost(&passed);
    if let Some(report) = pair.client.report().map(Report) {
        assert_eq!(report.mode(), mode);
        // A datagram of the server that was sent again may come when the client has ended.
        if cost == all {
            check(&report, cost);
        }
    }
    cost
}

fn check(report: &Report, cost: Cost) {
    assert_eq!(report.number("retransmissions"), 0);
    let counted = |direction: &str| report.0[direction]["record_bytes"].as_u64();
    assert_eq!(
        (counted("sent"), counted("received")),
        (Some(cost.client), Some(cost.server)),
        "what the relay counted"
    );
}

fn cost(passed: &[Datagram]) -> Cost {
    Cost { client: bytes(passed, Side::Client), server: bytes(passed, Side::Server), ..Cost::default() }
}

/// All that `side` sent but for data and alerts, which come after the handshake.
fn bytes(passed: &[Datagram], side: Side) -> u64 {
    let datagrams = passed.iter().filter(|datagram| datagram.side == side);
    let records = datagrams.flat_map(|datagram| records(&datagram.bytes, 0).expect("records"));
    let is_of_handshake = |kind| [ContentType::CHANGE_CIPHER_SPEC, ContentType::HANDSHAKE].contains(&kind);
    records.filter(|record| is_of_handshake(record.kind)).map(|record| record.len as u64).sum()
}
