use alloc::collections::VecDeque;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::Lru;

#[derive(Clone, Debug)]
enum Step {
    Insert(u8),
    Touch(u8),
    Remove(u8),
}

fn step() -> impl Strategy<Value = Step> {
    (0..3, 0..12_u8).prop_map(|(kind, key)| match kind {
        0 => Step::Insert(key),
        1 => Step::Touch(key),
        _ => Step::Remove(key),
    })
}

proptest! {
    /// The model is a queue that is searched from end to end.
    #[test]
    fn lru_does_what_a_queue_does(capacity in 0..6_usize, steps in prop::collection::vec(step(), 0..60)) {
        let mut lru = Lru::new(capacity);
        let mut queue = VecDeque::new();
        for (value, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(key) => {
                    lru.insert(key, value);
                    queue.retain(|(known, _)| *known != key);
                    queue.push_back((key, value));
                    if queue.len() > capacity {
                        queue.pop_front();
                    }
                }
                Step::Touch(key) => {
                    let touched = lru.touch(&key).copied();
                    let place = queue.iter().position(|(known, _)| *known == key);
                    let found = place.and_then(|place| queue.remove(place));
                    prop_assert_eq!(touched, found.map(|(_, value)| value));
                    queue.extend(found);
                }
                Step::Remove(key) => {
                    prop_assert_eq!(lru.remove(&key).is_some(), queue.iter().any(|(known, _)| *known == key));
                    queue.retain(|(known, _)| *known != key);
                }
            }
            let in_order: Vec<_> = lru.oldest_first().map(|(key, value)| (*key, *value)).collect();
            prop_assert!(queue.iter().eq(&in_order));
            prop_assert_eq!(lru.len(), queue.len());
        }
    }
}
