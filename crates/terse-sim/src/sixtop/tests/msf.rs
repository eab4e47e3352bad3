//! MSF between nodes: the first cell, traffic, collisions, another parent, errors. Node 0 is the root, 1 and 2 are nodes, and 3 a
//! node that is only a neighbour.

use core::time::Duration;

use super::super::message::{Body, CellOptions, Command, Message, Request, ReturnCode};
use super::super::msf::{MacTiming, Msf, MsfOptions};
use super::super::scheduling::ReceivedIn;
use super::super::{Asn, Sixtop};
use super::world::{Fate, LENGTH, World, change, kind};

const TIMING: MacTiming =
    MacTiming { slot: Duration::from_millis(10), slotframe_length: LENGTH, max_be: 3, max_retries: 2 };
/// The slot of the AutoRxCell of node 1, which sends nothing there.
const AUTO_RX: u16 = 50;

fn world(options: &MsfOptions) -> World {
    World::with(4, &|node| Box::new(Msf::new(options, &TIMING, AUTO_RX + node)))
}

/// Runs so many slots. In each negotiated cell of node 1 to its parent `sends` decides whether it sends, and whether the
/// frame is acknowledged; in each cell of node 1 for receiving, `receives` whether its parent does.
fn run(
    world: &mut World,
    parent: u16,
    slots: u64,
    mut sends: impl FnMut(u64, u16) -> Option<bool>,
    mut receives: impl FnMut(u64) -> bool,
) {
    for _ in 0..slots {
        let now = world.now;
        let slot = (now.0 % u64::from(LENGTH)) as u16;
        let cell = world.cells(1, parent).into_iter().find(|(_, cell)| cell.slot_offset == slot);
        match cell {
            Some((CellOptions::TX, _)) => {
                if let Some(is_acknowledged) = sends(now.0, slot) {
                    world.nodes[1].transmitted(now, parent, slot, is_acknowledged);
                    if is_acknowledged {
                        world.nodes[usize::from(parent)].received(now, 1, ReceivedIn::Negotiated(slot));
                    }
                }
            }
            Some(_) if receives(now.0) => world.nodes[1].received(now, parent, ReceivedIn::Negotiated(slot)),
            None if slot == AUTO_RX + 1 && receives(now.0) => {
                world.nodes[1].received(now, parent, ReceivedIn::Autonomous);
            }
            _ => {}
        }
        world.step();
    }
}

fn count(world: &World, peer: u16, options: CellOptions) -> usize {
    world.cells(1, peer).iter().filter(|(own, _)| *own == options).count()
}

fn with_parent(options: &MsfOptions) -> World {
    let mut world = world(options);
    world.nodes[1].set_parent(Asn(0), Some(0));
    run(&mut world, 0, 10, |_, _| None, |_| false);
    assert_eq!((count(&world, 0, CellOptions::TX), count(&world, 0, CellOptions::RX)), (1, 0));
    world
}

#[test]
fn the_first_request_is_that_of_section_4_6() {
    let world = with_parent(&MsfOptions::RFC_9033);
    let Body::Request(Request::Add(change)) = world.sent[0].1.body else { panic!("{:?}", world.sent[0]) };
    assert_eq!((change.cell_options, change.num_cells, change.metadata), (CellOptions::TX, 1, 0));
    assert_eq!((change.cell_list.len(), world.sent[0].1.sfid), (5, 0));
    assert!(!change.cell_list.has_slot(0) && world.agree(1, 0));
}

#[test]
fn the_first_cell_is_asked_for_until_it_is_there() {
    let mut world = world(&MsfOptions::RFC_9033);
    world.fate = Box::new(|attempt| if attempt.number < 20 { Fate::Lost } else { Fate::Arrives });
    world.nodes[1].set_parent(Asn(0), Some(0));
    run(&mut world, 0, 30_000, |_, _| None, |_| false);
    assert_eq!(count(&world, 0, CellOptions::TX), 1);
    assert!(world.agree(1, 0) && world.sent.len() < 40, "{world:?}");
}

#[test]
fn cells_follow_the_traffic() {
    let mut world = with_parent(&MsfOptions::RFC_9033);
    // All cells are used: one more after 100 cells each time.
    run(&mut world, 0, 101 * 102, |_, _| Some(true), |_| false);
    assert_eq!(count(&world, 0, CellOptions::TX), 2);
    run(&mut world, 0, 101 * 51, |_, _| Some(true), |_| false);
    assert_eq!(count(&world, 0, CellOptions::TX), 3);
    // Half of the cells are used: nothing changes.
    run(&mut world, 0, 101 * 200, |asn, _| ((asn / 101).is_multiple_of(2)).then_some(true), |_| false);
    assert_eq!(count(&world, 0, CellOptions::TX), 3);
    // None is used: all go but one.
    run(&mut world, 0, 101 * 400, |_, _| None, |_| false);
    assert_eq!(count(&world, 0, CellOptions::TX), 1);
    assert!(world.agree(1, 0));
}

