//! What handshakes cost on the wire, counted outside of the endpoints: [`small`], [`rsa`], [`defaults`], [`baselines`],
//! [`datagrams()`].
//!
//! The numbers are bytes of records, both directions, until the handshake is complete on both sides. Tickets that follow
//! it are counted apart.

use std::sync::Arc;

use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::crypto::CryptoProvider;
use terse_tls::summary::Mode;
use terse_tls::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use crate::case::{Case, Sessions};
use crate::features::Carrier;
use crate::peer::Peer;

mod datagrams;
mod measure;
mod relay;

pub use datagrams::datagrams;
pub use measure::Cost;

/// A row of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The implementation, or the mode.
    pub name: &'static str,
    /// The certificates.
    pub certificates: &'static str,
    /// The version.
    pub version: ProtocolVersion,
    /// The transport.
    pub carrier: Carrier,
    /// Whether a session was resumed.
    pub resumed: bool,
    /// The cost.
    pub cost: Cost,
}

impl Row {
    /// Returns the protocol version, for example `DTLS 1.2`.
    pub fn protocol(&self) -> String {
        let datagrams = if self.carrier == Carrier::Udp { "D" } else { "" };
        format!("{datagrams}{}", self.version)
    }
}

/// What `bithac` may cost at most where everything is as small as it gets.
pub const BITHAC_TARGET: u64 = 640;

/// The number of measurements of a handshake with ECDSA; the cheapest counts, as signatures have random lengths.
const REPEATS: usize = 5;

/// Certificates of P-256 (a chain of three, two of them sent each way), x25519, AES-128-CCM with tags of 16 bytes, no
/// server name, one suite, group and signature scheme on offer: in full and cached.
pub fn small() -> Vec<Row> {
    let case = Case {
        sends_name: false,
        suites: vec![CipherSuite::TLS_AES_128_CCM_SHA256],
        client_groups: vec![NamedGroup::X25519],
        server_groups: vec![NamedGroup::X25519],
        schemes: vec![SignatureScheme::ECDSA_SECP256R1_SHA256],
        ..tls13(Case::mutual(&terse_rustcrypto::PROVIDER))
    };
    modes(&case, &[("full", Schemes::OFF), ("rfc7924", Schemes::RFC7924), ("bithac", Schemes::BITHAC)])
}

/// Certificates of RSA-2048 (a chain of three), everything else by default: in full and cached.
pub fn rsa() -> Vec<Row> {
    let case = Case { chain: "rsa2048x3", ..tls13(Case::mutual(AWS_LC)) };
    modes(&case, &[("full", Schemes::OFF), ("bithac", Schemes::BITHAC)])
}

/// Full handshakes with every implementation's default settings, mutual authentication, the same certificates: each
/// implementation with itself, ours first. Peers that are missing are left out.
pub fn defaults() -> Vec<Row> {
    let mut rows = Vec::new();
    for (certificates, repeats) in [("p256x3", REPEATS), ("rsa2048x3", 1)] {
        let case = Case { chain: certificates, no_tickets: true, ..tls13(Case::mutual(AWS_LC)) };
        let row =
            |name, cost| Row { name, certificates, version: TLS_1_3, carrier: Carrier::Tcp, resumed: false, cost };
        let cheapest = |measure: &dyn Fn() -> Cost| {
            (0..repeats).map(|_| measure()).min_by_key(|cost| cost.total()).expect("at least one repeat")
        };
        rows.push(row("terse", cheapest(&|| measure::ours(&case).1)));
        for peer in peers(TLS_1_3) {
            rows.push(row(peer.name(), cheapest(&|| measure::peer(peer, &case))));
        }
    }
    rows
}

/// Full and resumed handshakes in both versions, each implementation with itself: mutual authentication, key exchange
/// with P-256, AES-128-GCM, SHA-256, the server's name sent and checked. Ours first. Peers that are missing are left out.
///
/// All can be resumed: in TLS 1.2 by session id, in TLS 1.3 with a ticket that holds the session, and from our side also
/// with one that only names it (`terse kept`).
pub fn baselines() -> Vec<Row> {
    let mut rows = Vec::new();
    for (certificates, suite12, schemes, repeats) in [
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
        for (version, suite) in [(TLS_1_2, suite12), (TLS_1_3, CipherSuite::TLS_AES_128_GCM_SHA256)] {
            let case = Case {
                chain: certificates,
                suites: vec![suite],
                client_groups: vec![NamedGroup::SECP256R1],
                server_groups: vec![NamedGroup::SECP256R1],
                schemes: schemes.clone(),
                our_versions: vec![version],
                peer_versions: vec![version],
                ..Case::mutual(AWS_LC)
            };
            rows.extend(full_and_resumed(&case, version, repeats));
        }
    }
    rows
}

