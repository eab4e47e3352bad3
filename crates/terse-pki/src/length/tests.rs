use super::LEAST_SERIAL;
use crate::authority::tests::{NOW, options};
use crate::{Authority, AuthorityOptions, Error, LeafOptions, Validity};

#[test]
fn certificates_have_exactly_the_wanted_length() {
    // Among 480 to 520 bytes, certificates with keys for Ed25519 skip 489, 493, 501 and 505 unless a serial number is shorter.
    for (chain, lengths) in [("ed25519x2", 480..=520), ("p256x3", 575..=585), ("rsa2048x2", 920..=920)] {
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

#[test]
fn a_shortened_serial_number_still_has_64_random_bits() {
    // Some of these lengths need a shorter serial number. All bits of it but two are random.
    for length in 480..=520 {
        let authority = Authority::new(&options("ed25519x2")).unwrap();
        let leaf = LeafOptions::new("broker.plant.example", Validity::days(NOW, 365));
        let issued = authority.issue(&LeafOptions { length: Some(length), ..leaf }).unwrap();
        let serial = crate::authority::parse(issued.leaf()).unwrap().raw_serial().len();
        assert!((LEAST_SERIAL..=16).contains(&serial), "{length}: {serial}");
    }
    const { assert!(8 * LEAST_SERIAL - 2 >= 64) };
}
