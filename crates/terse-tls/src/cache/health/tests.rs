//! Networks that do not take offers, and outages.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::{Health, Permission};

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
