//! The pins of a voucher: of several, the one of the kind that the pledge has named its registrar by.

use super::super::pki::PKI;
use super::registrar::pin;
use super::world::config;
use super::*;
use crate::voucher::{Assertion, Pin};

const KINDS: [Proximity; 3] = [Proximity::PublicKeySha256, Proximity::PublicKey, Proximity::Certificate];

/// Takes a voucher with these pins. Returns why it is refused.
fn take(kind: Proximity, pins: &[Pin]) -> Result<(), VoucherRefused> {
    let pins = pins.to_vec();
    let registrar = Registrar::issuing(move |voucher| voucher.pins = pins.clone());
    let mut world = World::with(config(Coaps::default().with_proximity(kind)), registrar);
    world.run(100, |world| !world.events.is_empty());
    match world.events[0] {
        Event::Imprinted(Assertion::Proximity) => Ok(()),
        Event::Failed(_, AttemptFailed::Voucher(refused)) => Err(refused),
        event => panic!("{event:?}"),
    }
}

#[test]
fn each_kind_pins_the_registrar_or_a_ca_that_it_presents() {
    let unknown = Err(VoucherRefused::Registrar(terse_tls::CertificateError::UnknownIssuer));
    for proximity in KINDS {
        for kind in KINDS {
            for certificate in PKI.registrar.chain() {
                assert_eq!(take(proximity, &[pin(kind, certificate)]), Ok(()));
            }
            for certificate in [&PKI.other_registrar.chain()[0], PKI.stranger.root()] {
                assert_eq!(take(proximity, &[pin(kind, certificate)]), unknown);
            }
        }
        assert_eq!(take(proximity, &[pin(Proximity::Certificate, PKI.domain.root())]), Ok(()));
        assert_eq!(take(proximity, &[]), Err(VoucherRefused::NoPin));
    }
}

#[test]
fn of_several_pins_the_one_of_the_kind_of_the_proximity_counts() {
    let (right, wrong) = (&PKI.registrar.chain()[0], &PKI.other_registrar.chain()[0]);
    let unknown = Err(VoucherRefused::Registrar(terse_tls::CertificateError::UnknownIssuer));
    for proximity in KINDS {
        let others: Vec<_> = KINDS.into_iter().filter(|kind| *kind != proximity).collect();
        let all = |own, other| vec![pin(others[0], other), pin(proximity, own), pin(others[1], other)];
        assert_eq!(take(proximity, &all(right, wrong)), Ok(()), "{proximity:?}");
        assert_eq!(take(proximity, &all(wrong, right)), unknown, "{proximity:?}");
    }
}
