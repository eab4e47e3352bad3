//! The PID controller and MSF before the same burst: node 1 sends to the root.

use core::time::Duration;

use super::super::Asn;
use super::super::message::CellOptions;
use super::super::msf::{MacTiming, Msf, MsfOptions};
use super::super::pid::{Pid, PidOptions};
use super::super::scheduling::SchedulingFunction;
use super::world::{LENGTH, World};

const TIMING: MacTiming =
    MacTiming { slot: Duration::from_millis(10), slotframe_length: LENGTH, max_be: 3, max_retries: 2 };

fn pid(_: u16) -> Box<dyn SchedulingFunction> {
    Box::new(Pid::new(&PidOptions::DEFAULT, &TIMING, 99))
}

fn msf(_: u16) -> Box<dyn SchedulingFunction> {
    Box::new(Msf::new(&MsfOptions::RFC_9033, &TIMING, 99))
}

/// A queue of frames for the root, and what becomes of the cells.
struct Sender {
    world: World,
    waiting: u16,
}

impl Sender {
    fn new(function: &dyn Fn(u16) -> Box<dyn SchedulingFunction>) -> Self {
        let mut world = World::with(2, function);
        world.nodes[1].set_parent(Asn(0), Some(0));
        (0..LENGTH).for_each(|_| world.step());
        Self { world, waiting: 0 }
    }

    /// Runs so many slotframes with so many frames in each, which arrive one after the other. Returns the cells after each
    /// slotframe.
    fn run(&mut self, slotframes: usize, frames: u16) -> Vec<usize> {
        let slotframe = |_| {
            for slot in 0..LENGTH {
                let now = self.world.now;
                if slot * frames / LENGTH < (slot + 1) * frames / LENGTH {
                    self.waiting += 1;
                }
                let cells = self.world.cells(1, 0);
                if self.waiting > 0
                    && cells.iter().any(|(_, cell)| u64::from(cell.slot_offset) == now.0 % u64::from(LENGTH))
                {
                    self.waiting -= 1;
                    self.world.nodes[1].transmitted(now, 0, slot_of(now), true);
                }
                self.world.nodes[1].set_waiting(self.waiting);
                self.world.step();
            }
            self.cells()
        };
        (0..slotframes).map(slotframe).collect()
    }

    fn cells(&self) -> usize {
        self.world.cells(1, 0).iter().filter(|(options, _)| *options == CellOptions::TX).count()
    }
}

const fn slot_of(now: Asn) -> u16 {
    (now.0 % LENGTH as u64) as u16
}

#[test]
fn cells_follow_a_step_and_settle() {
    for frames in [2, 6, 12] {
        let mut sender = Sender::new(&pid);
        let cells = sender.run(40, frames);
        let needed = usize::from(frames);
        assert!(cells.iter().all(|count| *count <= 2 * needed + 1), "too many for {frames}: {cells:?}");
        let settled = &cells[20..];
        assert!(settled.iter().all(|count| (needed..=needed + needed / 2 + 2).contains(count)), "{frames}: {cells:?}");
        assert!(settled.iter().all(|count| *count == settled[0]), "it swings for {frames}: {cells:?}");
        assert!(sender.waiting <= frames, "{} of {frames} wait", sender.waiting);
        // The traffic ends: one cell is left, and the spare one.
        let cells = sender.run(20, 0);
        assert!(cells.last().is_some_and(|count| *count <= 2), "{cells:?}");
        assert!(sender.world.agree(1, 0));
    }
}

#[test]
fn a_burst_is_gone_sooner_than_with_msf() {
    let slotframes_for = |function: &dyn Fn(u16) -> Box<dyn SchedulingFunction>| {
        let mut sender = Sender::new(function);
        sender.run(10, 0);
        sender.waiting = 15;
        (1..).find(|_| {
            sender.run(1, 0);
            sender.waiting == 0
        })
    };
    let (pid, msf) = (slotframes_for(&pid), slotframes_for(&msf));
    // MSF has one cell a slotframe, and looks at its usage after 100 of them.
    assert_eq!(msf, Some(15));
    assert!(pid.is_some_and(|slotframes| slotframes <= 4), "{pid:?}");
}