#[test]
fn the_limits_are_not_included() {
    for (used, expected) in [(75, 1), (76, 2)] {
        let mut world = with_parent(&MsfOptions::RFC_9033);
        let mut sent = 0;
        let sends = |_, _| {
            sent += 1;
            (sent <= used).then_some(true)
        };
        run(&mut world, 0, 101 * 101, sends, |_| false);
        assert_eq!(count(&world, 0, CellOptions::TX), expected, "{used} of 100 cells");
    }
    for (used, expected) in [(25, 2), (24, 1)] {
        let mut world = with_parent(&MsfOptions::RFC_9033);
        while count(&world, 0, CellOptions::TX) < 2 {
            run(&mut world, 0, 1, |_, _| Some(true), |_| false);
        }
        let mut sent = 0;
        let sends = |_, _| {
            sent += 1;
            (sent <= used).then_some(true)
        };
        run(&mut world, 0, 101 * 51, sends, |_| false);
        assert_eq!(count(&world, 0, CellOptions::TX), expected, "{used} of 100 cells");
    }
}

#[test]
fn cells_for_receiving_begin_with_the_autonomous_cell() {
    let mut world = with_parent(&MsfOptions::RFC_9033);
    let half = |asn: u64, _| ((asn / 101).is_multiple_of(2)).then_some(true);
    run(&mut world, 0, 101 * 103, half, |_| true);
    assert_eq!((count(&world, 0, CellOptions::TX), count(&world, 0, CellOptions::RX)), (1, 1));
    assert!(
        world.agree(1, 0)
            && world.cells(0, 1).contains(&(
                CellOptions::TX,
                world.cells(1, 0)[usize::from(world.cells(1, 0)[0].0 == CellOptions::TX)].1
            ))
    );
    run(&mut world, 0, 101 * 120, half, |_| false);
    assert_eq!(count(&world, 0, CellOptions::RX), 0);
}

#[test]
fn without_adaptation_nothing_changes() {
    let mut world = with_parent(&MsfOptions::OPENWSN);
    run(&mut world, 0, 101 * 300, |_, _| Some(true), |_| true);
    assert_eq!(world.cells(1, 0).len(), 1);
    // OpenWSN's numbers, if its adaptation is compiled in: more than 24 of 32.
    let mut world = with_parent(&MsfOptions { adapts: true, ..MsfOptions::OPENWSN });
    run(&mut world, 0, 101 * 34, |_, _| Some(true), |_| false);
    assert_eq!(count(&world, 0, CellOptions::TX), 2);
}

#[test]
fn a_cell_with_collisions_is_relocated() {
    let mut world = with_parent(&MsfOptions::RFC_9033);
    run(&mut world, 0, 101 * 102, |_, _| Some(true), |_| false);
    let cells = world.cells(1, 0);
    let bad = cells[0].1.slot_offset;
    world.sent.clear();
    // Enough for both counters of each cell to be halved, and for the minute to pass. The numbers stay within the limits.
    let sends =
        move |asn: u64, slot: u16| ((asn / 101).is_multiple_of(2)).then_some(slot != bad || asn.is_multiple_of(5));
    run(&mut world, 0, 101 * 620, sends, |_| false);
    let commands: Vec<Command> = world.sent.iter().filter_map(|(_, message)| command(message)).collect();
    assert_eq!(commands, [Command::Relocate]);
    let after = world.cells(1, 0);
    assert!(after.len() == 2 && after.contains(&cells[1]) && !after.contains(&cells[0]));
    assert!(world.agree(1, 0));
}

#[test]
fn looking_at_every_slot_changes_nothing() {
    let runs = [false, true].map(|steps_every_slot| {
        let mut world = world(&MsfOptions::RFC_9033);
        world.steps_every_slot = steps_every_slot;
        world.fate = Box::new(|attempt| if attempt.number % 7 == 3 { Fate::Lost } else { Fate::Arrives });
        world.nodes[1].set_parent(Asn(0), Some(0));
        world.nodes[2].set_parent(Asn(0), Some(0));
        let sends =
            |asn: u64, slot: u16| (asn % 15_000 > 5_000).then_some(!slot.is_multiple_of(3) || asn.is_multiple_of(4));
        run(&mut world, 0, 101 * 900, sends, |asn| (asn / 9_000).is_multiple_of(2));
        let now = world.now;
        world.nodes[1].set_parent(now, Some(2));
        run(&mut world, 2, 101 * 200, sends, |_| false);
        (world.sent.clone(), world.cells(1, 2), world.cells(2, 0))
    });
    assert!(runs[0].0.len() > 20, "{}", runs[0].0.len());
    assert_eq!(runs[0], runs[1]);
}

fn command(message: &Message) -> Option<Command> {
    match &message.body {
        Body::Request(request) => Some(request.command()),
        _ => None,
    }
}

