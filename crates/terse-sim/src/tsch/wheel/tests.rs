//! The wheel agrees with an ordered map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_wheel_is_an_ordered_map(
        operations in proptest::collection::vec((0_u16..20, prop_oneof![Just(None), (0_u64..40).prop_map(Some), (0_u64..5000).prop_map(Some)]), 1..200),
    ) {
        let mut wheel = Wheel::new(20);
        let mut model: BTreeMap<u16, u64> = BTreeMap::new();
        let mut from = 0;
        let mut taken = Vec::new();
        for (count, (node, ahead)) in operations.into_iter().enumerate() {
            let asn = ahead.map(|ahead| from + ahead);
            wheel.set(node, asn.map(Asn));
            match asn {
                Some(asn) => drop(model.insert(node, asn)),
                None => drop(model.remove(&node)),
            }
            let first = model.values().min().copied();
            prop_assert_eq!(wheel.first(), first.map(Asn));
            if let Some(first) = first.filter(|_| count % 3 == 0) {
                wheel.take(Asn(first), &mut taken);
                let expected: Vec<u16> = model.iter().filter(|(_, asn)| **asn == first).map(|(node, _)| *node).collect();
                prop_assert_eq!(&taken, &expected);
                model.retain(|_, asn| *asn != first);
                from = first + 1;
            }
        }
    }
}
