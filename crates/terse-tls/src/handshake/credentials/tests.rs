//! Tests of which credential is selected.

use alloc::sync::Arc;

use pki_types::SubjectPublicKeyInfoDer;
use terse_testkit::pki::Pki;

use super::*;
use crate::cert::tests::key_of;
use crate::crypto::{CryptoError, Rng, Signing, SigningKey};

/// A key that never signs in these tests.
struct PublicHalf(SubjectPublicKeyInfoDer<'static>);

impl SigningKey for PublicHalf {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ECDSA_SECP256R1_SHA256]
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.clone()
    }

    fn sign(&self, scheme: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        unreachable!("{scheme}")
    }
}

fn credentials(only_for_named: [bool; 4]) -> Vec<Credential> {
    let key = key_of(Pki::shared("p256x3").server.leaf());
    let make = |only| {
        let own = Credential::raw_public_key(Arc::new(PublicHalf(key.clone()))).unwrap();
        if only { own.only_for_named_authorities() } else { own }
    };
    only_for_named.into_iter().map(make).collect()
}

/// Returns the index of the selected credential, if those in `fit` fit.
fn chosen(only_for_named: [bool; 4], suitable: SuitableCredentials, fit: [bool; 4]) -> Option<usize> {
    let credentials = credentials(only_for_named);
    let place = |own: &Credential| credentials.iter().position(|other| core::ptr::eq(own, other)).unwrap();
    suitable.choose(&credentials, |own| Some(place(own)).filter(|place| fit[*place])).map(|(_, place)| place)
}

#[test]
fn issuers_count_for_more_than_chains_and_chains_for_more_than_the_order() {
    let all = [true; 4];
    for (issuers, chains, first) in [
        (0, 0, 0),
        (0, 0b0100, 2),
        (0, 0b1100, 2),
        (0b1000, 0b0100, 3),
        (0b1010, 0b0100, 1),
        (0b1010, 0b1100, 3),
        (0b1111, 0b1111, 0),
    ] {
        assert_eq!(
            chosen([false; 4], SuitableCredentials { issuers, chains }, all),
            Some(first),
            "{issuers:b} {chains:b}"
        );
    }
}

#[test]
fn what_does_not_fit_is_not_chosen() {
    let suitable = SuitableCredentials { issuers: 0b0001, chains: 0b0011 };
    assert_eq!(chosen([false; 4], suitable, [false, true, true, true]), Some(1));
    assert_eq!(chosen([false; 4], suitable, [false, false, true, true]), Some(2));
    assert_eq!(chosen([false; 4], suitable, [false; 4]), None);
}

#[test]
fn what_is_for_those_that_name_its_issuer_is_for_nobody_else() {
    let (only, all) = ([true, true, false, false], [true; 4]);
    assert_eq!(chosen(only, SuitableCredentials::default(), all), Some(2));
    assert_eq!(chosen(only, SuitableCredentials { issuers: 0b0010, chains: 0 }, all), Some(1));
    assert_eq!(chosen(only, SuitableCredentials { issuers: 0b0010, chains: 0 }, [true, false, true, true]), Some(2));
    assert_eq!(chosen([true; 4], SuitableCredentials::default(), all), None);
    assert_eq!(chosen([true; 4], SuitableCredentials { issuers: 0, chains: 0b1111 }, all), None);
}
