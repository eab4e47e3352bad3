//! Keys replace certificates: pre-shared keys (RFC 4279, RFC 8442; RFC 9846, 4.3.11), also imported ones (RFC 9258),
//! and raw public keys (RFC 7250).

use terse_tls::CipherSuite;

use super::super::keys::{SHARED_KEY, SHARED_KEY_WITH_ECDHE};
use super::{AWS_LC, Cell, Feature, RUSTCRYPTO};
use crate::case::{Case, Means};

pub(super) fn features() -> Vec<Feature> {
    let plain = CipherSuite::TLS_PSK_WITH_AES_128_CCM_8;
    let with_ecdhe = CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256;
    vec![
        Feature::dtls13(SHARED_KEY, |cell| pre_shared_key(cell, None, false)),
        Feature::dtls13("imported_pre_shared_key", |cell| pre_shared_key(cell, None, true)),
        Feature::dtls12(SHARED_KEY, move |cell| pre_shared_key(cell, Some(plain), false)),
        Feature::dtls12(SHARED_KEY_WITH_ECDHE, move |cell| pre_shared_key(cell, Some(with_ecdhe), false)),
        Feature::dtls("raw_public_keys", raw_public_keys),
    ]
}

fn pre_shared_key(cell: Cell, suite: Option<CipherSuite>, imports_key: bool) {
    for provider in [RUSTCRYPTO, AWS_LC] {
        let suites = suite.into_iter().collect();
        let case = Case { means: Means::PreSharedKey, suites, imports_key, ..Case::new(provider) };
        if let Some(report) = cell.pair(&case).complete(&cell.case(&case)) {
            assert_eq!((report.mode(), report.number("signatures_verified")), ("psk", 0));
        }
    }
}

/// Both sides have raw public keys.
fn raw_public_keys(cell: Cell) {
    for provider in [RUSTCRYPTO, AWS_LC] {
        let case = Case { means: Means::RawPublicKeys, ..Case::mutual(provider) };
        if let Some(report) = cell.pair(&case).complete(&cell.case(&case)) {
            assert_eq!(report.number("signatures_verified"), 0, "there is no chain");
        }
    }
}
