//! Client against server: what they agree on, in every configuration, and what they say about it.
//!
//! - [`negotiation`]: suites, groups, signatures, protocols, names, HelloRetryRequest, compatibility mode
//! - [`versions`]: which version, and who cannot make it an older one
//! - [`extended_master_secret`], [`renegotiation`]: what TLS 1.2 has to be mended with
//! - [`signatures`]: every scheme of every key
//! - [`psk`]: pre-shared keys of TLS 1.2
//! - [`sizes`]: of records
//! - [`authentication`]: who is asked for a certificate, and who has one
//! - [`certificates`]: certificates that are refused
//! - [`credentials`]: which of several is shown
//! - [`traffic`]: data, KeyUpdate, exporters, and the end of a connection
//! - [`report`]: summary, key log, and that a run can be repeated byte for byte
//! - [`pending`]: private keys that take their time
//! - [`unverified`]: peers of whom nothing is verified
//! - [`misuse`]: what is found wrong without a peer

mod authentication;
mod certificates;
mod credentials;
mod extended_master_secret;
mod misuse;
mod negotiation;
mod pending;
mod psk;
mod renegotiation;
mod report;
mod signatures;
mod sizes;
mod traffic;
mod unverified;
mod versions;

use terse_testkit::pair::{Pair, Side};
use terse_tls::ProtocolVersion;
use terse_tls::crypto::CryptoProvider;

/// Both versions.
const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];

/// Both providers.
const PROVIDERS: [&CryptoProvider; 2] = [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER];

/// RustCrypto, for what does not depend on the provider.
const PROVIDER: &CryptoProvider = &terse_rustcrypto::PROVIDER;

/// The client's and the server's provider, in all combinations.
fn providers() -> impl Iterator<Item = (&'static CryptoProvider, &'static CryptoProvider)> {
    PROVIDERS.into_iter().flat_map(|client| PROVIDERS.map(|server| (client, server)))
}

/// Data goes both ways.
fn check_traffic(pair: &mut Pair) {
    for side in Side::BOTH {
        assert_eq!(pair.carry(side, b"hello").unwrap(), b"hello");
    }
}
