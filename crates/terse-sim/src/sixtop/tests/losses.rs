//! Each message lost, doubled, late; and any sequence of losses.

use proptest::prelude::*;

use super::super::message::{CellOptions, Request};
use super::property;
use super::world::{Fate, TIMEOUT, World, change, kind, list};

const A: u16 = 0;
const B: u16 = 1;

/// What can happen to every transmission of one message of a transaction.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Lost,
    LostOnce,
    Doubled,
    /// It arrives, and all acknowledgements get lost.
    Unacknowledged,
    Late,
}

const TROUBLES: [Trouble; 5] =
    [Trouble::Lost, Trouble::LostOnce, Trouble::Doubled, Trouble::Unacknowledged, Trouble::Late];

/// Returns the transactions: what is there before, and the request.
fn transactions() -> [Request; 7] {
    [
        Request::Add(change(2, &[(1, 2), (2, 2), (3, 5)])),
        Request::Add(change(2, &[])),
        Request::Delete(change(1, &[(11, 2)])),
        Request::Relocate(change(1, &[(11, 2)]), list(&[(3, 3), (4, 3)])),
        Request::Relocate(change(1, &[(11, 2)]), list(&[])),
        Request::Count { metadata: 0, cell_options: CellOptions::TX },
        Request::Clear { metadata: 0 },
    ]
}

/// Clears until that has worked. The node that asks knows by its SeqNum, as all others are at least 1 before.
fn clear(world: &mut World) {
    world.fate = Box::new(|_| Fate::Arrives);
    for _ in 0..10 {
        world.request(A, B, Request::Clear { metadata: 0 });
        world.settle();
        if world.nodes[0].seq_num(B) == 0 && world.nodes[1].seq_num(A) == 0 {
            return;
        }
    }
    panic!("no CLEAR went through: {world:?}");
}

/// Whether a difference of the cells will be found: the numbers differ, or a node knows already.
fn is_detectable(world: &World) -> bool {
    world.nodes[0].seq_num(B) != world.nodes[1].seq_num(A)
        || world.nodes[0].is_inconsistent(B)
        || world.nodes[1].is_inconsistent(A)
}

#[test]
fn every_message_of_every_transaction_in_trouble() {
    for request in transactions() {
        for message in 0..3 {
            for trouble in TROUBLES {
                let mut world = World::new(2);
                world.request(A, B, Request::Add(change(2, &[(11, 2), (12, 2)])));
                world.settle();
                world.sent.clear();
                world.fate = Box::new(move |attempt| match trouble {
                    _ if kind(attempt.message) != message => Fate::Arrives,
                    Trouble::Lost => Fate::Lost,
                    Trouble::LostOnce if attempt.tries == 0 => Fate::Lost,
                    Trouble::Doubled if attempt.tries == 0 => Fate::Unacknowledged,
                    Trouble::Unacknowledged => Fate::Unacknowledged,
                    _ => Fate::Arrives,
                });
                let mut late = 0;
                let name = format!("{request:?}, message {message} {trouble:?}");
                if let Trouble::Late = trouble {
                    world.fate = Box::new(move |attempt| {
                        let waits = kind(attempt.message) == message && late == 0;
                        late += usize::from(waits);
                        if waits { Fate::Waits(TIMEOUT + 100) } else { Fate::Arrives }
                    });
                }
                assert!(world.request(A, B, request), "{name}");
                world.settle();
                if matches!(trouble, Trouble::LostOnce | Trouble::Doubled) {
                    assert!(world.agree(A, B), "{name}: {world:?}");
                    assert_eq!(world.nodes[0].seq_num(B), world.nodes[1].seq_num(A), "{name}");
                }
                assert!(world.agree(A, B) || is_detectable(&world), "{name}: {world:?}");
                clear(&mut world);
                assert!(world.agree(A, B) && world.cells(A, B).is_empty(), "{name}");
                assert!(world.request(A, B, Request::Add(change(1, &[(40, 2)]))));
                world.settle();
                assert!(world.agree(A, B) && world.cells(A, B).len() == 1, "{name}: {world:?}");
            }
        }
    }
}

fn any_request() -> impl Strategy<Value = Request> {
    let slot = 1_u16..20;
    prop_oneof![
        slot.clone().prop_map(|slot| Request::Add(change(1, &[(slot, 1), (slot + 20, 1)]))),
        Just(Request::Add(change(2, &[]))),
        Just(Request::Delete(change(1, &[]))),
        slot.prop_map(|slot| Request::Relocate(change(1, &[(slot, 1)]), list(&[(slot + 40, 1)]))),
        Just(Request::Count { metadata: 0, cell_options: CellOptions(0) }),
        Just(Request::Clear { metadata: 0 }),
    ]
}

#[test]
fn after_a_clear_both_sides_agree() {
    let requests = proptest::collection::vec((any::<bool>(), any_request(), 0_u64..600), 1..12);
    let fates = proptest::collection::vec(0_u8..10, 1..200);
    property(256, &(requests, fates), |(requests, fates)| {
        let mut world = World::new(2);
        let mut next = 0;
        world.fate = Box::new(move |attempt| {
            let fate = fates[next % fates.len()];
            next += 1;
            match fate {
                0..=1 => Fate::Lost,
                2..=4 => Fate::Unacknowledged,
                5 if attempt.tries == 0 => Fate::Waits(TIMEOUT / 3),
                _ => Fate::Arrives,
            }
        });
        for (from_a, request, pause) in requests {
            let (from, to) = if from_a { (A, B) } else { (B, A) };
            world.request(from, to, request);
            (0..pause).for_each(|_| world.step());
        }
        world.fate = Box::new(|_| Fate::Arrives);
        world.settle();
        prop_assert!(world.agree(A, B) || is_detectable(&world) || world.has_unknown_request, "{world:?}");
        clear(&mut world);
        prop_assert!(world.agree(A, B) && world.cells(A, B).is_empty(), "{world:?}");
        prop_assert!(world.request(B, A, Request::Add(change(1, &[(40, 2)]))));
        world.settle();
        prop_assert!(world.agree(A, B) && world.cells(A, B).len() == 1, "{world:?}");
        Ok(())
    });
}
