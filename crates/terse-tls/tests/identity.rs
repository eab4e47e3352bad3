//! Identity-based handshakes (docs/identity.md), client against server.
//!
//! - [`agreement`]: what both sides agree on and report, with each algorithm, first and with known peers
//! - [`ledger`]: how many bytes they take
//! - [`retries`] are asked for by HelloRetryRequest
//! - [`refusals`]: identities that are refused, with the alert
//! - [`early_data`]: data in the first flight, delivered once
//! - [`fall_back`]: certificates for servers and clients that have no identity
//! - [`healing`]: public parts that are wrong
//! - [`renewal`] of a key over a connection that the old key authenticates
//! - [`attackers`]: what somebody with stolen secrets cannot do, and could without the term against it

mod agreement;
mod attackers;
mod early_data;
mod fall_back;
mod healing;
mod independent;
mod ledger;
mod refusals;
mod renewal;
mod retries;

use terse_testkit::identity;
use terse_testkit::pair::{Pair, Side};
use terse_testkit::setup::Setup;
use terse_tls::crypto::CryptoProvider;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::summary::{AuthenticatedBy, Mode};
use terse_tls::{Datagrams, ProtocolVersion, Summary};

/// RustCrypto, for what does not depend on the provider.
const PROVIDER: &CryptoProvider = &terse_rustcrypto::PROVIDER;

/// A chain for those who fall back to certificates.
const CHAIN: &str = "ed25519x2";

/// Both sides have keys of `algorithm`, and nothing else.
fn setup(algorithm: IdentityAlgorithm) -> Setup {
    Setup::mutual(PROVIDER, PROVIDER, CHAIN).with_identities(algorithm, false)
}

/// Both sides have certificates as well; the server requires those of a client without identity.
fn falling_back(algorithm: IdentityAlgorithm) -> Setup {
    Setup::mutual(PROVIDER, PROVIDER, CHAIN).with_identities(algorithm, true)
}

/// The setup over datagrams.
fn in_datagrams(setup: Setup) -> Setup {
    setup.over(ProtocolVersion::TLS_1_3, Datagrams::default())
}

/// Both sides have proven their identities, and report them.
fn check_identified(summaries: [&Summary; 2], algorithm: IdentityAlgorithm) {
    for (summary, peer) in summaries.into_iter().zip([identity::server(), identity::client()]) {
        assert_eq!((summary.mode, summary.identity_algorithm), (Mode::Identity, Some(algorithm)));
        assert_eq!(summary.peer.authenticated_by, AuthenticatedBy::Identity);
        let authority = identity::IdentityKeys::shared(algorithm).server.parameters().authority();
        let identified = summary.peer.identity_based.as_ref().expect("an identity");
        assert_eq!((identified.authority, &identified.identity), (authority, &peer));
        assert_eq!((summary.signatures_verified, summary.group), (0, None));
        assert!(summary.peer.identity.is_none() && summary.fallback.is_none());
    }
}

/// Both sides report nothing of an identity.
fn check_certified(summaries: [&Summary; 2]) {
    for summary in summaries {
        assert_eq!((summary.mode, summary.identity_algorithm), (Mode::Full, None));
        assert_eq!(summary.peer.authenticated_by, AuthenticatedBy::Certificate);
        assert!(summary.peer.identity_based.is_none());
    }
}

/// Data goes both ways.
fn check_traffic(pair: &mut Pair) {
    for side in Side::BOTH {
        assert_eq!(pair.carry(side, b"hello").unwrap(), b"hello");
    }
}
