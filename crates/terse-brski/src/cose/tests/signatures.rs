//! Signatures of ECDSA, which have one form in COSE and another one in the engine.

use proptest::prelude::*;

use super::algorithm::Algorithm;
use super::*;

fn raw(algorithm: Algorithm, der: &[u8]) -> Result<Vec<u8>, SignatureRefused> {
    let mut raw = Vec::new();
    algorithm.push_signature(der, &mut raw).map(|()| raw)
}

#[test]
fn numbers_have_the_length_of_the_order() {
    // r = 1, and s has a highest bit that is set.
    let mut der = vec![0x30, 0x26, 0x02, 0x01, 0x01, 0x02, 0x21, 0x00];
    der.extend([0xff; 32]);
    let expected = [&[0; 31][..], &[1], &[0xff; 32]].concat();
    assert_eq!(raw(Algorithm::Es256, &der).unwrap(), expected);
    assert_eq!(*Algorithm::Es256.engine_signature(&expected).unwrap(), der[..]);
    // It is as good for P-384, with longer numbers.
    let longer = [&[0; 47][..], &[1], &[0; 16], &[0xff; 32]].concat();
    assert_eq!(raw(Algorithm::Es384, &der).unwrap(), longer);
}

#[test]
fn what_is_no_signature_is_refused() {
    for der in [
        &[][..],
        &[0x30, 0x00],
        &[0x30, 0x03, 0x02, 0x01, 0x01],
        &[0x30, 0x06, 0x02, 0x01, 0x01, 0x04, 0x01, 0x01], // no INTEGER
        &[0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x81], // a negative one
        &[0x30, 0x07, 0x02, 0x01, 0x01, 0x02, 0x02, 0x00, 0x01], // longer than it need be
        &[0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01, 0x00], // something follows
        &[0x30, 0x09, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01], // three
        &[0x30, 0x81, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01], // a length that is no DER
        &[0x31, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01],
    ] {
        assert_eq!(raw(Algorithm::Es256, der), Err(SignatureRefused::Signature), "{der:x?}");
    }
    let mut long = vec![0x30, 0x26, 0x02, 0x01, 0x01, 0x02, 0x21];
    long.extend([0x01; 33]);
    assert_eq!(raw(Algorithm::Es256, &long), Err(SignatureRefused::Signature));
    assert!(raw(Algorithm::Es384, &long).is_ok());
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Es384] {
        for len in [0, 63, 65, 95, 97] {
            assert_eq!(algorithm.engine_signature(&vec![1; len]), Err(SignatureRefused::Signature));
        }
    }
}

/// A signature that is zero is none, and is refused by the cryptography.
#[test]
fn zeros_are_no_signature() {
    for signer in all() {
        let mut cose = signer.sign(CONTENT);
        let algorithm = Algorithm::of_scheme(signer.scheme).unwrap();
        let start = cose.len() - algorithm.signature_len();
        cose[start..].fill(0);
        assert_eq!(verify(&cose, &signer.chain[..1]).unwrap_err(), SignatureRefused::Signature);
    }
}

proptest! {
    #[test]
    fn both_forms_are_the_same(bytes in prop::collection::vec(any::<u8>(), 96), zeros in 0..48_usize) {
        for (algorithm, len) in [(Algorithm::Es256, 64), (Algorithm::Es384, 96)] {
            let mut signature = bytes[..len].to_vec();
            signature[..zeros.min(len / 2)].fill(0);
            let der = algorithm.engine_signature(&signature).unwrap();
            prop_assert_eq!(raw(algorithm, &der).unwrap(), signature);
        }
    }

    #[test]
    fn no_der_is_a_panic(der in prop::collection::vec(any::<u8>(), 0..120)) {
        for algorithm in [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Es384] {
            if let Ok(signature) = raw(algorithm, &der) {
                prop_assert_eq!(&*algorithm.engine_signature(&signature).unwrap(), &der[..]);
            }
        }
    }
}