#[test]
fn cells_move_to_another_parent() {
    let mut world = with_parent(&MsfOptions::RFC_9033);
    run(&mut world, 0, 101 * 160, |_, _| Some(true), |_| false);
    let before = count(&world, 0, CellOptions::TX);
    assert!(before >= 3);
    let now = world.now;
    world.nodes[1].set_parent(now, Some(2));
    assert_eq!(world.cells(1, 0).len(), before, "the old cells stay until the new ones are there (5.2)");
    run(&mut world, 2, 200, |_, _| None, |_| false);
    assert_eq!((count(&world, 2, CellOptions::TX), world.cells(1, 0).len()), (before, 0));
    assert!(world.agree(1, 0) && world.agree(1, 2));
    // Without a parent there are no cells.
    let now = world.now;
    world.nodes[1].set_parent(now, None);
    run(&mut world, 2, 20, |_, _| None, |_| false);
    assert!(world.cells(1, 2).is_empty() && world.agree(1, 2));
}

#[test]
fn a_power_cycle_of_the_parent_is_repaired_by_clear() {
    let mut world = with_parent(&MsfOptions::RFC_9033);
    world.nodes[0] = World::node(0, Box::new(Msf::new(&MsfOptions::RFC_9033, &TIMING, AUTO_RX)));
    world.sent.clear();
    run(&mut world, 0, 101 * 102, |_, _| Some(true), |_| false);
    let commands: Vec<Command> = world.sent.iter().filter_map(|(_, message)| command(message)).collect();
    assert_eq!(commands[..3], [Command::Add, Command::Clear, Command::Add]);
    assert!(world.agree(1, 0) && count(&world, 0, CellOptions::TX) >= 1);
}

#[test]
fn a_busy_parent_is_asked_again_after_30_to_60_seconds() {
    let mut world = world(&MsfOptions::RFC_9033);
    // The root's messages wait at first, so that it has begun a transaction with node 3 when node 3 asks.
    let mut has_waited = false;
    world.fate = Box::new(move |attempt| {
        let waits = attempt.from == 0 && !has_waited;
        has_waited |= waits;
        if waits { Fate::Waits(5) } else { Fate::Arrives }
    });
    world.nodes[1].set_parent(Asn(0), Some(0));
    world.nodes[2].set_parent(Asn(0), Some(0));
    world.nodes[3].set_parent(Asn(0), Some(0));
    let refused = |world: &World| {
        let is_busy = |message: &Message| matches!(message.body, Body::Response(ReturnCode::RC_ERR_BUSY, _));
        world.sent.iter().filter(|(_, message)| is_busy(message)).count()
    };
    assert!(world.request(0, 3, Request::Add(change(1, &[(9, 9)]))));
    (0..20).for_each(|_| world.step());
    assert!(refused(&world) >= 1, "{world:?}");
    let first = world.now;
    world.fate = Box::new(|_| Fate::Arrives);
    while world.cells(3, 0).is_empty() {
        world.step();
        assert!(world.now.0 - first.0 < 6_100, "{world:?}");
    }
    assert!(world.now.0 - first.0 > 2_950, "{:?}", world.now);
    assert!((1..4).all(|node| world.agree(node, 0)));
}

#[test]
fn errors_lead_to_quarantine() {
    let mut world = with_parent(&MsfOptions::RFC_9033);
    // A parent that has another scheduling function.
    let fixed = super::super::fixed::Fixed { timeout: 100 };
    world.nodes[0] = World::node(0, Box::new(fixed));
    world.nodes[1].set_parent(world.now, None);
    let now = world.now;
    let mut node: Sixtop = World::node(1, Box::new(Msf::new(&MsfOptions::RFC_9033, &TIMING, AUTO_RX)));
    node.set_parent(now, Some(0));
    let request = node.poll_transmit().expect("an ADD");
    node.sent(now, request.token, true);
    world.nodes[0].receive(now, 1, &request.message);
    let response = core::iter::from_fn(|| world.nodes[0].poll_transmit()).find(|message| message.peer == 1);
    node.receive(now, 0, &response.expect("RC_ERR_SFID").message);
    assert_eq!(node.poll_quarantine(), Some((0, now + 30_000)), "5 minutes in slots of 10 ms");
    let clear = node.poll_transmit().expect("a CLEAR").message;
    assert_eq!(command(&clear), Some(Command::Clear));
}

#[test]
fn cells_of_a_neighbour_that_is_gone_are_removed() {
    let mut world = with_parent(&MsfOptions::RFC_9033);
    run(&mut world, 0, 101 * 3, |_, _| Some(true), |_| false);
    assert_eq!(world.cells(0, 1).len(), 1);
    // Node 1 is switched off.
    world.nodes[1] = World::node(1, Box::new(super::super::fixed::Fixed { timeout: 100 }));
    world.fate = Box::new(|attempt| if kind(attempt.message) == 0 { Fate::Lost } else { Fate::Arrives });
    (0..60_000).for_each(|_| world.step());
    assert_eq!(world.cells(0, 1).len(), 1, "after 600 s");
    (0..12_100).for_each(|_| world.step());
    assert!(world.cells(0, 1).is_empty(), "housekeeping comes within two minutes");
}