fn full_and_resumed(case: &Case, version: ProtocolVersion, repeats: usize) -> Vec<Row> {
    let row =
        |name, resumed, cost| Row { name, certificates: case.chain, version, carrier: Carrier::Tcp, resumed, cost };
    let cheapest = |measure: &dyn Fn() -> Cost| {
        (0..repeats).map(|_| measure()).min_by_key(|cost| cost.total()).expect("at least one repeat")
    };
    let ours = |sessions| cheapest(&|| measure::ours(&case.clone().with_sessions(sessions, 1)).1);
    let sessions = if version == TLS_1_2 { Sessions::Kept } else { Sessions::Sealed };
    let mut rows = vec![row("terse", false, ours(sessions)), row("terse", true, resumed(case, sessions))];
    if version == TLS_1_3 {
        rows.push(row("terse kept", true, resumed(case, Sessions::Kept)));
    }
    for peer in peers(version) {
        let schemes = if peer.can_be_told_rsa_pss() { case.schemes.clone() } else { Vec::new() };
        let case = Case { schemes, ..case.clone() };
        let connections = |count| case.clone().with_sessions(sessions, count);
        rows.push(row(peer.name(), false, cheapest(&|| measure::peer(peer, &connections(1)))));
        rows.push(row(peer.name(), true, resumed_by(peer, &connections(2))));
    }
    rows
}

/// Measures a peer's handshake that resumes another one. OpenSSL's server sometimes forgets a session whose connection
/// it has not seen end yet: a handshake with certificates does not count.
fn resumed_by(peer: Peer, case: &Case) -> Cost {
    let mut costs = (0..10).map(|_| measure::peer(peer, case));
    let has_no_certificates = |cost: &Cost| cost.server < CERTIFICATES;
    costs.find(has_no_certificates).unwrap_or_else(|| panic!("{} does not resume", peer.name()))
}

/// A number of bytes that a server exceeds only if it sends certificates.
const CERTIFICATES: u64 = 700;

/// Measures a handshake that resumes another one, and the ticket after it.
fn resumed(case: &Case, sessions: Sessions) -> Cost {
    let case = case.clone().with_sessions(sessions, 2);
    assert_eq!(measure::ours(&case).0.mode, Mode::Full);
    let (summary, cost) = measure::ours(&case);
    assert_eq!(summary.mode, Mode::Resumed);
    cost
}

/// Returns the peers that are available and speak `version`.
fn peers(version: ProtocolVersion) -> impl Iterator<Item = Peer> {
    Peer::ALL.iter().copied().filter(move |peer| {
        peer.speaks(version, Carrier::Tcp) && peer.only_features().is_none() && peer.version().is_ok()
    })
}

const TLS_1_2: ProtocolVersion = ProtocolVersion::TLS_1_2;
const TLS_1_3: ProtocolVersion = ProtocolVersion::TLS_1_3;

/// Restricts a case to TLS 1.3.
fn tls13(case: Case) -> Case {
    Case { our_versions: vec![TLS_1_3], peer_versions: vec![TLS_1_3], ..case }
}

const AWS_LC: &CryptoProvider = &terse_aws_lc::PROVIDER;

/// Measures a handshake in each of `modes`, after one that fills the caches.
fn modes(case: &Case, modes: &[(&'static str, Schemes)]) -> Vec<Row> {
    let row = |(name, schemes): &(&'static str, Schemes)| {
        let case = Case {
            client_cache: Some(ClientCache::new(Arc::new(MemoryClientStore::new(4)), *schemes)),
            server_cache: Some(ServerCache::new(Arc::new(MemoryServerStore::new(4)), *schemes)),
            ..case.clone()
        };
        assert_eq!(measure::ours(&case).0.mode, Mode::Full);
        let (summary, cost) = measure::ours(&case);
        assert_eq!(summary.mode.name(), *name);
        Row { name, certificates: case.chain, version: TLS_1_3, carrier: Carrier::Tcp, resumed: false, cost }
    };
    modes.iter().map(row).collect()
}
