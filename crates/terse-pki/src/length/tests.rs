use crate::authority::tests::{NOW, options};
use crate::{Authority, AuthorityOptions, Error, LeafOptions, Validity};

#[test]
fn certificates_have_exactly_the_wanted_length() {
    // Of the p256 chain, the filling passes from one length of DER headers to the next; 1,191 bytes are between two.
    for (chain, lengths) in [("p256x3", 500..=700), ("ed25519x2", 500..=510), ("rsa3072x2", 1191..=1191)] {
        for length in lengths {
            let authority = Authority::new(&AuthorityOptions { length: Some(length), ..options(chain) }).unwrap();
            let leaf = LeafOptions::new("broker.plant.example", Validity::days(NOW, 365));
            let issued = authority.issue(&LeafOptions { length: Some(length), ..leaf }).unwrap();
            for certificate in authority.certificates().chain(issued.chain()) {
                assert_eq!(certificate.len(), length, "{chain}");
            }
        }
    }
}

#[test]
fn a_length_that_is_too_short_is_refused() {
    let short = AuthorityOptions { length: Some(200), ..options("p256x2") };
    assert!(matches!(Authority::new(&short), Err(Error::InvalidLength(200))));
}
