use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn elapsed_cells_are_those_that_come_when_every_slot_is_stepped(
        length in 1_u16..200,
        slot in 0_u16..200,
        after in 0_u64..1_000,
        slots in 0_u64..2_000,
    ) {
        let slot = slot % length;
        let stepped = (after + 1..=after + slots).filter(|asn| asn % u64::from(length) == u64::from(slot)).count();
        prop_assert_eq!(elapsed(slot, length, Asn(after), Asn(after + slots)), stepped as u64);
    }

    #[test]
    fn chosen_cells_are_free_and_in_different_slots(seed: u64, count in 0_usize..30, taken in 0_u16..101) {
        let mut table = CellTable::new(101, 16, &[0]);
        // A permutation of the slots: 101 is a prime.
        for slot in (0..taken).map(|number| number * 37 % 101) {
            table.add(7, CellOptions::TX, 0, SixpCell::new(slot, 3));
        }
        let locked: CellList = [SixpCell::new(37 * 100 % 101, 0)].into_iter().collect();
        table.lock(9, &locked);
        let free = (0..101).filter(|slot| table.is_free(*slot)).count();
        let list = table.choose_free(Chance::new(seed), 3, 77, count);
        prop_assert_eq!(list.len(), count.min(free).min(CellList::MAX));
        prop_assert!(list.iter().all(|cell| table.is_free(cell.slot_offset) && cell.channel_offset < 16));
        let mut slots: Vec<u16> = list.iter().map(|cell| cell.slot_offset).collect();
        slots.sort_unstable();
        slots.dedup();
        prop_assert_eq!(slots.len(), list.len());
    }
}

#[test]
fn slots_and_channels_are_chosen_uniformly() {
    let table = CellTable::new(11, 4, &[0, 5]);
    let (mut slots, mut channels) = ([0_u32; 11], [0_u32; 4]);
    for moment in 0..20_000 {
        let cell = table.choose_free(Chance::new(1), 2, moment, 1).as_slice()[0];
        slots[usize::from(cell.slot_offset)] += 1;
        channels[usize::from(cell.channel_offset)] += 1;
    }
    assert_eq!((slots[0], slots[5]), (0, 0));
    // 20,000 / 9 and 20,000 / 4, with some four standard deviations.
    assert!(slots.iter().filter(|count| **count > 0).all(|count| count.abs_diff(2_222) < 180), "{slots:?}");
    assert!(channels.iter().all(|count| count.abs_diff(5_000) < 250), "{channels:?}");
}

#[test]
fn a_slot_has_one_cell() {
    let mut table = CellTable::new(101, 16, &[0, 9]);
    let (tx, rx) = (CellOptions::TX, CellOptions::RX);
    assert!(table.add(1, tx, 0, SixpCell::new(4, 2)));
    assert!(!table.add(2, rx, 0, SixpCell::new(4, 3)), "the slot is taken");
    assert!(!table.add(2, rx, 0, SixpCell::new(9, 3)), "the slot is reserved");
    assert!(!table.add(2, rx, 0, SixpCell::new(101, 3)), "the slotframe has no such slot");
    assert!(table.add(2, rx, 0, SixpCell::new(3, 7)) && table.has_tx(1) && !table.has_tx(2));
    let order: Vec<u16> = table.all().iter().map(|cell| cell.cell.slot_offset).collect();
    assert_eq!(order, [3, 4]);
    assert_eq!(table.remove(1, rx, SixpCell::new(4, 2)), None, "other options");
    assert!(table.remove(1, tx, SixpCell::new(4, 2)).is_some() && table.is_free(4));
}
