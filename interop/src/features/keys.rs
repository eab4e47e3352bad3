//! Keys instead of certificates: pre-shared keys from outside (RFC 9846, 4.3.11; RFC 4279), raw public keys (RFC 7250).

use terse_tls::CipherSuite;
use terse_tls::summary::Mode;

use super::{Cell, Feature};
use crate::case::{Case, Means};

pub(super) fn features() -> Vec<Feature> {
    vec![Feature::new("pre_shared_key", pre_shared_key), Feature::new("raw_public_keys", raw_public_keys)]
}

/// In TLS 1.3 with (EC)DHE, in TLS 1.2 without.
fn pre_shared_key(cell: Cell) {
    for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
        let mut case = Case { means: Means::PreSharedKey, ..Case::new(provider) };
        if !cell.is_tls13() {
            case.suites = vec![CipherSuite::TLS_PSK_WITH_AES_128_CCM_8];
        }
        let summary = cell.complete(&case);
        assert_eq!((summary.mode, summary.signatures_verified), (Mode::Psk, 0));
        assert_eq!(summary.group.is_some(), cell.is_tls13());
    }
}

/// Both sides.
fn raw_public_keys(cell: Cell) {
    for provider in [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER] {
        let summary = cell.complete(&Case { means: Means::RawPublicKeys, ..Case::mutual(provider) });
        assert_eq!(summary.signatures_verified, 0, "there is no chain");
    }
}
