//! Tests of laid-out schedules, against ones made by hand.

use super::*;
use crate::scenario::{Clients, Shape};

fn chain(hops: u64) -> Topology {
    Topology { shape: Shape::Chain(hops), clients: Clients::One, client: hops }
}

fn by_hand(cells: &[(u16, &str, u64, u64)]) -> Vec<(u16, ExplicitKind, u64, u64)> {
    let kind = |name: &str| if name == "shared" { ExplicitKind::Shared } else { ExplicitKind::Dedicated };
    cells.iter().map(|(slot, name, from, to)| (*slot, kind(name), *from, *to)).collect()
}

fn without_channels(cells: &[ExplicitCell]) -> Vec<(u16, ExplicitKind, u64, u64)> {
    cells.iter().map(|cell| (cell.slot, cell.kind, cell.from, cell.to)).collect()
}

#[test]
fn the_paper_has_five_cells_in_five_slots() {
    let (slots, cells) = ScheduleOptions::default().lay_out(&chain(1));
    assert_eq!(slots, 5);
    let hand = [(0, "shared", 0, 0), (1, "", 1, 0), (2, "", 0, 1), (3, "", 0, 1), (4, "", 0, 1)];
    assert_eq!(without_channels(&cells), by_hand(&hand));
}

#[test]
fn links_that_share_no_mote_share_slots_on_other_channels() {
    let (slots, cells) = ScheduleOptions::default().lay_out(&chain(3));
    assert_eq!(slots, 9, "the shared cell, and four for each of the two links of a relay");
    let of_link = |from, to| {
        let cells = cells.iter().filter(|cell| (cell.from, cell.to) == (from, to));
        cells.map(|cell| (cell.slot, cell.channel_offset)).collect::<Vec<_>>()
    };
    assert_eq!(of_link(1, 0), [(1, 0)]);
    assert_eq!(of_link(2, 1), [(5, 0)]);
    assert_eq!(of_link(3, 2), [(1, 1)], "motes 2 and 3 are free while 1 sends to the root");
    assert_eq!(of_link(2, 3), [(2, 1), (3, 1), (4, 1)]);
}

#[test]
fn no_mote_has_two_cells_in_a_slot() {
    for parents in [vec![0, 0, 0], vec![0, 1, 1, 2, 2, 0, 6], vec![0, 1, 2, 3, 4, 5]] {
        let motes = parents.len() as u64;
        let topology = Topology { shape: Shape::Tree(parents), clients: Clients::One, client: motes };
        for share in [1.0, 0.37, 0.1, 0.01] {
            let length = Length::DutyCycle(share);
            let schedule = ScheduleOptions { length, ..ScheduleOptions::default() };
            let mut found = Vec::new();
            schedule.check(&topology, &mut found);
            let (slots, cells) = schedule.lay_out(&topology);
            let explicit = ScheduleOptions { explicit: cells.clone(), length: Length::Slots(slots.into()), ..schedule };
            explicit.check(&topology, &mut found);
            assert_eq!(found, []);
            assert_eq!(cells.len() as u64, 1 + 4 * motes);
        }
    }
}

#[test]
fn a_duty_cycle_makes_the_slotframe_longer() {
    for (share, slots) in [(1.0, 5), (0.5, 10), (0.25, 20), (0.1, 50), (0.3, 17)] {
        let mut schedule = ScheduleOptions { length: Length::DutyCycle(share), ..ScheduleOptions::default() };
        let (len, cells) = schedule.lay_out(&chain(1));
        assert_eq!(len, slots, "{share}");
        let places: Vec<u16> = cells.iter().map(|cell| cell.slot).collect();
        assert_eq!(places, [0, slots / 5, slots * 2 / 5, slots * 3 / 5, slots * 4 / 5], "{share}");
        schedule.placement = Placement::Together;
        let places: Vec<u16> = schedule.lay_out(&chain(1)).1.iter().map(|cell| cell.slot).collect();
        assert_eq!(places, [0, 1, 2, 3, 4], "{share}");
    }
    // Of two hops the relay has nine cells, and it is the one whose duty cycle counts.
    let half = ScheduleOptions { length: Length::DutyCycle(0.5), ..ScheduleOptions::default() };
    assert_eq!(half.lay_out(&chain(2)).0, 18);
}

#[test]
fn slots_have_the_lengths_of_openwsn_and_of_the_standard() {
    assert_eq!(SlotLength::Ms20.duration(), Duration::from_nanos(19_989_014));
    assert_eq!(SlotLength::Ms10.duration(), Duration::from_millis(10));
}
