use terse_pki::to_pem;

use super::*;

/// The paper, V-A.
#[test]
fn certificates_are_as_large_as_the_paper_says() {
    for (certificates, pem) in [(RSA_112, 1322), (ECC_112, 814), (RSA_128, 1667), (ECC_128, 839)] {
        let parties = parties(&terse_aws_lc::PROVIDER, &certificates, NamedGroup::SECP256R1).unwrap();
        let sent = [&parties.client.config().credentials()[0], &parties.server.config().credentials()[0]];
        for credential in sent {
            let sizes: Vec<_> = credential.chain().iter().map(|der| to_pem("CERTIFICATE", der).len()).collect();
            assert_eq!(sizes, [pem, pem], "{}", certificates.chain);
        }
    }
}

/// A PEM file has four characters for three bytes, in lines of 64 and a line feed, so that it can have 16 sizes of 65. All
/// four of the paper's sizes are among them.
#[test]
fn few_sizes_are_those_of_pem_files() {
    let possible = |sizes: core::ops::Range<usize>| sizes.filter(|size| der_len(*size).is_some()).count();
    assert_eq!(possible(800..1450), 160);
    for certificates in [RSA_112, ECC_112, RSA_128, ECC_128] {
        assert!(der_len(certificates.pem).is_some());
    }
}
