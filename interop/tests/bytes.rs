//! Handshakes must not cost more on the wire than these numbers.

use terse_interop::bytes::{self, BITHAC_TARGET, Cost, Row};
use terse_interop::peer::Peer;
use terse_tls::ProtocolVersion;

fn cost(rows: &[Row], name: &str) -> Cost {
    rows.iter().find(|row| row.name == name).expect("a row of the table").cost
}

#[test]
fn cached_handshakes_with_p256_certificates() {
    let rows = bytes::small();
    let [full, rfc7924, bithac] = ["full", "rfc7924", "bithac"].map(|name| cost(&rows, name));
    let at_most = |cost: Cost| cost.at_most().expect("our own signatures");
    assert!(at_most(bithac) <= BITHAC_TARGET, "{} bytes: {rows:#?}", at_most(bithac));
    assert!(at_most(bithac) < rfc7924.total() && at_most(rfc7924) < full.total(), "{rows:#?}");
}

#[test]
fn cached_handshakes_with_rsa_certificates() {
    let rows = bytes::rsa();
    // BiTHaC reports 54.9 percent less at best, with all layers below.
    assert!(cost(&rows, "bithac").total() * 2 < cost(&rows, "full").total(), "{rows:#?}");
}

#[test]
fn full_handshakes_cost_at_most_what_the_best_peer_needs() {
    require_peers();
    let rows = bytes::defaults();
    for certificates in ["p256x3", "rsa2048x3"] {
        let (ours, theirs): (Vec<_>, Vec<_>) =
            rows.iter().filter(|row| row.certificates == certificates).partition(|row| row.name == "terse");
        let best = theirs.iter().map(|row| row.cost.total()).min().expect("rustls is always there");
        assert!(ours[0].cost.total() <= best, "{certificates}: {rows:#?}");
    }
}

/// The most that a resumed TLS 1.3 handshake may cost, with the new ticket: one that holds the session, and one that
/// only names it.
const RESUMED_TARGETS: [(&str, u64); 2] = [("terse", 720), ("terse kept", 560)];

#[test]
fn both_versions_in_full_and_resumed() {
    require_peers();
    let rows = bytes::baselines();
    let with_ticket = |row: &Row| row.cost.total() + if row.resumed { row.cost.tickets } else { 0 };
    for ours in rows.iter().filter(|row| row.name.starts_with("terse")) {
        let is_like_ours = |row: &&Row| {
            (row.certificates, row.version, row.resumed) == (ours.certificates, ours.version, ours.resumed)
                && !row.name.starts_with("terse")
        };
        let best = rows.iter().filter(is_like_ours).map(with_ticket).min().expect("rustls is always there");
        assert!(with_ticket(ours) <= best, "{ours:#?} and the best peer's {best} bytes");
    }
    for (name, target) in RESUMED_TARGETS {
        let ours = rows.iter().find(|row| {
            (row.name, row.certificates, row.version, row.resumed) == (name, "p256x3", ProtocolVersion::TLS_1_3, true)
        });
        let ours = ours.expect("a row of the table");
        assert!(with_ticket(ours) <= target, "{ours:#?}");
    }
}

#[test]
fn datagrams_in_full_and_resumed() {
    require_peers();
    let rows = bytes::datagrams();
    for ours in rows.iter().filter(|row| row.name == "terse") {
        let is_like_ours = |row: &&Row| {
            (row.certificates, row.resumed) == (ours.certificates, ours.resumed) && !row.name.starts_with("terse")
        };
        let best = rows.iter().filter(is_like_ours).map(|row| row.cost.total()).min().expect("peers are there");
        assert!(ours.cost.total() <= best, "{ours:#?} and the best peer's {best} bytes");
        let cached = rows.iter().find(|row| (row.name, row.certificates) == ("terse bithac", ours.certificates));
        let cached = cached.expect("a row of the table").cost.total();
        assert!(ours.resumed || cached < ours.cost.total(), "{rows:#?}");
    }
}

/// Requires all peers if `TERSE_REQUIRE_ALL=1`; otherwise missing ones are left out.
fn require_peers() {
    let required = std::env::var_os("TERSE_REQUIRE_ALL").is_some_and(|value| value == "1");
    for peer in Peer::ALL {
        if let Err(reason) = peer.version() {
            assert!(!required, "{reason}");
            println!("{} was not measured: {reason}", peer.name());
        }
    }
}
