//! Processes of MASA and registrar that are killed at each step, and whose disk is full: with another start or some room the
//! device joins, nothing is lost, and nothing was issued without its entry.
//!
//! A step is a write to a file, its way to the disk, or a send on a socket: `fault.c` counts them inside the process. A run kills
//! the service at step 1, another one at step 2, and so on, until a device joins before the step is reached.

mod plant;
mod records;
mod relay;
mod service;

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;

use plant::{Factory, Plant};
use service::{Fault, Role};

/// How many runs there are at a time: a device that has lost its registrar waits for some seconds.
const AT_ONCE: usize = 32;

/// The most runs of a test: a count that does not end is a mistake here.
const MOST: usize = 1_000;

/// Makes runs for 1, 2, and so on, several at a time, until one of them returns `false`. Returns those that returned `true`.
fn count_up(run: impl Fn(usize) -> bool + Sync) -> BTreeSet<usize> {
    let (next, is_over) = (AtomicUsize::new(1), AtomicBool::new(false));
    let reached = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    assert!(number <= MOST, "there is no end");
                    match run(number) {
                        true => _ = reached.lock().unwrap().insert(number),
                        false => is_over.store(true, Ordering::Relaxed),
                    }
                }
            });
        }
    });
    reached.into_inner().unwrap()
}

/// Runs an onboarding for each step of a service, which is killed there.
fn kill_at_each_step(role: Role) {
    let factory = Factory::new();
    let killed = count_up(|step| {
        let plant = Plant::start(&factory, role, Fault::KillAt(step));
        let context = format!("the {role:?} was killed at step {step}");
        plant.join().unwrap_or_else(|outcome| panic!("{context}: {outcome:#?}"));
        plant.stop(&context).was_killed
    });
    println!("the {role:?} was killed at {} steps", killed.len());
    // A voucher or a certificate is some rows that are written and synced, and an answer.
    assert!((1..=20).all(|step| killed.contains(&step)), "{killed:?}");
}

/// Runs an onboarding for each write to a file, from which on the disk of a service is full for a while.
fn fill_the_disk_at_each_write(role: Role) {
    let factory = Factory::new();
    let full = count_up(|write| {
        let plant = Plant::start(&factory, role, Fault::FullFrom(write));
        let context = format!("the disk of the {role:?} was full from write {write} on");
        let is_hit = plant.join_while_the_disk_is_full().unwrap_or_else(|outcome| panic!("{context}: {outcome:#?}"));
        let log = plant.stop(&context).log;
        // The second one is what SQLite says of the file that its connections share.
        let is_said = ["database or disk is full", "disk I/O error"].iter().any(|problem| log.contains(problem));
        assert!(!is_hit || is_said, "the log does not say it: {context}: {log}");
        is_hit
    });
    println!("the disk of the {role:?} was full from each of {} writes on", full.len());
    assert!((1..=4).all(|write| full.contains(&write)), "{full:?}");
}

#[test]
fn a_masa_that_is_killed_at_any_step_loses_nothing() {
    kill_at_each_step(Role::Masa);
}

#[test]
fn a_registrar_that_is_killed_at_any_step_loses_nothing() {
    kill_at_each_step(Role::Registrar);
}

#[test]
fn a_masa_whose_disk_is_full_goes_on_when_there_is_room() {
    fill_the_disk_at_each_write(Role::Masa);
}

#[test]
fn a_registrar_whose_disk_is_full_goes_on_when_there_is_room() {
    fill_the_disk_at_each_write(Role::Registrar);
}
