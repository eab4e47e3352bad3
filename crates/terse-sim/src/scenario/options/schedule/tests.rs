//! Tests of laid-out schedules, against ones made by hand.

use proptest::prelude::*;

use super::*;
use crate::scenario::Shape;

fn topology(shape: Shape) -> Topology {
    let topology = Topology { shape, ..Topology::default() };
    Topology { client: topology.motes(), ..topology }
}

fn chain(hops: u64) -> Topology {
    topology(Shape::Chain(hops))
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
        let topology = topology(Shape::Tree(parents));
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

/// Lays out cells by looking at all of them for every slot, which is too slow for large networks and easy to understand.
fn closest_slowly(schedule: &ScheduleOptions, parents: &[u64]) -> Vec<ExplicitCell> {
    let mut cells = Vec::new();
    let numbered = (0..).zip(&schedule.cells);
    let shared: Vec<u16> =
        numbered.filter(|(_, kind)| **kind == CellKind::Shared).map(|(slot, _): (u16, _)| slot).collect();
    for slot in &shared {
        cells.push(ExplicitCell { slot: *slot, kind: ExplicitKind::Shared, ..ExplicitCell::NONE });
    }
    for (child, parent) in (1..).zip(parents) {
        let mut next = 0;
        for kind in schedule.cells.iter().filter(|kind| **kind != CellKind::Shared) {
            let is_free = |slot: u16| {
                let uses =
                    |cell: &ExplicitCell| [child, *parent].iter().any(|mote| [cell.from, cell.to].contains(mote));
                !shared.contains(&slot) && !cells.iter().any(|cell| cell.slot == slot && uses(cell))
            };
            let slot = (next..u16::MAX).find(|slot| is_free(*slot)).unwrap_or(u16::MAX);
            let others = cells.iter().filter(|cell| cell.slot == slot).count();
            let (from, to) = if *kind == CellKind::Down { (*parent, child) } else { (child, *parent) };
            let channel_offset = (others % schedule.hopping.len()) as u8;
            cells.push(ExplicitCell { slot, channel_offset, kind: ExplicitKind::Dedicated, from, to });
            next = slot.saturating_add(1);
        }
    }
    cells.sort_by_key(|cell| (cell.slot, cell.channel_offset));
    cells
}

/// Parents that come before their children.
fn random_parents() -> impl Strategy<Value = Vec<u64>> {
    let parents = proptest::collection::vec(any::<u64>(), 1..60);
    parents.prop_map(|drawn| (1..).zip(drawn).map(|(child, draw): (u64, u64)| draw % child).collect())
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (1_u64..40).prop_map(Shape::Chain),
        (1_u64..80, 1_u64..20).prop_map(|(motes, branching)| Shape::CompleteTree { motes, branching }),
        random_parents().prop_map(Shape::Tree),
    ]
}

proptest! {
    #[test]
    fn cells_are_where_the_slow_way_puts_them(
        shape in shapes(),
        cells in proptest::collection::vec(proptest::sample::select(&[CellKind::Shared, CellKind::Up, CellKind::Down][..]), 1..10),
        channels in 1_usize..=16,
    ) {
        let schedule = ScheduleOptions { cells, hopping: HOPPING[..channels].to_vec(), ..ScheduleOptions::default() };
        let parents = topology(shape).parents();
        prop_assert_eq!(schedule.closest(&parents).0, closest_slowly(&schedule, &parents));
    }
}

#[test]
fn a_root_with_more_cells_than_there_are_slots_has_the_rest_in_the_last_one() {
    let schedule = ScheduleOptions { cells: [CellKind::Up; 64].to_vec(), ..ScheduleOptions::default() };
    // 1,024 motes of 64 cells fill all 65,536 slots.
    let (cells, needed) = schedule.closest(&[0; 1_025]);
    let slots: Vec<u16> = cells.iter().map(|cell| cell.slot).collect();
    assert_eq!(slots[..65_535], (0..u16::MAX).collect::<Vec<_>>());
    assert!(slots[65_535..].iter().all(|slot| *slot == u16::MAX) && needed == 65_536, "{needed}");
}

#[test]
fn a_large_network_is_laid_out_at_once() {
    let before = processor_time();
    for branching in [2, 4, 100] {
        let topology = topology(Shape::CompleteTree { motes: 1_000, branching });
        let schedule = ScheduleOptions::default();
        let mut found = Vec::new();
        schedule.check(&topology, &mut found);
        let (slots, cells) = schedule.lay_out(&topology);
        assert_eq!((found, cells.len()), (vec![], 1 + 4 * 1_000));
        assert!(u64::from(slots) > 4 * branching, "{slots}");
    }
    // It takes some 30 ms; the slow way takes several seconds.
    let took = processor_time() - before;
    assert!(took < Duration::from_secs(1), "{took:?}");
}

/// Returns how long this thread had a processor, whatever else the machine did, or nothing where Linux does not tell.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}
