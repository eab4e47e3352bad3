//! Networks that do not take offers, and outages.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::{Fingerprints, Health, Permission};
use crate::wire::{Encode, Reader, Writer};

/// A network on which what is offered fails, and the rest fails where `outages` says.
fn failures(outages: &[bool], offers_fail: bool) -> (Vec<bool>, Vec<bool>) {
    let mut health = Health::default();
    let (mut offered, mut failed) = (Vec::new(), Vec::new());
    for (hour, outage) in (0..).zip(outages) {
        let now = Some(1_000_000 + hour * 3600);
        let offers = health.begin(now) == Permission::Offer;
        let fails = *outage || offers && offers_fail;
        if fails {
            health.failed(offers, now)
        } else {
            health.succeeded(offers)
        }
        offered.push(offers);
        failed.push(fails);
    }
    (offered, failed)
}

proptest! {
    #[test]
    fn no_second_connection_in_a_row_fails_for_an_offer(outages in prop::collection::vec(prop::bool::weighted(0.2), 200)) {
        let (offered, _) = failures(&outages, true);
        for pair in offered[1..].windows(2) {
            prop_assert!(pair != [true, true]);
        }
    }

    #[test]
    fn offers_come_back_within_a_day_of_a_network_that_takes_them(
        outages in prop::collection::vec(any::<bool>(), 100),
    ) {
        let calm = [outages.as_slice(), &[false; 30]].concat();
        let (offered, failed) = failures(&calm, false);
        prop_assert!(offered.last() == Some(&true) && failed.last() == Some(&false));
    }
}

#[test]
fn a_network_that_never_takes_offers_costs_one_connection_a_day() {
    let (_, failed) = failures(&[false; 24 * 30], true);
    let failed = failed.iter().filter(|failed| **failed).count();
    assert!((29..=33).contains(&failed), "{failed}");
}

#[test]
fn fingerprints_that_nobody_answers_are_sent_once_a_day() {
    const DAY: u64 = 24 * 60 * 60;
    let mut fingerprints = Fingerprints::default();
    for now in [Some(10), Some(20)] {
        assert!(fingerprints.are_sent(now));
        fingerprints.answered(false, now);
    }
    assert_eq!([20, 19 + DAY, 20 + DAY].map(|now| fingerprints.are_sent(Some(now))), [false, false, true]);
    assert!(!fingerprints.are_sent(None), "unknown");
    fingerprints.answered(false, Some(20 + DAY));
    assert!(!fingerprints.are_sent(Some(21 + DAY)));
    fingerprints.answered(true, Some(22 + DAY));
    assert_eq!(fingerprints, Fingerprints::Sent);

    let mut without_clock = Fingerprints::Ignored;
    without_clock.answered(false, None);
    assert_eq!((0..26).filter(|_| without_clock.are_sent(None)).count(), 2, "after 24 connections");
}

#[test]
fn whether_fingerprints_are_sent_outlives_the_process() {
    for one in [Fingerprints::Sent, Fingerprints::Ignored, Fingerprints::HeldUntil(1 << 40), Fingerprints::Held(7)] {
        struct Rest(Fingerprints);
        impl Encode for Rest {
            fn encode(&self, writer: &mut Writer<'_>) {
                self.0.encode_rest(writer);
            }
        }
        let bytes = Rest(one).to_vec().unwrap();
        assert_eq!(Fingerprints::parse(one.number(), &mut Reader::new(&bytes)), Ok(one));
    }
}
