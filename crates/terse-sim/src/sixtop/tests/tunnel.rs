//! 6P tunnels over three hops: node 0 is the root, 3 the end.

use core::time::Duration;

use proptest::prelude::*;

use super::super::Asn;
use super::super::message::{CellOptions, SixpCell};
use super::super::msf::{MacTiming, Msf, MsfOptions};
use super::super::scheduling::TunnelRequest;
use super::super::tunnel::Tunnels;
use super::property;
use super::world::{Fate, LENGTH, World};

const TIMING: MacTiming =
    MacTiming { slot: Duration::from_millis(10), slotframe_length: LENGTH, max_be: 3, max_retries: 2 };
const UP: TunnelRequest = TunnelRequest { hops: 3, cells: 4, goes_up: true };
const DOWN: TunnelRequest = TunnelRequest { goes_up: false, ..UP };

/// Returns a chain of four nodes that have their first cells.
fn chain() -> World {
    let options = MsfOptions { adapts: false, cleanup_after: Duration::from_secs(1_000_000), ..MsfOptions::RFC_9033 };
    let mut world = World::with(5, &|node| Box::new(Tunnels::around(Box::new(Msf::new(&options, &TIMING, 90 + node)))));
    for node in 1..4 {
        world.nodes[usize::from(node)].set_parent(Asn(0), Some(node - 1));
    }
    run(&mut world, 20);
    assert!((1..4).all(|node| world.cells(node, node - 1).len() == 1));
    world
}

fn run(world: &mut World, slots: u64) {
    (0..slots).for_each(|_| world.step());
}

/// Returns the slots of a hop's tunnel cells, as the node below has them.
fn hop(world: &World, node: u16, peer: u16, options: CellOptions) -> Vec<u16> {
    let cells = world.nodes[usize::from(node)].cells().matching(peer, options);
    cells.filter(|cell| cell.metadata != 0).map(|cell| cell.cell.slot_offset).collect()
}

fn tunnel_cells(world: &World) -> usize {
    world.nodes.iter().map(|node| node.cells().all().iter().filter(|cell| cell.metadata != 0).count()).sum()
}

fn all_agree(world: &World) -> bool {
    (1..4).all(|node| world.agree(node, node - 1))
}

/// Figure 11: the slots of the hops follow each other, and those of the next cell come after.
#[test]
fn slots_are_consecutive_and_interleaved() {
    for (request, options, step) in [(UP, CellOptions::TX, 1), (DOWN, CellOptions::RX, LENGTH - 1)] {
        let mut world = chain();
        assert!(world.nodes[3].open_tunnel(world.now, request));
        let begun = world.sent.len();
        run(&mut world, 60);
        // A request and a response for each hop, and nothing else.
        assert_eq!(world.sent.len() - begun, 6);
        assert!(all_agree(&world));
        let end = hop(&world, 3, 2, options);
        assert_eq!(end.len(), 4);
        let mut expected = end;
        for node in [2, 1] {
            expected.iter_mut().for_each(|slot| *slot = (*slot + step) % LENGTH);
            let mut slots = hop(&world, node, node - 1, options);
            expected.sort_unstable();
            slots.sort_unstable();
            assert_eq!(slots, expected, "node {node}");
        }
    }
}

#[test]
fn a_deletion_cleans_up_to_the_root() {
    let mut world = chain();
    world.nodes[3].open_tunnel(world.now, UP);
    world.nodes[3].open_tunnel(world.now, DOWN);
    run(&mut world, 100);
    assert_eq!(tunnel_cells(&world), 2 * 3 * 2 * 4);
    let now = world.now;
    world.nodes[3].close_tunnels(now);
    run(&mut world, 100);
    assert_eq!(tunnel_cells(&world), 0);
    assert!(all_agree(&world) && (1..4).all(|node| world.cells(node, node - 1).len() == 1));
    // It can be opened again.
    assert!(world.nodes[3].open_tunnel(world.now, UP));
    run(&mut world, 60);
    assert_eq!(tunnel_cells(&world), 3 * 2 * 4);
}

#[test]
fn tunnels_of_several_nodes_are_told_apart() {
    let mut world = chain();
    world.nodes[3].open_tunnel(world.now, UP);
    world.nodes[2].open_tunnel(world.now, TunnelRequest { hops: 2, cells: 2, goes_up: true });
    run(&mut world, 200);
    assert_eq!(tunnel_cells(&world), 2 * (3 * 4 + 2 * 2));
    let now = world.now;
    world.nodes[3].close_tunnels(now);
    run(&mut world, 100);
    assert_eq!((hop(&world, 3, 2, CellOptions::TX).len(), hop(&world, 2, 1, CellOptions::TX).len()), (0, 2));
    assert_eq!(tunnel_cells(&world), 2 * 2 * 2);
}

#[test]
fn a_router_that_cannot_have_the_next_slots_takes_later_ones() {
    let mut world = chain();
    // The parent of node 2 has nothing free but every tenth slot.
    let busy: Vec<SixpCell> = (1..LENGTH).filter(|slot| slot % 10 != 0).map(|slot| SixpCell::new(slot, 0)).collect();
    for cell in busy {
        world.nodes[1].occupy(4, cell);
    }
    world.nodes[3].open_tunnel(world.now, TunnelRequest { cells: 2, ..UP });
    run(&mut world, 300);
    let [end, next] = [(3, 2), (2, 1)].map(|(node, parent)| hop(&world, node, parent, CellOptions::TX));
    assert_eq!((end.len(), next.len()), (2, 2));
    assert!(next.iter().all(|slot| slot % 10 == 0), "{next:?}");
}

#[test]
fn a_tunnel_is_built_again_to_another_parent() {
    let mut world = chain();
    world.nodes[3].open_tunnel(world.now, UP);
    run(&mut world, 60);
    // Node 2 goes from node 1 to node 4, which is below the root.
    let now = world.now;
    world.nodes[4].set_parent(now, Some(0));
    world.nodes[2].set_parent(now, Some(4));
    run(&mut world, 200);
    assert_eq!((world.cells(2, 1).len(), hop(&world, 1, 0, CellOptions::TX).len()), (0, 0), "node 1 has cleaned up");
    assert_eq!((hop(&world, 2, 4, CellOptions::TX).len(), hop(&world, 4, 0, CellOptions::TX).len()), (4, 4));
    assert!(world.agree(2, 4) && world.agree(4, 0) && world.agree(2, 1) && world.agree(1, 0));
}

#[test]
fn nothing_is_left_after_closing_whatever_was_lost() {
    let fates = proptest::collection::vec(0_u8..10, 1..80);
    property(48, &(fates, 1_u64..3_000), |(fates, open)| {
        let mut world = chain();
        let mut next = 0;
        world.fate = Box::new(move |_| {
            next += 1;
            match fates.get(next - 1) {
                Some(0..=2) => Fate::Lost,
                Some(3..=4) => Fate::Unacknowledged,
                _ => Fate::Arrives,
            }
        });
        world.nodes[3].open_tunnel(world.now, UP);
        run(&mut world, open);
        let now = world.now;
        world.nodes[3].close_tunnels(now);
        // Timeouts are (2^3 - 1) * 2 * 101 slots.
        run(&mut world, 60_000);
        prop_assert_eq!(tunnel_cells(&world), 0, "{:?}", world);
        prop_assert!(all_agree(&world), "{:?}", world);
        prop_assert!((1..4).all(|node| !world.cells(node, node - 1).is_empty()), "{:?}", world);
        Ok(())
    });
}
