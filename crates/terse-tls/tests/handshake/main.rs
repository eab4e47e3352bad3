//! Client against server: what they agree on, in every configuration, and what they say about it.
//!
//! - [`negotiation`]: suites, groups, signatures, HelloRetryRequest, extensions, compatibility mode
//! - [`authentication`]: who is asked for a certificate, and who has one
//! - [`certificates`]: certificates that are refused
//! - [`traffic`]: data, KeyUpdate, exporters, and the end of a connection
//! - [`report`]: summary, key log, and that a run can be repeated byte for byte
//! - [`pending`]: private keys that take their time
//! - [`misuse`]: what is found wrong without a peer

extern crate alloc;

mod authentication;
mod certificates;
mod misuse;
mod negotiation;
mod pending;
mod report;
mod traffic;

use terse_testkit::pair::{Pair, Side};
use terse_tls::crypto::CryptoProvider;

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
