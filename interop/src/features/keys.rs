//! Keys instead of certificates: pre-shared keys from outside (RFC 9846, 4.3.11; RFC 4279), raw public keys (RFC 7250).

use terse_tls::CipherSuite;
use terse_tls::summary::Mode;

use super::{Cell, Feature};
use crate::case::{Case, Means};

pub(super) fn features() -> Vec<Feature> {
    let plain = CipherSuite::TLS_PSK_WITH_AES_128_CCM_8;
    let with_ecdhe = CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256;
    vec![
        Feature::tls13(SHARED_KEY, |cell| pre_shared_key(cell, None, true)),
        Feature::tls12(SHARED_KEY, move |cell| pre_shared_key(cell, Some(plain), false)),
        Feature::tls12(SHARED_KEY_WITH_ECDHE, move |cell| pre_shared_key(cell, Some(with_ecdhe), true)),
        Feature::new("raw_public_keys", raw_public_keys),
    ]
}

pub(super) const SHARED_KEY: &str = "pre_shared_key";
pub(super) const SHARED_KEY_WITH_ECDHE: &str = "pre_shared_key_with_ecdhe";

fn pre_shared_key(cell: Cell, suite: Option<CipherSuite>, with_ecdhe: bool) {
    for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
        let suites = suite.into_iter().collect();
        let summary = cell.complete(&Case { means: Means::PreSharedKey, suites, ..Case::new(provider) });
        assert_eq!((summary.mode, summary.signatures_verified), (Mode::Psk, 0));
        assert_eq!(summary.group.is_some(), with_ecdhe);
    }
}

/// Both sides.
fn raw_public_keys(cell: Cell) {
    for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
        let summary = cell.complete(&Case { means: Means::RawPublicKeys, ..Case::mutual(provider) });
        assert_eq!(summary.signatures_verified, 0, "there is no chain");
    }
}
