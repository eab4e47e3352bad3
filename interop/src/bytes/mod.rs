//! What handshakes cost on the wire, counted outside of the endpoints: [`small`], [`rsa`], [`defaults`].
//!
//! The numbers are bytes of records, both directions, until the handshake is complete on both sides; tickets are off.

use std::sync::Arc;

use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::crypto::CryptoProvider;
use terse_tls::summary::Mode;
use terse_tls::{CipherSuite, NamedGroup, SignatureScheme};

use crate::case::Case;
use crate::peer::Peer;

mod measure;
mod relay;

pub use measure::Cost;

/// A row of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Who, or in which mode.
    pub name: &'static str,
    /// The certificates.
    pub certificates: &'static str,
    /// What it cost.
    pub cost: Cost,
}

/// What `bithac` may cost at most where everything is as small as it gets (`caching`, targets).
pub const BITHAC_TARGET: u64 = 640;

/// How often a handshake with ECDSA is measured; the cheapest counts. The length of a signature is chance.
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
        ..Case::mutual(&terse_rustcrypto::PROVIDER)
    };
    modes(&case, &[("full", Schemes::OFF), ("rfc7924", Schemes::RFC7924), ("bithac", Schemes::BITHAC)])
}

/// Certificates of RSA-2048 (a chain of three), everything else by default: in full and cached.
pub fn rsa() -> Vec<Row> {
    let case = Case { chain: "rsa2048x3", ..Case::mutual(AWS_LC) };
    modes(&case, &[("full", Schemes::OFF), ("bithac", Schemes::BITHAC)])
}

/// Full handshakes with every implementation's default settings, mutual authentication, the same certificates: each
/// implementation with itself, ours first. Peers that are missing are left out.
pub fn defaults() -> Vec<Row> {
    let mut rows = Vec::new();
    for (certificates, repeats) in [("p256x3", REPEATS), ("rsa2048x3", 1)] {
        let case = Case { chain: certificates, ..Case::mutual(AWS_LC) };
        let cheapest = |measure: &dyn Fn() -> Cost| {
            (0..repeats).map(|_| measure()).min_by_key(|cost| cost.total()).expect("at least one repeat")
        };
        rows.push(Row { name: "terse", certificates, cost: cheapest(&|| measure::ours(&case).1) });
        for peer in Peer::ALL.into_iter().filter(|peer| peer.version().is_ok()) {
            rows.push(Row { name: peer.name(), certificates, cost: cheapest(&|| measure::peer(peer, &case)) });
        }
    }
    rows
}

const AWS_LC: &CryptoProvider = &terse_aws_lc::PROVIDER;

/// A handshake in each of `modes`, after one that fills the caches.
fn modes(case: &Case, modes: &[(&'static str, Schemes)]) -> Vec<Row> {
    let row = |(name, schemes): &(&'static str, Schemes)| {
        let case = Case {
            client_cache: Some(ClientCache { store: Arc::new(MemoryClientStore::new(4)), schemes: *schemes }),
            server_cache: Some(ServerCache { store: Arc::new(MemoryServerStore::new(4)), schemes: *schemes }),
            ..case.clone()
        };
        assert_eq!(measure::ours(&case).0.mode, Mode::Full);
        let (summary, cost) = measure::ours(&case);
        assert_eq!(summary.mode.name(), *name);
        Row { name, certificates: case.chain, cost }
    };
    modes.iter().map(row).collect()
}
